"""Results kept from run to run under an exact key."""

from __future__ import annotations

import sqlite3
import zlib
from functools import partial

from reviewbot.cost.predictions import SeriesBudgets
from reviewbot.facts.database import Database
from reviewbot.facts.packing import Kept, checked, now, pack, unpack
from reviewbot.findings.inspection import Inspection

_AN_HOUR_S = 3600


class SightCache:
    """The results of one program and rule set (`stamp`)."""

    def __init__(self, database: Database, stamp: str) -> None:
        self._database = database
        self._stamp = stamp

    def recall(self, key: str, kind: type[Kept]) -> Kept | None:
        """The result of that kind kept under the key."""
        return self._database.attempt(partial(self._recall, key, kind), None)

    def keep(self, key: str, result: Inspection | SeriesBudgets) -> None:
        """Keep the result under the key."""
        row = (f"{self._stamp} {key}", zlib.compress(pack(result), 1), now())
        self._database.attempt(lambda c: c.execute("REPLACE INTO sight VALUES (?, ?, ?)", row) and None, None)

    def _recall(self, key: str, kind: type[Kept], connection: sqlite3.Connection) -> Kept | None:
        full = f"{self._stamp} {key}"
        row = connection.execute("SELECT result FROM sight WHERE key = ?", (full,)).fetchone()
        if row is None:
            return None
        time_s = now()  # an hour more or less does not matter, and a run that only reads need not wait for the disk
        connection.execute("UPDATE sight SET used = ? WHERE key = ? AND used < ?", (time_s, full, time_s - _AN_HOUR_S))
        return checked(lambda: unpack(zlib.decompress(row[0]), kind))
