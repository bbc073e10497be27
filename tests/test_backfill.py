"""Whole archives: every patch mail has an outcome, however often a run is ended and whatever breaks a worker."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from reviewbot.backfill import processes
from reviewbot.backfill.archive import FolderArchive, open_archive
from reviewbot.backfill.processes import LocalProcesses
from reviewbot.backfill.run import Run
from reviewbot.backfill.store import Store, write_lines
from reviewbot.backfill.summary import summarise
from reviewbot.backfill.windows import Item
from reviewbot.backfill.work import Task, review_item
from reviewbot.errors import InputError
from reviewbot.frontends.cli import cli
from reviewbot.mail.limits import Limits
from reviewbot.mail.mbox import split_mbox
from tests.expectations import FIXTURES
from tests.repositories import git, make_repository

TASK = Task(tree=None)
KILLED = "kill the worker"


def mails() -> list[bytes]:
    """All mails of the fixtures, and all once more from another place, a year later."""
    found = [raw for file in sorted((FIXTURES / "series").glob("*.mbox")) for raw in split_mbox(file.read_bytes())]
    again = [raw.replace(b"@example.org>", b"@again.example.org>").replace(b" 2026 ", b" 2027 ") for raw in found]
    return [*found, *again]


def public_inbox(folder: Path, raw: list[bytes]) -> Path:
    """A repository as public-inbox writes it: one commit for each mail, in the file `m`."""
    make_repository(folder)
    for at, mail in enumerate(raw):
        (folder / "m").write_bytes(mail)
        git(folder, "add", "m")
        git(folder, "commit", "-q", "--allow-empty", "-m", str(at))
    return folder


class Here:
    """An engine without processes. `dies_after`: it breaks off after so many results, as a kill would."""

    def __init__(self, dies_after: int | None = None) -> None:
        self.dies_after = dies_after
        self.done = 0

    def results(self, items: Iterator[Item]) -> Iterator[tuple[Item, str]]:
        for item in items:
            if self.done == self.dies_after:
                raise KeyboardInterrupt
            self.done += 1
            yield item, review_item(item, TASK)

    def close(self) -> None: ...


def run(archive: Path, state: Path, engine: Here | LocalProcesses | None = None) -> str:
    """One run; gives all results as text."""
    store = Store(state, str(archive))
    try:
        Run(open_archive(archive), store, engine or Here(), lambda sentence: None).go()
        assert store.without_outcome() == 0
        return "\n".join([*store.documents(), summarise(store)])
    finally:
        store.close()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return public_inbox(tmp_path_factory.mktemp("archive") / "list", mails())


@pytest.fixture(scope="module")
def whole(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a run that nothing disturbs gives."""
    return run(archive, tmp_path_factory.mktemp("state") / "x.sqlite")


def test_every_series_is_reviewed(whole: str) -> None:
    """The fixtures hold findings, patches that are no kernel patches, and series with missing patches."""
    assert "Patch mails without an outcome: 0" in whole
    assert "findings" in whole and "small_copy" in whole


@pytest.mark.parametrize("dies_after", [0, 1, 3, 5])
def test_a_run_that_was_killed_goes_on_where_it_was(archive: Path, tmp_path: Path, whole: str, dies_after: int) -> None:
    """What was done is not done again, and the results are those of one run."""
    state = tmp_path / "x.sqlite"
    with pytest.raises(KeyboardInterrupt):
        run(archive, state, Here(dies_after))
    second = Here()
    assert run(archive, state, second) == whole
    assert dies_after + second.done == whole.count('"key"')
    third = Here()
    assert run(archive, state, third) == whole
    assert third.done == 0


