"""Trees answer alike, whatever they are made of; states are what git would make of the patches."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewbot.errors import InputError
from reviewbot.git import Repository
from reviewbot.mail.message import Address
from reviewbot.rulebook.primitives import KernelVersion
from reviewbot.series.diff import parse_diff
from reviewbot.series.from_git import series_from_range, series_from_staged
from reviewbot.series.patch import Patch, Series
from reviewbot.source import words
from reviewbot.source.base import choose_base
from reviewbot.source.git_tree import CommitTree, IndexTree, WorkTree
from reviewbot.source.overlay import EmptyTree, OverlayTree
from reviewbot.source.regular_files import RegularFiles
from reviewbot.source.states import PatchState, Touched, build_states
from reviewbot.source.version import kernel_version
from tests.changes import make_change
from tests.repositories import commit, git, make_repository, write
from tests.trees import MemoryTree

FILES = {
    "fs/a.c": "".join(f"int line{number};\n" for number in range(1, 31)),
    "fs/b.c": "int alpha(void)\n{\n\treturn 1;\n}\n",
    "include/c.h": "int alpha(void);\n",
    "Makefile": "# SPDX\nVERSION = 6\nPATCHLEVEL = 1\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "linux", FILES)


def to_patch(diff: str, index: int = 1) -> Patch:
    parsed = parse_diff(diff.encode())
    return Patch(
        index=index,
        subject=f"Patch {index}",
        author=Address(name="", email=""),
        message_id=f"{index}@example.org",
        commit=None,
        log="",
        trailers=(),
        files=parsed.files,
        problems=parsed.problems,
    )


def to_series(*diffs: str) -> Series:
    patches = tuple(to_patch(diff, index) for index, diff in enumerate(diffs, 1))
    return Series(subject="Series", version=1, total=len(patches), patches=patches)


# Trees


def test_a_commit_the_index_and_the_work_tree_are_told_apart(tree: Path) -> None:
    write(tree, {"fs/b.c": "int staged;\n", "fs/new.c": "int staged;\n"})
    git(tree, "add", "-A")
    write(tree, {"fs/b.c": "int unstaged;\n", "fs/untracked.c": "int unstaged;\n"})
    repository = Repository.open(tree)
    head, index, work = (
        CommitTree(repository, git(tree, "rev-parse", "HEAD")),
        IndexTree(repository),
        WorkTree(repository, tree),
    )
    words = ["alpha", "staged", "unstaged"]
    assert head.search(words) == {"alpha": ("fs/b.c", "include/c.h"), "staged": (), "unstaged": ()}
    assert index.search(words) == {"alpha": ("include/c.h",), "staged": ("fs/b.c", "fs/new.c"), "unstaged": ()}
    assert work.search(words) == {"alpha": ("include/c.h",), "staged": ("fs/new.c",), "unstaged": ("fs/b.c",)}
    contents = [source.read("fs/b.c") for source in (head, index, work)]
    assert contents == [FILES["fs/b.c"].encode(), b"int staged;\n", b"int unstaged;\n"]
    for source, content in zip((head, index, work), contents, strict=True):
        assert source.blob_id("fs/b.c") == git(tree, "hash-object", "--stdin", stdin=content)
    assert "fs/untracked.c" not in work.paths()
    assert work.read("fs/untracked.c") is None


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_file_that_git_is_told_not_to_watch_is_searched_as_committed(tree: Path, flag: str) -> None:
    git(tree, "update-index", flag, "fs/b.c")
    write(tree, {"fs/b.c": "int other;\n"})
    source = CommitTree(Repository.open(tree), git(tree, "rev-parse", "HEAD"))
    assert source.search(["alpha", "other"]) == {"alpha": ("fs/b.c", "include/c.h"), "other": ()}


def test_an_older_commit_and_a_bare_repository_are_searched_alike(tree: Path, tmp_path: Path) -> None:
    old = git(tree, "rev-parse", "HEAD")
    commit(tree, {"fs/b.c": "int beta;\n", "fs/d.c": "int alpha;\n", "include/c.h": None}, "Second")
    git(tmp_path, "clone", "-q", "--bare", str(tree), "bare")
    for directory in (tree, tmp_path / "bare"):
        repository = Repository.open(directory)
        assert CommitTree(repository, old).search(["alpha", "beta"])["alpha"] == ("fs/b.c", "include/c.h")
        new = CommitTree(repository, repository.resolve("HEAD"))
        assert new.search(["alpha", "beta"]) == {"alpha": ("fs/d.c",), "beta": ("fs/b.c",)}


def test_a_word_is_searched_once(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository.open(tree)
    asked: list[set[str]] = []
    grep = repository.grep

    def note(words: list[str], *rest: object, **options: object) -> dict[str, set[str]]:
        asked.append(set(words))
        return grep(words, *rest, **options)

    monkeypatch.setattr(repository, "grep", note)
    source = CommitTree(repository, repository.resolve("HEAD"))
    source.search(["alpha", "line3"])
    OverlayTree(source, {"fs/x.c": b"alpha"}).search(["alpha", "line4"])
    source.search(["alpha", "line3", "line4"])
    assert asked == [{"alpha", "line3"}, {"line4"}]


def test_links_and_ways_out_of_the_tree_are_not_followed(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.c").write_text("int secret;\n")
    (tree / "fs" / "link.c").symlink_to(tmp_path / "secret.c")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "Link")
    repository = Repository.open(tree)
    (tree / "include" / "c.h").unlink()
    (tree / "include").rmdir()
    (tree / "include").symlink_to(tmp_path)
    (tmp_path / "c.h").write_text("int secret;\n")
    work = WorkTree(repository, tree)
    for source in (work, CommitTree(repository, repository.resolve("HEAD")), IndexTree(repository)):
        assert source.read("fs/link.c") is None
        assert source.blob_id("fs/link.c") is None
        for path in ("../secret.c", "/etc/passwd", "fs/../Makefile", "fs", "", ".git/config", "fs/b.c/x"):
            assert source.read(path) is None
    assert work.read("include/c.h") is None


def test_a_pipe_in_the_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.c")
    assert RegularFiles(tmp_path).read("pipe.c") is None


def test_few_folders_stay_open_and_none_after_the_end(tmp_path: Path) -> None:
    def descriptors() -> list[str]:
        return [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]

    paths = [f"d{number}/e/f.c" for number in range(100)]
    for path in paths:
        write(tmp_path, {path: path})
    files = RegularFiles(tmp_path)
    assert [files.read(path) for path in (*paths, *paths)] == [path.encode() for path in paths] * 2
    assert 0 < sum(str(tmp_path) in each for each in descriptors()) <= 40
    del files
    assert not any(str(tmp_path) in each for each in descriptors())


@pytest.mark.parametrize(("number", "times"), [("EMFILE", 1), ("EMFILE", 99), ("ENFILE", 1), ("ENOMEM", 1)])
def test_a_shortage_is_no_missing_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str, times: int
) -> None:
    """Folders that are kept open give way to a file; for want of anything else the file is not taken to be away."""
    write(tmp_path, {"d/a.c": "a", "d/b.c": "b"})
    files, left, really = RegularFiles(tmp_path), times, os.open
    assert files.read("d/a.c") == b"a"

    def refuse(*arguments: Any, **named: Any) -> int:
        nonlocal left
        left -= 1
        if left >= 0:
            raise OSError(getattr(errno, number), "refused")
        return really(*arguments, **named)

    monkeypatch.setattr(os, "open", refuse)
    if number == "EMFILE" and times == 1:
        assert files.read("d/b.c") == b"b"
    else:
        with pytest.raises(OSError, match="refused"):
            files.read("d/b.c")
    left = 0
    assert files.read("d/b.c") == b"b"


def test_a_file_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    write(tmp_path, {"a.c": "x" * 100, "empty.c": "", "d/b.c": "b"})
    (tmp_path / "link").symlink_to(tmp_path / "d")
    files = RegularFiles(tmp_path)
    assert files.read("a.c", 100) == b"x" * 100 and files.read("a.c", 99) is None and files.read("empty.c") == b""
    for path in ("link/b.c", "d", "d/", "/a.c", "d//b.c", "./a.c", "d/../a.c", "", "/", "none/a.c", "a.c/b.c"):
        assert files.read(path) is None, path
    assert files.read("d/b.c") == b"b"
    (tmp_path / "late.c").write_text("late")
    assert files.read("late.c") == b"late"
    assert files.read("../a.c") is None
    assert RegularFiles(Path("/proc/self")).read("status") not in (None, b"")  # its size is not known beforehand


def test_a_submodule_is_no_file(tree: Path) -> None:
    git(tree, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor")
    git(tree, "commit", "-q", "-m", "Submodule")
    repository = Repository.open(tree)
    assert CommitTree(repository, repository.resolve("HEAD")).read("vendor") is None
    assert WorkTree(repository, tree).read("vendor") is None


def test_an_overlay_changes_what_it_covers_and_nothing_else() -> None:
    base = MemoryTree({"a.c": "alpha", "b.c": "alpha beta", "c.txt": "alpha"})
    over = OverlayTree(OverlayTree(base, {"a.c": b"beta", "n.c": b"alpha"}), {"b.c": None, "n.h": b"alpha"})
    assert over.paths() == ("a.c", "c.txt", "n.c", "n.h")
    assert over.search(["alpha", "beta"]) == {"alpha": ("n.c", "n.h"), "beta": ("a.c",)}
    assert over.read("b.c") is None
    assert over.blob_id("b.c") is None
    assert over.base is base
    assert EmptyTree().search(["alpha"]) == {"alpha": ()}


def test_the_kernel_version_is_read_from_the_makefile() -> None:
    assert kernel_version(MemoryTree(FILES)) == KernelVersion(major=6, minor=1)
    assert kernel_version(MemoryTree({"Makefile": "all:\n\ttrue\n"})) is None


# States


def contents(source: object, paths: list[str]) -> dict[str, bytes | None]:
    return {path: source.read(path) for path in paths}  # type: ignore[attr-defined]


EDITS: tuple[Mapping[str, str | bytes | None], ...] = (
    {"fs/a.c": FILES["fs/a.c"].replace("line3;", "three;").replace("line25;\n", "line25;\nint more;\n")},
    {"fs/moved.c": FILES["fs/b.c"].replace("1", "2"), "fs/b.c": None},
    {"include/c.h": None, "fs/empty.c": "", "fs/bin.c": b"\0\1\2", "fs/open.c": "no end"},
    {"fs/a.c": "int all_new;\n", "fs/bin.c": b"\0\3", "fs/open.c": "no end\n"},
)


def test_states_from_commits_are_the_commits(tree: Path) -> None:
    ids = [commit(tree, edit, f"Edit {number}") for number, edit in enumerate(EDITS)]
    repository = Repository.open(tree)
    series = series_from_range(repository, f"HEAD~{len(EDITS)}..")
    states = build_states(series, CommitTree(repository, repository.resolve(f"HEAD~{len(EDITS)}")))
    assert [state.why_not_applied for state in states] == [""] * len(EDITS)
    for state, rev in zip(states, ids, strict=True):
        for source, expected in ((state.after, rev), (state.before, f"{rev}~1")):
            made = CommitTree(repository, repository.resolve(expected))
            paths = sorted({*made.paths(), *source.paths()})
            assert contents(source, paths) == contents(made, paths)
            assert list(source.paths()) == list(made.paths())
    assert states[0].changed == {"fs/a.c": Touched(added=((3, 3), (26, 26)), removed=((3, 3),))}
    assert states[1].renames == (("fs/b.c", "fs/moved.c"),)


def test_commits_beside_each_other_are_each_seen_on_their_parent(tree: Path) -> None:
    start = git(tree, "rev-parse", "HEAD")
    commit(tree, {"fs/one.c": "int one;\n"}, "One")
    git(tree, "checkout", "-q", "-b", "side", start)
    commit(tree, {"fs/two.c": "int two;\n"}, "Two")
    git(tree, "checkout", "-q", "main")
    git(tree, "merge", "-q", "--no-edit", "side")
    commit(tree, {"fs/three.c": "int three;\n"}, "Three")
    repository = Repository.open(tree)
    series = series_from_range(repository, f"{start}..")
    assert series.notes == ("1 merge commit left out",)
    for state in build_states(series, CommitTree(repository, start)):
        assert state.patch.commit
        assert list(state.after.paths()) == sorted(repository.tree(state.patch.commit))
        assert list(state.before.paths()) == sorted(repository.tree(f"{state.patch.commit}~1"))


def test_a_root_commit_starts_from_nothing(tree: Path) -> None:
    repository = Repository.open(tree)
    (state,) = build_states(series_from_range(repository, "HEAD"), CommitTree(repository, repository.empty_tree))
    assert state.before.paths() == ()
    assert list(state.after.paths()) == sorted(FILES)


def test_staged_changes_are_what_is_staged_and_not_the_work_tree(tree: Path) -> None:
    write(tree, {"fs/b.c": "int staged;\n", "sp ace/ü.c": "int new;\n"})
    git(tree, "add", "-A")
    write(tree, {"fs/b.c": "int unstaged;\n"})
    repository = Repository.open(tree)
    (state,) = build_states(series_from_staged(repository), CommitTree(repository, repository.resolve("HEAD")))
    assert state.after.read("fs/b.c") == b"int staged;\n"
    assert state.after.read("sp ace/ü.c") == b"int new;\n"


def test_staged_changes_before_the_first_commit(tmp_path: Path) -> None:
    directory = make_repository(tmp_path / "new")
    write(directory, {"fs/b.c": "int staged;\n"})
    git(directory, "add", "-A")
    repository = Repository.open(directory)
    (state,) = build_states(series_from_staged(repository), CommitTree(repository, repository.empty_tree))
    assert state.after.read("fs/b.c") == b"int staged;\n"


FIRST = """diff --git a/fs/a.c b/fs/a.c
--- a/fs/a.c
+++ b/fs/a.c
@@ -9,3 +9,3 @@ int line8;
 int line9;
