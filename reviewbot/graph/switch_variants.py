"""The tallies of the #if variants of one function -> one tally, with the condition of each place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reviewbot.csyntax.variants import condition_of
from reviewbot.graph.switch_counts import CountedPlace, LoopHead, LoopPairs, Tally, both, either


def merge(tallies: list[Tally], conditions: list[tuple[tuple[str, bool], ...]]) -> Tally:
    """The #if variants of one function; typical is the one with the most options on."""
    if not tallies:
        return Tally()
    typical = max(range(len(tallies)), key=lambda index: (sum(truth for _, truth in conditions[index]), -index))
    merged = either([(tally, "") for tally in tallies], typical)
    return replace(merged, places=tuple(_joined(tallies, conditions, typical)), loops=_distinct(tallies, typical))


def _distinct(tallies: list[Tally], typical: int) -> tuple[LoopPairs, ...]:
    found: dict[tuple[LoopHead, ...], LoopPairs] = {each.heads: each for each in tallies[typical].loops}
    for tally in tallies:
        for each in tally.loops:
            found.setdefault(each.heads, replace(each, is_typical=False))
    return tuple(found.values())


def _joined(
    tallies: list[Tally], conditions: list[tuple[tuple[str, bool], ...]], typical: int
) -> Iterator[CountedPlace]:
    """Each place once, with the #if under which it is there."""
    found: dict[tuple[object, ...], tuple[CountedPlace, list[int]]] = {}
    for index in sorted(range(len(tallies)), key=lambda each: each != typical):
        seen: dict[tuple[object, ...], int] = {}
        for place in tallies[index].places:
            base = (place.path, place.line, place.primitive, place.via)
            seen[base] = seen.get(base, 0) + 1
            found.setdefault((*base, seen[base]), (place, []))[1].append(index)
    for place, present in found.values():
        absent = [each for index, each in enumerate(conditions) if index not in present]
        condition = condition_of([conditions[index] for index in present], absent) or ""
        is_typical = place.is_typical and typical in present
        yield replace(place, condition=both(condition, place.condition), is_typical=is_typical)
