"""Laws that hold for every series: of splitting, reordering, unrelated edits, and the surroundings of a run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reviewbot.findings.finding import Status
from reviewbot.findings.review import Review
from reviewbot.mail.message import Address
from reviewbot.pipeline import ReviewOptions, review
from reviewbot.report.phrases import COMPLETE
from reviewbot.rulebook.book import Rulebook, load_rulebook
from reviewbot.series.patch import Patch, Series
from tests.changes import make_change
from tests.expectations import FIXTURES, small_tree
from tests.test_pipeline import COPY, FILL, FILL_TEXT, FRAME, FRAME_TEXT, GET
from tests.trees import MemoryTree

JANE = Address(name="Jane Roe", email="jane@example.org")
BASE = {FRAME: FRAME_TEXT, FILL: FILL_TEXT}
TAIL = "unsigned long frame_tail(unsigned long word);\n"
# Independent edits: (file, what stands there, what comes instead); each can be made alone and in any order.
EDITS: dict[str, tuple[str, str, str]] = {
    "copy instead of get": (FRAME, GET, COPY),
    "traced tail": (FILL, "notrace unsigned long frame_tail", "unsigned long frame_tail"),
    "forget an end": (FRAME, "Efault:\n\tuser_write_access_end();\n", "Efault:\n"),
    "comment": (FRAME, "struct frame {\n", "/* what the user sees */\nstruct frame {\n"),
    "prototype": (FRAME, f"notrace {TAIL}", f"void clear_frame(void);\n{TAIL}"),
    "return at once": (FRAME, "\t*word = back;\n", "\tif (word)\n\t\t*word = back;\n"),
}  # fmt: skip


@cache
def book() -> Rulebook:
    return load_rulebook()


def reviewed(files: Mapping[str, str], steps: Sequence[Mapping[str, str]]) -> Review:
    """The review of a series on the small tree with `files`; each step gives files anew."""
    patches = []
    state = dict(files)
    for index, step in enumerate(steps, 1):
        changes = tuple(
            make_change(state[path].encode(), text.encode(), path=path, context=1)
            for path, text in step.items()
            if state[path] != text
        )
        state.update(step)
        patches.append(
            Patch(
                index=index, subject=f"Step {index}", author=JANE, message_id=f"{index}@x", commit=None, log="",
                trailers=(), files=changes,
            )
        )  # fmt: skip
    series = Series(subject="Steps", version=1, total=len(patches), patches=tuple(patches))
    base = MemoryTree({**small_tree(), **files})
    return review(series, base, ReviewOptions(), book())


def steps_of(groups: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    state = dict(BASE)
    steps = []
    for names in groups:
        for name in names:
            path, old, new = EDITS[name]
            assert state[path].count(old) == 1
            state[path] = state[path].replace(old, new)
        steps.append(dict(state))
    return steps


def final(made: Review) -> set[tuple[str, str, str, str, int, str]]:
    """What stands after the last patch."""
    return {
        (each.rule, each.place.path, each.place.function, each.observation.callee or "", each.place.line,
         each.fingerprint)
        for each in made.findings
        if each.status is not Status.FIXED and each.fixed_by is None
    }  # fmt: skip


@st.composite
def splits(draw: st.DrawFn) -> list[list[str]]:
    """All edits in any order, cut into patches anywhere."""
    order = draw(st.permutations(sorted(EDITS)))
    cuts = draw(st.lists(st.integers(1, len(order) - 1), unique=True, max_size=len(order) - 1).map(sorted))
    return [order[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(order)], strict=True)]


def test_the_edits_bring_findings() -> None:
    """Else the laws below would hold for nothing."""
    rules = {rule for rule, *_ in final(reviewed(BASE, steps_of([sorted(EDITS)])))}
    assert {"small_copy", "traced_call", "unclosed_block"} <= rules
    assert final(reviewed(BASE, steps_of([["comment"]]))) == set()


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(splits())
def test_however_a_change_is_split_and_ordered_the_end_is_the_same(groups: list[list[str]]) -> None:
    """The findings that stand after the last patch are those of the whole change in one patch."""
    made = reviewed(BASE, steps_of(groups))
    assert final(made) == final(reviewed(BASE, steps_of([sorted(EDITS)])))
    assert made.gaps == ()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.permutations(["copy instead of get", "forget an end", "comment", "return at once"]))
def test_the_order_of_independent_patches_changes_no_verdict(order: list[str]) -> None:
    """Each patch keeps its outcome and what it brings, wherever it stands."""
    made = reviewed(BASE, steps_of([[name] for name in order]))
    alone = {name: reviewed(BASE, steps_of([[name]])) for name in order}
    for name, result in zip(order, made.patches, strict=True):
        # a file that a patch before brought something into is looked at again: reviewed, or nothing to review
        assert (result.outcome in COMPLETE) == (alone[name].patches[0].outcome in COMPLETE)
        brought = {(each.rule, each.fingerprint) for each in made.findings if each.patch == result.index}
        assert brought == {(each.rule, each.fingerprint) for each in alone[name].findings}


def _comments(text: str) -> str:
    return text.replace(";\n", "; /* user_access_end() */\n", 3).replace("{\n", "{\n\t// copy_from_user(a, b, 8)\n", 2)


def _renamed(text: str) -> str:
    """Every parameter and local of the functions; the members of the same name stay."""
    head, start, rest = text.partition("int put_frame")
    for old, new in (("word", "value"), ("back", "older"), ("frame", "to")):
        rest = re.sub(rf"(?<![>.\w])(?<!struct ){old}\b", new, rest)
    return head + start + rest


OTHER = "int other(int a)\n{\n\treturn a + 1;\n}\n"
UNRELATED = {
    "comments": _comments,
    "blank lines": lambda text: text.replace("\n\n", "\n\n\n\n"),
    "a function before": lambda text: text.replace("int put_frame", f"{OTHER}\nint put_frame"),
    "a function behind": lambda text: f"{text}\n{OTHER}",
    "renamed locals": _renamed,
    "a license line": lambda text: "/* SPDX-License-Identifier: GPL-2.0 */\n" + text,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNRELATED)
def test_unrelated_edits_move_no_fingerprint(name: str) -> None:
    """The same mistakes in a file that differs elsewhere are the same findings."""
    edit = UNRELATED[name]
    after = steps_of([sorted(EDITS)])[-1]
    plain = reviewed(BASE, [after])
    moved = reviewed({path: edit(text) for path, text in BASE.items()}, [{path: edit(text) for path, text in after.items()}])  # fmt: skip  # noqa: E501
    assert edit(FRAME_TEXT) != FRAME_TEXT

    def told(made: Review) -> list[tuple[str, str, str]]:
        return sorted((each.rule, each.place.function, each.fingerprint) for each in made.findings)

    assert told(moved) == told(plain)


SURROUNDINGS = {
    "hash seed": {"PYTHONHASHSEED": "4711"},
    "locale": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "C locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "time zone": {"TZ": "Pacific/Kiritimati"},
    "umask": {"UMASK": "0777"},
    "columns": {"COLUMNS": "33", "NO_COLOR": "1"},
}
RUN = "import os, sys; os.umask(int(os.environ.get('UMASK', '022'), 8)); from reviewbot.frontends.guard import main; sys.exit(main())"  # fmt: skip  # noqa: E501


def _report(surroundings: Mapping[str, str], folder: Path) -> str:
    series = FIXTURES / "series" / "signal64-like.mbox"
    command = [sys.executable, "-c", RUN, "review", str(series), "--tree", str(FIXTURES / "tree"), "--format", "json"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env={**environment, **surroundings}, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 1, done.stderr
    return done.stdout.decode()


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> str:
    text = _report({"PYTHONHASHSEED": "0"}, tmp_path_factory.mktemp("usual"))
    assert json.loads(text)["findings"]
    return text


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_the_surroundings_change_nothing_in_a_report(name: str, usual: str, tmp_path: Path) -> None:
    """The same bytes, whatever the machine is set to."""
    assert _report(SURROUNDINGS[name], tmp_path) == usual
