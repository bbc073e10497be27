"""Diffs from git, from mails and from CVS; and diffs that must be refused."""

# ruff: noqa: E501 - tables of inputs are read line by line

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewbot.mail.limits import Limits
from reviewbot.series.diff import parse_diff
from reviewbot.series.patch import ChangeKind, FileChange

HUNK = b"@@ -1,3 +1,3 @@ int f(void)\n one\n-two\n+TWO\n three\n"


def git_diff(name: bytes = b"fs/a.c", hunk: bytes = HUNK) -> bytes:
    return (
        b"diff --git a/%b b/%b\nindex 1111111..2222222 100644\n--- a/%b\n+++ b/%b\n" % (name, name, name, name) + hunk
    )


def only(data: bytes) -> FileChange:
    parsed = parse_diff(data)
    assert not parsed.problems
    (file,) = parsed.files
    return file


def reasons(data: bytes, limits: Limits | None = None) -> list[str]:
    parsed = parse_diff(data, limits=limits) if limits else parse_diff(data)
    return [problem.reason for problem in parsed.problems]


def test_a_plain_git_diff_is_read_whole() -> None:
    file = only(git_diff())
    assert (file.kind, file.old_path, file.new_path) == (ChangeKind.MODIFIED, "fs/a.c", "fs/a.c")
    assert (file.old_blob, file.new_blob, file.new_mode) == ("1111111", "2222222", "100644")
    (hunk,) = file.hunks
    assert (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count) == (1, 3, 1, 3)
    assert hunk.lines == (b" one", b"-two", b"+TWO", b" three")
    assert (hunk.section, hunk.line_in_message) == (b"int f(void)", 5)


def test_lines_are_counted_from_where_the_diff_begins_in_its_message() -> None:
    (file,) = parse_diff(git_diff(), first_line=20).files
    assert file.hunks[0].line_in_message == 24


KINDS = [
    ("new file", b"new file mode 100644\nindex 0000000..1111111\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n",
     ChangeKind.ADDED, None, "x"),
    ("new empty file", b"new file mode 100755\nindex 0000000..e69de29\n", ChangeKind.ADDED, None, "x"),
    ("deleted file", b"deleted file mode 100644\nindex 1111111..0000000\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
     ChangeKind.DELETED, "x", None),
    ("deleted empty file", b"deleted file mode 100644\nindex e69de29..0000000\n", ChangeKind.DELETED, "x", None),
    ("mode", b"old mode 100644\nnew mode 100755\n", ChangeKind.MODE, "x", "x"),
    ("binary", b"index 1111111..2222222 100644\nBinary files a/x and b/x differ\n", ChangeKind.BINARY, "x", "x"),
    ("binary data", b"index 1111111..2222222 100644\nGIT binary patch\nliteral 3\nKcmZ?wb\n\nliteral 0\nHcmV?d0\n\n",
     ChangeKind.BINARY, "x", "x"),
    ("submodule", b"index 1111111..2222222 160000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n",
     ChangeKind.SUBMODULE, "x", "x"),
    ("symlink", b"new file mode 120000\nindex 0000000..1111111\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+to\n\\ No newline at end of file\n",
     ChangeKind.ADDED, None, "x"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "kind", "old", "new"), [case[1:] for case in KINDS], ids=[case[0] for case in KINDS])
def test_every_kind_of_change_has_its_name(body: bytes, kind: ChangeKind, old: str | None, new: str | None) -> None:
    parsed = parse_diff(b"diff --git a/x b/x\n" + body + git_diff(b"fs/after.c"))
    assert not parsed.problems
    assert (parsed.files[0].kind, parsed.files[0].old_path, parsed.files[0].new_path) == (kind, old, new)
    assert parsed.files[1].path == "fs/after.c"


@pytest.mark.parametrize(("word", "kind"), [(b"rename", ChangeKind.RENAMED), (b"copy", ChangeKind.COPIED)])
@pytest.mark.parametrize("hunk", [b"", b"index 1111111..2222222 100644\n--- a/old.c\n+++ b/dir/new.c\n" + HUNK])
def test_renames_and_copies_know_both_names(word: bytes, kind: ChangeKind, hunk: bytes) -> None:
    head = b"diff --git a/old.c b/dir/new.c\nsimilarity index 90%%\n%b from old.c\n%b to dir/new.c\n" % (word, word)
    file = only(head + hunk)
    assert (file.kind, file.old_path, file.new_path) == (kind, "old.c", "dir/new.c")


