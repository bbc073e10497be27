"""The body of a mail -> one text: transfer encodings, charsets, parts, attachments with a patch, format=flowed."""

from __future__ import annotations

import binascii
import re
from dataclasses import field
from functools import lru_cache

from reviewbot.grammar import plural
from reviewbot.mail.charset import decode_text
from reviewbot.mail.headers import read_headers, split_head
from reviewbot.mail.limits import Limits
from reviewbot.values import dataclass

_PARAMETER = re.compile(r';\s*([\w-]+)(?:\*\d{0,3}\*?)?\s*=\s*(?:"((?:[^"\\]|\\.)*+)"|([^;\s"]*))')
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/=\s]")
_DIFF = re.compile(r"^(?:diff --git |--- [^\n]+\n\+\+\+ )", re.MULTILINE)
_PATCH_KINDS = frozenset({"text/x-patch", "text/x-diff", "text/patch", "application/x-patch", "application/x-diff"})
_PATCH_NAMES = (".patch", ".diff", ".eml", ".mbox")
_PLAIN_ENCODINGS = frozenset({"", "7bit", "8bit", "binary", "7-bit", "8-bit"})
_LONGEST_TYPE = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentType:
    """A Content-Type or Content-Disposition value: `kind` in lower case, parameters by lower-case name."""

    kind: str
    parameters: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        """The parameter `name`, or "" where it is missing."""
        return next((value for key, value in self.parameters if key == name), "")


@dataclass(slots=True)
class _Reading:
    """What was collected from one mail so far."""

    limits: Limits
    texts: list[str] = field(default_factory=list)
    patches: set[int] = field(default_factory=set)  # which of the texts came as a patch file
    problems: list[str] = field(default_factory=list)
    has_html: bool = False
    parts: int = 0


def read_body(content_type: str, transfer_encoding: str, data: bytes, limits: Limits) -> tuple[str, tuple[str, ...]]:
    """The text of a mail, and one sentence for every part that could not be read."""
    reading = _Reading(limits=limits)
    _read_part(parse_content_type(content_type), "", transfer_encoding, data, 0, reading)
    if reading.has_html and not reading.texts:
        reading.problems.append("The mail has only an HTML part, which holds no patch that could be applied")
    if reading.patches:
        _prefer_patch_files(reading)
    if len(reading.texts) == 1:
        return reading.texts[0], tuple(reading.problems)
    text = "".join(part if part.endswith("\n") else part + "\n" for part in reading.texts)
    return text, tuple(dict.fromkeys(reading.problems))


@lru_cache(maxsize=1024)
def parse_content_type(value: str) -> ContentType:
    """`value` in its pieces; an empty or broken one is text/plain (RFC 2045, 5.2)."""
    value = value[:_LONGEST_TYPE]
    kind = value.partition(";")[0].strip().lower()
    parameters = tuple((match[1].lower(), (match[2] or match[3] or "").strip()) for match in _PARAMETER.finditer(value))
    return ContentType(kind=kind or "text/plain", parameters=parameters)


def _read_part(kind: ContentType, disposition: str, encoding: str, data: bytes, depth: int, reading: _Reading) -> None:
    reading.parts += 1
    if reading.parts > reading.limits.mime_parts:
        reading.problems.append(f"The mail has more than {reading.limits.told('mime_parts')}; the rest was not read")
    elif kind.kind.startswith("multipart/"):
        _read_parts(kind, data, depth, reading)
    elif kind.kind.startswith("message/") and depth:
        reading.problems.append(f"A part of type {kind.kind} (a forwarded mail or a receipt) was not read")
    elif kind.kind == "text/html":
        reading.has_html = True
    else:
        _read_text(kind, disposition, encoding, data, depth, reading)


def _read_text(kind: ContentType, disposition: str, encoding: str, data: bytes, depth: int, reading: _Reading) -> None:
    name = (parse_content_type(disposition).get("filename") or kind.get("name")).lower()
    is_patch = kind.kind in _PATCH_KINDS or name.endswith(_PATCH_NAMES)
    if depth and not is_patch and not kind.kind.startswith("text/"):
        return
    text = unix_lines(decode_text(_undo_transfer(encoding, data, reading), kind.get("charset")))
    if kind.get("format").lower() == "flowed":
        text = _unflow(text, delete_space=kind.get("delsp").lower() == "yes")
    if disposition.lower().startswith("attachment") and not is_patch and not _DIFF.search(text):
        return
    if depth and is_patch:
        reading.patches.add(len(reading.texts))
    reading.texts.append(text.removeprefix("\ufeff"))


