"""What the system refuses, in real processes: no room on the disk, no file handles, no memory, closed streams, signals.
Each has a sentence on stderr, a code that says what a script may conclude, and leaves nothing half done behind."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from reviewbot.backfill.store import Store, write_lines
from reviewbot.errors import DeliveryError, InputError
from tests.expectations import FIXTURES, small_tree
from tests.repositories import commit, make_repository
from tests.test_git_faults import BAD

GIT = shutil.which("git")
SERIES = str(FIXTURES / "series" / "signal64-like.mbox")
BACKFILL = ["backfill", str(FIXTURES / "series"), "--state", "STATE", "--quiet", "--jobs", "1"]
COMMANDS = {
    "range": ["range", "HEAD"],
    "scan": ["scan", "arch"],
    "review": ["review", SERIES, "--tree", "."],
    "backfill": BACKFILL,
    "models": ["models"],
    "help": ["--help"],
}
MIB = 1 << 20


class Done(NamedTuple):
    code: int
    out: str
    err: str


class World:
    """A kernel tree with a bad commit on top, and a folder for what a command writes."""

    def __init__(self, folder: Path) -> None:
        self.linux = make_repository(folder / "linux", small_tree())
        commit(self.linux, {"arch/powerpc/kernel/put_it.c": BAD}, "Put it")
        self.folder = folder
        self.path = os.environ["PATH"]

    def run(
        self,
        arguments: Sequence[str],
        limits: Sequence[tuple[int, int]] = (),
        shell: str = 'exec "$@"',
        **variables: str,
    ) -> Done:
        """Run reviewbot as a shell would, with resource limits."""
        words = [str(self.folder / word) if word in ("STATE", "OUT") else word for word in arguments]
        home = str(self.folder)
        environment = {
            "PATH": self.path,
            "HOME": home,
            "XDG_CACHE_HOME": f"{home}/cache",
            "XDG_STATE_HOME": f"{home}/s",
        }
        # a limit on the size of files must not leave half of a compiled module behind
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(sys.path), **variables}

        def limit() -> None:
            for what, value in limits:
                resource.setrlimit(what, (value, value))

        command = ["sh", "-c", shell, "sh", sys.executable, "-m", "reviewbot", *words]
        done = subprocess.run(
            command, cwd=self.linux, env=environment, capture_output=True, check=False, preexec_fn=limit,
            stdin=subprocess.DEVNULL, timeout=120,
        )  # fmt: skip
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def left_behind(self) -> list[str]:
        """Files that are neither the tree, nor caches, nor a result file."""
        known = ("linux", "cache", "s", "STATE", "STATE-wal", "STATE-shm", "bin", ".cache")
        return sorted(path.name for path in self.folder.iterdir() if path.name not in known)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def is_told(done: Done) -> None:
    """One sentence on stderr."""
    assert done.err.startswith("reviewbot: ") and done.err.count("\n") == 1, done.err
    assert "Traceback" not in done.err and "bug in reviewbot" not in done.err


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_behind_stdout_is_4(world: World, name: str) -> None:
    done = world.run(COMMANDS[name], shell='exec "$@" >/dev/full')
    assert done.code == 4
    is_told(done)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_closed_stdout_is_4(world: World, name: str) -> None:
    """Nor does another file get its descriptor, and the report inside."""
    done = world.run(COMMANDS[name], shell='exec "$@" >&-')
    assert done.code == 4
    is_told(done)


@pytest.mark.parametrize("name", ["range", "scan", "models"])
def test_closed_stdin_and_stderr_change_nothing(world: World, name: str) -> None:
    plain = world.run(COMMANDS[name])
    assert world.run(COMMANDS[name], shell='exec "$@" <&- 2>&-') == plain._replace(err="")


def test_a_series_from_a_closed_stdin_is_no_series(world: World) -> None:
    done = world.run(["review", "-"], shell='exec "$@" <&-')
    assert done.code == 3
    is_told(done)


@pytest.mark.parametrize(
    "option",
    ["--output OUT", "--write-baseline OUT", "--graph OUT.svg --format json"],
    ids=lambda text: text.split()[0],
)
def test_a_full_disk_leaves_no_half_file(world: World, option: str) -> None:
    """A limit on the size of files is a full disk that needs no administrator."""
    words = [word.replace("OUT", str(world.folder / "report")) for word in option.split()]
    done = world.run(["range", "HEAD", "--no-cache", *words], [(resource.RLIMIT_FSIZE, 10)])
    assert done.code == 4
    is_told(done)
    assert not [path for path in world.folder.glob("*report*") if path.stat().st_size]


def test_a_full_disk_under_the_cache_costs_the_cache_alone(world: World) -> None:
    done = world.run(COMMANDS["range"], [(resource.RLIMIT_FSIZE, 1000)])
    assert done.code == 1 and "traced_call" in done.out
    assert "cannot be used" in done.err


@pytest.mark.parametrize("size", [0, 20_000, 60_000])
def test_a_full_disk_under_an_archives_results_is_4_and_the_next_run_goes_on(world: World, size: int) -> None:
    done = world.run(BACKFILL, [(resource.RLIMIT_FSIZE, size)])
    assert done.code == 4
    is_told(done)
    again = world.run(BACKFILL)
    assert again.code == 0 and "Patch mails without an outcome: 0" in again.out


@pytest.mark.parametrize("name", ["range", "scan", "review", "backfill"])
@pytest.mark.parametrize("most", [6, 10, 16, 24])
def test_few_file_handles_are_told_or_do(world: World, name: str, most: int) -> None:
    plain = world.run(COMMANDS[name])
    done = world.run(COMMANDS[name], [(resource.RLIMIT_NOFILE, most)])
    if done.code in (0, 1):
        assert done.out == plain.out
    else:
        assert done.code in (3, 4)
        assert "Traceback" not in done.err and "bug in reviewbot" not in done.err
        assert done.err.startswith("reviewbot: ")


@pytest.mark.parametrize("words", [["hook"], ["hook", "-v"], ["range", "HEAD"], ["scan"]], ids=" ".join)
def test_a_start_in_a_folder_that_is_gone_is_told(world: World, words: list[str]) -> None:
    done = world.run(words, shell='mkdir gone && cd gone && rmdir ../gone && exec "$@"')
    assert done.code == 3
    is_told(done)
    assert "no longer there" in done.err


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("most", [15, 16, 17, 18, 20, 24])
def test_a_file_for_which_no_handle_was_left_is_there_the_next_time(world: World, most: int, jobs: str) -> None:
    """What is kept in the cache is about files, and not about how many could be open."""
    words = ["scan", "--jobs", jobs, "--quiet"]
    plain = world.run([*words, "--no-cache"])
    done = world.run(words, [(resource.RLIMIT_NOFILE, most)])
    words_shown = " ".join(done.out.split())  # the report wraps its lines
    assert done.out == plain.out or done.code == 3 or "too many files are open at once" in words_shown
    assert "Traceback" not in done.err and "bug in reviewbot" not in done.err
    assert world.run(words) == plain


@pytest.mark.parametrize("name", ["range", "scan", "review", "backfill"])
@pytest.mark.parametrize("most_mib", [45, 70, 100])
def test_little_memory_is_told_or_does(world: World, name: str, most_mib: int) -> None:
    """What a library says of an import that gets no memory is the one thing that cannot be told from a fault."""
    done = world.run(COMMANDS[name], [(resource.RLIMIT_AS, most_mib * MIB)])
    assert "Traceback" not in done.err
    assert done.code in (0, 1, 3) or (done.code == 70 and "ImportError" in done.err), done.err


@pytest.mark.parametrize("signal", ["TERM", "HUP", "INT"])
@pytest.mark.parametrize(("name", "at"), [("range", "diff-tree"), ("scan", "grep"), ("review", "grep")])
def test_a_signal_in_the_middle_ends_it_with_its_code(world: World, name: str, at: str, signal: str) -> None:
    """A git that sends the signal to who has asked it, so that it always comes in the middle of the work."""
    (world.folder / "bin").mkdir()
    fake = world.folder / "bin" / "git"
    fake.write_text(
        f'#!/bin/sh\nfor word; do [ "$word" = {at} ] && kill -{signal} $PPID && exec sleep 60; done\nexec {GIT} "$@"\n'
    )
    fake.chmod(0o755)
    world.path = f"{fake.parent}:{world.path}"
    done = world.run([*COMMANDS[name], *([] if name == "backfill" else ["--output", "OUT"])])
    assert done.code == {"TERM": 143, "HUP": 129, "INT": 130}[signal]
    is_told(done)
    assert world.left_behind() == []


def test_what_was_ignored_stays_ignored(world: World) -> None:
    """As under nohup."""
    done = world.run(COMMANDS["range"], shell='trap "" HUP; ("$@"); kill -HUP $$; exit 7')
    assert done.code == 7 and "traced_call" in done.out


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "x.sqlite", "archive")


def test_a_damaged_result_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.sqlite").write_bytes(b"this is no database" * 500)
    with pytest.raises(InputError, match="no result file"):
        Store(tmp_path / "x.sqlite", "archive")


def test_a_result_file_that_is_locked_is_told(store: Store) -> None:
    other = sqlite3.connect(store.path)
    other.execute("BEGIN EXCLUSIVE")
    store._database.execute("PRAGMA busy_timeout = 1")
    with pytest.raises(DeliveryError, match="locked"):
        store.set_start(5)
    other.close()
    store.close()


def test_lines_go_to_a_device_as_they_are_and_to_a_file_whole(store: Store, tmp_path: Path) -> None:
    write_lines(store, Path("/dev/null"))
    write_lines(store, tmp_path / "x.jsonl")
    with pytest.raises(DeliveryError, match="cannot be written"):
        write_lines(store, tmp_path / "missing" / "x.jsonl")
    assert {path.suffix for path in tmp_path.iterdir()} >= {".sqlite", ".jsonl"}
    assert not list(tmp_path.glob(".*"))
    store.close()
