"""Every rule says about every C file of fixtures/rules exactly what the file itself demands, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from reviewbot.findings.inspection import Inspection
from reviewbot.rulebook.book import Rulebook, load_rulebook
from reviewbot.rules.inspection import inspect
from tests.expectations import (
    Expectation,
    Fixture,
    all_fixtures,
    attribute,
    describe,
    describe_gaps,
    read_expectations,
    small_tree,
)
from tests.trees import MemoryTree

ALL = all_fixtures()
LEVEL_1 = ("traced_call", "small_copy", "repeated_pair")
LEVEL_2 = (
    "unclosed_block",
    "mismatched_end",
    "redundant_end",
    "nested_block",
    "unsafe_outside_block",
    "wrong_direction",
    "sleep_in_block",
    "unchecked_begin",
)
MINIMUM = {**dict.fromkeys(LEVEL_1, (8, 12)), **dict.fromkeys(LEVEL_2, (4, 6))}


@cache
def _book() -> Rulebook:
    return load_rulebook()


@cache
def _inspected(name: str) -> Inspection:
    fixture = next(fixture for fixture in ALL if fixture.name == name)
    return inspect(fixture.tree(), [fixture.path], _book())


@pytest.mark.parametrize("fixture", ALL, ids=lambda fixture: fixture.name)
def test_finds_exactly_what_the_file_demands(fixture: Fixture) -> None:
    """No finding is missing, none stands on another line, and no other rule has anything to add."""
    demanded = sorted(f"{wanted.path or fixture.path}:{wanted.line} {wanted.rule}" for wanted in fixture.expectations)
    assert describe(_inspected(fixture.name).observations) == demanded


@pytest.mark.parametrize("fixture", ALL, ids=lambda fixture: fixture.name)
def test_says_what_could_not_be_reviewed_and_no_more(fixture: Fixture) -> None:
    """Gaps stand on the lines marked with expect-gap; all other files are reviewed in full."""
    demanded = [f"{fixture.path}:{line}" for line in fixture.gap_lines]
    assert describe_gaps(_inspected(fixture.name).gaps) == demanded


def _with_attributes() -> Iterator[object]:
    for fixture in ALL:
        for wanted in fixture.expectations:
            if wanted.attributes:
                yield pytest.param(fixture, wanted, id=f"{fixture.name}:{wanted.line}")


@pytest.mark.parametrize(("fixture", "wanted"), list(_with_attributes()))
def test_says_callee_size_and_the_rest_rightly(fixture: Fixture, wanted: Expectation) -> None:
    """The attributes behind the slug (callee=, bytes=, pairs=, direction=, arch=, condition=) hold for the finding."""
    path = wanted.path or fixture.path
    seen = [
        found
        for found in _inspected(fixture.name).observations
        if (found.rule, found.place.path, found.place.line) == (wanted.rule, path, wanted.line)
    ]
    said = [tuple((name, attribute(found, name, value)) for name, value in wanted.attributes) for found in seen]
    assert said == [wanted.attributes]


def test_small_tree_says_of_itself_what_is_to_be_found() -> None:
    """Headers that define primitives open and close nothing themselves; only the lines so marked hold findings."""
    inspection = inspect(
        MemoryTree(small_tree()), [path for path in small_tree() if path.endswith((".c", ".h"))], _book()
    )
    demanded = sorted(
        f"{path}:{wanted.line} {wanted.rule}"
        for path, data in small_tree().items()
        for number, line in enumerate(data.decode().split("\n"), start=1)
        for wanted in read_expectations(number, line)
    )
    assert describe(inspection.observations) == demanded
    assert inspection.gaps == ()


@pytest.mark.parametrize("rule", MINIMUM)
def test_rule_has_enough_files(rule: str) -> None:
    """A rule without examples of both kinds is not known to work."""
    names = [fixture.name.split("/")[1] for fixture in ALL if fixture.name.startswith(f"{rule}/")]
    bad, good = MINIMUM[rule]
    assert sum(name.startswith("bad_") for name in names) >= bad
    assert sum(name.startswith("good_") for name in names) >= good
    assert all(name.startswith(("bad_", "good_", "gap_")) for name in names)


@pytest.mark.parametrize("fixture", ALL, ids=lambda fixture: fixture.name)
def test_name_of_the_file_tells_whether_it_demands_a_finding(fixture: Fixture) -> None:
    """A bad file demands a finding of its own rule, a gap file a gap, a good file nothing."""
    rule, name = fixture.name.split("/")
    kind = name.partition("_")[0]
    assert (rule in {wanted.rule for wanted in fixture.expectations}) == (kind == "bad")
    assert bool(fixture.expectations) == (kind == "bad")
    assert bool(fixture.gap_lines) == (kind == "gap")


def test_no_two_files_are_of_one_name_or_place() -> None:
    """Two examples in one place would hide each other when all are looked at together."""
    places = [fixture.path for fixture in ALL]
    assert sorted({place for place in places if places.count(place) > 1}) == []
