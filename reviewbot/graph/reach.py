"""What runs inside blocks: the calls of a function in the states in which access is open, and of everything they run
there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reviewbot.csyntax.definition import DefinitionKind
from reviewbot.csyntax.flow import Call, Flow
from reviewbot.csyntax.items import function_at
from reviewbot.csyntax.variants import to_literal
from reviewbot.graph.assembler import find_routines
from reviewbot.graph.callees import Callee, CalleeResolver
from reviewbot.graph.code import CodeReader, FunctionCode, Variant
from reviewbot.graph.paths import BY_CALLER, Open, Paths
from reviewbot.rulebook.policy import CalleeForm
from reviewbot.rulebook.primitives import Effect, Primitive
from reviewbot.values import dataclass

MAX_CHAIN = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step from the block to the code that runs in it: in `function`, at `line` of `path`, `what` happens to
    `name`."""

    path: str
    line: int
    function: str
    what: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InsideCall:
    """A call that runs inside a block. `code` is the function it stands in, `chain` leads there from the opener (empty
    for a call in the function that holds the block). `primitive` is set for a primitive, `callees` for everything
    else."""

    call: Call
    node: int
    code: FunctionCode
    variant: Variant
    open: Open
    primitive: Primitive | None
    callees: tuple[Callee, ...]
    chain: tuple[Step, ...]


class Reach:
    """Follows calls of one tree into the bodies that run inside blocks."""

    def __init__(self, reader: CodeReader) -> None:
        self._reader = reader
        self._resolver = CalleeResolver(reader.tree, reader.book, reader.symbols)
        self._known: dict[tuple[str, int, Open, str | None], tuple[InsideCall, ...]] = {}
        self.entered: set[tuple[str, int]] = set()
        """(path, start) of every function that was found to run inside a block."""

    def prefetch(self, codes: list[FunctionCode]) -> None:
        """Find all names that these functions call inside blocks with as few searches of the tree as can be."""
        words = self._reader.book.words
        known = words.builtins | words.safe_macros
        calls = {
            (action.name, code.arch)
            for code in codes
            for variant in code.variants
            for index, node in enumerate(variant.flow.nodes)
            if isinstance(action := node.action, Call)
            and action.name
            and code.primitive(action) is None
            and action.name not in known
            and not action.name.startswith("__builtin_")
            and variant.open_at(index)
            and not self._reader.symbols.declared(action.name, code.path, code.arch).definitions
        }
        names: dict[str | None, set[str]] = {}
        for name, arch in calls:
            names.setdefault(arch, set()).add(name)
        for arch, called in names.items():
            self._reader.symbols.prefetch(called, arch)

    def inside(self, code: FunctionCode, variant: Variant) -> Iterator[InsideCall]:
        """Every call that runs in a block of this variant of the function, those in followed callees included. What
        sleeps is not entered: the scheduler behind it runs whatever there is."""
        for index, node in enumerate(variant.flow.nodes):
            if not isinstance(node.action, Call) or node.action.closes_scope:
                continue
            call = node.action
            for opened in variant.open_at(index):
                primitive = code.primitive(call)
                callees = self._callees(code, variant, call, primitive)
                yield InsideCall(
                    call=call,
                    node=index,
                    code=code,
                    variant=variant,
                    open=opened,
                    primitive=primitive,
                    callees=callees,
                    chain=(),
                )
                for callee in callees:
                    if callee.is_body_run and callee.name not in code.reader.book.words.sleeping:
                        steps = tuple(_steps(code, variant, call, opened))
                        for inner in self._of_callee(callee, opened, code.arch):
                            if len(inner.chain) < MAX_CHAIN:
                                yield replace(inner, chain=steps + inner.chain)

    def _callees(
        self, code: FunctionCode, variant: Variant, call: Call, primitive: Primitive | None
    ) -> tuple[Callee, ...]:
        """What the call may reach under the #if conditions of its place."""
        if primitive is not None and (primitive.effect is not Effect.INSIDE or primitive.label_arg is not None):
            return ()
        found = self._resolver.resolve(call, code.path, code.arch, code.item.text) if primitive is None else ()
        if primitive is not None and not self._reader.symbols.declared(call.name, code.path, code.arch).definitions:
            # An access that needs a block is allowed there; what its assembler calls is not thereby allowed.
            linked = self._resolver.resolve(call, code.path, code.arch, code.item.text)
            found = tuple(callee for callee in linked if callee.form is CalleeForm.ASM and callee.is_body_run)
        known = {*map(to_literal, code.conditions), *variant.conditions}
        fitting = tuple(callee for callee in found if not _contradicts(callee, known))
        return (*fitting, *(_unread(callee) for callee in fitting if _is_made_by_macro(callee)))

    def _of_callee(self, callee: Callee, opened: Open, arch: str | None) -> tuple[InsideCall, ...]:
        """What runs in the callee's body, with chains that begin there; remembered, and empty where it calls itself."""
        definition = callee.definition
        assert definition is not None
        entry = Open(node=BY_CALLER, name=opened.name, direction=opened.direction)
        key = (definition.path, definition.start, entry, arch)
        if key not in self._known:
            self._known[key] = ()
            self._known[key] = tuple(_distinct(self._run(callee, entry, arch)))
        return self._known[key]

    def _run(self, callee: Callee, entry: Open, arch: str | None) -> Iterator[InsideCall]:
        definition = callee.definition
        assert definition is not None
        if callee.form is CalleeForm.ASM:
            yield from self._run_assembler(callee, entry)
        elif not definition.path.endswith(".S"):
            data = self._reader.data(definition.path)
            item = function_at(data, definition.start + len(definition.text) - 1)
            if item is not None:
                self.entered.add((definition.path, item.start))
                inner = self._reader.function(definition.path, item, entry, arch)
                self.prefetch([inner])
                for variant in inner.variants:
                    yield from self.inside(inner, variant)

    def _run_assembler(self, callee: Callee, entry: Open) -> Iterator[InsideCall]:
        """The C functions that a routine calls, and those of the routines it branches to."""
        definition = callee.definition
        assert definition is not None
        for routine in find_routines(self._reader.data(definition.path), definition.path, self._reader.book.words):
            if routine.name != callee.name:
                continue
            code = self._reader.routine(definition.path, routine.name, routine.line)
            self._reader.symbols.prefetch({name for name, _ in routine.calls}, code.arch)
            for name, line in routine.calls:
                call = Call(name=name, text=name, arguments=(), offset=code.lines.start(line))
                callees = self._resolver.resolve(call, definition.path, code.arch, b"")
                yield InsideCall(
                    call=call,
                    node=0,
                    code=code,
                    variant=_NO_VARIANT,
                    open=entry,
                    primitive=None,
                    callees=tuple(each for each in callees if each.form is not None),
                    chain=(),
                )
                for each in callees:
                    is_entered = each.is_body_run and each.name not in self._reader.book.words.sleeping
                    if is_entered and each.definition != definition:
                        steps = (step(code, call.offset, "calls", name),)
                        for inner in self._of_callee(each, entry, code.arch):
                            if len(inner.chain) < MAX_CHAIN:
                                yield replace(inner, chain=steps + inner.chain)


