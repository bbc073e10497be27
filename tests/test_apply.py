"""Hunks go where `git apply` puts them, and back again."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewbot.series.diff import parse_diff
from reviewbot.series.patch import ChangeKind, FileChange
from reviewbot.source import apply
from reviewbot.source.apply import ApplyError, apply_change, apply_hunks, reverse
from tests.changes import make_change, to_lines

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"{\n", b"}\n", b"\n", b"\tx = 1;\n"]), max_size=30)


def to_diff(change: FileChange) -> bytes:
    text = b"diff --git a/f.c b/f.c\n--- a/f.c\n+++ b/f.c\n"
    for hunk in change.hunks:
        text += b"@@ -%d,%d +%d,%d @@\n" % (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count)
        text += b"".join(line + b"\n" for line in hunk.lines)
    return text


def git_apply(before: bytes, change: FileChange) -> bytes | None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "f.c"
        file.write_bytes(before)
        command = ["git", "apply", "-"]
        env = {"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(Path(name).parent), "HOME": name}
        done = subprocess.run(command, cwd=name, input=to_diff(change), capture_output=True, check=False, env=env)
        return file.read_bytes() if done.returncode == 0 else None


def applied_or_none(before: bytes, change: FileChange) -> bytes | None:
    try:
        return apply_change(before, change)
    except ApplyError:
        return None


@given(LINES, LINES, st.integers(1, 3), st.booleans(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_apply_then_reverse_is_identity(
    old: list[bytes], new: list[bytes], context: int, old_open: bool, new_open: bool
) -> None:
    before = b"".join(old).rstrip(b"\n") if old_open else b"".join(old)
    after = b"".join(new).rstrip(b"\n") if new_open else b"".join(new)
    change = make_change(before, after, context=context)
    assert apply_change(before, change) == after
    assert apply_change(after, reverse(change)) == before
    assert reverse(reverse(change)) == change


@given(LINES, LINES, st.lists(st.tuples(st.integers(0, 30), st.sampled_from([b"a\n", b"n\n", b"\n"])), max_size=3))
@settings(max_examples=80, deadline=None)
def test_a_moved_base_gives_what_git_apply_gives(
    old: list[bytes], new: list[bytes], inserted: list[tuple[int, bytes]]
) -> None:
    change = make_change(b"".join(old), b"".join(new))
    if not change.hunks:
        return
    moved = list(old)
    for at, line in inserted:
        moved.insert(at, line)
    before = b"".join(moved)
    assert applied_or_none(before, change) == git_apply(before, change)


NUMBERED = b"".join(b"line %d\n" % number for number in range(1, 41))


def test_an_offset_is_found_and_told() -> None:
    change = make_change(NUMBERED, NUMBERED.replace(b"line 20\n", b"line twenty\n"))
    applied = apply_hunks(b"new\nnew\n" + NUMBERED, change)
    assert applied.content == b"new\nnew\n" + NUMBERED.replace(b"line 20\n", b"line twenty\n")
    assert applied.old_lines == applied.new_lines == (18,)


def test_hunks_out_of_order_know_where_they_went() -> None:
    after = NUMBERED.replace(b"line 5\n", b"line 5\nmore\n").replace(b"line 30\n", b"line thirty\n")
    change = make_change(NUMBERED, after)
    first, second = change.hunks
    swapped = FileChange(kind=change.kind, old_path="f.c", new_path="f.c", hunks=(second, first))
    applied = apply_hunks(NUMBERED, swapped)
    assert applied.content == after
    assert applied.old_lines == (26, 2)
    assert applied.new_lines == (27, 2)


def test_crlf_file_takes_a_patch_whose_cr_the_mail_lost() -> None:
    change = make_change(NUMBERED, NUMBERED.replace(b"line 20\n", b"line twenty\n"))
    before = NUMBERED.replace(b"\n", b"\r\n")
    assert apply_change(before, change) == before.replace(b"line 20\r", b"line twenty\r")


def test_crlf_patch_from_git_applies_exactly() -> None:
    before = NUMBERED.replace(b"\n", b"\r\n")
    after = before.replace(b"line 20\r\n", b"line 20\n")
    assert apply_change(before, make_change(before, after)) == after


def test_whitespace_is_exact() -> None:
    change = make_change(NUMBERED, NUMBERED.replace(b"line 20\n", b"line twenty\n"))
    with pytest.raises(ApplyError, match=r"f\.c, hunk 1: line 18 and what follows"):
        apply_change(NUMBERED.replace(b"line 18", b"line  18"), change)


MODIFY = make_change(NUMBERED, NUMBERED.replace(b"line 20\n", b"line twenty\n"))
ADD = FileChange(kind=ChangeKind.ADDED, old_path=None, new_path="n.c", hunks=make_change(b"", b"one\n").hunks)
DELETE = reverse(ADD)
REFUSED = {
    "no such file": (None, MODIFY, 0, "the tree has no such file"),
    "already applied": (NUMBERED.replace(b"line 20\n", b"line twenty\n"), MODIFY, 0, "already has this change"),
    "already added": (b"one\n", ADD, 0, "already has this file"),
    "added over another": (b"two\n", ADD, 0, "already has one of that name"),
    "deleted file differs": (b"one\ntwo\n", DELETE, 1, "start or end of the file"),
    "short file": (b"".join(to_lines(NUMBERED)[:18]), MODIFY, 1, "the patch expects more"),
    "binary": (b"x", FileChange(kind=ChangeKind.BINARY, old_path="f.c", new_path="f.c"), 0, "binary"),
}


@pytest.mark.parametrize(("before", "change", "hunk", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_a_refusal_names_file_hunk_and_reason(before: bytes | None, change: FileChange, hunk: int, reason: str) -> None:
    with pytest.raises(ApplyError, match=reason) as caught:
        apply_change(before, change)
    assert caught.value.hunk == hunk
    assert caught.value.path == change.path
    assert caught.value.is_applied_already == ("already has this" in reason)


def test_add_and_delete() -> None:
    assert apply_change(None, ADD) == b"one\n"
    assert apply_change(b"one\n", DELETE) is None


def test_a_hunk_may_not_change_what_another_hunk_made() -> None:
    change = make_change(b"a\n" * 8, b"a\n" * 4 + b"b\n" + b"a\n" * 4)
    twice = FileChange(kind=change.kind, old_path="f.c", new_path="f.c", hunks=change.hunks * 2)
    before = b"a\n" * 8
    assert applied_or_none(before, twice) == git_apply(before, twice)


def test_a_hunk_far_beyond_its_file_is_looked_for_in_the_file_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stated line costs nothing: only lines that are there are looked at, nearest first."""
    monkeypatch.setattr(apply, "_SEARCHED_LINES", 60)
    lines = b"".join(b"line %d\n" % number for number in range(50))
    hunk = b"@@ -900000000,3 +900000000,3 @@\n line 7\n-line 8\n+new\n line 9\n"
    (change,) = parse_diff(b"diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n" + hunk).files
    assert apply_change(lines, change) == lines.replace(b"line 8\n", b"new\n")
