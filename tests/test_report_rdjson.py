"""rdjson as reviewdog reads it: its messages are protocol buffers, so that a key of a wrong type is refused whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from reviewbot.findings.finding import Status
from reviewbot.report.formats import FORMATS
from reviewbot.report.view import View
from tests import reviews

# message -> key -> what it holds (a list: any number of that); the messages and their fields are those of
# reviewdog's proto/rdf/reviewdog.proto, of which its JSON schemas are made.
MESSAGES: Mapping[str, Mapping[str, Any]] = {
    "DiagnosticResult": {"diagnostics": ["Diagnostic"], "source": "Source", "severity": "Severity"},
    "Diagnostic": {
        "message": str,
        "location": "Location",
        "severity": "Severity",
        "source": "Source",
        "code": "Code",
        "suggestions": ["Suggestion"],
        "original_output": str,
        "related_locations": ["RelatedLocation"],
    },
    "Location": {"path": str, "range": "Range"},
    "Range": {"start": "Position", "end": "Position"},
    "Position": {"line": int, "column": int},
    "Suggestion": {"range": "Range", "text": str},
    "Source": {"name": str, "url": str},
    "Code": {"value": str, "url": str},
    "RelatedLocation": {"message": str, "location": "Location"},
}
SEVERITIES = {"ERROR", "WARNING", "INFO"}
MAX_INT = 2**31 - 1


def faults(value: Any, kind: Any, where: str = "") -> Iterator[str]:
    """What the parser would refuse, or would not understand."""
    if isinstance(kind, list):
        if not isinstance(value, list):
            yield f"{where}: no list"
            return
        for at, each in enumerate(value):
            yield from faults(each, kind[0], f"{where}[{at}]")
    elif kind == "Severity":
        if value not in SEVERITIES:
            yield f"{where}: {value!r}"
    elif isinstance(kind, str):
        if not isinstance(value, dict):
            yield f"{where}: no {kind}"
            return
        for key, each in value.items():
            if key not in MESSAGES[kind]:
                yield f"{where}.{key}: not in {kind}"
            else:
                yield from faults(each, MESSAGES[kind][key], f"{where}.{key}")
    elif type(value) is not kind or (kind is int and not 1 <= value <= MAX_INT):
        yield f"{where}: {value!r}"


def rendered(kind: str) -> Any:
    text = FORMATS["rdjson"].render(getattr(reviews, f"{kind}_review")(), View())
    json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")  # a lone surrogate is refused, too
    return json.loads(text)


@pytest.mark.parametrize("kind", ["full", "empty", "hostile"])
def test_every_message_is_one_that_reviewdog_knows(kind: str) -> None:
    assert list(faults(rendered(kind), "DiagnosticResult")) == []


@pytest.mark.parametrize("kind", ["full", "hostile"])
def test_every_diagnostic_can_be_shown(kind: str) -> None:
    """With a message, and a place or none: a line without a path, or a range that ends before it starts, is lost."""
    diagnostics = rendered(kind)["diagnostics"]
    assert diagnostics
    for each in diagnostics:
        assert each["message"].strip() and each["code"]["value"]
        assert each["location"]["path"] or "range" not in each["location"]
        for suggestion in each.get("suggestions", ()):
            start, end = suggestion["range"]["start"], suggestion["range"]["end"]
            assert (start["line"], start["column"]) <= (end["line"], end["column"])


@pytest.mark.parametrize("name", ["rdjson", "github"])
def test_what_is_gone_marks_no_line_and_asks_for_nothing(name: str) -> None:
    """Its line is that of the source before; another one stands there now."""
    gone = reviews.finding(line=4711, status=Status.FIXED, fixed_by=2)
    text = FORMATS[name].render(replace(reviews.empty_review(), findings=(gone,)), View())
    assert gone.place.path in text and "4711" not in text and gone.suggestion not in text
    text = FORMATS[name].render(replace(reviews.empty_review(), findings=(reviews.finding(line=4711),)), View())
    assert "4711" in text and gone.suggestion.split(",")[0] in text


def test_faults_are_seen() -> None:
    """Else the tests above would hold for nothing."""
    bad = {
        "diagnostics": [{"message": 1, "location": {"range": {"start": {"line": 0}}}, "severity": "note", "odd": ""}]
    }
    assert len(list(faults(bad, "DiagnosticResult"))) == 4
