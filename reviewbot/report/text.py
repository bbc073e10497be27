"""Plain lines `file:line: level: text`, as checkpatch and compilers write them, for editors and grep."""

from __future__ import annotations

from reviewbot.findings.finding import Finding
from reviewbot.findings.review import Review
from reviewbot.report import phrases
from reviewbot.report.escape import visible
from reviewbot.report.view import View


def render(review: Review, view: View) -> str:
    """One line per finding and per gap, then the verdict. The column is not given: editors disagree on its unit."""
    rows = [_finding(finding, review) for finding in review.findings]
    rows += [
        f"{gap.path or 'series'}:{gap.line or 1}: note: not reviewed: {gap.reason}"
        + (f" [{gap.function}()]" if gap.function else "")
        for gap in review.gaps
    ]
    rows += [
        f"patch {phrases.number_of(patch.index, review)}: {phrases.OUTCOMES[patch.outcome]}: {patch.reason}"
        for patch in review.patches
        if patch.outcome not in phrases.COMPLETE
    ]
    rows.append(phrases.verdict(review))
    return "".join(f"{visible(row, keep='')}\n" for row in rows)


def _finding(finding: Finding, review: Review) -> str:
    where = f"{finding.place.path}:{finding.place.line}"
    tail = f"[{finding.rule}, {phrases.cost(finding.cost)}, {phrases.history(finding, review)}]"
    level = finding.severity.value if phrases.is_open(finding) else "note"
    return f"{where}: {level}: {finding.message} {tail}"
