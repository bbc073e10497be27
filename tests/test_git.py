"""Repositories of all kinds are read, and nothing that they configure runs."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from reviewbot.errors import GitError
from reviewbot.git import Repository
from reviewbot.git.user import user_settings
from reviewbot.series.from_git import series_from_range, series_from_staged
from reviewbot.source.folder_tree import FolderTree
from reviewbot.source.git_tree import CommitTree, IndexTree, WorkTree
from reviewbot.source.overlay import OverlayTree
from tests.repositories import commit, git, make_repository, write

SOURCES = {"fs/a.c": "int alpha(void);\n", "include/b.h": "#define beta alpha\n", "Makefile": "VERSION = 6\n"}
SUFFIXES = (".c", ".h", ".S")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "linux", SOURCES)


def test_opens_a_work_tree_a_folder_of_it_a_linked_one_and_a_bare_one(tree: Path, tmp_path: Path) -> None:
    git(tree, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    git(tmp_path, "clone", "-q", "--bare", str(tree), str(tmp_path / "bare.git"))
    head = git(tree, "rev-parse", "HEAD")
    expected = {tree: tree, tree / "fs": tree, tmp_path / "linked": tmp_path / "linked", tmp_path / "bare.git": None}
    for directory, root in expected.items():
        repository = Repository.open(directory)
        assert repository.root == root
        assert repository.resolve("HEAD") == head
        assert sorted(repository.tree(head)) == sorted(SOURCES)


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_directory_that_is_no_repository_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(GitError, match=name):
        Repository.open(tmp_path / name)


@pytest.mark.parametrize("rev", ["nope", "", "-x", "--output=marker", "HEAD\nHEAD", "HEAD:fs", "^HEAD", "a" * 40])
def test_a_rev_that_names_no_commit_is_named_in_the_error(tree: Path, rev: str) -> None:
    repository = Repository.open(tree)
    with pytest.raises(GitError) as caught:
        repository.resolve(rev)
    assert repr(rev) in str(caught.value)
    assert not repository.has_commit(rev)
    assert not (tree / "marker").exists()


def test_a_commit_keeps_names_and_encodings(tree: Path) -> None:
    message = b"Gr\xfc\xdfe\n\nText\n"
    git(tree, "-c", "i18n.commitEncoding=latin1", "commit", "-q", "--allow-empty", "-F", "-", stdin=message)
    found = Repository.open(tree).commit("HEAD")
    assert found.message == "Grüße\n\nText\n"
    assert found.author == ("Ann Author", "Ann@Example.org")
    assert found.parents == (git(tree, "rev-parse", "HEAD~1"),)


def test_blobs_are_bounded_and_the_reader_survives_its_process(tree: Path) -> None:
    commit(tree, {"big.bin": b"x" * 3_000_000}, "Big")
    repository = Repository.open(tree)
    head = repository.resolve("HEAD")
    big, small = repository.entry(head, "big.bin"), repository.entry(head, "fs/a.c")
    assert big and small
    assert repository.blob(big.object_id, limit_bytes=2_000_000) is None
    assert repository.blob(small.object_id) == SOURCES["fs/a.c"].encode()
    repository.close()
    assert repository.blob(small.object_id) == SOURCES["fs/a.c"].encode()
    assert repository.blob("0" * 40) is None
    assert repository.blob(head) is None


ODD_NAMES = ("fs/with space.c", 'fs/qu"ote.c', "fs/tab\there.c", "fs/ümlaut.c", "fs/:(glob)x.c", "fs/-dash.c")


@pytest.mark.parametrize("name", [*ODD_NAMES, os.fsdecode(b"fs/l\xe4tin.c")])
def test_odd_names_are_found_read_and_searched(tree: Path, name: str) -> None:
    write(tree, {name: "int gamma;\n"})
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "Odd")
    repository = Repository.open(tree)
    head = repository.resolve("HEAD")
    assert name in repository.tree(head)
    assert name in repository.index()
    for source in (CommitTree(repository, head), IndexTree(repository), WorkTree(repository, tree)):
        assert source.read(name) == b"int gamma;\n"
        assert source.search(["gamma"]) == {"gamma": (name,)}
        assert source.blob_id(name) == git(tree, "hash-object", "--stdin", stdin=b"int gamma;\n")


def test_grep_finds_whole_words_in_all_forms_of_the_tree(tree: Path) -> None:
    commit(tree, {"fs/c.c": "alphabet alpha_beta\nbeta(alpha)\n", "doc.txt": "alpha\n"}, "More")
    repository = Repository.open(tree)
    expected = {"alpha": {"fs/a.c", "fs/c.c", "include/b.h"}, "beta": {"fs/c.c", "include/b.h"}, "nothing": set()}
    assert repository.grep(["alpha", "beta", "nothing"], SUFFIXES) == expected
    assert repository.grep(["alpha", "beta", "nothing"], SUFFIXES, repository.resolve("HEAD")) == expected


@pytest.mark.parametrize("folder", ["fs", "f*", "a[b]c", "q?", "back\\slash"])
def test_grep_keeps_to_the_folders_it_is_given(tree: Path, folder: str) -> None:
    files = [f"{folder}/deep/x.c", f"{folder}/y.c"]
    others = ["fsx/x.c", "other/fs/x.c", "abc/x.c", "qx/x.c", "backslash/x.c"]
    commit(tree, dict.fromkeys((*files, *others), "gamma\n"), "Folders")
    repository = Repository.open(tree)
    head = repository.resolve("HEAD")
    assert repository.grep(["gamma"], [".c"], folders=[f"{folder}/"]) == {"gamma": set(files)}
    assert repository.grep(["gamma"], [".c"], head, [f"{folder}/", "abc/"]) == {"gamma": {*files, "abc/x.c"}}
    overlay = OverlayTree(CommitTree(repository, head), {files[0]: None, "abc/new.c": b"gamma", "fsx/new.c": b"gamma"})
    sources = (CommitTree(repository, head), IndexTree(repository), WorkTree(repository, tree), FolderTree(tree))
    for source in sources:
        assert source.search(["gamma"], [".c"], [f"{folder}/"]) == {"gamma": tuple(files)}
    assert overlay.search(["gamma"], [".c"], [f"{folder}/", "abc/"]) == {
        "gamma": tuple(sorted((files[1], "abc/new.c", "abc/x.c")))
    }


def test_grep_does_without_perl_expressions(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository.open(tree)
    search = Repository._grep

    def without_perl(self: Repository, syntax: str, command: list[str], patterns: list[str]) -> bytes:
        if syntax == "-P":
            raise GitError("cannot use Perl-compatible regexes when not compiled with USE_LIBPCRE")
        return search(self, syntax, command, patterns)

    monkeypatch.setattr(Repository, "_grep", without_perl)
    assert repository.grep(["alpha", "beta"], SUFFIXES) == {"alpha": {"fs/a.c", "include/b.h"}, "beta": {"include/b.h"}}


# Each entry: configuration, attributes, and what would run. {mark} is a command that leaves a marker file.
HOSTILE = {
    "fsmonitor": ({"core.fsmonitor": "{mark}"}, ""),
    "external diff": ({"diff.external": "{mark}"}, ""),
    "diff driver": ({"diff.evil.command": "{mark}"}, "* diff=evil\n"),
    "textconv": ({"diff.evil.textconv": "{mark}", "diff.evil.cachetextconv": "true"}, "* diff=evil\n"),
    "clean filter": ({"filter.evil.clean": "{mark}", "filter.evil.required": "true"}, "* filter=evil\n"),
    "smudge filter": ({"filter.evil.smudge": "{mark}"}, "* filter=evil\n"),
    "filter process": ({"filter.evil.process": "{mark}", "filter.evil.required": "true"}, "* filter=evil\n"),
    "pager": ({"core.pager": "{mark}", "pager.grep": "{mark}", "pager.diff": "{mark}"}, ""),
    "signatures": ({"gpg.program": "{mark}", "log.showSignature": "true"}, ""),
    "lazy fetch": (
        {
            "remote.origin.url": "ext::{mark}",
            "remote.origin.promisor": "true",
            "extensions.partialClone": "origin",
            "core.repositoryFormatVersion": "1",
            "protocol.ext.allow": "always",
            "protocol.allow": "always",
        },
        "",
    ),
    "alternate refs": ({"core.alternateRefsCommand": "{mark}", "uploadpack.packObjectsHook": "{mark}"}, ""),
    "ssh": ({"core.sshCommand": "{mark}", "credential.helper": "!{mark}", "core.askPass": "{mark}"}, ""),
}


def read_everything(directory: Path) -> None:
    repository = Repository.open(directory)
    head = repository.resolve("HEAD")
    repository.tree(head), repository.index(), repository.paths_unlike_index(), repository.paths_unlike_commit(head)
    repository.recent_commits(["fs/a.c"], 20)
    repository.diff_of_commit(head), repository.diff_of_index(head)
    series_from_range(repository, "HEAD~1..HEAD"), series_from_staged(repository)
    repository.blob("1" * 40)  # not there: a partial clone would fetch it
    for tree in (CommitTree(repository, head), IndexTree(repository), WorkTree(repository, directory)):
        assert tree.search(["alpha"])["alpha"]
        assert tree.read("fs/a.c")


@pytest.mark.parametrize(("settings", "attributes"), HOSTILE.values(), ids=HOSTILE.keys())
def test_nothing_that_the_repository_configures_runs(
    tree: Path, tmp_path: Path, settings: dict[str, str], attributes: str
) -> None:
    marker, script = tmp_path / "marker", tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(marker))}\ncat\n")
    script.chmod(0o755)
    write(tree, {"fs/a.c": "int alpha(void);\nint more;\n", ".gitattributes": attributes})
    os.utime(tree / "fs/a.c", (2**31 - 1, 2**31 - 1))  # newer than the index: git looks into the file, through filters
    commit(tree, {}, "Second")
    for key, value in settings.items():
        git(tree, "config", key, value.format(mark=script))
    read_everything(tree)
    assert not marker.exists()


def test_the_textconv_marker_would_show(tree: Path, tmp_path: Path) -> None:
    """The test above can fail: plain git does run what it is told to."""
    marker = tmp_path / "marker"
    git(tree, "config", "diff.external", f"touch {marker}; true")
    write(tree, {"fs/a.c": "int changed;\n"})
    git(tree, "diff")
    assert marker.exists()


def test_hooks_do_not_run(tree: Path, tmp_path: Path) -> None:
    commit(tree, {"fs/a.c": "int alpha(int);\n"}, "Second")
    names = ("post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman")
    for name in names:
        hook = tree / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(tmp_path / 'marker'))}\n")
        hook.chmod(0o755)
    read_everything(tree)
    assert not (tmp_path / "marker").exists()


def test_index_head_and_work_tree_are_left_as_they_were(tree: Path) -> None:
    commit(tree, {"fs/a.c": "int alpha(int);\n"}, "Second")
    os.utime(tree / "fs/a.c", (1, 1))  # stale times, which `git status` would write back

    def state() -> dict[str, str]:
        files = (file for file in sorted(tree.rglob("*")) if file.is_file())
        return {str(file): hashlib.sha1(file.read_bytes()).hexdigest() for file in files}

    before = state()
    read_everything(tree)
    assert state() == before


def test_a_filter_that_cannot_be_switched_off_is_refused(tree: Path) -> None:
    git(tree, "config", "filter.a=b.clean", "touch marker")
    with pytest.raises(GitError, match="filter that cannot be switched off"):
        Repository.open(tree)


@pytest.mark.parametrize("elsewhere", ["..", "/etc"])
def test_a_work_tree_elsewhere_is_not_read(tree: Path, elsewhere: str) -> None:
    git(tree, "config", "core.worktree", f"../{elsewhere}" if elsewhere == ".." else elsewhere)
    try:
        root = Repository.open(tree).root
    except GitError as error:
        assert "claims" in str(error)
    else:
        assert root is None


def test_variables_of_a_surrounding_git_do_not_mislead(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_repository(tmp_path / "other", {"x.c": "int x;\n"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    assert sorted(Repository.open(tree).index()) == sorted(SOURCES)


def test_a_hook_sees_the_index_that_git_names(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`git commit fs/a.c` commits from an index of its own."""
    index = tree / ".git" / "next-index"
    index.write_bytes((tree / ".git" / "index").read_bytes())
    write(tree, {"fs/staged.c": "int staged;\n"})
    git(tree, "add", "fs/staged.c")
    monkeypatch.setenv("GIT_INDEX_FILE", str(index))
    assert "fs/staged.c" in Repository.open(tree).index()
    assert "fs/staged.c" not in Repository.open(tree, in_hook=True).index()


