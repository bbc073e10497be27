"""An mbox file -> the mails in it, as bytes: where one ends, and what its writer quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.mail.headers import split_head

_WEEKDAY = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
# A sender, then the date that ctime() or a mailer writes, perhaps with a zone on either side of the year; then a
# header line.
FROM_LINE = re.compile(
    rb"From [^\n]{0,300}?[ \t]+" + _WEEKDAY + rb",?[ \t]+" + _MONTH + rb"[ \t]+\d{1,2}[ \t]+\d\d:\d\d(?::\d\d)?"
    rb"(?:[ \t]+[A-Za-z0-9+-]{1,6})?[ \t]+\d{4}(?:[ \t]+[+-]\d{4})?[ \t]*\r?\n(?=>?From |[!-9;-~]{1,100}:)"
)
_COMMIT_FROM_LINE = re.compile(rb"From [0-9a-f]{40,64} Mon Sep 17 00:00:00 2001")
_QUOTED_FROM_MBOXRD = re.compile(rb"\n>(>*From )")
_BOUNDARY = re.compile(rb"^content-type:[ \t]*multipart/[^\n]*(?:\n[ \t][^\n]*)*", re.MULTILINE | re.IGNORECASE)
_LONGEST_HEAD = 256 * 1024


def is_mbox(data: bytes) -> bool:
    """True when `data` begins with the From line of an mbox or of git format-patch."""
    return FROM_LINE.match(data) is not None


def split_mbox(data: bytes) -> Iterator[bytes]:
    """Every mail of an mbox, without its From line and with the quoting of `From ` in bodies undone.

    mboxrd is known by public-inbox's `mboxrd@z` and has one `>` taken off every `>…>From `; mboxo only off `>From `.
    git format-patch does not quote, so nothing is undone there. A line `From …` begins a new mail only behind an empty
    line, with a date, before a header line, and not within the parts of a multipart mail.
    """
    is_mboxrd = data.startswith(b"From mboxrd@z ")
    starts = list(_mail_starts(data))
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        mail = data[data.find(b"\n", start) + 1 : end]
        if b">From " in mail and not _COMMIT_FROM_LINE.match(data, start):
            mail = _QUOTED_FROM_MBOXRD.sub(rb"\n\1", mail) if is_mboxrd else mail.replace(b"\n>From ", b"\nFrom ")
        yield mail


def _mail_starts(data: bytes) -> Iterator[int]:
    at = 0
    start = 0
    while at >= 0:
        if _is_separator(data, at, start):
            start = at
            yield at
        at = data.find(b"\nFrom ", at)
        at = at + 1 if at >= 0 else -1


def _is_separator(data: bytes, at: int, start: int) -> bool:
    if at == 0:
        return FROM_LINE.match(data) is not None
    is_after_blank = data[max(0, at - 2) : at] == b"\n\n" or data[max(0, at - 3) : at] == b"\n\r\n"
    return is_after_blank and FROM_LINE.match(data, at) is not None and not _is_within_parts(data, start, at)


def _is_within_parts(data: bytes, start: int, at: int) -> bool:
    """A patch attached to a mail begins with a From line too: inside a multipart mail whose last boundary is still to
    come."""
    head = split_head(data[start : min(start + _LONGEST_HEAD, at)])[0]
    if b"ultipart/" not in head and b"ULTIPART/" not in head:
        return False
    head = head.replace(b"\r\n", b"\n")
    declared = _BOUNDARY.search(head)
    if declared is None:
        return False
    named = re.search(rb'boundary\s*=\s*"?([^"\s;]{1,200})', declared[0], re.IGNORECASE)
    if named is None:
        return False
    closing = b"\n--" + named[1] + b"--"
    return data.find(closing, start, at) < 0 and data.find(closing, at) >= 0
