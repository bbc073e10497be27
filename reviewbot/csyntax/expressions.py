"""Expressions into flow: what is called and assigned, in which order, and what is known of the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from reviewbot.csyntax.branches import ConditionReader
from reviewbot.csyntax.flow import Assembly, Assign, Call
from reviewbot.csyntax.flow_graph import End, FlowGraph
from reviewbot.csyntax.fragment import Fragment
from reviewbot.csyntax.inline_assembly import template_calls
from reviewbot.csyntax.meaning import Meaning
from reviewbot.csyntax.syntax_nodes import field_of, operator_of, span, unwrapped
from reviewbot.csyntax.value import IDENTIFIER, UNKNOWN, Value, constant, is_constant
from reviewbot.patterns import regex

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_OPERAND_NAME = regex(rb"\s*\[\s*(\w+)\s*\]")


class ExpressionReader(ConditionReader):
    """Reads the expressions of one function into its graph."""

    def __init__(self, graph: FlowGraph, meaning: Meaning) -> None:
        super().__init__(graph, meaning)
        self._truths = 0

    def value(self, node: Syntax, fragment: Fragment, *, is_discarded: bool = False) -> Value:
        """Evaluate for its calls and assignments; what comes back is what is known of the result."""
        node = unwrapped(node)
        kind = node.type
        if kind in (
            "sizeof_expression",
            "alignof_expression",
            "offsetof_expression",
            "type_descriptor",
            "string_literal",
        ):
            return UNKNOWN
        if kind == "call_expression":
            return self.call(node, fragment, is_discarded=is_discarded)
        if kind == "assignment_expression":
            return self._assignment(node, fragment)
        if kind == "update_expression":
            self._assign(field_of(node, "argument"), fragment, UNKNOWN, is_step=True)
            return UNKNOWN
        if kind in ("parenthesized_expression", "compound_statement"):
            return self._statement_expression(node, fragment)
        if kind == "cast_expression":
            return self.value(field_of(node, "value"), fragment, is_discarded=is_discarded)
        if kind == "comma_expression":
            self.value(field_of(node, "left"), fragment, is_discarded=True)
            return self.value(field_of(node, "right"), fragment, is_discarded=is_discarded)
        if kind == "conditional_expression":
            return self._chosen(node, fragment)
        if self._is_truth(node):
            return self._as_truth(node, fragment)
        if kind == "gnu_asm_expression":
            return self._assembly(node, fragment)
        if kind in ("number_literal", "true", "false", "null", "char_literal"):
            return constant(fragment.key(*span(node)))
        if kind == "identifier":
            return self._identifier(node, fragment)
        if kind == "ERROR" or node.is_missing:
            self.misread(node, fragment)
        for child in node.named_children:
            self.value(child, fragment)
        key = fragment.key(*span(node))
        return constant(key) if kind == "unary_expression" and operator_of(node) == "-" else Value(key=key)

    def _is_truth(self, node: Syntax) -> bool:
        """`!x`, `a && b`, `a || b`; comparisons keep their text, which tells more."""
        operator = operator_of(node)
        return operator in ("&&", "||") or (node.type == "unary_expression" and operator == "!")

    def _as_truth(self, node: Syntax, fragment: Fragment) -> Value:
        """A truth value that is kept: it gets a name of its own, so that a later test of it is understood."""
        true, false = self.condition(node, fragment)
        self._truths += 1
        name = f"@{self._truths}"
        offset = fragment.place(span(node)[0])[0]
        kept: list[End] = []
        for ends, truth in ((true, True), (false, False)):
            if ends:
                self.graph.ends = ends
                self.assign_name(name, offset, Value(truth=truth))
                kept.extend(self.graph.ends)
        self.graph.ends = kept
        return Value(key=name)

    def _chosen(self, node: Syntax, fragment: Fragment) -> Value:
        """`c ? a : b` gets a name of its own, which keeps what is known of a and b on their ways."""
        true, false = self.condition(field_of(node, "condition"), fragment)
        self._truths += 1
        name = f"@{self._truths}"
        offset = fragment.place(span(node)[0])[0]
        kept: list[End] = []
        for ends, branch in ((true, node.child_by_field_name("consequence")), (false, field_of(node, "alternative"))):
            self.graph.ends = ends
            value = self.value(branch, fragment) if branch is not None else UNKNOWN
            self.assign_name(name, offset, value)
            kept.extend(self.graph.ends)
        self.graph.ends = kept
        return Value(key=name)

    def _statement_expression(self, node: Syntax, fragment: Fragment) -> Value:
        result = UNKNOWN
        children = [node] if node.type == "compound_statement" else node.named_children
        for child in children:
            if child.type == "compound_statement":
                result = self.read_compound(child, fragment)
            else:
                result = self.value(child, fragment)
        return result

    def _assignment(self, node: Syntax, fragment: Fragment) -> Value:
        left, right = field_of(node, "left"), field_of(node, "right")
        operator = operator_of(node)
        right_value = self.value(right, fragment)
        self._evaluate_target(left, fragment)
        self._assign(left, fragment, right_value if operator == "=" else UNKNOWN, is_step=operator != "=")
        if operator != "=":
            return Value(call=right_value.call, key=fragment.key(*span(left)))
        return replace(right_value, key=fragment.key(*span(left)))

    def _evaluate_target(self, node: Syntax, fragment: Fragment) -> None:
        if unwrapped(node).type not in ("identifier", "field_expression"):
            self.value(node, fragment)

    def _assign(self, target: Syntax, fragment: Fragment, value: Value, *, is_step: bool) -> None:
        name = fragment.key(*span(unwrapped(target)))
        self.assign_name(name, fragment.place(span(target)[0])[0], value, is_step=is_step)

    def assign_name(self, target: str, offset: int, value: Value, *, is_step: bool = False) -> None:
        root = IDENTIFIER.search(target)
        self.graph.add(
            Assign(
                target=target,
                root=root.group() if root else target,
                offset=offset,
                call=value.call,
                truth=value.truth,
                copy_of=value.key or None,
                is_step=is_step,
            )
        )

    def _assembly(self, node: Syntax, fragment: Fragment) -> Value:
        self._read_operands(node, fragment)
        self._calls_of_template(node, fragment)
        here = self.graph.add(Assembly(offset=fragment.place(span(node)[0])[0]))
        for output in self._outputs(node):
            self._assign(output, fragment, UNKNOWN, is_step=False)
        goto_list = node.child_by_field_name("goto_labels")
        if goto_list is not None:
            for label in goto_list.named_children:
                self.graph.fault(here, self.label_node(fragment, fragment.key(*span(label))))
        return UNKNOWN

    def _calls_of_template(self, node: Syntax, fragment: Fragment) -> None:
        template = node.child_by_field_name("assembly_code")
        if template is None:
            return
        begin, end = span(template)[0], span(node)[1]
        place, via = fragment.place(begin)
        written = fragment.source[begin:end]
        for called in template_calls(written, self.meaning):
            name = called.symbol
            if called.operand:
                name = self._named_by_operand(node, fragment, called.operand)
            for macro in self.meaning.macros(name, is_call=True):  # `#define FN fn` spells the symbol
                name = macro.body.removesuffix(b"(__VA_ARGS__)").decode("utf-8", "replace")
            if IDENTIFIER.fullmatch(name):
                self.graph.add(Call(name=name, text=name, arguments=(), offset=place, via=via))
            else:
                what = called.unknown or f"call {name or called.operand}"
                self.graph.add(None)  # the place of the gap
                self.in_arguments += 1  # it leads nowhere: outside of blocks it does not matter
                self.misread(node, fragment, f"inline assembler calls what cannot be told from its text (`{what}`)")
                self.in_arguments -= 1

    def _named_by_operand(self, node: Syntax, fragment: Fragment, operand: str) -> str:
        """The value of the operand with this number or name, as written."""
        operands = [
            each for part in node.named_children if part.type.endswith("operand_list") for each in part.named_children
        ]
        for number, each in enumerate(operands):
            label = _OPERAND_NAME.match(fragment.source, span(each)[0])
            name = label[1].decode() if label is not None else ""
            value = each.child_by_field_name("value")
            if value is not None and operand in (str(number), name):
                return fragment.key(*span(unwrapped(value)))
        return ""

    def _read_operands(self, node: Syntax, fragment: Fragment) -> None:
        for child in node.named_children:
            if child.type in ("gnu_asm_output_operand", "gnu_asm_input_operand"):
                operand = child.child_by_field_name("value")
                if operand is not None:
                    self.value(operand, fragment)
            elif child.type in ("gnu_asm_output_operand_list", "gnu_asm_input_operand_list"):
                self._read_operands(child, fragment)

    def _outputs(self, node: Syntax) -> Iterator[Syntax]:
        """What assembly writes: nothing is known of it afterwards."""
        for child in node.named_children:
            if child.type == "gnu_asm_output_operand_list":
                yield from self._outputs(child)
            elif child.type == "gnu_asm_output_operand" and (value := child.child_by_field_name("value")) is not None:
                yield value

    def _identifier(self, node: Syntax, fragment: Fragment) -> Value:
        name = fragment.key(*span(node))
        if is_constant(name):
            return constant(name)
        macros = () if name in self.expanding else self.meaning.macros(name, is_call=False)
        result = self.follow(macros, (), node, fragment)
        return result if result is not None else Value(key=name)
