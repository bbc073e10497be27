"""The flow of a whole function body."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from reviewbot.csyntax.flow import Assign, Call, Flow
from reviewbot.csyntax.flow_graph import FlowGraph
from reviewbot.csyntax.fragment import Fragment
from reviewbot.csyntax.fragment_parser import parse_fragment
from reviewbot.csyntax.lexing import blank_comments
from reviewbot.csyntax.meaning import Meaning
from reviewbot.csyntax.statements import StatementReader
from reviewbot.patterns import regex

_WORD = regex(rb"\w++")
_LAST_WORD = regex(rb"(?<=[\s*])([A-Za-z_]\w*+)\s*+[;,]")
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
    mentions = Counter(_WORD.findall(body))
    declared = Counter(_declared(body))
    unread = {
        action.call
        for target, actions in kept.items()
        if 0 < declared[name := target.encode()] >= mentions[name] - len(actions)
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


def _declared(body: bytes) -> Iterator[bytes]:
    """The names that stand behind a type and before a semicolon or comma, each as often as it does."""
    for match in _LAST_WORD.finditer(body):
        before = _TYPE_END.search(body, max(0, match.start() - _WIDEST_GAP), match.start())
        if before is not None and before[1] != b"return":
            yield match[1]
