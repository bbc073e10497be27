"""SARIF as code scanning takes it: what the format demands, and what GitHub demands beyond it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from reviewbot.findings.finding import HeldBack, Status
from reviewbot.findings.review import Review
from reviewbot.report import sarif
from reviewbot.report.view import RuleText, View
from tests import reviews

# Property names of each object in SARIF 2.1.0 that we use; the format allows no others.
ALLOWED = {
    "log": {"$schema", "version", "runs"},
    "run": {"tool", "automationDetails", "columnKind", "invocations", "results", "properties"},
    "driver": {"name", "semanticVersion", "rules"},
    "rule": {"id", "name", "shortDescription", "fullDescription", "help", "properties"},
    "result": {
        "ruleId",
        "ruleIndex",
        "kind",
        "level",
        "message",
        "locations",
        "partialFingerprints",
        "baselineState",
        "properties",
        "relatedLocations",
        "codeFlows",
        "suppressions",
        "fixes",
    },
    "fix": {"description", "artifactChanges"},
    "change": {"artifactLocation", "replacements"},
    "replacement": {"deletedRegion", "insertedContent"},
    "location": {"id", "physicalLocation", "logicalLocations", "message"},
    "region": {"startLine", "startColumn", "snippet"},
    "notification": {"level", "message", "locations"},
}


def run_of(review: Review, **view: Any) -> dict[str, Any]:
    log = json.loads(sarif.render(review, View(**view)))
    assert set(log) <= ALLOWED["log"] and log["version"] == "2.1.0"
    assert len(log["runs"]) == 1, "several runs of one tool in one file are refused"
    run = log["runs"][0]
    assert isinstance(run, dict)
    return run


def locations(node: Any) -> list[dict[str, Any]]:
    """Every object with a physicalLocation, wherever it stands."""
    if isinstance(node, list):
        return [each for inner in node for each in locations(inner)]
    if not isinstance(node, dict):
        return []
    own = [node] if "physicalLocation" in node else []
    return own + [each for inner in node.values() for each in locations(inner)]


@pytest.mark.parametrize("kind", ["full", "empty", "hostile"])
def test_no_object_has_a_property_that_the_format_does_not_know(kind: str) -> None:
    run = run_of(getattr(reviews, f"{kind}_review")())
    assert set(run) <= ALLOWED["run"]
    assert set(run["tool"]["driver"]) <= ALLOWED["driver"]
    assert all(set(rule) <= ALLOWED["rule"] for rule in run["tool"]["driver"]["rules"])
    assert all(set(result) <= ALLOWED["result"] for result in run["results"])
    assert all(set(each) <= ALLOWED["location"] for each in locations(run))
    assert all(set(each["physicalLocation"]["region"]) <= ALLOWED["region"] for each in locations(run))
    for fix in (fix for result in run["results"] for fix in result.get("fixes", ())):
        assert set(fix) <= ALLOWED["fix"]
        for change in fix["artifactChanges"]:
            assert set(change) <= ALLOWED["change"]
            assert all(set(new) <= ALLOWED["replacement"] for new in change["replacements"])
    for note in run["invocations"][0]["toolExecutionNotifications"]:
        assert set(note) <= ALLOWED["notification"] and note["message"]["text"]


@pytest.mark.parametrize("kind", ["full", "hostile"])
def test_every_result_has_a_relative_uri_a_position_and_a_fingerprint(kind: str) -> None:
    run = run_of(getattr(reviews, f"{kind}_review")())
    assert run["results"]
    for result in run["results"]:
        assert result["ruleId"] == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
        assert result["locations"] and result["partialFingerprints"]["primaryLocationLineHash"]
    for each in locations(run):
        place = each["physicalLocation"]
        assert re.fullmatch(r"(?:[A-Za-z0-9._~!$&'()*+,;=@/-]|%[0-9A-F]{2})+", place["artifactLocation"]["uri"])
        assert place["region"]["startLine"] >= 1 and place["region"]["startColumn"] >= 1


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        pytest.param("fs/readdir.c", "fs/readdir.c", id="plain"),
        pytest.param("a b.c", "a%20b.c", id="blank"),
        pytest.param("c:x.c", "c%3Ax.c", id="colon-in-first-segment"),
        pytest.param("å.c", "%C3%A5.c", id="non-ascii"),
        pytest.param("\udcff.c", "%FF.c", id="undecodable"),
        pytest.param("a#b?c%.c", "a%23b%3Fc%25.c", id="reserved"),
    ],
)
def test_paths_become_uri_references(path: str, uri: str) -> None:
    assert sarif.to_uri(path) == uri


def test_the_same_finding_twice_gets_two_line_hashes() -> None:
    twin = reviews.finding()
    run = run_of(replace(reviews.empty_review(), findings=(twin, twin)))
    hashes = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
    assert hashes == [f"{twin.fingerprint}:1", f"{twin.fingerprint}:2"]


def test_what_is_held_back_is_suppressed_with_its_reason() -> None:
    held = HeldBack(finding=reviews.finding(), reason="waived: cold path")
    (result,) = run_of(replace(reviews.empty_review(), held_back=(held,)))["results"]
    assert result["suppressions"] == [{"kind": "external", "justification": "waived: cold path"}]


@pytest.mark.parametrize(
    ("change", "state"),
    [
        pytest.param({"status": Status.FIXED, "patch": 4}, "absent", id="fixed"),
        pytest.param({"fixed_by": 4}, "new", id="mended-later"),
    ],
)
def test_what_no_longer_stands_raises_no_alert(change: dict[str, Any], state: str) -> None:
    (result,) = run_of(replace(reviews.empty_review(), findings=(reviews.finding(**change),)))["results"]
    assert result["suppressions"] and result["baselineState"] == state


def test_the_chain_is_a_code_flow_that_ends_at_the_last_place() -> None:
    (result,) = run_of(replace(reviews.empty_review(), findings=(reviews.finding(),)))["results"]
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    lines = [step["location"]["physicalLocation"]["region"]["startLine"] for step in flow]
    assert lines[:3] == [11, 14, 208]
    assert [each["id"] for each in result["relatedLocations"]] == [1, 2, 3]


def test_gaps_and_lost_patches_are_notifications_and_not_success() -> None:
    (invocation,) = run_of(reviews.full_review())["invocations"]
    assert invocation["executionSuccessful"] is False
    assert len(invocation["toolExecutionNotifications"]) == 3


def test_too_many_results_are_cut_by_severity_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MAX_RESULTS", 2)
    run = run_of(reviews.full_review())
    assert [result["level"] for result in run["results"]] == ["error", "none"] or len(run["results"]) == 2
    said = run["invocations"][0]["toolExecutionNotifications"][-1]["message"]["text"]
    assert said == "4 results left out: the format allows 2."


def test_the_catalogue_describes_the_rules() -> None:
    text = RuleText(slug="traced_call", title="T", why="W", fix="F")
    run = run_of(replace(reviews.empty_review(), findings=(reviews.finding(),)), rules=(text,))
    (rule,) = run["tool"]["driver"]["rules"]
    assert (rule["id"], rule["shortDescription"]["text"], rule["help"]["text"]) == ("traced_call", "T", "W\n\nF")
