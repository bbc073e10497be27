"""`reviewbot budget`, `evidence` and `models --plot`: what they print, and the figures of whole series.

After a wanted change: `REVIEWBOT_REGENERATE=1 pytest tests/test_budget_commands.py`, then read the diff.
"""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reviewbot import __version__
from reviewbot.cost.rate import parse_base_rate
from reviewbot.findings.review import Count, Review, SwitchBudget
from reviewbot.frontends.cli import cli
from reviewbot.mail.mailbox import read_mailbox
from reviewbot.pipeline import ReviewOptions, review
from reviewbot.rulebook.book import load_rulebook
from reviewbot.series.choose import choose_series
from reviewbot.series.from_mail import find_series
from reviewbot.source.folder_tree import FolderTree
from tests.expectations import FIXTURES, small_tree
from tests.trees import MemoryTree

GOLDEN = FIXTURES / "commands"
TREE = str(FIXTURES / "tree")
SERIES = str(FIXTURES / "series" / "signal64-like.mbox")
BENCHMARK = str(FIXTURES / "commands" / "benchmark.mbox")
OPTIONS = ReviewOptions(base_rate=parse_base_rate("200000/s@4GHz"))


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of the machine that runs the tests."""
    for name in ("XDG_CONFIG_HOME", "REVIEWBOT_CONFIG", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


# --- A series: exact pairs before and after


@cache
def reviewed(name: str, *, options: ReviewOptions = OPTIONS) -> Review:
    series = choose_series(find_series(read_mailbox(FIXTURES / "series" / f"{name}.mbox").messages))
    return review(series, MemoryTree(small_tree(), label="the small tree"), options, load_rulebook())


def counted(count: Count | None) -> tuple[int, int, int] | None:
    """Pairs, reads and writes, where every way comes to the same."""
    if count is None:
        return None
    assert count.reads is not None
    assert count.writes is not None
    assert len({*count.pairs}) == len({*count.reads}) == len({*count.writes}) == 1
    return count.pairs[1], count.reads[1], count.writes[1]


def test_pairs_before_and_after_a_series_of_single_accesses_made_blocks() -> None:
    """8 writes become a block; 1 + 5 reads become a read and a block; the helper goes, a debugger's call comes."""
    told = {each.function: (counted(each.before), counted(each.after)) for each in reviewed("signal64-like").switches}
    assert told == {
        "save_context": ((8, 0, 8), (1, 0, 1)),
        "deliver_frame64": ((8, 0, 8), (1, 0, 1)),
        "restore_context": ((5, 5, 0), None),
        "resume_frame64": ((6, 6, 0), (2, 2, 0)),
        "describe_frame64": (None, (4, 1, 3)),
    }
    assert {each.arch for each in reviewed("signal64-like").switches} == {"powerpc"}


def test_what_is_saved_is_the_difference_of_the_pairs() -> None:
    """7 pairs fewer on POWER9: 7 × (2 × 130 + 85 + 13) cycles, the flush only perhaps."""
    saved = budget("deliver_frame64").saved
    assert saved is not None
    assert (saved.cycles.low, saved.cycles.typ, saved.cycles.high) == (7 * 208, 7 * 358, 7 * 435)


def test_a_base_rate_gives_a_predicted_rate() -> None:
    """4 GHz and 200000/s are 20000 cycles each; 2506 fewer are 17494, that is 228649/s."""
    notes = [note for note in reviewed("signal64-like").notes if note.startswith("deliver_frame64 on POWER9")]
    assert len(notes) == 1
    assert "becomes 228,650/s" in notes[0] or "becomes 228,649/s" in notes[0]
    assert "+14.3 %" in notes[0]


def budget(function: str) -> SwitchBudget:
    return next(each for each in reviewed("signal64-like").switches if each.function == function)


def test_generic_code_has_a_budget_on_each_architecture_that_guards() -> None:
    switches = reviewed("two-versions").switches
    assert {each.arch for each in switches} == {"powerpc", "x86"}
    assert all(each.after is not None and (each.after.reads is None) == (each.arch == "x86") for each in switches)


@pytest.mark.parametrize("name", ["nothing-to-review"])
def test_a_series_without_accesses_has_no_budget(name: str) -> None:
    assert reviewed(name).switches == ()


def test_budgets_can_be_left_out() -> None:
    assert reviewed("signal64-like", options=replace(OPTIONS, switch_budgets=False)).switches == ()


def test_a_folder_as_a_tree_comes_to_the_same() -> None:
    series = choose_series(find_series(read_mailbox(SERIES).messages))
    found = review(series, FolderTree(Path(TREE)), OPTIONS, load_rulebook())
    assert found.switches == reviewed("signal64-like").switches


# --- Golden outputs

