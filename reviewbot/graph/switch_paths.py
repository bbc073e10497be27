"""The ways through one flow: the fewest, the most and the typical number of pairs on them.

Typical is the way on which no access faults and no opener or helper fails, that does not end in an error, on which user
memory is accessed at all and a user pointer that may be absent is there, that leaves the function at its last return,
with every CONFIG_ option on; where that still leaves a choice, the one with fewer pairs. The fewest are those of the
ways that end well.
"""

from __future__ import annotations

from dataclasses import replace

from reviewbot.csyntax.flow import Assign, Call, Edge, Return
from reviewbot.graph.switch_counts import NONE, NOTHING, Interval, Pairs, fewest, most
from reviewbot.graph.switch_ways import Ways, guard_text, options_off
from reviewbot.patterns import regex
from reviewbot.values import dataclass

MAX_STATES_PER_NODE = 64
_WORD = regex(r"[A-Za-z_]\w*")

Facts = frozenset[tuple[str, bool]]
Key = tuple[Facts, bool]
"""What is known, and whether a pair was made."""

Rank = tuple[int, int, int, int, int, int, int]
"""Failures, error exit, no pair, absent pointers, early exit, options that are off, pairs: the least is typical."""


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


def whole(ways: Ways) -> Way:
    """From the entry to the exits; what stands in loops does not count."""
    walk = _Walk(ways, loop=None)
    found = walk.run(0)
    exits = [(node, best) for node in found for best in found[node].values() if ways.is_exit(node)]
    if not exits:
        return NO_WAY
    good = [best for node, best in exits if node not in ways.error_exits]
    return walk.way(_ranked_exits(ways, exits), low_of=good)


def once_round(ways: Ways, loop: int) -> tuple[Way, bool]:
    """Once round the loop, inner loops left out; and whether it may be left, all being well, before its condition
    ends it."""
    members = ways.members(loop)
    head = min(members) - 1
    walk = _Walk(ways, loop=loop)
    found = walk.run(head)
    rounds: list[_Best] = []
    exits: list[tuple[int, _Best]] = []
    for node in found:
        for edge in ways.edges(node):
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


def _ranked_exits(ways: Ways, exits: list[tuple[int, _Best]]) -> list[_Best]:
    errors = ways.error_exits
    good = sorted(
        {node for node, _ in exits if node not in errors}, key=lambda node: _position(ways, node), reverse=True
    )
    early = {node: index for index, node in enumerate(good)}
    return [
        replace(best, rank=(best.rank[0], int(node in errors), *best.rank[2:4], early.get(node, 0), *best.rank[5:]))
        for node, best in exits
    ]


def _position(ways: Ways, node: int) -> tuple[int, int]:
    action = ways.flow.nodes[node].action
    return (action.offset, node) if isinstance(action, Return) else (1 << 60, node)


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
        failures, error, nothing, absent, early, off, pairs = best.rank
        guard = edge.guard
        failures += self._ways.is_failure(edge)
        if guard is not None and guard.key:
            absent += guard.key in self._ways.optional and not guard.truth
            off += options_off(guard)
        return replace(
            best,
            low=best.low if failures == best.rank[0] else None,
            rank=(failures, error, nothing, absent, early, off, pairs),
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
                guards.append(guard_text(self._ways.flow, trail.edge.guard))
            trail = trail.before
        chosen = dict.fromkeys(text for text in reversed(guards) if text)
        pairs = Interval(low=typical.typ if low is None else low, typ=typical.typ, high=high)
        return Way(pairs=pairs, nodes=frozenset(nodes), guards=tuple(chosen))

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
    failures, error, nothing, absent, early, off, before = rank
    return (failures, error, 0 if pairs else nothing, absent, early, off, before + pairs)
