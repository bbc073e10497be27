"""Conditions into flow: the ways out on which an expression is true, and those on which it is false."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewbot.csyntax.calls import CallReader
from reviewbot.csyntax.flow import Guard
from reviewbot.csyntax.flow_graph import End
from reviewbot.csyntax.fragment import Fragment
from reviewbot.csyntax.syntax_nodes import called_name, field_of, operator_of, span, unwrapped
from reviewbot.csyntax.value import FALSE, Value

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_OPPOSITE = {">=": "<", "<=": ">", "!=": "=="}


class ConditionReader(CallReader):
    """Reads expressions that decide where the flow goes on."""

    def condition(self, node: Syntax, fragment: Fragment) -> tuple[list[End], list[End]]:
        """Evaluate for control flow: the ends on which it is true, and those on which it is false."""
        node = unwrapped(node)
        operator = operator_of(node)
        if node.type == "unary_expression" and operator == "!":
            true, false = self.condition(field_of(node, "argument"), fragment)
            return false, true
        if node.type == "binary_expression" and operator in ("&&", "||"):
            return self._short_circuit(node, fragment, operator)
        if node.type == "binary_expression" and operator in ("==", "!="):
            compared = self._compared_with_zero(node, fragment)
            if compared is not None:
                true, false = self.condition(compared, fragment)
                return (false, true) if operator == "==" else (true, false)
        if node.type == "call_expression":
            name = called_name(node, fragment)
            arguments = node.child_by_field_name("arguments")
            if name in self.meaning.words.condition_wrappers and arguments is not None and arguments.named_children:
                return self.condition(arguments.named_children[0], fragment)
            ways = self.macro_condition(node, fragment, name)
            if ways is not None:
                return ways
        if node.type == "comma_expression":
            self.value(field_of(node, "left"), fragment)
            return self.condition(field_of(node, "right"), fragment)
        if node.type == "conditional_expression":
            return self._conditional(node, fragment)
        return self._branch(self.value(node, fragment), node, fragment)

    def _short_circuit(self, node: Syntax, fragment: Fragment, operator: str) -> tuple[list[End], list[End]]:
        true, false = self.condition(field_of(node, "left"), fragment)
        self.graph.ends = true if operator == "&&" else false
        true_right, false_right = self.condition(field_of(node, "right"), fragment)
        if operator == "&&":
            return true_right, false + false_right
        return true + true_right, false_right

    def _compared_with_zero(self, node: Syntax, fragment: Fragment) -> Syntax | None:
        left, right = field_of(node, "left"), field_of(node, "right")
        if fragment.key(*span(right)) in FALSE:
            return left
        if fragment.key(*span(left)) in FALSE:
            return right
        return None

    def _conditional(self, node: Syntax, fragment: Fragment) -> tuple[list[End], list[End]]:
        true, false = self.condition(field_of(node, "condition"), fragment)
        consequence = node.child_by_field_name("consequence")
        self.graph.ends = true
        yes_true: list[End] = true
        yes_false: list[End] = []
        if consequence is not None:
            yes_true, yes_false = self.condition(consequence, fragment)
        self.graph.ends = false
        no_true, no_false = self.condition(field_of(node, "alternative"), fragment)
        return yes_true + no_true, yes_false + no_false

    def _branch(self, value: Value, node: Syntax, fragment: Fragment) -> tuple[list[End], list[End]]:
        if value.truth is not None:
            ends = self.graph.ends
            return (ends, []) if value.truth else ([], ends)
        if value.call is not None:
            branch = self.graph.add(None)
            return [(branch, Guard(call=value.call, truth=True))], [(branch, Guard(call=value.call, truth=False))]
        key, flipped = _canonical(value.key or fragment.key(*span(node)), operator_of(node), node, fragment)
        branch = self.graph.add(None)
        return [(branch, Guard(key=key, truth=not flipped))], [(branch, Guard(key=key, truth=flipped))]


def _canonical(key: str, operator: str, node: Syntax, fragment: Fragment) -> tuple[str, bool]:
    """One spelling for a comparison and its opposite: `a >= b` is `a < b` flipped."""
    if node.type == "binary_expression" and operator in _OPPOSITE:
        left = fragment.key(*span(field_of(node, "left")))
        right = fragment.key(*span(field_of(node, "right")))
        return f"{left}{_OPPOSITE[operator]}{right}", True
    return key, False
