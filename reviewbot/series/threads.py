"""Sorted mails -> the mails of each series, by threading first and by sender, version and count second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import field

from reviewbot.series.mail_kind import MailKind, SortedMail
from reviewbot.values import dataclass

# Mails of one unthreaded series are sent together; patchwork allows 20 minutes, slow mail servers need more.
_SENT_TOGETHER_S = 24 * 3600.0


@dataclass(slots=True)
class Group:
    """The mails of one version of one series: index -> mail (0 is the cover); `notes` are sentences about what was
    decided."""

    members: dict[int, SortedMail]
    replies: list[SortedMail] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def first(self) -> SortedMail:
        """The cover, or the patch with the lowest index."""
        return self.members[min(self.members)]

    @property
    def total(self) -> int:
        """M of N/M."""
        return self.first.subject.total

    @property
    def stamp(self) -> float:
        """When the first of its mails was sent (seconds since 1970, 0 if unknown)."""
        return min(mail.stamp for mail in self.members.values())

    def is_complete(self) -> bool:
        """True when no patch of 1 … M is missing."""
        return (
            all(index in self.members for index in range(1, self.total + 1))
            if self.total <= len(self.members)
            else False
        )


def group_mails(mails: Sequence[SortedMail]) -> list[Group]:
    """Every series among `mails`, in the order in which they were sent, with the replies to each."""
    members = [mail for mail in mails if mail.kind in (MailKind.PATCH, MailKind.COVER)]
    numbered = [mail for mail in members if mail.subject.is_numbered]
    groups = [Group(members={1: mail}) for mail in members if not mail.subject.is_numbered]
    for component in _components(numbered):
        groups += _split_by_index(component)
    groups = _merge_unthreaded(groups)
    groups = _apply_single_resends(groups)
    groups.sort(key=lambda group: (group.stamp, group.first.order))
    _attach_replies(groups, mails)
    return groups


def _components(mails: Sequence[SortedMail]) -> list[list[SortedMail]]:
    """Mails that hang together: one answers the other, or both answer the same mail, and sender, version and count
    agree."""
    parent = list(range(len(mails)))
    seen: dict[tuple[object, ...], int] = {}
    for at, mail in enumerate(mails):
        for anchor in _anchors(mail):
            key = (anchor, mail.sender, mail.subject.version, mail.subject.total, mail.subject.is_resend)
            other = seen.setdefault(key, at)
            _join(parent, at, other)
    found: dict[int, list[SortedMail]] = defaultdict(list)
    for at, mail in enumerate(mails):
        found[_root(parent, at)].append(mail)
    return list(found.values())


def _anchors(mail: SortedMail) -> set[str]:
    message = mail.message
    root = message.references[:1]
    return {anchor for anchor in (message.message_id, message.in_reply_to, *root) if anchor}


def _join(parent: list[int], one: int, other: int) -> None:
    parent[_root(parent, one)] = _root(parent, other)


def _root(parent: list[int], at: int) -> int:
    while parent[at] != at:
        parent[at] = parent[parent[at]]
        at = parent[at]
    return at


def _split_by_index(component: Sequence[SortedMail]) -> list[Group]:
    """One group, unless an index occurs twice: then every mail goes to the group that it refers to, else to the newest
    with room."""
    groups: list[Group] = []
    home: dict[str, Group] = {}
    for mail in sorted(component, key=lambda mail: (mail.stamp, mail.subject.index, mail.order)):
        index = mail.subject.index
        named = (home[known] for known in _referred(mail) if known in home)
        group = next((group for group in (*named, *reversed(groups[-8:])) if index not in group.members), None)
        if group is None:
            group = Group(members={})
            groups.append(group)
        group.members[index] = mail
        home[mail.message.message_id] = group
    return groups


def _referred(mail: SortedMail) -> Iterable[str]:
    message = mail.message
    return (message.in_reply_to or "", *reversed(message.references[-8:]))


def _merge_unthreaded(groups: Sequence[Group]) -> list[Group]:
    """Join the pieces of series that were sent without threading, or whose common parent is not in the input."""
    merged: list[Group] = []
    open_groups: dict[tuple[object, ...], list[Group]] = defaultdict(list)
    for group in sorted(groups, key=lambda group: (group.stamp, group.first.order)):
        subject = group.first.subject
        if not subject.is_numbered or subject.total < 2 or group.is_complete():
            merged.append(group)
            continue
        key = (group.first.sender, subject.version, subject.total, frozenset(word.lower() for word in subject.prefixes))
        home = next((other for other in reversed(open_groups[key][-8:]) if _fit_together(other, group)), None)
        if home is None:
            open_groups[key].append(group)
            merged.append(group)
        else:
            home.members.update(group.members)
    return merged


def _fit_together(one: Group, other: Group) -> bool:
    if any(index in one.members for index in other.members):
        return False
    if not one.first.sender:
        return True  # files of git format-patch: their dates are when the commits were written
    return abs(one.stamp - other.stamp) <= _SENT_TOGETHER_S


def _apply_single_resends(groups: Sequence[Group]) -> list[Group]:
    """A single patch that was sent again as answer to its older self, within a series, takes that one's place."""
    home = {mail.message.message_id: (group, index) for group in groups for index, mail in group.members.items()}
    kept: list[Group] = []
    for group in sorted(groups, key=lambda group: (group.stamp, group.first.order)):
        target = home.get(group.first.message.in_reply_to or "")
        if target is not None and _replaces(group, *target):
            _replace(target[0], target[1], group.first)
            home[group.first.message.message_id] = target
        else:
            kept.append(group)
    return kept


def _replaces(group: Group, target: Group, index: int) -> bool:
    new, old = group.first, target.members.get(index)
    if (
        group is target
        or old is None
        or index == 0
        or target.total < 2
        or len(group.members) != 1
        or new.kind is not MailKind.PATCH
    ):
        return False
    if new.sender != old.sender or new.subject.version < old.subject.version:
        return False
    if new.subject.is_numbered:
        return (new.subject.index, new.subject.total) == (index, target.total)
    return new.subject.version > old.subject.version and new.subject.title.casefold() == old.subject.title.casefold()


def _replace(target: Group, index: int, new: SortedMail) -> None:
    old = target.members[index]
    target.members[index] = new
    newer = f"v{new.subject.version}, {new.message.origin}"
    target.notes.append(
        f"Patch {index}/{target.total} was taken from a single later mail ({newer}) that answers the first one"
        f" ({old.message.origin})"
    )


def _attach_replies(groups: Sequence[Group], mails: Sequence[SortedMail]) -> None:
    """Every other mail goes to the series that it answers, directly or through other replies."""
    home = {
        mail.message.message_id: group for group in groups for mail in group.members.values() if mail.message.message_id
    }
    for group in groups:
        for anchor in _anchors(group.first):  # the cover of most series, when it is not in the input itself
            home.setdefault(anchor, group)
    taken = {id(mail) for group in groups for mail in group.members.values()}
    for mail in sorted(mails, key=lambda mail: (mail.stamp, mail.order)):
        if id(mail) in taken:
            continue
        found = next((home[known] for known in _answered(mail) if known in home), None)
        if found is not None:
            found.replies.append(mail)
            home.setdefault(mail.message.message_id, found)


def _answered(mail: SortedMail) -> Iterable[str]:
    return (mail.message.in_reply_to or "", *reversed(mail.message.references))
