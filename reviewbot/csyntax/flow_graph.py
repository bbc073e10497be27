"""A flow graph while it grows: nodes, dangling ends, labels, loops and scopes."""

from __future__ import annotations

from collections.abc import Iterable

from reviewbot.csyntax.flow import Action, Edge, Flow, Guard, Loop, Misread, Node

End = tuple[int, Guard | None]
"""A dangling edge: it leaves this node under this condition."""

MAX_NODES = 50_000


class FlowTooLargeError(Exception):
    """The function and the macros in it are larger than what is worth looking at; the caller reports a gap."""


class FlowGraph:
    """Collects nodes. `ends` are the dangling edges that the next node will join."""

    def __init__(self) -> None:
        self._actions: list[Action | None] = [None]
        self._edges: list[dict[Edge, None]] = [{}]  # a dict keeps the order, and a switch may have 10,000 cases
        self._loops_of: list[tuple[int, ...]] = [()]
        self.ends: list[End] = [(0, None)]
        self.loops: list[Loop] = []
        self.loop_stack: list[int] = []
        self.misread: list[Misread] = []

    @property
    def last_node(self) -> int:
        return len(self._actions) - 1

    def add(self, action: Action | None) -> int:
        """A new node behind all dangling ends; it becomes the only end."""
        node = self.new_node(action)
        self.join(self.ends, node)
        self.ends = [(node, None)]
        return node

    def new_node(self, action: Action | None) -> int:
        """A node that nothing leads to yet."""
        if len(self._actions) >= MAX_NODES:
            raise FlowTooLargeError
        self._actions.append(action)
        self._edges.append({})
        self._loops_of.append(tuple(self.loop_stack))
        return len(self._actions) - 1

    def join(self, ends: Iterable[End], target: int) -> None:
        for source, guard in ends:
            self._edges[source].setdefault(Edge(target=target, guard=guard))

    def fault(self, source: int, target: int) -> None:
        self._edges[source].setdefault(Edge(target=target, is_fault=True))

    def finish(self) -> Flow:
        end = self.add(None)
        nodes = tuple(
            Node(action=action, edges=tuple(edges), loops=loops)
            for action, edges, loops in zip(self._actions, self._edges, self._loops_of, strict=True)
        )
        return Flow(nodes=nodes, end=end, loops=tuple(self.loops), misread=tuple(self.misread))
