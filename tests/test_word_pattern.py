"""The fast expressions find what the plain ones find, in git itself."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection
from pathlib import Path

import pytest

from reviewbot.facts.candidates import access_words
from reviewbot.git import Repository
from reviewbot.git.word_pattern import any_of
from reviewbot.rulebook.book import load_rulebook

NEAR = ("{}", "\t{}(x);", "x={}", "x{}", "{}_x", "_{}", "{}9", "x {} {}_x", "{}{}", "-{}-", "x\n{}\n", "{}é")
ALIKE = [
    "get_user",
    "put_user",
    "__get_user",
    "user",
    "users",
    "us",
    "userus_user",
    "reuse",
    "clac",
    "x",
    "_",
    "user_x",
]


@pytest.mark.parametrize(
    "words",
    [
        sorted(access_words(load_rulebook())),
        ALIKE,
        [f"{letter}{letter}{number}" for letter in "abcdefghijk" for number in range(3)],
        ["one"],
    ],
    ids=["primitives", "alike", "nothing in common", "one"],
)
def test_the_same_files_as_word_by_word(tmp_path: Path, words: Collection[str]) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    texts = [form.replace("{}", word) for word in words for form in NEAR]
    texts += [f"{first}{second}" for first in list(words)[:12] for second in list(words)[:12]]
    for number, text in enumerate(texts):
        (tmp_path / f"{number:05}.c").write_text(text)
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)

    plain = re.compile(rb"(?<![0-9A-Za-z_])(?:%s)(?![0-9A-Za-z_])" % "|".join(words).encode())
    expected = [f"{number:05}.c" for number, text in enumerate(texts) if plain.search(text.encode())]
    assert Repository.open(tmp_path).files_holding(words, ["**/*.c"]) == tuple(expected)
    assert 0 < len(expected) < len(texts)


def test_many_words_are_found_by_what_they_share() -> None:
    """The search for the primitives does not begin at every word of the tree."""
    assert any_of(access_words(load_rulebook())).startswith("user(?:")


def test_few_words_are_searched_for_as_they_are() -> None:
    assert any_of({"put_user", "get_user"}) == r"\b(?:get_user|put_user)\b"
