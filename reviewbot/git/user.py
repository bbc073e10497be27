"""What git says to its own user: settings from every file, and where hooks lie. For a developer's commands only.

Nothing here runs what a repository configures: `git config --get` and `git rev-parse` only read.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from reviewbot.errors import GitError
from reviewbot.git.process import OPENING_TIMEOUT_S


def user_settings(directory: Path, section: str, names: Sequence[str]) -> dict[str, str]:
    """The values of those of the settings `section.name` that git finds in `directory` or in the user's own files, by
    name; of several values the last, as git does. Names are letters alone, in lower case."""
    pattern = rf"^{section}\.({'|'.join(names)})$"
    rows = (_ask(directory, "config", "-z", "--get-regexp", pattern) or "").split("\0")
    found = (row.partition("\n") for row in rows)
    return {key.rpartition(".")[2]: value for key, _, value in found if value}


def own_setting(name: str) -> str | None:
    """The value of a setting in the user's own files, whatever the repository says; None when it is not set."""
    return _ask(Path(), "config", "--global", "--get", name) or _ask(Path(), "config", "--system", "--get", name)


def toplevel(directory: Path) -> Path | None:
    """The top of the work tree around `directory`, or None where there is none."""
    found = _ask(directory, "rev-parse", "--show-toplevel")
    return Path(found) if found else None


def git_directory(directory: Path) -> Path | None:
    """The repository that all work trees of `directory` share, or None where there is none."""
    found = _ask(directory, "rev-parse", "--git-common-dir")
    return (directory / found).resolve() if found else None


def hooks_directory(directory: Path) -> Path:
    """Where git looks for hooks: core.hooksPath, or the hooks folder of the repository. Raises GitError."""
    found = _ask(directory, "rev-parse", "--git-path", "hooks")
    if found is None:
        raise GitError(f"{directory} is not in a git repository; give another one with -C DIR.")
    return (directory / os.path.expanduser(found)).resolve()  # noqa: PTH111 - joined afterwards


def _ask(directory: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=directory, capture_output=True, check=False, timeout=OPENING_TIMEOUT_S
        )
    except OSError as error:
        raise GitError(f"git cannot be started in {directory}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise GitError(f"git {arguments[0]} in {directory} took longer than {OPENING_TIMEOUT_S:g} s") from None
    return os.fsdecode(done.stdout).removesuffix("\n") if done.returncode == 0 else None
