"""The mails that a watcher has read: kept until their series is complete and reviewed, then a while longer for its
versions."""

from __future__ import annotations

import zlib

from reviewbot.delivery.ledger import Ledger
from reviewbot.mail.decode import decode_message
from reviewbot.mail.message import Message
from reviewbot.values import dataclass

LARGEST_MAIL_BYTES = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A mail as it came in: `message` decoded, `raw` as bytes, `at` seconds since 1970, `place` the name of its
    list."""

    message: Message
    raw: bytes
    at: float
    place: str


def thread_of(message: Message) -> str:
    """The Message-ID that the thread began with, as far as this mail knows."""
    return (message.references or (message.in_reply_to or message.message_id,))[0]


def keep_mail(ledger: Ledger, arrival: Arrival, *, is_own: bool, with_text: bool) -> bool:
    """Stores a mail (its text only where it may be reviewed); False when it is there already."""
    message = arrival.message
    raw = zlib.compress(arrival.raw) if with_text else None
    added = ledger.change(
        "INSERT OR IGNORE INTO mail VALUES (?, ?, ?, ?, ?, ?, ?)",
        message.message_id, arrival.place, thread_of(message), message.author.email, arrival.at, int(is_own), raw,
    )  # fmt: skip
    return added == 1


def series_mails(ledger: Ledger, message_ids: tuple[str, ...], place: str) -> tuple[Message, ...]:
    """The mails with these ids, and whatever else of their threads was kept, in the order of arrival."""
    marks = ", ".join("?" * len(message_ids))
    rows = ledger.rows(
        "SELECT message_id, raw FROM mail WHERE raw IS NOT NULL AND place = ? AND (message_id IN"
        f" ({marks}) OR thread IN"
        f" (SELECT thread FROM mail WHERE message_id IN ({marks}))) ORDER BY at, rowid LIMIT 3000",
        place, *message_ids, *message_ids,
    )  # fmt: skip
    return tuple(_decode(row["raw"], row["message_id"]) for row in rows)


def _decode(raw: bytes, message_id: str) -> Message:
    return decode_message(zlib.decompressobj().decompress(raw, LARGEST_MAIL_BYTES), f"mail <{message_id}>")
