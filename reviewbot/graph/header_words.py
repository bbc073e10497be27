"""Which headers hold a word, or define a macro: asked of the bytes at first, of an index once many questions came, or
where the index knows them already from another tree."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from reviewbot.graph.closures import FileSet, numbers_in
from reviewbot.graph.word_index import shared_index
from reviewbot.patterns import regex
from reviewbot.source.tree import SourceTree

INDEX_AFTER = 100
"""So many questions cost as much as an index of all the headers they are about: a hook asks fewer, a scan many more."""

_DEFINED = regex(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


@lru_cache(maxsize=64)
def defined_in(data: bytes) -> frozenset[bytes]:
    """The names that a text has a #define of."""
    return frozenset(_DEFINED.findall(data))


class HeaderWords:
    """Answers for the headers of one tree; each is read once."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._questions = 0
        self._bytes: dict[str, bytes] = {}
        self._index = shared_index()
        self._indexed = 0  # the files that the index has, as bits
        self._files_of: dict[int, list[int]] = {}  # number of a text in the index -> numbers of the files that hold it

    def holding(self, words: Collection[str], headers: FileSet) -> list[str]:
        """Those of the headers, by name, that may hold one of the words; the caller looks for the word itself."""
        wanted = [word.encode() for word in words]
        if self._is_indexed(headers):
            return self._among(headers, self._index.holding(wanted))
        return [path for path in headers.paths if any(word in self._data(path) for word in wanted)]

    def defining(self, macro: str, headers: FileSet) -> list[str]:
        """The headers, by name, that may have a #define of that name."""
        name = macro.encode()
        if self._is_indexed(headers):
            return self._among(headers, self._index.defining(name))
        with_blank, with_tab = b"define " + name, b"define\t" + name
        return [
            path
            for path in headers.paths
            if (with_blank in (data := self._data(path)) or with_tab in data) and name in _DEFINED.findall(data)
        ]

    def is_defined_in(self, macro: str, path: str) -> bool:
        """Whether the file itself has a #define of that name."""
        return macro.encode() in defined_in(self._tree.read(path) or b"")

    def _is_indexed(self, headers: FileSet) -> bool:
        """Whether the index shall answer; it then has all of these headers."""
        self._questions += 1
        if self._questions == 1 and self._knows_most(headers.paths):
            self._questions += INDEX_AFTER
        if self._questions == INDEX_AFTER + 1:
            self._bytes.clear()
        if self._questions <= INDEX_AFTER:
            return False
        if headers.bits & ~self._indexed:
            self._take_in(headers)
        return True

    def _knows_most(self, paths: Sequence[str]) -> bool:
        if self._index.is_empty:
            return False
        keys = filter(None, map(self._tree.blob_id, paths))
        return sum(self._index.number(key) is None for key in keys) <= len(paths) // 8

    def _take_in(self, headers: FileSet) -> None:
        keys = {}
        for number in numbers_in(headers.bits & ~self._indexed):
            path = headers.numbers.path(number)
            if key := self._tree.blob_id(path):
                keys[number] = (key, path)
        unknown = {key: path for key, path in keys.values() if self._index.number(key) is None}
        self._index.add((key, self._tree.read(path) or b"") for key, path in unknown.items())
        for number, (key, _) in keys.items():
            if (text := self._index.number(key)) is not None:
                self._files_of.setdefault(text, []).append(number)
        self._indexed |= headers.bits

    def _among(self, headers: FileSet, texts: Collection[int]) -> list[str]:
        files = (number for text in texts for number in self._files_of.get(text, ()) if headers.has(number))
        return sorted(map(headers.numbers.path, files))

    def _data(self, path: str) -> bytes:
        data = self._bytes.get(path)
        if data is None:
            data = self._bytes[path] = self._tree.read(path) or b""
        return data
