"""tree-sitter's C parser, loaded once and only when something is parsed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree


@cache
def _parser() -> Parser:
    import tree_sitter_c
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_c.language()))


def parse(text: bytes) -> Tree:
    """The syntax tree of C text. It never fails: what is not C becomes ERROR nodes."""
    return _parser().parse(text)


BODY_PREFIX = b"void f(void) "
"""Put before a body to make a whole function of it; subtract its length from every offset."""


def parse_body(body: bytes) -> tuple[Tree, Node | None]:
    """Parse `{ … }` as a function body; gives the tree and its compound_statement (None if there is none).

    Keep the tree: it owns the nodes."""
    tree = parse(BODY_PREFIX + body)
    for child in tree.root_node.named_children:
        if child.type == "function_definition":
            return tree, child.child_by_field_name("body")
    return tree, None
