"""C types as values: what a declaration says, before anybody asks for the size."""

from __future__ import annotations

from typing import TypeAlias

from reviewbot.csyntax.c_tokens import Tokens, joined
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """`packed` lowers the alignment to 1; each of `aligned` is the argument of an aligned attribute, () meaning
    the largest of the machine.
    """

    packed: bool = False
    aligned: tuple[Tokens, ...] = ()

    def __bool__(self) -> bool:
        return self.packed or bool(self.aligned)


NATURAL = Alignment()


@dataclass(frozen=True, slots=True, kw_only=True)
class Void:
    """`void`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basic:
    """A type of C itself, in the short form of abi.basic_type()."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    to: CType


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """`bound` is a constant expression; None for `[]`."""

    of: CType
    bound: Tokens | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    returns: CType


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A struct or union. `body` are the tokens between its braces; None where only the tag is named. `arch` is
    the directory below arch/ that it is defined in, which settles some of the #if in its body.
    """

    keyword: str
    tag: str
    body: Tokens | None = None
    alignment: Alignment = NATURAL
    arch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumeration:
    tag: str
    body: Tokens | None = None
    packed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A typedef, or a macro that stands for a type."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Typeof:
    operand: Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Realigned:
    """A type with an aligned attribute of its own, as in `typedef u64 __aligned(4) compat_u64;`."""

    of: CType
    alignment: Alignment


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd:
    """A type whose size is not worked out here (vector_size, mode); `why` says so."""

    why: str


CType: TypeAlias = Void | Basic | Pointer | Array | Function | Record | Enumeration | Named | Typeof | Realigned | Odd


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One name of a declaration; `name` is empty for an anonymous member. `initialiser` are the tokens behind
    `=`, `width` those behind the `:` of a bit-field.
    """

    name: str
    type: CType
    is_const: bool = False
    is_typedef: bool = False
    initialiser: Tokens | None = None
    width: Tokens | None = None
    alignment: Alignment = NATURAL


def type_text(ctype: CType) -> str:
    """The type as one would write it in a cast: `struct foo *`, `u32 [4]`."""
    match ctype:
        case Void():
            return "void"
        case Basic() | Named():
            return ctype.name
        case Pointer():
            inner = type_text(ctype.to)
            return f"{inner}*" if inner.endswith("*") else f"{inner} *"
        case Array():
            return f"{type_text(ctype.of)} [{joined(ctype.bound or ())}]"
        case Function():
            return f"{type_text(ctype.returns)} ()"
        case Record():
            return f"{ctype.keyword} {ctype.tag}" if ctype.tag else f"{ctype.keyword} {{…}}"
        case Enumeration():
            return f"enum {ctype.tag}" if ctype.tag else "enum {…}"
        case Typeof():
            return f"typeof({joined(ctype.operand)})"
        case Realigned():
            return type_text(ctype.of)
        case Odd():
            return ctype.why
