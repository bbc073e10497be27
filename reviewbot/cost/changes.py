"""Evidence -> changes: which two figures of what people posted are before and after of one thing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import fmean

from reviewbot.cost.evidence import Evidence
from reviewbot.cost.readings import Form, Reading
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Two figures with one unit. `what` says of what, in the words of the mail; `sources` are one or two pieces of
    evidence."""

    what: str
    before: Reading
    after: Reading
    sources: tuple[Evidence, ...]


def find_changes(evidence: Iterable[Evidence]) -> tuple[Change, ...]:
    """Every change that the evidence states, in its order.

    `from A to B` is one by itself. In a table the first row is the state before, in each column. Figures posted twice
    in one message under one command, or with "without" and "with", are before and after in that order.
    """
    items = list(evidence)
    order = {id(item): index for index, item in enumerate(items)}
    found = [change for item in items for change in _within(item)]
    found += [change for one, other in _neighbours(items) for change in _between(one, other)]
    return tuple(sorted(found, key=lambda change: order[id(change.sources[0])]))


def _within(item: Evidence) -> Iterator[Change]:
    if item.form is Form.CHANGE:
        before, after = item.readings
        yield Change(what=item.quote, before=before, after=after, sources=(item,))
    if item.form is Form.TABLE:
        yield from _rows_against_the_first(item)


def _rows_against_the_first(item: Evidence) -> Iterator[Change]:
    """Readings are in order of rows, and labelled `row / column`."""
    first: dict[str, Reading] = {}
    for reading in item.readings:
        row, _, column = reading.label.partition(" / ")
        before = first.setdefault(column, reading)
        if before is not reading and before.unit == reading.unit:
            old_row = before.label.partition(" / ")[0]
            yield Change(what=f"{column}: {old_row} to {row}", before=before, after=reading, sources=(item,))


def _neighbours(items: list[Evidence]) -> Iterator[tuple[Evidence, Evidence]]:
    """Two pieces of one form in one message, the first not yet used: each stands in one pair only."""
    waiting: dict[tuple[str, Form, str], Evidence] = {}
    for item in items:
        if item.form not in (Form.LINE, Form.ROW, Form.TIMES):
            continue
        key = (item.message_id, item.form, item.benchmark)
        one = waiting.pop(key, None)
        if one is not None and _fit(one, item):
            yield one, item
        else:
            waiting[key] = item


def _fit(one: Evidence, other: Evidence) -> bool:
    """Lines fit if they say which is which, or if both stand under a command; the first figure of both has one
    unit."""
    if one.readings[0].unit != other.readings[0].unit:
        return False
    ends = (one.readings[0].label, other.readings[0].label)
    return ends == ("before", "after") or (bool(one.benchmark) and "before" not in ends and "after" not in ends)


def _between(one: Evidence, other: Evidence) -> Iterator[Change]:
    what = one.benchmark or f"{one.quote} / {other.quote}"
    if one.form is Form.ROW:
        before, after = (Reading(value=fmean(r.value for r in item.readings), unit="") for item in (one, other))
        yield Change(what=what, before=before, after=after, sources=(one, other))
        return
    for old, new in zip(one.readings, other.readings, strict=False):
        if old.unit == new.unit:
            yield Change(what=what, before=old, after=new, sources=(one, other))
