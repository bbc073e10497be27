"""Scans of whole trees, as their users meet them and as their processes live and die."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from reviewbot.facts import workers
from reviewbot.facts.candidates import find_candidates
from reviewbot.facts.workers import Job, inspect_all, to_batches, to_shares
from reviewbot.findings.inspection import Inspection
from reviewbot.findings.review import Base
from reviewbot.git import Repository
from reviewbot.pipeline import ReviewOptions
from reviewbot.rulebook.book import load_rulebook
from reviewbot.rules.inspection import Inspector
from reviewbot.scanning import ScanOptions, scan, tree_of
from reviewbot.source.folder_tree import FolderTree
from tests.expectations import small_tree
from tests.repositories import commit, git, make_repository, write
from tests.test_pipeline import FILL, FILL_TEXT, FRAME, FRAME_TEXT

BOOK = load_rulebook()
COPY = """\
#include <linux/kernel.h>
#include <linux/uaccess.h>

int get_word(unsigned int *word, const unsigned int __user *from)
{
	return copy_from_user(word, from, sizeof(*word)) ? -EFAULT : 0;
}
"""
PLACES = ("kernel/word.c", "drivers/demo/word.c", "tools/word.c", "scripts/word.c", "samples/word.c", "usr/word.c")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "linux", {**small_tree(), **dict.fromkeys(PLACES, COPY)})


def call(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a user does, in the tree."""
    cache = tree.parent / "cache"
    environment = {"PATH": os.environ["PATH"], "HOME": str(tree.parent), "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-m", "reviewbot", "scan", *arguments]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def found(done: subprocess.CompletedProcess[str]) -> list[tuple[str, str, str]]:
    report = json.loads(done.stdout)
    return [(each["path"], each["function"], each["rule"]) for each in report["findings"]]


def test_everything_in_the_kernel_is_reviewed_and_nothing_else(tree: Path) -> None:
    done = call(tree, "--format", "json", "--all")
    assert done.returncode == 1 and done.stderr == ""
    copies = [path for path, function, rule in found(done) if (function, rule) == ("get_word", "small_copy")]
    assert copies == ["drivers/demo/word.c", "kernel/word.c"]
    places = [(each["path"], each["line"]) for each in json.loads(done.stdout)["findings"]]
    assert places == sorted(places)
    assert {each["status"] for each in json.loads(done.stdout)["findings"]} == {"existing"}


def test_a_path_narrows_it_and_the_second_run_says_the_same(tree: Path) -> None:
    first = call(tree, "kernel", "--format", "json", "--all")
    assert {path.split("/")[0] for path, _, _ in found(first)} == {"kernel"}
    assert call(tree, "./kernel/", "--format", "json", "--all").stdout == first.stdout
    assert call(tree, "kernel", "--format", "json", "--all", "--no-cache").stdout == first.stdout
    assert call(tree, "--tree", str(tree), "kernel/word.c", "--format", "json", "--all").returncode == 1


def test_a_path_is_meant_from_where_the_user_stands(tree: Path) -> None:
    command = [sys.executable, "-m", "reviewbot", "scan", "word.c", "--format", "json", "--no-cache", "--all"]
    done = subprocess.run(command, cwd=tree / "kernel", capture_output=True, text=True, check=False)
    assert found(done) == [("kernel/word.c", "get_word", "small_copy")]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("nowhere",), "no such file or directory", id="no such path"),
        pytest.param(("..",), "outside of the tree", id="outside"),
        pytest.param(("--rev", "v9.9"), "names no commit", id="no such rev"),
        pytest.param(("--jobs", "0"), "--jobs", id="no jobs"),
    ],
)
def test_called_wrongly_is_one_sentence(tree: Path, arguments: Sequence[str], said: str) -> None:
    done = call(tree, *arguments)
    assert done.returncode in (2, 3) and done.stdout == ""
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_a_commit_is_scanned_as_it_was(tree: Path) -> None:
    commit(tree, {"kernel/word.c": "int word;\n"}, "Mend it")
    assert found(call(tree, "kernel", "--format", "json", "--rev", "HEAD~1", "--all"))
    assert not found(call(tree, "kernel/word.c", "--format", "json", "--all"))
    bare = tree.parent / "bare.git"
    git(tree, "clone", "-q", "--bare", str(tree), str(bare))
    assert found(call(tree, "kernel", "--tree", str(bare), "--format", "json", "--rev", "HEAD~1", "--all"))
    assert "--rev" in call(tree, "--tree", str(bare)).stderr


