"""Messages -> Series: every series in a mailbox, and the one to review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reviewbot.errors import InputError
from reviewbot.grammar import plural
from reviewbot.mail.bulk import collector_paused
from reviewbot.mail.charset import to_bytes
from reviewbot.mail.limits import DEFAULT_LIMITS, Limits
from reviewbot.mail.message import Message
from reviewbot.series.choose import choose_series
from reviewbot.series.diff import parse_diff
from reviewbot.series.mail_kind import MailKind, SortedMail, sort_mail
from reviewbot.series.message_body import BodyParts, has_diff, read_base, split_body
from reviewbot.series.patch import Patch, Problem, Series
from reviewbot.series.subject import parse_subject
from reviewbot.series.threads import Group, group_mails

__all__ = ["choose_series", "find_series", "sort_mails", "to_series"]


def find_series(messages: Sequence[Message], *, limits: Limits = DEFAULT_LIMITS) -> tuple[Series, ...]:
    """Every series in `messages`, each version for itself, in the order in which they were sent.

    Replies (also with a diff), automatic mails, notices and pull requests are no patches; copies of one mail count
    once. Raises InputError where there is no patch at all, and says what there was instead.
    """
    mails, groups = _sort(messages)
    if not any(index for group in groups for index in group.members):
        raise InputError(_what_was_found(mails))
    with collector_paused():
        return tuple(to_series(group, limits=limits) for group in groups)


def sort_mails(messages: Sequence[Message]) -> list[Group]:
    """Like find_series, but the diffs stay unread and an input without patches is an empty list: for whole archives."""
    return _sort(messages)[1]


def to_series(group: Group, *, limits: Limits = DEFAULT_LIMITS) -> Series:
    """Read the diffs of one group of mails."""
    patches = tuple(_to_patch(group.members[index], index, limits) for index in sorted(group.members) if index)
    cover = group.members[0].message if 0 in group.members else None
    first = group.first
    bases = [read_base(mail.message.body) for _, mail in sorted(group.members.items())]
    return Series(
        subject=first.subject.title or (patches[0].subject if patches else ""),
        version=max(first.subject.version, 1),
        total=group.total,
        patches=patches,
        message_id=first.message.message_id,
        cover=cover,
        missing=_missing(group),
        base_commit=next((base.base_commit for base in bases if base.base_commit), None),
        prerequisites=next((base.prerequisites for base in bases if base.prerequisites), ()),
        change_id=next((base.change_id for base in bases if base.change_id), None),
        notes=(*group.notes, *_notes_on_replies(group)),
        replies=tuple(mail.message for mail in group.replies),
    )


def _sort(messages: Sequence[Message]) -> tuple[list[SortedMail], list[Group]]:
    with collector_paused():
        mails = [sort_mail(message, order) for order, message in enumerate(_without_copies(messages))]
        return mails, group_mails(mails)


def _without_copies(messages: Iterable[Message]) -> Iterable[Message]:
    """One mail that came over two lists is one mail; the copy that a robot's gateway marked is the one to drop."""
    kept: dict[str, Message] = {}
    for number, message in enumerate(messages):
        key = message.message_id or f" {number}"
        if key not in kept or (kept[key].is_automatic and not message.is_automatic):
            kept[key] = message
    return kept.values()


def _to_patch(mail: SortedMail, index: int, limits: Limits) -> Patch:
    message = mail.message
    parts = split_body(message.body)
    problems = [Problem(path=None, line_in_message=0, reason=reason) for reason in message.problems]
    parsed = parse_diff(to_bytes(parts.diff), first_line=parts.diff_line, limits=limits) if parts.diff else None
    if parsed is None:
        problems.append(Problem(path=None, line_in_message=0, reason="The mail holds no diff that could be read"))
    elif not parsed.files and not parsed.problems:
        problems.append(
            Problem(path=None, line_in_message=parts.diff_line, reason="The diff in the mail changes no file")
        )
    return Patch(
        index=index,
        subject=_title(mail, parts),
        author=parts.author or message.author,
        message_id=message.message_id,
        commit=None,
        log=parts.log,
        trailers=parts.trailers,
        files=parsed.files if parsed else (),
        problems=(*problems, *(parsed.problems if parsed else ())),
        message=message,
    )


def _title(mail: SortedMail, parts: BodyParts) -> str:
    return parse_subject(parts.subject).title if parts.subject else mail.subject.title


def _missing(group: Group) -> tuple[int, ...]:
    return tuple(index for index in range(1, group.total + 1) if index not in group.members)


def _notes_on_replies(group: Group) -> list[str]:
    return [
        f"A reply by {mail.message.author} holds a diff ({mail.message.origin}); it was taken as a comment"
        for mail in group.replies
        if mail.kind is MailKind.REPLY and has_diff(mail.message.body)
    ]


def _what_was_found(mails: Sequence[SortedMail]) -> str:
    counts = Counter(mail.kind for mail in mails)
    if not mails:
        return "The input holds no mail, so there is nothing to review"
    if len(mails) == 1:
        kind, mail = mails[0].kind, mails[0]
        return f"No patch found: the only mail ({mail.message.origin}) is {_ONE[kind]}; {_NEXT}"
    if len(counts) == 1:
        return f"No patch found: {plural(len(mails), 'mail')}, all {next(iter(counts)).value}; {_NEXT}"
    listed = ", ".join(_ONE[kind] if count == 1 else f"{count} {kind.value}" for kind, count in counts.most_common())
    return f"No patch found among {plural(len(mails), 'mail')} ({listed}); {_NEXT}"


_NEXT = "give the thread that holds the patches"
_ONE = {
    MailKind.PATCH: "a patch",
    MailKind.COVER: "a cover letter without its patches",
    MailKind.REPLY: "a reply",
    MailKind.AUTOMATIC: "an automatic mail",
    MailKind.NOTICE: "a notice about an applied patch",
    MailKind.PULL: "a pull request",
    MailKind.OTHER: "a mail without a diff",
}
