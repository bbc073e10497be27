"""Inspect many files in several processes. The results are the same for any number of them."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gc
import multiprocessing
import os
import posixpath
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess

from reviewbot.facts.cache import Found
from reviewbot.facts.footprint import to_footprint
from reviewbot.findings.finding import Gap
from reviewbot.findings.inspection import Inspection
from reviewbot.graph.known import forget
from reviewbot.rulebook.book import Rulebook
from reviewbot.rules.inspection import Inspector
from reviewbot.source.git_tree import CommitTree, IndexTree, WorkTree
from reviewbot.source.tree import SourceTree
from reviewbot.values import dataclass

FILE_TIMEOUT_S = 120.0
_BATCH_BYTES = 400_000
_BATCH_FILES = 24
_ROOM_BLOCKS = 700_000  # of memory, some 120 MB, that an Inspector remembers things in; then a new one is made
_OBJECTS_BETWEEN_COLLECTIONS = 100_000  # what a worker makes and keeps is values, which hardly ever form a ring
_PR_SET_PDEATHSIG = 1
_OUT_OF_MEMORY, _OUT_OF_FILES = 78, 79  # exit codes that nothing else uses
_SHORTAGES = {
    _OUT_OF_MEMORY: "there is not enough memory",
    _OUT_OF_FILES: "too many files are open at once (ulimit -n)",
}

Batch = tuple[str, ...]
Tell = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What every worker has from the start, by fork: the tree and the rules."""

    tree: SourceTree
    book: Rulebook


def inspect_all(job: Job, sizes: Mapping[str, int], count: int, tell: Tell) -> tuple[list[Found], list[Gap]]:
    """Inspect the paths (path -> size in bytes) in `count` processes; `tell` is called with the number of files done.

    A file whose inspection breaks its process, or takes longer than two minutes, twice, is a gap."""
    batches = to_batches(sizes)
    pool = _Pool(job, to_shares(batches, sizes, min(count, len(batches))), tell)
    try:
        pool.run()
    finally:
        pool.end()
    pool.gaps.sort(key=lambda gap: gap.path)
    pool.found.sort(key=lambda each: each.path)
    return pool.found, pool.gaps


def to_batches(sizes: Mapping[str, int]) -> list[Batch]:
    """Neighbours together, so that they share what is known of their headers."""
    batches: list[list[str]] = []
    weight, last = 0, None
    for path in sorted(sizes, key=lambda path: (path.split("/")[:2], posixpath.dirname(path), path)):
        group = path.split("/")[:2]
        if not batches or group != last or weight > _BATCH_BYTES or len(batches[-1]) >= _BATCH_FILES:
            batches.append([])
            weight = 0
        batches[-1].append(path)
        weight += sizes[path]
        last = group
    return list(map(tuple, batches))


