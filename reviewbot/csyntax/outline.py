"""The outline of a whole C file: its top-level items, from braces and semicolons outside comments, literals and
directives.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import lru_cache

from reviewbot.csyntax.heads import find_head, to_function_name
from reviewbot.csyntax.lexing import DIRECTIVE, blank, code_of, lines_of
from reviewbot.patterns import regex
from reviewbot.values import dataclass

_BRACE = regex(rb"[{}]")
_BRANCH = regex(rb"[ \t\x0b]*#[ \t\x0b]*(if|ifdef|ifndef|elif|else|endif)\b")
_CUT = regex(rb"[;]|extern\s*\"[^\"\n]*\"\s*\{")
_NO_FUNCTION_ENDS = (b"=", b",", b"(", b"\\")
_LINKAGE = regex(rb'extern\s*"[^"\n]*"\s*\{')


@dataclass(frozen=True, slots=True)
class Entry:
    """One top-level item: offsets of its first byte and behind its last; `body` is the `{` if it is a function."""

    start: int
    end: int
    body: int | None


@dataclass(frozen=True, slots=True)
class Outline:
    """`code` and `bare` are the blanked bytes (see lexing), `groups` the outermost (`{`, `}`) pairs, `entries` the
    items, `starts` their starts for bisection.
    """

    code: bytes
    bare: bytes
    groups: tuple[tuple[int, int], ...]
    group_starts: tuple[int, ...]
    entries: tuple[Entry, ...]
    starts: tuple[int, ...]

    def group_around(self, offset: int) -> tuple[int, int] | None:
        """The outermost braces around an offset."""
        index = bisect_right(self.group_starts, offset) - 1
        return self.groups[index] if index >= 0 and offset < self.groups[index][1] else None

    def groups_between(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """The outermost braces that open in start…end."""
        return self.groups[bisect_left(self.group_starts, start) : bisect_left(self.group_starts, end)]

    def entry_around(self, offset: int) -> Entry | None:
        """The item around an offset."""
        index = bisect_right(self.starts, offset) - 1
        return self.entries[index] if index >= 0 and offset < self.entries[index].end else None


@lru_cache(maxsize=48)
def outline(data: bytes) -> Outline:
    """The outline of a file, remembered for the files in work."""
    code = code_of(data)
    directives = list(lines_of(DIRECTIVE, code))
    bare = _without(code, directives)
    linkage = [match.end() - 1 for match in _LINKAGE.finditer(bare)]
    groups = _outermost_groups(bare, directives, frozenset(linkage))
    entries = tuple(_entries(data, code, bare, groups, linkage))
    return Outline(
        code=code,
        bare=bare,
        groups=groups,
        group_starts=tuple(open_ for open_, _ in groups),
        entries=entries,
        starts=tuple(entry.start for entry in entries),
    )


def _without(code: bytes, directives: list[re.Match[bytes]]) -> bytes:
    """The code with these directives as blanks."""
    pieces: list[bytes] = []
    position = 0
    for directive in directives:
        pieces += (code[position : directive.start()], blank(directive))
        position = directive.end()
    return b"".join([*pieces, code[position:]])


def _outermost_groups(
    bare: bytes, directives: list[re.Match[bytes]], skip: frozenset[int]
) -> tuple[tuple[int, int], ...]:
    branches = [(each, match) for each in directives if (match := _BRANCH.match(each[0])) is not None]
    tokens = [(brace.start(), brace[0], b"") for brace in _BRACE.finditer(bare)]
    tokens += [(each.start(), match[1], each[0][match.end() :]) for each, match in branches]
    tokens.sort()
    groups, is_closed = _match_braces(bare, tokens, skip, resync=False)
    return groups if is_closed else _match_braces(bare, tokens, skip, resync=True)[0]


def _match_braces(
    bare: bytes, tokens: Iterable[tuple[int, bytes, bytes]], skip: frozenset[int], *, resync: bool
) -> tuple[tuple[tuple[int, int], ...], bool]:
    """The outermost groups, and whether every brace was matched. `tokens` are (offset, brace or word of a directive,
    rest of that directive), in order.

    Of the branches of an #if the first one counts (not that of `#if 0`), so that a `{` in each branch is one. With
    `resync` a brace in column 0 ends whatever is still open: the way kernel files end a function.
    """
    depth, open_at, is_clean = 0, 0, True
    branches: list[tuple[int, int, int | None, int]] = []  # depth and open_at at the #if, and after its first branch
    groups: list[tuple[int, int]] = []
    for at, text, rest in tokens:
        if text == b"{" and at not in skip:
            if resync and depth and bare[at - 1 : at] == b"\n":
                depth = 0
            if depth == 0:
                open_at = at
            depth += 1
        elif text == b"}":
            if resync and depth and bare[at - 1 : at] == b"\n":
                depth = 1
            if depth == 1 and open_at >= (groups[-1][1] if groups else 0):
                groups.append((open_at, at))
            is_clean = is_clean and (depth > 0 or bool(skip))
            depth = max(0, depth - 1)
        elif text != b"{":
            depth, open_at = _branch(branches, text, rest.strip(), depth, open_at)
    return tuple(groups), is_clean and depth == 0


def _branch(
    branches: list[tuple[int, int, int | None, int]], word: bytes, rest: bytes, depth: int, open_at: int
) -> tuple[int, int]:
    if word.startswith(b"if"):
        branches.append((depth, open_at, -1 if rest == b"0" else None, open_at))
        return depth, open_at
    if not branches:
        return depth, open_at
    before, open_before, after, open_after = branches.pop()
    if after is None:
        after, open_after = depth, open_at
    if word == b"endif":
        return (after, open_after) if after >= 0 else (before, open_before)
    branches.append((before, open_before, None if after < 0 else after, open_after))
    return before, open_before


def _entries(
    data: bytes, code: bytes, bare: bytes, groups: tuple[tuple[int, int], ...], linkage: list[int]
) -> list[Entry]:
    """Cut the file at the semicolons outside braces and behind function bodies."""
    entries: list[Entry] = []
    begin = cursor = 0
    for open_, close in (*groups, (len(bare), len(bare))):
        for cut in _CUT.finditer(bare, cursor, open_):
            if cut[0] == b";":
                _add(entries, bare, begin, cut.end())
            begin = cut.end()
        if begin < cursor and to_function_name(bare[cursor:open_]):
            begin = cursor
        if begin >= cursor and open_ < len(bare) and _may_be_head(bare[begin:open_]):
            start = find_head(data[begin:open_], code[begin:open_], bare[begin:open_])
            if start is not None and to_function_name(bare[begin + start : open_]):
                entries.append(Entry(begin + start, close + 1, open_))
                begin = close + 1
        cursor = close + 1
    return entries


def _may_be_head(text: bytes) -> bool:
    """Whether the text may end with the head of a function: that of a structure or an initialiser is told quickly."""
    return b"(" in text and not text.rstrip().endswith(_NO_FUNCTION_ENDS)


def _add(entries: list[Entry], bare: bytes, begin: int, end: int) -> None:
    text = bare[begin:end]
    start = end - len(text.lstrip())
    if start < end:
        entries.append(Entry(start, end, None))
