"""SARIF 2.1.0, within what code scanning accepts: one run, stable ids, relative URIs, columns in code points."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from urllib.parse import quote

from reviewbot import __version__
from reviewbot.findings.edit import Edit
from reviewbot.findings.finding import Finding, Gap, HeldBack, Link, Place, Severity, Status
from reviewbot.findings.review import Review
from reviewbot.grammar import plural
from reviewbot.report import phrases
from reviewbot.report.escape import shortened, visible
from reviewbot.report.excerpt import offending_line
from reviewbot.report.phrases import number_of
from reviewbot.report.view import RuleText, View

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MAX_RESULTS = 25_000  # per run, of which code scanning keeps the 5,000 most severe
MAX_RELATED = 100
MAX_FLOW = 1_000

_STATES = {Status.INTRODUCED: "new", Status.EXISTING: "unchanged", Status.FIXED: "absent"}
_URI_SAFE = "/!$&'()*+,;=@~"  # RFC 3986 pchar without the colon, which may not stand in a first segment


def render(review: Review, view: View) -> str:
    """One log with one run. Held-back findings are suppressed results; gaps and lost patches are notifications."""
    log = {"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [_run(review, view)]}
    return json.dumps(log, indent=2) + "\n"


def _run(review: Review, view: View) -> dict[str, Any]:
    slugs = sorted({finding.rule for finding in _all_findings(review)} | {rule.slug for rule in view.rules})
    rows: list[tuple[Finding, HeldBack | None]] = [(finding, None) for finding in review.findings]
    rows += [(entry.finding, entry) for entry in review.held_back]
    rows.sort(key=lambda row: (row[1] is not None, -row[0].severity.rank))
    seen: Counter[str] = Counter()
    results = [_result(finding, entry, slugs, seen, review) for finding, entry in rows[:MAX_RESULTS]]
    notifications = [_gap(gap) for gap in review.gaps] + _outcomes(review)
    if len(rows) > MAX_RESULTS:
        left_out = f"{plural(len(rows) - MAX_RESULTS, 'result')} left out: the format allows {MAX_RESULTS}."
        notifications.append(_notification("error", left_out))
    return {
        "tool": {"driver": _driver(slugs, view)},
        "automationDetails": {"id": "reviewbot/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {"executionSuccessful": phrases.is_complete(review), "toolExecutionNotifications": notifications}
        ],
        "results": results,
        "properties": {
            "subject": visible(review.subject),
            "baseRevision": review.base.rev,
            "base": visible(review.base.how),
            "verdict": visible(phrases.verdict(review)),
        },
    }


def _driver(slugs: list[str], view: View) -> dict[str, Any]:
    texts = {rule.slug: rule for rule in view.rules}
    rules = [_rule(slug, texts.get(slug)) for slug in slugs]
    return {"name": "reviewbot", "semanticVersion": __version__, "rules": rules}


def _all_findings(review: Review) -> list[Finding]:
    return [*review.findings, *(entry.finding for entry in review.held_back)]


def _rule(slug: str, text: RuleText | None) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": slug, "name": "".join(part.title() for part in slug.split("_"))}
    if text is not None:
        rule["shortDescription"] = {"text": text.title}
        rule["fullDescription"] = {"text": text.why}
        rule["help"] = {"text": f"{text.why}\n\n{text.fix}"}
    rule["properties"] = {"tags": ["kernel", "user-access"]}
    return rule


def _result(
    finding: Finding, held: HeldBack | None, slugs: list[str], seen: Counter[str], review: Review
) -> dict[str, Any]:
    seen[finding.fingerprint] += 1
    is_fixed = finding.status is Status.FIXED
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": slugs.index(finding.rule),
        "kind": "pass" if is_fixed else "fail",
        "level": "none" if is_fixed else _level(finding.severity),
        "message": {"text": _message(finding, review)},
        "locations": [_location(finding.place, offending_line(review, finding))],
        "partialFingerprints": {
            "reviewbot/v2": finding.fingerprint,
            "primaryLocationLineHash": f"{finding.fingerprint}:{seen[finding.fingerprint]}",
        },
        "baselineState": _STATES[finding.status],
        "properties": _properties(finding),
    }
    chain = finding.observation.chain
    if chain:
        result["relatedLocations"] = [
            {"id": at, **_location(link.place), "message": {"text": _step(link)}}
            for at, link in enumerate(chain[:MAX_RELATED], start=1)
        ]
        result["codeFlows"] = [{"threadFlows": [{"locations": _flow(finding)}]}]
    if finding.edit is not None:
        result["fixes"] = [_fix(finding, finding.edit)]
    reason = _suppression(finding, held, review)
    if reason:
        result["suppressions"] = [{"kind": "external", "justification": visible(reason)}]
    return result


def _fix(finding: Finding, edit: Edit) -> dict[str, Any]:
    replacements = [
        {
            "deletedRegion": {
                "startLine": each.line,
                "startColumn": each.column,
                "endLine": each.end_line,
                "endColumn": each.end_column,
            },
            "insertedContent": {"text": visible(each.text, keep="\n\t")},
        }
        for each in edit.replacements
    ]
    change = {"artifactLocation": {"uri": to_uri(edit.path)}, "replacements": replacements}
    return {"description": {"text": visible(finding.suggestion)}, "artifactChanges": [change]}


def _suppression(finding: Finding, held: HeldBack | None, review: Review) -> str:
    """Why this result is not to raise an alert, or "". Code scanning does not know `kind` or `baselineState`."""
    if held is not None:
        return held.reason
    return "" if phrases.is_open(finding) else phrases.history(finding, review)


def _level(severity: Severity) -> str:
    return severity.value  # SARIF uses the same three words


def _message(finding: Finding, review: Review) -> str:
    rows = [finding.message, finding.suggestion, f"Cost: {phrases.cost(finding.cost)}. Basis: {finding.cost.basis}"]
    where = phrases.conditions(finding)
    if where:
        rows.append(f"Holds {where}.")
    rows.append(f"Status: {phrases.history(finding, review)}.")
    return visible("\n".join(row for row in rows if row), keep="\n\t")


def _properties(finding: Finding) -> dict[str, Any]:
    cost = finding.cost
    return {
        "confidence": finding.confidence.value,
        "status": finding.status.value,
        "patch": finding.patch,
        "fixedBy": finding.fixed_by,
        "cpu": cost.cpu,
        "cycles": {"low": cost.cycles.low, "typ": cost.cycles.typ, "high": cost.cycles.high, "per": cost.per.value},
        "facts": list(cost.facts),
    }


def _flow(finding: Finding) -> list[dict[str, Any]]:
    steps = [(link.place, _step(link)) for link in finding.observation.chain]
    if steps[-1][0] != finding.place:
        steps.append((finding.place, visible(finding.message, keep="\n\t")))
    return [{"location": {**_location(place), "message": {"text": text}}} for place, text in steps[:MAX_FLOW]]


def _step(link: Link) -> str:
    return visible(phrases.step(link))


def _location(place: Place, line_text: str | None = None) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": max(place.line, 1), "startColumn": max(place.column, 1)}
    if line_text is not None:
        region["snippet"] = {"text": visible(line_text)}
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": to_uri(place.path)}, "region": region}}
    if place.function:
        location["logicalLocations"] = [{"name": visible(place.function), "kind": "function"}]
    return location


def to_uri(path: str) -> str:
    """A path of the tree as a relative URI reference; undecodable bytes come out as they were."""
    return quote(shortened(path).encode("utf-8", "surrogateescape"), safe=_URI_SAFE)


def _gap(gap: Gap) -> dict[str, Any]:
    inside = f" in {gap.function}()" if gap.function else ""
    notification = _notification("warning", f"Not reviewed{inside}: {gap.reason}")
    if gap.path:
        notification["locations"] = [_location(Place(path=gap.path, line=max(gap.line, 1)))]
    return notification


def _outcomes(review: Review) -> list[dict[str, Any]]:
    return [
        _notification(
            "warning", f"Patch {number_of(patch.index, review)} {phrases.OUTCOMES[patch.outcome]}: {patch.reason}"
        )
        for patch in review.patches
        if patch.outcome not in phrases.COMPLETE
    ]


def _notification(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": visible(text, keep="\n\t")}}
