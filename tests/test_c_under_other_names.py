"""C that a file of another name holds is reviewed, or said to be missing; texts and other languages are let be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reviewbot.findings.review import Outcome, Review
from reviewbot.frontends.quiet_hook import is_far_from_user_access
from reviewbot.git import Repository
from reviewbot.pipeline import ReviewOptions, review_range
from reviewbot.rulebook.book import load_rulebook
from tests.expectations import small_tree
from tests.repositories import commit, make_repository, write

BOOK = load_rulebook()
INCLUDER = '#include <linux/kernel.h>\n#include <linux/uaccess.h>\n#include "{}"\n'
OLD = "static int word_of(const unsigned int __user *from, unsigned int *word)\n{\n\treturn 0;\n}\n"
NEW = OLD.replace("return 0", "return copy_from_user(word, from, sizeof(*word)) ? -EFAULT : 0")
BLOCK = """\
static int put_word(unsigned int __user *to, unsigned int word)
{
	if (!user_write_access_begin(to, sizeof(*to)))
		return -EFAULT;
	printk("now\\n");
	unsafe_put_user(word, to, out);
	user_write_access_end();
	return 0;
out:
	user_write_access_end();
	return -EFAULT;
}
"""
C_NAMES = [
    "words.inc",
    "words.cpp",
    "words.C",
    "words.cc",
    "words.tbl",
    "words.inl",
    "words.def",
    "words.h_shipped",
    "w.zz",
]
TEXTS = ["kernel/words.rst", "kernel/words.py", "Documentation/words.inc", "scripts/words.cc", "kernel/Makefile.words"]


def reviewed(root: Path, before: dict[str, str], after: dict[str, str]) -> Review:
    tree = make_repository(root / "linux", {**small_tree(), **before})
    commit(tree, after, "kernel/words: Read a word")
    return review_range(Repository.open(tree), "HEAD", ReviewOptions(show_all=False), BOOK)


@pytest.mark.parametrize("name", [*C_NAMES, "words.txt", "words"])
def test_a_patch_to_an_included_file_is_reviewed(tmp_path: Path, name: str) -> None:
    path = f"kernel/{name}"
    made = reviewed(tmp_path, {path: OLD, "kernel/user.c": INCLUDER.format(name)}, {path: NEW + BLOCK})
    assert [(each.rule, each.place.path) for each in made.findings] == [("small_copy", path), ("traced_call", path)]


@pytest.mark.parametrize("path", [*TEXTS, "kernel/words.txt", "kernel/words"])
def test_a_text_that_shows_code_is_none(tmp_path: Path, path: str) -> None:
    made = reviewed(tmp_path, {path: OLD}, {path: NEW + BLOCK})
    assert [each.outcome for each in made.patches] == [Outcome.NOTHING_TO_REVIEW]
    assert [each.reason for each in made.patches] == ["it changes no C source"]
    assert not made.findings
    assert not made.gaps


def test_a_call_into_an_included_file_is_followed(tmp_path: Path) -> None:
    helper = 'static inline void note(void)\n{\n\tprintk("now\\n");\n}\n'
    user = INCLUDER.format("words.inc") + BLOCK.replace('printk("now\\n")', "note()")
    made = reviewed(tmp_path, {"kernel/words.inc": helper}, {"kernel/user.c": user})
    assert [(each.rule, each.place.path) for each in made.findings] == [("traced_call", "kernel/words.inc")]
    assert not made.gaps


@pytest.mark.parametrize("is_repository", [True, False])
def test_a_scan_sees_them(tmp_path: Path, is_repository: bool) -> None:
    root = tmp_path / "linux"
    files = {f"kernel/{name}": NEW for name in C_NAMES} | dict.fromkeys(TEXTS, NEW + BLOCK)
    (make_repository if is_repository else write)(root, {**small_tree(), **files})
    command = [sys.executable, "-m", "reviewbot", "scan", "-C", str(root), "--format", "json", "--all", "--no-cache"]
    report = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).stdout)
    found = [each["path"] for each in report["findings"] if each["path"].removeprefix("kernel/") in {*C_NAMES, *TEXTS}]
    assert found == sorted(f"kernel/{name}" for name in C_NAMES)


def test_the_quick_hook_leaves_them_to_the_review() -> None:
    words = frozenset({b"get_user"}), frozenset({b"inline"})
    head = b"diff --git a/x.inc b/x.inc\n--- a/x.inc\n+++ b/x.inc\n@@ -1,2 +1,2 @@\n"
    assert not is_far_from_user_access(head + b"+\tget_user(a, b);\n", *words)
    assert not is_far_from_user_access(head + b"-\tget_user(a, b);\n", *words)
    assert is_far_from_user_access(head + b" \tget_user(a, b);\n+\tb = a;\n", *words)