NAMES = [
    ("blank", b"diff --git a/a file.c b/a file.c\n--- a/a file.c\t\n+++ b/a file.c\t\n", "a file.c"),
    ("name with b", b"diff --git a/x b/y.c b/x b/y.c\n--- a/x b/y.c\t\n+++ b/x b/y.c\t\n", "x b/y.c"),
    ("quoted", b'diff --git "a/\\303\\245.c" "b/\\303\\245.c"\n--- "a/\\303\\245.c"\n+++ "b/\\303\\245.c"\n', "å.c"),
    ("quoted bad utf-8", b'diff --git "a/\\377.c" "b/\\377.c"\n--- "a/\\377.c"\n+++ "b/\\377.c"\n', "\udcff.c"),
    ("quoted tab", b'diff --git "a/\\t.c" "b/\\t.c"\n--- "a/\\t.c"\n+++ "b/\\t.c"\n', "\t.c"),
    ("raw utf-8", "diff --git a/å.c b/å.c\n--- a/å.c\n+++ b/å.c\n".encode(), "å.c"),
    ("no prefix", b"diff --git fs/x.c fs/x.c\n--- fs/x.c\n+++ fs/x.c\n", "fs/x.c"),
    ("mnemonic prefix", b"diff --git i/fs/x.c w/fs/x.c\n--- i/fs/x.c\n+++ w/fs/x.c\n", "fs/x.c"),
    ("not git", b"--- a/fs/x.c\t2020-10-15 10:00:00.000000000 +0200\n+++ b/fs/x.c\t2020-10-15 10:00:01.000000000 +0200\n", "fs/x.c"),
    ("two trees", b"diff -urN linux.orig/fs/x.c linux/fs/x.c\n--- linux.orig/fs/x.c\n+++ linux/fs/x.c\n", "fs/x.c"),
    ("backup file", b"--- fs/x.c.orig\n+++ fs/x.c\n", "fs/x.c"),
    ("cvs", b"Index: fs/x.c\n=======\nRCS file: /cvs/fs/x.c,v\ndiff -u -r1.1 x.c\n--- fs/x.c\t15 Oct 2020 -0000\t1.1\n+++ fs/x.c\t16 Oct 2020 -0000\n", "fs/x.c"),
    ("double slash", b"diff --git a/fs//x.c b/fs//x.c\n--- a/fs//x.c\n+++ b/fs//x.c\n", "fs/x.c"),
]  # fmt: skip


@pytest.mark.parametrize(("head", "path"), [case[1:] for case in NAMES], ids=[case[0] for case in NAMES])
def test_names_are_found_as_they_are_in_the_tree(head: bytes, path: str) -> None:
    file = only(head + HUNK)
    assert (file.old_path, file.new_path) == (path, path)


def test_a_crlf_diff_has_paths_without_cr_and_lines_with_it() -> None:
    file = only(git_diff().replace(b"\n", b"\r\n"))
    assert file.path == "fs/a.c"
    assert file.hunks[0].lines == (b" one\r", b"-two\r", b"+TWO\r", b" three\r")
    assert file.hunks[0].section == b"int f(void)"


def test_lines_split_at_newline_only() -> None:
    hunk = b"@@ -1,2 +1,2 @@\n a\x0cb\x0b\x1c\x85\n-c\rd\n+c\xe2\x80\xa8d\n"
    assert only(git_diff(hunk=hunk)).hunks[0].lines == (b" a\x0cb\x0b\x1c\x85", b"-c\rd", b"+c\xe2\x80\xa8d")


def test_a_blank_context_line_that_lost_its_blank_is_context() -> None:
    assert only(git_diff(hunk=b"@@ -1,3 +1,4 @@\n a\n\n+b\n c\n")).hunks[0].lines == (b" a", b" ", b"+b", b" c")


