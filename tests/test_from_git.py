"""Commits, pushes and staged changes become the series that git would send."""

from __future__ import annotations

from pathlib import Path

import pytest

from reviewbot.errors import GitError, InputError
from reviewbot.git import Repository
from reviewbot.series.from_git import series_from_push, series_from_range, series_from_staged
from reviewbot.series.patch import ChangeKind, Series
from tests.repositories import commit, git, make_repository, write

TEXT = "".join(f"int line{number};\n" for number in range(30))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Three commits on main; the branch `topic` has a merge."""
    directory = make_repository(tmp_path / "linux", {"fs/a.c": TEXT, "fs/b.c": TEXT.replace("line", "row")})
    commit(
        directory,
        {"fs/a.c": TEXT + "int more;\n"},
        'fs: Add a line\n\nBecause.\n\nFixes: 1234567 ("x")\nAcked-by: B <b@c>',
    )
    commit(directory, {"fs/n.c": "int n;\n"}, "fs: Add a file")
    git(directory, "checkout", "-q", "-b", "topic", "HEAD~2")
    commit(directory, {"fs/t.c": "int t;\n"}, "fs: Topic")
    git(directory, "merge", "-q", "--no-ff", "-m", "Merge main", "main")
    return directory


def subjects(series: Series) -> list[str]:
    return [patch.subject for patch in series.patches]


RANGES = {
    "a range": ("main~2..main", ["fs: Add a line", "fs: Add a file"]),
    "an open end": ("HEAD~1..", ["fs: Add a line", "fs: Add a file"]),
    "one commit": ("main", ["fs: Add a file"]),
    "the root": ("main~2", ["First"]),
    "without the merge": ("main~2..topic", ["fs: Topic", "fs: Add a line", "fs: Add a file"]),
}


@pytest.mark.parametrize(("text", "expected"), RANGES.values(), ids=RANGES.keys())
def test_a_range_is_read_oldest_first(tree: Path, text: str, expected: list[str]) -> None:
    series = series_from_range(Repository.open(tree), text)
    assert sorted(subjects(series)) == sorted(expected)
    assert [patch.index for patch in series.patches] == list(range(1, series.total + 1))
    assert series.notes == (("1 merge commit left out",) if "main" not in text.rpartition("..")[2] else ())


def test_a_patch_knows_its_commit(tree: Path) -> None:
    first, _ = series_from_range(Repository.open(tree), "main~2..main").patches
    assert first.commit == git(tree, "rev-parse", "main~1")
    assert first.author.email == "ann@example.org"
    assert first.log == 'Because.\n\nFixes: 1234567 ("x")\nAcked-by: B <b@c>'
    assert first.trailers == (("Fixes", '1234567 ("x")'), ("Acked-by", "B <b@c>"))
    (change,) = first.files
    assert (change.kind, change.path) == (ChangeKind.MODIFIED, "fs/a.c")
    assert change.new_blob == git(tree, "rev-parse", "main:fs/a.c")
    assert change.hunks[0].lines[-1] == b"+int more;"


REFUSED = {
    "unknown": ("nope..main", GitError, "'nope'"),
    "an option": ("--all..main", GitError, "'--all'"),
    "empty": ("main..main", InputError, "holds no commits"),
    "symmetric": ("main...topic", InputError, "symmetric"),
    "a merge": ("topic", InputError, "is a merge"),
    "no upstream": (None, InputError, "no upstream"),
}


@pytest.mark.parametrize(("text", "error", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_a_wrong_range_is_one_sentence(tree: Path, text: str | None, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        series_from_range(Repository.open(tree), text)


def test_the_default_is_what_the_upstream_has_not(tree: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "-b", "main", str(tree), "clone")
    commit(tmp_path / "clone", {"fs/c.c": "int c;\n"}, "fs: Mine")
    assert subjects(series_from_range(Repository.open(tmp_path / "clone"))) == ["fs: Mine"]


def test_renames_modes_binaries_links_and_submodules_disturb_nothing(tree: Path) -> None:
    git(tree, "checkout", "-q", "main")
    (tree / "fs" / "a.c").rename(tree / "fs" / "moved é.c")
    (tree / "fs" / "b.c").chmod(0o755)
    (tree / "link").symlink_to("/etc/passwd")
    write(tree, {"blob.bin": b"\0\1" * 100, "fs/n.c": None, "empty.c": ""})
    git(tree, "add", "-A")
    git(tree, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor")
    git(tree, "commit", "-q", "-m", "Everything")
    git(tree, "config", "diff.renames", "false")
    (patch,) = series_from_range(Repository.open(tree), "HEAD").patches
    assert patch.problems == ()
    kinds = {change.path: change.kind for change in patch.files}
    assert kinds["fs/moved é.c"] is ChangeKind.RENAMED
    assert kinds["fs/b.c"] is ChangeKind.MODE
    assert kinds["fs/n.c"] is ChangeKind.DELETED
    assert kinds["blob.bin"] is ChangeKind.BINARY
    assert {change.new_mode for change in patch.files if change.path == "link"} == {"120000"}
    assert set(kinds) == {"fs/moved é.c", "fs/b.c", "fs/n.c", "blob.bin", "link", "vendor", "empty.c"}


def test_the_users_diff_settings_change_nothing(tree: Path) -> None:
    plain = series_from_range(Repository.open(tree), "main")
    settings = {
        "noprefix": "true",
        "mnemonicPrefix": "true",
        "context": "0",
        "algorithm": "patience",
        "relative": "true",
    }
    for key, value in settings.items():
        git(tree, "config", f"diff.{key}", value)
    git(tree, "config", "color.ui", "always")
    assert series_from_range(Repository.open(tree / "fs"), "main") == plain


def test_a_push_brings_what_the_remote_has_not(tree: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "-b", "main", str(tree), "clone")
    clone = tmp_path / "clone"
    known = git(clone, "rev-parse", "HEAD")
    new = commit(clone, {"fs/c.c": "int c;\n"}, "fs: Mine")
    repository = Repository.open(clone)
    for from_ref in (known, "0" * 40, "f" * 40):
        assert subjects(series_from_push(repository, from_ref, new)) == ["fs: Mine"]
    assert series_from_push(repository, known, "0" * 40).patches == ()
    assert series_from_push(repository, new, new).patches == ()


def test_staged_is_one_patch(tree: Path) -> None:
    git(tree, "checkout", "-q", "main")
    repository = Repository.open(tree)
    assert series_from_staged(repository).patches[0].files == ()
    write(tree, {"fs/a.c": TEXT, "fs/n.c": None, "fs/new name.c": "int x;\n"})
    git(tree, "add", "-A")
    write(tree, {"fs/b.c": "not staged\n"})
    (patch,) = series_from_staged(repository).patches
    assert (patch.subject, patch.commit) == ("staged changes", None)
    assert [change.path for change in patch.files] == ["fs/a.c", "fs/n.c", "fs/new name.c"]


def test_staged_works_before_the_first_commit_and_in_a_linked_tree(tree: Path, tmp_path: Path) -> None:
    new = make_repository(tmp_path / "new")
    git(tree, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    for directory in (new, tmp_path / "linked"):
        write(directory, {"fs/z.c": "int z;\n"})
        git(directory, "add", "-A")
        (patch,) = series_from_staged(Repository.open(directory)).patches
        assert [change.path for change in patch.files] == ["fs/z.c"]
