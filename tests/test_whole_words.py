"""One expression for many whole words."""

from __future__ import annotations

import re

import pytest

from reviewbot.csyntax.whole_words import find_words, fragments_of, whole_words

NAMES = frozenset({"get_user", "get_user_8", "__get_user", "put_user", "put", "a$b"})


def found(text: bytes, names: frozenset[str] = NAMES) -> list[bytes]:
    return re.compile(whole_words(names) + rb"\b").findall(text)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_name_is_found_and_no_longer_word(name: str) -> None:
    word = name.encode()
    assert found(word) == found(b"(" + word + b")") == [word]
    assert found(b"x" + word) == found(word + b"x") == []


def test_names_are_found_in_order() -> None:
    assert found(b"put(__get_user, get_user_8)\nget_user") == [b"put", b"__get_user", b"get_user_8", b"get_user"]


def test_of_no_names_none_is_found() -> None:
    assert found(b"a b", frozenset()) == []


PLAIN = NAMES - {"a$b"}


def test_fragments_are_few_and_in_every_name() -> None:
    fragments = fragments_of(PLAIN)
    assert len(fragments) == 2
    assert all(any(fragment in name.encode() for fragment in fragments) for name in PLAIN)
    assert fragments_of(frozenset()) == ()


@pytest.mark.parametrize(
    "text",
    [
        b"put(__get_user, get_user_8)\nget_user",
        b"get_user_get_user put_user_ xput input __get_user9",
        b"put_user",
        b"",
        b"user user_put put,put;put",
        "p\u00fctput \u00fcput put\u00fc".encode(),
    ],
)
def test_words_found_by_fragments_are_those_that_the_expression_finds(text: bytes) -> None:
    names = frozenset(name.encode() for name in PLAIN)
    expected = re.compile(whole_words(PLAIN) + rb"\b").finditer(text)
    assert find_words(text, names, fragments_of(PLAIN)) == [(match.start(), match[0]) for match in expected]
