"""What is kept from run to run: it gives what a fresh run gives, and no trouble with it is trouble for the user."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reviewbot.cost import series_budgets
from reviewbot.cost.predictions import SeriesBudgets
from reviewbot.facts import validity
from reviewbot.facts.cache import FactCache
from reviewbot.facts.database import Database
from reviewbot.facts.listing import Listing, list_tree
from reviewbot.facts.packing import pack, unpack
from reviewbot.findings.inspection import Inspection
from reviewbot.findings.review import Base, Review
from reviewbot.git import Repository
from reviewbot.pipeline import ReviewOptions, review_range
from reviewbot.progress import Progress
from reviewbot.rulebook.book import Rulebook, load_rulebook
from reviewbot.rules import bounded
from reviewbot.rules.bounded import Focus
from reviewbot.scanning import ScanOptions, scan, tree_of
from reviewbot.source.states import PatchState
from reviewbot.source.tree import SourceTree
from tests.expectations import small_tree
from tests.repositories import commit, git, make_repository, write

BOOK = load_rulebook()
OPTIONS = ScanOptions(review=ReviewOptions(show_all=True), jobs=1)
SIGNAL = "arch/powerpc/kernel/signal_64.c"
BAD = "arch/powerpc/kernel/put_it.c"
HELPER = "arch/powerpc/kernel/put_it_more.c"
HEADER = "include/linux/put_it.h"
TREE: dict[str, str | bytes] = {
    BAD: """\
#include <linux/kernel.h>
#include <linux/uaccess.h>
#include <linux/put_it.h>

int put_it(unsigned int __user *to, unsigned int value)
{
	if (!user_write_access_begin(to, sizeof(*to)))
		return -EFAULT;
	PUT_ONE(value, to, fault);
	unsafe_put_user(put_it_mix(value), to, fault);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}
""",
    HELPER: """\
#include <linux/kernel.h>

notrace unsigned int put_it_mix(unsigned int value)
{
	return value + 1;
}
""",
    HEADER: """\
#define PUT_ONE(v, to, label) unsafe_put_user(v, to, label)
unsigned int put_it_mix(unsigned int value);
""",
}


class Counting(Progress):
    """Counts the files that had to be inspected."""

    def __init__(self) -> None:
        self.inspected = 0

    def start(self, what: str, total: int | None = None) -> None:
        if total is not None:
            self.inspected = total


class Cached:
    """A tree and a cache beside it."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root = root
        self.cache = cache
        self.complaints: list[str] = []
        self.inspected = -1

    def scan(self, stamp: str = "one", *, rev: str | None = None, fresh: bool = False) -> Review:
        database = Database(self.cache, self.complaints.append)
        try:
            cache = None if fresh else FactCache(database, stamp)
            tree, _ = tree_of(Repository.open(self.root), rev)
            counting = Counting()
            options = replace(OPTIONS, review=replace(OPTIONS.review, tell=counting))
            made = scan(tree, options, BOOK, Base(rev="", how="test"), cache)
            self.inspected = counting.inspected
            return made
        finally:
            database.close()


@pytest.fixture
def cached(tmp_path: Path) -> Cached:
    return Cached(make_repository(tmp_path / "linux", {**small_tree(), **TREE}), tmp_path / "cache")


def callees(made: Review) -> list[str | None]:
    return [each.observation.callee for each in made.findings if each.rule == "traced_call"]


def test_nothing_is_inspected_twice(cached: Cached) -> None:
    first = cached.scan()
    assert cached.inspected > 5
    assert cached.scan() == first
    assert cached.inspected == 0
    assert cached.complaints == []


EDITS: dict[str, tuple[dict[str, str | bytes | None], bool]] = {
    "a file without access": ({"lib/fold.c": "int folded;\n"}, False),
    "a new file without access": ({"lib/other.c": "int other(void)\n{\n\treturn 1;\n}\n"}, False),
    "the file itself": ({BAD: str(TREE[BAD]) + "\n"}, True),
    "a definition it calls": ({HELPER: str(TREE[HELPER]).replace("notrace ", "")}, True),
    "a macro it uses": (
        {HEADER: str(TREE[HEADER]).replace("unsafe_put_user(v", "unsafe_put_user(put_it_now(v)")},
        True,
    ),
    "the Makefile beside it": ({"arch/powerpc/kernel/Makefile": "CFLAGS_REMOVE_put_it_more.o = -pg\n"}, True),
    "a header that comes before the one it includes": ({"arch/powerpc/include/linux/put_it.h": ""}, True),
    "a header that is gone": ({HEADER: None}, True),
}


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_costs_what_depends_on_it(cached: Cached, what: str) -> None:
    """The result is that of a fresh run, and the file with the block is looked at again only where it must be."""
    edits, concerns = EDITS[what]
    cached.scan()
    total = cached.inspected
    write(cached.root, edits)
    git(cached.root, "add", "-A")
    warm = cached.scan()
    looked_at = cached.inspected
    assert warm == cached.scan(fresh=True)
    assert (looked_at > 0) is concerns
    assert looked_at < total


