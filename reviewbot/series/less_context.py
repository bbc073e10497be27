"""A diff that shows whole files, as git would have shown it with three lines around each change.

The hook looks at whole files first; asking git again for less would mean reading the index again, which takes git as
long as everything else that it does for the hook.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reviewbot.series.hunks import HUNK_HEADER, NO_NEWLINE

CONTEXT_LINES = 3


def with_less_context(diff: bytes) -> bytes | None:
    """The same as `git diff -U3`, but for the names of functions behind `@@`. None for what git does not write."""
    lines = diff.split(b"\n")
    made: list[bytes] = []
    at = 0
    while at < len(lines):
        header = HUNK_HEADER.match(lines[at]) if lines[at].startswith(b"@@ -") else None
        if header is None:
            made.append(lines[at])
            at += 1
            continue
        old_count, new_count = (1 if header[group] is None else int(header[group]) for group in (2, 4))
        hunk, at = _lines_of(lines, at + 1, old_count, new_count)
        if hunk is None:
            return None
        made += _smaller(hunk, int(header[1]) or 1, int(header[3]) or 1)
    return b"\n".join(made)


def _lines_of(lines: Sequence[bytes], at: int, old: int, new: int) -> tuple[list[bytes] | None, int]:
    """The lines of a hunk, each with the remark that it ends without a line end, and the line behind the hunk."""
    found: list[bytes] = []
    while at < len(lines) and (old > 0 or new > 0 or lines[at].startswith(NO_NEWLINE)):
        line = lines[at]
        kind = line[:1]
        if kind == b"\\" and found:
            found[-1] += b"\n" + line
        elif kind in (b" ", b"+", b"-"):
            found.append(line)
            old -= kind != b"+"
            new -= kind != b"-"
        else:
            return None, at
        at += 1
    return (found if old == new == 0 else None), at


def _smaller(lines: Sequence[bytes], old: int, new: int) -> Iterator[bytes]:
    """The hunks that are left. `old` and `new` are the numbers of the first line on both sides."""
    changed = [at for at, line in enumerate(lines) if line[:1] != b" "]
    begin = 0
    for first, last in _groups(changed):
        start, end = max(first - CONTEXT_LINES, 0), min(last + 1 + CONTEXT_LINES, len(lines))
        old, new = old + start - begin, new + start - begin
        hunk = lines[start:end]
        old_count = sum(line[:1] != b"+" for line in hunk)
        new_count = sum(line[:1] != b"-" for line in hunk)
        yield b"@@ -%s +%s @@" % (_range(old, old_count), _range(new, new_count))
        yield from hunk
        old, new, begin = old + old_count, new + new_count, end


def _groups(changed: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and the last of changed lines that stand so near that their contexts touch."""
    first = last = None
    for at in changed:
        if first is None or last is None:
            first = at
        elif at - last - 1 > 2 * CONTEXT_LINES:
            yield first, last
            first = at
        last = at
    if first is not None and last is not None:
        yield first, last


def _range(start: int, count: int) -> bytes:
    """As git writes it: an empty side begins on the line before, and one line needs no count."""
    return b"%d" % start if count == 1 else b"%d,%d" % (start if count else start - 1, count)
