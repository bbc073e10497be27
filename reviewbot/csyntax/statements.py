"""Statements into flow: every kind of statement to its reader, and what is no loop and no jump itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewbot.csyntax.fragment import Fragment
from reviewbot.csyntax.loops import LoopReader
from reviewbot.csyntax.syntax_nodes import declared_name, field_of, span
from reviewbot.csyntax.value import Value

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_WITH_PARTS = frozenset(
    {
        "if_statement",
        "while_statement",
        "do_statement",
        "for_statement",
        "switch_statement",
        "case_statement",
        "labeled_statement",
        "return_statement",
    }
)


class StatementReader(LoopReader):
    """Reads the statements of one function into its graph."""

    def read_compound(self, node: Syntax, fragment: Fragment) -> Value:
        result = Value()
        for child in node.named_children:
            result = self.statement(child, fragment)
        return result

    def statement(self, node: Syntax, fragment: Fragment) -> Value:
        """Read one statement; the value is that of an expression statement (the result of a statement expression)."""
        kind = node.type
        if node.has_error and kind in _WITH_PARTS:
            self._errors_between_parts(node, fragment)
        if kind == "expression_statement":
            if node.named_children:
                return self._expression_statement(node, fragment)
        elif kind == "compound_statement":
            return self.read_compound(node, fragment)
        elif kind == "if_statement":
            self.read_if(node, fragment)
        elif kind == "while_statement":
            self.read_while(node, fragment)
        elif kind == "do_statement":
            self.read_do(node, fragment)
        elif kind == "for_statement":
            self.read_for(node, fragment)
        elif kind == "switch_statement":
            self.read_switch(node, fragment)
        elif kind == "case_statement":
            self.read_case(node, fragment)
        elif kind == "labeled_statement":
            self.read_label(node, fragment)
        elif kind == "goto_statement":
            self.read_goto(node, fragment)
        elif kind == "return_statement":
            self.read_return(node, fragment)
        elif kind in ("break_statement", "continue_statement"):
            self.read_jump(kind)
        elif kind == "declaration":
            self._declaration(node, fragment)
        elif kind not in ("comment", "type_definition", "struct_specifier", "union_specifier", "enum_specifier"):
            self._other(node, fragment)
        return Value()

    def _expression_statement(self, node: Syntax, fragment: Fragment) -> Value:
        result = Value()
        for child in node.children:
            if child.is_missing and child.type == ";" and self._is_real(node, fragment):
                self.misread(node, fragment)
            if child.is_named:
                result = self.value(child, fragment, is_discarded=True)
        return result

    def _errors_between_parts(self, node: Syntax, fragment: Fragment) -> None:
        """What the parser skipped between the parts of a statement, each of which reports its own errors."""
        for child in node.children:
            if child.type == "ERROR":
                self.misread(child, fragment)

    def _is_real(self, node: Syntax, fragment: Fragment) -> bool:
        """A macro that is a statement by itself needs no semicolon; the parser misses one, the compiler does not."""
        start, end = span(node)
        return not fragment.text[start:end].rstrip().endswith((b")", b"}"))

    def _other(self, node: Syntax, fragment: Fragment) -> None:
        """An unknown or broken node: its parts are still read in order, so that no call in it is lost."""
        if node.type == "ERROR" or node.is_missing:
            self.misread(node, fragment)
        for child in node.named_children:
            if child.type.endswith(("_statement", "declaration", "definition")) or child.type == "ERROR":
                self.statement(child, fragment)
            elif child.type.endswith(("_expression", "identifier")):
                self.value(child, fragment)

    def _declaration(self, node: Syntax, fragment: Fragment) -> None:
        for child in node.children_by_field_name("declarator"):
            if child.type != "init_declarator":
                continue
            initial = child.child_by_field_name("value")
            if initial is None:
                continue
            value = self.value(initial, fragment)
            declared = declared_name(field_of(child, "declarator"))
            name = fragment.key(*span(declared))
            self.assign_name(name, fragment.place(span(declared)[0])[0], value)
        for child in node.named_children:
            if child.type == "ERROR":
                self.misread(child, fragment)

    def read_if(self, node: Syntax, fragment: Fragment) -> None:
        true, false = self.condition(field_of(node, "condition"), fragment)
        self.graph.ends = true
        consequence = node.child_by_field_name("consequence")
        if consequence is not None:
            self.statement(consequence, fragment)
        true = self.graph.ends
        self.graph.ends = false
        alternative = node.child_by_field_name("alternative")
        if alternative is not None:
            for child in alternative.named_children:
                self.statement(child, fragment)
        self.graph.ends = true + self.graph.ends
