"""Repositories and folders that were made to break a reviewer: what is too large is said, and costs no memory."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reviewbot.errors import ConfigError, GitError
from reviewbot.findings.finding import Status
from reviewbot.findings.review import Base, Outcome, Review
from reviewbot.frontends.settings import tree_layer
from reviewbot.git import Repository, process
from reviewbot.mail.mailbox import read_mail_bytes
from reviewbot.pipeline import ReviewOptions, review, review_on_tree, review_range
from reviewbot.report.phrases import is_complete
from reviewbot.rulebook.book import load_rulebook
from reviewbot.scanning import ScanOptions, scan
from reviewbot.series.from_git import series_from_range, series_from_staged
from reviewbot.series.from_mail import choose_series, find_series
from reviewbot.series.patch import ChangeKind, FileChange
from reviewbot.source.apply import apply_change
from reviewbot.source.folder_tree import FolderTree
from reviewbot.source.git_tree import CommitTree, WorkTree
from reviewbot.source.hidden_change import made_visible
from reviewbot.source.regular_files import MAX_FILE_BYTES
from reviewbot.source.tree import SourceTree
from tests.expectations import small_tree
from tests.hostile_sizes import FUNCTION
from tests.repositories import commit, git, make_repository, write


def make_object(repository: Path, *question: str, content: bytes) -> str:
    """The id of an object that git makes of the content."""
    command = ["git", "-C", str(repository), *question]
    return subprocess.run(command, input=content, capture_output=True, check=True).stdout.decode().strip()


def nested_trees(repository: Path, levels: int) -> str:
    """A tree of ten files below ten names below ten names …: 10 to the power of `levels` paths in `levels` objects."""
    blob = make_object(repository, "hash-object", "-w", "--stdin", content=b"int x;\n")
    kind = f"100644 blob {blob}"
    tree = ""
    for _ in range(levels):
        rows = "".join(f"{kind}\tname{at}.c\n" for at in range(10))
        tree = make_object(repository, "mktree", content=rows.encode())
        kind = f"040000 tree {tree}"
    return tree


def test_a_tree_of_billions_of_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dozen objects can name more files than any memory holds: what git prints is read up to the limit only."""
    monkeypatch.setattr(process, "MAX_OUTPUT_BYTES", 1 << 20)
    root = make_repository(tmp_path / "linux", {"a.c": "int x;\n"})
    tree = nested_trees(root, 9)
    repository = Repository.open(root)
    for ask in (repository.paths, repository.tree_rows):
        with pytest.raises(GitError, match="gives more than 1 MiB"):
            ask(tree)


