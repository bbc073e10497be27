"""What a patchwork check says of one patch: a state and one short line."""

from __future__ import annotations

from reviewbot.findings.finding import Finding, Severity
from reviewbot.findings.review import Outcome, PatchResult, Review
from reviewbot.report import phrases
from reviewbot.report.escape import visible
from reviewbot.report.view import View
from reviewbot.values import dataclass

MAX_DESCRIPTION = 120  # the web table shows one line


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """`state` is success, warning or fail (pending is never ours to say); `description` is one line."""

    patch: int
    state: str
    description: str


def render(review: Review, view: View) -> str:
    """One line per patch: `3/8 fail: …`. A scan of a tree has no patches and says only the verdict."""
    rows = [f"{phrases.number_of(each.patch, review)} {each.state}: {each.description}" for each in checks(review)]
    return "".join(f"{row}\n" for row in [*rows, visible(phrases.verdict(review))])


def checks(review: Review) -> tuple[Check, ...]:
    """One check for every patch of the series, also for those without a finding."""
    return tuple(check(review, patch) for patch in review.patches if patch.outcome is not Outcome.MISSING)


def check(review: Review, patch: PatchResult) -> Check:
    """The check of one patch. `success` is said only of a patch reviewed in full, or without user access."""
    found = phrases.patch_findings(review, patch)
    still_open = phrases.open_findings(found)
    gaps = [gap for gap in review.gaps if gap.patch in (None, patch.index)]
    if still_open:
        state, words = _state(still_open), _worst(still_open)
    elif patch.outcome not in phrases.COMPLETE:
        state, words = "warning", f"{phrases.OUTCOMES[patch.outcome]}: {patch.reason}".removesuffix(": ")
    elif gaps and patch.outcome is not Outcome.NOTHING_TO_REVIEW:
        state, words = "warning", f"not reviewed in full: {gaps[0].reason}"
    elif found:
        state, words = "success", phrases.history(found[0], review)
    else:
        state, words = "success", phrases.OUTCOMES[patch.outcome]
    return Check(patch=patch.index, state=state, description=_short(visible(words, keep="")))


def _state(findings: list[Finding]) -> str:
    if any(finding.severity is Severity.ERROR for finding in findings):
        return "fail"
    return "warning" if any(finding.severity is Severity.WARNING for finding in findings) else "success"


def _worst(findings: list[Finding]) -> str:
    worst = max(findings, key=lambda finding: finding.severity.rank)
    more = f" (+{len(findings) - 1} more)" if len(findings) > 1 else ""
    return f"{worst.rule} at {worst.place.path}:{worst.place.line}, {phrases.interval(worst.cost.cycles)}{more}"


def _short(text: str) -> str:
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1].rstrip() + "…"
