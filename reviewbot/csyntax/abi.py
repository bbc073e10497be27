"""The two data models of Linux, ILP32 and LP64: how wide C's own types are and how they are aligned."""

from __future__ import annotations

from enum import Enum

from reviewbot.values import dataclass


class Abi(Enum):
    """ILP32: int, long and pointers have 4 bytes. LP64: long and pointers have 8. Every Linux architecture is
    one of them.
    """

    ILP32 = "ilp32"
    LP64 = "lp64"

    @property
    def pointer_bytes(self) -> int:
        return 8 if self is Abi.LP64 else 4


@dataclass(frozen=True, slots=True, kw_only=True)
class DataModel:
    """An ABI with the one detail that differs between its architectures: i386 aligns `long long` and `double` inside a
    structure to 4 bytes, the others to 8 (System V ABI, i386 supplement, table 2.1)."""

    abi: Abi
    long_long_alignment: int = 8

    def size(self, basic: str) -> int | None:
        """The size in bytes of a type of C in its short form (`unsigned long`); None where it is not one size."""
        name = basic.removeprefix("unsigned ").removeprefix("signed ")
        return self.abi.pointer_bytes if name == "long" else _FIXED.get(name)

    def alignment(self, basic: str) -> int | None:
        """Like `size`, for the alignment of a structure member of this type."""
        size = self.size(basic)
        return min(size, self.long_long_alignment) if size == 8 and self.abi is Abi.ILP32 else size


_FIXED = {"char": 1, "short": 2, "int": 4, "long long": 8, "float": 4, "double": 8, "_Bool": 1}

FLOATING = frozenset({"float", "double", "long double"})


def basic_type(keywords: list[str]) -> str | None:
    """The short form of specifiers in any order: ['long', 'unsigned', 'int'] -> 'unsigned long'; None if that
    is no type.
    """
    words = [_SPELLINGS.get(word, word) for word in keywords]
    longs = words.count("long")
    rest = [word for word in words if word not in ("long", "unsigned", "signed")]
    if len(rest) > 1 and rest not in (["short", "int"], ["int", "short"]):
        return None
    base = "short" if "short" in rest else rest[0] if rest else "int"
    if longs:
        base = {"int": ("long", "long long")[min(longs, 2) - 1], "double": "long double"}.get(base, "")
    if not base:
        return None
    if "unsigned" in words:
        return f"unsigned {base}"
    return f"signed {base}" if base == "char" and "signed" in words else base


_SPELLINGS = {"__signed__": "signed", "__signed": "signed", "_Float64": "double", "_Float32": "float"}

BASIC_KEYWORDS = frozenset(
    (
        "char",
        "short",
        "int",
        "long",
        "float",
        "double",
        "void",
        "_Bool",
        "signed",
        "unsigned",
        "__signed__",
        "__signed",
        "__int128",
        "_Float32",
        "_Float64",
    )
)
QUALIFIERS = frozenset(
    (
        "const",
        "volatile",
        "restrict",
        "__const",
        "__const__",
        "__volatile__",
        "__volatile",
        "__restrict",
        "__restrict__",
        "_Atomic",
        "__extension__",
    )
)
STORAGE = frozenset(
    (
        "typedef",
        "extern",
        "static",
        "register",
        "auto",
        "inline",
        "__inline",
        "__inline__",
        "_Thread_local",
        "__thread",
        "_Noreturn",
    )
)
TYPEOF = frozenset({"typeof", "__typeof__", "__typeof", "typeof_unqual", "__typeof_unqual__"})
AGGREGATES = frozenset({"struct", "union", "enum"})
TYPE_STARTERS = BASIC_KEYWORDS | QUALIFIERS | TYPEOF | AGGREGATES
STATEMENTS = frozenset(
    (
        "if",
        "else",
        "for",
        "while",
        "do",
        "switch",
        "case",
        "default",
        "break",
        "continue",
        "return",
        "goto",
        "sizeof",
        "asm",
        "__asm__",
        "_Static_assert",
        "__label__",
    )
)
