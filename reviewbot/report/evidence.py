"""Weighed evidence -> text or JSON: who measured what, when and where, and what the model makes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from reviewbot import __version__
from reviewbot.cost.evidence import Evidence
from reviewbot.cost.readings import Reading
from reviewbot.cost.weighing import Prediction, Weighed
from reviewbot.report.escape import visible

SCHEMA_VERSION = 1


def render_text(evidence: Sequence[Evidence], weighed: Sequence[Weighed], prediction: Prediction) -> str:
    """Every piece of evidence in the order of the mails, the changes in it with their verdicts under it."""
    rows: list[str] = []
    last = None
    for item in evidence:
        if item.message_id != last or not rows:
            rows += ["", *_head(item)] if rows else list(_head(item))
            last = item.message_id
        rows += _piece(item)
        for each in weighed:
            if each.change.sources[0] is item:
                rows += _change(each)
    if not evidence:
        rows.append("No benchmark figure was found.")
    elif not weighed:
        rows += ["", "No two figures are before and after of one thing, so there is nothing to compare."]
    else:
        rows += ["", f"Pairs of one operation: {prediction.how}."]
    return visible("\n".join(rows), keep="\n") + "\n"


def _head(item: Evidence) -> Iterator[str]:
    when = item.date.date().isoformat() if item.date else "no date"
    yield (
        f"{item.author.name or item.author.email}, {when}, <{item.message_id}>"
        if item.message_id
        else (f"{item.author.name or item.author.email}, {when}, no Message-ID")
    )
    if item.subject:
        yield f"  {item.subject}"
    told = [f"CPU {', '.join(item.cpus)}" if item.cpus else "no CPU stated"]
    told.append(f"{item.clock_ghz:g} GHz" if item.clock_ghz else "no clock stated")
    told += [", ".join(item.settings)] if item.settings else []
    yield f"  {'; '.join(told)}"


def _piece(item: Evidence) -> Iterator[str]:
    name = item.form.value.replace("_", " ")
    yield f"  line {item.line}, {name}" + (f", {item.benchmark}" if item.benchmark else "")
    for line in item.quote.split("\n"):
        yield f"    | {' '.join(line.split())}"


def _change(each: Weighed) -> Iterator[str]:
    before, after = each.change.before, each.change.after
    percent = f" ({100.0 * (after.value / before.value - 1.0):+.1f} %)" if before.value else ""
    name = " ".join(each.change.what.split())
    yield f"    {name[:90]}{'…' if len(name) > 90 else ''}"
    yield f"      {_figure(before)} to {_figure(after)}{percent}: {each.comparison.verdict.value}"
    yield f"      {each.comparison.reason}"
    if each.cost is not None:
        yield f"      {each.cpu}: {each.cost.basis}"
        if each.cost.note:
            yield f"      {each.cost.note}"
    if each.clock_ghz is not None and each.cost is not None:
        yield f"      clock {each.clock_ghz:g} GHz, {each.clock_source}"


def _figure(reading: Reading) -> str:
    value = f"{reading.value:,.0f}" if reading.value == int(reading.value) else f"{reading.value:.2f}".rstrip("0")
    return f"{value} {reading.unit}".rstrip()


def render_json(evidence: Sequence[Evidence], weighed: Sequence[Weighed], prediction: Prediction) -> str:
    """The same as data."""
    return (
        json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "tool": {"name": "reviewbot", "version": __version__},
                "pairs": {
                    "how": visible(prediction.how),
                    "before": _pairs(prediction.before),
                    "after": _pairs(prediction.after),
                },
                "evidence": [_evidence(item) for item in evidence],
                "changes": [_weighed(each) for each in weighed],
            },
            indent=2,
        )
        + "\n"
    )


def _pairs(pairs: Any) -> dict[str, int] | None:
    return None if pairs is None else {direction.value: count for direction, count in pairs.items() if count}


def _evidence(item: Evidence) -> dict[str, Any]:
    return {
        "form": item.form.value,
        "author": visible(item.author.name or item.author.email),
        "date": item.date.isoformat() if item.date else None,
        "message_id": visible(item.message_id),
        "subject": visible(item.subject),
        "line": item.line,
        "quote": visible(item.quote, keep="\n"),
        "cpus": list(item.cpus),
        "clock_ghz": item.clock_ghz,
        "settings": [visible(each) for each in item.settings],
        "benchmark": visible(item.benchmark),
        "readings": [_reading(each) for each in item.readings],
    }


def _reading(reading: Reading) -> dict[str, Any]:
    return {"value": reading.value, "unit": reading.unit, "label": visible(reading.label)}


def _weighed(each: Weighed) -> dict[str, Any]:
    cost = each.cost
    return {
        "what": visible(each.change.what),
        "message_id": visible(each.change.sources[0].message_id),
        "before": _reading(each.change.before),
        "after": _reading(each.change.after),
        "verdict": each.comparison.verdict.value,
        "reason": visible(each.comparison.reason),
        "published_cycles": each.comparison.published_cycles,
        "cpu": each.cpu,
        "clock_ghz": each.clock_ghz,
        "clock_source": each.clock_source,
        "predicted": None
        if cost is None
        else {
            "low": cost.cycles.low,
            "typ": cost.cycles.typ,
            "high": cost.cycles.high,
            "basis": cost.basis,
            "confidence": cost.confidence.value,
            "note": cost.note,
        },
    }
