"""What leads where in one flow: what is a failure, what ends in an error, what the configuration rules out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property

from reviewbot.csyntax.flow import Assign, Call, Edge, Flow, Guard, Return
from reviewbot.graph.configuration import Configuration
from reviewbot.graph.switch_counts import Interval
from reviewbot.patterns import regex
from reviewbot.values import dataclass

_ERROR = regex(r"-\s*(?:E[A-Z0-9]+|\d+)|ERR_PTR\s*\(|false|NULL")
_BELOW_ZERO = regex(r"(\w+)\s*<\s*0")
_CONFIGURED = regex(r"#if |.*\b(?:IS_ENABLED|IS_BUILTIN|IS_REACHABLE)\s*\(")


@dataclass(frozen=True, kw_only=True)
class Ways:
    """`weights`: pairs that a node makes. `failing`: call node -> the truth of its result that says it failed.
    `openers`: those of them that make their pair only when they succeed. `optional`: user pointers that may be absent.
    `values`: what the returns give back, as written. `absent`: parameters for which the caller gives NULL."""

    flow: Flow
    weights: Mapping[int, Interval]
    failing: Mapping[int, bool]
    openers: frozenset[int]
    optional: frozenset[str]
    configuration: Configuration
    values: Mapping[int, str]
    absent: frozenset[str]
    order: tuple[int, ...] = field(init=False)
    back: frozenset[tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        order, back = _order(self.flow)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "back", back)

    def members(self, loop: int) -> frozenset[int]:
        return frozenset(i for i, node in enumerate(self.flow.nodes) if loop in node.loops)

    def edges(self, node: int) -> Iterator[Edge]:
        """Those that the configuration allows."""
        for edge in self.flow.nodes[node].edges:
            if edge.guard is None or self._may_hold(edge.guard):
                yield edge

    def _may_hold(self, guard: Guard) -> bool:
        if guard.truth and guard.key in self.absent:
            return False
        if not _CONFIGURED.match(guard.key):
            return True
        return self.configuration.truth(guard.key.removeprefix("#if ")) in (None, guard.truth)

    def forward(self, node: int) -> Iterator[Edge]:
        return (edge for edge in self.edges(node) if (node, edge.target) not in self.back)

    def choices(self, node: int) -> list[Edge]:
        """The edges on which nothing fails and that do not lead to an error alone."""
        return [e for e in self.forward(node) if not self.is_failure(e) and not self.is_doomed(e.target)]

    def is_failure(self, edge: Edge) -> bool:
        """Taken when an access faults, or an opener or a helper says that it failed."""
        guard = edge.guard
        if edge.is_fault or guard is None:
            return edge.is_fault
        if guard.call is not None:
            return self.failing.get(guard.call) is guard.truth
        below = _BELOW_ZERO.fullmatch(guard.key)
        return guard.truth and (below.group(1) if below else guard.key) in self._error_names

    @cached_property
    def _error_names(self) -> frozenset[str]:
        """Variables that hold an error: the result of an access, or what the function gives back."""
        found = {
            node.action.target
            for node in self.flow.nodes
            if isinstance(node.action, Assign) and node.action.call is not None and node.action.call in self.failing
        }
        return frozenset(found | self._returned)

    @property
    def _returned(self) -> set[str]:
        return {n.action.key for n in self.flow.nodes if isinstance(n.action, Return) and n.action.key.isidentifier()}

    def is_exit(self, node: int) -> bool:
        return isinstance(self.flow.nodes[node].action, Return) or node == self.flow.end

    def is_doomed(self, node: int) -> bool:
        """Every way on from here ends in an error."""
        return bool(self._reached.get(node)) and self._reached[node] <= self.error_exits

    @cached_property
    def _reached(self) -> dict[int, frozenset[int]]:
        """The exits that can be reached from each node."""
        found: dict[int, frozenset[int]] = {}
        for node in reversed(self.order):
            ahead = frozenset().union(*(found.get(edge.target, frozenset()) for edge in self.forward(node)))
            found[node] = ahead | {node} if self.is_exit(node) else ahead
        return found

    @cached_property
    def error_exits(self) -> frozenset[int]:
        """Returns of an error code, and those to which a failure leads and to nothing else; not all of them."""
        exits = {node for node in self.order if self.is_exit(node)}
        errors = {
            next(iter(self._reached[edge.target]))
            for node in self.order
            for edge in self.forward(node)
            if self.is_failure(edge) and len(self._reached.get(edge.target, ())) == 1
        }
        for node in exits:
            if _ERROR.match(self.values.get(node, "")):
                errors.add(node)
        return frozenset(errors) if errors != exits else frozenset()


def options_off(guard: Guard) -> int:
    """How many CONFIG_ options the condition takes to be off."""
    if not _CONFIGURED.match(guard.key):
        return 0
    if guard.key.startswith("#if "):
        return guard.key.count("!") if guard.truth else 1
    return int(not guard.truth)


def guard_text(flow: Flow, guard: Guard | None) -> str:
    """A condition as a person would write it; "" for what tells nothing."""
    if guard is None:
        return ""
    if guard.call is None:
        text = guard.key.removeprefix("#if ")
        return text if guard.truth else f"!({text})" if not text.isidentifier() else f"!{text}"
    action = flow.nodes[guard.call].action
    name = f"{action.name or action.text}()" if isinstance(action, Call) else ""
    return name if guard.truth or not name else f"!{name}"


def _order(flow: Flow) -> tuple[tuple[int, ...], frozenset[tuple[int, int]]]:
    """The nodes that can be reached, each before all that follow it; and the edges back that were left out for that."""
    done: list[int] = []
    back: set[tuple[int, int]] = set()
    colour = {0: 1}
    stack: list[tuple[int, Iterator[Edge]]] = [(0, iter(flow.nodes[0].edges))]
    while stack:
        node, edges = stack[-1]
        edge = next(edges, None)
        if edge is None:
            colour[node] = 2
            done.append(node)
            stack.pop()
        elif colour.get(edge.target) == 1:
            back.add((node, edge.target))
        elif edge.target not in colour:
            colour[edge.target] = 1
            stack.append((edge.target, iter(flow.nodes[edge.target].edges)))
    return tuple(reversed(done)), frozenset(back)
