"""The scalar access that does what a copy of one scalar does, where object, pointer and result allow it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from reviewbot.csyntax.brackets import closing
from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.function_scope import FunctionScope, scope_of
from reviewbot.csyntax.lookups import Lookup
from reviewbot.csyntax.macros import Argument
from reviewbot.csyntax.sizes import ObjectKind, ObjectResult, evaluate_size, kernel_object, pointed_to
from reviewbot.findings.edit import Span
from reviewbot.patterns import regex
from reviewbot.rulebook.primitive_files import GENERIC
from reviewbot.rulebook.primitives import Direction, Primitive
from reviewbot.rulebook.types import shipped_types
from reviewbot.rules.copies import FunctionText, TextCall
from reviewbot.rules.result_use import is_only_tested, returned_status

_PATH = rb"[A-Za-z_]\w*(?:\s*(?:->|\.)\s*\w+|\[\w+\])*"
_LVALUE = regex(rb"&\s*(" + _PATH + rb")")
_POINTER = regex(rb"&?\s*" + _PATH)
_VOID_CAST = regex(rb"\(\s*((?:const\s+)?)void\s+__user\s*\*\s*\)\s*")
_TYPE_NAME = regex(r"(?!struct |union |enum )[A-Za-z_][\w ]*")
_BOOLEANS = ("_Bool", "bool")

Measure = Callable[..., ObjectResult]


def scalar_form_of(text: FunctionText, call: TextCall) -> Span | None:
    """The span of the call with the scalar form in its place; None where that would not do the same for certain."""
    scalar = text.reader.book.primitive(call.primitive.scalar_form or "", text.arch)
    end = closing(text.clean, text.clean.index(b"(", call.offset - text.item.start))
    if scalar is None or end is None or len(call.arguments) != 3 or call.primitive.label_arg is not None:
        return None
    start, stop = call.offset - text.item.start, end + 1
    form = _scalar_call(text, call, scalar)
    if form is None:
        return None
    returned = returned_status(text.clean, start, stop)
    if returned is None and not is_only_tested(text.clean, start, stop, _wrappers(text)):
        return None
    return Span(start=call.offset, end=text.item.start + (returned or stop), text=form)


def _wrappers(text: FunctionText) -> frozenset[bytes]:
    return frozenset(word.encode() for word in text.reader.book.words.condition_wrappers)


def _scalar_call(text: FunctionText, call: TextCall, scalar: Primitive) -> bytes | None:
    """`get_user(x, p)`, with a cast of the pointer where it is untyped."""
    value, pointer = _argument(call, call.primitive.value_arg), _argument(call, call.primitive.pointer_arg)
    if value is None or pointer is None or {scalar.value_arg, scalar.pointer_arg} != {0, 1}:
        return None
    lvalue = _LVALUE.fullmatch(value.text)
    size = _size(text, call)
    held, named = _measured(text, value, kernel_object), _measured(text, pointer, pointed_to)
    if lvalue is None or size is None or not _is_plain_scalar(held, size):
        return None
    user = _user_pointer(pointer.text, named, held, size)
    if user is None or (size == 8 and not _has_eight_bytes(text, scalar)):
        return None
    arguments = (lvalue[1], user) if scalar.value_arg == 0 else (user, lvalue[1])
    return scalar.name.encode() + b"(" + b", ".join(arguments) + b")"


def _argument(call: TextCall, index: int | None) -> Argument | None:
    return call.arguments[index] if index is not None and 0 <= index < len(call.arguments) else None


def _size(text: FunctionText, call: TextCall) -> int | None:
    """The bytes copied, if they are the same on 32 and 64 bits."""
    argument = _argument(call, call.primitive.size_arg)
    if argument is None:
        return None
    found = evaluate_size(argument.text, *_seen_from(text, argument))
    return found.lp64 if found.lp64 == found.ilp32 else None


def _measured(text: FunctionText, argument: Argument, measure: Measure) -> ObjectResult:
    return measure(argument.text, *_seen_from(text, argument))


def _seen_from(text: FunctionText, argument: Argument) -> tuple[int, FunctionScope, Lookup]:
    """Where an argument stands, and what names mean there."""

    def lookup(kinds: Collection[DefinitionKind], name: str) -> tuple[Definition, ...]:
        return text.reader.symbols.lookup(kinds, name, text.path, text.arch)

    return argument.offset - text.item.start, scope_of(text.item.text), lookup


def _is_plain_scalar(held: ObjectResult, size: int) -> bool:
    """An integer of that size everywhere; a _Bool turns bytes into 0 and 1, which a copy does not."""
    return held.kind is ObjectKind.SCALAR and held.ilp32 == held.lp64 == size and held.type_text not in _BOOLEANS


def _user_pointer(written: bytes, named: ObjectResult, held: ObjectResult, size: int) -> bytes | None:
    """The pointer as the scalar form needs it: as it is where it has the object's type, cast where it is untyped."""
    if named.kind is ObjectKind.SCALAR and named.ilp32 == named.lp64 == size:
        return written if _spelled(named.type_text) == _spelled(held.type_text) else None
    if named.kind is not ObjectKind.VOID or not _TYPE_NAME.fullmatch(held.type_text):
        return None
    cast = _VOID_CAST.match(written)
    rest, constant = (written[cast.end() :], cast[1]) if cast else (written, b"")
    is_one = _POINTER.fullmatch(rest) or (rest.startswith(b"(") and closing(rest, 0) == len(rest) - 1)
    operand = rest if is_one else b"(" + rest + b")"
    return b"(" + constant + held.type_text.encode() + b" __user *)" + operand


def _spelled(name: str) -> str:
    """A type of fixed width in C's own words: u32, __u32 and uint32_t are one type; __le32 is another."""
    return shipped_types().fixed_width.get(name, name)


def _has_eight_bytes(text: FunctionText, scalar: Primitive) -> bool:
    """Every architecture writes 8 bytes; that it reads them is known only of those with data of their own."""
    return scalar.direction is Direction.WRITE or text.reader.book.architecture(text.arch).name != GENERIC
