"""Input that was made to break a reviewer: each kind has a right answer, and time and memory stay bounded.

Sizes are small here; the same kinds hold at their full size (tests/hostile_sizes.py makes them).
"""

from __future__ import annotations

import base64
import gzip
import resource
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from reviewbot.errors import InputError
from reviewbot.findings.inspection import Inspection
from reviewbot.findings.review import Outcome, Review
from reviewbot.git import Repository
from reviewbot.mail.limits import DEFAULT_LIMITS, Limits
from reviewbot.mail.mailbox import read_mail_bytes
from reviewbot.pipeline import ReviewOptions, review, review_on_tree, review_range
from reviewbot.report.formats import FORMATS
from reviewbot.report.view import View
from reviewbot.rulebook.book import Rulebook, load_rulebook
from reviewbot.rulebook.limits import CodeLimits
from reviewbot.rules.bounded import inspect_bounded
from reviewbot.rules.inspection import inspect
from reviewbot.series.from_mail import choose_series, find_series
from reviewbot.source.folder_tree import FolderTree
from reviewbot.source.tree import SourceTree
from tests.expectations import small_tree
from tests.hostile_sizes import C_FILES, FUNCTION
from tests.repositories import commit, git, make_repository, write
from tests.trees import MemoryTree

C_FILE = "arch/powerpc/kernel/hostile.c"
CPU_S = 20  # of one case; the slowest takes a tenth of it on an old laptop


@cache
def book() -> Rulebook:
    return load_rulebook()


