"""What is this file? Mail, a bare diff, or something that must be refused with a sentence that helps."""

from __future__ import annotations

import re
from enum import Enum

from reviewbot.mail.headers import read_headers, split_head
from reviewbot.mail.mbox import is_mbox

_GZIP = b"\x1f\x8b"
_KNOWN_BINARIES = (
    (b"\x7fELF", "an ELF object"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x89PNG", "a picture"),
    (b"%PDF", "a PDF file"),
    (b"PACK", "a git pack"),
    (b"# v2 git bundle", "a git bundle"),
    (b"# v3 git bundle", "a git bundle"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
)
_MAIL_HEADERS = frozenset(
    {"from", "to", "cc", "subject", "date", "message-id", "received", "return-path", "in-reply-to", "references"}
    | {"mime-version", "delivered-to"}
)
_HTML = re.compile(rb"\s*<(?:!doctype\s+html|html|head|body|\?xml)", re.IGNORECASE)
_BARE_DIFF = re.compile(rb"(?:diff --git [^\n]+\n|diff -[^\n]+\n|Index: [^\n]+\n|--- [^\n]+\n\+\+\+ )")
_GIT_LOG = re.compile(rb"commit [0-9a-f]{7,64}[^\n]*\n(?:Merge: [^\n]*\n)?Author: ")
# A web page turned into text: the headers of a mail run together in one line, or patchwork's page furniture.
_FLAT_HEADERS = re.compile(rb"\A(?:From [^\n]{0,300}\d{4} )?[^\n]{0,2000}?\b(?:Return-Path|Received|From|Subject): [^\n]*\b(?:Received|Subject|Date|Message-ID|To): ", re.IGNORECASE)  # fmt: skip  # noqa: E501
_PATCHWORK_PAGE = re.compile(
    rb"diff mbox series\b|^State\s+\w[^\n]*\n+Headers\s+show|^Commit Message\s*$|^Message ID\s", re.MULTILINE
)
_LOOK_AT = 64 * 1024
_GIVE_MBOX = "give the raw mail or the thread as mbox (lore: t.mbox.gz, patchwork: the mbox link, or `b4 mbox`)"


class InputKind(Enum):
    """What one file holds."""

    MBOX = "mbox"
    MAIL = "mail"
    DIFF = "diff"
    OTHER = "other"


def is_gzip(data: bytes) -> bool:
    """True for the first bytes of a gzip file."""
    return data.startswith(_GZIP)


def kind_of(data: bytes) -> InputKind:
    """mbox by its From line, a mail by its headers, a bare diff by its first line; everything else is refused by the
    caller."""
    start = data[:_LOOK_AT]
    if is_mbox(start):
        return InputKind.MBOX
    if _is_mail(start):
        return InputKind.MAIL
    text = start.lstrip(b"\r\n").replace(b"\r\n", b"\n")
    return InputKind.DIFF if _BARE_DIFF.match(text) else InputKind.OTHER


def refusal(data: bytes) -> str:
    """Half a sentence: what `data` looks like, and what to give instead."""
    start = data[:_LOOK_AT]
    if not start.strip():
        return f"is empty; {_GIVE_MBOX}"
    for magic, name in _KNOWN_BINARIES:
        if start.startswith(magic):
            return f"looks like {name}, not like mail; {_GIVE_MBOX}"
    if _HTML.match(start.removeprefix(b"\xef\xbb\xbf")):
        return f"looks like a web page (HTML), not like mail; {_GIVE_MBOX}"
    if _is_binary(start):
        return f"looks like binary data, not like mail; {_GIVE_MBOX}"
    if _GIT_LOG.match(start):
        return "looks like the output of git log; give `git format-patch --stdout` instead, or use `reviewbot range`"
    if _PATCHWORK_PAGE.search(start):
        return f"looks like the text of a patchwork web page, not like mail; {_GIVE_MBOX}"
    if _FLAT_HEADERS.match(start):
        return f"looks like the text of a web page with the headers of a mail run together, not like mail; {_GIVE_MBOX}"
    return f"does not look like mail (no From, Subject or Date header at its top); {_GIVE_MBOX}"


def _is_mail(start: bytes) -> bool:
    """The first line is a header, and two headers that every mail has are among them; one suffices if it is a patch's
    subject."""
    head, _ = split_head(start)
    first = head.split(b"\n", 1)[0]
    if not re.match(rb"[A-Za-z][!-9;-~]{0,100}:", first) or is_binary_text(head):
        return False
    names = {name.lower() for name, _ in read_headers(head.replace(b"\r\n", b"\n"))}
    return len(names & _MAIL_HEADERS) >= 2 and bool(names & {"from", "subject"})


def is_binary_text(data: bytes) -> bool:
    """True when control characters make up so much of `data` that it is no text."""
    return _is_binary(data)


def _is_binary(data: bytes) -> bool:
    control = len(data) - len(data.translate(None, bytes(c for c in range(32) if c not in (9, 10, 12, 13, 27))))
    return control * 20 > len(data)
