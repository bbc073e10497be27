"""Which headers hold a word, or define a macro: asked of the bytes at first, of an index once many questions came, or
where the index knows them already from another tree."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Collection, Sequence
from functools import lru_cache

from reviewbot.graph.word_index import shared_index
from reviewbot.source.tree import SourceTree

INDEX_AFTER = 100
"""So many questions cost as much as an index of all the headers they are about: a hook asks fewer, a scan many more."""

_LISTS = 16  # lists of paths for which the place of each text is kept
_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_ABSENT = -1


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
        self._numbers: dict[str, int] = {}
        # id of a list -> the list, kept alive so that its id stays its own, and where in it each text stands
        self._places: OrderedDict[int, tuple[Sequence[str], dict[int, list[int]]]] = OrderedDict()

    def holding(self, words: Collection[str], paths: Sequence[str]) -> list[str]:
        """Those of the paths, in their order, that may hold one of the words; the caller looks for the word itself. The
        list must stay the same object from question to question."""
        wanted = [word.encode() for word in words]
        if self._is_indexed(paths):
            places = self._places_in(paths)  # first: it takes the texts of these paths into the index
            return _among(paths, places, self._index.holding(wanted))
        return [path for path in paths if any(word in self._data(path) for word in wanted)]

    def defining(self, macro: str, paths: Sequence[str]) -> list[str]:
        """The paths, in their order, that may have a #define of that name."""
        name = macro.encode()
        if self._is_indexed(paths):
            places = self._places_in(paths)
            return _among(paths, places, self._index.defining(name))
        with_blank, with_tab = b"define " + name, b"define\t" + name
        return [
            path
            for path in paths
            if (with_blank in (data := self._data(path)) or with_tab in data) and name in _DEFINED.findall(data)
        ]

    def is_defined_in(self, macro: str, path: str) -> bool:
        """Whether the file itself has a #define of that name."""
        return macro.encode() in defined_in(self._tree.read(path) or b"")

    def _is_indexed(self, paths: Sequence[str]) -> bool:
        """Whether the index shall answer."""
        self._questions += 1
        if self._questions == 1 and self._knows_most(paths):
            self._questions += INDEX_AFTER
        if self._questions == INDEX_AFTER + 1:
            self._bytes.clear()
        return self._questions > INDEX_AFTER

    def _knows_most(self, paths: Sequence[str]) -> bool:
        if self._index.is_empty:
            return False
        keys = filter(None, map(self._tree.blob_id, paths))
        return sum(self._index.number(key) is None for key in keys) <= len(paths) // 8

    def _places_in(self, paths: Sequence[str]) -> dict[int, list[int]]:
        kept = self._places.get(id(paths))
        if kept is not None:
            self._places.move_to_end(id(paths))
            return kept[1]
        self._number_all(paths)
        places: dict[int, list[int]] = {}
        for place, path in enumerate(paths):
            places.setdefault(self._numbers[path], []).append(place)
        self._places[id(paths)] = paths, places
        if len(self._places) > _LISTS:
            self._places.popitem(last=False)
        return places

    def _number_all(self, paths: Sequence[str]) -> None:
        keys = {path: self._tree.blob_id(path) for path in paths if path not in self._numbers}
        unknown = {key: path for path, key in keys.items() if key and self._index.number(key) is None}
        self._index.add((key, self._tree.read(path) or b"") for key, path in unknown.items())
        for path, key in keys.items():
            number = self._index.number(key) if key else None
            self._numbers[path] = _ABSENT if number is None else number

    def _data(self, path: str) -> bytes:
        data = self._bytes.get(path)
        if data is None:
            data = self._bytes[path] = self._tree.read(path) or b""
        return data


def _among(paths: Sequence[str], places: dict[int, list[int]], numbers: set[int]) -> list[str]:
    found = [place for number in numbers if number in places for place in places[number]]
    return [paths[place] for place in sorted(found)]
