"""Jumps into flow: labels, goto, break, continue, return, and the scopes that close when they are left."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

from reviewbot.csyntax.expressions import ExpressionReader
from reviewbot.csyntax.flow import Call, Return
from reviewbot.csyntax.flow_graph import End, FlowGraph
from reviewbot.csyntax.fragment import Fragment
from reviewbot.csyntax.meaning import Meaning
from reviewbot.csyntax.syntax_nodes import field_of, span
from reviewbot.csyntax.value import Value
from reviewbot.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax


@dataclass(slots=True, kw_only=True)
class Target:
    """Where break and continue go, and how many scopes are open there."""

    breaks: list[End]
    continues: list[End]
    scopes: int
    is_loop: bool


class JumpReader(ExpressionReader):
    """Reads what leaves a place for another. `scopes` are the closes of the scoped blocks that are open, outermost
    first; `targets` the loops and switches around."""

    def __init__(self, graph: FlowGraph, meaning: Meaning) -> None:
        super().__init__(graph, meaning)
        self._labels: dict[str, int] = {}
        self._scopes_at_label: dict[str, int] = {}
        self._pending: dict[str, list[tuple[list[End], tuple[Call, ...]]]] = {}
        self.targets: list[Target] = []
        self.scopes: list[Call] = []

    @abstractmethod
    def statement(self, node: Syntax, fragment: Fragment) -> Value:
        """Read one statement; the value is that of an expression statement (the result of a statement expression)."""

    def label_node(self, fragment: Fragment, label: str) -> int:
        """The node at which a jump to the label arrives, with the scopes that the jump leaves closed on the way."""
        name = fragment.labels.get(label, label)
        if not self.scopes:
            return self._node_of(name)
        saved = self.graph.ends
        landing = self.graph.new_node(None)
        self.graph.ends = [(landing, None)]
        self._pending.setdefault(name, []).append((self.graph.ends, tuple(self.scopes)))
        self.graph.ends = saved
        return landing

    def _node_of(self, name: str) -> int:
        if name not in self._labels:
            self._labels[name] = self.graph.new_node(None)
        return self._labels[name]

    def finish_labels(self) -> None:
        """Connect the jumps out of scopes, now that it is known in which scopes each label stands."""
        fall_through = self.graph.ends
        for name, jumps in self._pending.items():
            kept = self._scopes_at_label.get(name, 0)
            for ends, scopes in jumps:
                self.graph.ends = ends
                for closer in reversed(scopes[kept:]):
                    self.graph.add(closer)
                self.graph.join(self.graph.ends, self._node_of(name))
        self.graph.ends = fall_through

    def read_label(self, node: Syntax, fragment: Fragment) -> None:
        label_node = node.child_by_field_name("label")
        if label_node is not None:
            label = fragment.key(*span(label_node))
            name = fragment.labels.get(label, label)
            target = self._node_of(name)
            self._scopes_at_label[name] = len(self.scopes)
            self.graph.join(self.graph.ends, target)
            self.graph.ends = [(target, None)]
        for child in node.named_children:
            if label_node is None or child.start_byte != label_node.start_byte:
                self.statement(child, fragment)

    def read_goto(self, node: Syntax, fragment: Fragment) -> None:
        label = node.child_by_field_name("label")
        if label is None or node.has_error:
            self.misread(node, fragment, "a computed goto is not followed")
        else:
            target = self.label_node(fragment, fragment.key(*span(label)))
            self.graph.join(self.graph.ends, target)
        self.graph.ends = []

    def read_return(self, node: Syntax, fragment: Fragment) -> None:
        value = Value()
        for child in node.named_children:
            value = self.value(child, fragment)
        self.close_scopes(0)
        self.graph.add(
            Return(offset=fragment.place(span(node)[0])[0], call=value.call, truth=value.truth, key=value.key)
        )
        self.graph.ends = []

    def read_jump(self, kind: str) -> None:
        is_break = kind == "break_statement"
        for target in reversed(self.targets):
            if is_break or target.is_loop:
                self.close_scopes(target.scopes)
                (target.breaks if is_break else target.continues).extend(self.graph.ends)
                break
        self.graph.ends = []

    def read_scoped(self, node: Syntax, fragment: Fragment, name: str) -> None:
        """`scoped_…(pointer, label) statement`: opens, or goes to the label; closes however the statement is left."""
        primitive = self.meaning.primitive(name)
        assert primitive is not None
        start = span(node)[0]
        condition = field_of(node, "condition")
        self.value(condition, fragment)
        arguments = self.arguments_between(condition, fragment)
        offset, via = fragment.place(start)
        opener = Call(name=name, text=name, arguments=arguments, offset=offset, via=via, within=self.within)
        if primitive.label_arg is not None and arguments:
            check = self.graph.add(None)
            label = arguments[primitive.label_arg % len(arguments)].text.decode("utf-8", "replace").strip()
            self.graph.join([(check, None)], self.label_node(fragment, label))
        self.graph.add(opener)
        closer = replace(opener, closes_scope=True, arguments=())
        self.scopes.append(closer)
        target = Target(breaks=[], continues=[], scopes=len(self.scopes) - 1, is_loop=True)
        self.targets.append(target)
        body = node.child_by_field_name("body")
        if body is not None:
            self.statement(body, fragment)
        self.targets.pop()
        self.graph.add(closer)
        self.scopes.pop()
        self.graph.ends = self.graph.ends + target.breaks + target.continues

    def close_scopes(self, kept: int) -> None:
        for closer in reversed(self.scopes[kept:]):
            self.graph.add(closer)
