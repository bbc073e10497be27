"""One mail as bytes -> Message: the one door for mbox, maildir, IMAP, patchwork and archives."""

from __future__ import annotations

from reviewbot.mail.addresses import parse_address, parse_addresses
from reviewbot.mail.author import real_author
from reviewbot.mail.automatic import is_automatic_mail
from reviewbot.mail.headers import (
    HeaderLines,
    decode_words,
    is_reply_subject,
    message_ids,
    read_date,
    read_headers,
    split_head,
)
from reviewbot.mail.limits import DEFAULT_LIMITS, Limits
from reviewbot.mail.message import Message
from reviewbot.mail.mime import read_body

_MOST_REFERENCES = 1_000


def decode_message(raw: bytes, origin: str, *, limits: Limits = DEFAULT_LIMITS) -> Message:
    """`raw` (one mail, with or without its mbox From line) as a Message; `origin` names it for people. Never raises
    for bad input: what could not be read is in `Message.problems`."""
    problems: list[str] = []
    head, body = split_head(_transport_lines(_cut_from_line(_within(raw, limits, problems))))
    if len(head) > limits.header_bytes:
        problems.append(f"The headers are longer than {limits.told('header_bytes')}; the rest of them was not read")
        head = head[: limits.header_bytes]
    fields = read_headers(head)
    by_name = _by_name(fields)
    text, unread = read_body(
        _first(by_name, "content-type"), _first(by_name, "content-transfer-encoding"), body, limits
    )
    return _to_message(fields, by_name, text, origin, (*problems, *unread))


def _to_message(
    fields: HeaderLines, by_name: dict[str, list[str]], text: str, origin: str, problems: tuple[str, ...]
) -> Message:
    subject = " ".join(decode_words(_first(by_name, "subject")).split())
    sender = parse_address(_first(by_name, "from"))
    ids = message_ids(_first(by_name, "message-id"))
    answers = message_ids(_first(by_name, "in-reply-to"))
    return Message(
        message_id=ids[0] if ids else "",
        subject=subject,
        author=real_author(sender, by_name, text, is_reply=is_reply_subject(subject)),
        sender=sender,
        date=read_date(_first(by_name, "date")),
        in_reply_to=answers[0] if answers else None,
        references=message_ids(" ".join(by_name.get("references", ())))[-_MOST_REFERENCES:],
        to=tuple(address for value in by_name.get("to", ()) for address in parse_addresses(value)),
        cc=tuple(address for value in by_name.get("cc", ()) for address in parse_addresses(value)),
        headers=_decoded(fields),
        body=text,
        origin=origin,
        is_automatic=is_automatic_mail(by_name),
        problems=problems,
    )


def _within(raw: bytes, limits: Limits, problems: list[str]) -> bytes:
    if len(raw) <= limits.message_bytes:
        return raw
    problems.append(f"The mail is larger than {limits.told('message_bytes')}; the rest was not read")
    kept = raw[: limits.message_bytes]
    return kept[: kept.rfind(b"\n") + 1] or kept


def _cut_from_line(raw: bytes) -> bytes:
    return raw[raw.find(b"\n") + 1 :] if raw.startswith((b"From ", b">From ")) and b"\n" in raw else raw


def _transport_lines(raw: bytes) -> bytes:
    """A mail whose first line ends in CRLF is in transport form: one CR per line end belongs to the transport, not to
    the text."""
    first_end = raw.find(b"\n")
    return raw.replace(b"\r\n", b"\n") if first_end > 0 and raw[first_end - 1] == 0x0D else raw


def _decoded(fields: HeaderLines) -> HeaderLines:
    if not any("=?" in value for _, value in fields):
        return fields
    return tuple((name, decode_words(value)) if "=?" in value else (name, value) for name, value in fields)


def _by_name(fields: HeaderLines) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in fields:
        key = name.lower()
        if key in found:
            found[key].append(value)
        else:
            found[key] = [value]
    return found


def _first(by_name: dict[str, list[str]], name: str) -> str:
    values = by_name.get(name)
    return values[0] if values else ""
