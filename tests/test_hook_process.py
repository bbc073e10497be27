"""`reviewbot hook` as the process that git starts: it ends without taking anything apart, and loses nothing by that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.expectations import small_tree
from tests.repositories import git, make_repository, write

BAD = """\
#include <linux/uaccess.h>

int fill(int __user *to)
{
	if (!user_write_access_begin(to, 4))
		return -EFAULT;
	printk("in a block\\n");
	user_write_access_end();
	return 0;
}
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    root = make_repository(tmp_path / "linux", small_tree())
    write(root, {"drivers/demo/fill.c": BAD})
    git(root, "add", "-A")
    return root


def run(kernel: Path, *arguments: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "reviewbot", "hook", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    return subprocess.run(command, cwd=kernel, env=environment, stdout=stdout, stderr=subprocess.PIPE, check=False)


def test_the_whole_report_is_there_first_and_again(kernel: Path) -> None:
    """Without options no parser runs and the process ends at once; with one it is an ordinary command."""
    expected = run(kernel, "--format", "terminal", "--no-cache")
    assert expected.returncode == 1 and b"traced_call" in expected.stdout and expected.stderr == b""
    for _ in range(3):
        done = run(kernel)
        assert (done.returncode, done.stdout, done.stderr) == (1, expected.stdout, b"")


def test_the_cache_is_closed_in_order(kernel: Path, tmp_path: Path) -> None:
    run(kernel)
    names = {path.name.split("-")[0] for path in (tmp_path / "home" / "reviewbot").iterdir()}
    assert names == {"facts", "hook", "rules"}
    assert not list((tmp_path / "home" / "reviewbot").glob("*-wal"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
def test_a_report_that_cannot_be_written_is_said(kernel: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        done = run(kernel, stdout=full)
    finally:
        os.close(full)
    assert done.returncode == 4 and b"cannot be written" in done.stderr


def test_outside_of_a_repository_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    done = run(tmp_path)
    assert done.returncode == 3 and done.stderr.count(b"\n") == 1 and done.stdout == b""


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are looked up in /proc")
def test_nothing_that_it_started_goes_on(kernel: Path) -> None:
    """All of its children are in its process group, which is empty afterwards."""
    command = [sys.executable, "-m", "reviewbot", "hook"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    with subprocess.Popen(command, cwd=kernel, env=environment, stdout=subprocess.DEVNULL, process_group=0) as started:
        assert started.wait() == 1
    with pytest.raises(ProcessLookupError):
        os.killpg(started.pid, 0)