def test_words_that_stand_a_million_times_in_a_file_of_a_long_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git prints the path beside every hit: a small file can make it print a thousand times its size."""
    monkeypatch.setattr(process, "MAX_OUTPUT_BYTES", 1 << 20)
    path = f"fs/{'a' * 200}/{'b' * 200}.c"
    repository = Repository.open(make_repository(tmp_path / "linux", {path: "word " * 10_000}))
    for rev in (None, "HEAD"):
        with pytest.raises(GitError, match="gives more than 1 MiB"):
            repository.grep(["word"], [".c"], rev)


def test_git_is_fed_and_read_at_the_same_time(tmp_path: Path) -> None:
    """A question that is larger than a pipe, with an answer that is larger than a pipe, does not stop either side."""
    root = make_repository(tmp_path / "linux", {"a.c": "int x;\n"})
    blob = make_object(root, "hash-object", "-w", "--stdin", content=b"int x;\n")
    git = process.Git(root)
    asked = f"{blob}\n".encode() * 50_000
    assert git.run("cat-file", "--batch-check", stdin=asked, ends=b"\n").count(b"\n") == 50_000
    assert git.run("rev-parse", "HEAD", stdin=asked, ends=b"\n")  # does not read it at all


def above_the_limit() -> str:
    """C with a block, one byte larger than what is read of a file."""
    text, line = FUNCTION % "flush_it();", "/* of no use */\n"
    return text + line * (MAX_FILE_BYTES // len(line))


def scanned(tree: SourceTree) -> Review:
    return scan(tree, ScanOptions(review=ReviewOptions(), jobs=1), load_rulebook(), Base(rev="", how="x"), None)


TREES: dict[str, Callable[[Path], SourceTree]] = {
    "a commit": lambda root: CommitTree(Repository.open(root), Repository.open(root).resolve("HEAD")),
    "a work tree": lambda root: WorkTree(Repository.open(root), root),
    "a folder": FolderTree,
}


@pytest.mark.parametrize("changed", [False, True], ids=["as committed", "changed on disk"])
@pytest.mark.parametrize("path", ["fs/large.c", "fs/large.inc"])
@pytest.mark.parametrize("kind", TREES)
def test_a_file_beyond_the_limit_is_a_gap_of_a_scan(kind: str, path: str, changed: bool, tmp_path: Path) -> None:
    """It is not read, which is said; what touches no user memory, a link and what is not there are no gap."""
    root = make_repository(tmp_path / "linux", small_tree() | {path: above_the_limit(), "fs/gone.c": FUNCTION % ""})
    (root / "fs/link.c").symlink_to("large.c")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Link")
    (root / "fs/gone.c").unlink()
    if changed:
        with (root / path).open("a") as file:
            file.write("x")
    made = scanned(TREES[kind](root))
    assert [(gap.path, "larger than 32 MiB" in gap.reason) for gap in made.gaps] == [(path, True)]
    assert not is_complete(made)


@pytest.mark.parametrize("is_named", [True, False], ids=["C", "another suffix"])
def test_a_large_file_of_another_kind_is_no_gap(is_named: bool, tmp_path: Path) -> None:
    """Firmware and texts may have any size; so may C that git finds no user access in."""
    path = "fs/large.c" if is_named else "firmware/large.bin"
    root = make_repository(tmp_path / "linux", small_tree() | {path: "x" * (MAX_FILE_BYTES + 1)})
    assert scanned(TREES["a commit"](root)).gaps == scanned(TREES["a work tree"](root)).gaps == ()


def test_a_change_of_a_file_beyond_the_limit_is_not_clean(tmp_path: Path) -> None:
    """A commit that makes a file too large, and one that changes it: neither is reviewed, and the reason says why."""
    path = "fs/large.c"
    root = make_repository(tmp_path / "linux", small_tree() | {path: FUNCTION % ""})
    commit(root, {path: above_the_limit()}, "Grow")
    commit(root, {path: above_the_limit().replace("int x)", "int y)")}, "Change")
    for rev, outcome, reason in (
        ("HEAD~1", Outcome.UNREADABLE, "limits.input.diff_bytes"),
        ("HEAD", Outcome.NOT_APPLIED, "larger than 32 MiB"),
    ):
        made = review_range(Repository.open(root), rev, ReviewOptions(), load_rulebook())
        assert made.patches[0].outcome is outcome and reason in made.patches[0].reason


def test_a_user_that_is_beyond_the_limit_is_a_gap(tmp_path: Path) -> None:
    """A header changes; a file that uses it cannot be read."""
    header = "static inline void flush_it(void)\n{\n\t%s\n}\n"
    files = {"include/linux/flush.h": header % "cpu_relax();", "fs/large.c": above_the_limit()}
    root = make_repository(tmp_path / "linux", small_tree() | files)
    commit(root, {"include/linux/flush.h": header % "barrier();"}, "Change")
    made = review_range(Repository.open(root), "HEAD", ReviewOptions(), load_rulebook())
    assert ("fs/large.c", True) in {(gap.path, "larger than 32 MiB" in gap.reason) for gap in made.gaps}


HIDDEN = {
    "an attribute": ("*.c -diff\n", "cpu_relax();"),
    "the attribute binary": ("* binary\n", "cpu_relax();"),
    "a NUL byte": ("", "/* \0 */"),
}


@pytest.mark.parametrize("is_staged", [False, True], ids=["committed", "staged"])
@pytest.mark.parametrize("change", ["changed", "added", "renamed"])
@pytest.mark.parametrize("kind", HIDDEN)
def test_a_source_that_git_calls_binary_is_reviewed(kind: str, change: str, is_staged: bool, tmp_path: Path) -> None:
    """Whoever writes the tree says what is binary in it; what is in the blobs is reviewed all the same."""
    attributes, quiet = HIDDEN[kind]
    before = {} if change == "added" else {"fs/old.c" if change == "renamed" else "fs/new.c": FUNCTION % quiet}
    root = make_repository(tmp_path / "linux", small_tree() | {".gitattributes": attributes} | before)
    if change == "renamed":
        git(root, "mv", "fs/old.c", "fs/new.c")
    write(root, {"fs/new.c": FUNCTION % (quiet + '\n\tprintk("x");')})
    git(root, "add", "-A")
    if not is_staged:
        git(root, "commit", "-q", "-m", "Change")
    repository = Repository.open(root)
    series = series_from_staged(repository) if is_staged else series_from_range(repository, "HEAD")
    made = review_on_tree(series, repository, ReviewOptions(), load_rulebook())
    assert [(each.place.path, each.observation.callee, each.status) for each in made.findings] == [
        ("fs/new.c", "printk", Status.INTRODUCED)
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"", b"a\n"), (b"a\n", b""), (b"a\nb\nc\n", b"a\nx\ny\nc\n"), (b"a\na\n", b"a\na\na\n"), (b"a", b"a\n"),
     (b"a\nb", b"b"), (b"a\nb\n", b"a\nb"), (b"\n", b"\n\n"), (b"a\n\n", b"a\n"), (b"a\0\nb\n", b"b\n")],
)  # fmt: skip
def test_what_is_made_visible_is_the_change(old: bytes, new: bytes, tmp_path: Path) -> None:
    """The hunk leads from one blob to the other, and back."""
    root = make_repository(tmp_path / "linux", {"a.c": "x\n"})
    ids = [make_object(root, "hash-object", "-w", "--stdin", content=each) for each in (old, new)]
    hidden = FileChange(kind=ChangeKind.BINARY, old_path="a.c", new_path="a.c", old_blob=ids[0], new_blob=ids[1])
    shown = made_visible(hidden, Repository.open(root))
    assert shown.kind is ChangeKind.MODIFIED and apply_change(old, shown) == new
    unknown = replace(hidden, old_blob=ids[0][:12])
    assert made_visible(unknown, Repository.open(root)) is unknown


def test_a_binary_change_of_a_source_is_never_clean() -> None:
    """From the patch alone it cannot be read, and that is said; a picture is nothing to review."""
    raw = """From: J <j@example.org>\nSubject: [PATCH] x\nMessage-ID: <1@example.org>\n\n---