def test_a_dropped_notrace_in_another_file_is_seen_on_the_next_run(cached: Cached) -> None:
    assert "put_it_mix" not in callees(cached.scan())
    write(cached.root, {HELPER: str(TREE[HELPER]).replace("notrace ", "")})
    assert "put_it_mix" in callees(cached.scan())
    write(cached.root, {HELPER: str(TREE[HELPER])})
    assert "put_it_mix" not in callees(cached.scan())


@pytest.mark.parametrize("seed", range(6))
def test_any_edits_give_what_a_fresh_run_gives(cached: Cached, seed: int) -> None:
    """Lines are taken away, doubled and moved between files, some changes committed and some not."""
    chance = random.Random(seed)
    files = {path: text for path, text in {**small_tree(), **TREE}.items() if path.endswith((".c", ".h", "Makefile"))}
    texts = {path: text if isinstance(text, bytes) else text.encode() for path, text in files.items()}
    cached.scan()
    for step in range(4):
        for path in chance.sample(sorted(texts), chance.randint(1, 4)):
            texts[path] = edited(texts[path], texts[chance.choice(sorted(texts))], chance)
            write(cached.root, {path: texts[path]})
        if chance.random() < 0.3:
            commit(cached.root, {}, f"Step {step}")
        assert cached.scan() == cached.scan(fresh=True)


def edited(text: bytes, other: bytes, chance: random.Random) -> bytes:
    lines, others = text.splitlines(keepends=True), other.splitlines(keepends=True)
    at = chance.randrange(len(lines) + 1)
    kind = chance.choice(("drop", "word", "insert"))
    if kind == "drop":
        del lines[at : at + chance.randint(1, 3)]
    elif kind == "word":
        return text.replace(b"notrace ", b"").replace(b"inline ", b"") if chance.random() < 0.5 else text + b"\n"
    else:
        lines[at:at] = others[: chance.randint(1, 3)]
    return b"".join(lines)


def test_going_back_to_another_commit_costs_nothing(cached: Cached) -> None:
    before = git(cached.root, "rev-parse", "HEAD")
    first = cached.scan(rev=before)
    after = commit(cached.root, {BAD: str(TREE[BAD]).replace("put_it_mix(value)", "value")}, "Change")
    second = cached.scan(rev=after)
    assert first.findings != second.findings or first.gaps != second.gaps or cached.inspected >= 1
    assert cached.scan(rev=before).findings == first.findings
    assert cached.inspected == 0


