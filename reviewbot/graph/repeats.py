"""Whether a function may make several pairs that share an object, told from its text: most need not be read for it."""

from __future__ import annotations

import re
from collections import Counter

from reviewbot.csyntax.base_objects import base_object
from reviewbot.csyntax.brackets import brace_end, closing, split_arguments
from reviewbot.csyntax.items import Item
from reviewbot.csyntax.lexing import blank_comments
from reviewbot.rulebook.book import Rulebook
from reviewbot.rulebook.primitives import Effect

_LOOP = re.compile(rb"\b(?:(do)\b\s*(?=\{)|(?:for|while|\w*for_each\w*)\s*(\())")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def may_repeat(item: Item, calls: re.Pattern[bytes], book: Rulebook, arch: str | None, helpers: frozenset[str]) -> bool:
    """`calls` matches an access up to its `(`, group 1 being the name; `helpers` are the functions of the same file
    that make accesses."""
    text = blank_comments(item.text, literals=True)
    roots: Counter[tuple[str, str]] = Counter()
    offsets: list[int] = []
    for match in calls.finditer(text, item.body - item.start):
        primitive = book.primitive(match.group(1).decode(), arch)
        end = closing(text, match.end() - 1)
        if primitive is None or primitive.effect is not Effect.ACCESS or end is None or primitive.pointer_arg is None:
            continue
        spans = split_arguments(text, match.end(), end)
        if primitive.pointer_arg < len(spans):
            begin, stop = spans[primitive.pointer_arg]
            root = _IDENTIFIER.search(base_object(text[begin:stop]))
            roots[primitive.direction.value, root.group() if root else ""] += 1
            offsets.append(match.start())
    if not offsets:
        return False
    if max(roots.values()) > 1 or any(name.encode() + b"(" in text for name in helpers - {item.name}):
        return True
    return any(begin <= offset < stop for begin, stop in _loops(text, item.body - item.start) for offset in offsets)


def _loops(text: bytes, start: int) -> list[tuple[int, int]]:
    """The extents of the loops: the braces behind the head, or the one statement."""
    found = []
    for match in _LOOP.finditer(text, start):
        head_end = match.end() - 1 if match.group(1) else closing(text, match.start(2))
        if head_end is None:
            continue
        following = re.compile(rb"\s*(\{)?").match(text, head_end + 1)
        assert following is not None
        end = brace_end(text, following.start(1)) if following.group(1) else _statement_end(text, head_end + 1)
        found.append((match.start(), end if end is not None else len(text)))
    return found


def _statement_end(text: bytes, start: int) -> int:
    """Behind the `;` of a statement without braces; an `if` with a block in it ends with that block."""
    semicolon = text.find(b";", start)
    brace = text.find(b"{", start)
    if 0 <= brace < semicolon:
        end = brace_end(text, brace)
        return end if end is not None else len(text)
    return semicolon + 1 if semicolon >= 0 else len(text)
