"""Control flow of one function as values: nodes that do one thing, edges that say under which condition they are
taken."""

from __future__ import annotations

from reviewbot.csyntax.macros import Argument
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MacroUse:
    """One step into a macro: where the macro is defined."""

    name: str
    path: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call, or a macro that is not followed. `name` is empty for an indirect call. `offset` is its place in the file
    (that of the outermost macro for code that stands in a macro's body; `via` then tells the macros, outermost first).

    `is_discarded`: nobody looks at the result. `within`: the macro or primitive in whose argument the call stands.
    `closes_scope`: a close that the compiler adds where a scoped block is left. `addresses`: variables handed over by
    address.
    """

    name: str
    text: str
    arguments: tuple[Argument, ...]
    offset: int
    via: tuple[MacroUse, ...] = ()
    is_discarded: bool = False
    within: str = ""
    closes_scope: bool = False
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assign:
    """`target` is assigned. `call` is the node whose result it gets, `truth` a constant's truth, where that is known.
    `is_step`: by ++, += or a relative, so that what it points to stays within its object."""

    target: str
    root: str
    offset: int
    call: int | None = None
    truth: bool | None = None
    copy_of: str | None = None
    is_step: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """`call` is the node whose result is handed back as it is, `truth` a constant's truth, `key` the text of the
    value."""

    offset: int
    call: int | None = None
    truth: bool | None = None
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    offset: int


Action = Call | Assign | Return | Assembly


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """The condition of an edge: the expression `key`, or the result of the call at node `call`, is true (or false)."""

    truth: bool
    key: str = ""
    call: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """`is_fault`: taken when an access in the source node faults (the label argument of an unsafe access)."""

    target: int
    guard: Guard | None = None
    is_fault: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """`loops` are the ids of the loops around it, outermost first."""

    action: Action | None
    edges: tuple[Edge, ...]
    loops: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Misread:
    """A piece that the parser could not understand, as (start, end) in the file and a phrase. `node` is the last node
    read before it; what is misread in the arguments of a call (`is_in_arguments`) cannot change the paths."""

    start: int
    end: int
    reason: str
    node: int
    is_in_arguments: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A loop's head as written, for people: `for (i = 0; i < n; i++)`; `bound` is the symbolic count where it is
    evident."""

    offset: int
    text: str
    bound: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Nodes are numbered by position; 0 is the entry, `end` is where falling off the end arrives."""

    nodes: tuple[Node, ...]
    end: int
    loops: tuple[Loop, ...]
    misread: tuple[Misread, ...]
