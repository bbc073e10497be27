"""What the head of a loop says about its number of rounds."""

from __future__ import annotations

from collections.abc import Callable

from reviewbot.csyntax.flow import Flow
from reviewbot.graph.switch_counts import LoopHead
from reviewbot.patterns import regex

MAX_ROUNDS = 4096

_COUNTED = regex(
    r"for\s*\(\s*(?:[\w\s]*\s)?(\w+)\s*=\s*([^;,]+);\s*\1\s*(<=?|!=)\s*([^;]+);\s*(?:\+\+\s*\1|\1\s*\+\+|\1\s*\+=\s*1)\s*\)"
)


def heads_of(
    flow: Flow, path: str, line: Callable[[str, int], int], constant: Callable[[str, str], int | None]
) -> dict[int, LoopHead]:
    """Every loop of the flow by its id. `constant` gives the value of a text that is a constant in `path`."""
    found: dict[int, LoopHead] = {}
    for index, loop in enumerate(flow.loops):
        bound, rounds = _rounds(loop.text, loop.bound, path, constant)
        found[index] = LoopHead(path=path, line=line(path, loop.offset), text=loop.text, bound=bound, rounds=rounds)
    return found


def _rounds(text: str, bound: str, path: str, constant: Callable[[str, str], int | None]) -> tuple[str, int | None]:
    match = _COUNTED.match(text)
    if match is None:
        return bound, None
    _, start, comparison, end = match.groups()
    first, last = constant(start, path), constant(end, path)
    if first is not None and last is not None:
        rounds = last - first + (comparison == "<=")
        return str(rounds), rounds if 0 <= rounds <= MAX_ROUNDS else None
    counted = end.strip() if first == 0 else f"({end.strip()} - {start.strip()})"
    return (f"({counted} + 1)" if comparison == "<=" else counted), None
