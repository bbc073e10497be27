"""Small function bodies as flows, and what runs on each way through them as text."""

from __future__ import annotations

from dataclasses import replace

from reviewbot.csyntax.definitions import find_definitions
from reviewbot.csyntax.flow import Assembly, Assign, Call, Edge, Flow, Return
from reviewbot.csyntax.function_flow import read_flow
from reviewbot.csyntax.macros import Macro, to_macro
from reviewbot.rulebook.policy import Words
from reviewbot.rulebook.primitives import Direction, Effect, Primitive, Result
from tests.kernel_words import words

WORDS = replace(
    words(),
    condition_wrappers=frozenset({"unlikely"}),
    unevaluated=frozenset({"BUILD_BUG_ON"}),
    noreturn=frozenset({"panic"}),
    loop_patterns=("for_each_.*",),
)


def primitive(name: str, effect: Effect, result: Result = Result.NOTHING, **more: object) -> Primitive:
    plain = Primitive(name=name, arch="generic", effect=effect, direction=Direction.READ_WRITE, result=result)
    return replace(plain, **more)  # type: ignore[arg-type] # the fields of Primitive by name


PRIMITIVES = {
    entry.name: entry
    for entry in (
        primitive("begin", Effect.OPEN, Result.STATUS, closed_by=("end",)),
        primitive("try_begin", Effect.OPEN, Result.ERROR, closed_by=("end",)),
        primitive("allow", Effect.OPEN, closed_by=("end",)),
        primitive("end", Effect.CLOSE),
        primitive("put", Effect.INSIDE, label_arg=-1),
        primitive("save", Effect.SAVE, Result.STATE),
        primitive("restore", Effect.RESTORE),
        primitive("scoped", Effect.SCOPED, label_arg=-1),
    )
}


class SmallMeaning:
    """A Meaning that knows the primitives above and the macros of one text."""

    def __init__(self, macros: str = "") -> None:
        self._text = macros.encode()

    @property
    def words(self) -> Words:
        return WORDS

    def primitive(self, name: str) -> Primitive | None:
        return PRIMITIVES.get(name)

    def macros(self, name: str, *, is_call: bool) -> tuple[Macro, ...]:
        found = (to_macro(definition) for definition in find_definitions(self._text, name, "include/test.h"))
        return tuple(macro for macro in found if macro is not None and (macro.parameters is not None) is is_call)

    @property
    def call_instructions(self) -> frozenset[str]:
        return frozenset({"call", "bl"})

    def is_macro(self, name: str) -> bool:
        return bool(self.macros(name, is_call=True) or self.macros(name, is_call=False))


def flow_of(body: str, macros: str = "") -> Flow:
    """The flow of the statements in `body`, whose braces are added."""
    return read_flow(f"{{ {body} }}".encode(), 0, SmallMeaning(macros))


def primitive_of(call: Call) -> Primitive | None:
    return PRIMITIVES.get(call.name)


def direction_of(call: Call, opener: Primitive) -> Direction:
    return opener.direction


def ways(flow: Flow) -> list[str]:
    """Every way through the flow on which no condition comes out the same way twice, sorted: `?x` a condition that is
    true, `!x` one that is false, `call()`, `a=`, `asm`, `fault`, `return`. The test of a result is spelled `?call`."""
    found: set[str] = set()

    def walk(node: int, taken: tuple[tuple[int, int], ...], said: tuple[str, ...]) -> None:
        action = flow.nodes[node].action
        said = (*said, *_spelled(action))
        edges = flow.nodes[node].edges
        if isinstance(action, Return) or node == flow.end:
            found.add(" ".join(said))
            return
        for index, edge in enumerate(edges):
            if taken.count((node, index)) < (2 if edge.guard is None else 1):
                walk(edge.target, (*taken, (node, index)), (*said, *_condition(flow, edge)))

    walk(0, (), ())
    return sorted(found)


def _spelled(action: object) -> tuple[str, ...]:
    match action:
        case Call(closes_scope=True):
            return (f"close_{action.name}",)
        case Call():
            return (f"{action.name or action.text}()",)
        case Assign() if not action.target.startswith("@"):
            return (f"{action.target}=",)
        case Return():
            return ("return",)
        case Assembly():
            return ("asm",)
    return ()


def _condition(flow: Flow, edge: Edge) -> tuple[str, ...]:
    if edge.is_fault:
        return ("fault",)
    if edge.guard is None:
        return ()
    key = edge.guard.key
    if edge.guard.call is not None:
        called = flow.nodes[edge.guard.call].action
        assert isinstance(called, Call)
        key = called.name
    return (f"{'?' if edge.guard.truth else '!'}{key}",)