_NO_VARIANT = Variant(
    conditions=(),
    flow=Flow(nodes=(), end=0, loops=(), misread=()),
    paths=Paths(before=(), exits=(), is_exact=True),
    no_blocks=frozenset(),
)


def _steps(code: FunctionCode, variant: Variant, call: Call, opened: Open) -> Iterator[Step]:
    if opened.node != BY_CALLER:
        opener = variant.flow.nodes[opened.node].action
        assert isinstance(opener, Call)
        yield step(code, opener.offset, "access is opened by", opener.name)
    for use in call.via:
        yield Step(path=use.path, line=use.line, function=code.name, what="expands the macro", name=use.name)
    yield step(code, call.offset, "calls", call.name)


def _is_made_by_macro(callee: Callee) -> bool:
    """Whether its code runs in the block, but stands in a macro, where it is not read."""
    if callee.definition is None or not callee.is_body_run or callee.form is CalleeForm.ASM:
        return False
    definition = callee.definition
    return definition.kind is DefinitionKind.FUNCTION and not definition.text.rstrip().endswith(b"}")


def _unread(callee: Callee) -> Callee:
    assert callee.definition is not None
    place = f"{callee.definition.path}:{callee.definition.line}"
    reason = f"a macro makes its body at {place}, which is not read"
    return replace(callee, form=None, violates=(), reason=reason)


def _contradicts(callee: Callee, known: set[tuple[str, bool]]) -> bool:
    """The callee's definition counts only under a condition that does not hold where the call stands."""
    needed = {to_literal(part) for part in callee.condition.split(" && ") if part}
    return any((name, not truth) in known for name, truth in needed)


def _distinct(found: Iterator[InsideCall]) -> Iterator[InsideCall]:
    """The #if variants of one body mostly hold the same calls; each is kept once."""
    seen: set[tuple[str, int, str, str, tuple[str, ...]]] = set()
    for inside in found:
        key = (
            inside.code.path,
            inside.call.offset,
            inside.call.name or inside.call.text,
            inside.open.name,
            tuple(use.name for use in inside.call.via),
        )
        if key not in seen:
            seen.add(key)
            yield inside


def step(code: FunctionCode, offset: int, what: str, name: str) -> Step:
    """A step at a place of a function."""
    return Step(path=code.path, line=code.lines.line(offset), function=code.name, what=what, name=name)
