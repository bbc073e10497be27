"""The ledger: one SQLite file that remembers what was seen, what is to be done and what was said.

Every step is a transaction that is on the disk before the world is touched, so that after a kill at any point the
file tells
what may have happened. One file lock per kind of work keeps two processes apart; the kernel frees it when its holder
dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reviewbot.errors import DeliveryError

SCHEMA_VERSION = 1
LONGEST_WAIT_S = 15 * 86400.0  # longer than any delay, Retry-After or pause between attempts

_SCHEMA = """
CREATE TABLE place (
    source TEXT PRIMARY KEY,       -- 'patchwork https://… project', 'imap host folder'
    value TEXT NOT NULL
) STRICT;
CREATE TABLE seen (
    source TEXT NOT NULL, item TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (source, item)
) STRICT, WITHOUT ROWID;
CREATE TABLE job (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL, key TEXT NOT NULL, payload TEXT NOT NULL,
    state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL, due_at REAL NOT NULL, note TEXT NOT NULL DEFAULT '',
    UNIQUE (source, key)
) STRICT;
CREATE INDEX job_due ON job (source, state, due_at);
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,
    channel TEXT NOT NULL, place TEXT NOT NULL, key TEXT NOT NULL,
    series TEXT NOT NULL, subject TEXT NOT NULL, reader TEXT NOT NULL, payload TEXT NOT NULL,
    state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL, due_at REAL NOT NULL, sent_at REAL,
    remote TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX outbox_due ON outbox (state, due_at);
