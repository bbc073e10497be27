"""The answer to b4's per-patch check command: a JSON array on stdout (b4, docs/maintainer/review.rst)."""

from __future__ import annotations

import json
from typing import Any

from reviewbot.findings.finding import Finding, Severity
from reviewbot.findings.review import Outcome, PatchResult, Review
from reviewbot.report import phrases
from reviewbot.report.escape import visible
from reviewbot.report.view import View


def render(review: Review, view: View) -> str:
    """One entry per finding and per thing not reviewed; `pass` for a patch reviewed in full, else `[]`."""
    entries: list[dict[str, Any]] = []
    for patch in review.patches:
        entries += _patch(review, patch, view)
    known = {patch.index for patch in review.patches}
    entries += [_finding(each, review, view) for each in review.findings if each.patch not in known]
    entries += [_gap(gap.reason, phrases.gap_place(gap, review), view) for gap in review.gaps]
    return json.dumps(entries, indent=2) + "\n"


def _patch(review: Review, patch: PatchResult, view: View) -> list[dict[str, Any]]:
    entries = [_finding(finding, review, view) for finding in phrases.patch_findings(review, patch)]
    if patch.outcome not in phrases.COMPLETE:
        summary = f"patch {phrases.number_of(patch.index, review)} {phrases.OUTCOMES[patch.outcome]}"
        entries.append(_entry("warn", summary, patch.reason, view))
    has_gap = any(gap.patch in (None, patch.index) for gap in review.gaps)
    if not entries and patch.outcome is Outcome.REVIEWED and not has_gap:
        entries.append(_entry("pass", f"patch {phrases.number_of(patch.index, review)} reviewed, no finding", "", view))
    return entries


def _finding(finding: Finding, review: Review, view: View) -> dict[str, Any]:
    status = "fail" if finding.severity is Severity.ERROR else "warn"
    if not phrases.is_open(finding):
        status = "pass"
    rows = [finding.message, finding.suggestion, f"Cost: {phrases.cost(finding.cost)}"]
    rows.append(phrases.history(finding, review))
    rows += [f"{link.place.path}:{link.place.line}: {phrases.step(link)}" for link in finding.observation.chain]
    summary = f"{finding.place.path}:{finding.place.line}: {finding.rule}: {finding.message}"
    return _entry(status, summary, "\n".join(rows), view)


def _gap(reason: str, where: str, view: View) -> dict[str, Any]:
    return _entry("warn", f"not reviewed: {where}" if where else "not reviewed", reason, view)


def _entry(status: str, summary: str, details: str, view: View) -> dict[str, Any]:
    return {
        "tool": "reviewbot",
        "status": status,
        "summary": visible(summary, keep=""),
        "url": view.report_url,
        "details": visible(details, keep="\n\t"),
    }
