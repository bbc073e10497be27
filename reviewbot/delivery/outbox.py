"""The outbox: what is to be said is written down first, then sent, and each step is on the disk before the next is
taken.

    pending ──► sending ──► sent
       ▲           │──────► failed      (refused for good)
       │           │──────► pending     (could not reach the server: nothing was taken)
       └─ uncertain ◄──┘                (may have been taken: the world is asked before it is sent again)

A row that is `sending` while nobody holds the lock belongs to a process that died, so it is uncertain. `withdrawn` is
what
was overtaken before it was sent; `dry_run` is what would have been said.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Protocol

from reviewbot.delivery.clock import Clock
from reviewbot.delivery.ledger import Ledger
from reviewbot.errors import DeliveryError
from reviewbot.values import dataclass

RETRY_FIRST_S = 60.0
RETRY_LONGEST_S = 6 * 3600.0
MAX_ATTEMPTS = 40


class State(Enum):
    """Where an item stands."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    UNCERTAIN = "uncertain"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"
    DRY_RUN = "dry_run"


OPEN = (State.PENDING, State.SENDING, State.UNCERTAIN)
SAID = (*OPEN, State.SENT)


class Evidence(Enum):
    """What the world says about an item that may have been sent."""

    SENT = "sent"
    NOT_SENT = "not sent"
    UNKNOWN = "unknown"


class RefusedError(DeliveryError):
    """The receiver will never take this."""


class PostponedError(DeliveryError):
    """The receiver took nothing and may take it later; `after_s` is how long it wants to be left alone."""

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


