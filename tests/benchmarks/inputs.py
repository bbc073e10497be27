"""What the benchmarks work on: generated mails, edits and series. All of it is made here."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

_BODY = "This moves the check in front of the loop, where it is cheap.\n\nSigned-off-by: Ann Author <ann@example.org>\n"


def write_mails(path: Path, count: int) -> Path:
    """An mbox of `count` list mails: series of four patches, replies, and talk, in several encodings."""
    chance = random.Random(count)
    with path.open("wb") as mbox:
        for number in range(count):
            series, place = divmod(number, 6)
            subject = f"[PATCH v{series % 3 + 1} {place}/4] mm: move check {series}" if place < 5 else f"Talk {series}"
            encoding = chance.choice(("7bit", "8bit", "quoted-printable"))
            text = _patch(number) if place in (1, 2, 3, 4) else "Für alle: ".encode() + b"words " * 200 + b"\n"
            text = text.replace(b"=", b"=3D") if encoding == "quoted-printable" else text
            reply = f"In-Reply-To: <{series}-0@example.org>\n" if place else ""
            head = (
                f"From ann@example.org Thu Jan  1 00:00:00 2024\nFrom: Ann Author <ann@example.org>\n"
                f"To: list@example.org\nSubject: {subject}\nDate: Mon, 1 Jan 2024 {number % 24:02}:00:00 +0000\n"
                f"Message-ID: <{series}-{place}@example.org>\n{reply}MIME-Version: 1.0\n"
                f"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: {encoding}\n\n"
            )
            mbox.write(head.encode() + text + b"\n")
    return path


def _patch(number: int) -> bytes:
    lines = b"".join(b" \tline_%d(%d);\n" % (line, number) for line in range(40))
    name = b"mm/file%d.c" % (number % 50)
    head = b"---\n %s | 1 +\n 1 file changed, 1 insertion(+)\n\ndiff --git a/%s b/%s\n" % (name, name, name)
    change = b"--- a/%s\n+++ b/%s\n@@ -1,40 +1,41 @@\n%s+\tnew_line();\n" % (name, name, lines)
    return _BODY.encode() + head + change + b"-- \n2.43.0\n"


def git(tree: Path, *arguments: str) -> str:
    """Run git as its user would; the benchmark ends if it fails."""
    names = {f"GIT_{who}_{what}": "ann@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(["git", *arguments], cwd=tree, env={**os.environ, **names}, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def files_with(tree: Path, word: str, count: int, below: str = "*.c") -> list[str]:
    """`count` files that hold a word, spread over the tree."""
    found = git(tree, "grep", "-l", "-w", word, "--", below).splitlines()
    return found[:: max(1, len(found) // count)][:count]


def append(tree: Path, paths: Sequence[str], text: str) -> None:
    """Add lines at the end of files, as an edit that changes them but nothing that they do."""
    for path in paths:
        with (tree / path).open("a", encoding="utf-8") as file:
            file.write(text)


def make_series(tree: Path, paths: Sequence[str], mbox: Path) -> Path:
    """An mbox with a patch for each path, against HEAD; the tree is as before afterwards. There is no cover letter, on
    which `git am` would stop."""
    base = git(tree, "rev-parse", "HEAD")
    for number, path in enumerate(paths):
        append(
            tree, [path], f"\nstatic int benchmark_{number}(int __user *to)\n{{\n\treturn put_user({number}, to);\n}}\n"
        )
        git(tree, "commit", "-q", "--no-verify", "-a", "-m", f"Add a function to {path}")
    mbox.write_text(git(tree, "format-patch", "--stdout", "--thread", f"{base}..") + "\n", "utf-8")
    git(tree, "reset", "-q", "--hard", base)
    return mbox
