"""Everything that is known of an archive, in one SQLite file: mails by kind, series, patches with their outcome,
findings. Each result is a transaction, so a run that is killed at any point goes on where it was."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from reviewbot.backfill.windows import Item, Sorted
from reviewbot.errors import DeliveryError, InputError

_VERSION = "1"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS mail (
    position INTEGER PRIMARY KEY, message_id TEXT NOT NULL, kind TEXT NOT NULL, year INTEGER NOT NULL,
    reason TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS series (
    key TEXT PRIMARY KEY, position INTEGER NOT NULL, subject TEXT NOT NULL, outcome TEXT NOT NULL,
    reason TEXT NOT NULL, document TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS patch (
    position INTEGER PRIMARY KEY, series TEXT NOT NULL, number INTEGER NOT NULL, outcome TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS finding (
    series TEXT NOT NULL, rule TEXT NOT NULL, severity TEXT NOT NULL, status TEXT NOT NULL, path TEXT NOT NULL,
    line INTEGER NOT NULL, function TEXT NOT NULL, fingerprint TEXT NOT NULL, year INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS finding_series ON finding (series);
"""
SET_ASIDE = "set_aside"


class Store:
    """The file at `path`, for the archive and tree that `identity` names; another archive's file is refused."""

    def __init__(self, path: Path, identity: str) -> None:
        self.path = path
        self._since_commit = 0
        with self._told():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.executescript(_SCHEMA)
            known = self._state("identity")
            if known not in (None, f"{_VERSION} {identity}"):
                raise InputError(f"{path} holds the results of another archive or tree; give another --state")
            self._set_state("identity", f"{_VERSION} {identity}")
            self._database.commit()
            self.done = {key for (key,) in self._database.execute("SELECT key FROM series")}

    @property
    def start(self) -> int:
        """The position at which a run begins."""
        return int(self._state("start") or 0)

    def set_start(self, position: int) -> None:
        """Everything before is done. It is written with the next result, after those of the items before it."""
        with self._told():
            self._set_state("start", str(position))

    def note(self, mail: Sorted) -> None:
        """Keep what a mail is. Raises DeliveryError, as everything that writes."""
        with self._told():
            self._database.execute(
                "INSERT OR REPLACE INTO mail VALUES (?, ?, ?, ?, ?)",
                (mail.position, _plain(mail.message_id), mail.kind, mail.year, _plain(mail.reason)),
            )

    def add(self, item: Item, result: str) -> None:
        """Keep one result."""
        found: dict[str, Any] = json.loads(result)
        with self._told():
            self._add(item, found)
            self._database.commit()
        self.done.add(item.key)

    def commit(self) -> None:
        """Everything so far is on the disk."""
        with self._told():
            self._database.commit()

    def close(self) -> None:
        """What the disk does not take any more is done again by the next run."""
        with suppress(sqlite3.Error):
            self._database.commit()
        with suppress(sqlite3.Error):
            self._database.close()

    def counts(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """(values of the columns, count), the most frequent first; the names are ours."""
        names = ", ".join(columns)
        return self._database.execute(
            f"SELECT {names}, count(*) FROM {table} GROUP BY {names} ORDER BY count(*) DESC, {names}"
        ).fetchall()

    def without_outcome(self) -> int:
        """Patch mails that are in no series: there must be none."""
        query = "SELECT count(*) FROM mail LEFT JOIN patch USING (position) WHERE kind = 'PATCH' AND outcome IS NULL"
        return int(self._database.execute(query).fetchone()[0])

    def set_aside(self, limit: int = 20) -> list[tuple[str, str]]:
        """(key, reason) of series that could not be reviewed."""
        query = "SELECT key, reason FROM series WHERE outcome = ? ORDER BY position LIMIT ?"
        return self._database.execute(query, (SET_ASIDE, limit)).fetchall()

    def documents(self) -> Iterator[str]:
        """Every result as one line of JSON, in the order of the archive."""
        for key, document in self._database.execute("SELECT key, document FROM series ORDER BY position, key"):
            yield json.dumps({"key": key, **json.loads(document)}, ensure_ascii=True, sort_keys=True)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise DeliveryError(
                f"{self.path} cannot be written ({error}); what was done before is kept, so start again when it can be"
            ) from None
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"{self.path} is no result file of backfill, or a damaged one ({error}); give another --state"
            ) from None
        except OSError as error:
            raise DeliveryError(f"{self.path} cannot be written: {error.strerror or error}") from None

    def _add(self, item: Item, found: dict[str, Any]) -> None:
        review = found.get("review")
        year = self._year(item.position)
        outcome, reason = (_series_outcome(review), "") if review else (SET_ASIDE, found["error"])
        subject = review["series"]["subject"] if review else ""
        run = self._database.execute
        run("DELETE FROM finding WHERE series = ?", (item.key,))
        document = json.dumps(found, ensure_ascii=True, sort_keys=True)
        run(
            "INSERT OR REPLACE INTO series VALUES (?, ?, ?, ?, ?, ?)",
            (_plain(item.key), item.position, subject, outcome, _plain(reason), document),
        )
        outcomes = {each["index"]: (each["outcome"], each["reason"]) for each in review["series"]["patches"]} if review else {}  # fmt: skip  # noqa: E501
        for index, position, _, _ in item.mails:
            if index:
                run(
                    "INSERT OR REPLACE INTO patch VALUES (?, ?, ?, ?, ?)",
                    (position, _plain(item.key), index, *outcomes.get(index, (SET_ASIDE, _plain(reason)))),
                )
        for each in review["findings"] if review else ():
            run(
                "INSERT INTO finding VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (_plain(item.key), *(each[name] or "" for name in ("rule", "severity", "status", "path")), each["line"],
                 each["function"] or "", each["fingerprint"], year),
            )  # fmt: skip

    def _year(self, position: int) -> int:
        row = self._database.execute("SELECT year FROM mail WHERE position = ?", (position,)).fetchone()
        return int(row[0]) if row else 0

    def _state(self, name: str) -> str | None:
        row = self._database.execute("SELECT value FROM state WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else None

    def _set_state(self, name: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (name, value))


def write_lines(store: Store, path: Path) -> None:
    """All results as JSON lines, in one step. Raises DeliveryError."""
    is_device = path.exists() and not path.is_file()
    part = path if is_device else path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8") as stream:
            stream.writelines(f"{document}\n" for document in store.documents())
        if not is_device:
            part.replace(path)
    except OSError as error:
        raise DeliveryError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        if not is_device:
            part.unlink(missing_ok=True)


def _series_outcome(review: dict[str, Any]) -> str:
    """Findings first, then the worst that happened to a patch."""
    if review["findings"]:
        return "findings"
    outcomes = {each["outcome"] for each in review["series"]["patches"]}
    worst = ("unreadable", "not_applied", "missing", "partial", "reviewed", "nothing_to_review", "not_kernel")
    return next((each for each in worst if each in outcomes), "empty")


def _plain(text: str) -> str:
    """SQLite takes no lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()
