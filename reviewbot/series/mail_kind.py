"""What is this mail in the life of a series: patch, cover letter, reply, pull request, or a machine's notice?"""

from __future__ import annotations

import re
from enum import Enum

from reviewbot.mail.message import Message
from reviewbot.patterns import regex
from reviewbot.series.message_body import has_diff, may_hold_diff
from reviewbot.series.subject import Subject, parse_subject
from reviewbot.values import dataclass

# Mails that repeat a patch after it was applied; they come from people's and robots' scripts and set no header that
# says so.
_NOTICE = regex(
    r"\[(?!patch)[\w.-]+:[\w./ -]*\]|\[(?:to-be-updated|merged|obsolete|nacked|withdrawn|folded)\b"
    r'|(?:FAILED: )?patch ".*" (?:has been added|failed to apply)|[+-] \S+\.patch (?:added|removed)',
    re.IGNORECASE,
)
_PULL_TEXT = (
    "\nThe following changes since commit ",
    "\nare available in the Git repository at",
    "\nare available in the git repository at",
)
_QUOTED = regex(r"^> ?\S", re.MULTILINE)


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
    """A message and what it is; `order` is its place in the input, `stamp` when it was sent (seconds since 1970, 0 if
    unknown)."""

    message: Message
    subject: Subject
    kind: MailKind
    order: int
    stamp: float

    @property
    def sender(self) -> str:
        """Who sent it, the same for every mail of a series (patches may have other authors); "" for a file without
        Message-ID."""
        address = self.message.sender
        return f"{address.name} <{address.email}>".casefold() if self.message.message_id else ""


def sort_mail(message: Message, order: int) -> SortedMail:
    """Tell the kind of `message`; `order` is its place in the input."""
    subject = parse_subject(message.subject)
    stamp = message.date.timestamp() if message.date else 0.0
    return SortedMail(message=message, subject=subject, kind=_kind_of(message, subject), order=order, stamp=stamp)


def _kind_of(message: Message, subject: Subject) -> MailKind:
    if message.is_automatic:
        return MailKind.AUTOMATIC
    if subject.is_reply:
        return MailKind.REPLY
    if _NOTICE.match(message.subject):
        return MailKind.NOTICE
    if subject.is_pull or any(text in message.body for text in _PULL_TEXT):
        return MailKind.PULL
    if subject.is_numbered and subject.is_patch:
        return (
            MailKind.PATCH if subject.index else MailKind.COVER
        )  # a patch without a diff is said later, not lost here
    return _patch_or_not(message, subject)


def _patch_or_not(message: Message, subject: Subject) -> MailKind:
    if has_diff(message.body):
        is_answer = (
            not subject.is_patch and message.in_reply_to is not None and _QUOTED.search(message.body) is not None
        )
        return MailKind.REPLY if is_answer else MailKind.PATCH
    # A member of a series whose diff was lost is said later, not dropped here; an answer under the old subject is no
    # patch.
    is_answer = message.in_reply_to is not None and "\nSigned-off-by: " not in message.body
    is_damaged = may_hold_diff(message.body) or bool(message.problems) or (subject.is_numbered and not is_answer)
    return MailKind.PATCH if subject.is_patch and is_damaged else MailKind.OTHER
