"""The header block of a mail -> names and values, unfolded, with encoded words decoded (RFC 5322, RFC 2047)."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from reviewbot.mail.charset import decode_text

HeaderLines = tuple[tuple[str, str], ...]

_FOLD = re.compile(r"\n[ \t]+")
_ENCODED_WORD = re.compile(r"=\?([^?*\s]+)(?:\*[^?]*)?\?([bBqQ])\?([^?]*)\?=")
_REPLY = re.compile(
    r"\s*(?:\[[^\]]{0,200}\]\s*)*(?:re|aw|sv|vs|antw|odp|fwd?|wg|r|回复|答复|转发)\s*(?:\[\d{1,5}\]|\(\d{1,5}\)|\^\d{1,5})?\s*[:：]",
    re.IGNORECASE,
)
_MESSAGE_ID = re.compile(r"<\s*([^<>\s]+)\s*>")
_LONGEST_DATE = 200


def split_head(raw: bytes) -> tuple[bytes, bytes]:
    """The header block and the body of `raw`, divided at the first empty line."""
    at, width = raw.find(b"\n\n"), 2
    crlf = raw.find(b"\n\r\n", 0, at + 2 if at >= 0 else len(raw))
    if crlf >= 0 and (at < 0 or crlf < at):
        at, width = crlf, 3
    if raw[:1] == b"\n" or raw[:2] == b"\r\n":
        return b"", raw
    if at < 0:
        return raw, b""
    return raw[: at + 1], raw[at + width :]


def read_headers(head: bytes) -> HeaderLines:
    """(name as sent, value unfolded but not yet decoded), in order; lines that are no headers are left out."""
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError:
        text = head.decode("latin-1")
    for stray in "\0\r":
        if stray in text:
            text = text.replace(stray, "")
    return tuple(_fields(_FOLD.sub(" ", text)))


def decode_words(value: str) -> str:
    """`value` with RFC 2047 encoded words decoded; neighbours in one charset are joined first, as mailers cut
    characters."""
    if "=?" not in value:
        return value
    pieces: list[str] = []
    pending: tuple[str, bytes] | None = None
    end = 0
    for word in _ENCODED_WORD.finditer(value):
        data = _word_bytes(word[2], word[3])
        if data is None:
            continue
        between = value[end : word.start()]
        charset = word[1].lower()
        if pending is not None and not between.strip() and pending[0] == charset:
            pending = (charset, pending[1] + data)
        else:
            if pending is not None:
                pieces.append(decode_text(pending[1], pending[0]))
            if pending is None or between.strip():
                pieces.append(between)
            pending = (charset, data)
        end = word.end()
    if pending is not None:
        pieces.append(decode_text(pending[1], pending[0]))
    pieces.append(value[end:])
    # A word may hide line ends: a decoded header stays one line, whoever prints it later.
    return re.sub(r"[\r\n\0]+", " ", "".join(pieces))


def is_reply_subject(subject: str) -> bool:
    """True for an answer or a forwarded mail: `Re:`, also behind tags that a gateway put in front, and in other
    languages."""
    return _REPLY.match(subject) is not None


def message_ids(value: str) -> tuple[str, ...]:
    """The message ids in a Message-ID, In-Reply-To or References value, without angle brackets, in order."""
    found = _MESSAGE_ID.findall(value)
    if found:
        return tuple(found)
    bare = value.strip().strip("<>")
    return (bare,) if bare and "@" in bare and not re.search(r"[\s<>]", bare) else ()


def read_date(value: str) -> datetime | None:
    """The moment of a Date header, with a time zone (UTC where the header says -0000), or None where it is no date."""
    try:
        date = parsedate_to_datetime(value[:_LONGEST_DATE])
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        date.timestamp()
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return date


def _fields(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        name, colon, value = line.partition(":")
        if colon and name and " " not in name:
            yield name, value.strip()


def _word_bytes(encoding: str, text: str) -> bytes | None:
    data = text.encode("utf-8", "surrogateescape")
    if encoding in "qQ":
        return binascii.a2b_qp(data, header=True)
    try:
        return binascii.a2b_base64(data + b"=" * (-len(data) % 4))
    except binascii.Error:
        return None
