"""What an expression stands for in its function, whatever the variables in it are called."""

from __future__ import annotations

from reviewbot.csyntax.c_tokens import is_identifier, tokenise
from reviewbot.csyntax.c_types import type_text
from reviewbot.csyntax.function_scope import FunctionScope

_BEFORE_OTHER_NAMES = frozenset({".", "->", "struct", "union", "enum"})


def role_of(expression: bytes | str, at: int, scope: FunctionScope) -> str:
    """The expression without blanks and comments, each local name replaced by its type: `&tmp` at an offset where tmp
    is a u32 is `&<u32>`. Members, globals and what the scope does not know keep their names."""
    found = ""
    before = ""
    for token in tokenise(expression):
        part = token
        if is_identifier(token) and before not in _BEFORE_OTHER_NAMES:
            declared = scope.locals_named(token, at)
            if declared:
                part = f"<{'|'.join(dict.fromkeys(type_text(each.declared.type) for each in declared))}>"
        found += f" {part}" if found and _touch(found[-1], part[0]) else part
        before = token
    return found


def _touch(last: str, first: str) -> bool:
    """Whether two tokens would run together."""
    return (last.isalnum() or last == "_") and (first.isalnum() or first == "_")
