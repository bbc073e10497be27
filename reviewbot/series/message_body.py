"""The body of a patch mail -> commit message, trailers, and where the diff begins, as git mailinfo would cut it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from reviewbot.mail.addresses import parse_address
from reviewbot.mail.message import Address
from reviewbot.patterns import regex
from reviewbot.series.file_header import is_extended_header
from reviewbot.values import dataclass

_IN_BODY_HEADER = regex(r"(From|Subject|Date):[ \t]*(.*)", re.IGNORECASE)
_COMMIT_FROM_LINE = regex(r">?From [0-9a-f]{40,64} Mon Sep 17 00:00:00 2001\s*\Z")
_TRAILER = regex(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*:[ \t]*(\S.*)")
_MAYBE_DIFF = ("diff --", "--- ", "Index: ", "Binary files ")  # plain search is ten times faster than an expression
_DIFFSTAT_END = regex(r" \d+ files? changed(?:,|$)")
# Nobody writes more `---` lines above a patch, or longer paragraphs of trailers; every one costs a look at its
# surroundings.
_MOST_MARKS = 20
_LONGEST_PARAGRAPH = 500
_SCISSORS = (">8", "8<", ">%", "%<")
_BASE = regex(
    r"^(base-commit|change-id|prerequisite-patch-id|prerequisite-message-id):[ \t]*(\S+)", re.MULTILINE | re.IGNORECASE
)
_HEX = regex(r"[0-9a-f]{7,64}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyParts:
    """A patch mail's body in its pieces.

    `log` is the commit message without subject and without the notes below `---`; `trailers` are (name, value) of its
    last paragraph. `author` and `subject` are set where the body has its own From and Subject. `diff` is the text from
    the first true diff header on ("" without one), which stands at the 1-based line `diff_line` of the body.
    """

    log: str
    trailers: tuple[tuple[str, str], ...]
    author: Address | None
    subject: str | None
    diff: str
    diff_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseTrailers:
    """What git format-patch --base and b4 write below a patch or cover."""

    base_commit: str | None
    change_id: str | None
    prerequisites: tuple[str, ...]


def split_body(body: str) -> BodyParts:
    """Cut `body` (decoded, `\\n` line ends). Never raises."""
    lines = body.split("\n")
    diff_at = _find_diff(lines) if may_hold_diff(body) else None
    return _assemble(lines, diff_at, may_be_cut=any(mark in body for mark in (*_SCISSORS, "From ")))


def may_hold_diff(body: str) -> bool:
    """False when `body` surely holds no unquoted diff; quick."""
    return body.startswith(_MAYBE_DIFF) or any(f"\n{mark}" in body for mark in _MAYBE_DIFF)


def has_diff(body: str) -> bool:
    """True when `body` holds an unquoted diff with a true header."""
    return may_hold_diff(body) and _find_diff(body.split("\n")) is not None


def read_base(body: str) -> BaseTrailers:
    """The base-commit, change-id and prerequisite trailers, which may stand below the diff; malformed ones are left
    out."""
    if "base-commit:" not in body and "change-id:" not in body and "prerequisite-" not in body:
        return BaseTrailers(base_commit=None, change_id=None, prerequisites=())
    found = [(match[1].lower(), match[2]) for match in _BASE.finditer(body)]
    base = next((value.lower() for name, value in found if name == "base-commit" and _HEX.match(value.lower())), None)
    change_id = next((value for name, value in found if name == "change-id"), None)
    return BaseTrailers(
        base_commit=base,
        change_id=change_id,
        prerequisites=tuple(value for name, value in found if name.startswith("prerequisite-")),
    )


def is_scissors(line: str) -> bool:
    """`-- >8 --` and its kind, by the rule of git mailinfo: mostly dashes, with scissors, at least eight characters
    wide."""
    if "-" not in line or not any(mark in line for mark in _SCISSORS):
        return False
    perforation = gap = 0
    in_perforation = has_scissors = False
    at = 0
    while at < len(line):
        if line[at].isspace():
            perforation, gap = (perforation + 1, gap + 1) if in_perforation else (perforation, gap)
        elif line[at] == "-":
            in_perforation = True
            perforation += 1
        elif line[at : at + 2] in _SCISSORS:
            in_perforation = has_scissors = True
            perforation += 2
            at += 1
        else:
            in_perforation = False
        at += 1
    visible = len(line.strip())
    return has_scissors and visible >= 8 and visible < perforation * 3 and gap * 2 < perforation


def _assemble(lines: Sequence[str], diff_at: int | None, *, may_be_cut: bool) -> BodyParts:
    end = len(lines) if diff_at is None else diff_at
    start = _start_of_message(lines, end) if may_be_cut else 0
    headers, start = _in_body_headers(lines, start, end)
    log = _cut_notes(lines[start:end], has_patch=diff_at is not None)
    author = parse_address(headers["from"]) if "from" in headers else None
    return BodyParts(
        log="\n".join(log).strip("\n"),
        trailers=_trailers(log),
        author=author if author and "@" in author.email else None,
        subject=headers.get("subject"),
        diff="" if diff_at is None else "\n".join(lines[diff_at:]),
        diff_line=0 if diff_at is None else diff_at + 1,
    )


def _start_of_message(lines: Sequence[str], end: int) -> int:
    """Behind the last scissors, or behind the From line of a pasted or attached git format-patch."""
    start = 0
    for at, line in enumerate(lines[:end]):
        if is_scissors(line) or (at and _COMMIT_FROM_LINE.match(line)):
            start = at + 1
    return start


def _in_body_headers(lines: Sequence[str], start: int, end: int) -> tuple[dict[str, str], int]:
    headers: dict[str, str] = {}
    at = start
    while at < end and not lines[at].strip():
        at += 1
    if at < end and _COMMIT_FROM_LINE.match(lines[at]):
        at += 1
    first, name = at, ""
    while at < end and lines[at].strip():
        match = _IN_BODY_HEADER.match(lines[at])
        if match:
            name = match[1].lower()
            headers.setdefault(name, match[2].strip())
        elif name and lines[at][:1] in " \t":
            headers[name] += " " + lines[at].strip()
        elif not (name and _is_mime_header(lines[at])):
            break
        at += 1
    return (headers, at) if headers and at > first else ({}, start)


def _is_mime_header(line: str) -> bool:
    """The other headers of a pasted git format-patch file."""
    return line.lower().startswith(("mime-version:", "content-type:", "content-transfer-encoding:", "x-mailer:", "message-id:", "in-reply-to:", "references:", "to:", "cc:"))  # fmt: skip  # noqa: E501


def _cut_notes(lines: Sequence[str], *, has_patch: bool) -> list[str]:
    """The commit message: up to the `---` line behind which the notes and the diffstat stand, without a signature.

    git cuts at the first `---`. Where that one underlines a heading, so that the sign-off comes after it and before
    another `---`, the later one is meant.
    """
    marks = [at for at, line in enumerate(lines) if line.rstrip() == "---"][:_MOST_MARKS]
    if has_patch:
        end = next(
            (at for at in marks if _trailers(lines[max(0, at - _LONGEST_PARAGRAPH) : at])),
            marks[0] if marks else len(lines),
        )
    else:
        end = next((at for at, line in enumerate(lines) if line == "-- "), len(lines))
    return [line.rstrip() for line in lines[:end]]


def _trailers(lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The `Name: value` lines of the last paragraph, if it is one of trailers; continued lines are joined."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    start = end
    while start and lines[start - 1].strip():
        start -= 1
    found: list[tuple[str, str]] = []
    for line in lines[start:end]:
        match = _TRAILER.match(line)
        if match and not line[:1].isspace():
            found.append((match[1], match[2].strip()))
        elif found and line[:1].isspace():
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
    return tuple(found) if any("-" in name or name in _PLAIN_TRAILERS for name, _ in found) else ()


_PLAIN_TRAILERS = frozenset({"Cc", "CC", "cc", "Fixes", "Link", "Closes", "Bug", "BugLink"})


_FIRST_LETTERS = frozenset(mark[0] for mark in _MAYBE_DIFF)


def _find_diff(lines: Sequence[str]) -> int | None:
    """The line of the first true diff header: by the lines below it, so that no prose, heading or `---` is taken for
    one.

    A diff that stands in the commit message unindented comes before the `---` with its diffstat; then the first header
    behind that diffstat is the patch.
    """
    first = next(
        (at for at, line in enumerate(lines) if line[:1] in _FIRST_LETTERS and _is_true_header(lines, at)), None
    )
    if first is None or any(line.rstrip() == "---" for line in lines[:first]):
        return first
    marks = (at for at in range(first, len(lines)) if lines[at].startswith("---") and lines[at].rstrip() == "---")
    for at in islice(marks, _MOST_MARKS):
        if (header := _header_behind_diffstat(lines, at + 1)) is not None:
            return header
    return first


def _header_behind_diffstat(lines: Sequence[str], at: int) -> int | None:
    """The diff header that follows the diffstat which begins near line `at`, with nothing but notes in between."""
    while at < len(lines) and not _DIFFSTAT_END.match(lines[at]):
        if lines[at][:1] in ("+", "-", "@", "d") and (
            lines[at][:2] in ("@@", "--", "++") or lines[at].startswith("diff ")
        ):
            return None
        at += 1
    while at < len(lines) and not _is_true_header(lines, at):
        if lines[at].strip() and not lines[at].startswith(" "):
            return None
        at += 1
    return at if at < len(lines) else None


def _is_true_header(lines: Sequence[str], at: int) -> bool:
    line = lines[at]
    first = line[:1]
    if first == "d":
        if line.startswith("diff --cc "):
            return at + 1 < len(lines) and lines[at + 1].startswith("index ")
        return line.startswith("diff --git ") and at + 1 < len(lines) and is_extended_header(_raw(lines[at + 1]))
    if first == "-":
        return (
            line.startswith("--- ") and _at(lines, at + 1).startswith("+++ ") and _at(lines, at + 2).startswith("@@ -")
        )
    if first == "I":
        return line.startswith("Index: ") and _is_index_block(lines, at)
    return first == "B" and line.startswith("Binary files ") and line.rstrip().endswith(" differ")


def _is_index_block(lines: Sequence[str], at: int) -> bool:
    """CVS, svn and quilt write `Index: name`, a line of `=`, some lines of their own, and then `--- `/`+++ `."""
    return _at(lines, at + 1).startswith("=====") and any(
        _at(lines, behind).startswith("--- ") and _at(lines, behind + 1).startswith("+++ ")
        for behind in range(at + 2, at + 8)
    )


def _at(lines: Sequence[str], at: int) -> str:
    return lines[at] if at < len(lines) else ""


def _raw(line: str) -> bytes:
    return line.encode("utf-8", "surrogateescape")
