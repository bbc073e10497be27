"""Which headers hold a word, or define a macro: asked of the bytes at first, of a table once many questions came."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from reviewbot.source.tree import SourceTree

TABLE_AFTER = 150
"""So many questions about a header cost as much as a table of its words."""

_WORD = re.compile(rb"[A-Za-z_]\w*")
_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t](?:[ \t])*(\w+)", re.MULTILINE)


class HeaderWords:
    """Answers for the headers of one tree; each is read once."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._headers: dict[str, _Header] = {}

    def holding(self, words: Collection[str], paths: Sequence[str]) -> list[str]:
        """The paths, in their order, that hold one of the words."""
        wanted = [word.encode() for word in words]
        return [path for path in paths if any(self._header(path).holds(word) for word in wanted)]

    def defining(self, macro: str, paths: Sequence[str]) -> list[str]:
        """The paths, in their order, with a #define of that name."""
        name = macro.encode()
        return [path for path in paths if self._header(path).defines(name)]

    def _header(self, path: str) -> _Header:
        header = self._headers.get(path)
        if header is None:
            header = self._headers[path] = _Header(self._tree.read(path) or b"")
        return header


class _Header:
    """One file: its bytes until it has been asked often, then its words."""

    __slots__ = ("_data", "_defined", "_questions", "_words")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._questions = 0
        self._words: frozenset[bytes] = frozenset()
        self._defined: frozenset[bytes] | None = None

    def holds(self, word: bytes) -> bool:
        """Whether the word occurs; before the table also within a longer one, as the caller will find out."""
        if self._defined is not None:
            return word in self._words
        self._questions += 1
        if self._questions > TABLE_AFTER:
            self._make_table()
        return word in self._data

    def defines(self, name: bytes) -> bool:
        if self._defined is not None:
            return name in self._defined
        self._questions += 1
        if self._questions > TABLE_AFTER:
            self._make_table()
        data = self._data
        if b"define " + name not in data and b"define\t" + name not in data:
            return False
        return name in _DEFINED.findall(data)

    def _make_table(self) -> None:
        self._words = frozenset(_WORD.findall(self._data))
        self._defined = frozenset(_DEFINED.findall(self._data))
