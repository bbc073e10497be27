"""Every stage has a time, in the main thread and beside it; what takes longer is left out, and that is said."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reviewbot import pipeline
from reviewbot.findings import follow as following
from reviewbot.findings.review import Outcome, Review
from reviewbot.findings.scope import Scope
from reviewbot.git import Repository
from reviewbot.pipeline import ReviewOptions, review_range
from reviewbot.rulebook.book import load_rulebook
from reviewbot.rulebook.limits import CodeLimits
from reviewbot.time_limit import Timed, TooLongError, time_limit
from tests.expectations import small_tree
from tests.repositories import commit, make_repository
from tests.test_git_faults import BAD


def for_ever(*arguments: object, **options: object) -> Scope:
    while True:
        sum(range(100))


def in_main_thread(act: Callable[[], None]) -> None:
    act()


def in_another_thread(act: Callable[[], None]) -> None:
    """As a task of Dask runs."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - handed on below
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(timeout=30)
    assert not thread.is_alive()
    if failed:
        raise failed[0]


THREADS = pytest.mark.parametrize("run", [in_main_thread, in_another_thread])


@THREADS
def test_what_takes_too_long_is_ended(run: Callable[[Callable[[], None]], None]) -> None:
    def act() -> None:
        with time_limit(0.2):
            for_ever()

    with pytest.raises(TooLongError):
        run(act)


@THREADS
def test_what_is_done_in_time_is_not_disturbed_afterwards(run: Callable[[Callable[[], None]], None]) -> None:
    """Nor by a limit that was about to strike."""

    def act() -> None:
        done = 0
        for _ in range(40):
            try:
                with time_limit(0.01):
                    time.sleep(0.0099)
            except TooLongError:
                done += 1
        time.sleep(0.5)
        for _ in range(10_000):
            done += 1
        assert done >= 10_000

    run(act)


@THREADS
def test_the_limit_around_another_one_goes_on(run: Callable[[Callable[[], None]], None]) -> None:
    def act() -> None:
        with time_limit(0.3):
            with time_limit(30):
                pass
            for_ever()

    with pytest.raises(TooLongError):
        run(act)


def test_a_limit_that_is_over_lets_nothing_begin() -> None:
    with pytest.raises(TooLongError), time_limit(0):
        pytest.fail("it began")


def test_work_that_can_be_done_without_leaves_a_note() -> None:
    timed = Timed(0.1)
    assert timed("adding", lambda: 2, 0) == 2
    assert timed("waiting", lambda: for_ever() and 1, 0) == 0
    assert timed.notes == ["waiting took longer than 0.1 s (limits.code.stage_s), and is left out"]


@pytest.fixture(scope="module")
def linux(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_repository(tmp_path_factory.mktemp("linux"), small_tree())
    commit(root, {"arch/powerpc/kernel/put_it.c": BAD}, "Put it")
    return root


def reviewed(root: Path, limits: CodeLimits) -> Review:
    options = ReviewOptions(with_graphs=True, with_edits=True)
    return review_range(Repository.open(root), "HEAD", options, replace(load_rulebook(), limits=limits))


def test_looking_for_users_has_a_limit(linux: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The changed file itself is reviewed all the same, and the patch is not called reviewed in full."""
    monkeypatch.setattr(following, "find_scope", for_ever)
    made = reviewed(linux, CodeLimits(stage_s=3))
    assert [each.rule for each in made.findings] == ["traced_call"]
    assert made.patches[0].outcome is Outcome.PARTIAL
    assert "limits.code.stage_s" in made.gaps[0].reason


@pytest.mark.parametrize("stage", ["with_edits", "_budgets", "_graphs"])
def test_what_comes_with_findings_has_a_limit(linux: Path, stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The findings stay, and a note says what is left out."""
    monkeypatch.setattr(pipeline, stage, for_ever)
    made = reviewed(linux, CodeLimits(stage_s=3))
    assert [each.rule for each in made.findings] == ["traced_call"]
    assert any("is left out" in note for note in made.notes)


def test_a_function_beyond_the_limit_is_a_gap_that_names_it(linux: Path) -> None:
    long = BAD.replace("return 0;", "/* " + "x" * 2000 + " */ return 0;")
    commit(linux, {"arch/powerpc/kernel/put_long.c": long}, "Put it long")
    made = reviewed(linux, CodeLimits(function_bytes=1000))
    reason = "the function is longer than 1000 bytes (limits.code.function_bytes) and was not read"
    assert reason in [gap.reason for gap in made.gaps]