def test_another_kernel_is_not_compared_file_by_file(cached: Cached, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of the first stays for when it comes back."""
    first = cached.scan()
    git(cached.root, "checkout", "-q", "-b", "other")
    commit(cached.root, {f"lib/file{number}.h": "int x;\n" for number in range(5)}, "Another kernel")
    monkeypatch.setattr(validity, "MAX_COMPARED", 4)
    monkeypatch.setattr(validity, "_change", lambda *_: pytest.fail("was compared"))
    assert cached.scan() == cached.scan(fresh=True)
    cached.scan()
    assert cached.inspected == 0
    git(cached.root, "checkout", "-q", "-")
    assert cached.scan() == first
    assert cached.inspected == 0


def test_another_program_or_rule_set_starts_anew(cached: Cached) -> None:
    cached.scan("one")
    cached.scan("two")
    assert cached.inspected > 5
    cached.scan("one")
    assert cached.inspected == 0


def damaged(path: Path) -> None:
    path.write_bytes(b"this is no database" * 500)


def broken_value(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE entry SET result = x'00'")
    connection.close()


def broken_tables(path: Path) -> None:
    """SQLite quotes what it does not understand, in bytes that are no text."""
    content = path.read_bytes()
    assert b"CREATE TABLE entry" in content
    path.write_bytes(content.replace(b"CREATE TABLE entry", b"CREATE \xa8ABLE entry"))


@pytest.mark.parametrize(
    "harm", [damaged, broken_value, broken_tables], ids=["no database", "a broken value", "broken tables"]
)
def test_a_damaged_cache_is_set_aside_and_made_anew(cached: Cached, harm: Callable[[Path], None]) -> None:
    first = cached.scan()
    file = next(cached.cache.glob("*.sqlite3"))
    harm(file)
    assert cached.scan() == first
    assert len(cached.complaints) == 1 and "set aside" in cached.complaints[0]
    assert list(cached.cache.glob("*.broken-*"))
    assert cached.scan() == first
    assert cached.inspected == 0


def test_a_cache_that_cannot_be_written_is_said_once_and_missed(cached: Cached, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no directory")
    cached.cache = blocked
    assert cached.scan() == cached.scan(fresh=True)
    assert len(cached.complaints) == 1 and "goes on without it" in cached.complaints[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_is_survived(cached: Cached) -> None:
    cached.cache.mkdir()
    cached.cache.chmod(0o500)
    assert cached.scan() == cached.scan(fresh=True)
    assert len(cached.complaints) == 1


def test_a_full_disk_is_survived(cached: Cached, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Database._open

    def with_little_room(self: Database) -> sqlite3.Connection:
        connection = real(self)
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    monkeypatch.setattr(Database, "_open", with_little_room)
    write(cached.root, {"lib/fold.c": f"/* {os.urandom(40_000).hex()} */\n"})  # kept, for git has no copy of it
    assert cached.scan() == cached.scan(fresh=True)
    assert len(cached.complaints) == 1 and "full" in cached.complaints[0]


def test_the_size_is_bounded(tmp_path: Path) -> None:
    database = Database(tmp_path, pytest.fail, limit_bytes=200_000)
    cache = FactCache(database, "one")
    for number in range(40):
        paths = [f"{number}-{other}.c".encode() for other in range(300)]
        listing = Listing(blobs={path: os.urandom(20).hex().encode() for path in paths})
        recalled = cache.recall(listing, lambda path, blob: None, lambda names: frozenset())
        cache.keep(listing, (), recalled, (), {str(number): os.urandom(9000)})
    database.close()
    assert 0 < next(tmp_path.glob("*.sqlite3")).stat().st_size < 600_000


def test_two_processes_use_it_at_once(cached: Cached) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.test_cache import Cached;"
        "c = Cached(Path(sys.argv[1]), Path(sys.argv[2]));"
        "[c.scan(stamp) for stamp in ('one', 'two', 'one')]; sys.exit(len(c.complaints))"
    )
    command = [sys.executable, "-c", program, str(cached.root), str(cached.cache)]
    running = [subprocess.Popen(command, cwd=Path(__file__).parent.parent) for _ in range(2)]
    assert [each.wait(timeout=120) for each in running] == [0, 0]
    cached.scan()
    assert cached.inspected == 0


def test_only_inspections_come_out_of_it() -> None:
    import pickle

    assert unpack(pack(Inspection(observations=(), gaps=(), blocks_seen=3)), Inspection).blocks_seen == 3
    for value in (os.system, {"a": 1}, Path("x"), SeriesBudgets()):
        with pytest.raises(pickle.UnpicklingError):
            unpack(pickle.dumps(value), Inspection)


def test_a_listing_survives_packing_and_differs_where_files_do(cached: Cached) -> None:
    tree, _ = tree_of(Repository.open(cached.root), None)
    listing = list_tree(tree)
    assert listing is not None
    assert Listing.from_bytes(listing.to_bytes()) == listing
    write(cached.root, {BAD: "x\n"})
    changed = list_tree(tree_of(Repository.open(cached.root), None)[0])
    assert changed is not None and listing.differing(changed) == {BAD.encode()}
    committed = list_tree(tree_of(Repository.open(cached.root), "HEAD")[0])
    assert committed == listing


def test_a_series_is_looked_at_once(cached: Cached, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second review of a commit inspects nothing and says the same; one more commit costs its own states alone."""
    commit(cached.root, {HELPER: str(TREE[HELPER]).replace("notrace ", "")}, "Drop notrace")
    looked_at: list[str] = []
    real = bounded.inspect_bounded

    def counting(tree: SourceTree, paths: Sequence[str], book: Rulebook, focus: Focus = None) -> Inspection:
        looked_at.extend(paths)
        return real(tree, paths, book, focus)

    counted: list[object] = []
    real_budgets = series_budgets.budgets_of

    def counting_budgets(states: Sequence[PatchState], *others: Any) -> SeriesBudgets:
        counted.append(states)
        return real_budgets(states, *others)

    monkeypatch.setattr(bounded, "inspect_bounded", counting)
    monkeypatch.setattr(series_budgets, "budgets_of", counting_budgets)

    def review(cache: Path | None) -> Review:
        options = ReviewOptions(cache=cache, complain=cached.complaints.append)
        return review_range(Repository.open(cached.root), "HEAD", options, BOOK)

    first = review(cached.cache)
    assert BAD in looked_at
    assert len(counted) == 1
    looked_at.clear()
    assert review(cached.cache) == first
    assert looked_at == []
    assert len(counted) == 1
    assert review(None) == first
    assert BAD in looked_at
    assert len(counted) == 2
    assert cached.complaints == []
