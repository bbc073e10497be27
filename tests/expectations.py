"""Fixtures as values: a C file of fixtures/rules, its place in the small tree, and what it says is to be found."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from reviewbot.findings.finding import Gap, Observation
from tests.trees import MemoryTree

FIXTURES = Path(__file__).parent.parent / "fixtures"

_EXPECT = re.compile(r"/\* expect: ([^*]+?) \*/")
_EXPECT_GAP = re.compile(r"/\* expect-gap \*/")
_PATH = re.compile(r"/\* path: (\S+) \*/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One finding that is demanded on `line`; `attributes` are (name, value) that it must have as well.

    The finding stands in the file of the fixture, or with `at=path:line` in another one: the call that an assembler
    routine makes stands in the routine.
    """

    line: int
    rule: str
    attributes: tuple[tuple[str, str], ...] = ()
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """One C file. `path` is its place in the small tree; `gap_lines` are the lines on which a gap is demanded."""

    name: str
    sentence: str
    path: str
    text: str
    expectations: tuple[Expectation, ...]
    gap_lines: tuple[int, ...]

    def tree(self) -> MemoryTree:
        """The small tree with this file in its place."""
        return MemoryTree({**small_tree(), self.path: self.text.encode()}, label=self.name)


@cache
def small_tree() -> dict[str, bytes]:
    """path -> bytes of fixtures/tree."""
    root = FIXTURES / "tree"
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def read_fixture(file: Path) -> Fixture:
    """Read one file of fixtures/rules; raises ValueError when its first two comments are not what they must be."""
    text = file.read_text(encoding="utf-8")
    sentence, place = text.split("\n", 2)[:2]
    path = _PATH.fullmatch(place)
    if path is None or not re.fullmatch(r"/\* \S.*[.] \*/", sentence):
        raise ValueError(f"{file}: the first line is one sentence, the second `/* path: … */`")
    lines = list(enumerate(text.split("\n"), start=1))
    return Fixture(
        name=f"{file.parent.name}/{file.stem}",
        sentence=sentence,
        path=path.group(1),
        text=text,
        expectations=tuple(found for number, line in lines for found in read_expectations(number, line)),
        gap_lines=tuple(number for number, line in lines if _EXPECT_GAP.search(line)),
    )


def read_expectations(number: int, line: str) -> list[Expectation]:
    """`/* expect: slug [name=value …] [slug …] */` on one line: one Expectation for each slug."""
    found: list[Expectation] = []
    for comment in _EXPECT.findall(line):
        for word in comment.split():
            name, equals, value = word.partition("=")
            if not equals:
                found.append(Expectation(line=number, rule=word))
            elif name == "at":
                path, _, at_line = value.rpartition(":")
                found.append(replace(found.pop(), path=path, line=int(at_line)))
            else:
                last = found.pop()
                found.append(replace(last, attributes=(*last.attributes, (name, value))))
    return found


def all_fixtures() -> list[Fixture]:
    """Every fixture of every rule, in order of its name."""
    return [read_fixture(file) for file in sorted((FIXTURES / "rules").glob("*/*.c"))]


def describe(observations: tuple[Observation, ...]) -> list[str]:
    """`path:line rule` of each, sorted: what a failing test shows."""
    return sorted(f"{seen.place.path}:{seen.place.line} {seen.rule}" for seen in observations)


def describe_gaps(gaps: tuple[Gap, ...]) -> list[str]:
    """`path:line` of each, sorted."""
    return sorted(f"{gap.path}:{gap.line}" for gap in gaps)


def attribute(seen: Observation, name: str, wanted: str) -> str:
    """The attribute of an observation as a fixture spells it; `arch` and `condition` are `wanted` when they hold it."""
    if name == "arch":
        return wanted if wanted in seen.arch else ",".join(seen.arch)
    if name == "condition":
        return wanted if wanted in (seen.condition or "") else str(seen.condition)
    value = {
        "callee": seen.callee,
        "bytes": seen.size_bytes,
        "pairs": seen.pairs,
        "direction": seen.direction,
        "confidence": seen.confidence.value,
        "variant": seen.variant,
    }[name]
    return str(value)