def _prefer_patch_files(reading: _Reading) -> None:
    """A patch attached as a file is often pasted into the text too, and mangled there: the file is meant."""
    attached = [at for at in reading.patches if _DIFF.search(reading.texts[at])]
    if len(attached) > 1:
        reading.problems.append(f"The mail has {plural(len(attached), 'patch')} attached; they were read as one")
    for at, text in enumerate(reading.texts):
        if attached and at not in reading.patches and (pasted := _DIFF.search(text)):
            reading.texts[at] = text[: pasted.start()]


def _read_parts(kind: ContentType, data: bytes, depth: int, reading: _Reading) -> None:
    if depth >= reading.limits.mime_depth:
        reading.problems.append(
            f"The mail nests parts more than {reading.limits.told('mime_depth')}; the inner ones were not read"
        )
        return
    pieces = _cut_at_boundary(kind.get("boundary"), data)
    if not pieces:
        reading.problems.append("The mail says that it has parts but holds no boundary; it was read as one text")
        reading.texts.append(unix_lines(decode_text(data, "")))
    for piece in pieces:
        if reading.parts > reading.limits.mime_parts:
            return
        head, body = split_head(piece)
        body = body[1:] if not head and body[:1] == b"\n" else body
        fields = {name.lower(): value for name, value in reversed(read_headers(head[: reading.limits.header_bytes]))}
        _read_part(
            parse_content_type(fields.get("content-type", "")),
            fields.get("content-disposition", ""),
            fields.get("content-transfer-encoding", ""),
            body,
            depth + 1,
            reading,
        )


def _cut_at_boundary(boundary: str, data: bytes) -> list[bytes]:
    if not boundary:
        return []
    line = re.compile(
        rb"^--" + re.escape(boundary.encode("utf-8", "surrogateescape")) + rb"(--)?[ \t\r]*$", re.MULTILINE
    )
    pieces: list[bytes] = []
    start: int | None = None
    for match in line.finditer(data):
        if start is not None:
            pieces.append(data[start : max(start, match.start() - 1)])
        start = match.end() + 1
        if match[1]:
            return pieces
    if start is not None and start < len(data):
        pieces.append(data[start:])
    return pieces


def _undo_transfer(encoding: str, data: bytes, reading: _Reading) -> bytes:
    name = encoding.partition(";")[0].strip().lower()
    if name in _PLAIN_ENCODINGS:
        return data
    if name == "quoted-printable":
        return binascii.a2b_qp(data)
    if name == "base64":
        return _undo_base64(data)
    reading.problems.append(f"The transfer encoding {name[:40]!r} is unknown; the text was read as it stands")
    return data


def _undo_base64(data: bytes) -> bytes:
    """Lenient: a list's footer below the encoded text is left out, a missing end is forgiven."""
    stray = _NOT_BASE64.search(data)
    if stray:
        data = data[: data.rfind(b"\n", 0, stray.start()) + 1]
    packed = b"".join(data.split())
    try:
        return binascii.a2b_base64(packed + b"=" * (-len(packed) % 4))
    except binascii.Error:
        return binascii.a2b_base64(packed[: len(packed) // 4 * 4 - 4] if len(packed) >= 4 else b"")


def unix_lines(text: str) -> str:
    """CRLF becomes LF where every line ends so; a single `\\r` in front of a line end belongs to the patched file."""
    if "\r\n" not in text or text.count("\r\n") != text.count("\n"):
        return text
    return text.replace("\r\n", "\n")


def _unflow(text: str, *, delete_space: bool) -> str:
    """RFC 3676, as git mailinfo does it: unstuff, then join soft line breaks; the signature mark stays."""
    lines: list[str] = []
    pending: list[str] = []
    for line in text.split("\n"):
        if line == "-- ":
            lines += ["".join(pending), line] if pending else [line]
            pending = []
            continue
        line = line.removeprefix(" ")
        if line.endswith(" "):
            pending.append(line[:-1] if delete_space else line)
            continue
        lines.append("".join((*pending, line)))
        pending = []
    return "\n".join([*lines, "".join(pending)] if pending else lines)
