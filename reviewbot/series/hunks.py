"""The hunks of one file: cut here by counting lines, as bytes, and checked by unidiff, which reads text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reviewbot.mail.limits import Limits
from reviewbot.patterns import regex
from reviewbot.series.patch import Hunk
from reviewbot.values import dataclass

HUNK_HEADER = regex(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: ?(.*))?\Z", re.DOTALL)
_MOST_DIGITS = 9
NO_NEWLINE = b"\\ "
_PREFIXES = frozenset({b" ", b"+", b"-"})


class HunkError(Exception):
    """A hunk that cannot be read: `line` is the 0-based line where reading stopped; the text is one clause."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True, slots=True)
class Header:
    """The numbers of one @@ line, and the text behind it."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    section: bytes


def read_hunks(lines: Sequence[bytes], at: int, limits: Limits, *, first_line: int = 1) -> tuple[tuple[Hunk, ...], int]:
    """All hunks that follow each other from line `at` (0-based) on, and the line behind them. `first_line` is the
    number of lines[0] within its message. Raises HunkError."""
    hunks: list[Hunk] = []
    first = at
    while at < len(lines) and lines[at].startswith(b"@@ -"):
        if len(hunks) >= limits.hunks_per_file:
            raise HunkError(at, f"has more than {limits.told('hunks_per_file')}")
        header = _read_header(lines[at], at, limits)
        end = _end_of_hunk(lines, at + 1, header)
        hunks.append(_to_hunk(header, lines[at + 1 : end], first_line + at))
        at = end
    _require_nothing_lost(lines, at)
    _check(lines, first, at)
    return tuple(hunks), at


def _read_header(line: bytes, at: int, limits: Limits) -> Header:
    match = HUNK_HEADER.match(line.rstrip(b"\r"))
    if match is None:
        raise HunkError(at, "has a hunk header that is damaged")
    if any(number and len(number.lstrip(b"0")) > _MOST_DIGITS for number in match.groups()[:4]):
        raise HunkError(at, "has a hunk header with absurd numbers")
    old_start, new_start = int(match[1]), int(match[3])
    old_count = 1 if match[2] is None else int(match[2])
    new_count = 1 if match[4] is None else int(match[4])
    if max(old_count, new_count) > limits.hunk_lines:
        raise HunkError(at, f"has a hunk of more than {limits.told('hunk_lines')}")
    if (old_count and not old_start) or (new_count and not new_start) or not (old_count or new_count):
        raise HunkError(at, "has a hunk header with absurd numbers")
    return Header(old_start, old_count, new_start, new_count, match[5] or b"")


def _end_of_hunk(lines: Sequence[bytes], at: int, header: Header) -> int:
    """The line behind the hunk whose lines begin at `at`. An empty line is a context line that lost its blank."""
    old, new, start = header.old_count, header.new_count, at
    while old > 0 or new > 0:
        kind = lines[at][:1] if at < len(lines) else None
        if kind == b" ":
            old -= 1
            new -= 1
        elif kind == b"+":
            new -= 1
        elif kind == b"-":
            old -= 1
        elif kind in (b"", b"\r"):
            old -= 1
            new -= 1
        elif kind != b"\\":
            raise HunkError(start - 1, "has a hunk that ends before its header says (truncated or damaged)")
        at += 1
    if old < 0 or new < 0:
        raise HunkError(start - 1, "has a hunk with other lines than its header says")
    while at < len(lines) and lines[at].startswith(NO_NEWLINE):
        at += 1
    return at


def _require_nothing_lost(lines: Sequence[bytes], at: int) -> None:
    """Lines of code behind a complete hunk mean that its header counts too few: they would be lost silently."""
    first = at
    while (
        at < len(lines)
        and lines[at][:1] in (b" ", b"+", b"-", b"", b"\r")
        and not lines[at].startswith((b"--", b"+++ "))
    ):
        if lines[at][:1] in (b"+", b"-") and lines[at].rstrip() != b"-":
            raise HunkError(first, "has a hunk with more lines than its header says")
        if lines[at][:1] in (b"", b"\r") and not _is_hunk_line(lines, at + 1):
            return
        at += 1
    if _is_hunk_line(lines, at) and at > first:
        raise HunkError(first, "has a hunk with more lines than its header says")


def _is_hunk_line(lines: Sequence[bytes], at: int) -> bool:
    return at < len(lines) and (lines[at].startswith(b"@@ -") or lines[at][:1] == b" ")


def _check(lines: Sequence[bytes], first: int, end: int) -> None:
    """unidiff, given these hunks alone, must agree that they are whole; latin-1 maps every byte to one character."""
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    text = ["--- a/x\n", "+++ b/x\n", *(b"\n".join(lines[first:end]) + b"\n").decode("latin-1").split("\n")[:-1]]
    try:
        PatchSet(text, metadata_only=True)
    except UnidiffParseError as error:
        raise HunkError(first, f"has a hunk that cannot be read ({str(error)[:80]!r})") from error


def _to_hunk(header: Header, lines: Sequence[bytes], line_in_message: int) -> Hunk:
    body = tuple(lines)
    no_newline_old = no_newline_new = False
    if any(line[:1] not in _PREFIXES for line in lines):
        body, no_newline_old, no_newline_new = _regular_lines(lines)
    return Hunk(
        old_start=header.old_start,
        old_count=header.old_count,
        new_start=header.new_start,
        new_count=header.new_count,
        lines=body,
        section=header.section,
        no_newline_old=no_newline_old,
        no_newline_new=no_newline_new,
        line_in_message=line_in_message,
    )


def _regular_lines(lines: Sequence[bytes]) -> tuple[tuple[bytes, ...], bool, bool]:
    """The lines with a blank put back where it was stripped, and which sides end without a line end."""
    body: list[bytes] = []
    no_newline_old = no_newline_new = False
    for line in lines:
        if line[:1] == b"\\":
            last = body[-1][:1] if body else b" "
            no_newline_old = no_newline_old or last in b" -"
            no_newline_new = no_newline_new or last in b" +"
        else:
            body.append(line if line[:1] in _PREFIXES else b" " + line)
    return tuple(body), no_newline_old, no_newline_new
