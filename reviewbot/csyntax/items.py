"""Top-level items of a C file, found from its bytes alone: which function or macro holds an offset.

Kernel style puts the braces of a function in column 0, so the usual answer needs a look at that one function. Where
the style does not hold (one-line functions, braces at line ends, `}` in column 0 inside a macro or an initialiser)
the whole file is outlined by counting braces.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache

from reviewbot.csyntax.conditions import conditions_at
from reviewbot.csyntax.definition import DefinitionKind
from reviewbot.csyntax.definitions import find_definitions
from reviewbot.csyntax.heads import MAX_HEAD_BYTES, find_head, to_function_name, without_directives
from reviewbot.csyntax.lexing import DIRECTIVE, LineIndex, blank_comments, code_of, line_of, to_code
from reviewbot.csyntax.outline import outline
from reviewbot.patterns import regex
from reviewbot.values import dataclass

__all__ = [
    "Item",
    "LineIndex",
    "blank_comments",
    "conditions_at",
    "find_definitions",
    "function_at",
    "functions_holding",
    "line_of",
    "macro_at",
]

_BRACE = regex(rb"[{}]")
_MACRO = regex(rb"[ \t\x0b]*#[ \t\x0b]*define(?:[ \t\x0b]|\\\r?\n)+(\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A function definition or a macro. `start` and `end` (exclusive) are offsets in the file, `body` is the offset
    of the `{` (of the first byte after a macro's name); `line` is the 1-based line of `start`; `text` are the exact
    bytes.

    The name of a function that a macro heads is written `SYSCALL_DEFINE2(name)`, macro and first argument.
    """

    kind: DefinitionKind
    name: str
    start: int
    end: int
    body: int
    line: int
    text: bytes

    def holds(self, offset: int) -> bool:
        """Whether the offset lies in the item."""
        return self.start <= offset < self.end


def function_at(data: bytes, offset: int) -> Item | None:
    """The function definition around an offset (its head with attributes and alternative heads, and its body), or
    None.
    """
    found = _function_by_columns(data, offset)
    return found if found is not None else _function_by_outline(data, offset)


def functions_holding(data: bytes, offsets: Iterable[int]) -> tuple[Item, ...]:
    """The distinct functions that hold the offsets, in the order of the file."""
    found: list[Item] = []
    outside: int | None = None  # an offset in no function: nor are those behind it without a brace near
    for offset in sorted(offsets):
        if found and found[-1].holds(offset):
            continue
        if outside is not None and data.find(b"{", outside, offset + MAX_HEAD_BYTES) < 0:
            outside = offset
            continue
        item = function_at(data, offset)
        outside = offset if item is None else None
        if item is not None and (not found or item.start != found[-1].start):
            found.append(item)
    return tuple(found)


def macro_at(data: bytes, offset: int) -> Item | None:
    """The #define, with its continuation lines, around an offset, or None."""
    code = code_of(data)
    line_start = code.rfind(b"\n", 0, offset) + 1
    while line_start and code[line_start - 2 : line_start].replace(b"\r", b"")[-2:-1] in (b"\\",):
        line_start = code.rfind(b"\n", 0, line_start - 1) + 1
    directive = DIRECTIVE.match(code, line_start)
    head = _MACRO.match(code, line_start)
    if directive is None or head is None or not directive.start() <= offset < directive.end():
        return None
    return _to_item(data, DefinitionKind.MACRO, head[1].decode(), directive.start(), directive.end(), head.end())


def _function_by_columns(data: bytes, offset: int) -> Item | None:
    """The function whose braces stand in column 0 around the offset, when that can be said without reading the whole
    file.
    """
    open_ = data.rfind(b"\n{", 0, offset + 2) + 1
    close = data.find(b"\n}", open_) + 1 if open_ else 0
    if not open_ or not close or close < offset:
        open_ = data.find(b"\n{", offset) + 1  # the offset may stand in the head
        close = data.find(b"\n}", open_) + 1 if open_ else 0
    if not open_ or not close or data[open_ - 2 : open_ - 1] == b"\\":
        return None
    boundary = data.rfind(b"\n}", 0, open_ - 1) + 2 if data.rfind(b"\n}", 0, open_ - 1) >= 0 else 0
    if open_ > offset and offset < boundary:
        return None
    start, name = _head_between(data, boundary, open_)
    if start is None or start > offset or not name:
        return None
    if not _is_balanced(data, open_, close + 1):
        return None
    return _to_item(data, DefinitionKind.FUNCTION, name, start, close + 1, open_)


# Remembered, for a long stretch without a function may hold thousands of the offsets that are asked for.
@lru_cache(maxsize=64)
def _head_between(data: bytes, boundary: int, open_: int) -> tuple[int | None, str]:
    """Where the head before the `{` begins, and the name of the function in it."""
    region = data[boundary:open_]
    code = to_code(region)
    if _cuts_comment(code):
        return None, ""
    bare = without_directives(code)
    start = find_head(region, code, bare)
    return (None, "") if start is None else (boundary + start, to_function_name(bare[start:]))


def _cuts_comment(code: bytes) -> bool:
    """Whether the bytes began or ended inside a comment."""
    return b"*/" in code or b"/*" in code


@lru_cache(maxsize=64)
def _is_balanced(data: bytes, begin: int, end: int) -> bool:
    """Whether the first brace of a body is closed by the last one and by none before."""
    code = to_code(data[begin:end])
    if b"#" in code:
        code = without_directives(code)
    if _cuts_comment(code):
        return False
    depth, last = 0, len(code) - 1
    for brace in _BRACE.finditer(code):
        depth += 1 if brace[0] == b"{" else -1
        if depth == 0:
            return brace.start() == last
    return False


def _function_by_outline(data: bytes, offset: int) -> Item | None:
    whole = outline(data)
    index = bisect_right(whole.starts, offset) - 1
    if index < 0:
        return None
    entry = whole.entries[index]
    if entry.body is None or offset >= entry.end:
        return None
    name = to_function_name(whole.bare[entry.start : entry.body])
    return _to_item(data, DefinitionKind.FUNCTION, name, entry.start, entry.end, entry.body)


def _to_item(data: bytes, kind: DefinitionKind, name: str, start: int, end: int, body: int) -> Item:
    return Item(kind=kind, name=name, start=start, end=end, body=body, line=line_of(data, start), text=data[start:end])
