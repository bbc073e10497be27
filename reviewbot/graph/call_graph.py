"""The call graph of what runs inside blocks: from the opener through everything that is called to the end of the
block."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import networkx

from reviewbot.csyntax.flow import Call
from reviewbot.csyntax.items import Item, functions_holding
from reviewbot.csyntax.lexing import code_of
from reviewbot.graph.block_graph import BlockGraph, GraphEdge, GraphNode, NodeKind
from reviewbot.graph.code import CodeReader, FunctionCode
from reviewbot.graph.paths import BY_CALLER, Open
from reviewbot.graph.reach import InsideCall, Reach
from reviewbot.rulebook.book import Rulebook
from reviewbot.rulebook.primitives import Direction, Effect, Primitive
from reviewbot.source.tree import SourceTree

if TYPE_CHECKING:
    Graph = networkx.DiGraph[str]

_CALLERS_BLOCK = "the caller's block"
_UNKNOWN_CALLER = Open(node=BY_CALLER, name="", direction=Direction.READ_WRITE)
_KINDS = {
    Effect.OPEN: NodeKind.UNSAFE,
    Effect.SCOPED: NodeKind.UNSAFE,
    Effect.ACCESS: NodeKind.UNSAFE,
    Effect.INSIDE: NodeKind.ACCESS,
    Effect.CLOSE: NodeKind.CLOSE,
    Effect.SAVE: NodeKind.CLOSE,
    Effect.RESTORE: NodeKind.OPEN,
}


def block_graphs(tree: SourceTree, functions: Collection[tuple[str, str]], book: Rulebook) -> tuple[BlockGraph, ...]:
    """The graphs of those of these functions, given as (path, name), that hold a block or run in one."""
    reader = CodeReader(tree, book)
    reach = Reach(reader)
    graphs = []
    for path in sorted({path for path, _ in functions}):
        for item in _functions_with_primitives(reader, path):
            if (path, item.name) in functions:
                code, inside = _what_runs(reader, reach, path, item)
                if inside:
                    graphs.append(to_values(code, build_graph(inside)))
    return tuple(graphs)


def _functions_with_primitives(reader: CodeReader, path: str) -> Iterator[Item]:
    data = reader.data(path)
    offsets = (match.start() for match in reader.any_primitive.finditer(code_of(data)))
    yield from functions_holding(data, offsets)


def _what_runs(reader: CodeReader, reach: Reach, path: str, item: Item) -> tuple[FunctionCode, list[InsideCall]]:
    """The calls inside the function's own blocks; without one, those in the block of a caller that it works in."""
    code = reader.function(path, item)
    inside = [found for variant in code.variants for found in reach.inside(code, variant)]
    if inside or not _works_in_a_block(code):
        return code, inside
    code = reader.function(path, item, _UNKNOWN_CALLER)
    return code, [found for variant in code.variants for found in reach.inside(code, variant)]


def _works_in_a_block(code: FunctionCode) -> bool:
    calls = (node.action for variant in code.variants for node in variant.flow.nodes if isinstance(node.action, Call))
    return any((primitive := code.primitive(call)) is not None and primitive.effect is Effect.INSIDE for call in calls)


def build_graph(inside: Iterable[InsideCall]) -> Graph:
    """The graph of these calls. Nodes carry `label`, `kind`, `note`, `path` and `line`; edges `lines` and `via`."""
    graph: Graph = networkx.DiGraph()
    for found in inside:
        source = _source(graph, found)
        line = found.code.lines.line(found.call.offset)
        for target in _targets(graph, found):
            _connect(graph, source, target, line, tuple(use.name for use in found.call.via))
    return graph


def _source(graph: Graph, found: InsideCall) -> str:
    """The node that makes the call: the opener for what stands in the function itself, else the function that does."""
    if found.chain:
        return _key(found.code.path, found.code.name)
    opened = found.open
    opener = found.variant.flow.nodes[opened.node].action if opened.node != BY_CALLER else None
    if not isinstance(opener, Call):
        return _add(graph, "open", _CALLERS_BLOCK, NodeKind.OPEN, "opened before the function is called")
    line = found.code.lines.line(opener.offset)
    return _add(graph, f"open {opener.offset}", f"{opener.name}()", NodeKind.OPEN, f"line {line}, {_way(opened)}")


def _way(opened: Open) -> str:
    return {Direction.READ: "to read", Direction.WRITE: "to write"}.get(opened.direction, "to read and write")


def _targets(graph: Graph, found: InsideCall) -> Iterator[str]:
    if found.primitive is not None:
        if found.primitive.effect is not Effect.NEUTRAL:
            yield _add_primitive(graph, found.call, found.primitive)
        return
    for callee in found.callees:
        kind = NodeKind.UNKNOWN if callee.form is None else NodeKind.UNSAFE if callee.violates else NodeKind.SAFE
        note = f"{callee.reason}, #if {callee.condition}" if callee.condition else callee.reason
        label = f"{callee.name}()"
        if callee.definition is None:
            yield _add(graph, f"? {callee.name}", label, kind, note)
        else:
            path, line = callee.definition.path, callee.definition.line
            yield _add(graph, _key(path, callee.name), label, kind, note, path=path, line=line)


def _add_primitive(graph: Graph, call: Call, primitive: Primitive) -> str:
    kind = _KINDS[primitive.effect]
    note = {NodeKind.UNSAFE: "switches access itself", NodeKind.ACCESS: primitive.direction.value.replace("_", " ")}
    return _add(graph, f"{kind.name} {call.name}", f"{call.name}()", kind, note.get(kind, ""))


def _add(graph: Graph, key: str, label: str, kind: NodeKind, note: str, *, path: str = "", line: int = 0) -> str:
    graph.add_node(key, label=label, kind=kind, note=note, path=path, line=line)
    return key


def _connect(graph: Graph, source: str, target: str, line: int, via: tuple[str, ...]) -> None:
    lines = graph.edges[source, target]["lines"] if graph.has_edge(source, target) else frozenset()
    graph.add_edge(source, target, lines=lines | {line}, via=via)


def _key(path: str, name: str) -> str:
    return f"{path}:{name}"


def to_values(code: FunctionCode, graph: Graph) -> BlockGraph:
    """The graph as values, in the order in which it was built, with the column of each node worked out."""
    columns = _columns(graph)
    nodes = tuple(GraphNode(id=key, column=columns[key], **graph.nodes[key]) for key in graph)
    edges = tuple(
        GraphEdge(source=source, target=target, lines=tuple(sorted(data["lines"])), via=data["via"])
        for source, target, data in graph.edges(data=True)
    )
    return BlockGraph(path=code.path, function=code.name, line=code.line, nodes=nodes, edges=edges)


def _columns(graph: Graph) -> dict[str, int]:
    """The length of the longest way to each node; functions that call each other share a column, ends come last."""
    groups = networkx.condensation(graph)
    columns = {
        key: column
        for column, generation in enumerate(networkx.topological_generations(groups))
        for group in generation
        for key in groups.nodes[group]["members"]
    }
    last = max(columns.values(), default=0)
    ends = [key for key in graph if graph.nodes[key]["kind"] is NodeKind.CLOSE]
    others = [columns[key] for key in graph if key not in ends]
    return columns | dict.fromkeys(ends, max([last, *(column + 1 for column in others)]))