def test_small_windows_give_the_same(
    archive: Path, tmp_path: Path, whole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A series lies within a few mails here, so a window of a few dozen loses nothing."""
    monkeypatch.setattr("reviewbot.backfill.windows.WINDOW_MAILS", 40)
    state = tmp_path / "x.sqlite"
    with pytest.raises(KeyboardInterrupt):
        run(archive, state, Here(5))
    assert run(archive, state).count('"key"') == whole.count('"key"')


def test_processes_give_the_same(archive: Path, tmp_path: Path, whole: str) -> None:
    """Two workers, whatever the order in which they end."""
    engine = LocalProcesses(TASK, 2)
    try:
        assert run(archive, tmp_path / "x.sqlite", engine) == whole
    finally:
        engine.close()


def test_what_breaks_its_worker_is_set_aside_and_the_rest_is_done(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One series kills every worker that touches it: tried twice, then set aside with its reason."""
    store = Store(tmp_path / "first.sqlite", "first")
    Run(open_archive(archive), store, Here(), lambda sentence: None).go()
    (poison,) = store.counts("series", "key")[:1]
    total = len(store.counts("series", "key"))
    store.close()

    def poisoned(item: Item, task: Task) -> str:
        if item.key == poison[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return review_item(item, task)

    monkeypatch.setattr(processes, "review_item", poisoned)
    engine = LocalProcesses(TASK, 2)
    store = Store(tmp_path / "x.sqlite", "x")
    Run(open_archive(archive), store, engine, lambda sentence: None).go()
    engine.close()
    assert store.set_aside() == [(poison[0], "the worker ended 2 times while it reviewed this series")]
    assert len(store.counts("series", "key")) == total
    assert store.without_outcome() == 0


def test_a_folder_of_mailboxes_is_an_archive(tmp_path: Path, whole: str) -> None:
    """The same series, from mbox files, with a file that is no mail said and counted."""
    state = tmp_path / "x.sqlite"
    folder = FIXTURES / "series"
    assert isinstance(open_archive(folder), FolderArchive)
    store = Store(state, "x")
    Run(open_archive(folder), store, Here(), lambda sentence: None).go()
    assert {json.loads(line)["key"] for line in store.documents()} < {
        json.loads(line)["key"] for line in whole.split("\n") if line.startswith("{")
    }
    write_lines(store, tmp_path / "x.jsonl")
    assert (tmp_path / "x.jsonl").read_text().count("\n") == len(store.counts("series", "key"))


def test_a_state_file_of_something_else_is_refused(archive: Path, tmp_path: Path) -> None:
    """Of another archive, or no SQLite at all: nothing is overwritten."""
    state = tmp_path / "x.sqlite"
    Store(state, "one").close()
    with pytest.raises(InputError, match="another archive"):
        Store(state, "two")
    state.write_bytes(b"no database, but something that somebody wants to keep" * 100)
    with pytest.raises(InputError, match="no result file"):
        Store(state, "one")


def test_dask_gives_the_same(archive: Path, tmp_path: Path, whole: str) -> None:
    """A local cluster of one worker (where the extra is installed)."""
    pytest.importorskip("distributed")
    from reviewbot.backfill.cluster import DaskCluster

    engine = DaskCluster(TASK, "dask", 1)
    try:
        store = Store(tmp_path / "x.sqlite", "x")
        Run(open_archive(archive), store, engine, lambda sentence: None).go()
        assert "\n".join([*store.documents(), summarise(store)]) == whole
    finally:
        engine.close()


@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
def test_a_mailbox_beyond_the_limit_is_said(tmp_path: Path, is_packed: bool) -> None:
    """What was read counts, and the rest is no silence."""
    raw = b"".join(b"From a Thu Jan  1 00:00:00 1970\n" + each + b"\n" for each in mails()[:8])
    (tmp_path / "list.mbox").write_bytes(gzip.compress(raw) if is_packed else raw)
    found = list(open_archive(tmp_path, Limits(input_bytes=len(raw) // 2)).mails(0))
    assert len(found) > 2
    assert found[-1].raw is None and "limits.input.input_bytes" in found[-1].reason
    assert all(mail.raw is not None for mail in open_archive(tmp_path, Limits(input_bytes=len(raw))).mails(0))


def run_with_limits(folder: Path, archive: Path, settings: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The results of `reviewbot backfill` under these settings, as JSON lines."""
    (folder / "config.toml").write_text(settings)
    monkeypatch.setenv("REVIEWBOT_CONFIG", str(folder / "config.toml"))
    results = folder / "results.jsonl"
    arguments = ["backfill", str(archive), "--state", str(folder / "state"), "--jsonl", str(results), "-j", "1", "-q"]
    done = CliRunner().invoke(cli, arguments)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return results.read_text()


@pytest.mark.parametrize("limit", ["message_bytes = 900", "diff_bytes = 900", "hunk_lines = 2"])
def test_the_limits_of_the_settings_hold_in_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """What the reader of mails and of diffs keeps to is what the settings say, and the result names it."""
    archive = tmp_path / "mails"
    archive.mkdir()
    (archive / "a.mbox").write_bytes((FIXTURES / "series/signal64-like.mbox").read_bytes())
    told = run_with_limits(tmp_path, archive, f"[limits.input]\n{limit}\n", monkeypatch)
    assert f"limits.input.{limit.partition(' ')[0]}" in told


def test_the_time_of_the_settings_holds_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits on the source reach the workers, too."""
    archive = tmp_path / "mails"
    archive.mkdir()
    (archive / "a.mbox").write_bytes((FIXTURES / "series/signal64-like.mbox").read_bytes())
    settings = "[limits.code]\nfile_s = 0.000001\nstage_s = 0.000001\n"
    assert "limits.code.file_s" in run_with_limits(tmp_path, archive, settings, monkeypatch)


def test_a_mail_beyond_the_limit_in_a_public_inbox_is_said(tmp_path: Path) -> None:
    """It is not read, and not taken for one that was removed."""
    inbox = public_inbox(tmp_path / "inbox", mails()[:2])
    found = list(open_archive(inbox, Limits(message_bytes=100)).mails(0))
    assert [mail.raw for mail in found] == [None, None]
    assert all("limits.input.message_bytes" in mail.reason for mail in found)


class _Future:
    """What a scheduler gives for a task: done at once, with a result or an error."""

    def __init__(self, result: str, error: Exception | None) -> None:
        self._result, self._error = result, error
        self.is_over = False

    def exception(self) -> Exception | None:
        return self._error

    def result(self) -> str:
        return self._result

    def release(self) -> None:
        self.is_over = True


class KilledWorker(Exception):  # noqa: N818 - the name that distributed gives it
    """A worker died too often with this task on it."""


class _Scheduler:
    """One worker that dies with `poison`, which casts suspicion on everything that is under way with it."""

    def __init__(self, poison: str) -> None:
        self.poison = poison
        self.under_way: list[_Future] = []

    def scheduler_info(self, n_workers: int = -1) -> dict[str, dict[str, int]]:
        return {"workers": {"one": 1}}

    def submit(self, work: object, item: Item, task: Task, **options: object) -> _Future:
        future = _Future(review_item(item, task), None)
        self.under_way = [each for each in (*self.under_way, future) if not each.is_over]
        if item.key == self.poison:
            for each in self.under_way:
                each._error = KilledWorker()
        return future


class _AsCompleted(list[_Future]):
    def __iter__(self) -> Iterator[_Future]:
        while self:
            yield self.pop(0)

    def add(self, future: _Future) -> None:
        self.append(future)


def test_what_was_beside_the_poison_is_reviewed(
    archive: Path, tmp_path: Path, whole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that dies takes several series with it; only the one that it dies of again, alone, is set aside."""
    from reviewbot.backfill.cluster import DaskCluster

    module = ModuleType("distributed")
    module.as_completed = _AsCompleted  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "distributed", module)
    keys = [json.loads(line)["key"] for line in whole.splitlines() if line.startswith("{")]
    engine = DaskCluster.__new__(DaskCluster)
    engine._task, engine._client, engine._cluster = TASK, _Scheduler(keys[2]), None
    store = Store(tmp_path / "x.sqlite", "x")
    Run(open_archive(archive), store, engine, lambda sentence: None).go()
    assert [key for key, _ in store.set_aside()] == [keys[2]]
    assert store.without_outcome() == 0
    store.close()
