"""series/less_context.py: what is left of whole files is what git shows with three lines around each change."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from reviewbot.series.less_context import with_less_context
from tests.repositories import git, make_repository, write

SECTION = re.compile(rb"^(@@ -[\d,]+ \+[\d,]+ @@).*$", re.MULTILINE)


def diff(tree: Path, context: int) -> bytes:
    command = ["git", "diff-index", "--cached", "-p", "-M", "--full-index", f"-U{context}", "HEAD", "--"]
    return subprocess.run(command, cwd=tree, capture_output=True, check=True).stdout


def assert_same(tree: Path) -> None:
    expected = SECTION.sub(rb"\1", diff(tree, 3))
    assert expected.count(b"@@") >= 2
    assert with_less_context(diff(tree, 1_000_000)) == expected
    assert with_less_context(diff(tree, 3)) == expected
    assert with_less_context(diff(tree, 10)) == expected


def edited(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(lines) + 1)
        lines[at : at + chance.randrange(3)] = [chance.choice("abc\t \r\\+-@") * 2] * chance.randrange(3)
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(8))
def test_it_is_what_git_says_of_any_edits(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    before = {
        f"fs/{number}.c": "".join(
            chance.choice(("a\n", "b\n", "\n", "@@ -1 +1 @@\n", "\\ x\n", "c\f\r\n")) for _ in range(number)
        )
        for number in range(1, 40)
    }
    tree = make_repository(tmp_path / "linux", before)
    write(tree, {path: edited(text, chance) for path, text in before.items()})
    git(tree, "add", "-A")
    assert_same(tree)


def test_files_come_go_move_and_change_their_mode(tmp_path: Path) -> None:
    long = "".join(f"line {number}\n" for number in range(60))
    names = ("gone.c", "moved.c", "moved and changed.c", "mode.c", "both.c", "emptied.c")
    tree = make_repository(
        tmp_path / "linux", {**{name: f"{name}\n{long}" for name in names}, "empty.c": "", "one.c": "1\n"}
    )
    git(tree, "rm", "-q", "gone.c")
    git(tree, "mv", "moved.c", "moved2.c")
    git(tree, "mv", "moved and changed.c", "fs-ä.c")
    edit = long.replace("line 20\n", "line 20\nnew\n").replace("line 40\n", "")
    write(
        tree, {"fs-ä.c": f"moved and changed.c\n{edit}", "both.c": f"both.c\n{edit}", "emptied.c": "", "empty.c": "x\n"}
    )
    write(tree, {"one.c": "2", "new.c": "int a;\nint b;", "new empty.c": ""})
    (tree / "binary.c").write_bytes(b"\0\1\2")
    (tree / "mode.c").chmod(0o755)
    (tree / "both.c").chmod(0o755)
    (tree / "link.c").symlink_to("one.c")
    git(tree, "add", "-A")
    assert_same(tree)


def test_nothing_staged_is_nothing() -> None:
    assert with_less_context(b"") == b""


@pytest.mark.parametrize(
    "hunk",
    [
        b"@@ -1,3 +1,3 @@\n a\n-b\n+c\n",
        b"@@ -1,2 +1,2 @@\n a\nb\n",
        b"@@ -1 +1 @@\n-a\n-b\n",
        b"@@ -1 +1 @@\n\\ No newline at end of file\n",
    ],
    ids=["cut off", "no prefix", "too many lines of one side", "a remark on nothing"],
)
def test_what_git_does_not_write_is_left_to_the_reader(hunk: bytes) -> None:
    assert with_less_context(b"diff --git a/x.c b/x.c\n--- a/x.c\n+++ b/x.c\n" + hunk) is None
