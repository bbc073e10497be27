"""The plain git hook that `reviewbot hook --install` writes, for those who do not use pre-commit."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from reviewbot.errors import UsageError
from reviewbot.git.user import git_directory, hooks_directory, toplevel

_MARK = "# written by reviewbot hook --install"
_KEPT = ".before-reviewbot"


def install(directory: Path, name: str, *, force: bool) -> str:
    """Write the hook `name` (pre-commit, pre-push) where git looks for it. What was there runs first, and must pass.

    Gives a sentence for people. Raises UsageError when the folder serves other repositories too and `force` is not set.
    """
    folder = hooks_directory(directory)
    if not force and not _is_own(folder, directory):
        raise UsageError(f"core.hooksPath is {folder}, which other repositories may share; --force installs there.")
    path = folder / name
    kept = path.with_name(name + _KEPT)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if (path.exists() or path.is_symlink()) and not _is_ours(path):
            if kept.exists():
                raise UsageError(f"{path} is another hook, and {kept} is in the way of keeping it.")
            path.rename(kept)
        path.write_text(_script(name), encoding="utf-8")
        path.chmod(0o755)
    except OSError as error:
        raise UsageError(f"{path}: the hook cannot be written: {error.strerror}.") from error
    return f"{path} is in place" + (f"; the hook that was there runs first, as {kept.name}." if kept.exists() else ".")


def uninstall(directory: Path, name: str, *, force: bool) -> str:
    """Take our hook away and put back what was there before. Raises UsageError when the hook is not ours."""
    path = hooks_directory(directory) / name
    kept = path.with_name(name + _KEPT)
    if not _is_ours(path):
        raise UsageError(f"{path} is not a hook of reviewbot.")
    try:
        path.unlink()
        if kept.exists():
            kept.rename(path)
    except OSError as error:
        raise UsageError(f"{path}: the hook cannot be removed: {error.strerror}.") from error
    return f"{path} is removed" + (", and the former hook is back." if path.exists() else ".")


def _script(name: str) -> str:
    """The hook. `-P` keeps Python from importing what lies in the reviewed tree."""
    program = f"{shlex.quote(sys.executable)} -P -m reviewbot hook"
    head = f'#!/bin/sh\n{_MARK}\nformer="$0{_KEPT}"\n'
    return head + (_PRE_PUSH if name == "pre-push" else _PRE_COMMIT).replace("PROGRAM", program)


_PRE_COMMIT = """\
if [ -x "$former" ]; then
    "$former" "$@" || exit $?
fi
exec PROGRAM
"""
# git tells a pre-push hook on stdin what is pushed; both hooks must read it.
_PRE_PUSH = """\
refs=$(cat)
[ -n "$refs" ] || exit 0
if [ -x "$former" ]; then
    printf '%s\\n' "$refs" | "$former" "$@" || exit $?
fi
printf '%s\\n' "$refs" | PROGRAM --push
"""


def _is_ours(path: Path) -> bool:
    return path.is_file() and _MARK.encode() in path.read_bytes()


def _is_own(folder: Path, directory: Path) -> bool:
    """Whether the hooks folder lies in this repository or its work tree."""
    homes = [git_directory(directory), toplevel(directory)]
    return any(home is not None and folder.is_relative_to(home.resolve()) for home in homes)
