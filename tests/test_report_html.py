"""The page: readable in both colour schemes, long or short, and honest about what is not known."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import reviewbot.report
from reviewbot.findings.finding import Gap
from reviewbot.findings.review import Outcome
from reviewbot.report.formats import FORMATS
from reviewbot.report.html import OVERVIEW_FROM
from reviewbot.report.view import View
from tests import reviews

TEMPLATE = (Path(reviewbot.report.__file__).parent / "templates" / "report.html").read_text("utf-8")
SCHEMES = {"light": TEMPLATE.split(":root{")[1], "dark": TEMPLATE.split(":root{")[2]}
TEXT = ("ink", "soft", "error", "warning", "note", "fixed")
GROUNDS = ("bg", "card", "code", "add", "del", "own")


def page(review: reviews.Review) -> str:
    return FORMATS["html"].render(review, View())


def colours(scheme: str) -> dict[str, str]:
    inside = SCHEMES[scheme].partition("}")[0]
    found = dict(re.findall(r"--(\w+):(#\w+)", inside))
    return {**colours("light"), **found} if scheme == "dark" else found


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.1, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_stands_out_from_everything_it_stands_on(scheme: str) -> None:
    """4.5 is what WCAG AA asks of text, 3 of pictures."""
    known = colours(scheme)
    assert {
        (text, ground) for text in TEXT for ground in GROUNDS if contrast(known[text], known[ground]) < 4.5
    } == set()
    assert contrast(known["bar"], known["card"]) >= 3


def test_many_findings_are_listed_first() -> None:
    few = [reviews.finding(line=number) for number in range(1, OVERVIEW_FROM + 1)]
    many = [*few, reviews.finding(line=99)]
    listed = [page(replace(reviews.empty_review(), findings=tuple(each))) for each in (few, many)]
    assert [text.count('aria-label="All findings"') for text in listed] == [0, 1]
    links = re.findall(r'href="(#finding-\d+)"', listed[1].partition('aria-label="All findings"')[2])
    assert links == [f"#finding-{number}" for number in range(1, len(many) + 1)]


def test_findings_of_a_patch_that_was_not_reviewed_are_not_none() -> None:
    review = reviews.empty_review()
    lost = replace(review.patches[0], outcome=Outcome.NOT_APPLIED, reason="Because.")
    row = page(replace(review, patches=(lost, *review.patches[1:]))).partition("Because.")[2].partition("</tr>")[0]
    assert "not known" in row and "none" not in row


@pytest.mark.parametrize("has_gap", [True, False], ids=["a-gap-below", "a-patch-above"])
def test_it_says_where_to_find_what_was_not_reviewed(has_gap: bool) -> None:
    review = reviews.empty_review()
    if has_gap:
        review = replace(review, gaps=(Gap(path="a.c", line=7, function="f", reason="Odd."),))
    else:
        lost = replace(review.patches[0], outcome=Outcome.NOT_APPLIED, reason="Because.")
        review = replace(review, patches=(lost, *review.patches[1:]))
    assert f"see {'below' if has_gap else 'above'} for what was not" in page(review)
