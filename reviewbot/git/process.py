"""How git is started for a repository that nobody vouches for: nothing it configures runs, nothing in it is written.

No porcelain is called (`git log` would run gpg, `git status` would write the index), contents come from `git cat-file`
and never from a checkout, and every call carries the overrides below. git is started directly and not through
GitPython, whose import alone costs more than a whole quiet run of the commit hook.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from reviewbot.errors import GitError
from reviewbot.patterns import regex

MAX_OUTPUT_BYTES = 256 << 20
TIMEOUT_S = 600.0
OPENING_TIMEOUT_S = 30.0
_PIECE_BYTES = 1 << 16
_MAX_LINE_BYTES = 1 << 16

_OVERRIDES = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.pager": "cat",
    "core.quotePath": "true",
    "diff.external": "",
    "core.bigFileThreshold": "64m",  # above it git streams a blob, and does not hold it whole
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
# How a diff is to be printed, but for its context.
DIFF_OPTIONS = (
    *("--full-index", "-M", "-l1000", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=none", "--submodule=short"),
)
# What a hook inherits from the git that called it; `git commit PATH` for one puts the staged files into another index.
_HOOK_VARIABLES = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
)
_UNREAD = regex(rb"[^\n]{0,300}: unable to read [0-9a-f]{40,64}")
_FILTER = regex(r"filter\..*\.(clean|smudge|process|required)", re.DOTALL)


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
        self,
        *arguments: str,
        stdin: bytes = b"",
        accept: Collection[int] = (0,),
        timeout_s: float | None = None,
        ends: bytes = b"",
    ) -> bytes:
        """Run git once and give its output, which `ends` with that where it is not empty. Raises GitError for another
        exit code, half an output, one of more than MAX_OUTPUT_BYTES (a few small trees can name billions of files), or
        more than `timeout_s` seconds (None: ten minutes)."""
        process = self.start(*arguments, stderr=subprocess.PIPE)
        limit_s = TIMEOUT_S if timeout_s is None else timeout_s
        try:
            output, complaint = _exchange(process, stdin, limit_s)
        except TimeoutError:
            raise self._failed(arguments, f"took longer than {limit_s:g} s") from None
        finally:
            end(process)
        if len(output) > MAX_OUTPUT_BYTES:
            raise self._failed(arguments, f"gives more than {MAX_OUTPUT_BYTES >> 20} MiB")
        if process.returncode not in accept:
            first = decode(complaint).strip().partition("\n")[0].removeprefix("fatal: ")
            raise self._failed(arguments, f"failed: {first or how_it_ended(process.returncode)}")
        if lost := _UNREAD.search(complaint):  # git grep goes on without the file, and ends as if all were well
            raise self._failed(arguments, f"cannot read all objects: {decode(lost[0])}")
        is_missing = not output and process.returncode == 0 and len(accept) > 1  # it has another code for "nothing"
        is_cut = output and not output.endswith(ends)
        is_noise = ends == b"\0" and (b"\0\0" in output or output.startswith(b"\0"))  # no path is empty
        if is_missing or is_cut or is_noise:
            raise self._failed(arguments, "gives half an answer")
        return output

    def diff(self, *arguments: str, limit_bytes: int = MAX_OUTPUT_BYTES) -> bytes:
        """Run git once and give the diff that it prints; above `limit_bytes` it raises GitError and does not fill the
        memory."""
        process = self.start(*arguments)
        assert process.stdin
        process.stdin.close()
        try:
            output = Answers(process, TIMEOUT_S).rest(limit_bytes + 1)
            if len(output) > limit_bytes:
                raise self._failed(arguments, f"gives more than {limit_bytes >> 20} MiB")
            code = process.wait(TIMEOUT_S)
        except (TimeoutError, subprocess.TimeoutExpired):
            raise self._failed(arguments, f"took longer than {TIMEOUT_S:g} s") from None
        finally:
            end(process)
        if code:
            raise self._failed(arguments, f"failed: {how_it_ended(code)}")
        if output and not output.startswith(b"diff --"):
            raise self._failed(arguments, "gives no diff")
        return output

    def _failed(self, arguments: Sequence[str], what: str) -> GitError:
        command = next(word for word in arguments if not word.startswith("-"))
        return GitError(f"git {command} in {self.directory} {what}")

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
        try:
            listed = subprocess.run(
                command, cwd="/", env=user, capture_output=True, check=False, timeout=OPENING_TIMEOUT_S
            ).stdout
        except (OSError, subprocess.TimeoutExpired):
            return False
        parents = [str(path) for path in (self.directory, *self.directory.parents)]
        for value in decode(listed).splitlines():
            if value == "*" or any(fnmatchcase(parent, value) for parent in parents):
                self._overrides["safe.directory"] = value
                return True
        return False


class Answers:
    """What a process writes to its pipe. Raises EOFError where that ends too early, and TimeoutError where it is silent
    for `silence_s` seconds."""

    def __init__(self, process: subprocess.Popen[bytes], silence_s: float) -> None:
        assert process.stdout
        self._descriptor = process.stdout.fileno()
        self._silence_s = silence_s
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)
        self._read = b""

    def line(self) -> bytes:
        """Up to a line end, without it."""
        while b"\n" not in self._read:
            if len(self._read) > _MAX_LINE_BYTES:
                raise EOFError
            self._read += self._more(_PIECE_BYTES)
        found, _, self._read = self._read.partition(b"\n")
        return found

    def take(self, size_bytes: int) -> bytes:
        """Exactly so many bytes."""
        found = self._up_to(size_bytes)
        if len(found) < size_bytes:
            raise EOFError
        return found

    def skip(self, size_bytes: int) -> None:
        """Pass over so many bytes, whatever their number."""
        while size_bytes:
            size_bytes -= len(self.take(min(size_bytes, 1 << 20)))

    def rest(self, most_bytes: int) -> bytes:
        """Everything to the end, but no more than so many bytes."""
        return self._up_to(most_bytes)

    def _up_to(self, size_bytes: int) -> bytes:
        pieces = [self._read[:size_bytes]]
        self._read = self._read[size_bytes:]
        missing = size_bytes - len(pieces[0])
        with suppress(EOFError):
            while missing:
                pieces.append(self._more(min(missing, _PIECE_BYTES)))
                missing -= len(pieces[-1])
        return b"".join(pieces)

    def _more(self, most_bytes: int) -> bytes:
        if not self._poll.poll(self._silence_s * 1000):
            raise TimeoutError
        if piece := os.read(self._descriptor, most_bytes):
            return piece
        raise EOFError


def _exchange(process: subprocess.Popen[bytes], stdin: bytes, limit_s: float) -> tuple[bytes, bytes]:
    """What the process writes to both its pipes once it has read `stdin`: a byte more than MAX_OUTPUT_BYTES at most,
    and the beginning of what it complains of. Raises TimeoutError."""
    assert process.stdin and process.stdout and process.stderr
    deadline = time.monotonic() + limit_s
    pieces: dict[int, list[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    output, left, size_bytes = process.stdout.fileno(), memoryview(stdin), 0
    poll = select.poll()
    for descriptor in pieces:
        poll.register(descriptor, select.POLLIN)
    if stdin:
        os.set_blocking(process.stdin.fileno(), False)
        poll.register(process.stdin.fileno(), select.POLLOUT)
    else:
        process.stdin.close()
    open_pipes = set(pieces)
    while open_pipes and size_bytes <= MAX_OUTPUT_BYTES:
        wait_s = deadline - time.monotonic()
        ready = poll.poll(wait_s * 1000) if wait_s > 0 else []
        if not ready:
            raise TimeoutError
        for descriptor, _ in ready:
            if descriptor not in pieces:
                with suppress(BrokenPipeError):  # it has ended, or wants no more
                    left = left[os.write(descriptor, left[:_PIECE_BYTES]) :]
                    if left:
                        continue
                poll.unregister(descriptor)
                process.stdin.close()
            elif piece := os.read(descriptor, _PIECE_BYTES):
                if descriptor == output or not pieces[descriptor]:
                    pieces[descriptor].append(piece)
                size_bytes += len(piece) if descriptor == output else 0
            else:
                poll.unregister(descriptor)
                open_pipes.discard(descriptor)
    if not open_pipes:
        try:
            process.wait(max(deadline - time.monotonic(), 0.01))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
    told, complaint = pieces.values()
    return b"".join(told), b"".join(complaint)


def end(process: subprocess.Popen[bytes]) -> None:
    """Make sure that it has ended. What it may have started, and what holds its pipes, is not waited for."""
    if process.poll() is None:
        process.kill()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            with suppress(OSError):
                stream.close()
    process.wait()


def how_it_ended(code: int) -> str:
    """An exit code of subprocess, for people."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def decode(name: bytes) -> str:
    """Bytes of git (paths, messages of errors) as text, losslessly."""
    return name.decode("utf-8", "surrogateescape")