def test_a_folder_without_git_is_scanned(tree: Path, tmp_path: Path) -> None:
    folder = tmp_path / "linux-6.1"
    shutil.copytree(tree, folder, ignore=shutil.ignore_patterns(".git"))
    first = call(folder, "--format", "json", "--all")
    assert found(first) == found(call(tree, "--format", "json", "--all"))
    assert call(folder, "--format", "json", "--all").stdout == first.stdout
    write(folder, {"kernel/word.c": COPY.replace("get_word", "get_it")})
    assert ("kernel/word.c", "get_it", "small_copy") in found(call(folder, "--format", "json", "--all"))


def test_people_read_the_dearest_first_and_a_limit_is_told(tree: Path) -> None:
    options = ScanOptions(review=ReviewOptions(show_all=True), limit=2, is_ranked=True)
    source, origin = tree_of(Repository.open(tree), None)
    made = scan(source, options, BOOK, origin, None)
    whole = scan(source, ScanOptions(review=ReviewOptions(show_all=True)), BOOK, origin, None)
    costs = [each.cost.cycles.typ for each in made.findings]
    assert len(costs) == 2 and costs == sorted(costs, reverse=True)
    assert costs[0] == max(each.cost.cycles.typ for each in whole.findings)
    assert len(made.findings) + len(made.held_back) == len(whole.findings)
    assert {each.reason for each in made.held_back} == {"not among the 2 dearest (--limit)"}
    assert "held back: not among the 1 dearest" in call(tree, "--limit", "1").stdout


def test_a_limit_counts_only_what_is_reported(tree: Path) -> None:
    """What a baseline accepts takes no place of what is new."""
    options = ScanOptions(
        review=ReviewOptions(show_all=True), limit=1, is_accepted=lambda finding: finding.place.path == PLACES[0]
    )
    source, origin = tree_of(Repository.open(tree), None)
    made = scan(source, options, BOOK, origin, None)
    assert sorted(each.place.path == PLACES[0] for each in made.findings) == [False, True]


def test_a_scan_goes_on_where_its_baseline_ends(tree: Path) -> None:
    baseline = str(tree.parent / "baseline.json")
    assert call(tree, "--all", "--write-baseline", baseline).returncode == 1
    again = call(tree, "--all", "--baseline", baseline)
    assert (again.returncode, "matches nothing" in again.stdout) == (0, False)
    renamed = COPY.replace("from", "user_word").replace("word,", "to,").replace("*word", "*to")
    write(tree, {PLACES[0]: f"\n{renamed}", PLACES[1]: "int word;\n"})
    done = call(tree, "--all", "--baseline", baseline)
    assert done.returncode == 0
    assert f"Baseline entry matches nothing: small_copy in {PLACES[1]}, get_word()." in " ".join(done.stdout.split())


MENDABLE = """\
#include <linux/kernel.h>
#include <linux/uaccess.h>

int get_word(unsigned int *word, const unsigned int __user *from)
{
	unsigned int x;

	if (copy_from_user(&x, from, sizeof(x)))
		return -EFAULT;
	*word = x;
	return 0;
}
"""


