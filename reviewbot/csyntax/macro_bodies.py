"""Macros into flow: the body is read in place of the call, with the arguments at the places where they were written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from reviewbot.csyntax.brackets import split_arguments
from reviewbot.csyntax.flow import Guard, MacroUse, Misread
from reviewbot.csyntax.flow_graph import End, FlowGraph
from reviewbot.csyntax.fragment import Fragment, Segment
from reviewbot.csyntax.fragment_parser import parse_fragment
from reviewbot.csyntax.lexing import blank_comments
from reviewbot.csyntax.macros import Argument, Macro, expand
from reviewbot.csyntax.meaning import Meaning
from reviewbot.csyntax.syntax_nodes import is_empty, span
from reviewbot.csyntax.value import Value

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

MAX_MACRO_DEPTH = 24
MAX_EXPANSIONS = 3_000


class MacroReader(ABC):
    """Follows macros. `expanding` are the macros whose bodies are being read, outermost first."""

    def __init__(self, graph: FlowGraph, meaning: Meaning) -> None:
        self.graph = graph
        self.meaning = meaning
        self.expanding: list[str] = []
        self.in_arguments = 0
        self._expansions = 0

    @abstractmethod
    def value(self, node: Syntax, fragment: Fragment, *, is_discarded: bool = False) -> Value:
        """Evaluate for its calls and assignments; what comes back is what is known of the result."""

    @abstractmethod
    def condition(self, node: Syntax, fragment: Fragment) -> tuple[list[End], list[End]]:
        """Evaluate for control flow: the ends on which it is true, and those on which it is false."""

    @abstractmethod
    def read_compound(self, node: Syntax, fragment: Fragment) -> Value:
        """Read the statements of `{ … }`; the value is that of the last (the result of a statement expression)."""

    def follow(
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
        return Value(key=fragment.key(*span(node)))

    def macro_condition(self, node: Syntax, fragment: Fragment, name: str) -> tuple[list[End], list[End]] | None:
        if not name or name in self.expanding or self.meaning.primitive(name) is not None:
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

        if not self._expand_into(macros[0], self.arguments_of(node, fragment), node, fragment, read):
            return None
        return true, false

    def _expand_into(
        self,
        macro: Macro,
        arguments: tuple[Argument, ...],
        node: Syntax,
        fragment: Fragment,
        read: Callable[[Syntax, Fragment], None],
    ) -> bool:
        """Expand, parse, and read an expression with `read`, statements as statements. False: it cannot be followed."""
        if len(self.expanding) >= MAX_MACRO_DEPTH or self._expansions >= MAX_EXPANSIONS:
            self.misread(node, fragment, f"macros nest too deeply or too often at {macro.name}()")
            return False
        expansion = expand(macro, arguments)
        if expansion is None:
            return False
        self._expansions += 1
        offset, via = fragment.place(span(node)[0])
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
        self.expanding.append(macro.name)
        try:
            return self._read_expansion(inner, read)
        finally:
            self.expanding.pop()

    def _read_expansion(self, inner: Fragment, read: Callable[[Syntax, Fragment], None]) -> bool:
        tree, body, parsed = parse_fragment(inner, self.meaning)
        if body is None:
            return False
        statements = [child for child in body.named_children if child.type != "comment" and not is_empty(child)]
        if len(statements) == 1 and statements[0].type == "expression_statement" and statements[0].named_children:
            read(statements[0].named_children[0], parsed)
        else:
            self.read_compound(body, parsed)
        del tree
        return True

    def arguments_of(self, node: Syntax, fragment: Fragment) -> tuple[Argument, ...]:
        listed = node.child_by_field_name("arguments")
        return () if listed is None else self.arguments_between(listed, fragment)

    def arguments_between(self, parenthesised: Syntax, fragment: Fragment) -> tuple[Argument, ...]:
        """The arguments within `( … )`, as written."""
        start, end = span(parenthesised)
        written = blank_comments(fragment.source[start:end])  # a type as an argument is blanked in what is parsed
        spans = split_arguments(fragment.text[start:end], 1, end - start - 1, written)
        spans = [(start + begin, start + stop) for begin, stop in spans]
        return tuple(
            Argument(text=fragment.source[begin:stop], offset=fragment.place(begin)[0]) for begin, stop in spans
        )

    def misread(self, node: Syntax, fragment: Fragment, reason: str = "") -> None:
        start, end = span(node)
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
                is_in_arguments=self.in_arguments > 0,
            )
        )
