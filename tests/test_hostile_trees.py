"""Repositories and folders that were made to break a reviewer: what is too large is said, and costs no memory."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reviewbot.errors import GitError
from reviewbot.git import Repository, process
from tests.repositories import make_repository


def make_object(repository: Path, *question: str, content: bytes) -> str:
    """The id of an object that git makes of the content."""
    command = ["git", "-C", str(repository), *question]
    return subprocess.run(command, input=content, capture_output=True, check=True).stdout.decode().strip()


def nested_trees(repository: Path, levels: int) -> str:
    """A tree of ten files below ten names below ten names …: 10 to the power of `levels` paths in `levels` objects."""
    blob = make_object(repository, "hash-object", "-w", "--stdin", content=b"int x;\n")
    kind = f"100644 blob {blob}"
    tree = ""
    for _ in range(levels):
        rows = "".join(f"{kind}\tname{at}.c\n" for at in range(10))
        tree = make_object(repository, "mktree", content=rows.encode())
        kind = f"040000 tree {tree}"
    return tree


def test_a_tree_of_billions_of_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dozen objects can name more files than any memory holds: what git prints is read up to the limit only."""
    monkeypatch.setattr(process, "MAX_OUTPUT_BYTES", 1 << 20)
    root = make_repository(tmp_path / "linux", {"a.c": "int x;\n"})
    tree = nested_trees(root, 9)
    repository = Repository.open(root)
    for ask in (repository.paths, repository.tree_rows):
        with pytest.raises(GitError, match="gives more than 1 MiB"):
            ask(tree)


def test_words_that_stand_a_million_times_in_a_file_of_a_long_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git prints the path beside every hit: a small file can make it print a thousand times its size."""
    monkeypatch.setattr(process, "MAX_OUTPUT_BYTES", 1 << 20)
    path = f"fs/{'a' * 200}/{'b' * 200}.c"
    repository = Repository.open(make_repository(tmp_path / "linux", {path: "word " * 10_000}))
    for rev in (None, "HEAD"):
        with pytest.raises(GitError, match="gives more than 1 MiB"):
            repository.grep(["word"], [".c"], rev)


def test_git_is_fed_and_read_at_the_same_time(tmp_path: Path) -> None:
    """A question that is larger than a pipe, with an answer that is larger than a pipe, does not stop either side."""
    root = make_repository(tmp_path / "linux", {"a.c": "int x;\n"})
    blob = make_object(root, "hash-object", "-w", "--stdin", content=b"int x;\n")
    git = process.Git(root)
    asked = f"{blob}\n".encode() * 50_000
    assert git.run("cat-file", "--batch-check", stdin=asked, ends=b"\n").count(b"\n") == 50_000
    assert git.run("rev-parse", "HEAD", stdin=asked, ends=b"\n")  # does not read it at all
