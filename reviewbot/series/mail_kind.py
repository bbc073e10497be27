"""What is this mail in the life of a series: patch, cover letter, reply, pull request, or a machine's notice?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from reviewbot.mail.message import Message
from reviewbot.series.message_body import BodyParts, may_hold_diff, split_body
from reviewbot.series.subject import Subject, parse_subject

# Mails that repeat a patch after it was applied; they come from people's and robots' scripts and set no header that says so.
_NOTICE = re.compile(
    r'\[tip[:\]]|(?:FAILED: )?patch ".*" (?:has been added|failed to apply)|\[(?:to-be-updated|merged|obsolete|nacked|withdrawn)\b'
    r"|\[folded\b|[+-] \S+\.patch (?:added|removed)|\[linux-next:|\[patch \S+ \d+/\d+\] \S+\.patch",
    re.IGNORECASE,
)
_PULL_TEXT = re.compile(
    r"^(?:The following changes since commit [0-9a-f]{7}|are available in the [Gg]it repository at)", re.MULTILINE
)
_QUOTED = re.compile(r"^> ?\S", re.MULTILINE)


class MailKind(Enum):
    """The closed set of what a mail can be; the value is how a sentence names several of them."""

    PATCH = "patches"
    COVER = "cover letters"
    REPLY = "replies"
    AUTOMATIC = "automatic mails"
    NOTICE = "notices about applied patches"
    PULL = "pull requests"
    OTHER = "mails without a patch"


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedMail:
    """A message, what it is, and the pieces that were needed to tell. `parts` is None where the body was not cut."""

    message: Message
    subject: Subject
    kind: MailKind
    parts: BodyParts | None
    order: int
    stamp: float

    @property
    def sender(self) -> str:
        """Who sent it, the same for every mail of a series (patches may have other authors); "" for a file without Message-ID."""
        address = self.message.sender
        return f"{address.name} <{address.email}>".casefold() if self.message.message_id else ""


def sort_mail(message: Message, order: int) -> SortedMail:
    """Tell the kind of `message`; `order` is its place in the input."""
    subject = parse_subject(message.subject)
    kind, parts = _kind_of(message, subject)
    stamp = message.date.timestamp() if message.date else 0.0
    return SortedMail(message=message, subject=subject, kind=kind, parts=parts, order=order, stamp=stamp)


def _kind_of(message: Message, subject: Subject) -> tuple[MailKind, BodyParts | None]:
    if message.is_automatic:
        return MailKind.AUTOMATIC, None
    if subject.is_reply:
        return MailKind.REPLY, None
    if _NOTICE.match(message.subject):
        return MailKind.NOTICE, None
    if subject.is_pull or _PULL_TEXT.search(message.body):
        return MailKind.PULL, None
    if subject.is_numbered and subject.index == 0:
        return MailKind.COVER, None
    return _patch_or_not(message, subject)


def _patch_or_not(message: Message, subject: Subject) -> tuple[MailKind, BodyParts | None]:
    maybe = may_hold_diff(message.body)
    parts = split_body(message.body) if maybe or subject.is_numbered else None
    if parts is not None and parts.diff:
        is_answer = (
            not subject.is_patch and message.in_reply_to is not None and _QUOTED.search(message.body) is not None
        )
        return (MailKind.REPLY if is_answer else MailKind.PATCH), parts
    if subject.is_numbered and subject.is_patch:
        return MailKind.PATCH, parts  # a member of a series whose diff cannot be found: said, not lost
    is_damaged = subject.is_patch and message.in_reply_to is None and (maybe or bool(message.problems))
    return (MailKind.PATCH if is_damaged else MailKind.OTHER), parts