diff --git a/fs/PATH b/fs/PATH\nindex 1111111..2222222 100644\nBinary files a/fs/PATH and b/fs/PATH differ\n"""
    outcomes = []
    for path in ("new.c", "new.png"):
        series = choose_series(find_series(read_mail_bytes(raw.replace("PATH", path).encode(), "x").messages))
        outcomes.append(review(series, None, ReviewOptions(), load_rulebook()).patches[0].outcome)
    assert outcomes == [Outcome.NOT_APPLIED, Outcome.NOTHING_TO_REVIEW]


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "{a=" * 100_000], ids=["lists", "tables"])
def test_settings_that_nest_too_deep_are_refused(text: str, tmp_path: Path) -> None:
    """The file at the top of a tree may be a stranger's."""
    (tmp_path / ".reviewbot.toml").write_text(text)
    with pytest.raises(ConfigError, match="nests too deep"):
        tree_layer(tmp_path)


@pytest.mark.parametrize("rev", ["HEAD", "HEAD~1"])
def test_a_commit_with_an_object_that_is_not_there_is_not_clean(rev: str, tmp_path: Path) -> None:
    """git searches the rest and ends as if all were well: a partial clone, or a stranger's."""
    root = make_repository(tmp_path / "linux", small_tree() | {"fs/lost.c": FUNCTION % ""})
    commit(root, {"fs/other.c": "int y;\n"}, "Next")
    lost = git(root, "rev-parse", "HEAD:fs/lost.c").strip()
    (root / ".git/objects" / lost[:2] / lost[2:]).unlink()
    repository = Repository.open(root)
    tree = CommitTree(repository, repository.resolve(rev))
    with pytest.raises(GitError, match="unable to read"):
        scanned(tree)
    with pytest.raises(GitError, match="unable to read"):
        repository.grep(["hostile"], [".c"], tree.rev)
