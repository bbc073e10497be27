"""What people see at a terminal: the pager, colour and progress; and that none of it is anywhere else."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.expectations import FIXTURES

SERIES = [str(FIXTURES / "series" / "signal64-like.mbox"), "--tree", str(FIXTURES / "tree")]
SLOW = """\
import sys, time
from reviewbot.findings import follow as follow_module
from reviewbot.frontends import progress
progress.DELAY_S = 0.0
plain = follow_module.find_scope
def slow(*arguments):
    time.sleep(0.3)
    return plain(*arguments)
follow_module.find_scope = slow
from reviewbot.frontends.guard import main
sys.exit(main())
"""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a terminal got, and what the program ended with."""

    text: str
    code: int
    stdout: str = ""


def at_terminal(
    arguments: Sequence[str],
    home: Path,
    environment: Mapping[str, str] | None = None,
    *,
    rows: int = 24,
    columns: int = 80,
    piped: bool = False,
    answer: tuple[bytes, bytes] = (b"", b""),
    program: Sequence[str] = ("-m", "reviewbot"),
) -> Seen:
    """Run reviewbot at a terminal of its own; `piped`: its stdout is a file, and only stderr is the terminal; `answer`:
    where it shows the first, the second is typed."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (rows, columns))
    plain = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm-256color", "PYTHONUTF8": "1"}
    out = home / "stdout"
    with out.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, *program, *arguments],
            stdin=theirs, stdout=file if piped else theirs, stderr=theirs, start_new_session=True,
            env={**plain, **(environment or {}), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
        os.close(theirs)
        raw = _read(ours, *answer)
    os.close(ours)
    return Seen(text=raw.decode("utf-8", "replace"), code=process.wait(60), stdout=out.read_text("utf-8"))


def _read(terminal: int, shown: bytes, typed: bytes) -> bytes:
    """All that comes until the program has let go of the terminal."""
    raw = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux says so when the last one closes the other end
            break
        if not part:
            break
        raw += part
        if typed and shown in raw:
            os.write(terminal, typed)
            typed = b""
    return raw


def pager(home: Path, name: str, body: str = 'echo "[$0]"; cat') -> str:
    """A program that pages: it says its name, and hands on what it gets."""
    path = home / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("order", "chosen"),
    [
        pytest.param(("REVIEWBOT_PAGER", "GIT_PAGER", "core.pager", "PAGER"), "REVIEWBOT_PAGER", id="ours"),
        pytest.param(("GIT_PAGER", "core.pager", "PAGER"), "GIT_PAGER", id="git-variable"),
        pytest.param(("core.pager", "PAGER"), "core.pager", id="git-setting"),
        pytest.param(("PAGER",), "PAGER", id="everybody's"),
    ],
)
def test_the_pager_is_chosen_as_git_does(order: Sequence[str], chosen: str, tmp_path: Path) -> None:
    pagers = {name: pager(tmp_path, f"page-{name}") for name in order}
    if "core.pager" in pagers:
        (tmp_path / ".gitconfig").write_text(f"[core]\n\tpager = {pagers.pop('core.pager')}\n")
    seen = at_terminal(["review", *SERIES], tmp_path, pagers)
    assert re.findall(r"\[\S*/page-(\S+)\]", seen.text) == [chosen]
    assert seen.code == 1 and "3 findings (3 warnings)" in seen.text


def test_the_pager_of_a_repository_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "strange"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    subprocess.run(["git", "-C", str(repository), "config", "core.pager", pager(tmp_path, "evil")], check=True)
    monkeypatch.chdir(repository)
    seen = at_terminal(["review", *SERIES], tmp_path, {"PAGER": pager(tmp_path, "own")})
    assert "[" + str(tmp_path / "own") + "]" in seen.text and "evil" not in seen.text


@pytest.mark.parametrize(
    ("environment", "rows"),
    [
        pytest.param({"PAGER": "PAGER"}, 500, id="all-fits"),
        pytest.param({"PAGER": "cat"}, 24, id="cat"),
        pytest.param({"PAGER": ""}, 24, id="empty"),
        pytest.param({"PAGER": "PAGER", "GIT_PAGER": ""}, 24, id="none-for-git"),
        pytest.param({"PAGER": "PAGER", "TERM": "dumb"}, 24, id="dumb"),
    ],
)
def test_no_pager_where_none_is_wanted(environment: Mapping[str, str], rows: int, tmp_path: Path) -> None:
    own = pager(tmp_path, "pager")
    given = {name: own if value == "PAGER" else value for name, value in environment.items()}
    seen = at_terminal(["review", *SERIES], tmp_path, given, rows=rows)
    assert own not in seen.text
    assert seen.code == 1 and "3 findings (3 warnings)" in seen.text


@pytest.mark.parametrize("arguments", [["--format", "json"], ["-o", "report"]], ids=["for-programs", "file"])
def test_no_pager_for_what_is_not_read_at_the_terminal(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = pager(tmp_path, "pager")
    seen = at_terminal(["review", *SERIES, *arguments], tmp_path, {"PAGER": own})
    assert own not in seen.text and seen.code == 1


def test_no_pager_in_a_pipe(tmp_path: Path) -> None:
    own = pager(tmp_path, "pager")
    seen = at_terminal(["review", *SERIES], tmp_path, {"PAGER": own}, piped=True)
    assert own not in seen.stdout and "\x1b" not in seen.stdout and seen.code == 1


def test_a_pager_that_leaves_early_changes_no_exit_code(tmp_path: Path) -> None:
    seen = at_terminal(["review", *SERIES], tmp_path, {"PAGER": pager(tmp_path, "head", "head -n 1; exit 3")})
    assert "open user access once per frame" in seen.text and "Traceback" not in seen.text
    assert seen.code == 1


@pytest.mark.parametrize("name", ["no-such-pager", "/", "no-such-pager --with options | cat >&2; exit 127"])
def test_a_pager_that_cannot_be_run_loses_no_report(name: str, tmp_path: Path) -> None:
    seen = at_terminal(["review", *SERIES], tmp_path, {"PAGER": name})
    assert "3 findings (3 warnings)" in seen.text and seen.code == 1


@pytest.mark.skipif(shutil.which("less") is None, reason="without less")
def test_less_shows_colour_and_leaves_the_screen_as_it_was(tmp_path: Path) -> None:
    """It gets git's own -FRX; one page is seen, and the reader leaves."""
    seen = at_terminal(["review", *SERIES], tmp_path, {"PAGER": "less"}, answer=(b":\x1b[K", b"q"))
    assert "\x1b[1mpowerpc/frame64" in seen.text and "ESC[" not in seen.text and "\x1b[?1049h" not in seen.text
    assert seen.code == 1 and "3 findings (3 warnings)" not in seen.text


