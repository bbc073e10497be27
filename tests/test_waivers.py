"""Waivers and baselines hold findings back, with a reason, and never silently."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from reviewbot.config import Layer, read_layer
from reviewbot.errors import ConfigError
from reviewbot.findings.review import Review
from reviewbot.findings.waivers import Waiver, hold_back, read_baseline, read_waivers, to_baseline
from tests import reviews

TODAY = date(2026, 6, 1)


def review() -> Review:
    findings = (reviews.finding("traced_call", 14), reviews.finding("small_copy", 31))
    return replace(reviews.empty_review(), findings=findings)


def left(*waivers: Waiver, baseline: frozenset[str] = frozenset()) -> list[str]:
    return [finding.rule for finding in hold_back(review(), waivers, baseline, TODAY).findings]


@pytest.mark.parametrize(
    "waiver",
    [
        pytest.param(Waiver(reason="r", rule="repeated_pair"), id="another-rule"),
        pytest.param(Waiver(reason="r", path="fs/*"), id="another-path"),
        pytest.param(Waiver(reason="r", function="write"), id="only-part-of-the-name"),
        pytest.param(Waiver(reason="r", rule="traced_call", callee="other"), id="one-of-two-does-not-match"),
        pytest.param(Waiver(reason="r", rule="traced_call", until=date(2026, 5, 31)), id="expired"),
    ],
)
def test_holds_nothing_back(waiver: Waiver) -> None:
    assert left(waiver) == ["traced_call", "small_copy"]


@pytest.mark.parametrize(
    "waiver",
    [
        pytest.param(Waiver(reason="r", rule="traced_call"), id="rule"),
        pytest.param(Waiver(reason="r", path="arch/*/frame.c", rule="traced_call"), id="path"),
        pytest.param(Waiver(reason="r", fingerprint="traced_call-0014"), id="fingerprint"),
        pytest.param(Waiver(reason="r", rule="traced_call", until=TODAY), id="last-day"),
    ],
)
def test_holds_one_back_with_its_reason(waiver: Waiver) -> None:
    assert left(waiver) == ["small_copy"]
    (held,) = hold_back(review(), [waiver], frozenset(), TODAY).held_back
    assert (held.finding.rule, held.reason) == ("traced_call", "waived: r")


def test_an_expired_waiver_is_said() -> None:
    waiver = Waiver(reason="r", rule="traced_call", until=date(2026, 5, 31))
    assert hold_back(review(), [waiver], frozenset(), TODAY).notes == (
        "Waiver expired on 2026-05-31: rule traced_call.",
    )


def test_a_waiver_that_matches_nothing_is_said_in_a_scan_alone() -> None:
    waiver = Waiver(reason="r", path="nowhere.c")
    assert hold_back(review(), [waiver], frozenset(), TODAY).notes == ()
    scan = replace(review(), series=None)
    assert hold_back(scan, [waiver], frozenset(), TODAY).notes == ("Waiver matches nothing: path nowhere.c.",)


def test_a_baseline_holds_back_what_it_was_written_from(tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    path.write_text(to_baseline(review().findings[:1]))
    assert left(baseline=read_baseline(path)) == ["small_copy"]


@pytest.mark.parametrize("count", [0, 2])
def test_a_baseline_is_json_with_one_line_each(count: int) -> None:
    text = to_baseline(review().findings[:count])
    assert len(json.loads(text)["findings"]) == count
    assert text.count('"fingerprint"') == sum('"fingerprint"' in line for line in text.splitlines())


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"baseline_version": 9, "findings": []}', '{"baseline_version": 1, "findings": [{}]}'],
)
def test_a_broken_baseline_is_refused_by_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "base.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"base\.json: "):
        read_baseline(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("[[waivers]]\nrule = 'x'", "waivers[1].reason is missing", id="no-reason"),
        pytest.param("[[waivers]]\nreason = 'x'", "must name a rule", id="matches-everything"),
        pytest.param("[[waivers]]\nreason = ' '\nrule = 'x'", "must say why", id="empty-reason"),
        pytest.param("[[waivers]]\nreason = 'x'\nruel = 'x'", "did you mean 'rule'", id="spelling"),
        pytest.param("[[waivers]]\nreason = 'x'\nrule = 'x'\nuntil = 'soon'", "must be a date", id="no-date"),
        pytest.param("[waivers]\nrule = 'x'", "must be written as [[waivers]]", id="one-table"),
    ],
)
def test_a_broken_waiver_is_refused_by_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "w.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_waivers([read_layer(path)])
    assert said in str(caught.value) and "w.toml" in str(caught.value)


def test_waivers_of_all_layers_count() -> None:
    layers = [Layer(origin=name, table={"waivers": [{"reason": "r", "rule": name}]}) for name in ("a", "b")]
    assert [waiver.rule for waiver in read_waivers(layers)] == ["a", "b"]
