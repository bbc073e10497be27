"""A diff as bytes -> the files it changes, each with its hunks; what cannot be read is a Problem, and the rest is
kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from reviewbot.mail.limits import DEFAULT_LIMITS, Limits
from reviewbot.series.file_header import (
    FileHeader,
    HeaderError,
    is_extended_header,
    read_git_header,
    read_plain_header,
    starts_plain_header,
)
from reviewbot.series.hunks import HUNK_HEADER, HunkError, read_hunks
from reviewbot.series.patch import ChangeKind, FileChange, Hunk, Problem
from reviewbot.series.paths import git_header_names, strip_prefixes, to_text, unquote, why_unsafe
from reviewbot.values import dataclass

_GIT = b"diff --git "
_INDEX = b"Index: "
_COMBINED = (b"diff --cc ", b"diff --combined ")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDiff:
    """The files that could be read, in the order of the diff, and what could not."""

    files: tuple[FileChange, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _Reader:
    lines: Sequence[bytes]
    first_line: int
    limits: Limits
    files: list[FileChange] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def refuse(self, path: str | None, at: int, reason: str) -> None:
        self.problems.append(Problem(path=path, line_in_message=self.first_line + at, reason=reason))


def parse_diff(data: bytes, *, first_line: int = 1, limits: Limits = DEFAULT_LIMITS) -> ParsedDiff:
    """Read a unified diff from git, from a mail or from CVS. Lines end at `\\n` only; text around the files is
    skipped.

    `first_line` is the number of the diff's first line within its message, for places in errors. A file with a
    truncated or damaged hunk, or with a path that leaves the tree, becomes a Problem and is left out whole: half a
    file would be reviewed wrongly.
    """
    reader = _Reader(lines=(), first_line=first_line, limits=limits)
    if len(data) > limits.diff_bytes:
        reader.refuse(None, 0, f"The diff is larger than {limits.told('diff_bytes')}; the rest was not read")
        data = data[: data.rfind(b"\n", 0, limits.diff_bytes) + 1]
    lines = data.split(b"\n")
    reader.lines = lines[:-1] if lines[-1] == b"" else lines
    _read_files(reader)
    return ParsedDiff(files=tuple(reader.files), problems=tuple(reader.problems))


def _read_files(reader: _Reader) -> None:
    lines, at, index = reader.lines, 0, None
    while at < len(lines):
        line = lines[at]
        kind = line[:1]
        if kind not in (b"d", b"-", b"I", b"@", b"B"):
            at += 1
            continue
        if _starts_file(lines, at) and len(reader.files) >= reader.limits.files_per_patch:
            reader.refuse(
                None, at, f"The diff changes more than {reader.limits.told('files_per_patch')}; the rest was not read"
            )
            return
        if line.startswith(_GIT):
            at, index = _read_git_file(reader, at), None
        elif starts_plain_header(lines, at):
            at, index = _read_plain_file(reader, at, index), None
        else:
            index = unquote(line[len(_INDEX) :].rstrip()) if line.startswith(_INDEX) else index
            if kind != b"-":
                _note_unreadable(reader, at)
            at += 1


def _starts_file(lines: Sequence[bytes], at: int) -> bool:
    return lines[at].startswith(_GIT) or starts_plain_header(lines, at)


def _read_git_file(reader: _Reader, at: int) -> int:
    lines, start = reader.lines, at
    try:
        header, at = read_git_header(lines, at)
        hunks: tuple[Hunk, ...] = ()
        if header.is_binary:
            at = _next_file(lines, at, plain_too=False)
        elif at < len(lines) and lines[at].startswith(b"@@ -"):
            hunks, at = read_hunks(lines, at, reader.limits, first_line=reader.first_line)
        if not _keep(reader, start, header, hunks) and not hunks:
            return _next_git_file(lines, at)
    except HeaderError as error:
        reader.refuse(_shown_name(lines[start]), start, f"The diff {error}; the file was left out")
        return _next_git_file(lines, start + 1)
    except HunkError as error:
        path = header.paths()[1] or header.paths()[0] or _shown_name(lines[start])
        reader.refuse(path, error.line, f"{path} {error}; the file was left out")
        return _next_file(lines, max(error.line, start) + 1)
    return at


def _read_plain_file(reader: _Reader, at: int, index: bytes | None) -> int:
    header, hunks_at = read_plain_header(reader.lines, at, index)
    try:
        hunks, end = read_hunks(reader.lines, hunks_at, reader.limits, first_line=reader.first_line)
    except HunkError as error:
        path = header.paths()[1] or header.paths()[0]
        reader.refuse(path, error.line, f"{path} {error}; the file was left out")
        return _next_file(reader.lines, error.line + 1)
    _keep(reader, at, header, hunks)
    return end


def _keep(reader: _Reader, start: int, header: FileHeader, hunks: tuple[Hunk, ...]) -> bool:
    """Add the file, or say why not and return False."""
    old, new = header.paths()
    if not old and not new:
        reader.refuse(
            _shown_name(reader.lines[start]),
            start,
            "The diff does not say clearly which file it changes; it was left out",
        )
        return False
    for path in dict.fromkeys((old, new)):
        if path is not None and (reason := why_unsafe(path, reader.limits.path_bytes)):
            reader.refuse(path[:200], start, f"The path {path[:200]!r} {reason}; the file was left out")
            return False
    kind = header.kind(has_hunks=bool(hunks))
    if kind is ChangeKind.MODIFIED and not hunks:
        reader.refuse(
            new or old, start, f"{new or old} has a header but no change below it (truncated?); the file was left out"
        )
        return False
    if hunks and (why := _contradiction(header, hunks)):
        reader.refuse(new or old, start, f"{new or old} {why}; the file was left out")
        return False
    reader.files.append(
        FileChange(
            kind=kind,
            old_path=old,
            new_path=new,
            old_mode=header.old_mode if old is not None else None,
            new_mode=header.new_mode if new is not None else None,
            old_blob=header.old_blob,
            new_blob=header.new_blob,
            hunks=hunks,
        )
    )
    return True


def _contradiction(header: FileHeader, hunks: tuple[Hunk, ...]) -> str | None:
    if header.old_is_null and header.new_is_null:
        return "is both added and deleted"
    if header.old_is_null and any(hunk.old_count for hunk in hunks):
        return "is a new file, but its hunks change lines that it had before"
    if header.new_is_null and any(hunk.new_count for hunk in hunks):
        return "is deleted, but its hunks leave lines in it"
    return None


def _note_unreadable(reader: _Reader, at: int) -> None:
    """What looks like a part of a diff but belongs to no file that we read."""
    line = reader.lines[at]
    if line.startswith(_COMBINED):
        path = to_text(unquote(line.split(b" ", 2)[2].rstrip()))
        reader.refuse(path, at, f"{path} comes as the combined diff of a merge, which cannot be reviewed")
    elif line.startswith(b"@@ -") and HUNK_HEADER.match(line):
        reader.refuse(None, at, "A hunk stands without the name of its file above it; it was left out")
    elif line.startswith(b"Binary files ") and line.rstrip().endswith(b" differ"):
        _note_plain_binary(reader, at)


def _note_plain_binary(reader: _Reader, at: int) -> None:
    old, and_, new = reader.lines[at].rstrip()[len(b"Binary files ") : -len(b" differ")].partition(b" and ")
    if and_:
        header = FileHeader(
            is_git=False, is_binary=True, old_is_null=old == b"/dev/null", new_is_null=new == b"/dev/null"
        )
        header.old, header.new = strip_prefixes(unquote(old), unquote(new))
        _keep(reader, at, header, ())


def _next_file(lines: Sequence[bytes], at: int, *, plain_too: bool = True) -> int:
    """Where the next file's header begins; a file that could not be read, or binary data, is stepped over."""
    while at < len(lines):
        if lines[at].startswith(_GIT) and at + 1 < len(lines) and is_extended_header(lines[at + 1]):
            return at
        if plain_too and starts_plain_header(lines, at):
            return at
        at += 1
    return at


def _next_git_file(lines: Sequence[bytes], at: int) -> int:
    """Behind a git file that was refused: its own `---` line must not be taken for the beginning of another file."""
    while at < len(lines) and not lines[at].startswith(_GIT):
        if starts_plain_header(lines, at):
            return _next_file(lines, at + 2)
        at += 1
    return at


def _shown_name(line: bytes) -> str:
    names = git_header_names(line[len(_GIT) :]) if line.startswith(_GIT) else None
    if names is None:
        return to_text(line[len(_GIT) :].rstrip())[:200]
    return to_text(strip_prefixes(*names)[1])[:200]
