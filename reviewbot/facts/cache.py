"""What was found out about files, kept from run to run: recalled where it still holds, kept where it is new."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Collection, Iterable, Mapping
from functools import partial

from reviewbot.facts.database import Database
from reviewbot.facts.footprint import Footprint
from reviewbot.facts.listing import Listing
from reviewbot.facts.packing import checked, now, pack, unpack
from reviewbot.facts.validity import Changes, Includers, Read
from reviewbot.findings.inspection import Inspection
from reviewbot.values import dataclass

_MAX_SNAPSHOTS = 4  # of one program and rule set; the older ones are forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """`results` that still hold; `candidates`: the paths worth an inspection in the snapshot that is nearest, with
    `differing`, the paths that have changed since (None: there is no snapshot). `entries`: their rows."""

    results: Mapping[str, Inspection]
    candidates: frozenset[str] = frozenset()
    differing: tuple[str, ...] | None = None
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A new result, with the footprint of what it depends on."""

    path: str
    inspection: Inspection
    footprint: bytes


class FactCache:
    """The facts of one program and rule set (`stamp`)."""

    def __init__(self, database: Database, stamp: str) -> None:
        self._database = database
        self._stamp = stamp

    def recall(self, listing: Listing, read: Read, includers: Includers) -> Recalled:
        """Everything kept about any tree that holds for this one. `read` and `includers` answer for the tree."""
        return self._database.attempt(partial(self._recall, listing, read, includers), Recalled(results={}))

    def keep(
        self,
        listing: Listing,
        candidates: Collection[str],
        recalled: Recalled,
        new: Iterable[Found],
        contents: Mapping[str, bytes],
    ) -> None:
        """Keep results for the tree. `contents`: blob id -> text of what git does not keep, for the next comparison."""
        self._database.attempt(partial(self._keep, listing, candidates, recalled, new, contents), None)

    def _recall(self, listing: Listing, read: Read, includers: Includers, connection: sqlite3.Connection) -> Recalled:
        asked = "SELECT id, digest, listing, candidates FROM snapshot WHERE stamp = ? ORDER BY used DESC, id DESC"
        snapshots = connection.execute(asked, (self._stamp,)).fetchall()
        if not snapshots:
            return Recalled(results={})
        results: dict[str, Inspection] = {}
        entries: list[int] = []
        nearest: tuple[frozenset[str], tuple[str, ...]] | None = None
        for number, digest, packed, candidates in sorted(snapshots, key=lambda row: row[1] != listing.digest):
            changes = self._changes(digest, packed, listing, read, includers, connection)
            if changes is not None and changes.is_other_tree:
                continue
            differing = tuple(changes.paths) if changes else ()
            if nearest is None or len(differing) < len(nearest[1]):
                nearest = (frozenset(_lines(candidates)), differing)
            rows = connection.execute("SELECT id, path, footprint, result FROM entry WHERE snapshot = ?", (number,))
            for entry, path, footprint, result in rows:
                if path not in results and (changes is None or _holds(changes, footprint)):
                    results[path] = checked(lambda kept=result: unpack(zlib.decompress(kept), Inspection))  # type: ignore[misc]
                    entries.append(entry)
        if nearest is None:
            return Recalled(results={})
        return Recalled(results=results, candidates=nearest[0], differing=nearest[1], entries=tuple(entries))

    def _changes(
        self,
        digest: str,
        packed: bytes,
        listing: Listing,
        read: Read,
        includers: Includers,
        connection: sqlite3.Connection,
    ) -> Changes | None:
        """What differs from a snapshot; None when nothing does."""
        if digest == listing.digest:
            return None

        def read_any(path: bytes, blob: bytes) -> bytes | None:
            text = read(path, blob)
            if text is None:
                row = connection.execute("SELECT data FROM content WHERE blob = ?", (blob.decode(),)).fetchone()
                text = zlib.decompress(row[0]) if row else None
            return text

        return Changes(checked(lambda: Listing.from_bytes(packed)), listing, read_any, includers)

    def _keep(
        self,
        listing: Listing,
        candidates: Collection[str],
        recalled: Recalled,
        new: Iterable[Found],
        contents: Mapping[str, bytes],
        connection: sqlite3.Connection,
    ) -> None:
        time_s = now()
        snapshot = self._snapshot(listing, candidates, time_s, connection)
        moved = [(snapshot, time_s, entry) for entry in recalled.entries]
        connection.executemany("UPDATE OR REPLACE entry SET snapshot = ?, used = ? WHERE id = ?", moved)
        found = list(new)
        connection.executemany(
            "REPLACE INTO entry (snapshot, path, footprint, result, used) VALUES (?, ?, ?, ?, ?)",
            [
                (
                    snapshot,
                    each.path,
                    each.footprint,
                    zlib.compress(pack(each.inspection), 1),
                    time_s,
                )
                for each in found
            ],
        )
        connection.executemany(
            "INSERT OR IGNORE INTO content VALUES (?, ?, ?)",
            [(blob, zlib.compress(text, 1), time_s) for blob, text in contents.items()],
        )

    def _snapshot(
        self, listing: Listing, candidates: Collection[str], time_s: int, connection: sqlite3.Connection
    ) -> int:
        kept = connection.execute(
            "SELECT id FROM snapshot WHERE stamp = ? AND digest = ?", (self._stamp, listing.digest)
        ).fetchone()
        joined = zlib.compress("\0".join(sorted(candidates)).encode("utf-8", "surrogateescape"), 1)
        if kept is not None:
            connection.execute("UPDATE snapshot SET used = ?, candidates = ? WHERE id = ?", (time_s, joined, kept[0]))
            return int(kept[0])
        row = (self._stamp, listing.digest, listing.to_bytes(), joined, time_s)
        made = connection.execute(
            "INSERT INTO snapshot (stamp, digest, listing, candidates, used) VALUES (?, ?, ?, ?, ?)", row
        ).lastrowid
        connection.execute(
            "DELETE FROM snapshot WHERE stamp = ? AND id NOT IN "
            "(SELECT id FROM snapshot WHERE stamp = ? ORDER BY used DESC, id DESC LIMIT ?)",
            (self._stamp, self._stamp, _MAX_SNAPSHOTS),
        )
        connection.execute("DELETE FROM entry WHERE snapshot NOT IN (SELECT id FROM snapshot)")
        assert made is not None
        return made


def _holds(changes: Changes, footprint: bytes) -> bool:
    return changes.leave(checked(lambda: Footprint.from_bytes(footprint)))


def _lines(packed: bytes) -> list[str]:
    text = checked(lambda: zlib.decompress(packed)).decode("utf-8", "surrogateescape")
    return text.split("\0") if text else []
