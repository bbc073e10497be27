"""Tallies -> the figures of a report: pairs per call as an interval, by direction, with a symbolic part for loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reviewbot.findings.review import Count
from reviewbot.graph.switch_counts import Interval, LoopHead, LoopPairs, Tally
from reviewbot.rulebook.primitives import Direction

_NAMES = ("n", "m", "k")
_MAX_CHOICES = 6


def to_count(tally: Tally, *, has_directions: bool, with_places: bool = False) -> Count:
    """`has_directions`: the architecture opens read and write access apart."""
    pairs = tally.pairs
    return Count(
        pairs=(pairs.low.total, pairs.typ.total, pairs.high.total),
        per_iteration=loop_text(tally.loops),
        reads=_of(pairs, Direction.READ) if has_directions else None,
        writes=_of(pairs, Direction.WRITE) if has_directions else None,
        typical=typical_text(tally),
        places=tally.places if with_places else (),
    )


def is_same(one: Tally, other: Tally) -> bool:
    """Whether two tallies come to the same figures, wherever the pairs stand."""
    return one.pairs == other.pairs and loop_text(one.loops) == loop_text(other.loops)


def loop_text(loops: Sequence[LoopPairs]) -> str:
    """`2·n + (0 to 1)·n·m`; "up to" before what the typical way does not come by. Equal loops are added up."""
    names = bound_names(loops)
    usual = _sum([each for each in loops if each.is_typical], names)
    other = _sum([each for each in loops if not each.is_typical], names)
    return " + ".join([*usual, *(f"up to {term}" for term in other)])


def bound_names(loops: Iterable[LoopPairs]) -> dict[LoopHead, str]:
    """A name for the number of rounds of each loop: its bound as written, else n, m, k, n4 and so on."""
    names: dict[LoopHead, str] = {}
    for head in (head for each in loops for head in each.heads):
        if head in names:
            continue
        unnamed = sum(not known.bound for known in names)
        free = _NAMES[unnamed] if unnamed < len(_NAMES) else f"n{unnamed + 1}"
        names[head] = head.bound or free
    return names


def typical_text(tally: Tally) -> str:
    """The choices of the typical way, where they matter; "" where every way that ends well comes to the same."""
    if tally.pairs.low == tally.pairs.high and all(each.is_typical for each in tally.loops):
        return ""
    opposite = {f"!{text}" for text in tally.typical} | {f"!({text})" for text in tally.typical}
    told = [each for each in tally.typical if each not in opposite][:_MAX_CHOICES]
    return ", ".join(readable(each) for each in told)


def _sum(loops: Sequence[LoopPairs], names: dict[LoopHead, str]) -> list[str]:
    found: dict[str, Interval] = {}
    for each in loops:
        bound = "·".join(names[head] for head in each.heads)
        found[bound] = found.get(bound, Interval()) + each.round
    return [f"{_coefficient(pairs)}·{bound}" for bound, pairs in found.items() if not pairs.is_nothing]


def _coefficient(pairs: Interval) -> str:
    low, high = pairs.low.total, pairs.high.total
    return str(low) if low == high else f"({low} to {high})"


def _of(pairs: Interval, direction: Direction) -> tuple[int, int, int]:
    return pairs.low.of(direction), pairs.typ.of(direction), pairs.high.of(direction)


def readable(condition: str) -> str:
    """`!(MSR_TM_ACTIVE(msr))` as `not MSR_TM_ACTIVE(msr)`."""
    if not condition.startswith("!") or condition.startswith("!="):
        return condition
    inner = condition[1:]
    return f"not {inner[1:-1] if inner.startswith('(') and inner.endswith(')') else inner}"
