"""What makes a call inside a block safe, per architecture, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class CalleeForm(Enum):
    """How a callee is written; decides, per architecture, whether a call to it is safe in a block."""

    ALWAYS_INLINE = "always_inline"
    INLINE = "inline"
    NOTRACE = "notrace"
    NOINSTR = "noinstr"
    UNTRACED_OBJECT = "untraced_object"
    ASM = "asm"
    BUILTIN = "builtin"
    STATIC = "static"
    EXTERN = "extern"
    INDIRECT = "indirect"
    TRACEPOINT = "tracepoint"
    STATIC_CALL = "static_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeName:
    """A name that is safe although its form is not, with the reason and the source of the fact. `follow`: its arguments or
    body still count."""

    name: str
    reason: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rule of one architecture. `safe_forms` are the callee forms that are safe; `safe` the names that are safe all the
    same; `sleeping` the names that may sleep or schedule (never safe). `arches` are the directories below arch/ it serves."""

    name: str
    arches: tuple[str, ...]
    safe_forms: frozenset[CalleeForm]
    safe: tuple[SafeName, ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The language of kernel C, from rules/syntax/*.toml.

    `annotations`: words that are blanked before parsing (`__user`, `__init`). `notrace`, `noinstr`, `inline`,
    `always_inline`: annotation words with that meaning. `definers`: macros that head a function definition
    (`SYSCALL_DEFINE3`) -> number of leading arguments that are not (type, name) pairs. `builtins`: compiler builtins and
    what is always expanded in place. `attributes_with_arguments`: `__printf(1, 2)`-like words, blanked with their parentheses.
    `loops`: macros that head a loop (`for_each_…`, also as a pattern).
    """

    annotations: frozenset[str]
    attributes_with_arguments: frozenset[str]
    notrace: frozenset[str]
    noinstr: frozenset[str]
    inline: frozenset[str]
    always_inline: frozenset[str]
    definers: tuple[tuple[str, int], ...]
    builtins: frozenset[str]
    safe_macros: frozenset[str]
    loop_patterns: tuple[str, ...]
    sleeping: frozenset[str]
    assembler_definers: frozenset[str]
    condition_wrappers: frozenset[str]
