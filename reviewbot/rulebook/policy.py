"""What makes a call inside a block safe, per architecture, as data."""

from __future__ import annotations

from enum import Enum

from reviewbot.values import dataclass


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
    """A name that is safe although its form is not, with the reason and the source of the fact.

    `follow`: its body still counts (its arguments always do). `constant_size_arg`: it is safe only where this
    argument is a compile-time constant, because the compiler then expands it in place.
    """

    name: str
    reason: str
    source: str = ""
    follow: bool = False
    constant_size_arg: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rule of one architecture.

    `safe_forms` are the callee forms that are safe, `safe` the names that are safe all the same. `hint_forms` are
    safe forms that deserve a hint on demand (a plain `inline`, which a compiler may outline). `arches` are the
    directories below arch/ it serves (`*`: every one that no other policy names); with `generic`, generic code must
    satisfy it as well.
    """

    name: str
    arches: tuple[str, ...]
    safe_forms: frozenset[CalleeForm]
    safe: tuple[SafeName, ...]
    source: str
    hint_forms: frozenset[CalleeForm] = frozenset()
    generic: bool = False

    @property
    def safe_names(self) -> frozenset[str]:
        return frozenset(item.name for item in self.safe)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameMaker:
    """A macro that defines a function whose name it makes: `pattern` is a regular expression for the macro's name,
    `argument` the index of the argument that holds the name, `template` the name that results (`trace_{}`), `words`
    what else the macro puts on the definition."""

    pattern: str
    argument: int
    template: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The language of kernel C, from rules/syntax/*.toml.

    `annotations` are words that are blanked before parsing (`__user`, `__init`), `attributes_with_arguments` words
    that are blanked with their parentheses (`__printf(1, 2)`). `notrace`, `noinstr`, `inline` and `always_inline` are
    annotation words with that meaning. `definers` are macros that head a function definition (`SYSCALL_DEFINE3`) with
    the number of leading arguments that are not (type, name) pairs; `assembler_definers` head a symbol in a .S file.
    `builtins` are expanded by the compiler. `safe_macros` make no call of their own, but their arguments run.
    `unevaluated` look like calls but only look at the type or constness of their arguments (`BUILD_BUG_ON`).
    `loop_patterns` are regular expressions, for the whole name, of macros that head a loop (`for_each_…`). `sleeping`
    may sleep or schedule, `waiting` pass the time of a loop that polls. `condition_wrappers` give back their first
    argument's truth (`unlikely`). `noreturn` are calls that do not come back (`panic`). `makers` are macros that define
    a function under a name they make. `linker_errors` are
    regular expressions of functions that are declared and nowhere defined. `call_instructions` are, by architecture,
    the instructions that call a subroutine.
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
    unevaluated: frozenset[str] = frozenset()
    noreturn: frozenset[str] = frozenset()
    makers: tuple[NameMaker, ...] = ()
    waiting: frozenset[str] = frozenset()
    linker_errors: tuple[str, ...] = ()
    call_instructions: tuple[tuple[str, frozenset[str]], ...] = ()
