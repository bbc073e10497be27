"""Every error becomes one sentence on stderr and its exit code; nobody sees a traceback or a secret."""

from __future__ import annotations

import errno
import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest

from reviewbot import errors
from reviewbot.findings.finding import Gap, Severity, Status
from reviewbot.frontends import cli as cli_module
from reviewbot.frontends import guard
from reviewbot.frontends.exits import Exit, FailOn, exit_code
from tests import reviews


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Runs the guard around a command that raises the given error."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run(error: BaseException, *arguments: str) -> int:
        @click.command(context_settings={"ignore_unknown_options": True})
        @click.argument("rest", nargs=-1)
        def command(rest: tuple[str, ...]) -> None:
            raise error

        monkeypatch.setattr(cli_module, "cli", command)
        monkeypatch.setattr(sys, "argv", ["reviewbot", "x", *arguments])
        return guard.main()

    return run


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(errors.UsageError("Wrong."), 2, id="usage"),
        pytest.param(errors.ConfigError("Wrong."), 2, id="config"),
        pytest.param(errors.RulebookError("Wrong."), 2, id="rulebook"),
        pytest.param(errors.InputError("Wrong."), 3, id="input"),
        pytest.param(errors.GitError("Wrong."), 3, id="git"),
        pytest.param(errors.FetchError("Wrong."), 3, id="fetch"),
        pytest.param(errors.DeliveryError("Wrong."), 4, id="delivery"),
        pytest.param(click.UsageError("Wrong."), 2, id="click"),
        pytest.param(KeyboardInterrupt(), 130, id="interrupt"),
        pytest.param(click.Abort(), 130, id="abort"),
        pytest.param(RuntimeError("x"), 70, id="bug"),
        pytest.param(OSError(errno.ENOSPC, "No space left"), 4, id="full disk"),
        pytest.param(OSError(errno.EMFILE, "Too many open files"), 3, id="file handles"),
        pytest.param(OSError(errno.EAGAIN, "Try again"), 3, id="processes"),
        pytest.param(PermissionError(errno.EACCES, "Permission denied", "/x"), 3, id="no right"),
        pytest.param(PermissionError(errno.EACCES, "Permission denied"), 70, id="no right to what"),
        pytest.param(guard.TerminatedError(15, "SIGTERM"), 143, id="terminated"),
        pytest.param(RecursionError(), 70, id="recursion"),
    ],
)
def test_each_error_has_its_exit_code(failing, capsys, error, code) -> None:  # type: ignore[no-untyped-def]
    assert failing(error) == code
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("reviewbot: ") and output.err.count("\n") == 1
    assert "Traceback" not in output.err


def test_without_memory_there_is_a_sentence(failing, capfd) -> None:  # type: ignore[no-untyped-def]
    """Written to the descriptor, for Python's own stream might want memory."""
    assert failing(MemoryError()) == 3
    assert capfd.readouterr().err == (
        "reviewbot: there is not enough memory for this review; nothing is known of the rest.\n"
    )


def test_a_bug_keeps_its_traceback_in_a_private_file(failing, capsys, tmp_path) -> None:  # type: ignore[no-untyped-def]
    failing(RuntimeError("deep inside"))
    (trace,) = (tmp_path / "state" / "reviewbot").iterdir()
    assert "deep inside" in trace.read_text()
    assert trace.stat().st_mode & 0o077 == 0
    assert str(trace) in capsys.readouterr().err


def test_verbose_shows_the_traceback(failing, capsys) -> None:  # type: ignore[no-untyped-def]
    failing(RuntimeError("deep inside"), "-v")
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("verbose", [(), ("-v",)], ids=["quiet", "verbose"])
def test_a_secret_is_never_printed(failing, capsys, monkeypatch, tmp_path, verbose) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("REVIEWBOT_PATCHWORK_TOKEN", "s3cr3t-value")
    for error in (errors.DeliveryError("refused: s3cr3t-value"), RuntimeError("s3cr3t-value")):
        failing(error, *verbose)
    kept = "".join(path.read_text() for path in tmp_path.rglob("*.txt"))
    assert "s3cr3t-value" not in capsys.readouterr().err + kept


def test_control_characters_do_not_reach_the_terminal(failing, capsys) -> None:  # type: ignore[no-untyped-def]
    failing(errors.InputError("bad file \x1b[2J\u202e.c"))
    assert "bad file <U+001B>[2J<U+202E>.c." in capsys.readouterr().err


FINDING = reviews.finding(severity=Severity.WARNING)
GAP = Gap(path="a.c", line=1, function="", reason="r")


@pytest.mark.parametrize(
    ("change", "fail_on", "code"),
    [
        pytest.param({}, "warning", Exit.CLEAN, id="clean"),
        pytest.param({"findings": (FINDING,)}, "warning", Exit.FINDINGS, id="at-the-threshold"),
        pytest.param({"findings": (FINDING,)}, "error", Exit.CLEAN, id="below-the-threshold"),
        pytest.param({"findings": (FINDING,)}, "never", Exit.CLEAN, id="never"),
        pytest.param({"findings": (FINDING,), "gaps": (GAP,)}, "note", Exit.FINDINGS, id="a-finding-beats-a-gap"),
        pytest.param({"findings": (FINDING,), "gaps": (GAP,)}, "error", Exit.NOT_REVIEWED, id="below-and-a-gap"),
        pytest.param({"gaps": (GAP,)}, "never", Exit.NOT_REVIEWED, id="a-gap"),
        pytest.param({"findings": (replace(FINDING, fixed_by=4),)}, "note", Exit.CLEAN, id="mended-later"),
        pytest.param({"findings": (replace(FINDING, status=Status.FIXED),)}, "note", Exit.CLEAN, id="fixed"),
        pytest.param({"findings": (replace(FINDING, status=Status.EXISTING),)}, "note", Exit.FINDINGS, id="existing"),
        pytest.param({"patches": reviews.patch_results()}, "note", Exit.NOT_REVIEWED, id="a-lost-patch"),
    ],
)
def test_the_exit_code_of_a_review(change: dict[str, object], fail_on: str, code: Exit) -> None:
    assert exit_code(replace(reviews.empty_review(), **change), FailOn(fail_on)) is code  # type: ignore[arg-type]
