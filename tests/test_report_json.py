"""The JSON report keeps its contract, and the shipped schema describes it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from reviewbot.report import json as json_report
from reviewbot.report.view import View
from tests import reviews

FINDING_KEYS = """
rule severity confidence status patch fixed_by path line column function callee chain bytes pairs direction arch
condition message suggestion cost fingerprint
"""


def report(kind: str) -> dict[str, Any]:
    loaded = json.loads(json_report.render(getattr(reviews, f"{kind}_review")(), View()))
    assert isinstance(loaded, dict)
    return loaded


def test_the_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_report.schema())


@pytest.mark.parametrize("kind", ["full", "empty", "hostile"])
def test_every_report_satisfies_the_schema(kind: str) -> None:
    jsonschema.validate(report(kind), json_report.schema(), jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"schema_version": 2}, id="another-version"),
        pytest.param({"extra": 1}, id="unknown-key"),
        pytest.param({"gaps": [{}]}, id="empty-gap"),
    ],
)
def test_the_schema_refuses_what_is_not_a_report(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**report("full"), **change}, json_report.schema(), jsonschema.Draft202012Validator)


def test_the_keys_of_the_contract_are_there() -> None:
    whole = report("full")
    assert whole["schema_version"] == 1
    assert set(whole) >= {"schema_version", "tool", "series", "findings", "switches", "held_back", "gaps"}
    assert set(whole["series"]) >= {"subject", "version", "message_id", "base", "patches"}
    for finding in whole["findings"]:
        assert set(finding) >= set(FINDING_KEYS.split())
        assert set(finding["cost"]) >= {"cpu", "cycles", "per", "confidence", "basis", "facts"}
    assert whole["held_back"][0]["reason"]
    assert set(whole["gaps"][0]) >= {"path", "line", "function", "reason"}


def test_complete_is_false_when_anything_is_missing() -> None:
    assert (report("empty")["complete"], report("full")["complete"]) == (True, False)