@pytest.mark.parametrize(
    ("lines", "old", "new"),
    [
        (b"-a\n\\ No newline at end of file\n+b\n", True, False),
        (b"-a\n+b\n\\ No newline at end of file\n", False, True),
        (b"-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", True, True),
    ],
)
def test_a_missing_line_end_is_known_for_each_side(lines: bytes, old: bool, new: bool) -> None:
    (hunk,) = only(git_diff(hunk=b"@@ -1 +1 @@\n" + lines)).hunks
    assert (hunk.no_newline_old, hunk.no_newline_new) == (old, new)
    assert hunk.lines == (b"-a", b"+b")


def test_removed_lines_that_look_like_headers_stay_lines() -> None:
    hunk = b"@@ -1,2 +1,2 @@\n--- a/x\n-diff --git a/x b/x\n+++ b/x\n+@@ -1 +1 @@\n@@ -9 +9 @@\n-x\n+y\n"
    assert [len(hunk.lines) for hunk in only(git_diff(hunk=hunk)).hunks] == [4, 2]


@pytest.mark.parametrize(
    "tail", [b"-- \n2.39.2\n", b"\n-- \n2.39\n\n____\nlist mailing list\n", b"--\n2.1\n", b"\nbase-commit: 1234567\n"]
)
def test_what_stands_below_a_diff_is_not_read(tail: bytes) -> None:
    assert only(git_diff() + tail).hunks[0].lines[-1] == b" three"


BROKEN = [
    ("truncated at the end", b"@@ -1,9 +1,9 @@\n one\n-two\n+TWO\n", "ends before"),
    ("truncated by a signature", b"@@ -1,9 +1,9 @@\n one\n-two\n+TWO\n-- \n2.39\n", "ends before"),
    ("wrapped line", b"@@ -1,3 +1,3 @@\n one\n-two that was\nwrapped\n+TWO\n three\n", "ends before"),
    ("counts too few", b"@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n+lost\n", "more lines"),
    ("hunk behind lost context", b"@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n lost\n@@ -9 +9 @@\n-a\n+b\n", "more lines"),
    ("hunk behind an empty line", b"@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n\n@@ -9 +9 @@\n-a\n+b\n", "more lines"),
    ("absurd numbers", b"@@ -99999999999999999999,1 +1 @@\n-a\n+b\n", "absurd"),
    ("absurd count", b"@@ -1,999999999 +1,999999999 @@\n-a\n+b\n", "more than"),
    ("line zero", b"@@ -0,4 +1 @@\n-a\n+b\n", "absurd"),
    ("nothing", b"@@ -1,0 +1,0 @@\n", "absurd"),
    ("not a header", b"@@ -1,2 +1,x @@\n-a\n+b\n", "damaged"),
    ("no hunk", b"", "no change below"),
]  # fmt: skip


