"""Sets of a tree's files as bits, and what each file reaches through its #includes, worked out once for all files that
share a header.

A set of a thousand headers takes one kilobyte, and the closure of a source file is the union of the closures of what it
includes: a few operations, where a walk takes a thousand steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

MAX_FILES = 40_000
"""Files of one tree that get a number; Linux 7.2 has 26,000 headers. A file beyond is in no set."""

Edges = Callable[[str], Sequence[str]]
"""file -> the files that it includes."""


class FileNumbers:
    """path <-> number, in the order in which they are asked for."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._paths: list[str] = []

    def bit(self, path: str) -> int:
        """The set of that one file."""
        number = self._numbers.get(path)
        if number is None:
            if len(self._paths) >= MAX_FILES:
                return 0
            number = self._numbers[path] = len(self._paths)
            self._paths.append(path)
        return 1 << number

    def known_bit(self, path: str) -> int:
        """The same, but no set where the file has no number yet."""
        number = self._numbers.get(path)
        return 0 if number is None else 1 << number

    def path(self, number: int) -> str:
        return self._paths[number]


@dataclass(eq=False)
class FileSet:
    """Some files of a tree."""

    bits: int
    numbers: FileNumbers

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """In the order of their names."""
        return tuple(sorted(map(self.numbers.path, numbers_in(self.bits))))

    def has(self, number: int) -> bool:
        at = number >> 3
        return at < len(self._mask) and bool(self._mask[at] >> (number & 7) & 1)

    @cached_property
    def _mask(self) -> bytes:
        return self.bits.to_bytes((self.bits.bit_length() + 7) // 8, "little")


def numbers_in(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set, rising."""
    digits = bin(bits)[:1:-1]
    at = digits.find("1")
    while at >= 0:
        yield at
        at = digits.find("1", at + 1)


class Closures:
    """What the headers of one tree lead to, for one way of finding what an #include names.

    Files that include each other have one answer: Tarjan's strongly connected components, without recursion."""

    def __init__(
        self, edges: Edges, numbers: FileNumbers, like: Closures | None = None, differs: Callable[[str], bool] = bool
    ) -> None:
        """With `like`, a header that leads to no file whose edges differ from those there leads to the same files."""
        self._edges = edges
        self._numbers = numbers
        self._like = like
        self._differs = differs
        self._known: dict[str, int] = {}  # file -> the bits of its closure
        self._judged = 0  # the files that were asked whether they differ
        self._different = 0

    def of(self, starts: Iterable[str]) -> int:
        """The bits of the files, and of all that they lead to."""
        bits = 0
        for start in starts:
            known = self._known_of(start)
            if known is None:
                self._fill(start)
                known = self._known[start]
            bits |= known
        return bits

    def _known_of(self, path: str) -> int | None:
        bits = self._known.get(path)
        if bits is None and self._like is not None:
            there = self._like.of((path,))
            if not self._has_different(there):
                bits = self._known[path] = there
        return bits

    def _has_different(self, bits: int) -> bool:
        for number in numbers_in(bits & ~self._judged):
            if self._differs(self._numbers.path(number)):
                self._different |= 1 << number
        self._judged |= bits
        return bool(bits & self._different)

    def _fill(self, start: str) -> None:
        order: dict[str, int] = {}  # file -> when it was entered
        low: dict[str, int] = {}  # file -> the earliest entered file that it leads back to
        own: dict[str, int] = {}  # file -> the bits found below it so far
        open_: list[str] = []
        place: dict[str, int] = {}  # file -> where it stands in `open_`
        walk: list[tuple[str, Iterator[str]]] = []

        def enter(path: str) -> None:
            order[path] = low[path] = len(order)
            own[path] = self._numbers.bit(path)
            place[path] = len(open_)
            open_.append(path)
            walk.append((path, iter(self._edges(path))))

        enter(start)
        while walk:
            path, rest = walk[-1]
            for included in rest:
                if included in order and included not in self._known:
                    low[path] = min(low[path], order[included])
                elif (bits := self._known_of(included)) is not None:
                    own[path] |= bits
                else:
                    enter(included)
                    break
            else:
                walk.pop()
                if low[path] == order[path]:
                    self._close(open_[place[path] :], own)
                    del open_[place[path] :]
                if walk:
                    above = walk[-1][0]
                    low[above] = min(low[above], low[path])
                    own[above] |= self._known.get(path, 0)

    def _close(self, members: Sequence[str], own: Mapping[str, int]) -> None:
        """They all lead to each other, so all have the same bits."""
        bits = 0
        for member in members:
            bits |= own[member]
        for member in members:
            self._known[member] = bits
