"""Statements into flow: branches, loops, switches, gotos, and scopes that close when they are left."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reviewbot.csyntax.expressions import ExpressionReader, Meaning, Value, _field, _operator, _span, _unwrapped
from reviewbot.csyntax.flow import Assign, Call, Flow, Guard, Loop, Return
from reviewbot.csyntax.flow_graph import End, FlowGraph
from reviewbot.csyntax.fragment import Fragment
from reviewbot.csyntax.lexing import blank_comments
from reviewbot.csyntax.normalise import normalise
from reviewbot.csyntax.parser import parse_body
from reviewbot.rulebook.primitives import Effect

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax
    from tree_sitter import Tree

_LABEL = re.compile(rb"(?<![\w?:'\"])([A-Za-z_]\w*)[ \t]*:(?![:\w])")
_NOT_LABELS = frozenset({"default", "case"})
_FOR_BOUND = re.compile(r"[<>]=?|!=")


@dataclass(slots=True, kw_only=True)
class _Target:
    """Where break and continue go, and how many scopes are open there."""

    breaks: list[End]
    continues: list[End]
    scopes: int
    is_loop: bool


@dataclass(slots=True, kw_only=True)
class _Switch:
    """The switch whose cases are being read."""

    dispatch: int
    key: str
    has_default: bool


def parse_fragment(fragment: Fragment, meaning: Meaning) -> tuple[Tree, Syntax | None, Fragment]:
    """Normalise and parse a fragment whose text is `{ … }`; gives the tree (keep it), the body and the fragment as
    parsed."""
    clean = blank_comments(fragment.source, literals=True)
    scoped = frozenset(name for name in _heads(clean) if _is_scoped(meaning, name))
    normal = normalise(clean, meaning.words, scoped)
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


_WORD_BEFORE_PARENTHESIS = re.compile(rb"\b([A-Za-z_]\w*)\s*\(")


def _heads(text: bytes) -> set[str]:
    return {match.group(1).decode() for match in _WORD_BEFORE_PARENTHESIS.finditer(text)}


def _is_scoped(meaning: Meaning, name: str) -> bool:
    primitive = meaning.primitive(name)
    return primitive is not None and primitive.effect is Effect.SCOPED


def read_flow(body: bytes, offset: int, meaning: Meaning) -> Flow:
    """The flow of a function body `{ … }` that stands at `offset` in its file (one #if variant, comments may be
    present).

    Raises FlowTooLargeError for what is too big to be worth a look."""
    fragment = Fragment(text=body, source=body, offset=offset)
    tree, syntax, parsed = parse_fragment(fragment, meaning)
    reader = StatementReader(FlowGraph(), meaning)
    if syntax is None:
        reader.misread(tree.root_node, parsed, "the function body could not be parsed")
    else:
        reader.read_compound(syntax, parsed)
    reader.finish_labels()
    return _discard_unread(reader.graph.finish(), blank_comments(body, literals=True))


def _discard_unread(flow: Flow, body: bytes) -> Flow:
    """A result that is kept in a variable which nobody reads is as good as discarded."""
    kept: dict[str, list[Assign]] = {}
    for node in flow.nodes:
        if isinstance(node.action, Assign):
            kept.setdefault(node.action.target, []).append(node.action)
    unread = {
        action.call
        for target, actions in kept.items()
        if target.isidentifier() and _is_never_read(target, len(actions), body)
        for action in actions
        if action.call is not None
    }
    if not unread:
        return flow
    nodes = tuple(
        replace(node, action=replace(node.action, is_discarded=True))
        if index in unread and isinstance(node.action, Call)
        else node
        for index, node in enumerate(flow.nodes)
    )
    return replace(flow, nodes=nodes)


def _is_never_read(name: str, assignments: int, body: bytes) -> bool:
    spelled = re.escape(name.encode())
    mentions = len(re.findall(rb"\b" + spelled + rb"\b", body))
    declared = len(re.findall(rb"\b(?!return\b)\w+[\s*]+" + spelled + rb"\s*[;,]", body))
    return declared > 0 and mentions <= assignments + declared


class StatementReader(ExpressionReader):
    """Reads the statements of one function into its graph."""

    def __init__(self, graph: FlowGraph, meaning: Meaning) -> None:
        super().__init__(graph, meaning)
        self._labels: dict[str, int] = {}
        self._placed: set[str] = set()
        self._scopes_at_label: dict[str, int] = {}
        self._pending: dict[str, list[tuple[list[End], tuple[Call, ...]]]] = {}
        self._targets: list[_Target] = []
        self._scopes: list[Call] = []
        self._switches: list[_Switch] = []
        self.label_node = self._label_node
        self.read_compound = self._read_compound

    # -- labels -----------------------------------------------------------------------------------------------------

    def _label_node(self, fragment: Fragment, label: str) -> int:
        """The node at which a jump to the label arrives, with the scopes that the jump leaves closed on the way."""
        name = fragment.labels.get(label, label)
        if not self._scopes:
            return self._node_of(name)
        saved = self.graph.ends
        landing = self.graph.new_node(None)
        self.graph.ends = [(landing, None)]
        self._pending.setdefault(name, []).append((self.graph.ends, tuple(self._scopes)))
        self.graph.ends = saved
        return landing

    def _node_of(self, name: str) -> int:
        if name not in self._labels:
            self._labels[name] = self.graph.new_node(None)
        return self._labels[name]

    def finish_labels(self) -> None:
        """Connect the jumps out of scopes, now that it is known in which scopes each label stands."""
        fall_through = self.graph.ends
        for name, jumps in self._pending.items():
            kept = self._scopes_at_label.get(name, 0)
            for ends, scopes in jumps:
                self.graph.ends = ends
                for closer in reversed(scopes[kept:]):
                    self.graph.add(closer)
                self.graph.join(self.graph.ends, self._node_of(name))
        self.graph.ends = fall_through

    def _label(self, node: Syntax, fragment: Fragment) -> None:
        label_node = node.child_by_field_name("label")
        if label_node is not None:
            label = fragment.key(*_span(label_node))
            name = fragment.labels.get(label, label)
            target = self._node_of(name)
            self._scopes_at_label[name] = len(self._scopes)
            self.graph.join(self.graph.ends, target)
            self.graph.ends = [(target, None)]
        for child in node.named_children:
            if label_node is None or child.start_byte != label_node.start_byte:
                self.statement(child, fragment)

    def _goto(self, node: Syntax, fragment: Fragment) -> None:
        label = node.child_by_field_name("label")
        if label is None:
            self.misread(node, fragment, "a computed goto is not followed")
        else:
            target = self._label_node(fragment, fragment.key(*_span(label)))
            self.graph.join(self.graph.ends, target)
        self.graph.ends = []

    # -- statements -------------------------------------------------------------------------------------------------

    def _read_compound(self, node: Syntax, fragment: Fragment) -> Value:
        result = Value()
        for child in node.named_children:
            result = self.statement(child, fragment)
        return result

    def statement(self, node: Syntax, fragment: Fragment) -> Value:
        """Read one statement; the value is that of an expression statement (the result of a statement expression)."""
        kind = node.type
        if kind == "expression_statement":
            if node.named_children:
                return self._expression_statement(node, fragment)
        elif kind == "compound_statement":
            return self._read_compound(node, fragment)
        elif kind == "if_statement":
            self._if(node, fragment)
        elif kind == "while_statement":
            self._while(node, fragment)
        elif kind == "do_statement":
            self._do(node, fragment)
        elif kind == "for_statement":
            self._for(node, fragment)
        elif kind == "switch_statement":
            self._switch(node, fragment)
        elif kind == "case_statement":
            self._case(node, fragment)
        elif kind == "labeled_statement":
            self._label(node, fragment)
        elif kind == "goto_statement":
            self._goto(node, fragment)
        elif kind == "return_statement":
            self._return(node, fragment)
        elif kind in ("break_statement", "continue_statement"):
            self._jump(kind)
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

    def _is_real(self, node: Syntax, fragment: Fragment) -> bool:
        """A macro that is a statement by itself needs no semicolon; the parser misses one, the compiler does not."""
        start, end = _span(node)
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
            declared = _declared_name(_field(child, "declarator"))
            name = fragment.key(*_span(declared))
            self.assign_name(name, fragment.place(_span(declared)[0])[0], value)
        for child in node.named_children:
            if child.type == "ERROR":
                self.misread(child, fragment)

    def _if(self, node: Syntax, fragment: Fragment) -> None:
        true, false = self.condition(_field(node, "condition"), fragment)
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

    def _while(self, node: Syntax, fragment: Fragment) -> None:
        macro = fragment.heads.get(_span(node)[0])
        if macro is not None and _is_scoped(self.meaning, macro):
            self._scoped(node, fragment, macro)
            return
        head = self.graph.add(None)
        self._enter_loop(node, fragment)
        if macro is not None:
            self.value(_field(node, "condition"), fragment)
            branch = self.graph.add(None)
            true: list[End] = [(branch, None)]
            false: list[End] = [(branch, None)]
        else:
            true, false = self.condition(_field(node, "condition"), fragment)
        self.graph.ends = true
        target = self._loop_body(node, fragment)
        self.graph.join(self.graph.ends + target.continues, head)
        self.graph.loop_stack.pop()
        self.graph.ends = false + target.breaks

    def _do(self, node: Syntax, fragment: Fragment) -> None:
        condition = _field(node, "condition")
        is_once = fragment.key(*_span(_unwrapped(condition))) in ("0", "false")
        head = self.graph.add(None)
        if not is_once:
            self._enter_loop(node, fragment)
        target = self._loop_body(node, fragment)
        self.graph.ends = self.graph.ends + target.continues
        true, false = self.condition(condition, fragment)
        self.graph.join(true, head)
        if not is_once:
            self.graph.loop_stack.pop()
        self.graph.ends = false + target.breaks

    def _for(self, node: Syntax, fragment: Fragment) -> None:
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
        target = self._loop_body(node, fragment)
        self.graph.ends = self.graph.ends + target.continues
        update = node.child_by_field_name("update")
        if update is not None:
            self.value(update, fragment, is_discarded=True)
        self.graph.join(self.graph.ends, head)
        self.graph.loop_stack.pop()
        self.graph.ends = false + target.breaks

    def _enter_loop(self, node: Syntax, fragment: Fragment) -> None:
        start, end = _span(node)
        body = node.child_by_field_name("body")
        stop = _span(body)[0] if body is not None else end
        text = " ".join(fragment.source[start:stop].decode("utf-8", "replace").split())
        condition = node.child_by_field_name("condition")
        bound = ""
        if node.type == "for_statement" and condition is not None and _FOR_BOUND.search(_operator(condition)):
            bound = fragment.key(*_span(_field(condition, "right")))
        self.graph.loops.append(Loop(offset=fragment.place(start)[0], text=text, bound=bound))
        self.graph.loop_stack.append(len(self.graph.loops) - 1)

    def _loop_body(self, node: Syntax, fragment: Fragment) -> _Target:
        target = _Target(breaks=[], continues=[], scopes=len(self._scopes), is_loop=True)
        self._targets.append(target)
        body = node.child_by_field_name("body")
        if body is not None:
            self.statement(body, fragment)
        self._targets.pop()
        return target

    def _switch(self, node: Syntax, fragment: Fragment) -> None:
        condition = _field(node, "condition")
        self.value(condition, fragment)
        dispatch = self.graph.add(None)
        switch = _Switch(dispatch=dispatch, key=fragment.key(*_span(_unwrapped(condition))), has_default=False)
        target = _Target(breaks=[], continues=[], scopes=len(self._scopes), is_loop=False)
        self._switches.append(switch)
        self._targets.append(target)
        self.graph.ends = []
        body = node.child_by_field_name("body")
        if body is not None:
            self.statement(body, fragment)
        self._targets.pop()
        self._switches.pop()
        if not switch.has_default:
            self.graph.ends = [*self.graph.ends, (dispatch, None)]
        self.graph.ends = self.graph.ends + target.breaks

    def _case(self, node: Syntax, fragment: Fragment) -> None:
        label = node.child_by_field_name("value")
        if self._switches:
            switch = self._switches[-1]
            guard = None
            if label is None:
                switch.has_default = True
            else:
                guard = Guard(key=f"{switch.key}=={fragment.key(*_span(label))}", truth=True)
            self.graph.ends = [*self.graph.ends, (switch.dispatch, guard)]
        for part in node.named_children:
            if label is None or part.start_byte != label.start_byte:
                self.statement(part, fragment)

    def _return(self, node: Syntax, fragment: Fragment) -> None:
        value = Value()
        for child in node.named_children:
            value = self.value(child, fragment)
        self._close_scopes(0)
        self.graph.add(
            Return(offset=fragment.place(_span(node)[0])[0], call=value.call, truth=value.truth, key=value.key)
        )
        self.graph.ends = []

    def _jump(self, kind: str) -> None:
        is_break = kind == "break_statement"
        for target in reversed(self._targets):
            if is_break or target.is_loop:
                self._close_scopes(target.scopes)
                (target.breaks if is_break else target.continues).extend(self.graph.ends)
                break
        self.graph.ends = []

    # -- scoped accesses --------------------------------------------------------------------------------------------

    def _scoped(self, node: Syntax, fragment: Fragment, name: str) -> None:
        """`scoped_…(pointer, label) statement`: opens, or goes to the label; closes however the statement is left."""
        primitive = self.meaning.primitive(name)
        assert primitive is not None
        start = _span(node)[0]
        condition = _field(node, "condition")
        self.value(condition, fragment)
        arguments = self.arguments_between(condition, fragment)
        offset, via = fragment.place(start)
        opener = Call(name=name, text=name, arguments=arguments, offset=offset, via=via, within=self._within)
        if primitive.label_arg is not None and arguments:
            check = self.graph.add(None)
            label = arguments[primitive.label_arg % len(arguments)].text.decode("utf-8", "replace").strip()
            self.graph.join([(check, None)], self._label_node(fragment, label))
        self.graph.add(opener)
        closer = replace(opener, closes_scope=True, arguments=())
        self._scopes.append(closer)
        target = _Target(breaks=[], continues=[], scopes=len(self._scopes) - 1, is_loop=True)
        self._targets.append(target)
        body = node.child_by_field_name("body")
        if body is not None:
            self.statement(body, fragment)
        self._targets.pop()
        self.graph.add(closer)
        self._scopes.pop()
        self.graph.ends = self.graph.ends + target.breaks + target.continues

    def _close_scopes(self, kept: int) -> None:
        for closer in reversed(self._scopes[kept:]):
            self.graph.add(closer)


def _declared_name(node: Syntax) -> Syntax:
    while True:
        inner = node.child_by_field_name("declarator")
        if inner is None:
            return node
        node = inner
