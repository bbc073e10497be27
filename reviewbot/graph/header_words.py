"""Which headers hold a word: each header is read once, then every question about it is a look into a table."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from reviewbot.source.tree import SourceTree

_WORD = re.compile(rb"[A-Za-z_]\w*")
_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


class HeaderWords:
    """An inverted index over the headers that questions were about, in the order in which they came up."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._numbers: dict[str, int] = {}
        self._holders: dict[bytes, list[int]] = {}
        self._definers: dict[bytes, list[int]] = {}

    def holding(self, words: Collection[str], paths: Sequence[str]) -> list[str]:
        """The paths, in their order, that hold one of the words."""
        self._add(paths)
        wanted = {number for word in words for number in self._holders.get(word.encode(), ())}
        return [path for path in paths if self._numbers[path] in wanted] if wanted else []

    def defining(self, macro: str, paths: Sequence[str]) -> list[str]:
        """The paths, in their order, with a #define of that name."""
        self._add(paths)
        wanted = self._definers.get(macro.encode())
        return [path for path in paths if self._numbers[path] in wanted] if wanted else []

    def _add(self, paths: Sequence[str]) -> None:
        for path in paths:
            if path in self._numbers:
                continue
            number = self._numbers[path] = len(self._numbers)
            data = self._tree.read(path) or b""
            for table, found in ((self._holders, _WORD.findall(data)), (self._definers, _DEFINED.findall(data))):
                for word in set(found):
                    table.setdefault(word, []).append(number)