-int line10;
+int ten;
 int line11;
diff --git a/fs/b.c b/fs/b.c
--- a/fs/b.c
+++ b/fs/b.c
@@ -2,3 +2,3 @@ int alpha(void)
 {
-\treturn 7;
+\treturn 2;
 }
"""
SECOND = """diff --git a/fs/b.c b/fs/b.c
--- a/fs/b.c
+++ b/fs/b.c
@@ -2,3 +2,3 @@ int alpha(void)
 {
-\treturn 2;
+\treturn 3;
 }
diff --git a/fs/a.c b/fs/a.c
--- a/fs/a.c
+++ b/fs/a.c
@@ -9,3 +9,4 @@ int line8;
 int line9;
 int ten;
+int ten_and_a_half;
 int line11;
"""


def states_of(*diffs: str, base: Mapping[str, str] = FILES) -> tuple[PatchState, ...]:
    return build_states(to_series(*diffs), MemoryTree(base))


def test_a_file_that_does_not_apply_loses_no_other_file() -> None:
    first, second = states_of(FIRST, SECOND)
    assert first.why_not_applied.startswith("fs/b.c, hunk 1: line 3 and what follows")
    assert "patch 1" in second.why_not_applied
    assert second.after.read("fs/b.c") == FILES["fs/b.c"].encode()
    assert b"int ten;\nint ten_and_a_half;\n" in (second.after.read("fs/a.c") or b"")
    assert set(first.changed) == set(second.changed) == {"fs/a.c"}


def test_a_patch_that_applies_over_a_hole_says_so() -> None:
    over = SECOND.replace("return 2;", "return 1;")
    _, second = states_of(FIRST, over)
    assert second.why_not_applied == ""
    assert second.doubts == ("fs/b.c is reviewed without patch 1, which does not apply to it",)


def test_a_patch_that_the_tree_already_has_is_recognised() -> None:
    applied = FIRST.partition("diff --git a/fs/b.c")[0]
    (state,) = states_of(applied, base={**FILES, "fs/a.c": FILES["fs/a.c"].replace("line10", "ten")})
    assert state.why_not_applied == "the tree already has this patch"


def test_touched_lines_follow_an_offset() -> None:
    (state,) = states_of(FIRST.partition("diff --git a/fs/b.c")[0], base={"fs/a.c": "new\n" * 5 + FILES["fs/a.c"]})
    assert state.changed == {"fs/a.c": Touched(added=((15, 15),), removed=((15, 15),))}


def test_hunks_alone_keep_their_line_numbers_and_carry_over() -> None:
    first, second = build_states(to_series(FIRST, SECOND), None)
    assert not first.after.is_complete
    assert first.before.known_lines("fs/a.c") == ((9, 11),)
    assert (first.before.read("fs/a.c") or b"").split(b"\n")[8:11] == [b"int line9;", b"int line10;", b"int line11;"]
    assert first.after.read("fs/a.c") == b"\n" * 8 + b"int line9;\nint ten;\nint line11;\n"
    assert second.after.read("fs/a.c") == b"\n" * 8 + b"int line9;\nint ten;\nint ten_and_a_half;\nint line11;\n"
    assert second.after.search(["ten"]) == {"ten": ("fs/a.c",)}
    assert second.before.read("fs/b.c") == first.after.read("fs/b.c")
    assert second.after.read("fs/unknown.c") is None


def test_absurd_line_numbers_are_refused() -> None:
    patch = to_patch(FIRST)
    far = replace(patch.files[0], hunks=(replace(patch.files[0].hunks[0], old_start=3_000_000, new_start=3_000_000),))
    series = replace(to_series(FIRST), patches=(replace(patch, files=(far, patch.files[1])),))
    (state,) = build_states(series, None)
    assert state.why_not_applied == "fs/a.c, hunk 1: its line numbers are above 2,000,000"
    assert set(state.changed) == {"fs/b.c"}


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", "}"]), min_size=0, max_size=25), min_size=2, max_size=4))
@settings(max_examples=60, deadline=None)
def test_what_hunks_tell_is_true_of_the_whole_files(versions: list[list[str]]) -> None:
    """Every known line is the line of the real file, in every state."""
    texts = [b"".join(line.encode() + b"\n" for line in version) for version in versions]
    changes = [make_change(old, new) for old, new in pairwise(texts)]
    patches = tuple(replace(to_patch("", index), files=(change,)) for index, change in enumerate(changes, 1))
    series = Series(subject="", version=1, total=len(patches), patches=patches)
    for state, old, new in zip(build_states(series, None), texts, texts[1:], strict=False):
        for source, text in ((state.before, old), (state.after, new)):
            lines, read = text.split(b"\n"), (source.read("f.c") or b"").split(b"\n")
            for first, last in source.known_lines("f.c") or ():
                assert read[first - 1 : last] == lines[first - 1 : last]


# The base


def test_the_base_that_was_asked_for_is_taken_or_refused(tree: Path) -> None:
    repository = Repository.open(tree)
    head = repository.resolve("HEAD")
    assert choose_base(repository, to_series(FIRST), "main") == (head, f"--base main names {head[:12]}")
    with pytest.raises(InputError, match="--base: 'nope'"):
        choose_base(repository, to_series(FIRST), "nope")


def test_the_trailer_comes_first_and_an_unknown_one_is_said(tree: Path) -> None:
    old = git(tree, "rev-parse", "HEAD")
    head = commit(tree, {"fs/b.c": "int x;\n"}, "Second")
    repository = Repository.open(tree)
    assert choose_base(repository, replace(to_series(FIRST), base_commit=old))[0] == old
    base, how = choose_base(repository, replace(to_series(FIRST), base_commit="f" * 40))
    assert base == head
    assert "the base-commit ffffffffffff is not in the repository" in how
    assert "HEAD" in how


def test_the_index_lines_find_the_commit(tree: Path) -> None:
    old = git(tree, "rev-parse", "HEAD")
    blob = git(tree, "rev-parse", "HEAD:fs/a.c")[:10]
    commit(tree, {"fs/a.c": "int x;\n"}, "Second")
    commit(tree, {"fs/b.c": "int x;\n"}, "Third")
    diff = FIRST.replace("--- a/fs/a.c", f"index {blob}..1234567890 100644\n--- a/fs/a.c")
    base, how = choose_base(Repository.open(tree), to_series(diff, SECOND))
    assert base == old
    assert "index lines match" in how


def test_without_any_hint_head_is_taken_and_that_is_said(tree: Path, tmp_path: Path) -> None:
    base, how = choose_base(Repository.open(tree), to_series(FIRST))
    assert base == git(tree, "rev-parse", "HEAD")
    assert "no index lines" in how
    with pytest.raises(InputError, match="no commit yet"):
        choose_base(Repository.open(make_repository(tmp_path / "new")), to_series(FIRST))


@pytest.mark.parametrize("seed", range(20))
def test_words_are_found_alike_in_short_and_in_long_texts(seed: int) -> None:
    """Short texts are cut into words, long ones searched; a name that is more than a word is searched for always."""
    chance = random.Random(seed)
    names = ["".join(chance.choice("ab_1") for _ in range(chance.randrange(1, 4))) for _ in range(40)]
    text = "".join(chance.choice(("a", "b", "_", "1", "-", " ", "(", "\n", "ä")) for _ in range(400)).encode()
    few = {name for name in names if words.words_in(text, (name,))}
    assert words.words_in(text, names) == few
    assert words.words_in(text + b" " * words._SHORT_BYTES, names) == few
    assert words.words_in(text, [*names, "ä"]) == few | ({"ä"} & words.words_in(text, ("ä",)))
