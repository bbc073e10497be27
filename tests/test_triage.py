"""What a series is told about: only what it changes, by the function, wherever the lines go."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from reviewbot.findings.excerpt import make_excerpt
from reviewbot.findings.finding import (
    Confidence,
    Cost,
    Cycles,
    Gap,
    HeldBack,
    Observation,
    Per,
    Place,
    Severity,
    Status,
)
from reviewbot.findings.fingerprint import fingerprints
from reviewbot.findings.follow import Followed, Sight, follow
from reviewbot.findings.history import History
from reviewbot.findings.matching import Seen
from reviewbot.findings.scope import find_scope
from reviewbot.findings.triage import NOT_CHANGED, Verdict, judge
from reviewbot.rulebook.book import load_rulebook
from reviewbot.series.patch import ChangeKind, Series
from reviewbot.source.states import PatchState, build_states
from reviewbot.source.tree import SourceTree
from tests.changes import make_change
from tests.test_source import to_patch
from tests.trees import MemoryTree

BOOK = load_rulebook()
FUNCTION = re.compile(r"^(?:static )?(?:inline )?(?:notrace )?int (\w+)\(", re.MULTILINE)
Files = Mapping[str, str | None]


def block(name: str, *calls: str, head: str = "int") -> str:
    body = "".join(f"\t{call};\n" for call in calls)
    return f"{head} {name}(void)\n{{\n\tif (!user_access_begin(p, 4))\n\t\treturn 1;\n{body}\tuser_access_end();\n}}\n"


def look(tree: SourceTree, paths: Sequence[str], focus: object = None) -> Sight:
    """A stand-in for the rules: `bad_*()` is a finding in the function that holds it; a file with `#garbled` has only
    a gap."""
    sights = [look_at(tree, path) for path in paths]
    return tuple(each for seen, _ in sights for each in seen), tuple(gap for _, gaps in sights for gap in gaps)


def look_at(tree: SourceTree, path: str) -> Sight:
    observations, gaps, function = [], [], ""
    for number, line in enumerate((tree.read(path) or b"").decode().split("\n"), 1):
        if head := FUNCTION.match(line):
            function = head[1]
        place = Place(path=path, line=number, column=2, function=function)
        observations += [to_observation(place, callee) for callee in re.findall(r"\b(bad_\w+)\(\)", line)]
        if "#garbled" in line:
            gaps.append(Gap(path=path, line=number, function=function, reason="garbled"))
    return ((), tuple(gaps)) if gaps else (tuple(observations), ())


def to_observation(place: Place, callee: str = "bad_a") -> Observation:
    return Observation(
        rule="traced_call",
        variant="static",
        place=place,
        callee=callee,
        arch=("powerpc",),
        facts=(("opener", "user_access_begin"), ("via", ""), ("defined", ""), ("macro", "")),
        key=("traced_call", place.path, place.function, callee),
    )


def cost_of(_: Observation) -> Cost:
    cycles = Cycles(low=1, typ=2, high=3)
    return Cost(cpu="test", cycles=cycles, per=Per.EXECUTION, confidence=Confidence.LOW, basis="", facts=())


def to_states(
    *versions: Files, renames: Mapping[str, str] | None = None, complete: bool = True
) -> tuple[PatchState, ...]:
    """States of a series whose patches lead from one version of the files to the next."""
    patches = []
    for index, (old, new) in enumerate(pairwise(versions), 1):
        changes = []
        moved = {source: target for source, target in (renames or {}).items() if source in old and target in new}
        for path in sorted({*old, *new}):
            before, after = old.get(path), new.get(path)
            if path in moved:
                before, after = old[path], new[moved[path]]
                change = make_change((before or "").encode(), (after or "").encode(), path=path)
                changes.append(replace(change, kind=ChangeKind.RENAMED, new_path=moved[path]))
            elif before != after and path not in moved.values():
                change = make_change((before or "").encode(), (after or "").encode(), path=path)
                kind = ChangeKind.ADDED if before is None else ChangeKind.DELETED if after is None else change.kind
                old_path, new_path = None if before is None else path, None if after is None else path
                changes.append(replace(change, kind=kind, old_path=old_path, new_path=new_path))
        patches.append(replace(to_patch("", index), files=tuple(changes)))
    series = Series(subject="", version=1, total=len(patches), patches=tuple(patches))
    files = {path: text for path, text in versions[0].items() if text is not None}
    return build_states(series, MemoryTree(files) if complete else None)


def triage(*versions: Files, show_all: bool = False, renames: Mapping[str, str] | None = None) -> tuple[Verdict, ...]:
    followed = follow(to_states(*versions, renames=renames), BOOK, look)
    return judge(followed.lives, BOOK.catalogue, cost_of, show_all=show_all)


def told(verdicts: tuple[Verdict, ...]) -> list[tuple[str, str, int | None, int | None]]:
    """(function, status, patch, fixed by) of what is reported."""
    findings = [verdict.finding for verdict in verdicts if not verdict.held_back]
    return [(each.place.function, each.status.value, each.patch, each.fixed_by) for each in findings]


BAD, GOOD = block("f", "bad_a()"), block("f", "fine()")
PAD = "int unrelated(void)\n{\n\treturn 1;\n}\n\n"

NOTHING_TO_TELL: dict[str, tuple[tuple[Files, ...], dict[str, str]]] = {
    "no change": (({"a.c": BAD}, {"a.c": BAD}), {}),
    "lines above": (({"a.c": BAD}, {"a.c": PAD + BAD}), {}),
    "variable renamed": (({"a.c": BAD}, {"a.c": BAD.replace("(p, 4)", "(q, 4)")}), {}),
    "line reindented": (({"a.c": BAD}, {"a.c": BAD.replace("\tbad_a()", "\t\tbad_a()")}), {}),
    "moved within the file": (({"a.c": BAD + "\n" + PAD}, {"a.c": PAD + "\n" + BAD}), {}),
    "moved to another file": (({"a.c": BAD + PAD, "b.c": PAD}, {"a.c": PAD, "b.c": PAD + BAD}), {}),
    "moved to a new file": (({"a.c": PAD + BAD}, {"a.c": PAD, "new.c": BAD}), {}),
    "moved in two patches": (
        ({"a.c": BAD + PAD, "b.c": PAD}, {"a.c": PAD, "b.c": PAD}, {"a.c": PAD, "b.c": BAD + PAD}),
        {},
    ),
    "file renamed": (({"a.c": BAD}, {"z.c": BAD}), {"a.c": "z.c"}),
    "file renamed and edited": (({"a.c": BAD}, {"z.c": PAD + BAD}), {"a.c": "z.c"}),
    "function renamed": (({"a.c": BAD}, {"a.c": BAD.replace("int f(", "int g(")}), {}),
    "moved in two patches, new place first": (
        ({"a.c": BAD + PAD, "b.c": PAD}, {"a.c": BAD + PAD, "b.c": BAD}, {"a.c": PAD, "b.c": BAD}),
        {},
    ),
    "taken away and brought back": (({"a.c": BAD}, {"a.c": GOOD}, {"a.c": BAD}), {}),
    "another call beside it": (({"a.c": BAD}, {"a.c": block("f", "bad_a()", "fine()")}), {}),
    "unrelated file": (({"a.c": BAD, "b.c": PAD}, {"a.c": BAD, "b.c": PAD + PAD.replace("unrelated", "other")}), {}),
}


@pytest.mark.parametrize(("versions", "renames"), NOTHING_TO_TELL.values(), ids=NOTHING_TO_TELL.keys())
def test_nothing_is_told(versions: tuple[Files, ...], renames: dict[str, str]) -> None:
    assert told(triage(*versions, renames=renames)) == []


TWO, THREE = block("f", "bad_a()", "bad_a()"), block("f", "bad_a()", "bad_a()", "bad_a()")
TOLD: dict[str, tuple[tuple[Files, ...], list[tuple[str, str, int | None, int | None]]]] = {
    "introduced": (({"a.c": GOOD}, {"a.c": BAD}), [("f", "introduced", 1, None)]),
    "introduced in a new file": (({"b.c": PAD}, {"b.c": PAD, "a.c": BAD}), [("f", "introduced", 1, None)]),
    "introduced by the second": (
        ({"a.c": GOOD}, {"a.c": PAD + GOOD}, {"a.c": PAD + BAD}),
        [("f", "introduced", 2, None)],
    ),
    "fixed": (({"a.c": BAD}, {"a.c": GOOD}), [("f", "fixed", 1, 1)]),
    "fixed with the file": (({"a.c": BAD}, {"b.c": PAD}), [("f", "fixed", 1, 1)]),
    "introduced and fixed": (({"a.c": GOOD}, {"a.c": BAD}, {"a.c": GOOD}), [("f", "introduced", 1, 2)]),
    "fixed and introduced elsewhere": (
        ({"a.c": BAD + block("g", "fine()")}, {"a.c": GOOD + block("g", "bad_a()")}),
        [("f", "fixed", 1, 1), ("g", "introduced", 1, None)],
    ),
    "one more of the same": (({"a.c": TWO}, {"a.c": THREE}), [("f", "introduced", 1, None)]),
    "one less of the same": (({"a.c": THREE}, {"a.c": TWO}), [("f", "fixed", 1, 1)]),
    "another callee": (
        ({"a.c": BAD}, {"a.c": BAD.replace("bad_a", "bad_b")}),
        [("f", "fixed", 1, 1), ("f", "introduced", 1, None)],
    ),
    "again after a fix": (({"a.c": GOOD}, {"a.c": BAD}, {"a.c": GOOD}, {"a.c": BAD}), [("f", "introduced", 3, None)]),
}


@pytest.mark.parametrize(("versions", "expected"), TOLD.values(), ids=TOLD.keys())
def test_what_the_series_does_is_told(
    versions: tuple[Files, ...], expected: list[tuple[str, str, int | None, int | None]]
) -> None:
    assert sorted(told(triage(*versions))) == sorted(expected)


def test_of_several_alike_the_one_on_the_new_line_is_new() -> None:
    verdicts = triage({"a.c": block("f", "fine()", "bad_a()")}, {"a.c": block("f", "bad_a()", "fine()", "bad_a()")})
    (finding,) = [verdict.finding for verdict in verdicts if not verdict.held_back]
    assert finding.place.line == 5


def test_any_split_of_a_change_gives_the_same_end() -> None:
    start, end = {"a.c": BAD + PAD}, {"a.c": PAD + GOOD + block("g", "bad_b()", "bad_a()")}
    middles: list[Files] = [
        {"a.c": GOOD + PAD},
        {"a.c": PAD},
        {"a.c": PAD + GOOD + block("g", "bad_a()")},
        {"a.c": BAD},
    ]

    def final(verdicts: tuple[Verdict, ...]) -> list[tuple[str, str, int, Status]]:
        findings = (verdict.finding for verdict in verdicts)
        return sorted(
            (each.fingerprint, each.place.function, each.place.line, each.status)
            for each in findings
            if each.fixed_by is None
        )

    whole = final(triage(start, end))
    assert len(whole) == 2
    for middle in middles:
        assert final(triage(start, middle, end)) == whole


def test_existing_is_held_back_and_shown_on_demand() -> None:
    versions: tuple[Files, ...] = ({"a.c": BAD}, {"a.c": BAD.replace("(p, 4)", "(q, 4)")})
    (verdict,) = triage(*versions)
    assert verdict.to_held_back() == HeldBack(finding=verdict.finding, reason=NOT_CHANGED)
    assert verdict.finding.status is Status.EXISTING
    assert verdict.finding.patch is None
    assert told(triage(*versions, show_all=True)) == [("f", "existing", None, None)]


def test_what_is_fixed_within_the_series_is_a_note() -> None:
    (verdict,) = triage({"a.c": GOOD}, {"a.c": BAD}, {"a.c": GOOD})
    assert verdict.finding.severity is Severity.NOTE
    (verdict,) = triage({"a.c": GOOD}, {"a.c": BAD})
    assert verdict.finding.severity is Severity.WARNING
    assert "bad_a() is called" in verdict.finding.message


def test_fingerprints_survive_unrelated_edits_and_tell_repeats_apart() -> None:
    place = Place(path="a.c", line=5, function="f")
    one, two = to_observation(place), to_observation(replace(place, line=9))
    moved = [to_observation(replace(place, line=105)), to_observation(replace(place, line=109, column=7))]
    assert fingerprints([one, two]) == fingerprints(moved)
    assert len({*fingerprints([one, two]), *fingerprints([to_observation(place, "bad_b")])}) == 3


def test_a_function_that_cannot_be_read_after_the_patch_is_not_called_fixed() -> None:
    garbled = BAD.replace("\tuser_access_end();\n", "#garbled\n\tuser_access_end();\n")
    states = to_states({"a.c": BAD}, {"a.c": garbled})
    followed = follow(states, BOOK, look)
    assert [life.fixed_by for life in followed.lives] == [None]
    assert [(gap.function, gap.patch) for gap in followed.gaps[1]] == [("f", 1)]


def test_a_function_that_could_not_be_read_before_the_patch_tells_only_of_new_lines() -> None:
    garbled = BAD.replace("\tuser_access_end();\n", "#garbled\n\tuser_access_end();\n")
    assert told(triage({"a.c": garbled}, {"a.c": BAD})) == []
    assert told(triage({"a.c": garbled}, {"a.c": block("f", "bad_a()", "bad_b()")})) == [("f", "introduced", 1, None)]


OUTER = to_observation(Place(path="a.c", line=20, function="outer"), "helper")
INNER = to_observation(Place(path="a.c", line=5, function="helper"), "bad_a")


def advance(history: History, patch: int, old: Observation, new: Observation) -> None:
    trees = MemoryTree({"a.c": "old"}), MemoryTree({"a.c": "new"})
    before, after = (Seen(tree=tree, observations=(each,)) for tree, each in zip(trees, (old, new), strict=True))
    history.advance(patch, before, after, {})


def ages(history: History) -> dict[str | None, tuple[int | None, int | None]]:
    return {life.observation.callee: (life.introduced_by, life.fixed_by) for life in history.lives}


def test_what_hides_behind_a_new_finding_is_not_called_fixed() -> None:
    """A helper that loses its annotation is reported itself, and what it calls is not looked into any more."""
    history = History()
    advance(history, 1, INNER, OUTER)
    assert ages(history) == {"bad_a": (None, None), "helper": (1, None)}


def test_what_comes_to_light_behind_a_fixed_finding_is_as_old_as_that() -> None:
    history = History()
    advance(history, 1, OUTER, INNER)
    assert ages(history) == {"helper": (None, 1), "bad_a": (None, None)}
    history = History()
    history.advance(1, Seen(tree=MemoryTree({}), observations=()), Seen(tree=MemoryTree({}), observations=(OUTER,)), {})
    advance(history, 2, OUTER, INNER)
    assert ages(history) == {"helper": (1, 2), "bad_a": (2, None)}


def test_gaps_in_what_the_patch_leaves_alone_are_no_news() -> None:
    garbled = block("g", "#garbled")
    old = {"a.c": GOOD + PAD + garbled}
    assert follow(to_states(old, {"a.c": BAD + PAD + garbled}), BOOK, look).gaps[1] == ()
    changed: Files = {"a.c": GOOD + PAD + garbled.replace("(p, 4)", "(q, 4)")}
    assert [gap.function for gap in follow(to_states(old, changed), BOOK, look).gaps[1]] == ["g"]


# Which files are looked into

CALLER = block("f", "helper()")
HELPER = "static inline int helper(void)\n{\n\treturn 1;\n}\n"
NOTRACE = "notrace int helper(void)\n{\n\treturn 1;\n}\n"
SCOPES: dict[str, tuple[Files, Files, set[str]]] = {
    "documentation": ({"d.rst": "a\n", "a.c": BAD}, {"d.rst": "b\n"}, set()),
    "code without user access": ({"a.c": PAD}, {"a.c": PAD.replace("1", "2")}, set()),
    "another function of a file with user access": ({"a.c": BAD + PAD}, {"a.c": BAD + PAD.replace("1", "2")}, set()),
    "the block itself": ({"a.c": GOOD}, {"a.c": BAD}, {"a.c"}),
    "a declaration beside a block": ({"a.c": GOOD}, {"a.c": "struct s { int x; };\n" + GOOD}, {"a.c"}),
    "notrace dropped elsewhere": (
        {"a.c": CALLER, "b.c": NOTRACE, "c.c": PAD},
        {"b.c": NOTRACE.replace("notrace ", "")},
        {"a.c"},
    ),
    "an inline function of a header": (
        {"a.c": CALLER, "h.h": HELPER, "c.c": "int x = helper();\n"},
        {"h.h": HELPER.replace("1", "2")},
        {"a.c"},
    ),
    "a macro of a header, through another": (
        {"a.c": CALLER, "h.h": "#define helper() deeper()\n", "i.h": "#define deeper() (1)\n", "c.c": PAD},
        {"i.h": "#define deeper() printk()\n"},
        {"a.c"},
    ),
    "a local inline function": ({"b.c": HELPER, "a.c": CALLER}, {"b.c": HELPER.replace("1", "2")}, set()),
    "the body of a plain function that a block calls": (
        {"a.c": CALLER, "b.c": "int helper(void)\n{\n\treturn 1;\n}\n"},
        {"b.c": "int helper(void)\n{\n\treturn 2;\n}\n"},
        set(),
    ),
    "a prototype that loses notrace": (
        {"a.c": CALLER, "h.h": "int helper(void) notrace;\n"},
        {"h.h": "int helper(void);\n"},
        {"a.c"},
    ),
}


@pytest.mark.parametrize(("old", "edit", "expected"), SCOPES.values(), ids=SCOPES.keys())
def test_scope(old: Files, edit: Files, expected: set[str]) -> None:
    (state,) = to_states(old, {**old, **edit})
    assert find_scope(state, BOOK).paths == expected


def test_an_uninteresting_patch_searches_nothing() -> None:
    (state,) = to_states({"a.c": BAD + PAD}, {"a.c": BAD + PAD.replace("1", "2")})
    find_scope(state, BOOK)
    assert state.before.searched == []  # type: ignore[attr-defined]


def test_a_file_is_looked_at_once_per_state() -> None:
    seen: list[tuple[str, str]] = []
    other = block("other", "fine()")

    def count(tree: SourceTree, paths: Sequence[str]) -> Sight:
        seen.extend((tree.label, path) for path in paths)
        return look(tree, paths)

    follow(to_states({"a.c": GOOD}, {"a.c": BAD}, {"a.c": BAD, "b.c": other}, {"a.c": GOOD, "b.c": other}), BOOK, count)
    assert [path for _, path in seen] == ["a.c", "a.c", "b.c", "a.c"]


def test_hunks_alone_tell_of_an_annotation_whose_users_are_unknown() -> None:
    states = to_states({"b.c": NOTRACE}, {"b.c": NOTRACE.replace("notrace ", "")}, complete=False)
    followed: Followed = follow(states, BOOK, look)
    assert "helper() loses notrace" in followed.gaps[1][0].reason


def test_hunks_alone_lower_the_confidence() -> None:
    followed = follow(to_states({"a.c": GOOD}, {"a.c": BAD}, complete=False), BOOK, look)
    (verdict,) = judge(followed.lives, BOOK.catalogue, cost_of)
    assert (verdict.finding.status, verdict.finding.confidence) == (Status.INTRODUCED, Confidence.MEDIUM)


# Excerpts


def test_an_excerpt_shows_what_was_added_and_removed() -> None:
    old = b"".join(b"line %d\n" % number for number in range(1, 11))
    new = old.replace(b"line 5\n", b"line five\nline more\n")
    rows = make_excerpt("a.c", new, 6, old).lines
    assert rows == (
        (3, " ", "line 3"),
        (4, " ", "line 4"),
        (5, "-", "line 5"),
        (5, "+", "line five"),
        (6, "+", "line more"),
        (7, " ", "line 6"),
        (8, " ", "line 7"),
        (9, " ", "line 8"),
    )
    unlike = make_excerpt("a.c", old.replace(b"line 5\n", b"other();\n"), 5, old).lines
    assert (5, "-", "line 5") not in unlike
    gone = make_excerpt("a.c", old, 5, new, is_gone=True).lines
    assert gone[3] == (5, "-", "line 5")
    assert [sign for _, sign, _ in gone].count("-") == 1


@pytest.mark.parametrize(
    ("after", "focus"),
    [
        pytest.param(GOOD.replace("fine", "other"), True, id="a_function_changes"),
        pytest.param("int counter;\n" + GOOD, False, id="a_line_outside_of_functions_changes"),
    ],
)
def test_one_patch_is_looked_at_only_where_it_matters(after: str, focus: bool) -> None:
    """A file is looked at whole only when something that its other functions may depend on changes."""
    asked: list[object] = []

    def note(tree: SourceTree, paths: Sequence[str], focus: object = None) -> Sight:
        asked.append(focus)
        return look(tree, paths)

    follow(to_states({"a.c": GOOD}, {"a.c": after}), BOOK, note)
    assert asked and all(bool(each) is focus for each in asked)
