"""The ways through one flow: the fewest, the most and the typical number of pairs on them.

Typical is the way on which no access faults and no opener or helper fails, that leaves the function at its last return
that is not an error's, on which user memory is accessed at all, a user pointer that may be absent is there and every
CONFIG_ option is on; where that still leaves a choice, the one with fewer pairs. The fewest are those of the ways that
end well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from reviewbot.csyntax.flow import Assign, Call, Edge, Flow, Guard, Return
from reviewbot.graph.configuration import Configuration
from reviewbot.graph.switch_counts import NONE, NOTHING, Interval, Pairs, fewest, most

MAX_STATES_PER_NODE = 64
_WORD = re.compile(r"[A-Za-z_]\w*")
_ERROR = re.compile(r"-\s*(?:E[A-Z0-9]+|\d+)|ERR_PTR\s*\(|false|NULL")
_BELOW_ZERO = re.compile(r"(\w+)\s*<\s*0")
_CONFIGURED = re.compile(r"#if |.*\b(?:IS_ENABLED|IS_BUILTIN|IS_REACHABLE)\s*\(")

Facts = frozenset[tuple[str, bool]]
Key = tuple[Facts, bool]
"""What is known, and whether a pair was made."""

Rank = tuple[int, int, int, int, int, int, int]
"""Failures, error exit, no pair, early exit, absent pointers, options that are off, pairs: the least is typical."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """`nodes` are those of the typical way, `guards` what was chosen on it at a branch that matters."""

    pairs: Interval
    nodes: frozenset[int]
    guards: tuple[str, ...]


NO_WAY = Way(pairs=NOTHING, nodes=frozenset(), guards=())


@dataclass(frozen=True, slots=True)
class _Trail:
    """The typical way backwards."""

    node: int
    edge: Edge | None
    before: _Trail | None


@dataclass(frozen=True, slots=True)
class _Best:
    """`low` are the fewest pairs of the ways on which nothing failed, None where there is none."""

    low: Pairs | None
    high: Pairs
    typ: Pairs
    rank: Rank
    trail: _Trail

    def merged(self, other: _Best) -> _Best:
        typical = self if self.rank <= other.rank else other
        return replace(typical, low=_fewer(self.low, other.low), high=most(self.high, other.high))


def _fewer(one: Pairs | None, other: Pairs | None) -> Pairs | None:
    return other if one is None else one if other is None else fewest(one, other)


@dataclass(frozen=True, kw_only=True)
class Ways:
    """`weights`: pairs that a node makes. `failing`: call node -> the truth of its result that says it failed.
    `openers`: those of them that make their pair only when they succeed. `optional`: user pointers that may be absent.
    `values`: what the returns give back, as written."""

    flow: Flow
    weights: Mapping[int, Interval]
    failing: Mapping[int, bool]
    openers: frozenset[int]
    optional: frozenset[str]
    configuration: Configuration
    values: Mapping[int, str]
    order: tuple[int, ...] = field(init=False)
    back: frozenset[tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        order, back = _order(self.flow)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "back", back)

    def whole(self) -> Way:
        """From the entry to the exits; what stands in loops does not count."""
        walk = _Walk(self, loop=None)
        found = walk.run(0)
        exits = [(node, best) for node in found for best in found[node].values() if self._is_exit(node)]
        if not exits:
            return NO_WAY
        good = [best for node, best in exits if node not in self.error_exits]
        return walk.way(self._ranked(exits), low_of=good)

    def round(self, loop: int) -> tuple[Way, bool]:
        """Once round the loop, inner loops left out; and whether it may be left, all being well, before its condition
        ends it."""
        members = self.members(loop)
        head = min(members) - 1
        walk = _Walk(self, loop=loop)
        found = walk.run(head)
        rounds: list[_Best] = []
        exits: list[tuple[int, _Best]] = []
        for node in found:
            for edge in self.edges(node):
                if node == head or edge.is_fault:
                    continue
                bests = [walk.along(best, edge) for best in found[node].values()]
                if edge.target == head:
                    rounds += bests
                elif edge.target not in members:
                    exits += [(node, best) for best in bests]
        if not rounds and not exits:
            return NO_WAY, False
        end = min((node for node, _ in exits), default=0)
        can_leave = any(node != end and best.low is not None for node, best in exits)
        chosen = rounds or [best for _, best in exits]
        return walk.way(chosen, low_of=chosen), can_leave

    def members(self, loop: int) -> frozenset[int]:
        return frozenset(i for i, node in enumerate(self.flow.nodes) if loop in node.loops)

    def edges(self, node: int) -> Iterator[Edge]:
        """Those that the configuration allows."""
        for edge in self.flow.nodes[node].edges:
            if edge.guard is None or self._may_hold(edge.guard):
                yield edge

    def _may_hold(self, guard: Guard) -> bool:
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

    def _is_exit(self, node: int) -> bool:
        return isinstance(self.flow.nodes[node].action, Return) or node == self.flow.end

    def is_doomed(self, node: int) -> bool:
        """Every way on from here ends in an error."""
        return bool(self._reached.get(node)) and self._reached[node] <= self.error_exits

    def _ranked(self, exits: list[tuple[int, _Best]]) -> list[_Best]:
        errors = self.error_exits
        good = sorted({node for node, _ in exits if node not in errors}, key=self._position, reverse=True)
        early = {node: index for index, node in enumerate(good)}
        return [
            replace(best, rank=(best.rank[0], int(node in errors), best.rank[2], early.get(node, 0), *best.rank[4:]))
            for node, best in exits
        ]

    def _position(self, node: int) -> tuple[int, int]:
        action = self.flow.nodes[node].action
        return (action.offset, node) if isinstance(action, Return) else (1 << 60, node)

    @cached_property
    def _reached(self) -> dict[int, frozenset[int]]:
        """The exits that can be reached from each node."""
        found: dict[int, frozenset[int]] = {}
        for node in reversed(self.order):
            ahead = frozenset().union(*(found.get(edge.target, frozenset()) for edge in self.forward(node)))
            found[node] = ahead | {node} if self._is_exit(node) else ahead
        return found

    @cached_property
    def error_exits(self) -> frozenset[int]:
        """Returns of an error code, and those to which a failure leads and to nothing else; not all of them."""
        exits = {node for node in self.order if self._is_exit(node)}
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


class _Walk:
    """Forward over the flow without its back edges, with what is known of conditions that are tested more than once."""

    def __init__(self, ways: Ways, loop: int | None) -> None:
        self._ways = ways
        self._loop = loop
        self._last_test = self._tests()
        self._names = {key: frozenset(_WORD.findall(key)) for key in self._last_test}
        self._ranges = self._suffixes()

    def run(self, start: int) -> dict[int, dict[Key, _Best]]:
        ways = self._ways
        members = ways.members(self._loop) if self._loop is not None else None
        first = _Best(NONE, NONE, NONE, (0, 0, 1, 0, 0, 0, 0), _Trail(start, None, None))
        entered: dict[int, dict[Key, _Best]] = {start: {(frozenset(), False): first}}
        left: dict[int, dict[Key, _Best]] = {}
        for at, node in enumerate(ways.order):
            states = entered.pop(node, None)
            if states is None:
                continue
            outgoing = self._through(node, states)
            left[node] = _by_key(outgoing)
            for edge in ways.forward(node):
                if members is not None and edge.target not in members:
                    continue
                for facts, best in outgoing:
                    passed = self._pass(edge, facts, at)
                    if passed is not None:
                        self._enter(entered.setdefault(edge.target, {}), passed, self.along(best, edge))
        return left

    def along(self, best: _Best, edge: Edge) -> _Best:
        failures, error, nothing, early, absent, off, pairs = best.rank
        guard = edge.guard
        failures += self._ways.is_failure(edge)
        if guard is not None and guard.key:
            absent += guard.key in self._ways.optional and not guard.truth
            off += _options_off(guard)
        return replace(
            best,
            low=best.low if failures == best.rank[0] else None,
            rank=(failures, error, nothing, early, absent, off, pairs),
            trail=_Trail(edge.target, edge, best.trail),
        )

    def way(self, ends: list[_Best], low_of: list[_Best]) -> Way:
        """The typical of these ends; the fewest pairs are those of `low_of`."""
        typical = min(ends, key=lambda best: best.rank)
        low, high = None, typical.high
        for best in low_of:
            low = _fewer(low, best.low)
        for best in ends:
            high = most(high, best.high)
        nodes: set[int] = set()
        guards: list[str] = []
        trail: _Trail | None = typical.trail
        while trail is not None:
            nodes.add(trail.node)
            if trail.before is not None and trail.edge is not None and self._matters(trail.before.node):
                guards.append(self.guard_text(trail.edge.guard))
            trail = trail.before
        chosen = dict.fromkeys(text for text in reversed(guards) if text)
        pairs = Interval(low=typical.typ if low is None else low, typ=typical.typ, high=high)
        return Way(pairs=pairs, nodes=frozenset(nodes), guards=tuple(chosen))

    def guard_text(self, guard: Guard | None) -> str:
        return guard_text(self._ways.flow, guard)

    def _counts(self, node: int) -> Interval:
        loops = self._ways.flow.nodes[node].loops
        innermost = loops[-1] if loops else None
        return self._ways.weights.get(node, NOTHING) if innermost == self._loop else NOTHING

    def _through(self, node: int, states: dict[Key, _Best]) -> list[tuple[Facts, _Best]]:
        """The states behind the node; for an opener that may fail, one for each result."""
        weight = self._counts(node)
        action = self._ways.flow.nodes[node].action
        found: list[tuple[Facts, _Best]] = []
        for (facts, _), best in states.items():
            if isinstance(action, Call) and action.addresses:
                facts = self._forget(facts, frozenset(action.addresses))
            elif isinstance(action, Assign):
                facts = self._assign(action, facts)
            counted = replace(
                best,
                low=None if best.low is None else best.low + weight.low,
                high=best.high + weight.high,
                typ=best.typ + weight.typ,
                rank=_ranked(best.rank, weight.typ.total),
            )
            if node not in self._ways.openers:
                found.append((facts, counted))
                continue
            failed = self._ways.failing[node]
            key = f"@call{node}"
            found.append((facts | {(key, not failed)}, counted))
            lost = replace(best, low=None, rank=(best.rank[0] + 1, *best.rank[1:]))
            found.append((facts | {(key, failed)}, lost))
        return found

    def _assign(self, action: Assign, facts: Facts) -> Facts:
        inherited = action.truth
        source = f"@call{action.call}" if action.call is not None else action.copy_of
        if inherited is None and source is not None:
            inherited = next((truth for key, truth in facts if key == source), None)
        facts = self._forget(facts, frozenset({action.target}))
        return (
            facts | {(action.target, inherited)}
            if inherited is not None and action.target in self._last_test
            else facts
        )

    def _forget(self, facts: Facts, targets: frozenset[str]) -> Facts:
        if not facts:
            return facts
        return frozenset(
            fact
            for fact in facts
            if fact[0].startswith("@call")
            or not any(t in self._names.get(fact[0], ()) or (t in fact[0] and not t.isidentifier()) for t in targets)
        )

    def _pass(self, edge: Edge, facts: Facts, at: int) -> Facts | None:
        guard = edge.guard
        if guard is not None:
            key = f"@call{guard.call}" if guard.call is not None else guard.key
            if (key, not guard.truth) in facts:
                return None
            if key in self._last_test and not key.startswith("#if"):
                facts = facts | {(key, guard.truth)}
        return frozenset(fact for fact in facts if self._last_test.get(fact[0], -1) > at)

    @staticmethod
    def _enter(states: dict[Key, _Best], facts: Facts, best: _Best) -> None:
        key = (facts, best.rank[2] == 0)
        if key not in states and len(states) >= MAX_STATES_PER_NODE:
            key = (frozenset(), key[1])  # the bounds stay right, they only become wider
        states[key] = states[key].merged(best) if key in states else best

    def _tests(self) -> dict[str, int]:
        """Conditions that are worth remembering, with the place in the order of the last test of each."""
        seen: dict[str, set[int]] = {}
        assigned: set[str] = set()
        flow = self._ways.flow
        for at, node in enumerate(self._ways.order):
            action = flow.nodes[node].action
            if isinstance(action, Assign) and (action.truth is not None or action.call in self._ways.openers):
                assigned.add(action.target)
            for edge in flow.nodes[node].edges:
                if edge.guard is not None:
                    key = f"@call{edge.guard.call}" if edge.guard.call is not None else edge.guard.key
                    seen.setdefault(key, set()).add(at)
        for action in (node.action for node in flow.nodes):
            if isinstance(action, Assign) and action.call in self._ways.openers and action.target in seen:
                seen.setdefault(f"@call{action.call}", set()).update(seen[action.target])
        wanted = {f"@call{node}" for node in self._ways.openers}
        return {
            key: max(places)
            for key, places in seen.items()
            if len(places) > 1 or key in assigned or key in wanted or key.startswith("@call")
        }

    def _suffixes(self) -> dict[int, tuple[int, int]]:
        """The fewest and the most pairs from a node on, conditions aside."""
        found: dict[int, tuple[int, int]] = {}
        for node in reversed(self._ways.order):
            ahead = [found[e.target] for e in self._ways.forward(node) if e.target in found]
            weight = self._counts(node)
            low = min((pair[0] for pair in ahead), default=0) + weight.low.total
            found[node] = (low, max((pair[1] for pair in ahead), default=0) + weight.high.total)
        return found

    def _matters(self, node: int) -> bool:
        """Whether another choice than a failure would have come to other pairs."""
        edges = self._ways.choices(node)
        return len({self._ranges.get(edge.target, (0, 0)) for edge in edges}) > 1


def _by_key(states: list[tuple[Facts, _Best]]) -> dict[Key, _Best]:
    found: dict[Key, _Best] = {}
    for facts, best in states:
        key = (facts, best.rank[2] == 0)
        found[key] = found[key].merged(best) if key in found else best
    return found


def _ranked(rank: Rank, pairs: int) -> Rank:
    """With these pairs on top."""
    failures, error, nothing, early, absent, off, before = rank
    return (failures, error, 0 if pairs else nothing, early, absent, off, before + pairs)


def _options_off(guard: Guard) -> int:
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
