"""The flow of a whole function body."""

from __future__ import annotations

from dataclasses import replace

from reviewbot.csyntax.flow import Assign, Call, Flow
from reviewbot.csyntax.flow_graph import FlowGraph
from reviewbot.csyntax.fragment import Fragment
from reviewbot.csyntax.fragment_parser import parse_fragment
from reviewbot.csyntax.lexing import blank_comments, occurrences
from reviewbot.csyntax.meaning import Meaning
from reviewbot.csyntax.statements import StatementReader
from reviewbot.patterns import regex

_NAME = regex(rb"[A-Za-z_]\w*")
_DECLARATION_END = regex(rb"\s*+[;,]")
_TYPE_END = regex(rb"(?<!\w)(\w++)[\s*]++\Z")
_WIDEST_GAP = 200


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
        if any(action.call is not None for action in actions) and _is_unread(body, target.encode(), len(actions))
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


def _is_unread(body: bytes, name: bytes, assigned: int) -> bool:
    """Whether a name is declared, and stands nowhere else than there and where it is assigned to."""
    mentions = list(occurrences(body, name)) if _NAME.fullmatch(name) else []
    declared = sum(_is_declared(body, at, at + len(name)) for at in mentions)
    return 0 < declared >= len(mentions) - assigned


def _is_declared(body: bytes, start: int, end: int) -> bool:
    """Whether what stands there stands behind a type and before a semicolon or comma."""
    if _DECLARATION_END.match(body, end) is None:
        return False
    before = _TYPE_END.search(body, max(0, start - _WIDEST_GAP), start)
    return before is not None and before[1] != b"return"
