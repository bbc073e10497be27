"""One mail, decoded: what the later stages know of a message."""

from __future__ import annotations

from datetime import datetime

from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A mail address; `email` is lower-case and may be empty where the mail has none, `name` is decoded."""

    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>" if self.name else self.email


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A mail as text.

    `message_id`, `in_reply_to` and `references` are without angle brackets. `subject` is unfolded and decoded.
    `author` is the real person (in-body From, X-Original-From, Reply-To and list munging undone). `body` is the
    decoded text with `\\n` line ends; undecodable bytes are kept as surrogate escapes. `origin` says where it came
    from, for people: `series.mbox, message 3`. `headers` keeps every header in order, as (name as sent, decoded
    value). `problems` are sentences about parts of the mail that could not be read.
    """

    message_id: str
    subject: str
    author: Address
    sender: Address
    date: datetime | None
    in_reply_to: str | None
    references: tuple[str, ...]
    to: tuple[Address, ...]
    cc: tuple[Address, ...]
    headers: tuple[tuple[str, str], ...]
    body: str
    origin: str
    is_automatic: bool
    problems: tuple[str, ...] = ()

    def header(self, name: str) -> str | None:
        """The first value of the header `name` (any case), or None."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)
