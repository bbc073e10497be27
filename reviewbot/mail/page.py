"""The text of a web page that shows one mail -> a Message, as far as the text still tells who wrote it and when."""

from __future__ import annotations

import re

from reviewbot.mail.headers import read_date
from reviewbot.mail.message import Address, Message

_LONG_LINE = 400
_SENTENCE_END = re.compile(r"(?<=[.:!?]) +(?=\S)")
_RULE = re.compile(r" *:?-{3,}:? *")
_NEXT_HEADER = r"(?= +(?:To|Cc|Subject|Date|Message-I[dD]|In-Reply-To|References|X-Mailer|User-Agent|Reply-To)\b|\s*$)"
_FROM = re.compile(r"\bFrom:[ \t]+\"?([^\"<\n]{1,80}?)\"?(?: *<([^>\s]+)>)?" + _NEXT_HEADER, re.MULTILINE)
_DATE = re.compile(r"\bDate:[ \t]+((?:\w{3}, +)?\d{1,2} \w{3} \d{4} \d\d:\d\d(?::\d\d)? [+-]\d{4})")
_MESSAGE_ID = re.compile(r"\bMessage-I[dD]:?[ \t]+<?([^\s<>]+@[^\s<>]+)>?")
_SUBJECT = re.compile(r"\bSubject:[ \t]+([^\n]{1,200}?)" + _NEXT_HEADER, re.MULTILINE)


def read_page(text: str, origin: str) -> Message:
    """`origin` names the page. Lines that were run together are cut into sentences; what the text does not say is left
    open (no date, no Message-ID, the page's name for an author)."""
    date = _DATE.search(text)
    author = _FROM.search(text)
    someone = Address(name=author[1].strip() if author else origin, email=(author[2] or "") if author else "")
    return Message(
        message_id=_found(_MESSAGE_ID, text),
        subject=_found(_SUBJECT, text),
        author=someone,
        sender=someone,
        date=read_date(date[1]) if date else None,
        in_reply_to=None,
        references=(),
        to=(),
        cc=(),
        headers=(),
        body="\n".join(piece for line in _body(text).splitlines() for piece in _pieces(line)),
        origin=origin,
        is_automatic=False,
    )


def _found(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[1].strip() if match else ""


def _body(text: str) -> str:
    """What follows the headers, where these stand run together at the start of a long line."""
    start = 0
    for line in text.splitlines(keepends=True):
        if len(line) > _LONG_LINE:
            heads = [match.end() for each in (_FROM, _DATE, _MESSAGE_ID, _SUBJECT) if (match := each.search(line))]
            return text[start + max(heads, default=0) :]
        start += len(line)
    return text


def _pieces(line: str) -> list[str]:
    before, rows, after = _table(line)
    if not rows and len(line) <= _LONG_LINE:
        return [line]
    return [*_SENTENCE_END.split(before), *rows, *_SENTENCE_END.split(after)]


def _table(line: str) -> tuple[str, list[str], str]:
    """The text before a table that was run into the line, its rows, and the text after it."""
    cells = line.split("|")
    rule = next((at for at, cell in enumerate(cells) if _RULE.fullmatch(cell)), None)
    if rule is None:
        return line, [], ""
    width = next((n for n, cell in enumerate(cells[rule:]) if not _RULE.fullmatch(cell)), len(cells) - rule)
    start = rule - 1 - width
    if start < 1:
        return line, [], ""
    rows, at = [cells[start : rule - 1], cells[rule : rule + width]], rule + width
    while at + width < len(cells) and not cells[at].strip():
        rows.append(cells[at + 1 : at + 1 + width])
        at += 1 + width
    return "|".join(cells[:start]), [f"|{'|'.join(row)}|" for row in rows], "|".join(cells[at:])
