"""The local engine: one process per core. What breaks its worker twice, or takes too long, is set aside."""

from __future__ import annotations

import contextlib
import ctypes
import json
import multiprocessing
import os
import resource
import signal
import time
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess

from reviewbot.backfill.windows import Item
from reviewbot.backfill.work import Task, failure, review_item
from reviewbot.values import dataclass

MEMORY_MB = 4096
_ATTEMPTS = 2
_GRACE_S = 30.0  # beyond the time that the worker itself keeps to
_PR_SET_PDEATHSIG = 1


@dataclass(slots=True, eq=False)
class _Worker:
    process: ForkProcess
    pipe: Connection
    item: Item | None = None
    since: float = 0.0

    def give(self, item: Item) -> None:
        self.item, self.since = item, time.monotonic()
        self.pipe.send(item)

    def end(self) -> None:
        self.pipe.close()
        if self.process.is_alive():
            self.process.kill()
        self.process.join()


class LocalProcesses:
    """Use `results`, then `close`."""

    def __init__(self, task: Task, count: int) -> None:
        self._task = task
        self._count = count
        self._workers: list[_Worker] = []
        self._failed: dict[str, int] = {}
        self._again: deque[Item] = deque()

    def results(self, items: Iterator[Item]) -> Iterator[tuple[Item, str]]:
        """Each item with its result, in the order in which they are done."""
        more: Iterator[Item] | None = items
        while True:
            while len(busy := self._busy()) < self._count and (self._again or more is not None):
                item = self._again.popleft() if self._again else next(more, None) if more is not None else None
                if item is None:
                    more = None
                    continue
                self._idle().give(item)
            if not busy:
                return
            ready = wait([worker.pipe for worker in busy], timeout=1.0)
            for worker in busy:
                result = self._collect(worker) if worker.pipe in ready else self._check_time(worker)
                if result is not None:
                    yield result

    def close(self) -> None:
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.item is not None]

    def _idle(self) -> _Worker:
        for worker in self._workers:
            if worker.item is None:
                return worker
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        others = [worker.pipe for worker in self._workers]
        process = context.Process(target=_work, args=(theirs, self._task, [ours, *others], os.getpid()), daemon=True)
        process.start()
        theirs.close()
        self._workers.append(_Worker(process, ours))
        return self._workers[-1]

    def _collect(self, worker: _Worker) -> tuple[Item, str] | None:
        item = worker.item
        assert item is not None
        try:
            answer: str = worker.pipe.recv()
        except (EOFError, OSError):
            return self._broken(worker, item)
        worker.item = None
        return item, answer

    def _broken(self, worker: _Worker, item: Item) -> tuple[Item, str] | None:
        self._workers.remove(worker)
        worker.end()
        self._failed[item.key] = self._failed.get(item.key, 0) + 1
        if self._failed[item.key] < _ATTEMPTS:
            self._again.append(item)
            return None
        return item, json.dumps(failure(f"the worker ended {_ATTEMPTS} times while it reviewed this series"))

    def _check_time(self, worker: _Worker) -> tuple[Item, str] | None:
        item = worker.item
        if item is None or time.monotonic() - worker.since < self._task.timeout_s + _GRACE_S:
            return None
        self._workers.remove(worker)
        worker.end()
        return item, json.dumps(failure(f"the review took longer than {self._task.timeout_s:g} s"))


def _work(pipe: Connection, task: Task, not_mine: list[Connection], parent: int) -> None:
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # the parent ends us
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    for pipe_of_another in not_mine:
        pipe_of_another.close()
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MB << 20, MEMORY_MB << 20))
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send(review_item(pipe.recv(), task))
