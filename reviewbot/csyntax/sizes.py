"""What a copy copies: its size in bytes on 32 and on 64 bits, and the object that an address argument points
to.

An answer is given only where every definition and every #if branch that can be seen agrees; else it is unknown,
with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum
from typing import TYPE_CHECKING

from reviewbot.csyntax.abi import FLOATING, Abi, DataModel
from reviewbot.csyntax.c_expressions import Cast, Expression, Literal, Name, SizeOf
from reviewbot.csyntax.c_tokens import tokenise
from reviewbot.csyntax.c_types import (
    Array,
    Basic,
    CType,
    Enumeration,
    Pointer,
    Record,
    Void,
    type_text,
)
from reviewbot.csyntax.function_scope import FunctionScope
from reviewbot.csyntax.layout import agreed_among, extent_of, members_named
from reviewbot.csyntax.least_size import LeastSize
from reviewbot.csyntax.literals import integer_of
from reviewbot.csyntax.lookups import Definitions, Lookup
from reviewbot.csyntax.unknown_size import IncompleteTypeError, UnknownSizeError
from reviewbot.patterns import regex
from reviewbot.values import dataclass

if TYPE_CHECKING:
    from reviewbot.csyntax.evaluation import Evaluation

__all__ = [
    "FunctionScope",
    "Lookup",
    "ObjectKind",
    "ObjectResult",
    "SizeForm",
    "SizeResult",
    "evaluate_size",
    "kernel_object",
    "pointed_to",
]

_NUMBER = regex(rb"\s*(?:0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*\s*")
_WORD = regex(rb"\s*([A-Za-z_]\w*)\s*")


class SizeForm(Enum):
    """How a size is written."""

    LITERAL = "literal"
    SIZEOF_SCALAR = "sizeof_scalar"
    SIZEOF_POINTER = "sizeof_pointer"
    SIZEOF_FLOAT = "sizeof_float"
    SIZEOF_AGGREGATE = "sizeof_aggregate"  # array, struct or union
    ARITHMETIC = "arithmetic"
    CONSTANT = "constant"  # the name of a macro, an enumerator or a variable that never changes
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeResult:
    """`ilp32` and `lp64` are bytes, None where the size is not known on that ABI. `type_text` is the type that a sizeof
    measures, as written, else empty. `reason` says why a size is unknown; empty when both are known."""

    ilp32: int | None
    lp64: int | None
    form: SizeForm
    type_text: str = ""
    reason: str = ""

    @property
    def is_known(self) -> bool:
        return self.ilp32 is not None or self.lp64 is not None


class ObjectKind(Enum):
    SCALAR = "scalar"  # integers, enumerations, _Bool
    POINTER = "pointer"
    ARRAY = "array"
    STRUCT = "struct"
    UNION = "union"
    FLOAT = "float"
    VOID = "void"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectResult:
    """The object an address points to. `ilp32` and `lp64` are its bytes, None where they are not known.
    `is_word_array`: a struct that holds nothing but an array of long, like sigset_t; get_user() of its first
    word is right only where that word is all of it. `reason` says why something is unknown.
    """

    kind: ObjectKind
    ilp32: int | None = None
    lp64: int | None = None
    type_text: str = ""
    is_word_array: bool = False
    reason: str = ""


def evaluate_size(
    expression: bytes,
    at: int,
    scope: FunctionScope,
    lookup: Lookup,
    *,
    long_long_alignment: int = 8,
    enough: int | None = None,
    abis: Collection[Abi] = tuple(Abi),
) -> SizeResult:
    """The value of a size argument that stands at the offset `at` of the function of `scope`.
    `long_long_alignment` is that of the 32-bit ABI (4 on i386). Never raises for what the source says; what is
    not a compile-time constant is unknown. With `enough`, a size above that many bytes may be told as any number
    above it, which is much cheaper for a large structure, and where it is above that on one ABI, it may be unknown
    on the other. Only the `abis` are asked for.
    """
    if _NUMBER.fullmatch(expression):
        value = integer_of(expression.strip().decode())
        if value is not None:
            narrow, wide = (value if abi in abis else None for abi in (Abi.ILP32, Abi.LP64))
            return SizeResult(ilp32=narrow, lp64=wide, form=SizeForm.LITERAL)
    quick = _plain_variable(expression, at, scope)
    if quick is not None:
        return quick
    answers: list[_Answer] = []
    for abi in (each for each in (Abi.LP64, Abi.ILP32) if each in abis):
        answers.insert(0, _size_on(abi, expression, at, scope, lookup, long_long_alignment, enough))
        if enough is not None and (answers[0].value or 0) > enough:
            break
    values = {answer.abi: answer.value for answer in answers}
    known = [answer for answer in answers if answer.value is not None]
    best = known[0] if known else answers[0]
    return SizeResult(
        ilp32=values.get(Abi.ILP32),
        lp64=values.get(Abi.LP64),
        form=best.form if known else SizeForm.UNKNOWN,
        type_text=best.type_text,
        reason=next((answer.reason for answer in answers if answer.reason), ""),
    )


def kernel_object(
    expression: bytes, at: int, scope: FunctionScope, lookup: Lookup, *, long_long_alignment: int = 8
) -> ObjectResult:
    """The object that an address expression (`&x`, `buf`, `p->val + 1`) points to. An array that is named as a
    whole is an array, unless it has just one element; pointer arithmetic and indexes give its element. Never
    raises for what the source says.
    """
    answers = {
        abi: _object_on(abi, expression, at, scope, lookup, long_long_alignment if abi is Abi.ILP32 else 8)
        for abi in Abi
    }
    narrow, wide = answers[Abi.ILP32], answers[Abi.LP64]
    best = wide if wide.kind is not ObjectKind.UNKNOWN else narrow
    known = {each.kind for each in (narrow, wide)} - {ObjectKind.UNKNOWN}
    if len(known) > 1 and ObjectKind.ARRAY not in known:
        return ObjectResult(
            kind=ObjectKind.UNKNOWN, type_text=best.type_text, reason="it differs between 32 and 64 bits"
        )
    return ObjectResult(
        kind=ObjectKind.ARRAY if len(known) > 1 else best.kind,  # one word on 64 bits, two on 32
        ilp32=narrow.size,
        lp64=wide.size,
        type_text=best.type_text,
        is_word_array=narrow.is_word_array or wide.is_word_array,
        reason=narrow.reason or wide.reason,
    )


def pointed_to(
    expression: bytes, at: int, scope: FunctionScope, lookup: Lookup, *, long_long_alignment: int = 8
) -> ObjectResult:
    """What the user-side pointer of a copy points to, as its type says (`u32 __user *p` -> a scalar of 4 bytes)."""
    return kernel_object(expression, at, scope, lookup, long_long_alignment=long_long_alignment)


@dataclass(frozen=True, slots=True)
class _Answer:
    abi: Abi
    value: int | None
    form: SizeForm
    type_text: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Object:
    kind: ObjectKind
    size: int | None = None
    type_text: str = ""
    is_word_array: bool = False
    reason: str = ""


def _plain_variable(expression: bytes, at: int, scope: FunctionScope) -> SizeResult | None:
    """The quick answer for the most frequent size, a parameter or a local variable that gets its value later."""
    word = _WORD.fullmatch(expression)
    if word is None:
        return None
    name = word[1].decode()
    locals_ = scope.locals_named(name, at)
    if not locals_ or any(not local.is_parameter and local.declared.initialiser is not None for local in locals_):
        return None
    return SizeResult(ilp32=None, lp64=None, form=SizeForm.UNKNOWN, reason=f"`{name}` is a variable")


def _evaluation(abi: Abi, at: int, scope: FunctionScope, lookup: Lookup, long_long_alignment: int) -> Evaluation:
    from reviewbot.csyntax.evaluation import Evaluation  # most sizes are numbers, and most accesses have none

    model = DataModel(abi=abi, long_long_alignment=long_long_alignment)
    return Evaluation(model, scope, at, Definitions(lookup, abi, scope.table), scope.table)


def _size_on(
    abi: Abi,
    expression: bytes,
    at: int,
    scope: FunctionScope,
    lookup: Lookup,
    long_long_alignment: int,
    enough: int | None,
) -> _Answer:
    asked = _evaluation(abi, at, scope, lookup, long_long_alignment)
    form, measured = SizeForm.UNKNOWN, ""
    try:
        tree = asked.parsed(tokenise(expression))
        form = _form(tree)
        if isinstance(tree, SizeOf):
            ctype = asked.measured(tree)
            measured = type_text(ctype)
            meanings = asked.resolved(ctype)
            form = _sizeof_form(meanings[0])
            if enough is not None and tree.keyword == "sizeof":
                least = min(map(LeastSize(asked.model, asked.table, enough).of, meanings))
                if least > enough:
                    return _Answer(abi, least, form, measured, "")
        value = asked.value(tree)
    except UnknownSizeError as error:
        return _Answer(abi, None, form, measured, str(error))
    if value < 0:
        return _Answer(abi, None, form, measured, "it is negative")
    return _Answer(abi, value, form, measured, "")


def _form(tree: Expression) -> SizeForm:
    match tree:
        case Literal():
            return SizeForm.LITERAL
        case Name():
            return SizeForm.CONSTANT
        case Cast(operand=operand) if operand is not None:
            return _form(operand)
    return SizeForm.ARITHMETIC


def _sizeof_form(ctype: CType) -> SizeForm:
    match ctype:
        case Pointer():
            return SizeForm.SIZEOF_POINTER
        case Array() | Record():
            return SizeForm.SIZEOF_AGGREGATE
        case Basic() as basic if basic.name in FLOATING:
            return SizeForm.SIZEOF_FLOAT
    return SizeForm.SIZEOF_SCALAR


def _object_on(
    abi: Abi, expression: bytes, at: int, scope: FunctionScope, lookup: Lookup, long_long_alignment: int
) -> _Object:
    asked = _evaluation(abi, at, scope, lookup, long_long_alignment)
    text = ""
    try:
        address = asked.type_of(asked.parsed(tokenise(expression)))
        target = _target(address, asked)
        text = type_text(target)
        variants = asked.resolved(target)
        kind = agreed_among(variants, lambda each: _kind(each, asked), f"the kind of {text}")
        is_word_array = all(_is_word_array(each, asked) for each in variants)
    except IncompleteTypeError as error:
        return _Object(_kind_of_incomplete(text), None, text, reason=str(error))
    except UnknownSizeError as error:
        return _Object(ObjectKind.UNKNOWN, None, text, reason=str(error))
    size, reason = _size_or_reason(lambda: extent_of(target, asked).size)
    return _Object(kind, size, text, is_word_array, "" if kind is ObjectKind.VOID else reason)


def _target(address: CType, asked: Evaluation) -> CType:
    """What an address of this type points to; an array stands for itself."""
    if all(isinstance(each, Array) for each in asked.resolved(address)):
        return address
    return asked.pointed_to(address)


def _kind(ctype: CType, asked: Evaluation) -> ObjectKind:
    match ctype:
        case Array() if ctype.bound is not None and asked.constant(ctype.bound) == 1:
            return _kind(asked.only(ctype.of), asked)
        case Basic():
            return ObjectKind.FLOAT if ctype.name in FLOATING else ObjectKind.SCALAR
        case Enumeration():
            return ObjectKind.SCALAR
        case Pointer():
            return ObjectKind.POINTER
        case Array():
            return ObjectKind.ARRAY
        case Record():
            return ObjectKind.STRUCT if ctype.keyword == "struct" else ObjectKind.UNION
        case Void():
            return ObjectKind.VOID
    return ObjectKind.UNKNOWN


def _kind_of_incomplete(text: str) -> ObjectKind:
    """A tag says what it is even where its body cannot be seen."""
    first = text.split(" ")[0]
    return {"struct": ObjectKind.STRUCT, "union": ObjectKind.UNION}.get(first, ObjectKind.UNKNOWN)


def _is_word_array(ctype: CType, asked: Evaluation) -> bool:
    """Whether a struct has one member and that is an array of long."""
    if not isinstance(ctype, Record) or ctype.keyword != "struct" or ctype.body is None:
        return False
    body = ctype.body
    if body.count(";") != 1 or body[-4:-3] == ("(",) or "[" not in body:
        return False
    name = body[body.index("[") - 1]
    members = members_named(ctype, name, asked)
    if len(members) != 1 or not isinstance(members[0], Array):
        return False
    element = asked.only(members[0].of)
    return isinstance(element, Basic) and element.name.removeprefix("unsigned ") == "long"


def _size_or_reason(work: Callable[[], int]) -> tuple[int | None, str]:
    try:
        return work(), ""
    except UnknownSizeError as error:
        return None, str(error)