@pytest.mark.parametrize("rev", [(), ("--rev", "HEAD")], ids=["work-tree", "commit"])
def test_a_scan_suggests_changes_that_apply(tree: Path, rev: Sequence[str]) -> None:
    commit(tree, {"kernel/word.c": MENDABLE}, "A copy that get_user() can do")
    patch = tree.parent / "fix.patch"
    done = call(tree, "kernel", "drivers", "--all", "--format", "sarif", "--fix-patch", str(patch), *rev)
    results = json.loads(done.stdout)["runs"][0]["results"]
    mended = [each["locations"][0]["physicalLocation"] for each in results if "fixes" in each]
    assert [each["artifactLocation"]["uri"] for each in mended] == ["kernel/word.c"]
    git(tree, "apply", "--check", str(patch))
    git(tree, "apply", str(patch))
    assert "get_user(x, from)" in (tree / "kernel/word.c").read_text()
    left = [path for path, _, _ in found(call(tree, "kernel", "drivers", "--all", "--format", "json"))]
    assert "kernel/word.c" not in left and "drivers/demo/word.c" in left


def test_json_of_a_whole_tree_has_edits_when_a_patch_is_asked_for(tree: Path) -> None:
    """Trying out each takes as long as the scan."""
    commit(tree, {"kernel/word.c": MENDABLE}, "A copy that get_user() can do")
    for more, is_there in ((), False), (("--fix-patch", str(tree.parent / "fix.patch")), True):
        findings = json.loads(call(tree, "kernel", "--all", "--format", "json", *more).stdout)["findings"]
        assert [bool(finding["edit"]) for finding in findings if finding["path"] == "kernel/word.c"] == [is_there]


def test_a_scan_draws_the_blocks_that_it_has_findings_in(tree: Path) -> None:
    commit(tree, {FRAME: FRAME_TEXT.replace("notrace ", ""), FILL: FILL_TEXT.replace("notrace ", "")}, "Drop notrace")
    picture = tree.parent / "blocks.svg"
    page = call(tree, "arch/powerpc/kernel", "--all", "--format", "html", "--graph", str(picture)).stdout
    assert "frame_tail" in picture.read_text()
    assert "What runs inside the blocks" in page and page.count("<svg") > 1


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_any_number_of_processes_finds_the_same(tree: Path, jobs: int) -> None:
    source, _ = tree_of(Repository.open(tree), None)
    paths = sorted(find_candidates(source, BOOK))
    made, gaps = inspect_all(Job(tree=source, book=BOOK), dict.fromkeys(paths, 1), jobs, lambda done: None)
    assert gaps == [] and [each.path for each in made] == paths
    alone = {path: Inspector(source, BOOK).inspect([path]) for path in paths}
    assert {each.path: each.inspection for each in made} == alone


