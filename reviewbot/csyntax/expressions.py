"""Expressions into flow: what is called, in which order, and what is known of the result on each way out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from reviewbot.csyntax.brackets import split_arguments
from reviewbot.csyntax.flow import Assembly, Assign, Call, Guard, MacroUse, Misread
from reviewbot.csyntax.flow_graph import End, FlowGraph
from reviewbot.csyntax.fragment import Fragment, Segment
from reviewbot.csyntax.macros import Argument, Macro, expand
from reviewbot.csyntax.parser import BODY_PREFIX

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from reviewbot.rulebook.policy import Words
    from reviewbot.rulebook.primitives import Primitive

MAX_MACRO_DEPTH = 24
MAX_EXPANSIONS = 3_000

_SHIFT = len(BODY_PREFIX)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_OPPOSITE = {">=": "<", "<=": ">", "!=": "=="}
_FALSE = frozenset({"0", "NULL", "false", "0UL", "0L", "0U", "0u"})
_TRUE = frozenset({"1", "true"})


class Meaning(Protocol):
    """What names mean to the function that is being read."""

    @property
    def words(self) -> Words: ...

    def primitive(self, name: str) -> Primitive | None:
        """The user-access primitive of that name, or None."""

    def macros(self, name: str, *, is_call: bool) -> tuple[Macro, ...]:
        """The macros of that name to follow (several when #if decides); none when it is to be taken as a function or a
        value. For a call every macro comes with parameters, also one that only names another."""

    def is_macro(self, name: str) -> bool:
        """Whether `name(…)` is surely a macro, followed or not (a member that is spelled by a macro is no function)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What is known of an expression's result: the call node it comes from, a constant's truth, its text."""

    call: int | None = None
    truth: bool | None = None
    key: str = ""


_UNKNOWN = Value()


class ExpressionReader:
    """Reads expressions of one function into its graph. `read_statements` reads the statements of a statement
    expression."""

    def __init__(self, graph: FlowGraph, meaning: Meaning) -> None:
        self.graph = graph
        self.meaning = meaning
        self._expanding: list[str] = []
        self._expansions = 0
        self._truths = 0
        self._within = ""
        self._in_arguments = 0
        self.label_node: Callable[[Fragment, str], int]
        self.read_compound: Callable[[Syntax, Fragment], Value]

    # -- conditions -------------------------------------------------------------------------------------------------

    def condition(self, node: Syntax, fragment: Fragment) -> tuple[list[End], list[End]]:
        """Evaluate for control flow: the ends on which it is true, and those on which it is false."""
        node = _unwrapped(node)
        operator = _operator(node)
        if node.type == "unary_expression" and operator == "!":
            true, false = self.condition(_field(node, "argument"), fragment)
            return false, true
        if node.type == "binary_expression" and operator in ("&&", "||"):
            return self._short_circuit(node, fragment, operator)
        if node.type == "binary_expression" and operator in ("==", "!="):
            compared = self._compared_with_zero(node, fragment)
            if compared is not None:
                true, false = self.condition(compared, fragment)
                return (false, true) if operator == "==" else (true, false)
        if node.type == "call_expression":
            name = _called_name(node, fragment)
            arguments = node.child_by_field_name("arguments")
            if name in self.meaning.words.condition_wrappers and arguments is not None and arguments.named_children:
                return self.condition(arguments.named_children[0], fragment)
            ways = self._macro_condition(node, fragment, name)
            if ways is not None:
                return ways
        if node.type == "comma_expression":
            self.value(_field(node, "left"), fragment)
            return self.condition(_field(node, "right"), fragment)
        if node.type == "conditional_expression":
            return self._conditional(node, fragment)
        return self._branch(self.value(node, fragment), node, fragment)

    def _short_circuit(self, node: Syntax, fragment: Fragment, operator: str) -> tuple[list[End], list[End]]:
        true, false = self.condition(_field(node, "left"), fragment)
        self.graph.ends = true if operator == "&&" else false
        true_right, false_right = self.condition(_field(node, "right"), fragment)
        if operator == "&&":
            return true_right, false + false_right
        return true + true_right, false_right

    def _compared_with_zero(self, node: Syntax, fragment: Fragment) -> Syntax | None:
        left, right = _field(node, "left"), _field(node, "right")
        if fragment.key(*_span(right)) in _FALSE:
            return left
        if fragment.key(*_span(left)) in _FALSE:
            return right
        return None

    def _conditional(self, node: Syntax, fragment: Fragment) -> tuple[list[End], list[End]]:
        true, false = self.condition(_field(node, "condition"), fragment)
        consequence = node.child_by_field_name("consequence")
        self.graph.ends = true
        yes_true: list[End] = true
        yes_false: list[End] = []
        if consequence is not None:
            yes_true, yes_false = self.condition(consequence, fragment)
        self.graph.ends = false
        no_true, no_false = self.condition(_field(node, "alternative"), fragment)
        return yes_true + no_true, yes_false + no_false

    def _branch(self, value: Value, node: Syntax, fragment: Fragment) -> tuple[list[End], list[End]]:
        if value.truth is not None:
            ends = self.graph.ends
            return (ends, []) if value.truth else ([], ends)
        if value.call is not None:
            branch = self.graph.add(None)
            return [(branch, Guard(call=value.call, truth=True))], [(branch, Guard(call=value.call, truth=False))]
        key, flipped = _canonical(value.key or fragment.key(*_span(node)), _operator(node), node, fragment)
        branch = self.graph.add(None)
        return [(branch, Guard(key=key, truth=not flipped))], [(branch, Guard(key=key, truth=flipped))]

    # -- values -----------------------------------------------------------------------------------------------------

    def value(self, node: Syntax, fragment: Fragment, *, is_discarded: bool = False) -> Value:
        """Evaluate for its calls and assignments; what comes back is what is known of the result."""
        node = _unwrapped(node)
        kind = node.type
        if kind in (
            "sizeof_expression",
            "alignof_expression",
            "offsetof_expression",
            "type_descriptor",
            "string_literal",
        ):
            return _UNKNOWN
        if kind == "call_expression":
            return self._call(node, fragment, is_discarded=is_discarded)
        if kind == "assignment_expression":
            return self._assignment(node, fragment)
        if kind == "update_expression":
            self._assign(_field(node, "argument"), fragment, _UNKNOWN, is_step=True)
            return _UNKNOWN
        if kind in ("parenthesized_expression", "compound_statement"):
            return self._statement_expression(node, fragment)
        if kind == "cast_expression":
            return self.value(_field(node, "value"), fragment, is_discarded=is_discarded)
        if kind == "comma_expression":
            self.value(_field(node, "left"), fragment, is_discarded=True)
            return self.value(_field(node, "right"), fragment, is_discarded=is_discarded)
        if kind == "conditional_expression":
            return self._chosen(node, fragment)
        if self._is_truth(node):
            return self._as_truth(node, fragment)
        if kind == "gnu_asm_expression":
            return self._assembly(node, fragment)
        if kind in ("number_literal", "true", "false", "null", "char_literal"):
            return _constant(fragment.key(*_span(node)))
        if kind == "identifier":
            return self._identifier(node, fragment)
        if kind == "ERROR" or node.is_missing:
            self.misread(node, fragment)
        for child in node.named_children:
            self.value(child, fragment)
        key = fragment.key(*_span(node))
        return _constant(key) if kind == "unary_expression" and _operator(node) == "-" else Value(key=key)

    def _is_truth(self, node: Syntax) -> bool:
        """`!x`, `a && b`, `a || b`; comparisons keep their text, which tells more."""
        operator = _operator(node)
        return operator in ("&&", "||") or (node.type == "unary_expression" and operator == "!")

    def _as_truth(self, node: Syntax, fragment: Fragment) -> Value:
        """A truth value that is kept: it gets a name of its own, so that a later test of it is understood."""
        true, false = self.condition(node, fragment)
        self._truths += 1
        name = f"@{self._truths}"
        offset = fragment.place(_span(node)[0])[0]
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
        true, false = self.condition(_field(node, "condition"), fragment)
        self._truths += 1
        name = f"@{self._truths}"
        offset = fragment.place(_span(node)[0])[0]
        kept: list[End] = []
        for ends, branch in ((true, node.child_by_field_name("consequence")), (false, _field(node, "alternative"))):
            self.graph.ends = ends
            value = self.value(branch, fragment) if branch is not None else _UNKNOWN
            self.assign_name(name, offset, value)
            kept.extend(self.graph.ends)
        self.graph.ends = kept
        return Value(key=name)

    def _statement_expression(self, node: Syntax, fragment: Fragment) -> Value:
        result = _UNKNOWN
        children = [node] if node.type == "compound_statement" else node.named_children
        for child in children:
            if child.type == "compound_statement":
                result = self.read_compound(child, fragment)
            else:
                result = self.value(child, fragment)
        return result

    def _assignment(self, node: Syntax, fragment: Fragment) -> Value:
        left, right = _field(node, "left"), _field(node, "right")
        operator = _operator(node)
        right_value = self.value(right, fragment)
        self._evaluate_target(left, fragment)
        self._assign(left, fragment, right_value if operator == "=" else _UNKNOWN, is_step=operator != "=")
        if operator != "=":
            return Value(call=right_value.call, key=fragment.key(*_span(left)))
        return replace(right_value, key=fragment.key(*_span(left)))

    def _evaluate_target(self, node: Syntax, fragment: Fragment) -> None:
        if _unwrapped(node).type not in ("identifier", "field_expression"):
            self.value(node, fragment)

    def _assign(self, target: Syntax, fragment: Fragment, value: Value, *, is_step: bool) -> None:
        name = fragment.key(*_span(_unwrapped(target)))
        self.assign_name(name, fragment.place(_span(target)[0])[0], value, is_step=is_step)

    def assign_name(self, target: str, offset: int, value: Value, *, is_step: bool = False) -> None:
        root = _IDENTIFIER.search(target)
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
        here = self.graph.add(Assembly(offset=fragment.place(_span(node)[0])[0]))
        goto_list = node.child_by_field_name("goto_labels")
        if goto_list is not None:
            for label in goto_list.named_children:
                self.graph.fault(here, self.label_node(fragment, fragment.key(*_span(label))))
        return _UNKNOWN

    def _read_operands(self, node: Syntax, fragment: Fragment) -> None:
        for child in node.named_children:
            if child.type in ("gnu_asm_output_operand", "gnu_asm_input_operand"):
                operand = child.child_by_field_name("value")
                if operand is not None:
                    self.value(operand, fragment)
            elif child.type in ("gnu_asm_output_operand_list", "gnu_asm_input_operand_list"):
                self._read_operands(child, fragment)

    def _identifier(self, node: Syntax, fragment: Fragment) -> Value:
        name = fragment.key(*_span(node))
        if name in _FALSE or name in _TRUE:
            return _constant(name)
        macros = () if name in self._expanding else self.meaning.macros(name, is_call=False)
        result = self._follow(macros, (), node, fragment)
        return result if result is not None else Value(key=name)

    # -- calls and macros -------------------------------------------------------------------------------------------

    def _call(self, node: Syntax, fragment: Fragment, *, is_discarded: bool) -> Value:
        if _is_cast(node):
            return self._values_of(node.child_by_field_name("arguments"), fragment)
        name = _called_name(node, fragment)
        words = self.meaning.words
        if name in words.unevaluated:
            return _UNKNOWN
        arguments_node = node.child_by_field_name("arguments")
        argument_nodes = list(arguments_node.named_children) if arguments_node is not None else []
        if name in words.condition_wrappers and argument_nodes:
            return self.value(argument_nodes[0], fragment, is_discarded=is_discarded)
        primitive = self.meaning.primitive(name) if name else None
        arguments = self._arguments(node, fragment)
        if primitive is None and name and name not in self._expanding:
            followed = self._follow(self.meaning.macros(name, is_call=True), arguments, node, fragment)
            if followed is not None:
                return followed
        self._read_arguments(name, argument_nodes, fragment, primitive)
        if not name:
            self.value(_field(node, "function"), fragment)
            if self._is_member_macro(node, fragment):
                return Value(key=fragment.key(*_span(node)))
        if name in words.noreturn:
            self.graph.ends = []
            return _UNKNOWN
        offset, via = fragment.place(_span(node)[0])
        call = Call(
            name=name,
            text=fragment.key(*_span(_field(node, "function"))),
            arguments=arguments,
            offset=offset,
            via=via,
            is_discarded=is_discarded,
            within=self._within,
            addresses=_addresses(argument_nodes, fragment),
        )
        here = self.graph.add(call)
        if primitive is not None and primitive.label_arg is not None and arguments:
            self._fault_to_label(here, primitive, arguments, fragment)
        return Value(call=here, key=fragment.key(*_span(node)))

    def _values_of(self, node: Syntax | None, fragment: Fragment) -> Value:
        result = _UNKNOWN
        for child in node.named_children if node is not None else []:
            result = self.value(child, fragment)
        return result

    def _is_member_macro(self, node: Syntax, fragment: Fragment) -> bool:
        """`thread->FIELD(i)`, where a macro spells the member."""
        function = _unwrapped(_field(node, "function"))
        member = function.child_by_field_name("field") if function.type == "field_expression" else None
        return member is not None and self.meaning.is_macro(fragment.key(*_span(member)))

    def _read_arguments(self, name: str, nodes: list[Syntax], fragment: Fragment, primitive: Primitive | None) -> None:
        outer, self._within = self._within, name if primitive is not None else self._within
        self._in_arguments += 1
        label = None
        if primitive is not None and primitive.label_arg is not None and nodes:
            label = primitive.label_arg % len(nodes)
        for index, argument in enumerate(nodes):
            if index != label:
                self.value(argument, fragment)
        self._in_arguments -= 1
        self._within = outer

    def _fault_to_label(
        self, here: int, primitive: Primitive, arguments: tuple[Argument, ...], fragment: Fragment
    ) -> None:
        assert primitive.label_arg is not None
        label = arguments[primitive.label_arg % len(arguments)].text.decode("utf-8", "replace").strip()
        if _IDENTIFIER.fullmatch(label):
            self.graph.fault(here, self.label_node(fragment, label))

    def _arguments(self, node: Syntax, fragment: Fragment) -> tuple[Argument, ...]:
        listed = node.child_by_field_name("arguments")
        return () if listed is None else self.arguments_between(listed, fragment)

    def arguments_between(self, parenthesised: Syntax, fragment: Fragment) -> tuple[Argument, ...]:
        """The arguments within `( … )`, as written."""
        start, end = _span(parenthesised)
        spans = split_arguments(fragment.text, start + 1, end - 1)
        return tuple(
            Argument(text=fragment.source[begin:stop], offset=fragment.place(begin)[0]) for begin, stop in spans
        )

    def _macro_condition(self, node: Syntax, fragment: Fragment, name: str) -> tuple[list[End], list[End]] | None:
        if not name or name in self._expanding or self.meaning.primitive(name) is not None:
            return None
        macros = self.meaning.macros(name, is_call=True)
        if len(macros) != 1:
            return None
        true: list[End] = []
        false: list[End] = []

        def read(expression: Syntax, inner: Fragment) -> None:
            ways = self.condition(expression, inner)
            true.extend(ways[0])
            false.extend(ways[1])
            self.graph.ends = []

        if not self._expand_into(macros[0], self._arguments(node, fragment), node, fragment, read):
            return None
        return true, false

    def _follow(
        self, macros: tuple[Macro, ...], arguments: tuple[Argument, ...], node: Syntax, fragment: Fragment
    ) -> Value | None:
        """Read the macros' bodies in place of the call; several bodies are alternatives under their #if conditions."""
        if not macros:
            return None
        start = self.graph.ends
        if len(macros) > 1:
            start = [(self.graph.add(None), None)]
        ends: list[End] = []
        results: list[Value] = []
        for macro in macros:
            condition = " && ".join(macro.conditions)
            guarded: list[End] = start
            if len(macros) > 1 and condition:
                guarded = [(source, Guard(key=f"#if {condition}", truth=True)) for source, _ in start]
            self.graph.ends = guarded

            def read(expression: Syntax, inner: Fragment) -> None:
                results.append(self.value(expression, inner))

            if not self._expand_into(macro, arguments, node, fragment, read):
                if len(macros) == 1:
                    self.graph.ends = start
                    return None
                continue
            ends.extend(self.graph.ends)
        self.graph.ends = ends if ends else start
        if len(macros) == 1 and results:
            return results[-1]
        return Value(key=fragment.key(*_span(node)))

    def _expand_into(
        self,
        macro: Macro,
        arguments: tuple[Argument, ...],
        node: Syntax,
        fragment: Fragment,
        read: Callable[[Syntax, Fragment], None],
    ) -> bool:
        """Expand, parse, and read an expression with `read`, statements as statements. False: it cannot be followed."""
        if len(self._expanding) >= MAX_MACRO_DEPTH or self._expansions >= MAX_EXPANSIONS:
            self.misread(node, fragment, f"macros nest too deeply or too often at {macro.name}()")
            return False
        expansion = expand(macro, arguments)
        if expansion is None:
            return False
        self._expansions += 1
        offset, via = fragment.place(_span(node)[0])
        use = MacroUse(name=macro.name, path=macro.path, line=macro.line)
        inner = Fragment(
            text=b"{" + expansion.text + b"\n;}",
            source=b"{" + expansion.text + b"\n;}",
            offset=offset,
            is_expansion=True,
            segments=tuple(
                Segment(start=start + 1, length=length, offset=place, via=via)
                for start, length, place in expansion.segments
            ),
            via=(*via, use),
            labels=dict(fragment.labels),
            serial=self._expansions,
        )
        self._expanding.append(macro.name)
        try:
            return self._read_expansion(inner, read)
        finally:
            self._expanding.pop()

    def _read_expansion(self, inner: Fragment, read: Callable[[Syntax, Fragment], None]) -> bool:
        from reviewbot.csyntax.statements import parse_fragment

        tree, body, parsed = parse_fragment(inner, self.meaning)
        if body is None:
            return False
        statements = [child for child in body.named_children if child.type != "comment" and not _is_empty(child)]
        if len(statements) == 1 and statements[0].type == "expression_statement" and statements[0].named_children:
            read(statements[0].named_children[0], parsed)
        else:
            self.read_compound(body, parsed)
        del tree
        return True

    def misread(self, node: Syntax, fragment: Fragment, reason: str = "") -> None:
        start, end = _span(node)
        offset, via = fragment.place(start)
        text = " ".join(fragment.source[start:end].decode("utf-8", "replace").split())[:60]
        if not reason:
            reason = f"could not parse `{text}`" if text else "a piece of code is missing where the parser expects one"
            if via:
                reason += f" in the macro {via[-1].name}()"
        length = 0 if fragment.is_expansion else end - start
        self.graph.misread.append(
            Misread(
                start=offset,
                end=offset + length,
                reason=reason,
                node=self.graph.last_node,
                is_in_arguments=self._in_arguments > 0,
            )
        )


def _span(node: Syntax) -> tuple[int, int]:
    return node.start_byte - _SHIFT, node.end_byte - _SHIFT


def _field(node: Syntax, name: str) -> Syntax:
    """The child of that name; a broken tree may lack it, then the node itself stands in and is read child by child."""
    child = node.child_by_field_name(name)
    return child if child is not None else (node.named_children[0] if node.named_children else node)


def _operator(node: Syntax) -> str:
    operator = node.child_by_field_name("operator")
    return operator.type if operator is not None else ""


def _unwrapped(node: Syntax) -> Syntax:
    while node.type == "parenthesized_expression":
        inner = [child for child in node.named_children if child.type != "comment"]
        if len(inner) != 1 or inner[0].type == "compound_statement":
            return node
        node = inner[0]
    return node


def _is_cast(node: Syntax) -> bool:
    """`(type)(value)`, which looks like a call to whoever does not know the type."""
    function = node.child_by_field_name("function")
    return (
        function is not None
        and function.type == "parenthesized_expression"
        and len(function.named_children) == 1
        and function.named_children[0].type == "identifier"
    )


def _called_name(node: Syntax, fragment: Fragment) -> str:
    function = node.child_by_field_name("function")
    if function is None:
        return ""
    return fragment.key(*_span(function)) if function.type == "identifier" else ""


def _addresses(nodes: list[Syntax], fragment: Fragment) -> tuple[str, ...]:
    taken = []
    for node in nodes:
        node = _unwrapped(node)
        if node.type == "pointer_expression" and _operator(node) == "&":
            taken.append(fragment.key(*_span(_unwrapped(_field(node, "argument")))))
    return tuple(taken)


def _constant(text: str) -> Value:
    if text in _FALSE:
        return Value(truth=False)
    if text in _TRUE or re.fullmatch(r"-?(\d\w*|E[A-Z0-9]+)", text):
        return Value(truth=True)
    return Value(key=text)


def _canonical(key: str, operator: str, node: Syntax, fragment: Fragment) -> tuple[str, bool]:
    """One spelling for a comparison and its opposite: `a >= b` is `a < b` flipped."""
    if node.type == "binary_expression" and operator in _OPPOSITE:
        left = fragment.key(*_span(_field(node, "left")))
        right = fragment.key(*_span(_field(node, "right")))
        return f"{left}{_OPPOSITE[operator]}{right}", True
    return key, False


def _is_empty(node: Syntax) -> bool:
    return node.type == "expression_statement" and not node.named_children
