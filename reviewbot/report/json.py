"""The JSON report: the stable contract. `review.schema.json` beside this file describes it."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from reviewbot import __version__
from reviewbot.findings.edit import Edit
from reviewbot.findings.finding import Access, Cost, Cycles, Finding, Gap, HeldBack, Link
from reviewbot.findings.review import Count, PatchResult, Review, SourceExcerpt, SwitchBudget
from reviewbot.report import phrases
from reviewbot.report.escape import visible
from reviewbot.report.excerpt import excerpt_of
from reviewbot.report.view import View

SCHEMA_VERSION = 1


def schema() -> dict[str, Any]:
    """The JSON schema of the report, as shipped in the package."""
    loaded = json.loads(resources.files("reviewbot.report").joinpath("review.schema.json").read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def render(review: Review, view: View) -> str:
    """The whole review. The order is that of the review, so two runs on one input give the same bytes."""
    return json.dumps(to_dict(review), indent=2) + "\n"


def to_dict(review: Review) -> dict[str, Any]:
    """The report as plain data; every text is free of control and bidi characters."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "reviewbot", "version": __version__},
        "series": _series(review),
        "verdict": _text(phrases.verdict(review)),
        "complete": phrases.is_complete(review),
        "findings": [_finding(finding, review) for finding in review.findings],
        "switches": [_switches(budget) for budget in review.switches],
        "held_back": [_held_back(entry, review) for entry in review.held_back],
        "gaps": [_gap(gap) for gap in review.gaps],
        "notes": [_text(note) for note in review.notes],
        "cpu": list(review.cpu),
    }


def _series(review: Review) -> dict[str, Any]:
    series = review.series
    return {
        "subject": _text(review.subject),
        "version": series.version if series else None,
        "message_id": _text(series.message_id) if series else "",
        "base": {"rev": review.base.rev, "how": _text(review.base.how)},
        "patches": [_patch(patch) for patch in review.patches],
    }


def _patch(patch: PatchResult) -> dict[str, Any]:
    return {
        "index": patch.index,
        "subject": _text(patch.subject),
        "message_id": _text(patch.message_id),
        "commit": patch.commit,
        "outcome": patch.outcome.value,
        "reason": _text(patch.reason),
    }


def _finding(finding: Finding, review: Review) -> dict[str, Any]:
    seen = finding.observation
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "status": finding.status.value,
        "patch": finding.patch,
        "fixed_by": finding.fixed_by,
        "path": _text(finding.place.path),
        "line": finding.place.line,
        "column": finding.place.column,
        "function": _text(finding.place.function),
        "callee": None if seen.callee is None else _text(seen.callee),
        "chain": [_link(link) for link in seen.chain],
        "accesses": [_access(access) for access in seen.accesses],
        "bytes": seen.size_bytes,
        "pairs": seen.pairs,
        "direction": seen.direction,
        "arch": list(seen.arch),
        "condition": None if seen.condition is None else _text(seen.condition),
        "message": _text(finding.message),
        "suggestion": _text(finding.suggestion),
        "cost": _cost(finding.cost),
        "fingerprint": finding.fingerprint,
        "edit": None if finding.edit is None else _edit(finding.edit),
        "excerpt": _excerpt(excerpt_of(review, finding)),
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        "path": _text(edit.path),
        "replacements": [
            {
                "line": each.line,
                "column": each.column,
                "end_line": each.end_line,
                "end_column": each.end_column,
                "text": _text(each.text),
            }
            for each in edit.replacements
        ],
    }


def _link(link: Link) -> dict[str, Any]:
    place = link.place
    return {
        "path": _text(place.path),
        "line": place.line,
        "column": place.column,
        "function": _text(place.function),
        "what": _text(link.what),
        "name": _text(link.name),
    }


def _access(access: Access) -> dict[str, Any]:
    return {
        "primitive": _text(access.primitive),
        "direction": access.direction,
        "path": _text(access.place.path),
        "line": access.place.line,
        "bytes": access.size_bytes,
        "iterations": _text(access.iterations),
    }


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "cpu": cost.cpu,
        "cycles": _cycles(cost.cycles),
        "ns": None if cost.ns is None else _cycles(cost.ns),
        "per": cost.per.value,
        "confidence": cost.confidence.value,
        "basis": _text(cost.basis),
        "facts": list(cost.facts),
        "note": _text(cost.note),
    }


def _cycles(cycles: Cycles) -> dict[str, float]:
    return {"low": round(cycles.low, 3), "typ": round(cycles.typ, 3), "high": round(cycles.high, 3)}


def _switches(budget: SwitchBudget) -> dict[str, Any]:
    return {
        "path": _text(budget.path),
        "function": _text(budget.function),
        "arch": budget.arch,
        "before": _count(budget.before),
        "after": _count(budget.after),
        "saved": None if budget.saved is None else _cost(budget.saved),
    }


def _count(count: Count | None) -> dict[str, Any] | None:
    if count is None:
        return None
    low, typical, high = count.pairs
    return {
        "pairs": typical,
        "low": low,
        "high": high,
        "per_iteration": _text(count.per_iteration),
        "read": _direction(count.reads),
        "write": _direction(count.writes),
        "typical": _text(count.typical),
    }


def _direction(pairs: tuple[int, int, int] | None) -> dict[str, int] | None:
    return None if pairs is None else {"pairs": pairs[1], "low": pairs[0], "high": pairs[2]}


def _held_back(entry: HeldBack, review: Review) -> dict[str, Any]:
    return {**_finding(entry.finding, review), "reason": _text(entry.reason)}


def _gap(gap: Gap) -> dict[str, Any]:
    return {
        "path": _text(gap.path),
        "line": gap.line,
        "function": _text(gap.function),
        "patch": gap.patch,
        "reason": _text(gap.reason),
    }


def _excerpt(excerpt: SourceExcerpt | None) -> list[dict[str, Any]]:
    if excerpt is None:
        return []
    return [{"line": number, "mark": mark, "text": visible(text)} for number, mark, text in excerpt.lines]


def _text(text: str) -> str:
    return visible(text, keep="\t\n")