def to_shares(batches: Sequence[Batch], sizes: Mapping[str, int], count: int) -> list[deque[Batch]]:
    """`count` shares of about equal weight, each of batches that are neighbours."""
    shares: list[deque[Batch]] = [deque() for _ in range(count)]
    whole, before = sum(sizes.values()) or 1, 0
    for batch in batches:
        weight = sum(sizes[path] for path in batch)
        shares[min(count - 1, (2 * before + weight) * count // (2 * whole))].append(batch)
        before += weight
    return shares


@dataclass(slots=True)
class _Worker:
    """`share` is the number of the share of batches that is its own."""

    process: ForkProcess
    connection: Connection
    share: int
    waiting: deque[str] = field(default_factory=deque)
    since: float = 0.0


class _Pool:
    """Hands out batches and takes in results, one message a file."""

    def __init__(self, job: Job, shares: Sequence[deque[Batch]], tell: Tell) -> None:
        self._job = job
        self._shares = shares
        self._tell = tell
        self._workers: list[_Worker] = []
        self._broken: set[str] = set()
        self.found: list[Found] = []
        self.gaps: list[Gap] = []

    def run(self) -> None:
        _let_go(self._job.tree)
        for share in range(len(self._shares)):
            self._start(share)
        while self._workers:
            ready = wait([worker.connection for worker in self._workers], timeout=1.0)
            for worker in list(self._workers):
                if worker.connection in ready:
                    self._take(worker)
                elif time.monotonic() - worker.since > FILE_TIMEOUT_S:
                    self._lose(worker, f"its inspection took longer than {FILE_TIMEOUT_S:g} s")

    def end(self) -> None:
        for worker in self._workers:
            worker.process.kill()
            worker.process.join()
            worker.connection.close()

    def _start(self, share: int) -> None:
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(self._job, theirs, os.getpid()), daemon=True)
        process.start()
        theirs.close()
        worker = _Worker(process=process, connection=ours, share=share)
        self._workers.append(worker)
        self._feed(worker)

    def _feed(self, worker: _Worker) -> None:
        """The next batch, or the end."""
        batch = self._next_batch(worker.share)
        worker.waiting, worker.since = deque(batch), time.monotonic()
        with contextlib.suppress(OSError):  # one that has just died is noticed when it is read from
            worker.connection.send(batch)
        if not batch:
            self._workers.remove(worker)
            worker.process.join(timeout=5.0)
            worker.connection.close()

    def _next_batch(self, share: int) -> Batch:
        """From its own share, else the last one of the longest that is left: each worker learns other headers."""
        if self._shares[share]:
            return self._shares[share].popleft()
        longest = max(self._shares, key=len)
        return longest.pop() if longest else ()

    def _take(self, worker: _Worker) -> None:
        try:
            found: Found = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join()
            code = worker.process.exitcode
            self._lose(worker, _SHORTAGES.get(code or 0, f"its inspection ended with exit code {code}"))
            return
        worker.waiting.popleft()
        worker.since = time.monotonic()
        self.found.append(found)
        self._tell(len(self.found) + len(self.gaps))
        if not worker.waiting:
            self._feed(worker)

    def _lose(self, worker: _Worker, reason: str) -> None:
        """Its first file has done it, or bad luck has: that one is tried once more, alone; the others go on."""
        worker.process.kill()
        worker.process.join()
        worker.connection.close()
        self._workers.remove(worker)
        path = worker.waiting.popleft()
        if worker.waiting:
            self._shares[worker.share].appendleft(tuple(worker.waiting))
        if path in self._broken:
            self.gaps.append(Gap(path=path, line=0, function="", reason=f"could not be reviewed: {reason}"))
            self._tell(len(self.found) + len(self.gaps))
        else:
            self._broken.add(path)
            self._shares[worker.share].append((path,))
        if any(self._shares):
            self._start(worker.share)


def _let_go(tree: SourceTree) -> None:
    """The tree may be talking to git; two processes must not share that conversation."""
    if isinstance(tree, (CommitTree, IndexTree, WorkTree)):
        tree.repository.close()


def _work(job: Job, theirs: Connection, parent: int) -> None:
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # the parent ends us
    _die_with(parent)
    gc.freeze()  # what came with the fork stays, and its pages stay shared
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 20, 100)
    try:
        _inspect_batches(job, theirs)
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            os._exit(_OUT_OF_FILES)
        if error.errno == errno.ENOMEM:
            os._exit(_OUT_OF_MEMORY)
        raise
    _let_go(job.tree)


def _inspect_batches(job: Job, theirs: Connection) -> None:
    inspector, base_blocks = Inspector(job.tree, job.book), sys.getallocatedblocks()
    while batch := theirs.recv():
        if sys.getallocatedblocks() - base_blocks > _ROOM_BLOCKS:
            forget(job.tree)
            inspector = Inspector(job.tree, job.book)
        for path in batch:
            try:
                inspection = inspector.inspect((path,))
            except RecursionError:  # what else breaks ends the process, and the parent says so
                inspector = Inspector(job.tree, job.book)
                inspection = _too_deep(path)
            depends = inspector.reader.symbols.dependencies(path)
            theirs.send(Found(path=path, inspection=inspection, footprint=to_footprint(depends)))
            inspector.reader.forget(path)


def _too_deep(path: str) -> Inspection:
    gap = Gap(path=path, line=0, function="", reason="the file nests too deep to read, and was not reviewed")
    return Inspection(observations=(), gaps=(gap,), blocks_seen=0)


def _die_with(parent: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
