"""A definition found in a file: where it is, what it is, its text, and the #if conditions around it."""

from __future__ import annotations

from enum import Enum

from reviewbot.values import dataclass


class DefinitionKind(Enum):
    FUNCTION = "function"
    PROTOTYPE = "prototype"
    MACRO = "macro"  # object-like and function-like
    STRUCT = "struct"
    UNION = "union"
    ENUM = "enum"
    ENUMERATOR = "enumerator"
    TYPEDEF = "typedef"
    VARIABLE = "variable"
    ASM = "asm"  # a symbol that assembler defines


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """`line` is the 1-based line of the name. `text` are the exact bytes of the whole item (`#define` with its
    continuation lines; a function with the attributes before it and its body) and `start` their offset in the file.
    `conditions` are the enclosing #if conditions, outermost first, as written (`CONFIG_VSX` for #ifdef becomes
    `defined(CONFIG_VSX)`; an #else is `!(…)`); the include guard of a header is left out. `words` are the annotation
    words in front of the name (`static`, `inline`, `notrace`, `__always_inline` …)."""

    kind: DefinitionKind
    name: str
    path: str
    line: int
    start: int
    text: bytes
    conditions: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
