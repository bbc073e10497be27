"""Loops and switches into flow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reviewbot.csyntax.flow import Call, Guard, Loop
from reviewbot.csyntax.flow_graph import End, FlowGraph
from reviewbot.csyntax.fragment import Fragment
from reviewbot.csyntax.fragment_parser import is_scoped, wraps_scope
from reviewbot.csyntax.jumps import JumpReader, Target
from reviewbot.csyntax.macros import Argument
from reviewbot.csyntax.meaning import Meaning
from reviewbot.csyntax.syntax_nodes import field_of, operator_of, span, unwrapped
from reviewbot.patterns import regex
from reviewbot.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_BODY = "__the_statement_behind"  # as a parameter of the macro before it
_FOR_BOUND = regex(r"[<>]=?|!=")


@dataclass(slots=True, kw_only=True)
class _Switch:
    """The switch whose cases are being read."""

    dispatch: int
    key: str
    has_default: bool


class LoopReader(JumpReader):
    """Reads statements that go round or fan out."""

    def __init__(self, graph: FlowGraph, meaning: Meaning) -> None:
        super().__init__(graph, meaning)
        self._switches: list[_Switch] = []

    def read_while(self, node: Syntax, fragment: Fragment) -> None:
        macro = fragment.heads.get(span(node)[0])
        if macro is not None and is_scoped(self.meaning, macro):
            self.read_scoped(node, fragment, macro)
            return
        if macro is not None and wraps_scope(self.meaning, macro) and self._read_with_body(node, fragment, macro):
            return
        head = self.graph.add(None)
        self._enter_loop(node, fragment)
        if macro is not None:
            self._read_head(field_of(node, "condition"), fragment, macro)
            self.value(field_of(node, "condition"), fragment)
            branch = self.graph.add(None)
            true: list[End] = [(branch, None)]
            false: list[End] = [(branch, None)]
        else:
            true, false = self.condition(field_of(node, "condition"), fragment)
        self.graph.ends = true
        target = self.loop_body(node, fragment)
        self.graph.join(self.graph.ends + target.continues, head)
        self.graph.loop_stack.pop()
        self.graph.ends = false + target.breaks

    def _read_with_body(self, node: Syntax, fragment: Fragment, macro: str) -> bool:
        """A macro that heads its statement by a scoped access, read together with that statement as the preprocessor
        puts them. False: it cannot be followed."""
        body = node.child_by_field_name("body")
        if body is None or macro in self.expanding:
            return False
        begin, end = span(body)
        statement = Argument(text=fragment.source[begin:end], offset=fragment.place(begin)[0])
        arguments = (statement, *self.arguments_between(field_of(node, "condition"), fragment))
        macros = tuple(
            replace(each, parameters=(_BODY, *(each.parameters or ())), body=each.body + b" " + _BODY.encode())
            for each in self.meaning.macros(macro, is_call=True)
        )
        return self.follow(macros, arguments, node, fragment) is not None

    def _read_head(self, arguments: Syntax, fragment: Fragment, macro: str) -> None:
        """What the macro at the head of a loop runs: its body is read as a loop with nothing in it, and where it cannot
        be followed it is a call. It leads nowhere else than into the loop and out of it."""
        if macro in self.expanding:
            return
        before = self.graph.ends
        values = self.arguments_between(arguments, fragment)
        self.in_arguments += 1
        if self.follow(self.meaning.macros(macro, is_call=True), values, arguments, fragment) is None:
            offset, via = fragment.place(span(arguments)[0])
            self.graph.ends = before
            self.graph.add(Call(name=macro, text=macro, arguments=values, offset=offset, via=via))
        self.in_arguments -= 1
        self.graph.ends = self.graph.ends or before

    def read_do(self, node: Syntax, fragment: Fragment) -> None:
        condition = field_of(node, "condition")
        is_once = fragment.key(*span(unwrapped(condition))) in ("0", "false")
        head = self.graph.add(None)
        if not is_once:
            self._enter_loop(node, fragment)
        target = self.loop_body(node, fragment)
        self.graph.ends = self.graph.ends + target.continues
        true, false = self.condition(condition, fragment)
        self.graph.join(true, head)
        if not is_once:
            self.graph.loop_stack.pop()
        self.graph.ends = false + target.breaks

    def read_for(self, node: Syntax, fragment: Fragment) -> None:
        initial = node.child_by_field_name("initializer")
        if initial is not None:
            if initial.type == "declaration":
                self.statement(initial, fragment)
            else:
                self.value(initial, fragment, is_discarded=True)
        head = self.graph.add(None)
        self._enter_loop(node, fragment)
        condition = node.child_by_field_name("condition")
        false: list[End] = []
        if condition is not None:
            self.graph.ends, false = self.condition(condition, fragment)
        target = self.loop_body(node, fragment)
        self.graph.ends = self.graph.ends + target.continues
        update = node.child_by_field_name("update")
        if update is not None:
            self.value(update, fragment, is_discarded=True)
        self.graph.join(self.graph.ends, head)
        self.graph.loop_stack.pop()
        self.graph.ends = false + target.breaks

    def _enter_loop(self, node: Syntax, fragment: Fragment) -> None:
        start, end = span(node)
        body = node.child_by_field_name("body")
        stop = span(body)[0] if body is not None else end
        text = " ".join(fragment.source[start:stop].decode("utf-8", "replace").split())
        condition = node.child_by_field_name("condition")
        bound = ""
        is_compared = condition is not None and condition.type == "binary_expression"  # `p->next` has an operator, too
        if (
            node.type == "for_statement"
            and condition is not None
            and is_compared
            and _FOR_BOUND.search(operator_of(condition))
        ):
            bound = fragment.key(*span(field_of(condition, "right")))
        self.graph.loops.append(Loop(offset=fragment.place(start)[0], text=text, bound=bound))
        self.graph.loop_stack.append(len(self.graph.loops) - 1)

    def loop_body(self, node: Syntax, fragment: Fragment) -> Target:
        target = Target(breaks=[], continues=[], scopes=len(self.scopes), is_loop=True)
        self.targets.append(target)
        body = node.child_by_field_name("body")
        if body is not None:
            self.statement(body, fragment)
        self.targets.pop()
        return target

    def read_switch(self, node: Syntax, fragment: Fragment) -> None:
        condition = field_of(node, "condition")
        self.value(condition, fragment)
        dispatch = self.graph.add(None)
        switch = _Switch(dispatch=dispatch, key=fragment.key(*span(unwrapped(condition))), has_default=False)
        target = Target(breaks=[], continues=[], scopes=len(self.scopes), is_loop=False)
        self._switches.append(switch)
        self.targets.append(target)
        self.graph.ends = []
        body = node.child_by_field_name("body")
        if body is not None:
            self.statement(body, fragment)
        self.targets.pop()
        self._switches.pop()
        if not switch.has_default:
            self.graph.ends = [*self.graph.ends, (dispatch, None)]
        self.graph.ends = self.graph.ends + target.breaks

    def read_case(self, node: Syntax, fragment: Fragment) -> None:
        label = node.child_by_field_name("value")
        if self._switches:
            switch = self._switches[-1]
            guard = None
            if label is None:
                switch.has_default = True
            else:
                guard = Guard(key=f"{switch.key}=={fragment.key(*span(label))}", truth=True)
            self.graph.ends = [*self.graph.ends, (switch.dispatch, guard)]
        for part in node.named_children:
            if label is None or part.start_byte != label.start_byte:
                self.statement(part, fragment)
