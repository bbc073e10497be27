"""The cache's SQLite file: safe with several processes, and never the reason why a run fails."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

LIMIT_BYTES = 256 << 20
LAYOUT = 2  # of the tables; a file of another layout has another name
_BUSY_TIMEOUT_S = 10.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS snapshot (id INTEGER PRIMARY KEY, stamp TEXT NOT NULL, digest TEXT NOT NULL,
    listing BLOB NOT NULL, candidates BLOB NOT NULL, used INTEGER NOT NULL, UNIQUE (stamp, digest));
CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, snapshot INTEGER NOT NULL, path TEXT NOT NULL,
    footprint BLOB NOT NULL, result BLOB NOT NULL, used INTEGER NOT NULL, UNIQUE (snapshot, path));
CREATE TABLE IF NOT EXISTS sight (key TEXT PRIMARY KEY, result BLOB NOT NULL, used INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS content (blob TEXT PRIMARY KEY, data BLOB NOT NULL, used INTEGER NOT NULL);
"""
TABLES = ("sight", "entry", "content", "snapshot")
Result = TypeVar("Result")


class Database:
    """One open cache file. Every trouble with it is told once through `complain`, and from then on it is not used."""

    def __init__(self, directory: Path, complain: Callable[[str], None], limit_bytes: int = LIMIT_BYTES) -> None:
        self.path = directory / f"facts-{LAYOUT}.sqlite3"
        self._complain = complain
        self._limit_bytes = limit_bytes
        self._connection: sqlite3.Connection | None = None
        self._is_usable = True
        self._owner = os.getpid()

    def attempt(self, act: Callable[[sqlite3.Connection], Result], otherwise: Result) -> Result:
        """What `act` gives, in one transaction; `otherwise` when the cache cannot be used. A file that is no database
        is set aside, and a new one begun."""
        if not self._is_usable or os.getpid() != self._owner:
            return otherwise
        for is_last in (False, True):
            try:
                return self._act(act)
            except sqlite3.OperationalError as error:
                return self._give_up(str(error), otherwise)
            # what SQLite says of a damaged file may quote it, and not be UTF-8: then its words cannot even be had
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                if is_last or not self._set_aside():
                    return self._give_up(str(error), otherwise)
            except OSError as error:
                return self._give_up(error.strerror or "cannot be written", otherwise)
        raise AssertionError

    def size_bytes(self) -> int:
        """Of the files on disk; 0 when there are none."""
        return sum(path.stat().st_size for path in self._files() if path.is_file())

    def clear(self) -> None:
        """Delete the files. Raises OSError."""
        self.close()
        for path in self._files():
            path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _files(self) -> Iterator[Path]:
        yield from (self.path.with_name(self.path.name + end) for end in ("", "-wal", "-shm"))
        yield from self.path.parent.glob(f"{self.path.name}.broken-*")

    def _act(self, act: Callable[[sqlite3.Connection], Result]) -> Result:
        connection = self._open()
        connection.execute("BEGIN IMMEDIATE")
        try:
            result = act(connection)
            self._evict(connection)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
        return result

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
            try:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.executescript(_SCHEMA)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _evict(self, connection: sqlite3.Connection) -> None:
        """Above the limit, drop what was not used for the longest time until half of it is free."""
        if not connection.total_changes or _used_bytes(connection) <= self._limit_bytes:
            return
        for table in TABLES:
            connection.execute(
                f"DELETE FROM {table} WHERE used <= (SELECT used FROM {table} ORDER BY used LIMIT 1 "
                f"OFFSET (SELECT count(*) / 2 FROM {table}))"
            )
        drop_unused(connection)
        connection.execute("PRAGMA incremental_vacuum").fetchall()

    def _set_aside(self) -> bool:
        self.close()
        aside = self.path.with_name(f"{self.path.name}.broken-{int(time.time())}")
        try:
            self.path.replace(aside)
            for end in ("-wal", "-shm"):
                self.path.with_name(self.path.name + end).unlink(missing_ok=True)
        except OSError:
            return False
        self._complain(f"the cache {self.path} was damaged; it was set aside as {aside.name} and is made anew")
        return True

    def _give_up(self, reason: str, otherwise: Result) -> Result:
        self._is_usable = False
        with suppress(sqlite3.Error):
            self.close()
        self._complain(f"the cache {self.path} cannot be used ({reason}); this run goes on without it")
        return otherwise


def drop_unused(connection: sqlite3.Connection) -> None:
    """Entries without their snapshot, and snapshots without entries, say nothing."""
    connection.execute("DELETE FROM entry WHERE snapshot NOT IN (SELECT id FROM snapshot)")


def _used_bytes(connection: sqlite3.Connection) -> int:
    pages, free, size = (
        connection.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