CREATE INDEX outbox_key ON outbox (channel, place, key);
CREATE TABLE said (
    outbox INTEGER NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
    reader TEXT NOT NULL, fingerprint TEXT NOT NULL, series TEXT NOT NULL,
    PRIMARY KEY (outbox, reader, fingerprint)
) STRICT, WITHOUT ROWID;
CREATE INDEX said_fingerprint ON said (fingerprint, reader);
CREATE TABLE lineage (
    token TEXT NOT NULL, series TEXT NOT NULL, version INTEGER NOT NULL, place TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (token, series)
) STRICT, WITHOUT ROWID;
CREATE INDEX lineage_series ON lineage (series);
CREATE TABLE mail (
    message_id TEXT PRIMARY KEY, place TEXT NOT NULL, thread TEXT NOT NULL, author TEXT NOT NULL,
    at REAL NOT NULL, is_own INTEGER NOT NULL, raw BLOB
) STRICT;
CREATE INDEX mail_thread ON mail (thread);
CREATE INDEX mail_author ON mail (author, at);
CREATE INDEX mail_at ON mail (at);
"""


class Ledger:
    """An open ledger. Raises DeliveryError, with what to do, for anything that is wrong with the file or the disk."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "ledger.sqlite3"
        with self._told():
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._db = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            self._db.row_factory = sqlite3.Row
            self._prepare()

    def _prepare(self) -> None:
        self.path.chmod(0o600)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "journal_size_limit = 4194304"):
            self._db.execute(f"PRAGMA {pragma}")
        with self.transaction():
            version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
            if version > SCHEMA_VERSION:
                raise DeliveryError(
                    f"{self.path} was written by a newer reviewbot; use that one, or another state directory"
                )
            if version == 0:
                for statement in _SCHEMA.split(";\n"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; the write lock is taken at once, so what is read inside holds until the end. May be
        nested."""
        if self._db.in_transaction:
            yield
            return
        with self._told():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def rows(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        """The rows of a SELECT (or of a statement with RETURNING)."""
        with self._told():
            return self._db.execute(statement, values).fetchall()

    def row(self, statement: str, *values: Any) -> sqlite3.Row | None:
        """The first row, or None."""
        return next(iter(self.rows(statement, *values)), None)

    def transaction_row(self, statement: str, *values: Any) -> sqlite3.Row | None:
        """The first row of a change with RETURNING, in its own transaction unless one is open."""
        with self.transaction():
            return self.row(statement, *values)

    def change(self, statement: str, *values: Any) -> int:
        """Runs one statement, in its own transaction unless one is open; the number of changed rows."""
        with self.transaction():
            return self._db.execute(statement, values).rowcount

    @contextlib.contextmanager
    def only_one(self, work: str, *, wait: bool) -> Iterator[bool]:
        """Holds the file lock for a kind of work; False (at once) when another process holds it and `wait` is False."""
        file = self.directory / f"{work}.lock"
        with self._told(), file.open("a+b") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            yield True

    def place(self, source: str) -> str | None:
        """Where a reader of `source` stands, as that reader wrote it."""
        row = self.row("SELECT value FROM place WHERE source = ?", source)
        return str(row["value"]) if row else None

    def keep_place(self, source: str, value: str) -> None:
        """Remembers where a reader stands."""
        self.change(
            "INSERT INTO place VALUES (?, ?) ON CONFLICT (source) DO UPDATE SET value = excluded.value", source, value
        )

    def note_seen(self, source: str, item: str, at: float) -> bool:
        """True when `item` was not seen before, and from now on it was."""
        return self.change("INSERT OR IGNORE INTO seen VALUES (?, ?, ?)", source, item, at) == 1

    def is_seen(self, source: str, item: str) -> bool:
        """True when `item` was seen before."""
        return self.row("SELECT 1 FROM seen WHERE source = ? AND item = ?", source, item) is not None

    def forget(self, before: float, *, keep: int = 10_000) -> None:
        """Drops what is older than `before` and over, so that the file stays small; what is still to be sent stays.

        The newest `keep` of each kind stay whatever their age: a clock that jumps ahead makes everything old, and what
        was said yesterday would be said again."""
        over = "('sent', 'failed', 'withdrawn', 'dry_run')"
        with self.transaction():
            for table, states in (("job", "('done', 'dropped', 'failed')"), ("outbox", over)):
                self.change(
                    f"DELETE FROM {table} WHERE state IN {states} AND created_at < ?"
                    f" AND id NOT IN (SELECT id FROM {table} ORDER BY id DESC LIMIT ?)",
                    before, keep,
                )  # fmt: skip
            for table, where in (
                ("lineage", ""),
                ("mail", ""),
                # A maildir file stays known as long as it lies there; its reader drops it.
                ("seen", " AND source NOT LIKE 'maildir %'"),
            ):
                oldest = f"coalesce((SELECT at FROM {table} ORDER BY at DESC LIMIT 1 OFFSET ?), -1)"
                self.change(f"DELETE FROM {table} WHERE at < ? AND at <= {oldest}{where}", before, keep)

    def wait_no_longer(self, now: float) -> int:
        """What was put off beyond all patience, by a clock that was ahead, is due now; the number of those."""
        latest = now + LONGEST_WAIT_S
        with self.transaction():
            return sum(
                self.change(f"UPDATE {table} SET due_at = ? WHERE state IN {states} AND due_at > ?", now, latest)
                for table, states in (("job", "('waiting')"), ("outbox", "('pending', 'uncertain')"))
            )

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise DeliveryError(f"{self.path}: {_advice(error)}") from error
        except OSError as error:
            if error.filename is None or not os.fspath(error.filename).startswith(os.fspath(self.directory)):
                raise
            raise DeliveryError(
                f"{error.filename}: {error.strerror}; the ledger needs this to send nothing twice"
            ) from error


def _advice(error: sqlite3.Error) -> str:
    text = str(error)
    if "full" in text:
        return "the disk is full; nothing was sent, make room and start again"
    if "malformed" in text or "not a database" in text:
        return "the ledger is damaged; put back a copy, without it mails and checks could be repeated"
    if "locked" in text:
        return "another process holds the ledger for more than a minute; stop it or wait"
    return f"the ledger cannot be used ({text})"
