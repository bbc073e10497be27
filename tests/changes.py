"""File changes as `git diff` would give them, made from two texts."""

from __future__ import annotations

import difflib

from reviewbot.series.patch import ChangeKind, FileChange, Hunk


def to_lines(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


def make_change(before: bytes, after: bytes, *, context: int = 3, path: str = "f.c") -> FileChange:
    old, new = to_lines(before), to_lines(after)
    hunks = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(context):
        lines: list[bytes] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [b" " + line.rstrip(b"\n") for line in old[i1:i2]]
            else:
                lines += [b"-" + line.rstrip(b"\n") for line in old[i1:i2]]
                lines += [b"+" + line.rstrip(b"\n") for line in new[j1:j2]]
        i1, i2, j1, j2 = group[0][1], group[-1][2], group[0][3], group[-1][4]
        hunks.append(
            Hunk(
                old_start=i1 + (i2 > i1),
                old_count=i2 - i1,
                new_start=j1 + (j2 > j1),
                new_count=j2 - j1,
                lines=tuple(lines),
                no_newline_old=i2 == len(old) and bool(old) and not old[-1].endswith(b"\n"),
                no_newline_new=j2 == len(new) and bool(new) and not new[-1].endswith(b"\n"),
            )
        )
    return FileChange(kind=ChangeKind.MODIFIED, old_path=path, new_path=path, hunks=tuple(hunks))
