"""One self-contained page: no network, no script, light and dark, printable; input shows as text only."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from reviewbot import __version__
from reviewbot.findings.finding import Cycles, Finding, Link, Status
from reviewbot.findings.review import Count, Outcome, PatchResult, Review, SwitchBudget
from reviewbot.graph.block_graph import BlockGraph
from reviewbot.report import phrases
from reviewbot.report.block_graph import STYLE, describe, to_svg
from reviewbot.report.escape import visible
from reviewbot.report.excerpt import excerpt_of, is_offending
from reviewbot.report.templating import template
from reviewbot.report.view import View

OVERVIEW_FROM = 5
"""More findings than this are listed in a table first."""
_BAR_WIDTH = 240  # units of the interval picture's viewBox


def render(review: Review, view: View) -> str:
    """The whole review as HTML 5."""
    ordered = phrases.in_reading_order(review.findings)
    widest = max((each.cost.cycles.high for each in review.findings), default=0.0)
    return template("report.html").render(
        title=visible(review.subject) or "reviewbot report",
        version=__version__,
        verdict=visible(phrases.verdict(review)),
        is_complete=phrases.is_complete(review),
        is_clean=not phrases.open_findings(review.findings),
        base=_base(review),
        overview_from=OVERVIEW_FROM,
        cpus=", ".join(review.cpu),
        patches=[_patch(patch, review) for patch in review.patches],
        findings=[_finding(at, each, review, widest) for at, each in enumerate(ordered, start=1)],
        switches=_budgets(review.switches),
        graphs=[{"said": visible(describe(graph)), "picture": _picture(graph)} for graph in review.graphs],
        graph_style=Markup(STYLE),
        gaps=[{"place": visible(phrases.gap_place(gap, review)), "reason": visible(gap.reason)} for gap in review.gaps],
        held_back=[
            {"place": visible(phrases.place(each.finding)), "rule": each.finding.rule, "reason": visible(each.reason)}
            for each in review.held_back
        ],
        notes=[visible(note) for note in review.notes],
    )


def _base(review: Review) -> str:
    rev, how = visible(review.base.rev[:12]), visible(review.base.how.rstrip("."))
    return f"{rev} ({how})" if rev and how else rev or how


def _patch(patch: PatchResult, review: Review) -> dict[str, Any]:
    ordered = phrases.in_reading_order(review.findings)
    numbers = [at for at, each in enumerate(ordered, start=1) if each.patch == patch.index]
    found = phrases.open_findings(phrases.patch_findings(review, patch))
    return {
        "number": phrases.number_of(patch.index, review),
        "subject": visible(patch.subject),
        "outcome": phrases.OUTCOMES[patch.outcome],
        "reason": visible(patch.reason),
        "state": "found" if found else ("ok" if patch.outcome in phrases.COMPLETE else "missed"),
        "is_quiet": patch.outcome is Outcome.NOTHING_TO_REVIEW,
        "findings": numbers,
    }


def _finding(at: int, finding: Finding, review: Review, widest: float) -> dict[str, Any]:
    cost = finding.cost
    is_fixed = finding.status is Status.FIXED
    return {
        "number": at,
        "level": "fixed" if is_fixed else finding.severity.value,
        "rule": finding.rule,
        "place": visible(phrases.place(finding)),
        "function": visible(finding.place.function),
        "history": phrases.history(finding, review),
        "message": visible(finding.message, keep="\n\t"),
        "suggestion": "" if is_fixed else visible(finding.suggestion, keep="\n\t"),
        "conditions": visible(phrases.conditions(finding)),
        "chain": _chain(finding),
        "excerpt": _excerpt(finding, review),
        "cost": phrases.cost(cost),
        "cycles": phrases.interval(cost.cycles),
        "basis": visible(cost.basis),
        "note": visible(cost.note),
        "facts": ", ".join(cost.facts),
        "bar": _bar(cost.cycles, widest),
        "confidence": finding.confidence.value,
        "fingerprint": finding.fingerprint,
    }


def _chain(finding: Finding) -> list[dict[str, str]]:
    """The steps from the block on, and the finding's own place where they do not end there."""
    chain = finding.observation.chain
    if not chain or chain[-1].place.path != finding.place.path or chain[-1].place.line == finding.place.line:
        return [_step(link) for link in chain]
    own = f"{finding.observation.callee}() is called" if finding.observation.callee else finding.rule
    return [_step(link) for link in (*chain, Link(place=finding.place, what=own))]


def _step(link: Link) -> dict[str, str]:
    place = f"{link.place.path}:{link.place.line}"
    return {"what": visible(phrases.step(link)), "place": visible(place), "function": visible(link.place.function)}


def _excerpt(finding: Finding, review: Review) -> list[dict[str, Any]]:
    excerpt = excerpt_of(review, finding)
    if excerpt is None:
        return []
    return [
        {
            "number": number,
            "mark": mark,
            "kind": {"+": "added", "-": "removed"}.get(mark, "same"),
            "text": visible(text),
            "is_own": is_offending(finding, number, mark),
        }
        for number, mark, text in excerpt.lines
    ]


def _picture(graph: BlockGraph) -> Markup:
    return Markup(to_svg([graph], is_standalone=False))  # to_svg escapes what it draws


def _bar(cycles: Cycles, widest: float) -> dict[str, float] | None:
    """Where the interval and its typical value lie on a line from 0 to the widest cost of the report."""
    if widest <= 0:
        return None
    scale = _BAR_WIDTH / widest
    left = round(cycles.low * scale, 1)
    width = max(round((cycles.high - cycles.low) * scale, 1), 2.0)
    return {"left": left, "width": width, "typ": round(cycles.typ * scale, 1), "whole": _BAR_WIDTH}


def _budgets(budgets: tuple[SwitchBudget, ...]) -> list[dict[str, Any]]:
    saved = [each.saved.cycles for each in budgets if each.saved is not None]
    widest = max((max(cycles.high, -cycles.low) for cycles in saved), default=0.0)
    return [_budget(budget, widest) for budget in budgets]


def _budget(budget: SwitchBudget, widest: float) -> dict[str, Any]:
    saved = "" if budget.saved is None else f"{phrases.interval(budget.saved.cycles)} on {budget.saved.cpu}"
    return {
        "function": visible(phrases.called(budget.function)),
        "path": visible(budget.path),
        "arch": budget.arch,
        "before": visible(phrases.pairs(budget.before)),
        "after": visible(phrases.pairs(budget.after)),
        "typical": visible((budget.after or budget.before or Count(pairs=(0, 0, 0))).typical),
        "saved": saved,
        "bar": None if budget.saved is None else _bar(_as_gain(budget.saved.cycles), widest),
    }


def _as_gain(cycles: Cycles) -> Cycles:
    """Without its sign, for the length of a bar; the text beside it says which it is."""
    if cycles.typ >= 0:
        return Cycles(low=max(cycles.low, 0.0), typ=cycles.typ, high=cycles.high)
    return Cycles(low=max(-cycles.high, 0.0), typ=-cycles.typ, high=-cycles.low)
