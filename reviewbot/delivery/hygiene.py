"""Which mails a robot must not answer (RFC 3834, and what kernel lists taught others)."""

from __future__ import annotations

import re

from reviewbot.mail.message import Message
from reviewbot.values import dataclass

_ROBOT_HEADERS = (
    "robot-id",
    "robot-unsubscribe",
    "x-robot",
    "x-loop",
    "x-autoreply",
    "x-autorespond",
    "x-auto-response-suppress",
    "x-reviewbot",
)
_ROBOT_NAMES = re.compile(
    r"^(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|nobody|root|lkp|syzbot.*"
    r"|(?:.*[-_.])?(?:bot|robot)\d*(?:[-+].*)?)@",
)
_BULK = frozenset({"bulk", "junk"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who we are: our addresses (lower-case) and the domain that only our Message-IDs have."""

    addresses: frozenset[str]
    message_id_domain: str

    def is_own_address(self, address: str) -> bool:
        """Case and +tag do not matter."""
        return plain(address) in self.addresses

    def is_own_message_id(self, message_id: str) -> bool:
        """True for the ids of mails that we wrote."""
        return message_id.strip("<> ").lower().endswith(f"@{self.message_id_domain}")


def identity_of(address: str, others: tuple[str, ...] = ()) -> Identity:
    """The identity of a robot with this address; `others` are further addresses that are its own.

    Message-IDs get a domain of their own below that of the address: the address may be at a host that many people
    share.
    """
    address = address or "reviewbot@localhost"
    addresses = frozenset(plain(each) for each in (address, *others))
    return Identity(addresses=addresses, message_id_domain=f"reviewbot.{address.rpartition('@')[2].lower()}")


def plain(address: str) -> str:
    """The address in lower case and without +tag."""
    local, _, domain = address.strip().lower().rpartition("@")
    return f"{local.partition('+')[0]}@{domain}"


def why_not_answer(message: Message, own: Identity) -> str | None:
    """Why this mail must not be answered, as half a sentence, or None."""
    if own.is_own_address(message.author.email) or own.is_own_address(message.sender.email):
        return "it is our own mail"
    if own.is_own_message_id(message.message_id):
        return "it is our own mail"
    if any(own.is_own_message_id(each) for each in (*message.references, message.in_reply_to or "")):
        return "it answers a mail of ours"
    return _why_automatic(message)


def _why_automatic(message: Message) -> str | None:
    if (message.header("Auto-Submitted") or "no").split(";")[0].strip().lower() != "no":
        return "it was sent automatically (Auto-Submitted)"
    if any(value.strip() == "<>" for name, value in message.headers if name.lower() == "return-path"):
        return "it is a bounce or notice (empty Return-Path)"
    if (message.header("X-Patchwork-Hint") or "").strip().lower() == "ignore":
        return "it asks to be ignored (X-Patchwork-Hint)"
    if _has_robot_header(message) or _ROBOT_NAMES.match(message.author.email):
        return "another robot sent it"
    return "it was sent automatically" if message.is_automatic else None


def _has_robot_header(message: Message) -> bool:
    """Precedence alone says little, as list servers add it; with one of a robot's headers it does."""
    names = {name.lower() for name, _ in message.headers}
    is_bulk = (message.header("Precedence") or "").strip().lower() in _BULK
    marked = [name for name in _ROBOT_HEADERS if name in names]
    return bool(marked) and (is_bulk or any(name.startswith("robot-") or name == "x-reviewbot" for name in marked))
