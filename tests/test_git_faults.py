"""A git that fails half way: every command that is asked of it dies, is killed, stops in the middle, talks nonsense or
goes silent. The answer is one sentence, or a review that says what it lacks; never a clean one, and never a crash."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from reviewbot.errors import GitError
from reviewbot.findings.review import Base, Review
from reviewbot.git import Repository, objects, process, repository, user
from reviewbot.mail.mailbox import read_mail_bytes
from reviewbot.pipeline import ReviewOptions, review_on_tree, review_range, review_staged
from reviewbot.report import phrases
from reviewbot.rulebook.book import Rulebook, load_rulebook
from reviewbot.scanning import ScanOptions, scan, tree_of
from reviewbot.series.from_mail import choose_series, find_series
from tests.expectations import FIXTURES, small_tree
from tests.repositories import commit, git, make_repository, write

REAL = shutil.which("git")
COMMANDS: tuple[str, ...] = ("rev-parse", "config", "cat-file", "ls-tree", "ls-files", "grep")
COMMANDS += ("diff-tree", "diff-index", "diff-files", "rev-list", "for-each-ref")
BAD = """\
#include <linux/kernel.h>
#include <linux/uaccess.h>

int put_it(unsigned int __user *to, unsigned int value)
{
	if (!user_write_access_begin(to, sizeof(*to)))
		return -EFAULT;
	unsafe_put_user(flush_it(value), to, fault);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

int flush_it(int value)
{
	return value;
}
"""

FAULTS = {
    "dies": "echo 'fatal: the disk is on fire' >&2; exit 128",
    "is killed": "kill -9 $$",
    "stops half way and says so": f'{REAL} "$@" | head -c 20; exit 141',
    "stops half way": f'{REAL} "$@" </dev/null | head -c 20',
    "talks nonsense": "head -c 3000 /bin/sh",
}


@cache
def book() -> Rulebook:
    return load_rulebook()


@pytest.fixture(scope="module")
def linux(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with a bad commit on top, and another bad file staged."""
    root = make_repository(tmp_path_factory.mktemp("linux"), small_tree())
    commit(root, {"arch/powerpc/kernel/put_it.c": BAD}, "Put it")
    write(root, {"arch/powerpc/kernel/put_2.c": BAD.replace("put_it", "put_2")})
    git(root, "add", "-A")
    return root


def of_series(root: Path) -> Review:
    raw = (FIXTURES / "series" / "signal64-like.mbox").read_bytes()
    series = choose_series(find_series(read_mail_bytes(raw, "series").messages))
    return review_on_tree(series, Repository.open(root), ReviewOptions(), book())


def of_tree(root: Path, rev: str | None) -> Review:
    tree, _ = tree_of(Repository.open(root), rev)
    options = ScanOptions(review=ReviewOptions(show_all=True), paths=("arch",), jobs=1)
    return scan(tree, options, book(), Base(rev="", how="test"), None)


ACTS: dict[str, tuple[Callable[[Path], Review], str]] = {
    "range": (
        lambda root: review_range(Repository.open(root), "HEAD", ReviewOptions(), book()),
        "rev-parse config cat-file diff-tree ls-tree",
    ),
    "staged": (
        lambda root: review_staged(Repository.open(root), ReviewOptions(), book()),
        "rev-parse config cat-file diff-index ls-tree",
    ),
    "scan of files": (lambda root: of_tree(root, None), "rev-parse config ls-files grep"),
    "scan of a commit": (lambda root: of_tree(root, "HEAD"), "rev-parse config cat-file ls-tree grep"),
    "series": (of_series, "rev-parse config cat-file for-each-ref rev-list grep"),
}
CASES = [(act, command) for act, (_, commands) in ACTS.items() for command in commands.split()]


def wait_at_most(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    for module, name in (
        (process, "TIMEOUT_S"),
        (process, "OPENING_TIMEOUT_S"),
        (repository, "OPENING_TIMEOUT_S"),
        (user, "OPENING_TIMEOUT_S"),
        (repository, "HISTORY_TIMEOUT_S"),
        (objects, "ANSWER_TIMEOUT_S"),
    ):
        monkeypatch.setattr(module, name, seconds)


def put_first(monkeypatch: pytest.MonkeyPatch, folder: Path, command: str, fault: str) -> None:
    """A git on PATH that does `fault` for one command, and what git does for the others."""
    folder.mkdir()
    others = "|".join(each for each in COMMANDS if each != command)
    script = f'for word; do case "$word" in {command}) {fault}; exit;; {others}) break;; esac; done\nexec {REAL} "$@"\n'
    (folder / "git").write_text(f"#!/bin/sh\n{script}")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def outcome(act: str, root: Path) -> str:
    """The sentence of an error, or what the review says of itself."""
    try:
        return phrases.verdict(ACTS[act][0](root))
    except GitError as error:
        assert "\n" not in str(error)
        return f"error: {error}"


@pytest.mark.parametrize("act", ACTS)
def test_without_a_fault_it_is_found(act: str, linux: Path) -> None:
    """Else the tests below would hold for nothing."""
    assert "finding" in outcome(act, linux)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("act", "command"), CASES)
def test_a_git_that_fails_is_told(
    act: str, command: str, fault: str, linux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error with git in it, or the findings that are there: what git cannot tell, such as the history of an old
    file, may be done without."""
    wait_at_most(monkeypatch, 3.0)
    put_first(monkeypatch, tmp_path / "bin", command, FAULTS[fault])
    said = outcome(act, linux)
    is_told = said.startswith("error: ") or "the patch could not be read" in said
    assert is_told or said == outcome_of(act, linux, monkeypatch), said


def outcome_of(act: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is said with the real git."""
    with monkeypatch.context() as real:
        real.setenv("PATH", str(Path(str(REAL)).parent), prepend=":")
        return outcome(act, root)


@pytest.mark.parametrize(("act", "command"), CASES)
def test_a_git_that_goes_silent_is_not_waited_for(
    act: str, command: str, linux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silent at once, with a child that holds its pipes."""
    wait_at_most(monkeypatch, 0.4)
    put_first(monkeypatch, tmp_path / "bin", command, "sleep 15 & wait")
    began = time.monotonic()
    said = outcome(act, linux)
    assert time.monotonic() - began < 10, "the child of git was waited for"
    is_told = "took longer than" in said or "does not answer" in said or "the patch could not be read" in said
    assert is_told or command == "rev-list", said


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", ["diff-files", "ls-files", "diff-index"])
def test_what_differs_is_not_guessed(
    command: str, fault: str, linux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of changed files that breaks off would make old facts look new."""
    write(linux, {"arch/powerpc/kernel/put_it.c": BAD + "\n"})
    put_first(monkeypatch, tmp_path / "bin", command, FAULTS[fault])
    opened = Repository.open(linux)
    head = opened.resolve("HEAD")
    with pytest.raises(GitError):
        opened.paths_unlike_commit(head) if command == "diff-index" else opened.paths_unlike_index()