class Dying(Inspector):
    """Its process is killed at one file: `.always` each time, else the first time alone."""

    always = True

    def inspect(self, paths: Sequence[str]) -> Inspection:  # type: ignore[override]
        mark = Path(os.environ["MARK"])
        if list(paths) == ["kernel/word.c"] and (self.always or not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().inspect(paths)


@pytest.mark.parametrize("always", [True, False], ids=["always", "once"])
def test_a_killed_worker_costs_at_most_its_file(
    tree: Path, always: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    monkeypatch.setattr(Dying, "always", always)
    monkeypatch.setattr(workers, "Inspector", Dying)
    source, origin = tree_of(Repository.open(tree), None)
    made = scan(source, ScanOptions(review=ReviewOptions(show_all=True)), BOOK, origin, None)
    monkeypatch.setattr(workers, "Inspector", Inspector)
    whole = scan(source, ScanOptions(review=ReviewOptions(show_all=True)), BOOK, origin, None)
    lost = [each for each in whole.findings if each.place.path == "kernel/word.c"]
    if always:
        (gap,) = [each for each in made.gaps if each not in whole.gaps]
        assert gap.path == "kernel/word.c" and "ended with exit code -9" in gap.reason
        assert len(made.findings) == len(whole.findings) - len(lost)
    else:
        assert made == whole


def test_a_file_that_takes_too_long_is_a_gap(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Inspector):
        def inspect(self, paths: Sequence[str]) -> Inspection:  # type: ignore[override]
            while list(paths) == ["kernel/word.c"]:
                pass
            return super().inspect(paths)

    monkeypatch.setattr(workers, "Inspector", Slow)
    monkeypatch.setattr(workers, "FILE_TIMEOUT_S", 3.0)
    source, _ = tree_of(Repository.open(tree), None)
    paths = ["kernel/word.c", "drivers/demo/word.c"]
    made, gaps = inspect_all(Job(tree=source, book=BOOK), dict.fromkeys(paths, 1), 2, lambda done: None)
    assert [each.path for each in made] == ["drivers/demo/word.c"]
    assert [(each.path, "longer than" in each.reason) for each in gaps] == [("kernel/word.c", True)]


def test_an_interrupt_ends_it_at_once_and_leaves_no_process(tree: Path) -> None:
    program = (
        "import sys, os; from reviewbot.facts import workers; from reviewbot.frontends.guard import main\n"
        "def stuck(self, paths):\n    print(os.getpid(), flush=True)\n    while True: pass\n"
        "workers.Inspector.inspect = stuck; sys.argv = ['reviewbot', 'scan', '--no-cache']; sys.exit(main())"
    )
    command = [sys.executable, "-c", program]
    running = subprocess.Popen(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    worker = int(running.stdout.readline())
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 130 and said == "reviewbot: interrupted\n"
    deadline = time.monotonic() + 10
    while Path(f"/proc/{worker}/stat").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{worker}/stat").exists()


def test_batches_hold_neighbours_and_shares_are_alike() -> None:
    sizes = {f"fs/{n:02}.c": 10_000 for n in range(90)} | {"mm/big.c": 900_000, "mm/small.c": 5, "kernel/a.c": 7}
    batches = to_batches(sizes)
    assert [path for batch in batches for path in batch] == sorted(sizes)
    assert all(len({path.split("/")[0] for path in batch}) == 1 for batch in batches)
    for count in range(1, len(batches) + 1):
        shares = to_shares(batches, sizes, count)
        assert len(shares) == count and [batch for share in shares for batch in share] == batches
    weights = [sum(sizes[path] for batch in share for path in batch) for share in to_shares(batches, sizes, 2)]
    assert max(weights) < 2 * min(weights)


def test_a_share_that_is_done_takes_from_the_longest(tree: Path) -> None:
    write(tree, {f"fs/many{n}.c": COPY for n in range(60)} | {"kernel/alone.c": COPY})
    git(tree, "add", "-A")
    source, _ = tree_of(Repository.open(tree), None)
    sizes = {path: (1_000_000 if "alone" in path else 1) for path in source.paths() if path.endswith(".c")}
    told: list[int] = []
    found, gaps = inspect_all(Job(tree=source, book=BOOK), sizes, 3, told.append)
    assert [each.path for each in found] == sorted(sizes) and not gaps
    assert told == list(range(1, len(sizes) + 1))


def test_only_files_with_user_access_are_candidates(tree: Path) -> None:
    write(tree, {"kernel/none.c": "int none;\n", "kernel/word.txt": COPY})
    git(tree, "add", "-A")
    here = find_candidates(tree_of(Repository.open(tree), None)[0], BOOK)
    assert "kernel/word.c" in here and not here & {"kernel/none.c", "kernel/word.txt", "tools/word.c"}
    assert find_candidates(FolderTree(tree), BOOK) == here
    assert find_candidates(tree_of(Repository.open(tree), "HEAD")[0], BOOK) == here


def test_the_origin_tells_what_was_read(tree: Path) -> None:
    assert tree_of(Repository.open(tree), None)[1] == Base(
        rev="", how="the tracked files of the work tree, as they are"
    )
    assert tree_of(Repository.open(tree), "HEAD")[1].rev == git(tree, "rev-parse", "HEAD")


def test_the_cache_is_shown_and_cleared(tree: Path) -> None:
    call(tree)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tree.parent), "XDG_CACHE_HOME": str(tree.parent / "cache")}

    def cache(*arguments: str) -> str:
        command = [sys.executable, "-m", "reviewbot", "cache", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    shown = cache()
    assert "1  states of a tree" in shown and " 0.0 MiB" not in shown
    assert "deleted" in cache("clear")
    assert "0.0 MiB of at most" in cache("show")