class UncertainError(DeliveryError):
    """The receiver may have taken it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Something to say. `key` names the slot within (channel, place): the patch and context of a check, the patch of
    a mail.
    `series` is our key of the series, `subject` and `reader` are for people, `payload` is what the sender needs."""

    channel: str
    place: str
    key: str
    series: str
    subject: str
    reader: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A row of the outbox."""

    id: int
    draft: Draft
    state: State
    attempts: int
    created_at: float
    due_at: float
    sent_at: float | None
    remote: str
    note: str


class Sender(Protocol):
    """One way out into the world."""

    settle_s: float  # how long after an unclear attempt the world can be asked

    def find(self, item: Item) -> Evidence:
        """Whether the item is already there; asked before an unclear item is sent again."""

    def overtaken(self, item: Item) -> str | None:
        """Why the item should not be sent any more, or None."""

    def send(self, item: Item, begin: Callable[[], None]) -> str:
        """Sends it and returns the remote id. Calls `begin` right before the step that cannot be taken back.

        Raises RefusedError, PostponedError or UncertainError.
        """


class Outbox:
    """The outbox of a ledger, with the senders by channel."""

    def __init__(self, ledger: Ledger, clock: Clock, senders: Mapping[str, Sender] | None = None) -> None:
        self._ledger = ledger
        self._clock = clock
        self._senders = dict(senders or {})

    def put(
        self, draft: Draft, *, dry_run: bool = False, once: bool = False, due_at: float | None = None
    ) -> int | None:
        """Writes a draft down; its id, or None when the newest word in its slot already says the same, or when the slot
        takes one word only (`once`) and has it."""
        with self._ledger.transaction():
            newest = self.newest(draft.channel, draft.place, draft.key, with_dry_runs=dry_run)
            if newest is not None and (once or newest.draft.payload == dict(draft.payload)):
                return None
            state = State.DRY_RUN if dry_run else State.PENDING
            now = self._clock.now()
            rows = self._ledger.rows(
                "INSERT INTO outbox (channel, place, key, series, subject, reader, payload, state, created_at, due_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                draft.channel, draft.place, draft.key, draft.series, draft.subject, draft.reader,
                json.dumps(dict(draft.payload), sort_keys=True), state.value, now, due_at if due_at is not None else
                now,
            )  # fmt: skip
            if not dry_run:
                self._withdraw_older(draft, int(rows[0]["id"]))
            return int(rows[0]["id"])

    def newest(self, channel: str, place: str, key: str, *, with_dry_runs: bool = False) -> Item | None:
        """The newest item in a slot that was said or still will be."""
        states = [state.value for state in (*SAID, *((State.DRY_RUN,) if with_dry_runs else ()))]
        row = self._ledger.row(
            f"SELECT * FROM outbox WHERE channel = ? AND place = ? AND key = ? AND state IN ({_marks(states)})"
            " ORDER BY id DESC LIMIT 1",
            channel, place, key, *states,
        )  # fmt: skip
        return to_item(row) if row else None

    def items(self, states: tuple[State, ...] = tuple(State), limit: int = 1_000_000) -> tuple[Item, ...]:
        """Items in the given states, newest first."""
        values = [state.value for state in states]
        statement = f"SELECT * FROM outbox WHERE state IN ({_marks(values)}) ORDER BY id DESC LIMIT ?"
        return tuple(to_item(row) for row in self._ledger.rows(statement, *values, limit))

    def item(self, number: int) -> Item | None:
        """The item with this id."""
        row = self._ledger.row("SELECT * FROM outbox WHERE id = ?", number)
        return to_item(row) if row else None

    def settle(self, number: int, state: State, note: str) -> bool:
        """A person decides about an item whose fate is unknown, or that failed; False when it is neither."""
        allowed = (State.UNCERTAIN, State.FAILED, State.PENDING)
        with self._ledger.only_one("outbox", wait=True), self._ledger.transaction():
            item = self.item(number)
            if item is None or item.state not in allowed:
                return False
            self._mark(item, state, note=note, due_at=self._clock.now())
            return True

    def deliver(self, *, tell: Callable[[Item, State, str], None] = lambda item, state, note: None) -> int:
        """Sends what is due, oldest first; the number of items sent. One process at a time; others wait for their
        turn."""
        sent = 0
        with self._ledger.only_one("outbox", wait=True):
            self._take_over_orphans()
            for number in self._due():
                if self._clock.is_stopping:
                    break
                item = self.item(number)
                if item is not None and item.draft.channel in self._senders:
                    state, note = self._step(item, self._senders[item.draft.channel])
                    tell(item, state, note)
                    sent += state is State.SENT
        return sent

    def _take_over_orphans(self) -> None:
        for channel, sender in self._senders.items():
            self._ledger.change(
                "UPDATE outbox SET state = 'uncertain', due_at = ?, note = 'the process ended while sending'"
                " WHERE state = 'sending' AND channel = ?",
                self._clock.now() + sender.settle_s, channel,
            )  # fmt: skip

    def _due(self) -> list[int]:
        rows = self._ledger.rows(
            "SELECT id FROM outbox WHERE state IN ('pending', 'uncertain') AND due_at <= ? ORDER BY id",
            self._clock.now(),
        )
        return [int(row["id"]) for row in rows]

    def _step(self, item: Item, sender: Sender) -> tuple[State, str]:
        """One attempt at one item; the state it is left in, and why."""
        try:
            if item.state is State.UNCERTAIN:
                evidence = sender.find(item)
                if evidence is Evidence.SENT:
                    return self._mark(item, State.SENT, note="found to have been sent before")
                if evidence is Evidence.UNKNOWN:
                    raise UncertainError("nothing tells whether it arrived; see 'reviewbot ledger'")
                if item.attempts >= MAX_ATTEMPTS:
                    raise RefusedError(f"given up after {MAX_ATTEMPTS} attempts: {item.note}")
            if reason := sender.overtaken(item):
                return self._mark(item, State.WITHDRAWN, note=reason)
            remote = sender.send(item, lambda: self._begin(item))
            return self._mark(item, State.SENT, remote=remote)
        except RefusedError as error:
            return self._mark(item, State.FAILED, note=str(error))
        except UncertainError as error:
            wait_s = max(sender.settle_s, _wait_s(item.attempts))
            return self._mark(item, State.UNCERTAIN, note=str(error), due_at=self._clock.now() + wait_s)
        except PostponedError as error:
            return self._postpone(item, str(error), error.after_s)

    def _postpone(self, item: Item, note: str, after_s: float) -> tuple[State, str]:
        # What is uncertain stays so: that the server cannot be asked now tells nothing about what it took.
        state = State.UNCERTAIN if item.state is State.UNCERTAIN else State.PENDING
        if state is State.PENDING and item.attempts + 1 >= MAX_ATTEMPTS:
            return self._mark(item, State.FAILED, note=f"given up after {MAX_ATTEMPTS} attempts: {note}")
        return self._mark(item, state, note=note, due_at=self._clock.now() + max(after_s, _wait_s(item.attempts)))

    def _begin(self, item: Item) -> None:
        self._ledger.change("UPDATE outbox SET state = 'sending' WHERE id = ?", item.id)

    def _mark(
        self, item: Item, state: State, *, note: str = "", remote: str = "", due_at: float | None = None
    ) -> tuple[State, str]:
        now = self._clock.now()
        self._ledger.change(
            "UPDATE outbox SET state = ?, note = ?, remote = ?, due_at = ?, sent_at = ?,"
            " attempts = attempts + 1 WHERE id = ?",
            state.value, note, remote or item.remote, due_at if due_at is not None else item.due_at,
            now if state is State.SENT else item.sent_at, item.id,
        )  # fmt: skip
        return state, note

    def _withdraw_older(self, draft: Draft, newest: int) -> None:
        self._ledger.change(
            "UPDATE outbox SET state = 'withdrawn', note = 'overtaken before it was sent'"
            " WHERE channel = ? AND place = ? AND key = ? AND state = 'pending' AND id < ?",
            draft.channel, draft.place, draft.key, newest,
        )  # fmt: skip


def to_item(row: sqlite3.Row) -> Item:
    """A row of the table as a value."""
    draft = Draft(
        channel=row["channel"],
        place=row["place"],
        key=row["key"],
        series=row["series"],
        subject=row["subject"],
        reader=row["reader"],
        payload=json.loads(row["payload"]),
    )
    return Item(
        id=row["id"],
        draft=draft,
        state=State(row["state"]),
        attempts=row["attempts"],
        created_at=row["created_at"],
        due_at=row["due_at"],
        sent_at=row["sent_at"],
        remote=row["remote"],
        note=row["note"],
    )


def _wait_s(attempts: int) -> float:
    return float(min(RETRY_FIRST_S * 2 ** min(attempts, 20), RETRY_LONGEST_S))


def _marks(values: list[str]) -> str:
    return ", ".join("?" * len(values))
