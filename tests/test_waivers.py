"""Waivers and baselines hold findings back, with a reason, and never silently."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from reviewbot.config import Layer, read_layer
from reviewbot.errors import ConfigError
from reviewbot.findings.finding import Gap, HeldBack
from reviewbot.findings.review import Review
from reviewbot.findings.waivers import (
    Baseline,
    Known,
    Waiver,
    hold_back,
    new_baseline,
    read_baseline,
    read_waivers,
    to_baseline,
)
from tests import reviews

TODAY = date(2026, 6, 1)


def review() -> Review:
    findings = (reviews.finding("traced_call", 14), reviews.finding("small_copy", 31))
    return replace(reviews.empty_review(), findings=findings)


def left(*waivers: Waiver, baseline: Baseline | None = None) -> list[str]:
    return [finding.rule for finding in hold_back(review(), waivers, baseline or {}, TODAY).findings]


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
    (held,) = hold_back(review(), [waiver], {}, TODAY).held_back
    assert (held.finding.rule, held.reason) == ("traced_call", "waived: r")


def test_an_expired_waiver_is_said() -> None:
    waiver = Waiver(reason="r", rule="traced_call", until=date(2026, 5, 31))
    assert hold_back(review(), [waiver], {}, TODAY).notes == ("Waiver expired on 2026-05-31: rule traced_call.",)


def test_a_waiver_that_matches_nothing_is_said_in_a_scan_alone() -> None:
    waiver = Waiver(reason="r", path="nowhere.c")
    assert hold_back(review(), [waiver], {}, TODAY).notes == ()
    scan = replace(review(), series=None)
    assert hold_back(scan, [waiver], {}, TODAY).notes == ("Waiver matches nothing: path nowhere.c.",)
    assert hold_back(replace(scan, below=("fs",)), [waiver], {}, TODAY).notes == ()


def test_a_waiver_of_what_is_held_back_anyway_matches_something() -> None:
    scan = replace(review(), series=None)
    scan = replace(scan, findings=(), held_back=tuple(HeldBack(finding=each, reason="cheap") for each in scan.findings))
    assert hold_back(scan, [Waiver(reason="r", rule="traced_call")], {}, TODAY).notes == ()


GONE = Known(path="fs/old.c", function="f", rule="small_copy", fingerprint="0123456789abcdef")


@pytest.mark.parametrize(
    ("changes", "is_said"),
    [
        pytest.param({}, False, id="a-series"),
        pytest.param({"series": None}, True, id="a-scan-of-everything"),
        pytest.param({"series": None, "below": ("fs",)}, True, id="a-scan-of-its-folder"),
        pytest.param({"series": None, "below": ("arch", "f")}, False, id="a-scan-of-others"),
        pytest.param(
            {"series": None, "gaps": (Gap(path="fs/old.c", line=1, function="g", reason="r"),)},
            False,
            id="a-file-not-read-in-full",
        ),
    ],
)
def test_a_baseline_entry_goes_when_a_scan_finds_it_no_more(changes: dict[str, Any], is_said: bool) -> None:
    made = hold_back(replace(review(), **changes), (), {GONE.fingerprint: GONE}, TODAY)
    assert made.notes == (("Baseline entry matches nothing: small_copy in fs/old.c, f().",) if is_said else ())
    assert (GONE.fingerprint in new_baseline(made, {GONE.fingerprint: GONE})) is not is_said


def test_a_baseline_of_another_tree_is_told_in_few_words() -> None:
    many = {str(number): replace(GONE, fingerprint=str(number)) for number in range(100)}
    notes = hold_back(replace(review(), series=None), (), many, TODAY).notes
    assert len(notes) == 11 and notes[-1] == "Baseline: 90 more entries match nothing."


def test_a_new_baseline_keeps_what_the_old_one_holds_back() -> None:
    old = {each.fingerprint: each for each in [Known(path="a", function="", rule="", fingerprint="small_copy-0031")]}
    scan = hold_back(replace(review(), series=None), (), old, TODAY)
    assert [entry["fingerprint"] for entry in json.loads(new_baseline(scan, old))["findings"]] == [
        "small_copy-0031",
        "traced_call-0014",
    ]


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
    ["", "[]", "{}", '{"baseline_version": 9, "findings": []}', '{"baseline_version": 2, "findings": [{}]}'],
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


def test_a_baseline_with_former_fingerprints_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    path.write_text('{"baseline_version": 1, "findings": []}')
    with pytest.raises(ConfigError, match=r"fingerprints have changed since; write it again with --write-baseline"):
        read_baseline(path)


def test_waivers_of_all_layers_count() -> None:
    layers = [Layer(origin=name, table={"waivers": [{"reason": "r", "rule": name}]}) for name in ("a", "b")]
    assert [waiver.rule for waiver in read_waivers(layers)] == ["a", "b"]