def test_no_line_is_wider_than_the_terminal(tmp_path: Path) -> None:
    seen = at_terminal(["review", *SERIES, "--no-color", "--quiet"], tmp_path, {"PAGER": "cat"}, columns=60)
    assert max(map(len, seen.text.splitlines())) in (59, 60)


@pytest.mark.parametrize("command", ["review", "range", "scan"])
def test_long_work_tells_how_far_it_is_and_leaves_no_trace(command: str, tmp_path: Path) -> None:
    arguments = ["review", *SERIES] if command == "review" else [command, "-C", str(_repository(tmp_path))]
    seen = at_terminal(arguments, tmp_path, piped=True, program=("-c", SLOW))
    said = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.text)
    assert ("inspecting files" if command == "scan" else "reviewing patches") in said
    assert "\x1b" not in seen.stdout and "patches " not in seen.stdout.partition("\n")[0]
    assert seen.code in (0, 1) and _left_on(seen.text) == ""


WATCHER = """\
from reviewbot.frontends.progress import progress
with progress(quiet=False, forks=True) as tell:
    tell.start("reviewing [bold]a series[/bold]")
    tell.tick()
"""


def test_a_watcher_shows_what_it_waits_for_and_wipes_it(tmp_path: Path) -> None:
    seen = at_terminal([], tmp_path, piped=True, program=("-c", WATCHER))
    assert "reviewing [bold]a series[/bold]" in seen.text and seen.text.endswith("\x1b[2K")
    assert seen.text.rindex("\x1b[?25h") > seen.text.rindex("\x1b[?25l")


def _repository(home: Path) -> Path:
    from tests.repositories import commit, make_repository
    from tests.test_pipeline import FILL, FILL_TEXT, FRAME, FRAME_TEXT

    tree = make_repository(home / "linux", {FRAME: FRAME_TEXT, FILL: FILL_TEXT})
    commit(tree, {FILL: FILL_TEXT.replace("notrace ", "")}, "Drop it")
    commit(tree, {FILL: FILL_TEXT}, "Bring it back")
    subprocess.run(["git", "-C", str(tree), "branch", "-q", "up", "HEAD~2"], check=True)
    subprocess.run(["git", "-C", str(tree), "branch", "-q", "--set-upstream-to=up"], check=True)
    return tree


def _left_on(text: str) -> str:
    """What stands on the screen after all: a program that draws one line over and over, and wipes it."""
    screen = [""]
    for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
        if part == "\n":
            screen.append("")
        elif part == "\x1b[2K":
            screen[-1] = ""
        elif part == "\x1b[1A" and len(screen) > 1:
            screen.pop()
        elif not part.startswith("\x1b") and part != "\r":
            screen[-1] = part
    return "".join(screen).strip()


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {}], ids=["dumb", "quiet"])
def test_no_progress_where_none_is_wanted(environment: Mapping[str, str], tmp_path: Path) -> None:
    arguments = ["review", *SERIES, *(() if environment else ("--quiet",))]
    seen = at_terminal(arguments, tmp_path, environment, piped=True, program=("-c", SLOW))
    assert seen.text == "" and seen.code == 1


def test_progress_never_goes_into_a_pipe(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SLOW, "review", *SERIES],
        env={**os.environ, "HOME": str(tmp_path), "TERM": "xterm"},
        capture_output=True, check=False,
    )  # fmt: skip
    assert (done.stderr, done.returncode) == (b"", 1)
