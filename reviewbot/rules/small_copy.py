"""A copy whose size is a compile-time constant of 1, 2, 4 or 8 bytes: get_user or put_user is meant.

Neither x86 (4b842e4e25b1) nor powerpc (6b385d1d7c0a) expands small copies any more, so the whole copy routine runs for
one word (d3ccc9781560). Whether the scalar form may take its place depends on the object's width on every architecture
(5499802b2284).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from reviewbot.csyntax.abi import Abi
from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.function_scope import scope_of
from reviewbot.csyntax.roles import role_of
from reviewbot.csyntax.sizes import ObjectKind, ObjectResult, SizeForm, SizeResult, evaluate_size, kernel_object
from reviewbot.findings.finding import Access, Observation
from reviewbot.grammar import plural
from reviewbot.rulebook.primitives import Direction
from reviewbot.rulebook.types import types_with
from reviewbot.rules.conditions import allows, is_for_aligned_words, worth_saying
from reviewbot.rules.copies import FunctionText, TextCall

SLUG = "small_copy"
SMALL = frozenset({1, 2, 4, 8})
_ONE_VALUE = frozenset({ObjectKind.SCALAR, ObjectKind.POINTER})
_AGGREGATES = frozenset({ObjectKind.STRUCT, ObjectKind.UNION, ObjectKind.ARRAY})


def find(text: FunctionText) -> Iterator[Observation]:
    """Every copy of a small constant size in the function's own text."""
    for call in text.calls(text.reader.small_copy_calls):
        index = call.primitive.size_arg
        if not call.primitive.small_copy or index is None or index >= len(call.arguments):
            continue
        size = _size(text, call, index)
        widths = {width for width in (size.ilp32, size.lp64) if width is not None}
        if widths and widths <= SMALL and not (widths != {1} and _is_for_aligned_words(text, call)):
            target = _on_own_widths(text, call, _kernel_side(text, call))
            yield _to_observation(text, call, size, target)


def _is_for_aligned_words(text: FunctionText, call: TextCall) -> bool:
    """A copy in place of a single access, which an #if has where that may not stand at any address."""
    types = types_with(text.reader.book.words)
    return is_for_aligned_words(text.conditions_at(call.offset), text.arch, types)


def _own_abis(text: FunctionText, call: TextCall) -> frozenset[Abi]:
    """Without the word size that the architecture of the code does not have, or that an #if around it rules out."""
    types = types_with(text.reader.book.words)
    conditions = text.conditions_at(call.offset)
    if text.arch in types.narrow_arches or not allows(conditions, Abi.LP64, text.arch, types):
        return frozenset({Abi.ILP32})
    is_wide = text.arch in types.wide_arches or not allows(conditions, Abi.ILP32, text.arch, types)
    return frozenset({Abi.LP64}) if is_wide else frozenset(Abi)


def _on_own_widths(text: FunctionText, call: TextCall, result: ObjectResult) -> ObjectResult:
    abis = _own_abis(text, call)
    return replace(
        result,
        ilp32=result.ilp32 if Abi.ILP32 in abis else None,
        lp64=result.lp64 if Abi.LP64 in abis else None,
    )


def _lookup(text: FunctionText, kinds: Collection[DefinitionKind], name: str) -> tuple[Definition, ...]:
    return text.reader.symbols.lookup(kinds, name, text.path, text.reader.type_arch(text.arch))


def _size(text: FunctionText, call: TextCall, index: int) -> SizeResult:
    argument = call.arguments[index]
    abis = _own_abis(text, call)
    size = evaluate_size(
        argument.text,
        argument.offset - text.item.start,
        scope_of(text.item.text),
        lambda kinds, name: _lookup(text, kinds, name),
        enough=max(SMALL),
        abis=abis,
    )
    is_exact = all(width is None or width <= max(SMALL) for width in (size.ilp32, size.lp64))
    if is_exact and len(abis) == len(Abi):
        text.reader.sizes(text.path)[argument.offset, argument.text] = size
    return size


