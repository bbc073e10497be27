"""Questions to the nodes of a syntax tree: where they stand, which part is which, what they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewbot.csyntax.fragment import Fragment
from reviewbot.csyntax.parser import BODY_PREFIX

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_SHIFT = len(BODY_PREFIX)


def span(node: Syntax) -> tuple[int, int]:
    return node.start_byte - _SHIFT, node.end_byte - _SHIFT


def field_of(node: Syntax, name: str) -> Syntax:
    """The child of that name; a broken tree may lack it, then the node itself stands in and is read child by child."""
    child = node.child_by_field_name(name)
    return child if child is not None else (node.named_children[0] if node.named_children else node)


def operator_of(node: Syntax) -> str:
    operator = node.child_by_field_name("operator")
    return operator.type if operator is not None else ""


def unwrapped(node: Syntax) -> Syntax:
    while node.type == "parenthesized_expression":
        inner = [child for child in node.named_children if child.type != "comment"]
        if len(inner) != 1 or inner[0].type == "compound_statement":
            return node
        node = inner[0]
    return node


def is_cast(node: Syntax) -> bool:
    """`(type)(value)`, which looks like a call to whoever does not know the type."""
    function = node.child_by_field_name("function")
    return (
        function is not None
        and function.type == "parenthesized_expression"
        and len(function.named_children) == 1
        and function.named_children[0].type == "identifier"
    )


def called_name(node: Syntax, fragment: Fragment) -> str:
    function = node.child_by_field_name("function")
    if function is None:
        return ""
    return fragment.key(*span(function)) if function.type == "identifier" else ""


def declared_name(node: Syntax) -> Syntax:
    while True:
        inner = node.child_by_field_name("declarator")
        if inner is None:
            return node
        node = inner


def is_empty(node: Syntax) -> bool:
    return node.type == "expression_statement" and not node.named_children
