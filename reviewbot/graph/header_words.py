"""Which headers hold a word, or define a macro: asked of the bytes at first, of an index once many questions came."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from reviewbot.source.tree import SourceTree

INDEX_AFTER = 400
"""So many questions cost as much as an index of all the headers they are about: a hook asks fewer, a scan many more."""

_WORD = re.compile(rb"[A-Za-z_]\w*")
_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


class HeaderWords:
    """Answers for the headers of one tree; each is read once."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._questions = 0
        self._bytes: dict[str, bytes] = {}
        self._own: dict[str, frozenset[bytes]] = {}
        self._index = _Index()

    def holding(self, words: Collection[str], paths: Sequence[str]) -> list[str]:
        """Those of the paths, in their order, that may hold one of the words; the caller looks for the word itself. The
        list must stay the same object from question to question."""
        wanted = [word.encode() for word in words]
        if self._is_indexed(paths):
            return self._index.holding(wanted, paths)
        return [path for path in paths if any(word in self._data(path) for word in wanted)]

    def defining(self, macro: str, paths: Sequence[str]) -> list[str]:
        """The paths, in their order, with a #define of that name."""
        name = macro.encode()
        if self._is_indexed(paths):
            return self._index.defining(name, paths)
        with_blank, with_tab = b"define " + name, b"define\t" + name
        return [
            path
            for path in paths
            if (with_blank in (data := self._data(path)) or with_tab in data) and name in _DEFINED.findall(data)
        ]

    def is_defined_in(self, macro: str, path: str) -> bool:
        """Whether the file itself has a #define of that name."""
        if path not in self._own:
            self._own[path] = frozenset(_DEFINED.findall(self._tree.read(path) or b""))
        return macro.encode() in self._own[path]

    def _is_indexed(self, paths: Sequence[str]) -> bool:
        """Whether the index answers; brings these paths into it then."""
        self._questions += 1
        if self._questions <= INDEX_AFTER:
            return False
        if not self._index.knows(paths):
            for path in paths:
                if path not in self._index:
                    self._index.add(path, self._data(path))
                    del self._bytes[path]
            self._index.remember(paths)
        return True

    def _data(self, path: str) -> bytes:
        data = self._bytes.get(path)
        if data is None:
            data = self._bytes[path] = self._tree.read(path) or b""
        return data


class _Index:
    """word -> numbers of the headers that hold it, and that define it as a macro."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._paths: list[str] = []
        # Lists of paths that are wholly in here, kept alive so that their ids stay theirs, with each path's position.
        self._lists: dict[int, tuple[Sequence[str], dict[str, int]]] = {}
        self._holders: dict[bytes, list[int]] = {}
        self._definers: dict[bytes, list[int]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._numbers

    def knows(self, paths: Sequence[str]) -> bool:
        """Whether this very list was remembered."""
        return id(paths) in self._lists

    def remember(self, paths: Sequence[str]) -> None:
        self._lists[id(paths)] = (paths, {path: position for position, path in enumerate(paths)})

    def add(self, path: str, data: bytes) -> None:
        number = self._numbers[path] = len(self._paths)
        self._paths.append(path)
        for table, found in ((self._holders, _WORD.findall(data)), (self._definers, _DEFINED.findall(data))):
            for word in set(found):
                table.setdefault(word, []).append(number)

    def holding(self, words: list[bytes], paths: Sequence[str]) -> list[str]:
        return self._among(paths, {number for word in words for number in self._holders.get(word, ())})

    def defining(self, name: bytes, paths: Sequence[str]) -> list[str]:
        return self._among(paths, set(self._definers.get(name, ())))

    def _among(self, paths: Sequence[str], numbers: set[int]) -> list[str]:
        positions = self._lists[id(paths)][1]
        found = [path for path in map(self._paths.__getitem__, numbers) if path in positions]
        return sorted(found, key=positions.__getitem__)
