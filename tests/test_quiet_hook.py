"""The hook's short cut says "nothing here" only when that is certain."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reviewbot.frontends import quiet_hook
from reviewbot.frontends.quiet_hook import is_far_from_user_access, is_quiet, look_at_staged, remember_words
from reviewbot.git import Repository
from reviewbot.rulebook.book import load_rulebook
from reviewbot.series.from_git import series_from_staged

ACCESSES = frozenset({b"get_user", b"user_access_end"})
MARKS = frozenset({b"inline", b"notrace"})
HEAD = "diff --git a/x.c b/x.c\n--- a/x.c\n+++ b/x.c\n@@ -1,9 +1,9 @@\n"


def quiet(body: str, head: str = HEAD) -> bool:
    return is_far_from_user_access((head + body).encode(), ACCESSES, MARKS)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(" int f(void)\n {\n-\treturn 1;\n+\treturn 2;\n }\n", id="plain-function"),
        pytest.param(" static inline int g(void)\n {\n }\n int f(void)\n {\n+\tg();\n }\n", id="inline-before-it"),
        pytest.param(" int f(void)\n {\n+\tg();\n }\n static inline int g(void)\n {\n }\n", id="inline-behind-it"),
        pytest.param(" struct s {\n+\tint a;\n };\n", id="a-struct-in-a-file-without-accesses"),
    ],
)
def test_nothing_here_can_matter(body: str) -> None:
    assert quiet(body)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("+\tget_user(a, b);\n", id="an-access-is-added"),
        pytest.param("-\tget_user(a, b);\n", id="an-access-goes"),
        pytest.param(
            " int g(void)\n {\n \tget_user(a, b);\n }\n int f(void)\n {\n+\tg();\n }\n", id="elsewhere-in-the-file"
        ),
        pytest.param(" static inline int f(void)\n {\n+\tg();\n }\n", id="body-of-an-inline-function"),
        pytest.param(" static inline int\n f(void)\n {\n \tint a;\n out:\n+\tg();\n }\n", id="behind-a-label"),
        pytest.param("-int notrace f(void)\n+int f(void)\n {\n }\n", id="loses-notrace"),
        pytest.param("+#define F(x) g(x)\n", id="a-macro"),
        pytest.param(" #define F(x) \\\n-\tg(x) \\\n \th(x)\n", id="a-line-of-a-macro-goes"),
        pytest.param(" # define F(x) \\\n+\tg(x)\n", id="the-body-of-a-macro"),
        pytest.param(" inline int f(void)\n {\n \tg();\n-}\n+ }\n", id="the-brace-itself"),
    ],
)
def test_everything_else_gets_the_review(body: str) -> None:
    assert not quiet(body)


def test_only_c_files_count() -> None:
    assert quiet("+get_user\n", HEAD.replace("x.c", "x.rst"))
    assert not quiet("+get_user\n", HEAD.replace("x.c", "x.h"))
    assert not quiet("+get_user\n", 'diff --git "a/\\303\\245.c" "b/\\303\\245.c"\n@@ -1 +1 @@\n')


def test_a_binary_c_file_gets_the_review() -> None:
    assert not quiet("Binary files a/x.c and b/x.c differ\n", "diff --git a/x.c b/x.c\nindex 1..2\n")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / "tree"
    root.mkdir()
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    (root / "plain.c").write_text("int f(void)\n{\n\treturn 1;\n}\n")
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return root


def stage(root: Path, name: str, text: str) -> None:
    (root / name).write_text(text)
    subprocess.run(["git", "add", name], cwd=root, check=True)


def test_without_remembered_words_everything_is_reviewed(repository: Path) -> None:
    stage(repository, "a.rst", "text\n")
    assert not is_quiet(repository)


def test_a_harmless_commit_is_quiet_and_an_access_is_not(repository: Path) -> None:
    remember_words(load_rulebook())
    stage(repository, "plain.c", "int f(void)\n{\n\treturn 2;\n}\n")
    assert is_quiet(repository)
    stage(repository, "other.c", "int g(int __user *p)\n{\n\treturn put_user(1, p);\n}\n")
    assert not is_quiet(repository)


def test_what_moves_is_reviewed_unless_it_is_text(repository: Path) -> None:
    """Whole files that only move show no line, but another architecture or another Makefile may count there."""
    remember_words(load_rulebook())
    stage(repository, "a.rst", "text\n" * 20)
    subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "-m", "x"], cwd=repository, check=True
    )
    subprocess.run(["git", "mv", "a.rst", "b.rst"], cwd=repository, check=True)
    assert is_quiet(repository)
    subprocess.run(["git", "mv", "b.rst", "b.c"], cwd=repository, check=True)
    assert not is_quiet(repository)
    subprocess.run(["git", "mv", "b.c", "a.rst"], cwd=repository, check=True)
    subprocess.run(["git", "mv", "plain.c", "other.c"], cwd=repository, check=True)
    assert not is_quiet(repository)


def test_the_review_takes_the_diff_that_was_looked_at(repository: Path) -> None:
    remember_words(load_rulebook())
    lines = [f"int a{number};" for number in range(40)]
    stage(repository, "plain.c", "\n".join(lines))
    stage(repository, "other.c", "int g(int __user *p)\n{\n\treturn put_user(1, p);\n}\n")
    quiet_now, staged = look_at_staged(repository)
    assert not quiet_now and staged is not None
    asked_again = series_from_staged(Repository.open(repository))
    assert series_from_staged(Repository.open(repository), staged) == asked_again
    damaged = staged.replace(b"+int a39;", b"?int a39;")
    assert series_from_staged(Repository.open(repository), damaged) == asked_again


def test_words_of_other_rules_do_not_count(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_words(load_rulebook())
    monkeypatch.setattr(quiet_hook, "_rules_stamp", lambda: b"other")
    assert not is_quiet(repository)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def blank(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b" put_user", b"\0put_user"))


def replace_by_link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("elsewhere")))


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(cut, id="cut off"),
        pytest.param(blank, id="a changed byte"),
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.write_bytes(b"\n\n\n"), id="lines alone"),
        pytest.param(lambda path: path.chmod(0o620), id="the group may write"),
        pytest.param(lambda path: path.chmod(0o602), id="everybody may write"),
        pytest.param(replace_by_link, id="a link"),
        pytest.param(lambda path: (path.unlink(), os.mkfifo(path)), id="a pipe"),
    ],
)
def test_words_that_are_not_whole_and_ours_do_not_count(repository: Path, damage: Callable[[Path], object]) -> None:
    """Too few of them would let an access or an annotation pass in silence."""
    remember_words(load_rulebook())
    stage(repository, "a.rst", "text\n")
    assert is_quiet(repository)
    damage(repository.parent / "cache" / "reviewbot" / "hook-words")
    assert not is_quiet(repository)
    remember_words(load_rulebook())
    assert is_quiet(repository)


def test_words_of_another_user_do_not_count(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_words(load_rulebook())
    stage(repository, "a.rst", "text\n")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not is_quiet(repository)


def test_a_rule_of_the_same_size_and_an_earlier_time_is_another(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    shutil.copytree(load_rulebook().directory, package / "shipped_rules")
    (package / "rulebook").mkdir()
    monkeypatch.setattr(quiet_hook, "__file__", str(package / "frontends" / "quiet_hook.py"))
    remember_words(load_rulebook())
    stage(repository, "a.rst", "text\n")
    assert is_quiet(repository)
    rule = package / "shipped_rules" / "primitives" / "arm.toml"
    os.utime(rule, ns=(0, rule.stat().st_mtime_ns - 1_000_000_000))
    assert not is_quiet(repository)


def test_without_a_home_there_are_no_words(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", refuse)
    remember_words(load_rulebook())
    assert not is_quiet(repository)


def test_before_the_first_commit_everything_is_reviewed(repository: Path, tmp_path: Path) -> None:
    remember_words(load_rulebook())
    empty = tmp_path / "empty"
    empty.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=empty, check=True)
    stage(empty, "plain.c", "int f(void)\n{\n}\n")
    assert not is_quiet(empty)


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    remember_words(load_rulebook())


def test_a_macro_that_only_stands_nearby_is_no_reason_to_look() -> None:
    assert quiet(" #define pr_fmt(x) x\n \n-static int a;\n+static int b;\n")


def test_a_hook_without_options_wishes_what_the_command_line_gives_without_any() -> None:
    """It is answered without the parser, which must say the same."""
    from reviewbot.frontends.hook import hook
    from reviewbot.frontends.options import to_wish
    from reviewbot.frontends.wish import Wish

    with hook.make_context("hook", []) as context:
        given = dict(context.params)
    assert to_wish(given) == Wish()
    assert given == {
        "arguments": (),
        "push": False,
        "install": False,
        "uninstall": False,
        "force": False,
        "strict": False,
    }
