"""Work that waits: one row per series to review, taken by one process at a time and never lost.

    waiting ──► working ──► done | dropped (with a reason)
       ▲           │
       └───────────┴──────► failed (after several attempts; that too is told to the reader)

The attempt is counted before the work begins, so a series that kills the process is given up as well.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from reviewbot.delivery.ledger import Ledger
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A series to review. `key` is unique within `source`; `attempts` counts those begun, this one included."""

    id: int
    source: str
    key: str
    payload: Mapping[str, Any]
    attempts: int
    created_at: float
    due_at: float
    note: str


class Jobs:
    """The jobs of one source (a patchwork project, a mail folder)."""

    def __init__(self, ledger: Ledger, source: str) -> None:
        self._ledger = ledger
        self.source = source

    def add(self, key: str, payload: Mapping[str, Any], *, now: float, due_at: float) -> bool:
        """Adds a job; False when there is, or was, one with this key."""
        added = self._ledger.change(
            "INSERT OR IGNORE INTO job (source, key, payload, state, created_at, due_at)"
            " VALUES (?, ?, ?, 'waiting', ?, ?)",
            self.source, key, json.dumps(dict(payload)), now, due_at,
        )  # fmt: skip
        return added == 1

    def update(self, key: str, payload: Mapping[str, Any], *, due_at: float) -> None:
        """Changes a job that still waits."""
        self._ledger.change(
            "UPDATE job SET payload = ?, due_at = ? WHERE source = ? AND key = ? AND state = 'waiting'",
            json.dumps(dict(payload)), due_at, self.source, key,
        )  # fmt: skip

    def waiting(self) -> tuple[Job, ...]:
        """The jobs that wait, newest first."""
        rows = self._ledger.rows(
            "SELECT * FROM job WHERE source = ? AND state = 'waiting' ORDER BY id DESC", self.source
        )
        return tuple(_to_job(row) for row in rows)

    def recover(self) -> int:
        """Puts back what a process that died was working on. Call it while holding the lock of the source."""
        return self._ledger.change(
            "UPDATE job SET state = 'waiting' WHERE source = ? AND state = 'working'", self.source
        )

    def take(self, now: float) -> Job | None:
        """The next job that is due, now `working` and with this attempt counted."""
        row = self._ledger.transaction_row(
            "UPDATE job SET state = 'working', attempts = attempts + 1 WHERE id = ("
            " SELECT id FROM job WHERE source = ? AND state = 'waiting' AND due_at <= ? ORDER BY due_at, id LIMIT 1)"
            " RETURNING *",
            self.source, now,
        )  # fmt: skip
        return _to_job(row) if row else None

    def finish(self, job: Job, state: str, note: str = "") -> None:
        """Ends a job as `done`, `dropped` or `failed`."""
        self._ledger.change("UPDATE job SET state = ?, note = ? WHERE id = ?", state, note, job.id)

    def give_back(self, job: Job, *, due_at: float, note: str = "", counts: bool = True) -> None:
        """Puts a job back; `counts` is False when the attempt was not the job's fault (a stop, a lost network)."""
        self._ledger.change(
            "UPDATE job SET state = 'waiting', due_at = ?, note = ?, attempts = attempts - ? WHERE id = ?",
            due_at, note, 0 if counts else 1, job.id,
        )  # fmt: skip

    def counts(self) -> dict[str, int]:
        """How many jobs are in each state."""
        rows = self._ledger.rows("SELECT state, count(*) AS n FROM job WHERE source = ? GROUP BY state", self.source)
        return {str(row["state"]): int(row["n"]) for row in rows}


def waiting_jobs(ledger: Ledger) -> tuple[Job, ...]:
    """The jobs of all sources that are not over, for people."""
    return tuple(
        _to_job(row) for row in ledger.rows("SELECT * FROM job WHERE state IN ('waiting', 'working') ORDER BY due_at")
    )


def _to_job(row: sqlite3.Row) -> Job:
    return Job(
        id=row["id"],
        source=row["source"],
        key=row["key"],
        payload=json.loads(row["payload"]),
        attempts=row["attempts"],
        created_at=row["created_at"],
        due_at=row["due_at"],
        note=row["note"],
    )
