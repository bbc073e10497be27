"""What a plain function does to user access on the whole: a wrapper that opens, or closes, for its caller."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.definitions import find_definitions
from reviewbot.csyntax.flow import Call, Return
from reviewbot.csyntax.items import function_at, functions_holding
from reviewbot.csyntax.lexing import code_of
from reviewbot.graph.paths import BY_CALLER, Open
from reviewbot.patterns import regex
from reviewbot.rulebook.book import arch_of
from reviewbot.rulebook.primitives import Direction, Effect, Primitive, Result

if TYPE_CHECKING:
    from reviewbot.graph.code import CodeReader, FunctionCode

_SHORT_BYTES = 600
_CALLED = regex(rb"\b([A-Za-z_]\w*)\s*\(")
_UNKNOWN_CALLER = Open(node=BY_CALLER, name="", direction=Direction.READ_WRITE)


class NetEffects:
    """Summaries of functions of the same file. Wrappers in headers are primitives, which the rulebook lists."""

    def __init__(self, reader: CodeReader) -> None:
        self._reader = reader
        self._known: dict[tuple[str, str, str | None], Primitive | None] = {}
        self._definitions: dict[tuple[str, int], Primitive | None] = {}

    def of(self, name: str, path: str, arch: str | None) -> Primitive | None:
        """A Primitive that stands for the function: Effect.OPEN or CLOSE; None when access is as before."""
        key = (name, path, arch)
        if key not in self._known:
            self._known[key] = None  # a function that calls itself changes nothing by that
            self._known[key] = self._find(name, path, arch)
        return self._known[key]

    def _find(self, name: str, path: str, arch: str | None) -> Primitive | None:
        is_switched = not self._reader.uses(path).names.isdisjoint(self._reader.switching_names)
        if not is_switched or name.encode() not in self._reader.words(path):
            return None
        for definition in find_definitions(self._reader.data(path), name, path):
            if definition.kind is DefinitionKind.FUNCTION:
                effect = self._of_definition(definition)
                if effect is not None:
                    return replace(effect, name=name)
        return None

    def _of_definition(self, definition: Definition) -> Primitive | None:
        key = (definition.path, definition.start)
        if key not in self._definitions:
            self._definitions[key] = None
            switches = self._reader.switching_words.search(definition.text) is not None
            if switches or self._wraps_a_wrapper(definition):
                self._definitions[key] = self._summarise(definition)
        return self._definitions[key]

    def _wraps_a_wrapper(self, definition: Definition) -> bool:
        """A short function that calls a function of its file which opens or closes."""
        if len(definition.text) > _SHORT_BYTES:
            return False
        arch = arch_of(definition.path)
        called = {match.group(1).decode() for match in _CALLED.finditer(definition.text)} - {definition.name}
        return any(self.of(name, definition.path, arch) is not None for name in sorted(called))

    def _summarise(self, definition: Definition) -> Primitive | None:
        item = function_at(self._reader.data(definition.path), definition.start + len(definition.text) - 1)
        if item is None:
            return None
        opener = _opening(self._reader.function(definition.path, item), definition)
        if opener is not None:
            return opener
        return _closing(self._reader.function(definition.path, item, _UNKNOWN_CALLER), definition)


def _opening(code: FunctionCode, definition: Definition) -> Primitive | None:
    """The function leaves access open: always, or so that its result tells."""
    opened: set[Open] = set()
    told: set[tuple[bool, bool]] = set()
    is_told = True
    for variant in code.variants:
        for node, state in variant.paths.exits:
            action = variant.flow.nodes[node].action
            truth: bool | None = None
            if isinstance(action, Return):
                known = {fact for fact in state.facts if fact[0] in (action.key, f"@call{action.call}")}
                truth = action.truth if action.truth is not None else next((f[1] for f in known), None)
            if state.open is not None:
                opened.add(state.open)
            is_told = is_told and truth is not None
            told.add((state.open is not None, bool(truth)))
    effects = _effects(code)
    if not opened or Effect.INSIDE in effects:
        return None  # a function that works in its block is no mere wrapper: that it ends open is a mistake
    if Effect.CLOSE in effects and not _has_caller_that_closes(code, definition.name):
        return None
    direction = next(iter(sorted(opened, key=lambda o: o.node))).direction
    matching = sorted({o.name for o in opened})
    closers = tuple(c for name in matching for c in _closers(code, name))
    base = Primitive(
        name=definition.name, arch=code.arch or "", effect=Effect.OPEN, direction=direction, closed_by=closers
    )
    if all(is_open for is_open, _ in told):
        return base
    if is_told and told <= {(True, True), (False, False)}:
        return replace(base, result=Result.STATUS)
    if is_told and told <= {(True, False), (False, True)}:
        return replace(base, result=Result.ERROR)
    return None


def _effects(code: FunctionCode) -> set[Effect]:
    return {
        primitive.effect
        for variant in code.variants
        for node in variant.flow.nodes
        if isinstance(node.action, Call)
        and (primitive := code.reader.book.primitive(node.action.name, code.arch)) is not None
    }


def _has_caller_that_closes(code: FunctionCode, name: str) -> bool:
    data = code_of(code.reader.data(code.path))
    offsets = (match.start() for match in code.reader.word(name).finditer(data))
    callers = [item for item in functions_holding(data, offsets) if item.start != code.item.start]
    return any(code.reader.closers.search(item.text) for item in callers)


def _closers(code: FunctionCode, name: str) -> tuple[str, ...]:
    primitive = code.reader.book.primitive(name, code.arch)
    return primitive.closed_by if primitive is not None else ()


def _closing(code: FunctionCode, definition: Definition) -> Primitive | None:
    """The function, entered with access open, leaves it closed on every path; `closed_by` are the ends that it uses."""
    exits = [state for variant in code.variants for _, state in variant.paths.exits]
    if not exits or any(state.open is not None for state in exits):
        return None
    return Primitive(
        name=definition.name,
        arch=code.arch or "",
        effect=Effect.CLOSE,
        direction=Direction.READ_WRITE,
        closed_by=tuple(sorted(_ends(code))),
    )


def _ends(code: FunctionCode) -> set[str]:
    return {
        node.action.name
        for variant in code.variants
        for node in variant.flow.nodes
        if isinstance(node.action, Call)
        and (primitive := code.reader.book.primitive(node.action.name, code.arch)) is not None
        and primitive.effect is Effect.CLOSE
    }
