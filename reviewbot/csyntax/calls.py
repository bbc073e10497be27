"""Calls into flow: their arguments first, then the call, and where it goes when an access in it faults."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from reviewbot.csyntax.flow import Call
from reviewbot.csyntax.flow_graph import FlowGraph
from reviewbot.csyntax.fragment import Fragment
from reviewbot.csyntax.macro_bodies import MacroReader
from reviewbot.csyntax.macros import Argument
from reviewbot.csyntax.meaning import Meaning
from reviewbot.csyntax.spelled_names import spelled_names
from reviewbot.csyntax.syntax_nodes import called_name, field_of, is_cast, operator_of, span, unwrapped
from reviewbot.csyntax.value import IDENTIFIER, UNKNOWN, Value

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from reviewbot.rulebook.primitives import Primitive

_STRINGS = frozenset(("string_literal", "concatenated_string"))
"""Nobody calls a string: in `"text" LEVEL(x)` the macro makes a piece of it."""


class CallReader(MacroReader):
    """Reads calls. `within` is the primitive in whose arguments they stand."""

    def __init__(self, graph: FlowGraph, meaning: Meaning) -> None:
        super().__init__(graph, meaning)
        self.within = ""

    @abstractmethod
    def label_node(self, fragment: Fragment, label: str) -> int:
        """The node at which a jump to the label arrives."""

    def call(self, node: Syntax, fragment: Fragment, *, is_discarded: bool) -> Value:
        if is_cast(node):
            return self._values_of(node.child_by_field_name("arguments"), fragment)
        if unwrapped(field_of(node, "function")).type in _STRINGS:
            return UNKNOWN
        name = called_name(node, fragment)
        words = self.meaning.words
        if name in words.unevaluated:
            return UNKNOWN
        arguments_node = node.child_by_field_name("arguments")
        argument_nodes = list(arguments_node.named_children) if arguments_node is not None else []
        if name in words.condition_wrappers and argument_nodes:
            return self.value(argument_nodes[0], fragment, is_discarded=is_discarded)
        primitive = self.meaning.primitive(name) if name else None
        arguments = self.arguments_of(node, fragment)
        if primitive is None and name and name not in self.expanding:
            followed = self.follow(self.meaning.macros(name, is_call=True), arguments, node, fragment)
            if followed is not None:
                return followed
        self._read_arguments(name, argument_nodes, fragment, primitive)
        offset, via = fragment.place(span(node)[0])
        if not name and (spelled := self._spelled(field_of(node, "function"), fragment)):
            for each in spelled:
                self._call_spelled(
                    Call(name=each, text=each, arguments=arguments, offset=offset, via=via), node, fragment
                )
            return Value(key=fragment.key(*span(node)))
        if not name:
            self.value(field_of(node, "function"), fragment)
            if self._is_member_macro(node, fragment):
                return Value(key=fragment.key(*span(node)))
        if name in words.noreturn:
            self.graph.ends = []
            return UNKNOWN
        call = Call(
            name=name,
            text=fragment.key(*span(field_of(node, "function"))),
            arguments=arguments,
            offset=offset,
            via=via,
            is_discarded=is_discarded,
            within=self.within,
            addresses=_addresses(argument_nodes, fragment),
        )
        here = self.graph.add(call)
        if primitive is not None and primitive.label_arg is not None and arguments:
            self._fault_to_label(here, primitive, arguments, fragment)
        return Value(call=here, key=fragment.key(*span(node)))

    def _spelled(self, node: Syntax, fragment: Fragment) -> tuple[str, ...]:
        """The names that `PASTE(a, b)(…)` may call, where macros spell a name and nothing else; none where they do
        not."""
        node = unwrapped(node)
        if node.type != "call_expression" or not called_name(node, fragment):
            return ()
        begin, end = span(node)
        return spelled_names(fragment.source[begin:end], self.meaning)

    def _call_spelled(self, call: Call, node: Syntax, fragment: Fragment) -> None:
        """A call of a name that macros spell, which may be a macro again."""
        macros = self.meaning.macros(call.name, is_call=True) if call.name not in self.expanding else ()
        if self.meaning.primitive(call.name) or self.follow(macros, call.arguments, node, fragment) is None:
            self.graph.add(call)

    def _values_of(self, node: Syntax | None, fragment: Fragment) -> Value:
        result = UNKNOWN
        for child in node.named_children if node is not None else []:
            result = self.value(child, fragment)
        return result

    def _is_member_macro(self, node: Syntax, fragment: Fragment) -> bool:
        """`thread->FIELD(i)`, where a macro spells the member."""
        function = unwrapped(field_of(node, "function"))
        member = function.child_by_field_name("field") if function.type == "field_expression" else None
        return member is not None and self.meaning.is_macro(fragment.key(*span(member)))

    def _read_arguments(self, name: str, nodes: list[Syntax], fragment: Fragment, primitive: Primitive | None) -> None:
        outer, self.within = self.within, name if primitive is not None else self.within
        self.in_arguments += 1
        label = None
        if primitive is not None and primitive.label_arg is not None and nodes:
            label = primitive.label_arg % len(nodes)
        for index, argument in enumerate(nodes):
            if index != label:
                self.value(argument, fragment)
        self.in_arguments -= 1
        self.within = outer

    def _fault_to_label(
        self, here: int, primitive: Primitive, arguments: tuple[Argument, ...], fragment: Fragment
    ) -> None:
        assert primitive.label_arg is not None
        label = arguments[primitive.label_arg % len(arguments)].text.decode("utf-8", "replace").strip()
        if IDENTIFIER.fullmatch(label):
            self.graph.fault(here, self.label_node(fragment, label))


def _addresses(nodes: list[Syntax], fragment: Fragment) -> tuple[str, ...]:
    taken = []
    for node in nodes:
        node = unwrapped(node)
        if node.type == "pointer_expression" and operator_of(node) == "&":
            taken.append(fragment.key(*span(unwrapped(field_of(node, "argument")))))
    return tuple(taken)
