"""Which functions of a file a change concerns: those it touches, and those that reach them within the file."""

from __future__ import annotations

import re
from collections.abc import Collection

from reviewbot.csyntax.items import functions_holding, macro_at
from reviewbot.csyntax.lexing import code_of

_MAX_NAMES = 200


def functions_in_focus(content: bytes, touched: Collection[str]) -> frozenset[str] | None:
    """The names of the touched functions and macros and of all that mention them, directly or through others of the
    same file; None where that is so much that the whole file may as well be looked at."""
    code = code_of(content)
    found: set[str] = set()
    queue = list(touched)
    while queue:
        name = queue.pop()
        if name in found:
            continue
        found.add(name)
        if len(found) > _MAX_NAMES:
            return None
        if name.isidentifier():  # what a macro heads, as a system call, is called by nobody here
            queue += _users_of(name, content, code) - found
    return frozenset(found)


def _users_of(name: str, content: bytes, code: bytes) -> set[str]:
    offsets = [match.start() for match in re.finditer(rb"\b" + re.escape(name.encode()) + rb"\b", code)]
    macros = (macro_at(content, offset) for offset in offsets)
    return {item.name for item in functions_holding(content, offsets)} | {item.name for item in macros if item}
