"""The Dask engine: the same work on a local cluster or on an existing scheduler. Needs the extra `cluster`.

Facts: the documentation of distributed: a task whose worker dies is tried again on another one, and after
`distributed.scheduler.allowed-failures` deaths it ends as KilledWorker.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from reviewbot.backfill.windows import Item
from reviewbot.backfill.work import Task, failure, review_item
from reviewbot.errors import FetchError, UsageError

_PER_WORKER = 4  # series under way for each worker, so that none waits for the next
_START_TIMEOUT_S = 30


class DaskCluster:
    """`address` is `dask` for a cluster of our own with `count` workers, or `tcp://host:port`, `tls://…`."""

    def __init__(self, task: Task, address: str, count: int) -> None:
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            raise UsageError("--engine needs Dask; install it with: pip install 'reviewbot[cluster]'") from None
        self._task = task
        self._cluster: Any = None
        try:
            if address == "dask":
                self._cluster = LocalCluster(
                    n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None
                )
            self._client: Any = Client(self._cluster or address, timeout=_START_TIMEOUT_S)
        except (OSError, TimeoutError, ValueError) as error:
            raise FetchError(f"no Dask scheduler answers at {address}: {error}") from None

    def results(self, items: Iterator[Item]) -> Iterator[tuple[Item, str]]:
        """Each item with its result, in the order in which they are done. A worker that dies casts suspicion on all
        that it was given, so in the end each suspect is tried once more, with nothing else under way."""
        suspects: list[Item] = []
        yield from self._results(items, suspects, most=None)
        for item in suspects:
            yield from self._results(iter((item,)), None, most=1)

    def _results(
        self, items: Iterator[Item], suspects: list[Item] | None, most: int | None
    ) -> Iterator[tuple[Item, str]]:
        from distributed import as_completed

        done: Any = as_completed()
        waiting: dict[Any, Item] = {}
        self._refill(done, waiting, items, most)
        for future in done:
            item = waiting.pop(future)
            error = future.exception()
            if suspects is not None and type(error).__name__ == "KilledWorker":
                suspects.append(item)
            else:
                yield item, future.result() if error is None else json.dumps(failure(_reason(error)))
            future.release()
            self._refill(done, waiting, items, most)

    def close(self) -> None:
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _refill(self, done: Any, waiting: dict[Any, Item], items: Iterator[Item], most: int | None) -> None:
        room = most or max(1, len(self._client.scheduler_info(n_workers=-1)["workers"])) * _PER_WORKER
        while len(waiting) < room and (item := next(items, None)) is not None:
            future = self._client.submit(review_item, item, self._task, pure=False, retries=1)
            waiting[future] = item
            done.add(future)


def _reason(error: BaseException) -> str:
    if type(error).__name__ == "KilledWorker":
        return "the workers ended while they reviewed this series"
    return f"{type(error).__name__}: {str(error)[:200]}"
