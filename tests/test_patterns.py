"""reviewbot.patterns.regex: the same as re.compile, later."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import reviewbot
from reviewbot import patterns
from reviewbot.patterns import regex

METHODS = {
    "match": ("a1 b2",),
    "fullmatch": ("a1",),
    "search": (" a1 b2", 2),
    "finditer": ("a1 b2",),
    "findall": ("a1 b2",),
    "sub": ("x", "a1 b2"),
    "subn": ("x", "a1 b2"),
    "split": ("a1,b2",),
}


def told(found: object) -> object:
    """What can be compared of an answer."""
    if isinstance(found, re.Match):
        return found.span(), found.groups()
    return [told(each) for each in found] if type(found).__name__ == "callable_iterator" else found  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers_as_that_of_re(method: str) -> None:
    ours, theirs = regex(r"([A-Z])(\d)", re.IGNORECASE), re.compile(r"([A-Z])(\d)", re.IGNORECASE)
    for _ in range(2):  # the first time it is compiled
        assert told(getattr(ours, method)(*METHODS[method])) == told(getattr(theirs, method)(*METHODS[method]))


def test_it_tells_of_itself_as_a_pattern_does() -> None:
    theirs = re.compile(rb"(?P<name>a)", re.DOTALL)
    ours = regex(rb"(?P<name>a)", re.DOTALL)
    assert (ours.pattern, ours.flags, ours.groups, ours.groupindex) == (b"(?P<name>a)", theirs.flags, 1, {"name": 1})
    assert {ours: 1}[ours] == 1


def test_it_is_compiled_once_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    monkeypatch.setattr(re, "compile", lambda pattern, flags: compiled.append(pattern) or re.Pattern)
    with pytest.raises(AttributeError):
        _ = regex("a").nothing  # type: ignore[attr-defined]
    monkeypatch.undo()
    assert compiled == ["a"]
    made = regex("b")
    assert "match" not in vars(made)
    assert made.match("b")
    assert made.match is made.match


def test_all_of_ours_are_regular_expressions() -> None:
    """What is wrong with one is not said on import, so it is looked for here."""
    found = 0
    for module in pkgutil.walk_packages(reviewbot.__path__, "reviewbot."):
        if module.name == "reviewbot.__main__":
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, patterns._Later):
                found += 1
                assert value.flags is not None, (module.name, name)
    assert found > 200
