"""Prints the table: each job, its yardstick, the ratio, the target. Nothing is asserted.

REVIEWBOT_KERNEL_TREE is a git repository with a kernel; it is only read: the work is done in a shared
clone that is taken away afterwards. `--quick` measures once instead of five times.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reviewbot.facts.candidates import access_words
from reviewbot.rulebook.book import load_rulebook
from tests.benchmarks.inputs import append, files_with, git, make_series, write_mails
from tests.benchmarks.measuring import Command, Row, compare, compare_sizes, peak_bytes

PYTHON = Path(sys.executable)
REVIEWBOT = (PYTHON, "-m", "reviewbot")
STANDARD_LIBRARY = (
    "import mailbox, sys\nfor m in mailbox.mbox(sys.argv[1]): [p.get_payload(decode=True) for p in m.walk()]"
)
OURS = (
    "import sys; from pathlib import Path; from reviewbot.mail.mailbox import read_mailbox;"
    "from reviewbot.series.from_mail import find_series, sort_mails;"
    "{}(read_mailbox(Path(sys.argv[1])).messages)"
)
ACCESS = "\nstatic int benchmark(int __user *to)\n{\n\treturn put_user(1, to);\n}\n"
FINISHED = (0, 1, 3)


class Bench:
    """A temporary folder with everything in it that is measured."""

    def __init__(self, root: Path, times: int) -> None:
        self.root = root
        self.times = times
        self.cache = root / "cache"
        names = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
        self.environment = {**os.environ, **dict.fromkeys(names, str(self.cache)), "PYTHONPATH": str(Path.cwd())}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled, too

    def run(self, *arguments: str | Path, directory: Path | None = None, cold: bool = False, **more: object) -> Command:
        """A command in this environment; `cold` clears the cache before each run."""
        prepare = {"prepare": self.forget} if cold else {}
        return Command(
            arguments=arguments,
            directory=directory or self.root,
            environment=self.environment,
            accept=FINISHED,
            **{**prepare, **more},  # type: ignore[arg-type]
        )

    def forget(self) -> None:
        shutil.rmtree(self.cache / "reviewbot", ignore_errors=True)


def small_rows(bench: Bench) -> Iterator[Row]:
    """What needs no tree."""
    empty = bench.run(PYTHON, "-c", "pass")
    yield compare("--help", "python -c pass", "4x", bench.run(*REVIEWBOT, "--help"), empty, bench.times)
    mails = {count: write_mails(bench.root / f"{count}.mbox", count) for count in (10_000, 20_000)}
    ours = {count: bench.run(PYTHON, "-c", OURS.format("sort_mails"), path) for count, path in mails.items()}
    theirs = bench.run(PYTHON, "-c", STANDARD_LIBRARY, mails[20_000])
    yield compare("20,000 mails, sorted", "standard library", "1.3x", ours[20_000], theirs, bench.times)
    with_diffs = bench.run(PYTHON, "-c", OURS.format("find_series"), mails[20_000])
    yield compare("and every diff read", "standard library", "", with_diffs, theirs, bench.times)
    yield compare_sizes("growth: twice the mails", "2.1x", ours[10_000], ours[20_000], bench.times)


def tree_rows(bench: Bench, tree: Path) -> Iterator[Row]:
    """What is measured on a kernel."""
    pattern = rf"\b(?:{'|'.join(sorted(access_words(load_rulebook())))})\b"
    grep = bench.run("git", "grep", "-P", pattern, "--", "*.c", "*.h", directory=tree)
    scan = (*REVIEWBOT, "scan", "--format", "json")
    times = bench.times
    yield compare("scan, cold", "git grep -P", "4x", bench.run(*scan, directory=tree, cold=True), grep, times)
    one = bench.run(*scan, "--jobs", "1", directory=tree, cold=True)
    yield compare("scan, cold, --jobs 1", "git grep -P", "", one, grep, 1)
    peak = peak_bytes(bench.run(*scan, directory=tree, cold=True)) >> 20
    yield Row(job="scan, memory", yardstick="", target="400 MB", ratio=f"{peak} MB", note="all processes together")
    changed = [*files_with(tree, "copy_from_user", 5), *files_with(tree, "kfree", 5)]

    def change() -> None:
        append(tree, changed, "\n/* changed */\n")

    yield compare(
        "scan, warm, 10 files changed",
        "git grep -P",
        "1.2x",
        bench.run(*scan, directory=tree, prepare=change),
        grep,
        times,
    )
    git(tree, "checkout", "-q", "--", ".")
    growth = [bench.run(*scan, *paths, directory=tree, cold=True) for paths in (("kernel",), ("kernel", "fs"))]
    count = [len(files_with(tree, "copy_from_user", 10_000, f"{name}/**/*.c")) for name in ("kernel", "fs")]
    row = compare_sizes(f"growth: {sum(count) / max(count[0], 1):.1f} times the files", "", *growth, 1)
    yield row
    yield from _series_rows(bench, tree)
    yield from _hook_rows(bench, tree)


def _series_rows(bench: Bench, tree: Path) -> Iterator[Row]:
    paths = files_with(tree, "put_user", 20)
    series = {count: make_series(tree, paths[:count], bench.root / f"series{count}.mbox") for count in (10, 20)}
    applied = bench.root / "applied"

    def fresh() -> None:
        if applied.exists():
            git(tree, "worktree", "remove", "--force", str(applied))

    def add() -> None:
        fresh()

    without_hooks = f"git -C {applied} -c core.hooksPath=/dev/null"
    script = f"git worktree add -q --detach {applied} HEAD && {without_hooks} am -q {series[10]}"
    apply = bench.run("sh", "-c", script, directory=tree, prepare=add)
    review = {n: (*REVIEWBOT, "review", path, "--tree", tree, "--format", "json") for n, path in series.items()}
    cold = {n: bench.run(*command, cold=True) for n, command in review.items()}
    yield compare("review of 10 patches, cold", "git am in a new worktree", "1x", cold[10], apply, bench.times)
    warm = bench.run(*review[10])
    warm.seconds()
    yield compare("the same, warm", "git am in a new worktree", "0.3x", warm, apply, bench.times)
    fresh()
    yield compare_sizes("growth: twice the patches", "2.1x", cold[10], cold[20], bench.times)


def _hook_rows(bench: Bench, tree: Path) -> Iterator[Row]:
    yardstick = bench.run("sh", "-c", f"git diff --cached >/dev/null; {PYTHON} -c pass", directory=tree)
    hook = bench.run(*REVIEWBOT, "hook", directory=tree)

    def stage(path: str, text: str) -> None:
        append(tree, [path], text)
        git(tree, "add", "--force", path)  # a kernel from a package may ignore its own files

    path = files_with(tree, "put_user", 40)[0]
    stage(path, ACCESS)
    hook.seconds()
    another = bench.run(*REVIEWBOT, "hook", directory=tree, prepare=lambda: stage(path, "/* another commit */\n"))
    name = "git diff --cached; python -c pass"
    yield compare("hook, user access touched", name, "6x", another, yardstick, bench.times)
    yield compare("the same commit once more", name, "6x", hook, yardstick, bench.times)
    git(tree, "reset", "-q", "--hard")
    stage(next(path for path in files_with(tree, "kfree", 40) if _is_plain(tree, path)), "\nint benchmark;\n")
    yield compare("hook, none touched", name, "3x", hook, yardstick, bench.times)
    git(tree, "reset", "-q", "--hard")


def _is_plain(tree: Path, path: str) -> bool:
    text = (tree / path).read_text("utf-8", "replace")
    return not any(word in text for word in ("_user", "user_", "notrace"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="measure once")
    parser.add_argument("--only", choices=["small", "tree"], help="half of the table")
    chosen = parser.parse_args()
    kernel = os.environ.get("REVIEWBOT_KERNEL_TREE")
    with tempfile.TemporaryDirectory(prefix="reviewbot-bench-") as folder:
        bench = Bench(Path(folder), 1 if chosen.quick else 5)
        print(f"{'job':<34}{'yardstick':<36}{'ratio':>9}  {'target':<8}seconds")
        if chosen.only != "tree":
            _print(small_rows(bench))
        if chosen.only == "small":
            return
        if kernel is None:
            print("The rows about a tree need REVIEWBOT_KERNEL_TREE, a git repository with a kernel; it is not set.")
            return
        tree = bench.root / "linux"
        git(bench.root, "clone", "-q", "--shared", kernel, str(tree))
        _print(tree_rows(bench, tree))


def _print(rows: Iterator[Row]) -> None:
    for row in rows:
        print(f"{row.job:<34}{row.yardstick:<36}{row.ratio:>9}  {row.target:<8}{row.note}", flush=True)


if __name__ == "__main__":
    main()
