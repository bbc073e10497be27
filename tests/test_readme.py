"""README.md cannot drift: its commands exist, its output is real, its tables are complete."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from reviewbot.config import Layer
from reviewbot.findings.waivers import read_waivers
from reviewbot.frontends import settings
from reviewbot.frontends.cli import cli
from reviewbot.frontends.exits import Exit
from reviewbot.report.formats import FORMATS
from reviewbot.report.json import schema
from tests.expectations import FIXTURES, small_tree
from tests.repositories import ENVIRONMENT, commit, git, make_repository
from tests.test_scan import MENDABLE

SIGNAL = "arch/powerpc/kernel/signal_64.c"
SIGNAL_TEXT = """\
#include <linux/uaccess.h>

int handle_rt_signal64(unsigned int __user *frame)
{
	return put_user(1, frame);
}
"""
PROJECT = Path(__file__).parent.parent
README = (PROJECT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Every `reviewbot …` in a shell block, without what stands before it in a pipe or a chain."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    parts = [part.strip() for line in lines for part in re.split(r"\||&&", line)]
    return [part for part in parts if re.match(r"(\S*/)?reviewbot ", part)]


def test_there_are_commands_to_check() -> None:
    assert len(commands()) > 10


@pytest.mark.parametrize("line", commands())
def test_every_command_shown_is_accepted(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Command, options and arguments are parsed as they stand; files and folders of the reader are made up."""
    monkeypatch.chdir(PROJECT)
    _, name, *arguments = shlex.split(line)
    made_up = [str(tmp_path) if word.startswith("~") else word for word in arguments]
    command = cli.get_command(click.Context(cli), name)
    assert command is not None, f"no command {name}"
    parser = command.make_parser(click.Context(command))
    parser.parse_args(made_up)


def blocks_to_run() -> list[str]:
    """The shell blocks but for those that install: `.ci/run` does that, with the very lines."""
    return [block for block in blocks("sh") if ".venv" not in block]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of somebody who reads on: ~/linux with a branch and a copy to mend, a series, a thread, an archive."""
    home = tmp_path_factory.mktemp("reader")
    linux = make_repository(home / "linux", {**small_tree(), "kernel/word.c": "int word;\n", SIGNAL: SIGNAL_TEXT})
    git(linux, "tag", "v6.1")
    git(linux, "update-ref", "refs/remotes/origin/master", "HEAD")
    commit(linux, {"kernel/word.c": MENDABLE}, "kernel: read a word")
    (linux / "outgoing").mkdir()
    git(linux, "format-patch", "-q", "-o", "outgoing", "origin/master..")
    shutil.copy(FIXTURES / "series" / "signal64-like.mbox", linux / "series.mbox")
    shutil.copy(FIXTURES / "commands" / "benchmark.mbox", linux / "thread.mbox")
    (home / "lists" / "linuxppc-dev").mkdir(parents=True)
    shutil.copy(FIXTURES / "series" / "two-versions.mbox", home / "lists" / "linuxppc-dev" / "2026.mbox")
    (home / "bin").mkdir()
    for name, line in (("reviewbot", f'exec {sys.executable} -m reviewbot "$@"'), ("b4", "cat series.mbox")):
        (home / "bin" / name).write_text(f"#!/bin/sh\n{line}\n")
        (home / "bin" / name).chmod(0o755)
    return home


@pytest.mark.parametrize("block", blocks_to_run(), ids=lambda block: block.split("\n")[0][:40])
def test_every_block_of_commands_runs(block: str, reader: Path) -> None:
    """As it stands, line by line, in the reader's tree. Findings and gaps are answers; anything else is a stumble."""
    environment = {
        **ENVIRONMENT,
        "PATH": f"{reader / 'bin'}:{os.environ['PATH']}",
        "HOME": str(reader),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    for line in block.splitlines():
        done = subprocess.run(
            ["bash", "-c", line], cwd=reader / "linux", env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode in (Exit.CLEAN, Exit.FINDINGS, Exit.NOT_REVIEWED), f"{line}: {done.stderr}"
        assert done.stdout or done.stderr or "-o " in line or not line.startswith("reviewbot"), line
    if "git apply" in block:
        assert "get_user(x, from)" in (reader / "linux" / "kernel" / "word.c").read_text()


def test_the_output_shown_is_the_real_one() -> None:
    """What stands below `<!-- output: review -->` is how the report of the first command begins."""
    shown = README.partition("<!-- output: review -->\n```text\n")[2].partition("```")[0]
    command = [
        sys.executable,
        "-m",
        "reviewbot",
        "review",
        "fixtures/series/signal64-like.mbox",
        "--tree",
        "fixtures/tree",
    ]
    real = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False, encoding="utf-8").stdout
    assert len(shown) > 500
    for piece in shown.split("[…]\n"):
        assert piece.strip("\n") in real


def test_the_table_of_formats_is_complete() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)) >= set(FORMATS)


def test_the_table_of_exit_codes_is_complete() -> None:
    shown = {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    assert shown == {int(code) for code in Exit} - {Exit.BROKEN_PIPE}


def test_the_keys_of_the_json_report_are_described() -> None:
    assert [key for key in schema()["properties"] if f"`{key}`" not in README] == []


@pytest.mark.parametrize("text", blocks("toml"))
def test_every_settings_example_is_accepted(text: str) -> None:
    layer = Layer(origin="README.md", table=tomllib.loads(text))
    for name in layer.table:
        if name != settings.WAIVERS:
            settings.section(name, [layer])
    read_waivers([layer])
