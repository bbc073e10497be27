"""A tree of sources in memory, for tests of every stage that reads files through a SourceTree."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence

from reviewbot.source.words import Places


class MemoryTree:
    """A SourceTree made of `{path: bytes}` (text is encoded as UTF-8).

    `searched` records the words of every search, `searched_folders` where it was, and `was_read` every path read, so a
    test can count them.
    `known` gives the known lines of a path in an incomplete tree.
    """

    def __init__(
        self,
        files: Mapping[str, bytes | str],
        *,
        label: str = "memory",
        is_complete: bool = True,
        known: Mapping[str, tuple[tuple[int, int], ...]] | None = None,
    ) -> None:
        self._files = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
        self._known = dict(known or {})
        self._label = label
        self._is_complete = is_complete
        self.searched: list[tuple[str, ...]] = []
        self.searched_folders: list[tuple[str, ...]] = []
        self.was_read: list[str] = []

    @property
    def label(self) -> str:
        return self._label

    @property
    def is_complete(self) -> bool:
        return self._is_complete

    def read(self, path: str) -> bytes | None:
        self.was_read.append(path)
        return self._files.get(path)

    def blob_id(self, path: str) -> str | None:
        data = self._files.get(path)
        return None if data is None else hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()

    def paths(self) -> Sequence[str]:
        return sorted(self._files)

    def search(
        self,
        words: Collection[str],
        suffixes: Collection[str] = (".c", ".h", ".S"),
        folders: Collection[str] = (),
    ) -> Mapping[str, tuple[str, ...]]:
        self.searched.append(tuple(sorted(words)))
        self.searched_folders.append(tuple(sorted(folders)))
        places = Places(suffixes=tuple(suffixes), folders=tuple(folders))
        candidates = list(filter(places.have, self.paths()))
        return {word: tuple(path for path in candidates if self._holds(path, word)) for word in words}

    def known_lines(self, path: str) -> tuple[tuple[int, int], ...] | None:
        return self._known.get(path)

    def _holds(self, path: str, word: str) -> bool:
        return re.search(rb"\b" + re.escape(word.encode()) + rb"\b", self._files[path]) is not None
