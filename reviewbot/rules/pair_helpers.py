"""Helpers of the same file that access what their caller hands them: their pairs count for the caller's run."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Protocol

from reviewbot.csyntax.base_objects import base_object, source_of
from reviewbot.csyntax.brackets import closing, split_arguments
from reviewbot.csyntax.c_expressions import Expression
from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.definitions import find_definitions
from reviewbot.csyntax.flow import Call
from reviewbot.csyntax.function_scope import FunctionScope, scope_of
from reviewbot.csyntax.items import Item, function_at
from reviewbot.csyntax.macros import Argument
from reviewbot.csyntax.sizes import ObjectKind, evaluate_size, kernel_object
from reviewbot.graph.code import CodeReader, FunctionCode
from reviewbot.patterns import regex
from reviewbot.rulebook.primitives import Direction, Effect
from reviewbot.rules.context import Context
from reviewbot.rules.copies import FunctionText
from reviewbot.values import dataclass

MAX_COPY_BYTES = 1024
"""A copy in a block is a row of single accesses in place: fit for registers and small structures, not for data."""

_MINIMUM = regex(rb"\s*min(?:_t)?\s*\(")
_PARAMETER = regex(rb"([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?\s*$")


class Asker(Protocol):
    """A function, read or as text, that asks what a name in it means."""

    @property
    def reader(self) -> CodeReader: ...
    @property
    def path(self) -> str: ...
    @property
    def arch(self) -> str | None: ...
    @property
    def item(self) -> Item: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HelperPairs:
    """The helper makes `count` accesses in `direction` to what its parameter number `argument` points to, and calls
    nothing."""

    argument: int
    direction: str
    count: int


def base_of(code: FunctionCode, pointer: Argument) -> str:
    """The object that a user pointer points into; an array member belongs to its structure, where its type is known."""
    scope = scope_of(code.item.text)
    at = pointer.offset - code.item.start

    def lookup(kinds: Collection[DefinitionKind], name: str) -> tuple[Definition, ...]:
        return code.reader.symbols.lookup(kinds, name, code.path, code.reader.type_arch(code.arch))

    def is_array(expression: Expression) -> bool:
        return kernel_object(source_of(expression).encode(), at, scope, lookup).kind is ObjectKind.ARRAY

    return base_object(pointer.text, is_array)


def fits_block(context: Context, call: Call) -> bool:
    """Whether the access has a form for a block, and one that serves: a copy only of a constant and limited size."""
    primitive = context.code.primitive(call)
    if primitive is None or not context.book.has_form_in_block(primitive, context.code.arch):
        return False
    index = primitive.size_arg
    return index is None or (index < len(call.arguments) and is_limited(context.code, call.arguments[index]))


def is_limited(asker: Asker, argument: Argument) -> bool:
    """Whether a size is constant, or at most a constant, and limited."""
    scope, at = scope_of(asker.item.text), argument.offset - asker.item.start

    def lookup(kinds: Collection[DefinitionKind], name: str) -> tuple[Definition, ...]:
        return asker.reader.symbols.lookup(kinds, name, asker.path, asker.reader.type_arch(asker.arch))

    def is_small(text: bytes) -> bool:
        size = asker.reader.sizes(asker.path).get((argument.offset, text))
        size = size or evaluate_size(text, at, scope, lookup, enough=MAX_COPY_BYTES)
        known = [each for each in (size.ilp32, size.lp64) if each is not None]
        return bool(known) and all(0 < each <= MAX_COPY_BYTES for each in known)

    return is_small(argument.text) or any(is_small(each) for each in _at_most(asker, argument.text, at, scope))


def _at_most(asker: Asker, size: bytes, at: int, scope: FunctionScope) -> Iterator[bytes]:
    """What a size cannot exceed: the arguments of min(), also where a macro of that name holds it."""
    name = size.strip()
    if re.fullmatch(rb"[A-Za-z_]\w*", name):
        if scope.locals_named(name.decode(), at):
            return  # a variable, so no macro
        macros = asker.reader.symbols.macros(name.decode(), asker.path, asker.arch)
        size = macros[0].text.partition(name)[2] if len(macros) == 1 else b""
    match = _MINIMUM.match(size)
    end = closing(size, match.end() - 1) if match is not None else None
    if match is not None and end is not None:
        yield from (size[begin:stop] for begin, stop in split_arguments(size, match.end(), end))


def may_help(reader: CodeReader, path: str, name: str) -> bool:
    """Whether the text of a function of that name, in that file, leaves it open that it accesses for its caller."""
    accessors = reader.uses(path).accessors.get(name, ())
    return any(_may_help(FunctionText(reader=reader, path=path, item=item)) for item in accessors)


def _may_help(text: FunctionText) -> bool:
    item = text.item
    if b"static" not in item.text[: item.body - item.start]:
        return False
    if b"#" in item.text:
        return True
    book, arch = text.reader.book, text.arch
    accesses = [each.primitive for each in text.calls(text.reader.access_calls)]
    return all(each.size_arg is None and book.has_form_in_block(each, arch) for each in accesses)


def pairs_of_helper(context: Context, call: Call) -> HelperPairs | None:
    """What a static helper of the same file does for its caller, or None when it does anything else as well."""
    reader, path = context.reader, context.code.path
    if not call.name or not may_help(reader, path, call.name):
        return None
    data = reader.data(path)
    definitions = [d for d in find_definitions(data, call.name, path) if d.kind is DefinitionKind.FUNCTION]
    if len(definitions) != 1 or "static" not in definitions[0].words:
        return None
    item = function_at(data, definitions[0].start + len(definitions[0].text) - 1)
    if item is None or item.start == context.code.item.start:
        return None
    found = _summary(reader.function(path, item), _parameters(item.text[: item.body - item.start]))
    return found if found is not None and found.argument < len(call.arguments) else None


def _parameters(head: bytes) -> tuple[str, ...]:
    """The names of the parameters in a plain function head."""
    inside = head[head.find(b"(") + 1 : head.rfind(b")")]
    names = [_PARAMETER.search(part) for part in inside.split(b",")]
    return tuple(match.group(1).decode() if match else "" for match in names)


def _summary(code: FunctionCode, parameters: tuple[str, ...]) -> HelperPairs | None:
    if len(code.variants) != 1:
        return None
    flow = code.variants[0].flow
    found: set[tuple[str, str]] = set()
    count = 0
    for node in flow.nodes:
        if not isinstance(node.action, Call):
            continue
        primitive = code.primitive(node.action)
        if primitive is None or primitive.effect not in (Effect.ACCESS, Effect.NEUTRAL) or node.loops:
            return None
        if primitive.effect is Effect.NEUTRAL:
            continue
        index = primitive.pointer_arg
        has_form = code.reader.book.has_form_in_block(primitive, code.arch)
        if not has_form or primitive.size_arg is not None:
            return None
        if index is None or index >= len(node.action.arguments) or primitive.direction is Direction.READ_WRITE:
            return None
        found.add((base_of(code, node.action.arguments[index]), primitive.direction.value))
        count += 1
    if len(found) != 1:
        return None
    base, direction = found.pop()
    if base not in parameters:
        return None
    return HelperPairs(argument=parameters.index(base), direction=direction, count=count)
