"""The call graph of what runs inside blocks, as values, as DOT and as a picture."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from reviewbot.graph.block_graph import BlockGraph, GraphEdge, GraphNode, NodeKind
from reviewbot.graph.call_graph import block_graphs
from reviewbot.report.block_graph import NOTHING, describe, to_dot, to_svg
from reviewbot.rulebook.book import load_rulebook
from tests.expectations import FIXTURES, read_fixture, small_tree
from tests.trees import MemoryTree

PATH = "arch/powerpc/kernel/asked.c"
INLINE = "static __always_inline void"


def graph_of(statements: str, before: str = "") -> BlockGraph:
    text = (
        f"#include <linux/uaccess.h>\n{before}\nvoid asked(int __user *p)\n{{\n"
        f"if (!user_access_begin(p, 4))\n\treturn;\n{statements}\nuser_access_end();\n}}\n"
    )
    (graph,) = block_graphs(MemoryTree({**small_tree(), PATH: text}), {(PATH, "asked")}, load_rulebook())
    return graph


def edges(graph: BlockGraph) -> list[str]:
    label = {node.id: node.label for node in graph.nodes}
    return sorted(f"{label[edge.source]} {label[edge.target]}" for edge in graph.edges)


def kinds(graph: BlockGraph) -> dict[str, NodeKind]:
    return {node.label: node.kind for node in graph.nodes}


BEGIN, END = "user_access_begin()", "user_access_end()"


def test_from_the_opener_through_the_calls_to_the_end() -> None:
    graph = graph_of("f();", f"void g(void)\n{{\n}}\n{INLINE} f(void)\n{{\n\tg();\n}}")
    assert edges(graph) == ["f() g()", f"{BEGIN} f()", f"{BEGIN} {END}"]
    assert kinds(graph) == {
        BEGIN: NodeKind.OPEN,
        "f()": NodeKind.SAFE,
        "g()": NodeKind.UNSAFE,
        END: NodeKind.CLOSE,
    }


def test_columns_follow_the_longest_way_and_ends_come_last() -> None:
    graph = graph_of("f(); g();", f"void g(void)\n{{\n}}\n{INLINE} f(void)\n{{\n\tg();\n}}")
    assert {node.label: node.column for node in graph.nodes} == {BEGIN: 0, "f()": 1, "g()": 2, END: 3}


def test_functions_that_call_each_other() -> None:
    before = f"{INLINE} g(void);\n{INLINE} f(void)\n{{\n\tg();\n}}\n{INLINE} g(void)\n{{\n\tf();\n}}"
    graph = graph_of("f();", before)
    assert edges(graph) == ["f() g()", "g() f()", f"{BEGIN} f()", f"{BEGIN} {END}"]
    assert ElementTree.fromstring(to_svg([graph])) is not None


def test_calls_of_one_function_are_one_edge_with_their_lines_and_macro() -> None:
    graph = graph_of("f();\nM();", f"{INLINE} f(void)\n{{\n}}\n#define M() f()")
    (edge,) = [edge for edge in graph.edges if edge.target.endswith("f")]
    assert edge.lines == (10, 11)


def test_a_call_that_cannot_be_resolved_is_neither_allowed_nor_not() -> None:
    assert kinds(graph_of("nowhere();"))["nowhere()"] is NodeKind.UNKNOWN


def test_a_function_that_works_in_the_block_of_its_caller() -> None:
    fixture = read_fixture(FIXTURES / "rules" / "traced_call" / "bad_in_callers_block.c")
    graphs = block_graphs(fixture.tree(), {(fixture.path, "__unsafe_fill_area")}, load_rulebook())
    assert [graph.nodes[0].label for graph in graphs] == ["the caller's block"]


def test_only_the_functions_that_were_asked_for() -> None:
    text = "void f(int __user *p)\n{\n\tuser_access_begin(p, 4);\n\tuser_access_end();\n}\nvoid g(void)\n{\n}\n"
    tree = MemoryTree({**small_tree(), PATH: text})
    for wanted in ({(PATH, "g")}, {(PATH, "none")}, {("gone.c", "f")}, set()):
        assert block_graphs(tree, wanted, load_rulebook()) == ()


def node(label: str, kind: NodeKind, column: int) -> GraphNode:
    return GraphNode(id=label, label=label, kind=kind, note="because", path="a/b.c", line=3, column=column)


NASTY = '<script>"&\u202e\x07\ud800'
ALL_KINDS = BlockGraph(
    path=f"a/{NASTY}.c",
    function=NASTY,
    line=1,
    nodes=tuple(node(f"{kind.name}{NASTY}", kind, column) for column, kind in enumerate(NodeKind)),
    edges=tuple(
        GraphEdge(source=f"{a.name}{NASTY}", target=f"{b.name}{NASTY}", lines=(1, 2), via=(NASTY,))
        for a in NodeKind
        for b in NodeKind
    ),
)


def test_the_picture_is_well_formed_and_shows_nothing_raw() -> None:
    for text in (to_svg([ALL_KINDS]), to_dot([ALL_KINDS])):
        assert "<script" not in text or "digraph" in text
        assert not set("\u202e\x07\ud800") & set(text)
        text.encode("utf-8")
    assert ElementTree.fromstring(to_svg([ALL_KINDS])) is not None


@pytest.mark.parametrize("kind", NodeKind, ids=lambda kind: kind.name)
def test_every_kind_says_what_it_is(kind: NodeKind) -> None:
    graph = BlockGraph(path="a.c", function="f", line=1, nodes=(node("g()", kind, 0),), edges=())
    assert kind.value in re.sub(r"<title>.*?</title>", "", to_svg([graph]), flags=re.DOTALL)
    assert kind.value in to_dot([graph])


def test_what_is_allowed_and_what_is_not_differ_in_shape() -> None:
    def shape(kind: NodeKind) -> list[str]:
        graph = BlockGraph(path="a.c", function="f", line=1, nodes=(node("g()", kind, 0),), edges=())
        return re.findall(r"<(rect|polygon)\b[^>]*?(rx=|points=|/>)", to_svg([graph]))

    shapes = [str(shape(kind)) for kind in (NodeKind.SAFE, NodeKind.UNSAFE, NodeKind.ACCESS)]
    assert len(set(shapes)) == len(shapes)


def test_no_box_covers_another() -> None:
    root = ElementTree.fromstring(to_svg([ALL_KINDS, graph_of("f(); g(); ops->h();"), ALL_KINDS]))
    places = [
        (float(text.get("x", 0)), float(text.get("y", 0))) for text in root.iter("{http://www.w3.org/2000/svg}text")
    ]
    assert len(set(places)) == len(places)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    assert all(0 < x < width and 0 < y < height for x, y in places)


def test_nothing_to_draw_is_said() -> None:
    assert NOTHING in to_svg([]) and NOTHING in to_dot([])


def test_the_sentence_for_those_who_do_not_see_it() -> None:
    graph = graph_of("f(); g(); nowhere();", f"void g(void)\n{{\n}}\n{INLINE} f(void)\n{{\n}}")
    assert describe(graph) == ("calls in the blocks of asked(): 1 allowed; not allowed: g(); not resolved: nowhere()")
