"""Mails in the order of the archive -> the series among them, with no more than a window of mails in memory.

The mails of a series are sent together, and patches of one version that are sent again follow within weeks. A series
is cut off the window when all its mails lie in the older half of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from reviewbot.backfill.archive import RawMail
from reviewbot.mail.decode import decode_message
from reviewbot.mail.limits import DEFAULT_LIMITS, Limits
from reviewbot.series.mail_kind import MailKind, SortedMail, sort_mail
from reviewbot.series.threads import Group, group_mails
from reviewbot.values import dataclass

WINDOW_MAILS = 8_000
WINDOW_BYTES = 256 << 20
_KEPT_HEADERS = frozenset({"message-id"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One series to review, by itself and ready to be sent to another machine: for each index (0: the cover) the
    position of its mail, where it was, and its bytes."""

    key: str
    position: int
    total: int
    notes: tuple[str, ...]
    mails: tuple[tuple[int, int, str, bytes], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """What a mail of the archive is. `kind` is a MailKind's name, `COPY` of an earlier mail, `SUPERSEDED` for a patch
    that was sent again as an answer to itself, or `UNREADABLE`."""

    position: int
    message_id: str
    kind: str
    year: int
    reason: str = ""


class Windows:
    """`note` is told of every mail once it is sorted, `start` of the position that a later run can begin at."""

    def __init__(
        self, note: Callable[[Sorted], None], start: Callable[[int], None], limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._limits = limits
        self._note = note
        self._start = start
        self._mails: dict[int, SortedMail] = {}
        self._raw: dict[int, bytes] = {}
        self._ids: dict[str, int] = {}
        self._size_bytes = 0

    def items(self, mails: Iterable[RawMail]) -> Iterator[Item]:
        """Every series, those of the older half of the window when it is full, the rest at the end."""
        for mail in mails:
            self._add(mail)
            if len(self._mails) >= WINDOW_MAILS or self._size_bytes >= WINDOW_BYTES:
                yield from self._cut(len(self._mails) // 2)
        yield from self._cut(len(self._mails))

    def _add(self, mail: RawMail) -> None:
        if mail.raw is None:
            self._note(Sorted(position=mail.position, message_id="", kind="UNREADABLE", year=0, reason=mail.reason))
            return
        message = decode_message(mail.raw, mail.origin, limits=self._limits)
        found = sort_mail(message, mail.position)
        is_copy = bool(message.message_id) and message.message_id in self._ids
        kind = "COPY" if is_copy else found.kind.name
        year = message.date.year if message.date else 0
        self._note(Sorted(position=mail.position, message_id=message.message_id, kind=kind, year=year))
        if is_copy:
            return
        self._ids[message.message_id or f" {mail.position}"] = mail.position
        is_member = found.kind in (MailKind.PATCH, MailKind.COVER)
        headers = tuple(each for each in message.headers if each[0].lower() in _KEPT_HEADERS)
        light = replace(message, body="", headers=headers)
        self._mails[mail.position] = replace(found, message=light)
        if is_member:
            self._raw[mail.position] = mail.raw
            self._size_bytes += len(mail.raw)

    def _cut(self, count: int) -> Iterator[Item]:
        positions = list(self._mails)
        last = positions[count - 1] if count else -1
        kept: set[int] = set()
        used: set[int] = set()
        for group in group_mails([self._mails[position] for position in positions]):
            used |= {mail.order for mail in group.members.values()}
            if max(mail.order for mail in group.members.values()) <= last:
                yield self._to_item(group)
            else:
                kept |= {mail.order for mail in group.members.values()}
        for position in positions[:count]:
            if position not in kept:
                if position not in used:
                    self._note_superseded(self._mails[position])
                self._size_bytes -= len(self._raw.pop(position, b""))
                del self._mails[position]
        self._ids = {id_: position for id_, position in self._ids.items() if position > last or position in self._mails}
        self._start(min(self._mails, default=last + 1))

    def _note_superseded(self, mail: SortedMail) -> None:
        if mail.kind is MailKind.PATCH:
            message = mail.message
            year = message.date.year if message.date else 0
            self._note(Sorted(position=mail.order, message_id=message.message_id, kind="SUPERSEDED", year=year))

    def _to_item(self, group: Group) -> Item:
        first = group.first
        members = sorted(group.members.items())
        return Item(
            key=first.message.message_id or first.message.origin,
            position=min(mail.order for _, mail in members),
            total=group.total,
            notes=tuple(group.notes),
            mails=tuple((index, mail.order, mail.message.origin, self._raw[mail.order]) for index, mail in members),
        )