def mail(diff: str, *, subject: str = "[PATCH] powerpc: Change it", **headers: str) -> bytes:
    fields = {"From": "Jane Roe <jane@example.org>", "Subject": subject, "Message-ID": "<1@example.org>"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return f"{head}\nIt is better so.\n\nSigned-off-by: Jane Roe <jane@example.org>\n---\n\n{diff}".encode(
        "utf-8", "surrogateescape"
    )


def added(path: str, text: str = "int x;\n") -> str:
    lines = text.split("\n")[:-1]
    body = "".join(f"+{line}\n" for line in lines)
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{len(lines)} @@\n{body}"


def reviewed(raw: bytes, tree: SourceTree | None = None, limits: Limits = DEFAULT_LIMITS) -> Review:
    found = find_series(read_mail_bytes(raw, "hostile.mbox", limits=limits).messages, limits=limits)
    return review(choose_series(found), tree or MemoryTree(small_tree()), ReviewOptions(), book())


def inspected(text: str | bytes) -> Inspection:
    return inspect(MemoryTree({**small_tree(), C_FILE: text}), [C_FILE], book())


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """No case takes more processor time or memory than is reasonable on any machine."""
    began = resource.getrusage(resource.RUSAGE_SELF)
    yield
    ended = resource.getrusage(resource.RUSAGE_SELF)
    assert ended.ru_utime - began.ru_utime < CPU_S
    assert ended.ru_maxrss - began.ru_maxrss < 600_000, "kilobytes"


# --- paths

UNSAFE = {
    "climbs out": "../../etc/passwd",
    "climbs out in the middle": "fs/../../../etc/passwd",
    "is absolute": "/etc/passwd",
    "is absolute on Windows": "C:/autoexec.bat",
    "climbs out with backslashes": "..\\..\\etc\\passwd",
    "is in .git": ".git/hooks/post-checkout",
    "is in .git of a folder": "fs/.git/config",
    "is in .GIT": ".GIT/config",
    "is .git with an invisible character": ".g\u200cit/config",
    "is the short name of .git": "GIT~1/config",
    "is .git with a full width letter": ".\uff47it/config",
    "is .git with a trailing blank": ".git /config",
    "is a dot": "./fs/read.c",
    "has an empty part": "fs//../x.c",
    "has a NUL": "fs/a\\000b.c",
    "is endless": "a/" * 3000 + "x.c",
}


@pytest.mark.parametrize("path", UNSAFE.values(), ids=UNSAFE.keys())
def test_a_path_that_leaves_the_tree_costs_its_file_and_is_said(path: str) -> None:
    """The file is a problem of its patch, nothing is read or written there, and the other file is reviewed."""
    raw = added(path)
    if "\\0" in path or "\\" in path:
        raw = raw.replace(f"a/{path}", f'"a/{path}"').replace(f"b/{path}", f'"b/{path}"')
    made = reviewed(mail(raw + added(C_FILE, FUNCTION % "")))
    assert made.patches[0].outcome is Outcome.PARTIAL
    assert made.gaps and "\n" not in made.gaps[0].reason
    assert all(finding.place.path == C_FILE for finding in made.findings)


def test_links_in_a_tree_are_not_followed(tmp_path: Path) -> None:
    """A link to a file, to a folder and to itself: none of them is a source of the tree."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.c").write_text(FUNCTION % "")
    root = tmp_path / "tree"
    write(root, {"fs/real.c": "int x;\n"})
    (root / "fs/link.c").symlink_to(outside / "secret.c")
    (root / "folder").symlink_to(outside)
    (root / "loop.c").symlink_to("loop.c")
    tree = FolderTree(root)
    assert list(tree.paths()) == ["fs/real.c"]
    assert [tree.read(path) for path in ("fs/link.c", "folder/secret.c", "loop.c", "../outside/secret.c")] == [None] * 4
    assert tree.search(["user_write_access_begin"])["user_write_access_begin"] == ()


def test_links_in_a_commit_are_not_followed(tmp_path: Path) -> None:
    """A link that git stores is a text, and no way out of the tree or to another file of it."""
    repository = make_repository(tmp_path / "linux", small_tree())
    (repository / "fs-link.c").symlink_to("/etc/passwd")
    (repository / "folder").symlink_to("arch")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "Links")
    made = review_range(Repository.open(repository), "HEAD", ReviewOptions(), book())
    assert made.findings == () and made.patches[0].outcome is Outcome.NOTHING_TO_REVIEW


@pytest.mark.parametrize("names", [("fs/A.c", "fs/a.c"), ("fs/\u00e9.c", "fs/e\u0301.c")], ids=["case", "unicode"])
def test_names_that_clash_on_some_disks_are_two_files(names: tuple[str, str]) -> None:
    """Applying happens in memory, where names are bytes: both files are added, and neither hides the other."""
    raw = "".join(added(name, FUNCTION.replace("hostile", f"f{at}") % "flush_it();") for at, name in enumerate(names))
    made = reviewed(mail(raw))
    assert made.patches[0].outcome in (Outcome.REVIEWED, Outcome.PARTIAL)
    assert {gap.path for gap in made.gaps} | {found.place.path for found in made.findings} == set(names)


def test_a_repository_runs_nothing(tmp_path: Path) -> None:
    """Hooks, filters, textconv, an external diff, fsmonitor and an alias that leave a file behind when they run."""
    repository = make_repository(tmp_path / "linux", small_tree())
    mark = tmp_path / "was-run"
    evil = f"touch {mark}"
    for key in (
        "core.fsmonitor", "diff.external", "diff.evil.textconv", "diff.evil.command", "filter.evil.clean",
        "filter.evil.smudge", "filter.evil.process", "core.pager", "core.sshCommand", "core.editor", "alias.cat-file",
        "uploadpack.packObjectsHook", "gpg.program", "core.alternateRefsCommand",
    ):  # fmt: skip
        git(repository, "config", key, evil)
    write(repository, {".gitattributes": "* filter=evil diff=evil\n"})
    for hook in ("post-checkout", "pre-commit", "post-index-change", "fsmonitor-watchman"):
        file = repository / ".git/hooks" / hook
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{evil}\n")
        file.chmod(0o755)
    git(repository, "config", "core.hooksPath", "/nonexistent")  # for our own commit below
    git(repository, "-c", "core.fsmonitor=false", "-c", "filter.evil.clean=cat", "-c", "filter.evil.process=",
        "commit", "-q", "--allow-empty", "-m", "Second")  # fmt: skip
    git(repository, "config", "--unset", "core.hooksPath")
    mark.unlink(missing_ok=True)
    opened = Repository.open(repository)
    review_range(opened, "HEAD", ReviewOptions(), book())
    series = choose_series(find_series(read_mail_bytes(mail(added(C_FILE)), "x").messages))
    review_on_tree(series, opened, ReviewOptions(), book())
    opened.paths_unlike_index()
    opened.diff_of_index("HEAD")
    assert not mark.exists()


def test_submodules_and_alternates_are_not_opened(tmp_path: Path) -> None:
    """A submodule is a change of an id; an alternate that is not there makes no difference."""
    repository = make_repository(tmp_path / "linux", small_tree())
    (repository / ".git/objects/info").mkdir(exist_ok=True)
    (repository / ".git/objects/info/alternates").write_text("/nonexistent/objects\n../../../outside\n")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},fs/sub")
    commit(repository, {".gitmodules": '[submodule "x"]\n\tpath = fs/sub\n\turl = ext::touch x\n'}, "Submodule")
    made = review_range(Repository.open(repository), "HEAD", ReviewOptions(), book())
    assert made.findings == ()


# --- diffs

ABSURD = {
    "start beyond any file": "@@ -99999999999999999999,1 +99999999999999999999,1 @@\n-a\n+b\n",
    "count beyond any file": "@@ -1,99999999999999999999 +1,1 @@\n-a\n+b\n",
    "negative": "@@ --1,1 +1,1 @@\n-a\n+b\n",
    "counts that lie": "@@ -1,5 +1,1 @@\n-a\n+b\n",
    "all zero": "@@ -0,0 +0,0 @@\n",
    "a number of 10,000 digits": f"@@ -1,1 +1,{'9' * 10_000} @@\n-a\n+b\n",
    "no hunk": "",
    "overlapping": "@@ -1,1 +1,1 @@\n-a\n+b\n@@ -1,1 +1,1 @@\n-a\n+b\n",
}


@pytest.mark.parametrize("hunk", ABSURD.values(), ids=ABSURD.keys())
def test_a_hunk_with_absurd_numbers_is_said_and_costs_nothing_else(hunk: str) -> None:
    """The patch is not called reviewed, and the file beside it is."""
    path = "arch/powerpc/kernel/other.c"
    raw = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{hunk}"
    made = reviewed(mail(added(C_FILE, FUNCTION % "") + raw), MemoryTree({**small_tree(), path: "a\nc\n"}))
    assert made.patches[0].outcome in (Outcome.NOT_APPLIED, Outcome.PARTIAL, Outcome.UNREADABLE)
    assert made.patches[0].reason


def test_very_many_files_are_a_gap_beyond_the_limit() -> None:
    """Files up to the limit are read, the rest is said."""
    raw = mail("".join(added(f"fs/file{at}.c") for at in range(400)))
    assert reviewed(raw).patches[0].outcome is Outcome.NOTHING_TO_REVIEW
    made = reviewed(raw, limits=Limits(files_per_patch=100))
    assert made.patches[0].outcome is Outcome.PARTIAL
    assert "100 files" in made.gaps[0].reason


def test_a_diff_beyond_the_limit_is_a_gap() -> None:
    """A diff that is too large is cut, and that is said."""
    made = reviewed(mail(added(C_FILE, "int x;\n" * 30_000)), limits=Limits(diff_bytes=100_000))
    assert made.patches[0].outcome in (Outcome.UNREADABLE, Outcome.PARTIAL)
    assert made.gaps


# --- mails


def nested(depth: int, inner: str) -> bytes:
    text = f"Content-Type: text/plain\n\n{inner}"
    for level in range(depth):
        text = f'Content-Type: multipart/mixed; boundary="b{level}"\n\n--b{level}\n{text}\n--b{level}--\n'
    return (
        f"From: J <j@example.org>\nSubject: [PATCH] x\nMessage-ID: <1@example.org>\nMIME-Version: 1.0\n{text}".encode()
    )


def test_parts_nested_a_thousand_deep_are_said() -> None:
    """The inner parts are not read; the patch is unreadable and not clean."""
    made = reviewed(nested(1000, added(C_FILE)))
    assert made.patches[0].outcome is Outcome.UNREADABLE
    assert "deep" in made.patches[0].reason


def encoded(body: bytes, encoding: str) -> bytes:
    head = "From: J <j@example.org>\nSubject: [PATCH] x\nMessage-ID: <1@example.org>\n"
    head += f"Content-Transfer-Encoding: {encoding}\n\n"
    return head.encode() + body


def test_encoded_bombs_are_bounded_by_the_size_of_the_mail() -> None:
    """Neither encoding can make more bytes than it takes; a mail above the limit is cut, and that is said."""
    limits = Limits(message_bytes=200_000)
    text = added(C_FILE, "int x;\n" * 100_000).encode()
    for raw in (
        encoded(base64.encodebytes(text), "base64"),
        encoded(b"=41" * 300_000, "quoted-printable"),
        encoded(b"=\n" * 300_000, "quoted-printable"),
        encoded(b"=" * 600_000, "base64"),
    ):
        found = read_mail_bytes(raw, "x", limits=limits)
        assert len(found.messages[0].body) <= limits.message_bytes
        assert found.problems


def test_a_gzip_bomb_is_unpacked_to_the_limit_only() -> None:
    """Two gzip layers, and many members, end at the limit; what was left out is said."""
    limits = Limits(input_bytes=1_000_000, message_bytes=500_000)
    bomb = gzip.compress(b"From a@b Thu Jan  1 00:00:00 1970\nSubject: x\n\n" + bytes(50_000_000))
    assert read_mail_bytes(bomb, "x", limits=limits).problems
    assert read_mail_bytes(bomb * 3, "x", limits=limits).problems
    with pytest.raises(InputError):
        read_mail_bytes(gzip.compress(bomb), "x", limits=limits)


INJECTED = "x\r\nBcc: victim@example.org\r\n\r\n<b>body</b>\x1b[2J\u202e\u2066\x00[red]::error::"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("where", ["subject", "author", "id", "path", "code"])
def test_nothing_in_a_mail_gets_into_a_report_raw(name: str, where: str) -> None:
    """No line end of the input begins a header or an annotation, and no control or bidi character is left."""
    quoted = base64.b64encode(INJECTED.encode()).decode()
    word = f"=?utf-8?B?{quoted}?="
    headers = {
        "subject": {"subject": f"[PATCH] {word}"},
        "author": {"From": f"{word} <jane@example.org>"},
        "id": {"Message_ID": f"<1{INJECTED[:1]}\x1b[2J\u202e@example.org>"},
    }.get(where, {})
    path = "arch/powerpc/kernel/\u202ea<b>[red]::x.c" if where == "path" else C_FILE
    code = f"flush_it(); /* {INJECTED.replace(chr(13), '').replace(chr(10), '').replace(chr(0), '')} */"
    made = reviewed(mail(added(path, FUNCTION % (code if where == "code" else "flush_it();")), **headers))
    text = FORMATS[name].render(made, View())
    assert not {char for char in text if not char.isprintable()} - {"\n", "\t", "\u00a0"}
    assert not any(line.startswith(("Bcc:", "::error::\n")) for line in text.split("\n"))
    if name == "html":
        assert "<b>" not in text


# --- C


@pytest.mark.parametrize("name", C_FILES)
def test_c_of_any_shape_is_read_in_bounds(name: str) -> None:
    """Nothing is raised; and where the block in the function was not followed, a gap says so."""
    sys.setrecursionlimit(1000)
    seen = inspected(C_FILES[name](60))
    assert seen.blocks_seen or seen.gaps or seen.observations


def test_what_takes_too_long_is_a_gap_of_that_file_alone() -> None:
    """The last resort: the file is given up, said, and the file beside it is reviewed."""
    text = "".join(f"if (x == {i}) user_access_begin(p, {i});\nif (x == {i}) user_access_end();\n" for i in range(2000))
    slow = (FUNCTION % "").replace("return 0;", text)
    tree = MemoryTree({**small_tree(), C_FILE: slow, "arch/powerpc/kernel/a.c": FUNCTION % "flush_it();"})
    hasty = replace(book(), limits=CodeLimits(stage_s=1.5, file_s=0.7))
    seen = inspect_bounded(tree, ["arch/powerpc/kernel/a.c", C_FILE], hasty)
    said = "the file takes longer than 0.7 s to read (limits.code.file_s and stage_s), and was not reviewed"
    assert (C_FILE, said) in {(gap.path, gap.reason) for gap in seen.gaps}
    assert seen.blocks_seen == 1
