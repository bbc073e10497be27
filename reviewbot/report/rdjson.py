"""reviewdog's diagnostic format: lines and columns 1-based, the column in UTF-8 bytes (reviewdog, proto/rdf)."""

from __future__ import annotations

import json
from typing import Any

from reviewbot.findings.edit import Replacement
from reviewbot.findings.finding import Finding, Gap, Link, Severity
from reviewbot.findings.review import Review
from reviewbot.report import phrases
from reviewbot.report.escape import visible
from reviewbot.report.excerpt import byte_column
from reviewbot.report.view import View

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.NOTE: "INFO"}


def render(review: Review, view: View) -> str:
    """One DiagnosticResult. Gaps and lost patches are diagnostics too, so that nobody takes them for clean."""
    diagnostics = [_finding(finding, review) for finding in review.findings]
    diagnostics += [_gap(gap) for gap in review.gaps]
    diagnostics += [
        _remark(
            f"Patch {phrases.number_of(patch.index, review)} {phrases.OUTCOMES[patch.outcome]}: {patch.reason}",
            "not_reviewed",
        )
        for patch in review.patches
        if patch.outcome not in phrases.COMPLETE
    ]
    result = {"source": {"name": "reviewbot"}, "severity": "WARNING", "diagnostics": diagnostics}
    return json.dumps(result, indent=2) + "\n"


def _finding(finding: Finding, review: Review) -> dict[str, Any]:
    is_open = phrases.is_open(finding)
    rows = (finding.message, finding.suggestion if is_open else "", f"Cost: {phrases.cost(finding.cost)}.")
    message = f"{' '.join(row for row in rows if row)} ({phrases.history(finding, review)})"
    severity = _SEVERITIES[finding.severity] if is_open else "INFO"
    place = _location(finding.place.path, finding.place.line, byte_column(review, finding))
    diagnostic: dict[str, Any] = {
        "message": visible(message),
        "location": place if is_open else {"path": place["path"]},  # what is gone stands on no line any more
        "severity": severity,
        "code": {"value": finding.rule},
    }
    if finding.observation.chain and is_open:
        diagnostic["related_locations"] = [_related(link) for link in finding.observation.chain]
    if finding.edit is not None:
        diagnostic["suggestions"] = [_suggestion(each, dict(finding.edit.lines)) for each in finding.edit.replacements]
    return diagnostic


def _suggestion(replacement: Replacement, lines: dict[int, str]) -> dict[str, Any]:
    """reviewdog counts bytes and takes the end as the first byte behind the range."""

    def position(line: int, column: int) -> dict[str, int]:
        before = lines.get(line, "")[: column - 1]
        return {"line": line, "column": len(before.encode("utf-8", "surrogateescape")) + 1}

    start = position(replacement.line, replacement.column)
    end = position(replacement.end_line, replacement.end_column)
    return {"range": {"start": start, "end": end}, "text": visible(replacement.text, keep="\n\t")}


def _related(link: Link) -> dict[str, Any]:
    return {"message": visible(phrases.step(link)), "location": _location(link.place.path, link.place.line, None)}


def _location(path: str, line: int, column: int | None) -> dict[str, Any]:
    start = {"line": line} if column is None else {"line": line, "column": column}
    return {"path": visible(path), "range": {"start": start}}


def _gap(gap: Gap) -> dict[str, Any]:
    inside = f" ({gap.function}())" if gap.function else ""
    diagnostic = _remark(f"Not reviewed{inside}: {gap.reason}", "not_reviewed")
    if gap.path:
        diagnostic["location"] = _location(gap.path, max(gap.line, 1), None)
    return diagnostic


def _remark(message: str, code: str) -> dict[str, Any]:
    return {"location": {"path": ""}, "message": visible(message), "severity": "WARNING", "code": {"value": code}}
