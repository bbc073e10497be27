"""Who wrote a mail, behind relays and lists that put their own address into From."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from reviewbot.mail.addresses import parse_address, parse_addresses
from reviewbot.mail.message import Address

_VIA = re.compile(r"\s*\bvia\b\s+\S.*\Z", re.IGNORECASE)
_IN_BODY_FROM = re.compile(
    r"(?:[ \t]*\n)*(?:>?From [0-9a-f]{40,64} [^\n]*\n)?(?:(?:Subject|Date):[^\n]*\n(?:[ \t][^\n]*\n)*+)*+"
    r"From:([^\n]*(?:\n[ \t]+[^\n]+)*)",
    re.IGNORECASE,
)
_LOOK_AT = 4_000
_LIST_HEADERS = ("list-post", "list-id", "x-mailing-list", "x-beenthere")


def real_author(sender: Address, fields: Mapping[str, Sequence[str]], body: str, *, is_reply: bool) -> Address:
    """The person who wrote the mail: From within the body, else X-Original-From, else behind a munged From.

    `fields` maps lower-case header names to undecoded values. A relay's or list's own address is never returned: where
    only that is known, `email` is empty. Sources: git mailinfo (in-body From), b4 (devnull+ addresses), mailman (via
    list), patchwork.
    """
    if not is_reply and (written := in_body_from(body)):
        return written
    lists = _list_addresses(fields)
    for value in fields.get("x-original-from", ()):
        if (address := parse_address(value)).email and not _is_munged(address, lists):
            return address
    if not _is_munged(sender, lists):
        return sender
    for name in ("reply-to", "x-patchwork-original-from"):
        for value in fields.get(name, ()):
            for address in parse_addresses(value):
                if not _is_munged(address, lists):
                    return Address(name=address.name or _VIA.sub("", sender.name), email=address.email)
    return Address(name=_VIA.sub("", sender.name), email="")


def in_body_from(body: str) -> Address | None:
    """The From that git format-patch writes first into the body when the sender is not the author."""
    match = _IN_BODY_FROM.match(body[:_LOOK_AT])
    if match is None:
        return None
    address = parse_address(" ".join(match[1].split()))
    return address if "@" in address.email else None


def _is_munged(address: Address, lists: frozenset[str]) -> bool:
    if address.email.startswith("devnull+") or address.email in lists:
        return True
    return bool(_VIA.search(address.name)) and (bool(lists) or "relay" in address.name.lower())


def _list_addresses(fields: Mapping[str, Sequence[str]]) -> frozenset[str]:
    found: set[str] = set()
    for name in _LIST_HEADERS:
        for value in fields.get(name, ()):
            for address in re.findall(r"[^\s<>:,;]+@[^\s<>:,;?]+", value[:_LOOK_AT]):
                found.add(address.lower())
            if name == "list-id" and (match := re.search(r"<([^<>.\s]+)\.([^<>\s]+)>", value[:_LOOK_AT])):
                found.add(f"{match[1]}@{match[2]}".lower())
    return frozenset(found)
