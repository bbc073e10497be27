"""How often a call of a function opens user access: pairs by direction, as an interval over the ways through it."""

from __future__ import annotations

from dataclasses import replace

from reviewbot.rulebook.primitives import Direction
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Numbers of pairs. In the bounds of an interval `total` is a bound of its own: the way with the fewest pairs need
    not be the one with the fewest reads."""

    total: int = 0
    read: int = 0
    write: int = 0
    read_write: int = 0

    def __add__(self, other: Pairs) -> Pairs:
        return Pairs(
            total=self.total + other.total,
            read=self.read + other.read,
            write=self.write + other.write,
            read_write=self.read_write + other.read_write,
        )

    def times(self, count: int) -> Pairs:
        return Pairs(
            total=self.total * count,
            read=self.read * count,
            write=self.write * count,
            read_write=self.read_write * count,
        )

    def of(self, direction: Direction) -> int:
        return {Direction.READ: self.read, Direction.WRITE: self.write}.get(direction, self.read_write)


NONE = Pairs()


def one_pair(direction: Direction) -> Pairs:
    return Pairs(
        total=1,
        read=int(direction is Direction.READ),
        write=int(direction is Direction.WRITE),
        read_write=int(direction is Direction.READ_WRITE),
    )


def fewest(one: Pairs, other: Pairs) -> Pairs:
    """Each number by itself."""
    return Pairs(
        total=min(one.total, other.total),
        read=min(one.read, other.read),
        write=min(one.write, other.write),
        read_write=min(one.read_write, other.read_write),
    )


def most(one: Pairs, other: Pairs) -> Pairs:
    """Each number by itself."""
    return Pairs(
        total=max(one.total, other.total),
        read=max(one.read, other.read),
        write=max(one.write, other.write),
        read_write=max(one.read_write, other.read_write),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Over the ways through some code; `typ` is that of the typical way."""

    low: Pairs = NONE
    typ: Pairs = NONE
    high: Pairs = NONE

    def __add__(self, other: Interval) -> Interval:
        return Interval(low=self.low + other.low, typ=self.typ + other.typ, high=self.high + other.high)

    @property
    def is_nothing(self) -> bool:
        return self.high.total == 0


NOTHING = Interval()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopHead:
    """A loop around code. `bound` is its number of rounds as written, "" where the head does not tell; `rounds` the
    number where it is constant."""

    path: str
    line: int
    text: str
    bound: str = ""
    rounds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPairs:
    """Pairs of one round of `heads[-1]`, which stands in the other heads. `is_typical`: the typical way comes by it."""

    heads: tuple[LoopHead, ...]
    round: Interval
    is_typical: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStep:
    """`function` calls (or its macro calls) `callee` at this line."""

    path: str
    line: int
    function: str
    callee: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPlace:
    """One place that was counted: a self-contained access, or (`is_block`) the opener of a block. `condition` says when
    it is reached; `loops` are around it, outermost first; `via` are the calls that lead to it from the function that is
    counted."""

    path: str
    line: int
    function: str
    primitive: str
    direction: Direction
    is_block: bool
    condition: str = ""
    loops: tuple[LoopHead, ...] = ()
    via: tuple[CallStep, ...] = ()
    is_typical: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What one call of a function switches. `pairs` are those outside loops of an unknown number of rounds; `typical`
    are the choices that make up the typical way, where others would make a difference; `gaps` are sentences about what
    is not in the figures."""

    pairs: Interval = NOTHING
    loops: tuple[LoopPairs, ...] = ()
    places: tuple[CountedPlace, ...] = ()
    typical: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        return self.pairs.is_nothing and not self.loops


def either(tallies: list[tuple[Tally, str]], typical: int) -> Tally:
    """One of several bodies runs, each with the condition it stands under; `typical` is the index of the usual one."""
    chosen = tallies[typical][0]
    low, high = chosen.pairs.low, chosen.pairs.high
    loops: list[LoopPairs] = []
    places: list[CountedPlace] = []
    gaps: dict[str, None] = {}
    for index, (tally, condition) in enumerate(tallies):
        low, high = fewest(low, tally.pairs.low), most(high, tally.pairs.high)
        is_chosen = index == typical
        loops += [each if is_chosen else replace(each, is_typical=False) for each in tally.loops]
        places += [
            replace(each, condition=both(condition, each.condition), is_typical=each.is_typical and is_chosen)
            for each in tally.places
        ]
        gaps.update(dict.fromkeys(tally.gaps))
    return Tally(
        pairs=Interval(low=low, typ=chosen.pairs.typ, high=high),
        loops=tuple(loops),
        places=tuple(places),
        typical=chosen.typical,
        gaps=tuple(gaps),
    )


def both(outer: str, inner: str) -> str:
    """Two conditions that must both hold."""
    parts = [*outer.split(" && "), *inner.split(" && ")]
    return " && ".join(dict.fromkeys(part for part in parts if part))
