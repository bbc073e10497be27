"""The source lines that belong to a finding, and its column in the units of other tools."""

from __future__ import annotations

from reviewbot.findings.finding import Finding, Status
from reviewbot.findings.review import Review, SourceExcerpt


def excerpt_of(review: Review, finding: Finding) -> SourceExcerpt | None:
    """The lines around the finding, or None where the review has none."""
    return next((excerpt for key, excerpt in review.excerpts if key == finding.fingerprint), None)


def is_offending(finding: Finding, number: int, mark: str) -> bool:
    """Whether an excerpt's line is the finding's own. What the series fixed stands on a removed line."""
    return number == finding.place.line and (mark == "-") == (finding.status is Status.FIXED)


def offending_line(review: Review, finding: Finding) -> str | None:
    """The text of the finding's own line, or None where it is not known."""
    excerpt = excerpt_of(review, finding)
    if excerpt is None or excerpt.path != finding.place.path:
        return None
    own = [text for number, mark, text in excerpt.lines if is_offending(finding, number, mark)]
    same_number = [text for number, _, text in excerpt.lines if number == finding.place.line]
    return next(iter(own or same_number), None)


def byte_column(review: Review, finding: Finding) -> int | None:
    """The column counted in UTF-8 bytes, 1-based, or None where the line's text is not known."""
    if finding.place.column == 1:
        return 1
    text = offending_line(review, finding)
    if text is None or finding.place.column > len(text):  # a line that is cut does not reach so far
        return None
    return len(text[: finding.place.column - 1].encode("utf-8", "surrogateescape")) + 1