def _kernel_side(text: FunctionText, call: TextCall) -> ObjectResult:
    """The object in the kernel: the value argument of the primitive."""
    index = call.primitive.value_arg
    if index is None or index >= len(call.arguments):
        return ObjectResult(kind=ObjectKind.UNKNOWN)
    argument = call.arguments[index]
    at = argument.offset - text.item.start
    return kernel_object(argument.text, at, scope_of(text.item.text), lambda kinds, name: _lookup(text, kinds, name))


def _to_observation(text: FunctionText, call: TextCall, size: SizeResult, target: ObjectResult) -> Observation:
    primitive = call.primitive
    copied = call.arguments[primitive.value_arg or 0].text.decode("utf-8", "replace")
    written = call.arguments[primitive.size_arg or 0].text.decode("utf-8", "replace")
    size_bytes = size.lp64 if size.lp64 is not None else size.ilp32
    assert size_bytes is not None
    direction = "read" if primitive.direction is Direction.READ else "write"
    place = text.place(call.offset)

    scope, at = scope_of(text.item.text), call.offset - text.item.start
    return Observation(
        rule=SLUG,
        variant=_variant(text, call, size, target),
        place=place,
        callee=primitive.name,
        accesses=(Access(primitive=primitive.name, direction=direction, place=place, size_bytes=size_bytes),),
        direction=direction,
        size_bytes=size_bytes,
        arch=(text.arch,) if text.arch else (),
        condition=worth_saying(text.conditions_at(call.offset), text.arch, types_with(text.reader.book.words)),
        facts=(
            ("callee", primitive.name),
            ("function", text.item.name),
            ("scalar_form", primitive.scalar_form or ""),
            ("what", " ".join(copied.split()).removeprefix("&")),
            ("size", " ".join(written.split())),
            ("widths", _widths(size)),
        ),
        key=(SLUG, text.path, text.item.name, primitive.name, *(role_of(a.text, at, scope) for a in call.arguments)),
        written=("".join(copied.split()), "".join(written.split())),
    )


def _variant(text: FunctionText, call: TextCall, size: SizeResult, target: ObjectResult) -> str:
    differs = size.ilp32 is not None and size.lp64 is not None and size.ilp32 != size.lp64
    if target.is_word_array:
        return "sigset"
    if target.kind is ObjectKind.FLOAT or size.form is SizeForm.SIZEOF_FLOAT:
        return "float"
    if target.kind in _AGGREGATES or size.form is SizeForm.SIZEOF_AGGREGATE:
        return "aggregate"
    if target.kind in _ONE_VALUE and _fits(size, target):
        if differs:
            return "width_differs"
        if text.arch is None and 8 in (size.ilp32, size.lp64) and _may_be_narrow(text, call):
            return "get_user_missing_64bit_on_32bit"
        return "scalar"
    if target.kind in _ONE_VALUE and _is_part(size, target):
        return "part"
    if size.form is SizeForm.SIZEOF_SCALAR:
        return "width_differs" if differs else "scalar"
    return "literal"


def _may_be_narrow(text: FunctionText, call: TextCall) -> bool:
    types = types_with(text.reader.book.words)
    return allows(text.conditions_at(call.offset), Abi.ILP32, text.arch, types)


def _fits(size: SizeResult, target: ObjectResult) -> bool:
    """The copy covers exactly the object, on each width that is known."""
    pairs = ((size.ilp32, target.ilp32), (size.lp64, target.lp64))
    return all(copied is None or held is None or copied == held for copied, held in pairs)


def _is_part(size: SizeResult, target: ObjectResult) -> bool:
    """The copy covers less than the object on some width. One that covers more is of an array, that a pointer to its
    first element stands for."""
    pairs = ((size.ilp32, target.ilp32), (size.lp64, target.lp64))
    return any(copied is not None and held is not None and copied < held for copied, held in pairs)


def _widths(size: SizeResult) -> str:
    if size.ilp32 is None or size.lp64 is None or size.ilp32 == size.lp64:
        number = size.lp64 if size.lp64 is not None else size.ilp32
        return plural(number or 0, "byte")
    return f"{plural(size.ilp32, 'byte')} on 32 bit, {size.lp64} on 64 bit"
