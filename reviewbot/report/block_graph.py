"""What runs inside blocks as a picture (SVG, drawn here) or as text for Graphviz (DOT). Shape and words tell what may
run there and what may not; colour only repeats it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape

from reviewbot.graph.block_graph import BlockGraph, GraphEdge, GraphNode, NodeKind
from reviewbot.report.escape import visible
from reviewbot.values import dataclass

NOTHING = "No function with a block is changed, or has a finding."

_CHAR = 7.3  # width of a character of the label, in user units
_SMALL_CHAR = 6.1
_LONGEST = 46  # characters of a line of text in a node
_HEIGHT = 44
_ROW_GAP, _COLUMN_GAP = 14, 64
_MARGIN, _TITLE = 10, 34
_LANE = 8  # how far above the boxes the long edges run
_LEAST_SCALE = 0.8  # of a picture in a narrow page; what is wider still is scrolled
_DOT_SHAPES = {
    NodeKind.OPEN: "cds",
    NodeKind.CLOSE: "cds",
    NodeKind.ACCESS: "box",
    NodeKind.SAFE: "box",
    NodeKind.UNSAFE: "octagon",
    NodeKind.UNKNOWN: "box",
}
_DOT_STYLES = {NodeKind.SAFE: "rounded", NodeKind.UNSAFE: "bold", NodeKind.UNKNOWN: "dashed"}

STYLE = (
    ".bg{font-family:ui-monospace,'DejaVu Sans Mono',Consolas,monospace;font-size:12px;fill:currentColor}"
    ".bg .s{font-size:10px}.bg .b{fill:var(--card,#fff);stroke:currentColor}"
    ".bg .e{fill:none;stroke:currentColor;opacity:.55}"
    ".bg .h{fill:currentColor;stroke:none;opacity:.7}.bg .bad .b{stroke:var(--error,#b3261e);stroke-width:2.5}"
    ".bg .bad .w{fill:var(--error,#b3261e);font-weight:700}.bg .ask .b{stroke-dasharray:5 3}.bg .t{font-weight:700}"
)
_STANDALONE = ":root{color:#1d1f23;background:#fdfdfc}@media(prefers-color-scheme:dark){:root{color:#e6e7e9;background:#15171a;--error:#ff8a80;--card:#1c1f23}}"  # noqa: E501 - one rule


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    """Where a node lies, in user units."""

    node: GraphNode
    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.y + _HEIGHT / 2


def to_svg(graphs: Sequence[BlockGraph], *, is_standalone: bool = True) -> str:
    """One picture of these graphs, one below the other. A page that holds several pictures gives them STYLE itself and
    asks for pictures that are not standalone."""
    parts: list[str] = []
    top, width = float(_MARGIN), 0.0
    for graph in graphs:
        boxes = _layout(graph, top + _TITLE)
        parts += [_title(graph, top), *_drawn_edges(graph, boxes), *map(_drawn, boxes.values())]
        top = max((box.y + _HEIGHT for box in boxes.values()), default=top) + 2 * _ROW_GAP
        width = max(width, _title_width(graph), *(box.x + box.width for box in boxes.values()))
    if not graphs:
        parts, top, width = [_text(_MARGIN, top + 14, NOTHING, "t")], top + _HEIGHT, len(NOTHING) * _CHAR
    size = f'width="{width + _MARGIN:g}" height="{top:g}" viewBox="0 0 {width + _MARGIN:g} {top:g}"'
    said = escape(visible("; ".join(map(describe, graphs)) or NOTHING))
    style = f"<style>{_STANDALONE}{STYLE}</style>" if is_standalone else ""
    space = ' xmlns="http://www.w3.org/2000/svg"' if is_standalone else ""
    # in a page it shrinks to fit, while it can still be read
    fit = "" if is_standalone else f' style="min-width:{_LEAST_SCALE * (width + _MARGIN):.0f}px"'
    return f'<svg{space} class="bg" role="img" aria-label="{said}" {size}{fit}>{style}{"".join(parts)}</svg>\n'


def describe(graph: BlockGraph) -> str:
    """The graph in one sentence, for those who do not see the picture."""
    bad = [node.label for node in graph.nodes if node.kind is NodeKind.UNSAFE]
    unknown = [node.label for node in graph.nodes if node.kind is NodeKind.UNKNOWN]
    safe = sum(node.kind is NodeKind.SAFE for node in graph.nodes)
    said = [f"{safe} allowed"] if safe else []
    said += [f"not allowed: {', '.join(bad)}"] if bad else []
    said += [f"not resolved: {', '.join(unknown)}"] if unknown else []
    return f"calls in the blocks of {graph.function}(): {'; '.join(said) or 'only accesses'}"


def to_dot(graphs: Sequence[BlockGraph]) -> str:
    """A digraph for Graphviz with one cluster for each function."""
    lines = ["digraph blocks {", "\trankdir=LR;", '\tnode [fontname="monospace"];']
    if not graphs:
        lines.append(f"\tlabel={_quoted(NOTHING)};")
    for number, graph in enumerate(graphs):
        name = {node.id: f"n{number}_{at}" for at, node in enumerate(graph.nodes)}
        lines += [f"\tsubgraph cluster_{number} {{", f"\t\tlabel={_quoted(_heading(graph))};"]
        lines += [f"\t\t{name[node.id]} [{_dot_node(node)}];" for node in graph.nodes]
        lines += [
            f"\t\t{name[edge.source]} -> {name[edge.target]} [label={_quoted(_edge_text(edge))}];"
            for edge in graph.edges
        ]
        lines.append("\t}")
    return "\n".join([*lines, "}", ""])


def _dot_node(node: GraphNode) -> str:
    label = "\n".join(filter(None, (visible(node.label), node.kind.value, visible(node.note), _where(node))))
    style = f" style={_DOT_STYLES[node.kind]}" if node.kind in _DOT_STYLES else ""
    return f"label={_quoted(label)} shape={_DOT_SHAPES[node.kind]}{style}"


def _quoted(text: str) -> str:
    """A string of the DOT language."""
    return json.dumps(text, ensure_ascii=False)


def _heading(graph: BlockGraph) -> str:
    return visible(f"{graph.function}(), {graph.path}:{graph.line}")


def _edge_text(edge: GraphEdge) -> str:
    lines = ", ".join(map(str, edge.lines))
    via = f" in {', '.join(edge.via)}" if edge.via else ""
    return visible(f"line {lines}{via}" if len(edge.lines) == 1 else f"lines {lines}{via}")


def _where(node: GraphNode) -> str:
    return visible(f"{node.path}:{node.line}") if node.path else ""


def _texts(node: GraphNode) -> tuple[str, str, str]:
    """The three lines of a node: what it is called, what it is to the block, and why."""
    return _cut(node.label), node.kind.value, _cut(node.note)


def _cut(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def _width(node: GraphNode) -> float:
    label, kind, note = _texts(node)
    return 28 + max(len(label) * _CHAR, len(f"{kind}: {note}") * _SMALL_CHAR if note else len(kind) * _SMALL_CHAR)


def _layout(graph: BlockGraph, top: float) -> dict[str, _Box]:
    """Columns from left to right; within one, nodes near to what they are called by."""
    boxes: dict[str, _Box] = {}
    callers: dict[str, list[str]] = {}
    for edge in graph.edges:
        callers.setdefault(edge.target, []).append(edge.source)
    x = float(_MARGIN)
    for column in sorted({node.column for node in graph.nodes}):
        members = [node for node in graph.nodes if node.column == column]
        known = {node.id: [boxes[name].y for name in callers.get(node.id, ()) if name in boxes] for node in members}
        members.sort(key=lambda node: sum(known[node.id]) / len(known[node.id]) if known[node.id] else 0.0)
        width = max(map(_width, members))
        for row, node in enumerate(members):
            boxes[node.id] = _Box(node=node, x=x, y=top + row * (_HEIGHT + _ROW_GAP), width=width)
        x += width + _COLUMN_GAP
    return boxes


def _title(graph: BlockGraph, top: float) -> str:
    return _text(_MARGIN, top + 14, _heading(graph), "t")


def _title_width(graph: BlockGraph) -> float:
    return _MARGIN + len(_heading(graph)) * (_CHAR + 0.3)


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}"{_class(kind)}>{escape(text)}</text>'


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _drawn(box: _Box) -> str:
    node = box.node
    label, kind, note = _texts(node)
    group = {NodeKind.UNSAFE: "bad", NodeKind.UNKNOWN: "ask"}.get(node.kind, "")
    said = f"{kind}: {node.note}" if node.note else kind
    hover = "\n".join(filter(None, (visible(node.label), visible(said), _where(node))))
    return (
        f"<g{_class(group)}><title>{escape(hover)}</title>{_outline(box)}{_text(box.x + 14, box.y + 18, label)}"
        f"{_text(box.x + 14, box.y + 34, f'{kind}: {note}' if note else kind, 's w')}</g>"
    )


def _outline(box: _Box) -> str:
    """Arrows for what opens and closes, a plain box for an access, round corners for what is allowed, cut corners for
    what is not."""
    x, y, right, bottom, middle = box.x, box.y, box.x + box.width, box.y + _HEIGHT, box.middle
    match box.node.kind:
        case NodeKind.OPEN:
            corners = [(x, y), (right - 12, y), (right, middle), (right - 12, bottom), (x, bottom)]
        case NodeKind.CLOSE:
            corners = [(x, middle), (x + 12, y), (right, y), (right, bottom), (x + 12, bottom)]
        case NodeKind.UNSAFE:
            corners = [
                (x + 10, y), (right - 10, y), (right, y + 10), (right, bottom - 10),
                (right - 10, bottom), (x + 10, bottom), (x, bottom - 10), (x, y + 10),
            ]  # fmt: skip
        case kind:
            round_corners = "" if kind is NodeKind.ACCESS else ' rx="9"'
            return f'<rect class="b" x="{x:g}" y="{y:g}" width="{box.width:g}" height="{_HEIGHT}"{round_corners}/>'
    return f'<polygon class="b" points="{" ".join(f"{a:g},{b:g}" for a, b in corners)}"/>'


def _drawn_edges(graph: BlockGraph, boxes: dict[str, _Box]) -> Iterator[str]:
    lane = min((box.y for box in boxes.values()), default=0.0) - _LANE
    for edge in graph.edges:
        source, target = boxes[edge.source], boxes[edge.target]
        title = f"<title>{escape(_edge_text(edge))}</title>"
        yield f'<g>{title}<path class="e" d="{_curve(source, target, lane)}"/>{_head(target)}</g>'


def _curve(source: _Box, target: _Box, lane: float) -> str:
    """From the right of the source to the left of the target; past other columns above everything, at `lane`; within
    the column, or back, round below."""
    x, y, to_x, to_y = source.x + source.width, source.middle, target.x, target.middle
    if target.node.column > source.node.column + 1:
        return (
            f"M{x:g},{y:g} C{x + 20:g},{y:g} {x + 4:g},{lane:g} {x + 34:g},{lane:g} L{to_x - 34:g},{lane:g} "
            f"C{to_x - 8:g},{lane:g} {to_x - 24:g},{to_y:g} {to_x - 6:g},{to_y:g}"
        )
    if target.x > source.x:
        half = (to_x - x) / 2
        return f"M{x:g},{y:g} C{x + half:g},{y:g} {to_x - half:g},{to_y:g} {to_x - 6:g},{to_y:g}"
    low = max(source.y, target.y) + _HEIGHT + 10
    return f"M{x:g},{y:g} C{x + 30:g},{y:g} {x + 30:g},{low:g} {x:g},{low:g} L{to_x:g},{low:g} " + (
        f"C{to_x - 30:g},{low:g} {to_x - 30:g},{to_y:g} {to_x - 6:g},{to_y:g}"
    )


def _head(target: _Box) -> str:
    x, y = target.x, target.middle
    return f'<polygon class="h" points="{x:g},{y:g} {x - 7:g},{y - 4:g} {x - 7:g},{y + 4:g}"/>'
