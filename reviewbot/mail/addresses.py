"""Address headers -> Address values (RFC 5322, and what real mailers make of it)."""

from __future__ import annotations

import re
from functools import lru_cache

from reviewbot.mail.headers import decode_words
from reviewbot.mail.message import Address

# One address: quoted strings and comments may hold commas. Possessive, so that no input makes it slow.
_ITEM = re.compile(r'(?:"(?:[^"\\]|\\.)*+"|\((?:[^()\\]|\\.)*+\)|[^,;"(]++|["(])++')
_ANGLE = re.compile(r"<([^<>]*)>[^<>]*\Z")
_COMMENT = re.compile(r"\(([^()]*)\)")
_ESCAPED = re.compile(r"\\(.)")
_LONGEST = 2_000


def parse_addresses(value: str) -> tuple[Address, ...]:
    """Every address of a To or Cc value (undecoded). `Last, First <a@b>` without quotes is one person."""
    return tuple(address for item in _split(value) if (address := parse_address(item)).email)


@lru_cache(maxsize=8192)
def parse_address(item: str) -> Address:
    """One address: `Name <a@b>`, `"Name (TI)" <a@b>`, `a@b (Name)`, `a@b`, or an archive's `a at b`."""
    item = item[:_LONGEST]
    angle = _ANGLE.search(item)
    if angle:
        return Address(name=_clean_name(item[: angle.start()]), email=_clean_email(angle[1]))
    comment = _COMMENT.search(item)
    name = _clean_name(comment[1]) if comment else ""
    bare = _clean_email(re.sub(r"\s+at\s+", "@", _COMMENT.sub("", item), count=1))
    if "@" not in bare:
        return Address(name=_clean_name(item), email="")
    return Address(name=name, email=bare)


def _split(value: str) -> list[str]:
    if '"' in value or "(" in value or ";" in value:
        pieces = [match[0] for match in _ITEM.finditer(value)]
    else:
        pieces = value.split(",")
    items: list[str] = []
    held = ""
    for piece in pieces:
        if "@" not in piece and " at " not in piece:  # the "Last" of an unquoted "Last, First <a@b>", or a group's name
            held = f"{held}{piece.strip()}, " if piece.strip() else held
            continue
        items.append(held + piece.strip())
        held = ""
    return items


def _clean_name(text: str) -> str:
    text = text.strip().rstrip(",")
    if len(text) >= 2 and text[0] == '"' and text[-1] == '"':
        text = text[1:-1]
    text = decode_words(_ESCAPED.sub(r"\1", text) if "\\" in text else text)
    return " ".join(text.replace('"', "").split()).strip("'")


def _clean_email(text: str) -> str:
    text = re.sub(r"[\s\x00-\x20\x7f]+", "", text).lower()
    return text.removeprefix("mailto:")
