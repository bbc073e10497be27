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
    """A shell script that hands git's arguments and stdin to the former hook and to reviewbot."""
    program = f"{shlex.quote(sys.executable)} -m reviewbot hook{' --push' if name == 'pre-push' else ''}"
    return f"""#!/bin/sh
{_MARK}
former="$(dirname "$0")/{name}{_KEPT}"
input=""
{"input=$(cat)" if name == "pre-push" else ":"}
if [ -x "$former" ]; then
    printf '%s\\n' "$input" | "$former" "$@" || exit $?
fi
[ -n "$input" ] && {{ printf '%s\\n' "$input" | {program}; exit $?; }}
{"exit 0" if name == "pre-push" else f"exec {program}"}
"""


def _is_ours(path: Path) -> bool:
    return path.is_file() and _MARK.encode() in path.read_bytes()


def _is_own(folder: Path, directory: Path) -> bool:
    """Whether the hooks folder lies in this repository or its work tree."""
    homes = [git_directory(directory), toplevel(directory)]
    return any(home is not None and folder.is_relative_to(home.resolve()) for home in homes)
