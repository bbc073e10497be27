"""Whether what was found out about a file still holds after other files changed.

An inspection asks a tree what words mean. Its answer can only be another one if a file that it saw changed, and that
file holds, before or after, a word that it asked for in what changed or stands behind that, or includes other files; or
if a file came that one of those includes; or if any file changed that holds, there again, a word it searched the whole
tree for; or the file itself, or a Makefile that concerns it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from reviewbot.csyntax.outline import outline
from reviewbot.facts.footprint import Footprint, number, to_bit, to_numbers
from reviewbot.facts.listing import Listing, decoded
from reviewbot.patterns import regex
from reviewbot.source.c_files import may_be_c
from reviewbot.values import dataclass

MAX_COMPARED = 2000  # above so many differing files it is another kernel, and to compare it costs more than to read it
_WORD = regex(rb"[A-Za-z_]\w*")
_INCLUDE = regex(rb"^[ \t]*#[ \t]*include[^\n]*", re.MULTILINE)

Read = Callable[[bytes, bytes], bytes | None]  # (path, blob id) -> content, None if it is not known
Includers = Callable[[frozenset[str]], frozenset[str]]  # last parts of paths -> the files that include such a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file that is not the same any more. `words` stand in it from the first item on that is not the same, None is
    for all of them. `is_seen_whole`: what
    it includes, or whether it is there at all, is not the same."""

    path: int
    bit: int
    words: frozenset[int] | None
    is_seen_whole: bool


class Changes:
    """Everything that differs between the tree that was inspected and the one at hand."""

    def __init__(self, before: Listing, after: Listing, read: Read, includers: Includers) -> None:
        differing = before.differing(after)
        self.paths = decoded(differing)
        self.is_other_tree = len(differing) > MAX_COMPARED or before.arches() != after.arches()
        """Whether nothing that was found out about the one holds for the other."""
        if self.is_other_tree:
            return
        self._changes = [_change(path, before, after, read) for path in sorted(differing)]
        new = decoded(path for path in differing if path not in before.blobs)
        names = frozenset(posixpath.basename(path) for path in new)
        self._redirected = 0
        for path in includers(names) if names else ():
            self._redirected |= to_bit(path)

    def leave(self, footprint: Footprint) -> bool:
        """Whether they leave the inspection with this footprint as it was."""
        if self.is_other_tree or footprint.seen & self._redirected:
            return False
        return not any(_concerns(change, footprint) for change in self._changes)


def included_names(text: bytes) -> frozenset[str]:
    """The last parts of the names in the #includes of a file."""
    return frozenset(
        word.decode("utf-8", "surrogateescape")
        for line in _INCLUDE.findall(text)
        for word in re.findall(rb'[^/"<>\s]+(?=[">])', line)
    )


def _change(path: bytes, before: Listing, after: Listing, read: Read) -> Change:
    name = path.decode("utf-8", "surrogateescape")
    blobs = (before.blobs.get(path), after.blobs.get(path))
    texts = [read(path, blob) for blob in blobs if blob is not None]
    known = [text for text in texts if text is not None]
    is_known = len(known) == len(texts)
    starts_at = _same_items_bytes(known[0], known[1]) if len(known) == 2 and may_be_c(name) else 0
    words = {word for text in known for word in _WORD.findall(text, starts_at)}
    return Change(
        path=number(name),
        bit=to_bit(name),
        words=to_numbers(word.decode("ascii", "replace") for word in words) if is_known else None,
        is_seen_whole=None in blobs or not is_known or len({tuple(_INCLUDE.findall(text)) for text in known}) > 1,
    )


def _same_items_bytes(before: bytes, after: bytes) -> int:
    """Up to where two texts of a C file are the same, item by item: no name that stands only before this place is
    defined in another way, or on another line. What follows may change how the items before it are told apart (an
    #else that comes, a brace that nobody closes), so these are compared as well."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if before[:middle] == after[:middle] else (low, middle - 1)
    ends_at = 0
    for old, new in zip(outline(before).entries, outline(after).entries, strict=False):
        if old != new or old.end > low:
            break
        ends_at = old.end
    return ends_at


def _concerns(change: Change, footprint: Footprint) -> bool:
    if change.path in footprint.whole or _shares(change.words, footprint.searched):
        return True
    return bool(change.bit & footprint.seen) and (change.is_seen_whole or _shares(change.words, footprint.asked))


def _shares(words: frozenset[int] | None, others: frozenset[int]) -> bool:
    return bool(others) if words is None else not others.isdisjoint(words)
