"""One expression for many whole words."""

from __future__ import annotations

import re

import pytest

from reviewbot.csyntax.whole_words import whole_words

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
