"""Which headers hold a word: each header is read once, then every question about it is a look into a table."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from reviewbot.source.tree import SourceTree

_WORD = re.compile(rb"[A-Za-z_]\w*")


class HeaderWords:
    """An inverted index over the headers that questions were about, in the order in which they came up."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._numbers: dict[str, int] = {}
        self._holders: dict[bytes, list[int]] = {}

    def holding(self, words: Collection[str], paths: Sequence[str]) -> list[str]:
        """The paths, in their order, that hold one of the words."""
        for path in paths:
            if path not in self._numbers:
                self._add(path)
        wanted = {number for word in words for number in self._holders.get(word.encode(), ())}
        return [path for path in paths if self._numbers[path] in wanted] if wanted else []

    def _add(self, path: str) -> None:
        number = self._numbers[path] = len(self._numbers)
        for word in set(_WORD.findall(self._tree.read(path) or b"")):
            self._holders.setdefault(word, []).append(number)
