"""Workflow commands that GitHub Actions turns into annotations on the changed lines."""

from __future__ import annotations

from reviewbot.findings.finding import Severity
from reviewbot.findings.review import Review
from reviewbot.report import phrases
from reviewbot.report.escape import visible
from reviewbot.report.view import View

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(review: Review, view: View) -> str:
    """One command per finding, per gap and per patch that was not reviewed, and the verdict as a notice."""
    rows = []
    for finding in review.findings:
        command = _COMMANDS[finding.severity] if phrases.is_open(finding) else "notice"
        place = {"file": finding.place.path}
        rows_of_message = [finding.message, f"Cost: {phrases.cost(finding.cost)}"]
        if phrases.is_open(finding):  # what is gone stands on no line any more
            place |= {"line": str(finding.place.line), "col": str(finding.place.column)}
            rows_of_message.insert(1, finding.suggestion)
        message = "\n".join(rows_of_message)
        title = f"{finding.rule} ({phrases.history(finding, review)})"
        rows.append(_command(command, {**place, "title": title}, message))
    for gap in review.gaps:
        place = {"file": gap.path, "line": str(gap.line)} if gap.path and gap.line else {}
        inside = f" in {gap.function}()" if gap.function else ""
        rows.append(_command("warning", {**place, "title": f"not reviewed{inside}"}, gap.reason))
    for patch in review.patches:
        if patch.outcome not in phrases.COMPLETE:
            title = f"patch {phrases.number_of(patch.index, review)} {phrases.OUTCOMES[patch.outcome]}"
            rows.append(_command("warning", {"title": title}, patch.reason or patch.subject))
    rows.append(_command("notice", {"title": "reviewbot"}, phrases.verdict(review)))
    return "".join(f"{row}\n" for row in rows)


def _command(name: str, properties: dict[str, str], message: str) -> str:
    """`::name key=value,…::message`, with the escapes that the runner undoes."""
    joined = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {joined}::{_data(message)}"


def _data(text: str) -> str:
    return visible(text, keep="\t\n").replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
