"""A tree with some files changed in memory, and a tree of nothing."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from reviewbot.source.contents import to_blob_id
from reviewbot.source.tree import SourceTree
from reviewbot.source.words import Places, WordIndex, search_contents

_SOURCES = (".c", ".h", ".S")


class EmptyTree:
    """The tree before the first commit."""

    label = "nothing"
    is_complete = True

    def read(self, path: str) -> bytes | None:
        return None

    def blob_id(self, path: str) -> str | None:
        return None

    def paths(self) -> Sequence[str]:
        return ()

    def known_lines(self, path: str) -> tuple[tuple[int, int], ...] | None:
        return None

    def search(
        self, words: Collection[str], suffixes: Collection[str] = _SOURCES, folders: Collection[str] = ()
    ) -> Mapping[str, tuple[str, ...]]:
        return dict.fromkeys(sorted(words), ())


class OverlayTree:
    """`base` with `changed` on top: path -> its bytes, or None where the file is not there any more."""

    def __init__(self, base: SourceTree, changed: Mapping[str, bytes | None], label: str = "") -> None:
        # one overlay on another would make the hundredth patch of a series a hundred times slower than the first
        below = base if isinstance(base, OverlayTree) else None
        self.base: SourceTree = below.base if below else base
        self.changed: Mapping[str, bytes | None] = {**below.changed, **changed} if below else dict(changed)
        self.label = label or f"{base.label} with changes"
        self._words = WordIndex(self._find)

    @property
    def is_complete(self) -> bool:
        return self.base.is_complete

    def read(self, path: str) -> bytes | None:
        return self.changed[path] if path in self.changed else self.base.read(path)

    def blob_id(self, path: str) -> str | None:
        if path not in self.changed:
            return self.base.blob_id(path)
        content = self.changed[path]
        return None if content is None else to_blob_id(content)

    def paths(self) -> Sequence[str]:
        return self._paths

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        below = self.base.paths()
        if all((content is not None) == _holds(below, path) for path, content in self.changed.items()):
            return tuple(below)
        kept = [path for path in below if path not in self.changed]
        return tuple(sorted([*kept, *(path for path, content in self.changed.items() if content is not None)]))

    def known_lines(self, path: str) -> tuple[tuple[int, int], ...] | None:
        return None if path in self.changed else self.base.known_lines(path)

    def search(
        self, words: Collection[str], suffixes: Collection[str] = _SOURCES, folders: Collection[str] = ()
    ) -> Mapping[str, tuple[str, ...]]:
        return self._words.find(words, suffixes, folders)

    def _find(self, words: Collection[str], places: Places) -> Mapping[str, Collection[str]]:
        found = self.base.search(words, places.suffixes, places.folders)
        contents = ((path, content) for path, content in self.changed.items() if content is not None)
        corrected = search_contents(contents, words, places)
        return {word: (set(found[word]) - self.changed.keys()) | corrected[word] for word in words}


def _holds(ordered: Sequence[str], path: str) -> bool:
    at = bisect_left(ordered, path)
    return at < len(ordered) and ordered[at] == path
