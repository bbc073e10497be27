"""What holds for every format: no finding is lost, nothing raw gets out, nothing incomplete looks clean."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewbot.findings.finding import Finding, Gap, HeldBack, Severity, Status
from reviewbot.findings.review import Outcome, Review
from reviewbot.findings.triage import NOT_CHANGED
from reviewbot.report import phrases
from reviewbot.report.escape import visible
from reviewbot.report.formats import FORMATS
from reviewbot.report.view import View
from tests import reviews

EVERY_FORMAT = pytest.mark.parametrize("name", FORMATS)
ONE_PER_PATCH = ("patchwork",)  # says the worst finding of a patch, and how many more there are


def render(review: Review, name: str, **view: object) -> str:
    return str(FORMATS[name].render(review, View(**view)))  # type: ignore[arg-type]


def bare(text: str) -> str:
    """Text without line breaks and indentation, so that wrapping does not matter."""
    return re.sub(r"\s+", "", html.unescape(text))


def generated(count: int) -> st.SearchStrategy[tuple[Finding, ...]]:
    words = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF, categories=("L", "N")), min_size=1, max_size=9)
    each = st.builds(
        lambda at, rule, severity, status, patch, word: reviews.finding(
            rule,
            at + 1,
            severity=severity,
            status=status,
            patch=patch,
            message=f"Word {word} {at}.",
            fingerprint=f"{at:08x}",
        ),
        st.integers(0, 9_999_999),
        st.sampled_from(["traced_call", "small_copy", "repeated_pair"]),
        st.sampled_from(list(Severity)),
        st.sampled_from(list(Status)),
        st.integers(1, 4),
        words,
    )
    return st.lists(each, min_size=1, max_size=count, unique_by=lambda finding: finding.fingerprint).map(tuple)


@EVERY_FORMAT
@settings(max_examples=10, deadline=None)
@given(findings=generated(12))
def test_no_format_loses_a_finding(name: str, findings: tuple[Finding, ...]) -> None:
    review = replace(reviews.empty_review(), findings=findings)
    text = bare(render(review, name))
    for finding in findings:
        place = f"{finding.place.path}:{finding.place.line}"
        if name in ("json", "sarif"):
            assert finding.fingerprint in text
        elif name in ("rdjson", "github") and not phrases.is_open(finding):
            assert text.count("fixedby") == sum(not phrases.is_open(each) for each in findings)
        elif name == "rdjson":
            assert f'"line":{finding.place.line}' in text
        elif name == "github":
            assert f"line={finding.place.line}," in text
        elif name not in ONE_PER_PATCH:
            assert place in text
    if name in ONE_PER_PATCH:
        more = [int(count or 0) for count in re.findall(r" cycles[^+\n]*(?:\(\+(\d+) more\))?\n", render(review, name))]
        assert len(more) + sum(more) == len(phrases.open_findings(findings))


@EVERY_FORMAT
@pytest.mark.parametrize("colour", [False, True], ids=["plain", "colour"])
def test_nothing_from_the_input_gets_out_raw(name: str, colour: bool) -> None:
    text = render(reviews.hostile_review(), name, colour=colour, verbose=True)
    if colour:
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    raw = {f"U+{ord(char):04X}" for char in text if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert raw <= {"U+000A", "U+0009"}
    text.encode("utf-8")


def test_the_input_is_no_markup_in_html() -> None:
    page = render(reviews.hostile_review(), "html")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not re.search(r'(?:src|href)="(?!#)|url\(|@import', page)


def test_the_input_is_no_markup_in_the_terminal() -> None:
    assert "[bold]x[/bold]" in bare(render(reviews.hostile_review(), "terminal"))


@EVERY_FORMAT
@pytest.mark.parametrize("kind", ["full", "empty", "hostile"])
def test_a_report_depends_on_the_review_alone(name: str, kind: str) -> None:
    make = getattr(reviews, f"{kind}_review")
    assert render(make(), name) == render(make(), name)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "patchwork"])
def test_a_gap_is_always_said(name: str) -> None:
    gap = Gap(path="a.c", line=7, function="f", reason="This branch could not be parsed.", patch=1)
    review = replace(reviews.empty_review(), gaps=(gap,))
    assert bare("This branch could not be parsed.") in bare(render(review, name))


@EVERY_FORMAT
@pytest.mark.parametrize(
    "outcome", [each for each in Outcome if each not in phrases.COMPLETE], ids=lambda each: each.value
)
def test_a_patch_that_was_not_reviewed_never_looks_clean(name: str, outcome: Outcome) -> None:
    clean = reviews.empty_review()
    lost = replace(clean.patches[1], outcome=outcome, reason="Because of this.")
    review = replace(clean, patches=(clean.patches[0], lost, *clean.patches[2:]))
    text = render(review, name)
    assert text != render(clean, name)
    assert "Reviewed in full" not in text
    assert phrases.OUTCOMES[outcome] in text or outcome.value in text


def test_columns_are_given_in_each_formats_own_unit() -> None:
    finding = reviews.finding(fingerprint="x", line=14)
    finding = replace(finding, observation=replace(finding.observation, place=replace(finding.place, column=12)))
    shown = replace(reviews.excerpt(), lines=((14, "+", "\té/* 😀 */ flush_it();"),))
    review = replace(reviews.empty_review(), findings=(finding,), excerpts=(("x", shown),))
    sarif = json.loads(render(review, "sarif"))["runs"][0]
    assert sarif["columnKind"] == "unicodeCodePoints"
    assert sarif["results"][0]["locations"][0]["physicalLocation"]["region"]["startColumn"] == 12
    rdjson = json.loads(render(review, "rdjson"))["diagnostics"][0]
    assert rdjson["location"]["range"]["start"] == {"line": 14, "column": 12 + 1 + 3}


def test_a_byte_column_that_is_not_known_is_left_out() -> None:
    review = replace(reviews.empty_review(), findings=(reviews.finding(),))
    assert json.loads(render(review, "rdjson"))["diagnostics"][0]["location"]["range"]["start"] == {"line": 14}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({}, "Reviewed in full, no finding.", id="clean"),
        pytest.param({"findings": (reviews.finding(),)}, "1 finding (1 error).", id="one"),
        pytest.param(
            {"findings": (reviews.finding(status=Status.FIXED),)},
            "Reviewed in full, no finding; the series fixes 1.",
            id="fixed",
        ),
        pytest.param(
            {"findings": (reviews.finding(fixed_by=4),)},
            "Reviewed in full, no finding; 1 more fixed later in the series.",
            id="mended-later",
        ),
        pytest.param(
            {"held_back": (HeldBack(finding=reviews.finding(), reason=NOT_CHANGED),) * 2},
            "No finding in what the series changes; 2 older ones held back (--all shows them).",
            id="all-in-old-lines",
        ),
        pytest.param(
            {"held_back": (HeldBack(finding=reviews.finding(), reason="r"),) * 2},
            "No finding to report, 2 held back.",
            id="all-held-back",
        ),
        pytest.param(
            {"gaps": (Gap(path="a.c", line=1, function="", reason="r"),)},
            "No finding in what was reviewed. Not reviewed in full: 1 gap.",
            id="gap",
        ),
        pytest.param(
            {"patches": tuple(replace(p, outcome=Outcome.NOTHING_TO_REVIEW) for p in reviews.empty_review().patches)},
            "Nothing to review: no user access is touched.",
            id="nothing",
        ),
    ],
)
def test_the_verdict(change: dict[str, object], words: str) -> None:
    assert phrases.verdict(replace(reviews.empty_review(), **change)) == words  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain ü 漢 😀", "plain ü 漢 😀", id="letters-stay"),
        pytest.param("a\tb", "a\tb", id="tab-stays"),
        pytest.param("a\nb", "a<U+000A>b", id="line-feed"),
        pytest.param("\x1b[2J", "<U+001B>[2J", id="escape"),
        pytest.param("a\u202eb\u2066", "a<U+202E>b<U+2066>", id="bidi"),
        pytest.param("\u200b\ufeff\u00ad", "<U+200B><U+FEFF><U+00AD>", id="invisible"),
        pytest.param("\u2028", "<U+2028>", id="line-separator"),
        pytest.param("\udcff", "<0xFF>", id="undecodable-byte"),
        pytest.param("\x85", "<U+0085>", id="c1-control"),
    ],
)
def test_hidden_characters_are_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown
