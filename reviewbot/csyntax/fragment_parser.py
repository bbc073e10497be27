"""Parsing a fragment: normalised before, with the labels and the scoped statements in it told apart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reviewbot.csyntax.abi import STATEMENTS
from reviewbot.csyntax.fragment import Fragment
from reviewbot.csyntax.lexing import blank_comments
from reviewbot.csyntax.meaning import Meaning
from reviewbot.csyntax.normalise import normalise
from reviewbot.csyntax.parser import parse_body
from reviewbot.patterns import regex
from reviewbot.rulebook.primitives import Effect

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax
    from tree_sitter import Tree

_LABEL = regex(rb"(?<![\w?:'\"])([A-Za-z_]\w*)[ \t]*:(?![:\w])")
MAX_WRAPPERS = 3
"""Macros round macros round a scoped access."""

_DECLARED_BY_MACRO = regex(
    rb"(?<=[;{}(])\s*(?:const\s+)?([A-Za-z_]\w*+)\s*\((?:[^(){};]++|\((?:[^(){};]++|\([^(){};]*+\))*+\))*+\)[\s*]*[A-Za-z_]\w*+\s*[;=,]"
)
_TYPEOF = regex(rb"\(?\s*_*typeof")
_NOT_LABELS = frozenset({"default", "case"})
_WORD_BEFORE_PARENTHESIS = regex(rb"\b([A-Za-z_]\w*)\s*\(")


def parse_fragment(fragment: Fragment, meaning: Meaning) -> tuple[Tree, Syntax | None, Fragment]:
    """Normalise and parse a fragment whose text is `{ … }`; gives the tree (keep it), the body and the fragment as
    parsed."""
    clean = blank_comments(fragment.source, literals=True)
    scoped = frozenset(name for name in _heads(clean) if is_scoped(meaning, name) or wraps_scope(meaning, name))
    normal = normalise(clean, meaning.words, scoped, _type_makers(clean, meaning))
    labels = dict(fragment.labels)
    if fragment.is_expansion:
        for match in _LABEL.finditer(clean):
            name = match.group(1).decode()
            if name not in _NOT_LABELS and not any(
                s.start <= match.start() < s.start + s.length for s in fragment.segments
            ):
                labels[name] = f"{name}@{fragment.serial}"
    parsed = replace(fragment, text=normal.text, heads=normal.heads, labels=labels)
    tree, body = parse_body(normal.text)
    return tree, body, parsed


def _type_makers(text: bytes, meaning: Meaning) -> frozenset[str]:
    """Macros that stand for typeof() in a declaration: `TYPE_OF(x) copy;`."""
    names = {match.group(1).decode() for match in _DECLARED_BY_MACRO.finditer(text)} - STATEMENTS
    made = {name: meaning.macros(name, is_call=True) for name in names}
    return frozenset(
        name for name, macros in made.items() if macros and all(_TYPEOF.match(macro.body) for macro in macros)
    )


def _heads(text: bytes) -> set[str]:
    """The names that may be called. A kernel that profiles its branches makes a macro of `if`, too: nothing of ours."""
    return {match.group(1).decode() for match in _WORD_BEFORE_PARENTHESIS.finditer(text)} - STATEMENTS


def wraps_scope(meaning: Meaning, name: str, depth: int = MAX_WRAPPERS) -> bool:
    """Whether a macro, or one that it uses, heads its statement by a scoped access."""
    if depth == 0 or meaning.primitive(name) is not None:
        return False
    return any(
        is_scoped(meaning, each) or (each != name and wraps_scope(meaning, each, depth - 1))
        for macro in meaning.macros(name, is_call=True)
        for each in sorted(_heads(macro.body))
    )


def is_scoped(meaning: Meaning, name: str) -> bool:
    primitive = meaning.primitive(name)
    return primitive is not None and primitive.effect is Effect.SCOPED