@pytest.mark.parametrize(("hunk", "reason"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_broken_hunk_costs_its_file_and_no_other(hunk: bytes, reason: str) -> None:
    parsed = parse_diff(git_diff(b"fs/before.c") + git_diff(b"fs/bad.c", hunk) + git_diff(b"fs/after.c"))
    assert [file.path for file in parsed.files] == ["fs/before.c", "fs/after.c"]
    (problem,) = parsed.problems
    assert problem.path == "fs/bad.c"
    assert reason in problem.reason
    assert problem.line_in_message >= 10


UNSAFE = ["../x.c", "fs/../../x.c", "/etc/passwd", ".git/config", "fs/.GIT/hooks/x", "fs/.git /x", ".g\u200cit/config",
          "GIT~1/config", "fs/./x.c", "C:/x.c", "..\\x.c", ".git::$INDEX_ALLOCATION/x"]  # fmt: skip


@pytest.mark.parametrize("path", UNSAFE)
def test_a_path_that_leaves_the_tree_is_refused(path: str) -> None:
    parsed = parse_diff(git_diff(path.encode()) + git_diff(b"fs/after.c"))
    assert [file.path for file in parsed.files] == ["fs/after.c"]
    assert len(parsed.problems) == 1


@pytest.mark.parametrize("path", [".gitignore", "fs/.gitattributes", "a.git/x", "fs/x..y.c", "scripts/git~10"])
def test_a_path_that_only_looks_dangerous_is_kept(path: str) -> None:
    assert only(git_diff(path.encode())).path == path


@pytest.mark.parametrize(
    "head",
    [
        b"diff --git a/x b/x\nindex 1111111..2222222\n--- a/y\n+++ b/y\n",
        b"diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/z\n",
        b"diff --git a/x b/y z\nindex 1111111..2222222\n",
        b"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n",
    ],
)
def test_names_that_contradict_each_other_are_refused(head: bytes) -> None:
    parsed = parse_diff(head + HUNK)
    assert not parsed.files
    assert parsed.problems


def test_a_merge_and_a_hunk_without_file_are_said() -> None:
    assert (
        "combined diff" in reasons(b"diff --cc fs/x.c\nindex 1,2..3\n--- a/fs/x.c\n+++ b/fs/x.c\n@@@ -1 -1 +1 @@@\n")[0]
    )
    assert "without the name" in reasons(b"@@ -1 +1 @@\n-a\n+b\n")[0]


def test_limits_are_kept_and_said() -> None:
    many = b"".join(git_diff(b"fs/%d.c" % number) for number in range(5))
    parsed = parse_diff(many, limits=Limits(files_per_patch=3))
    assert len(parsed.files) == 3
    assert "more than 3 files" in parsed.problems[0].reason
    assert "larger than" in reasons(many, Limits(diff_bytes=200))[0]
    assert "more than 2 lines" in reasons(git_diff(), Limits(hunk_lines=2))[0]
    assert (
        "more than 1 hunks"
        in reasons(git_diff(hunk=HUNK + HUNK.replace(b"-1,3 +1,3", b"-9,3 +9,3")), Limits(hunks_per_file=1))[0]
    )


def test_one_line_of_megabytes_is_read_in_bounds() -> None:
    line = b"x" * 5_000_000
    assert only(git_diff(hunk=b"@@ -1 +1 @@\n-a\n+" + line + b"\n")).hunks[0].lines[1] == b"+" + line
    assert not parse_diff(line).files


@given(st.binary(max_size=400))
def test_no_bytes_break_it(data: bytes) -> None:
    parse_diff(data)


@given(st.lists(st.sampled_from([*git_diff().split(b"\n"), b"+x", b"-y", b" ", b"", b"\\ No", b"--- /dev/null", b"GIT binary patch",
                                 b"rename from a", b"rename to ../b", b"diff --git a/q b/q", b"Index: q", b"@@ -1,0 +1 @@"]), max_size=25))  # fmt: skip
def test_no_order_of_lines_breaks_it_and_kept_hunks_always_add_up(lines: list[bytes]) -> None:
    for file in parse_diff(b"\n".join(lines)).files:
        assert ".." not in file.path
        for hunk in file.hunks:
            assert sum(line[:1] in (b" ", b"-") for line in hunk.lines) == hunk.old_count
            assert sum(line[:1] in (b" ", b"+") for line in hunk.lines) == hunk.new_count


_LINES = st.lists(
    st.sampled_from([b"int a;", b"", b"\t-x", b"--- a/x", b"+++ b/x", b"@@ -1 +1 @@", b"\xff\r", b"-- "]), max_size=8
)


@settings(max_examples=15, deadline=None)
@given(_LINES, _LINES, st.booleans())
def test_what_git_writes_is_read_without_problem(
    tmp_path_factory: pytest.TempPathFactory, old: list[bytes], new: list[bytes], ends: bool
) -> None:
    folder = tmp_path_factory.mktemp("diff")
    before, after = (b"".join(line + b"\n" for line in lines) for lines in (old, new))
    (folder / "old").write_bytes(before)
    (folder / "new").write_bytes(after if ends else after[:-1])
    command = ["git", "diff", "--no-index", "--text", "old", "new"]
    made = subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout
    parsed = parse_diff(made)
    assert not parsed.problems
    for file in parsed.files:
        assert _apply(before, file) == (folder / "new").read_bytes()


def _apply(before: bytes, file: FileChange) -> bytes:
    lines, result, at = before.split(b"\n"), [], 0
    had_end = lines[-1] == b""
    lines = lines[:-1] if had_end else lines
    for hunk in file.hunks:
        start = hunk.old_start - (1 if hunk.old_count else 0)
        result += lines[at:start]
        at = start + hunk.old_count
        result += [line[1:] for line in hunk.lines if line[:1] != b"-"]
    result += lines[at:]
    last = file.hunks[-1] if file.hunks else None
    ends = had_end if last is None or at < len(lines) else not last.no_newline_new
    return b"\n".join(result) + (b"\n" if ends and result else b"")