COMMANDS = {
    "budget.text": ("budget", "resume_frame64", "deliver_frame64", "--tree", TREE),
    "budget.json": ("budget", "resume_frame64", "--tree", TREE, "--format", "json", "--cpu", "POWER9"),
    "budget-rate.text": ("budget", "kernel/ticket.c:put_ticket", "--tree", TREE, "--base-rate", "1000000/s@2GHz"),
    "evidence.text": ("evidence", BENCHMARK, "--pairs", "14:3", "--kernel", "5.9"),
    "evidence-tree.text": ("evidence", SERIES, BENCHMARK, "--tree", TREE),
    "evidence.json": ("evidence", BENCHMARK, "--pairs", "14:3", "--format", "json"),
    "plot.text": ("models", "POWER9", "--plot"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_output_is_the_golden_one(name: str) -> None:
    done = run(*COMMANDS[name])
    assert done.exit_code == 0, done.output
    text = done.stdout.replace(__version__, "VERSION")
    path = GOLDEN / name
    if os.environ.get("REVIEWBOT_REGENERATE"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_golden_file_belongs_to_a_command() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {*COMMANDS, "benchmark.mbox"}


# --- Budget


def test_json_lists_every_place_with_the_way_there() -> None:
    done = run("budget", "resume_frame64", "--tree", TREE, "-f", "json")
    (found,) = json.loads(done.stdout)["budgets"]
    assert found["pairs"]["typ"] == {"total": 6, "read": 6, "write": 0}
    assert len(found["places"]) == 6
    assert [step["callee"] for step in found["places"][1]["via"]] == ["restore_context"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("no_such_function",), "There is no function 'no_such_function'"),
        (("resume_frame64", "--cpu", "nosuch"), "There is no CPU model"),
        (("resume_frame64", "--define", "a-b"), "no name of an option"),
        (("resume_frame64", "--define", "CONFIG_A", "--undef", "CONFIG_A"), "both defined and undefined"),
        (("resume_frame64", "--base-rate", "fast"), "is not understood"),
        (("resume_frame64", "--rev", "HEAD"), "without git"),
    ],
)
def test_a_wrong_call_of_budget_is_explained(arguments: tuple[str, ...], said: str) -> None:
    done = run("budget", *arguments, "--tree", TREE)
    assert done.exit_code != 0
    assert said in done.output + str(done.exception)


# --- Evidence


def test_hunks_that_change_accesses_in_many_places_predict_nothing() -> None:
    done = run("evidence", SERIES, BENCHMARK)
    assert done.exit_code == 0
    assert done.stdout.count("says nothing") >= 2
    assert "only a tree tells" in done.stdout


def test_a_saved_page_is_read_as_a_mail(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text(
        "From mboxrd@z Thu Jan 1 00:00:00 1970 Return-Path: " + "X-Filler: 12 " * 40 + "MIME-Version: 1.0 "
        'From: "Ada Example" To: list@example.org '
        "Subject: [PATCH 0/2] Faster frames Date: Mon, 5 Jan 2026 09:00:00 +0000 Message-Id: <page-1@example.org> "
        "Measured on a POWER9: frame_threads -t1 | | hash | radix | | ---- | ---- | ---- | "
        "| before | 100000 | 100000 | | after | 101000 | 120000 | Done.\n"
    )
    done = run("evidence", str(page), "--pairs", "30:3", "--kernel", "5.9", "-f", "json")
    told = json.loads(done.stdout)
    assert {(each["author"], each["message_id"]) for each in told["evidence"]} == {
        ("Ada Example", "page-1@example.org")
    }
    assert [(each["cpu"], each["before"]["value"], each["after"]["value"]) for each in told["changes"]] == [
        ("POWER9-hash", 100000, 101000),
        ("POWER9", 100000, 120000),
    ]


def test_what_cannot_be_read_is_said_and_the_rest_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\0\1\2")
    arguments = ["evidence", str(tmp_path / "binary"), BENCHMARK, "--pairs", "14:3"]
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert done.return_value == 3
    assert "frame_threads" in done.stdout
    assert "binary" in done.output


@pytest.mark.parametrize("pairs", ["44", "a:b", "-1:2"])
def test_pairs_are_two_numbers(pairs: str) -> None:
    assert run("evidence", BENCHMARK, f"--pairs={pairs}").exit_code == 2


# --- Pictures


@pytest.mark.parametrize("name", load_rulebook().cpu_models)
def test_every_model_can_be_drawn(name: str, tmp_path: Path) -> None:
    done = run("models", name, "--plot")
    assert done.exit_code == 0
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    target = tmp_path / "x.svg"
    assert run("models", name, "--plot", "-o", str(target)).exit_code == 0
    assert ElementTree.parse(target).getroot().tag.endswith("svg")


@pytest.mark.parametrize("arguments", [("--plot",), ("POWER9", "-o", "x.svg")])
def test_a_picture_needs_a_model_and_plot(arguments: tuple[str, ...]) -> None:
    assert run("models", *arguments).exit_code == 2
