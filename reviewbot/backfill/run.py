"""Archive, windows, engine and store put together, with progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Protocol

from reviewbot.backfill.archive import Archive, RawMail
from reviewbot.backfill.store import Store
from reviewbot.backfill.windows import Item, Sorted, Windows
from reviewbot.grammar import plural

_TELL_EVERY_S = 5.0


class Engine(Protocol):
    """Where the work is done."""

    def results(self, items: Iterator[Item]) -> Iterator[tuple[Item, str]]:
        """Each item with its result as JSON, in any order."""

    def close(self) -> None:
        """End the workers."""


class Run:
    """One run over an archive; `limit` ends it after so many mails. `tell` gets a sentence now and then."""

    def __init__(
        self, archive: Archive, store: Store, engine: Engine, tell: Callable[[str], None], limit: int | None = None
    ) -> None:
        self._archive, self._store, self._engine, self._tell = archive, store, engine, tell
        self._end = limit
        self._mails = self._series = 0
        self._position = 0
        self._began = self._told = time.monotonic()
        self._open: set[int] = set()
        self._starts: list[int] = []

    def go(self) -> None:
        """Review what is not yet done. Everything that was done is in the store, whatever ends the run."""
        windows = Windows(self._note, self._starts.append, self._archive.limits)
        items = (item for item in windows.items(self._read()) if item.key not in self._store.done)
        for item, result in self._engine.results(self._handed_out(items)):
            self._open.discard(item.position)
            self._store.add(item, result)
            self._series += 1
            self._move_start()
            self._progress()
        self._move_start()
        self._store.commit()

    @property
    def rate(self) -> float:
        """Mails a second so far."""
        return self._mails / max(time.monotonic() - self._began, 0.001)

    def summary(self) -> str:
        """What this run did."""
        return f"{self._read_so_far()} in this run, {plural(round(self.rate), 'mail', f'{self.rate:,.0f}')} a second"

    def _read_so_far(self) -> str:
        return f"{plural(self._mails, 'mail', f'{self._mails:,}')} and {self._series:,} series"

    def _read(self) -> Iterator[RawMail]:
        for mail in self._archive.mails(self._store.start):
            if self._end is not None and mail.position >= self._end:
                return
            self._position = mail.position
            self._mails += 1
            self._progress()
            yield mail

    def _note(self, mail: Sorted) -> None:
        self._store.note(mail)

    def _handed_out(self, items: Iterator[Item]) -> Iterator[Item]:
        for item in items:
            self._open.add(item.position)
            yield item

    def _move_start(self) -> None:
        """The start moves on when all that was handed out before it is done."""
        oldest = min(self._open, default=None)
        passed = [start for start in self._starts if oldest is None or start <= oldest]
        if passed:
            self._store.set_start(max(passed))
            self._starts = [start for start in self._starts if start > max(passed)]

    def _progress(self) -> None:
        now = time.monotonic()
        if now - self._told < _TELL_EVERY_S:
            return
        self._told = now
        self._store.commit()
        total = self._end or self._archive.total
        of = f" of {total:,}" if total else ""
        done = plural(total or self._position + 1, "mail", f"{self._position + 1:,}{of}")
        self._tell(f"{done}, {self._series:,} series, {plural(round(self.rate), 'mail', f'{self.rate:,.0f}')} a second")