def test_a_path_that_the_user_does_not_own_is_explained(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tree))
    if os.getuid() != 0:
        pytest.skip("needs root to give a directory away")
    for path in (tree, *tree.rglob("*")):
        os.chown(path, 12345, 12345)
    with pytest.raises(GitError, match=r"safe\.directory"):
        Repository.open(tree)
    (tree / ".gitconfig").write_text(f"[safe]\n\tdirectory = {tree}\n")
    assert Repository.open(tree).root == tree


def test_settings_of_a_developer_are_read_in_one_go(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of several values counts, the tree's own before the user's, and what has no value is not set."""
    home = tree.parent / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    names = ("tree", "cpu", "note")
    assert user_settings(tree, "reviewbot", names) == {}
    (home / ".gitconfig").write_text("[reviewbot]\n\ttree = /of/the/user\n\tcpu = user\n\tcpus = no\n\tnote\n")
    git(tree, "config", "ReviewBot.CPU", "power9")
    git(tree, "config", "--add", "reviewbot.cpu", "power 10 = x\nsecond line")
    assert user_settings(tree, "reviewbot", names) == {"tree": "/of/the/user", "cpu": "power 10 = x\nsecond line"}
    for name, value in user_settings(tree, "reviewbot", names).items():
        asked = subprocess.run(
            ["git", "config", "--get", f"reviewbot.{name}"], cwd=tree, capture_output=True, check=True
        )
        assert asked.stdout.decode() == f"{value}\n"


def test_a_repository_tells_the_length_of_its_ids(tree: Path, tmp_path: Path) -> None:
    assert Repository.open(tree).id_digits == 40
    for kind, digits in (("sha1", 40), ("sha256", 64)):
        (tmp_path / kind).mkdir()
        git(tmp_path / kind, "init", "-q", f"--object-format={kind}")
        assert Repository.open(tmp_path / kind).id_digits == digits  # before the first commit
        commit(tmp_path / kind, SOURCES, "First")
        assert Repository.open(tmp_path / kind).id_digits == digits
