"""Whether what was found out about a file still holds after other files changed.

An inspection asks a tree what words mean. Its answer can only be another one if a file that it saw changed, and that
file holds, before or after, a word that it asked for, or includes other files; or if any file changed that holds a word
it searched the whole tree for; or the file itself, or a Makefile that concerns it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reviewbot.facts.bits import Footprint, to_bits
from reviewbot.facts.listing import Listing, decoded

MAX_COMPARED = 2000  # above so many differing files they are not read, and every word counts as changed
INCLUDED = "<"  # marks the name of an included file among the words, and `/` a path
PATH = "/"
_WORD = re.compile(rb"[A-Za-z_]\w*")
_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include.*$", re.MULTILINE)
_EVERY_WORD = -1

Read = Callable[[bytes, bytes | None], bytes | None]  # (path, blob id or None) -> content, None if it is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file that is not the same any more: the bit of its path, and those of the words that matter in it."""

    path: int
    words: int
    is_seen_whole: bool  # what it includes, or whether it is there at all, has changed
    included: int  # the bit of its name in an #include, where it came or went


class Changes:
    """Everything that differs between the tree that was inspected and the one at hand."""

    def __init__(self, before: Listing, after: Listing, numbers: Mapping[str, int], read: Read) -> None:
        differing = before.differing(after)
        self._is_other_tree = before.arches() != after.arches()
        self._numbers = numbers
        self._changes = [
            self._change(path, before, after, read if len(differing) <= MAX_COMPARED else None) for path in differing
        ]
        self.paths = decoded(differing)

    def leave(self, footprint: Footprint) -> bool:
        """Whether they leave the inspection with this footprint as it was."""
        return not self._is_other_tree and not any(_concerns(change, footprint) for change in self._changes)

    def _change(self, path: bytes, before: Listing, after: Listing, read: Read | None) -> Change:
        name = path.decode("utf-8", "surrogateescape")
        old, new = before.blobs.get(path), after.blobs.get(path)
        is_new_or_gone = old is None or new is None
        texts = [read(path, blob) if read else None for blob in (old, new) if blob is not None]
        return Change(
            path=to_bits((PATH + name,), self._numbers),
            words=self._words(texts),
            is_seen_whole=is_new_or_gone or None in texts or len({_includes(text or b"") for text in texts}) > 1,
            included=to_bits((INCLUDED + posixpath.basename(name),), self._numbers) if is_new_or_gone else 0,
        )

    def _words(self, texts: list[bytes | None]) -> int:
        words: set[bytes] = set()
        for text in texts:
            if text is None:
                return _EVERY_WORD
            words.update(_WORD.findall(text))
        return to_bits((word.decode("ascii", "replace") for word in words), self._numbers)


def _includes(text: bytes) -> tuple[bytes, ...]:
    return tuple(_INCLUDE.findall(text))


def _concerns(change: Change, footprint: Footprint) -> bool:
    if change.path & footprint.whole or change.words & footprint.searched or change.included & footprint.asked:
        return True
    return bool(change.path & footprint.seen) and (change.is_seen_whole or bool(change.words & footprint.asked))
