"""Small git repositories for the tests, made with the plain git commands that a developer would use."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Ann Author",
    "GIT_AUTHOR_EMAIL": "Ann@Example.org",
    "GIT_COMMITTER_NAME": "Ann Author",
    "GIT_COMMITTER_EMAIL": "Ann@Example.org",
    "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
}


def git(directory: Path, *arguments: str, stdin: bytes | None = None) -> str:
    """Run git and give what it prints; the test fails if git does."""
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=directory, env=ENVIRONMENT, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr.decode()}"
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def make_repository(directory: Path, files: Mapping[str, str | bytes] | None = None) -> Path:
    """A repository with one commit of `files`, or none without files."""
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "-q", "-b", "main")
    if files is not None:
        commit(directory, files, "First")
    return directory


def write(directory: Path, files: Mapping[str, str | bytes | None]) -> None:
    """Write files (None: delete) below `directory`."""
    for path, content in files.items():
        file = directory / path
        if content is None:
            file.unlink()
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)


def commit(directory: Path, files: Mapping[str, str | bytes | None], message: str) -> str:
    """Commit `files` on top of what is there and give the commit's id."""
    write(directory, files)
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "--allow-empty", "-m", message)
    return git(directory, "rev-parse", "HEAD")
