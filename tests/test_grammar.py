"""Sentences with numbers in them, and that nobody builds them by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import reviewbot
from reviewbot.grammar import plural

PACKAGE = Path(reviewbot.__file__).parent
BY_HAND = re.compile(r"(?<!of )\{len\([^{}]*\)\} (?:more )?(?!of )([a-z]+s)\b")


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [
        (0, "finding", "0 findings"),
        (1, "finding", "1 finding"),
        (2, "patch", "2 patches"),
        (1, "patch", "1 patch"),
        (3, "switch", "3 switches"),
        (2, "entry", "2 entries"),
        (2, "way", "2 ways"),
        (2, "series", "2 series"),
        (1, "older one", "1 older one"),
        (1.5, "cycle", "1.5 cycles"),
    ],
)
def test_one_and_several(count: float, noun: str, words: str) -> None:
    assert plural(count, noun) == words


def test_a_number_may_be_written_in_another_way() -> None:
    assert plural(1234, "mail", f"{1234:,}") == "1,234 mails"


def test_no_sentence_counts_things_without_the_helper() -> None:
    """`f"{len(files)} files"` says "1 files" some day."""
    found = {
        f"{path.relative_to(PACKAGE)}: {match.group()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for match in BY_HAND.finditer(path.read_text("utf-8"))
    }
    assert found == set()
