"""Budgets of functions -> text or JSON, with every place that was counted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from reviewbot import __version__
from reviewbot.cost.function_budget import FunctionBudget
from reviewbot.cost.predictions import rate_sentence
from reviewbot.cost.rate import BaseRate
from reviewbot.findings.finding import Cycles
from reviewbot.findings.switches import bound_names, readable, to_count
from reviewbot.graph.switch_counts import CallStep, CountedPlace, Interval, LoopHead, LoopPairs, Pairs
from reviewbot.report import phrases
from reviewbot.report.escape import visible

SCHEMA_VERSION = 1


def render_text(budgets: Sequence[FunctionBudget], base: BaseRate | None = None) -> str:
    """A table, then each function with its places; `*` marks those on the typical way."""
    table = "\n".join(_table(budgets))
    pages = ("\n".join(_page(budget, base)) for budget in budgets)
    return visible("\n\n".join([table, *pages]), keep="\n") + "\n"


def _table(budgets: Sequence[FunctionBudget]) -> Iterator[str]:
    rows = [("function", "arch", "pairs per call", "cost of the switches")]
    for budget in budgets:
        count = to_count(budget.tally, has_directions=budget.has_directions)
        cost = f"{phrases.interval(budget.cost.cycles)} on {budget.cost.cpu}"
        rows.append((phrases.called(budget.function), budget.arch, phrases.pairs(count), cost))
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, (*widths, 0), strict=True))
        yield "  ".join(cells).rstrip()


def _page(budget: FunctionBudget, base: BaseRate | None) -> Iterator[str]:
    count = to_count(budget.tally, has_directions=budget.has_directions)
    yield f"{phrases.called(budget.function)} at {budget.path}:{budget.line}, on {budget.arch}"
    if count.typical:
        yield f"  typical   {count.typical}"
    yield f"  cost      {phrases.cost(budget.cost)}"
    yield f"            {budget.cost.basis}"
    if budget.cost.note:
        yield f"            {budget.cost.note}"
    if base is not None and budget.cost.cycles != Cycles(low=0, typ=0, high=0):
        yield f"  rate      without any switch, {rate_sentence(budget.cost.cycles, base)}"
    names = bound_names(budget.tally.loops)
    for loop in budget.tally.loops:
        head = loop.heads[-1]
        yield f"  {names[head]:<9} rounds of `{head.text}` at {head.path}:{head.line}"
    yield "  counted" if budget.tally.places else "  counted   nothing: no access and no block is reached"
    yield from _places(budget.tally.places)
    for gap in budget.tally.gaps:
        yield f"  not in it {gap}"


def _places(places: Sequence[CountedPlace]) -> Iterator[str]:
    rows = [(_where(place), _what(place)) for place in places]
    width = max((len(where) for where, _ in rows), default=0)
    for place, (where, what) in zip(places, rows, strict=True):
        yield f"  {'*' if place.is_typical else ' '} {where:<{width}}  {what}"
        for extra in _extra(place):
            yield f"      {extra}"


def _where(place: CountedPlace) -> str:
    return f"{place.path}:{place.line}"


def _what(place: CountedPlace) -> str:
    kind = "block " if place.is_block else ""
    rounds = [head.rounds for head in place.loops if head.rounds is not None]
    times = "".join(f" × {number}" for number in rounds)
    return (
        f"{place.direction.value.replace('_', '/')} {kind}{place.primitive} in {phrases.called(place.function)}{times}"
    )


def _extra(place: CountedPlace) -> Iterator[str]:
    if place.via:
        yield "by " + ", ".join(f"{step.callee}() at {step.path}:{step.line}" for step in place.via)
    if place.condition:
        yield "if " + " and ".join(readable(part) for part in place.condition.split(" && "))
    for head in place.loops:
        yield f"per round of `{head.text}`, line {head.line}"


def render_json(budgets: Sequence[FunctionBudget], base: BaseRate | None = None) -> str:
    """The same as data; figures of a direction are null where the architecture does not open them apart."""
    return (
        json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "tool": {"name": "reviewbot", "version": __version__},
                "budgets": [_budget(budget, base) for budget in budgets],
            },
            indent=2,
        )
        + "\n"
    )


def _budget(budget: FunctionBudget, base: BaseRate | None) -> dict[str, Any]:
    count = to_count(budget.tally, has_directions=budget.has_directions)
    cost = budget.cost
    return {
        "path": visible(budget.path),
        "line": budget.line,
        "function": visible(budget.function),
        "arch": budget.arch,
        "pairs": _interval(budget.tally.pairs, has_directions=budget.has_directions),
        "per_iteration": visible(count.per_iteration),
        "typical": visible(count.typical),
        "loops": [_loop(loop, has_directions=budget.has_directions) for loop in budget.tally.loops],
        "cost": {
            "cpu": cost.cpu,
            "cycles": {"low": cost.cycles.low, "typ": cost.cycles.typ, "high": cost.cycles.high},
            "confidence": cost.confidence.value,
            "basis": cost.basis,
            "facts": list(cost.facts),
            "note": cost.note,
        },
        "rate": None if base is None else visible(rate_sentence(cost.cycles, base)),
        "places": [_place(place) for place in budget.tally.places],
        "gaps": [visible(gap) for gap in budget.tally.gaps],
    }


def _interval(pairs: Interval, *, has_directions: bool) -> dict[str, Any]:
    return {
        "low": _pairs(pairs.low, has_directions=has_directions),
        "typ": _pairs(pairs.typ, has_directions=has_directions),
        "high": _pairs(pairs.high, has_directions=has_directions),
    }


def _pairs(pairs: Pairs, *, has_directions: bool) -> dict[str, int | None]:
    return {
        "total": pairs.total,
        "read": pairs.read if has_directions else None,
        "write": pairs.write if has_directions else None,
    }


def _loop(loop: LoopPairs, *, has_directions: bool) -> dict[str, Any]:
    return {
        "heads": [_head(head) for head in loop.heads],
        "round": _interval(loop.round, has_directions=has_directions),
        "is_typical": loop.is_typical,
    }


def _head(head: LoopHead) -> dict[str, Any]:
    return {
        "path": visible(head.path),
        "line": head.line,
        "text": visible(head.text),
        "bound": visible(head.bound),
        "rounds": head.rounds,
    }


def _place(place: CountedPlace) -> dict[str, Any]:
    return {
        "path": visible(place.path),
        "line": place.line,
        "function": visible(place.function),
        "primitive": visible(place.primitive),
        "direction": place.direction.value,
        "is_block": place.is_block,
        "condition": visible(place.condition),
        "loops": [_head(head) for head in place.loops],
        "via": [_step(step) for step in place.via],
        "is_typical": place.is_typical,
    }


def _step(step: CallStep) -> dict[str, Any]:
    return {
        "path": visible(step.path),
        "line": step.line,
        "function": visible(step.function),
        "callee": visible(step.callee),
    }
