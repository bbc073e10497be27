"""How git is started for a repository that nobody vouches for: nothing it configures runs, nothing in it is written.

No porcelain is called (`git log` would run gpg, `git status` would write the index), contents come from `git cat-file`
and never from a checkout, and every call carries the overrides below. git is started directly and not through
GitPython, whose import alone costs more than a whole quiet run of the commit hook.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import Path

from reviewbot.errors import GitError

MAX_OUTPUT_BYTES = 256 << 20
TIMEOUT_S = 600.0
OPENING_TIMEOUT_S = 30.0

_OVERRIDES = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.pager": "cat",
    "core.quotePath": "true",
    "diff.external": "",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "grep.patternType": "default",
}
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # unlike protocol.allow it also beats a protocol.ext.allow of the repository
    "LC_ALL": "C",
}
# What a hook inherits from the git that called it; `git commit PATH` for one puts the staged files into another index.
_HOOK_VARIABLES = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
)
_FILTER = re.compile(r"filter\..*\.(clean|smudge|process|required)", re.DOTALL)


class Git:
    """Runs git in one directory, with every guard. `in_hook`: believe the GIT_* variables that git gives its hooks."""

    def __init__(self, directory: Path, *, in_hook: bool = False) -> None:
        self.directory = directory
        inherited = {name: os.environ[name] for name in _HOOK_VARIABLES if in_hook and name in os.environ}
        outer = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "LC_"))}
        self._environment = {**outer, **inherited, **_ENVIRONMENT}
        self._overrides = dict(_OVERRIDES)

    def start(self, *arguments: str, stderr: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start git; the caller feeds, reads and ends it."""
        settings = [word for key, value in self._overrides.items() for word in ("-c", f"{key}={value}")]
        command = ["git", "--no-pager", "--literal-pathspecs", *settings, *arguments]
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(
                command, cwd=self.directory, env=self._environment, stdin=pipe, stdout=pipe, stderr=stderr
            )
        except OSError as error:
            raise GitError(f"git cannot be started in {self.directory}: {error.strerror}") from None

    def run(
        self, *arguments: str, stdin: bytes = b"", accept: Collection[int] = (0,), timeout_s: float = TIMEOUT_S
    ) -> bytes:
        """Run git once and give its output. Raises GitError for another exit code or too long a run."""
        process = self.start(*arguments, stderr=subprocess.PIPE)
        try:
            output, complaint = process.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise GitError(f"git {arguments[0]} in {self.directory} took longer than {timeout_s:.0f} s") from None
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        if process.returncode not in accept:
            first = decode(complaint).strip().partition("\n")[0].removeprefix("fatal: ")
            reason = first or f"exit code {process.returncode}"
            raise GitError(f"git {arguments[0]} in {self.directory} failed: {reason}")
        return output

    def run_bounded(self, *arguments: str, limit_bytes: int = MAX_OUTPUT_BYTES) -> bytes:
        """Run git once and give its output; above `limit_bytes` it raises GitError and does not fill the memory."""
        process = self.start(*arguments)
        assert process.stdin and process.stdout
        process.stdin.close()
        try:
            output = process.stdout.read(limit_bytes + 1)
        finally:
            process.stdout.close()
            code = process.wait()
        if len(output) > limit_bytes:
            raise GitError(f"git {arguments[0]} in {self.directory} gives more than {limit_bytes >> 20} MiB")
        if code:
            raise GitError(f"git {arguments[0]} in {self.directory} failed with exit code {code}")
        return output

    def disarm_filters(self) -> None:
        """`git diff-files` may ask a clean filter about a file whose time is too close to the index's; none may run."""
        for name in decode(self.run("config", "--list", "--name-only", "-z", timeout_s=OPENING_TIMEOUT_S)).split("\0"):
            if found := _FILTER.fullmatch(name):
                if "=" in name or "\n" in name:
                    raise GitError(f"{self.directory} configures a filter that cannot be switched off: {name!r}")
                self._overrides[name] = "false" if found[1] == "required" else ""

    def trust_as_the_user_does(self) -> bool:
        """Take over the user's own `safe.directory`, which the overrides hide; whether one fits this directory."""
        user = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        command = ["git", "config", "--get-all", "safe.directory"]
        listed = subprocess.run(command, cwd="/", env=user, capture_output=True, check=False).stdout
        parents = [str(path) for path in (self.directory, *self.directory.parents)]
        for value in decode(listed).splitlines():
            if value == "*" or any(fnmatchcase(parent, value) for parent in parents):
                self._overrides["safe.directory"] = value
                return True
        return False


def decode(name: bytes) -> str:
    """Bytes of git (paths, messages of errors) as text, losslessly."""
    return name.decode("utf-8", "surrogateescape")
