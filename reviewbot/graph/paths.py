"""Blocks as paths: in which state of user access each node of a function's flow can be reached.

A state is what is open, by whom, together with what is known of conditions, so that `if (!kbuf && !begin()) …; if
(!kbuf) end();` is read as its author meant it. What cannot be told apart any more is said (`is_exact` is False), not
guessed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace

from reviewbot.csyntax.flow import Assign, Call, Edge, Flow, Return
from reviewbot.rulebook.primitives import Direction, Effect, Primitive, Result
from reviewbot.values import dataclass

MAX_STATES_PER_NODE = 96
MAX_STEPS = 120_000
MAX_NESTING = 4

BY_CALLER = -1
"""The opener of a block that was open when the function was entered."""

Facts = frozenset[tuple[str, bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Access is open: `node` is the opener's node in the flow (BY_CALLER for the caller's), `name` its primitive."""

    node: int
    name: str
    direction: Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessState:
    """What is open here, what a save put aside, and which conditions are known. `under` are the blocks that were open
    when a nested one was opened, outermost first: their own ends come later, and are no mistake of their own.
    `is_shut` tells that the end of a nested one has closed the block that is open here."""

    open: Open | None
    under: tuple[Open, ...] = ()
    is_shut: bool = False
    saved: Open | None = None
    facts: Facts = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """`before` are the states in which each node is entered (empty: never reached). `exits` are (node, state) at each
    return and at the end. `is_exact` is False when the limits made states run together."""

    before: tuple[frozenset[AccessState], ...]
    exits: tuple[tuple[int, AccessState], ...]
    is_exact: bool

    def open_at(self, node: int) -> tuple[Open, ...]:
        """Every way in which access can be open when the node is entered, in a fixed order."""
        found = {state.open for state in self.before[node] if state.open is not None}
        return tuple(sorted(found, key=lambda o: (o.node, o.name)))

    def is_closed_at(self, node: int) -> bool:
        """Whether the node can be entered with access closed."""
        return any(state.open is None for state in self.before[node])


NetEffect = Callable[[Call], "Primitive | None"]
"""For a call that is no primitive: a Primitive that stands for what the callee does on the whole, or None for
nothing."""


DirectionOf = Callable[[Call, Primitive], Direction]
"""The direction that a call to an opener opens."""


def follow_paths(flow: Flow, primitive_of: NetEffect, entry: Open | None, direction_of: DirectionOf) -> Paths:
    """Run every path of `flow`, entered with access closed or (`entry`) opened by the caller."""
    walk = _Walk(flow, primitive_of, direction_of)
    found = walk.run(AccessState(open=entry))
    if found.is_exact or entry is not None or walk.has_switches:
        return found
    # where nothing opens or closes, no condition decides about access: only what can be reached at all is asked
    return _Walk(flow, primitive_of, direction_of, is_plain=True).run(AccessState(open=entry))


_SWITCHING = frozenset(Effect) - {Effect.ACCESS, Effect.NEUTRAL}


class _Walk:
    def __init__(
        self, flow: Flow, primitive_of: NetEffect, direction_of: DirectionOf, *, is_plain: bool = False
    ) -> None:
        self._flow = flow
        self._direction_of = direction_of
        self._primitives = [primitive_of(n.action) if isinstance(n.action, Call) else None for n in flow.nodes]
        self.has_switches = any(p is not None and p.effect in _SWITCHING for p in self._primitives)
        self._tracked = frozenset() if is_plain else _tracked_keys(flow, self._primitives)
        self._mentions = {key: frozenset(re.findall(r"[A-Za-z_@]\w*", key)) for key in self._tracked}
        self._live = _live_keys(flow, self._tracked, self._is_about)
        self._before: list[set[AccessState]] = [set() for _ in flow.nodes]
        self._widened: set[int] = set()
        self._exits: set[tuple[int, AccessState]] = set()
        self._is_exact = True

    def run(self, entry: AccessState) -> Paths:
        queue: deque[tuple[int, AccessState]] = deque()
        self._enter(0, entry, queue)
        steps = 0
        while queue:
            steps += 1
            if steps > MAX_STEPS:
                self._is_exact = False
                break
            node, state = queue.popleft()
            if state in self._before[node]:
                for target, after in self._leave(node, state):
                    self._enter(target, after, queue)
        exits = sorted(self._exits, key=lambda item: (item[0], _order(item[1])))
        return Paths(
            before=tuple(frozenset(states) for states in self._before), exits=tuple(exits), is_exact=self._is_exact
        )

    def _enter(self, node: int, state: AccessState, queue: deque[tuple[int, AccessState]]) -> None:
        states = self._before[node]
        kept = frozenset(fact for fact in state.facts if fact[0] in self._live[node])
        if len(kept) != len(state.facts):
            state = replace(state, facts=kept)
        if node in self._widened:
            state = _without_conditions(state)
        if state in states:
            return
        if len(states) >= MAX_STATES_PER_NODE and node not in self._widened:
            self._widened.add(node)
            self._is_exact = False
            merged = {_without_conditions(s) for s in (*states, state)}
            states.clear()
            states.update(merged)
            queue.extend((node, s) for s in sorted(merged, key=_order))
            return
        states.add(state)
        queue.append((node, state))

    def _leave(self, node: int, state: AccessState) -> Iterable[tuple[int, AccessState]]:
        current = self._flow.nodes[node]
        action = current.action
        if isinstance(action, Return):
            self._exits.add((node, state))
            return
        afters = [state]
        if isinstance(action, Call):
            afters = self._call(node, action, state)
        elif isinstance(action, Assign):
            afters = [self._assign(action, state)]
        if node == self._flow.end:
            self._exits.add((node, state))
        for after in afters:
            for edge in current.edges:
                # A fault leaves an unsafe access with the block still open, as any other path does.
                passed = self._pass(edge, state if edge.is_fault else after)
                if passed is not None:
                    yield edge.target, passed

    def _pass(self, edge: Edge, state: AccessState) -> AccessState | None:
        guard = edge.guard
        if guard is None:
            return state
        key = f"@call{guard.call}" if guard.call is not None else guard.key
        if (key, not guard.truth) in state.facts:
            return None
        if key in self._tracked and (key, guard.truth) not in state.facts:
            return replace(state, facts=state.facts | {(key, guard.truth)})
        return state

    def _call(self, node: int, call: Call, state: AccessState) -> list[AccessState]:
        state = self._forget_addresses(call, state)
        primitive = self._primitives[node]
        if primitive is None:
            return [state]
        effect = primitive.effect
        if call.closes_scope or effect is Effect.CLOSE:
            outer = state.under[-1] if state.under else None
            return [replace(state, open=outer, under=state.under[:-1], is_shut=outer is not None)]
        if effect in (Effect.OPEN, Effect.SCOPED):
            opened = self._opened(node, call, primitive, state)
            if primitive.result not in (Result.STATUS, Result.ERROR) or call.is_discarded or effect is Effect.SCOPED:
                return [opened]
            key = f"@call{node}"
            is_true_when_open = primitive.result is Result.STATUS
            kept = frozenset(fact for fact in state.facts if fact[0] != key)
            return [
                replace(opened, facts=kept | {(key, is_true_when_open)}),
                replace(state, facts=kept | {(key, not is_true_when_open)}),
            ]
        if effect is Effect.SAVE:
            return [replace(state, open=None, saved=state.open, is_shut=False)]
        if effect is Effect.RESTORE:
            return [replace(state, open=state.saved, saved=None)]
        return [state]

    def _opened(self, node: int, call: Call, primitive: Primitive, state: AccessState) -> AccessState:
        block = Open(node=node, name=primitive.name, direction=self._direction_of(call, primitive))
        under = state.under
        if state.open is not None and len(under) < MAX_NESTING and state.open.node != node:
            under = (*under, state.open)
        return replace(state, open=block, under=under, is_shut=False)

    def _forget_addresses(self, call: Call, state: AccessState) -> AccessState:
        if not call.addresses or not state.facts:
            return state
        return self._forget(state, frozenset(call.addresses))

    def _forget(self, state: AccessState, targets: frozenset[str]) -> AccessState:
        kept = frozenset(fact for fact in state.facts if not self._is_about(fact[0], targets))
        return replace(state, facts=kept) if len(kept) != len(state.facts) else state

    def _is_about(self, key: str, targets: frozenset[str]) -> bool:
        return any(
            target in self._mentions.get(key, ()) or (target in key and not target.isidentifier()) for target in targets
        )

    def _assign(self, action: Assign, state: AccessState) -> AccessState:
        inherited: bool | None = action.truth
        if action.call is not None:
            inherited = _known(state.facts, f"@call{action.call}")
        elif action.copy_of is not None and inherited is None:
            inherited = _known(state.facts, action.copy_of)
        state = self._forget(state, frozenset({action.target}))
        if inherited is not None and action.target in self._tracked:
            return replace(state, facts=state.facts | {(action.target, inherited)})
        return state


def _without_conditions(state: AccessState) -> AccessState:
    """What remains where there are too many states: whether each opener succeeded, and no other condition."""
    return replace(state, facts=frozenset(fact for fact in state.facts if fact[0].startswith("@")))


def _known(facts: Facts, key: str) -> bool | None:
    return True if (key, True) in facts else False if (key, False) in facts else None


def _tracked_keys(flow: Flow, primitives: list[Primitive | None]) -> frozenset[str]:
    """Conditions worth remembering: tested at two places that decide about access, or tested after they were set."""
    tested: dict[str, set[int]] = {}
    for index in _deciding(flow, primitives):
        for edge in flow.nodes[index].edges:
            if edge.guard is not None and edge.guard.key:
                tested.setdefault(edge.guard.key, set()).add(index)
    tracked = {key for key, places in tested.items() if len(places) > 1}
    for node in flow.nodes:
        if isinstance(node.action, Assign):
            action = node.action
            is_known = action.truth is not None or action.call is not None or (action.copy_of or "").startswith("@")
            if action.target.startswith("@") or (action.target in tested and is_known):
                tracked.add(action.target)
    openers = (i for i, p in enumerate(primitives) if p is not None and p.effect is Effect.OPEN)
    return frozenset(tracked | {f"@call{i}" for i in openers})


def _deciding(flow: Flow, primitives: list[Primitive | None]) -> list[int]:
    """The branches that lead to different accesses, openers, closers or exits: the others decide nothing here."""
    targets = [tuple(edge.target for edge in node.edges) for node in flow.nodes]
    before: list[set[int]] = [set() for _ in flow.nodes]
    for index, onward in enumerate(targets):
        for target in onward:
            before[target].add(index)

    def matters(index: int) -> bool:
        primitive = primitives[index]
        is_switch = primitive is not None and primitive.effect not in (Effect.ACCESS, Effect.NEUTRAL)
        return is_switch or isinstance(flow.nodes[index].action, Return) or index == flow.end

    # the nodes that matter and are met first from each node on, one bit for each
    ahead = [1 << index if matters(index) else 0 for index in range(len(flow.nodes))]
    is_fixed = [bool(bits) for bits in ahead]
    queue = deque(range(len(flow.nodes) - 1, -1, -1))
    waiting = set(queue)  # a switch with 10,000 cases is looked at once after them, not after each
    while queue:
        index = queue.popleft()
        waiting.discard(index)
        if is_fixed[index]:
            continue
        reached = 0
        for target in targets[index]:
            reached |= ahead[target]
        if reached != ahead[index]:
            ahead[index] = reached
            new = before[index] - waiting
            queue.extend(new)
            waiting |= new
    return [
        index
        for index, node in enumerate(flow.nodes)
        if len(targets[index]) > 1 and len({ahead[edge.target] for edge in node.edges if not edge.is_fault}) > 1
    ]


def _live_keys(
    flow: Flow, tracked: frozenset[str], is_about: Callable[[str, frozenset[str]], bool]
) -> list[frozenset[str]]:
    """For each node the tracked conditions that some way onward still tests before they are set anew."""
    live: list[frozenset[str]] = [frozenset() for _ in flow.nodes]
    if not tracked:
        return live
    before: list[set[int]] = [set() for _ in flow.nodes]
    for index, node in enumerate(flow.nodes):
        for edge in node.edges:
            before[edge.target].add(index)
    queue = deque(range(len(flow.nodes) - 1, -1, -1))
    waiting = set(queue)
    while queue:
        index = queue.popleft()
        waiting.discard(index)
        node = flow.nodes[index]
        onward: set[str] = set()
        for edge in node.edges:
            onward |= live[edge.target]
            if edge.guard is not None:
                key = f"@call{edge.guard.call}" if edge.guard.call is not None else edge.guard.key
                if key in tracked:
                    onward.add(key)
        action = node.action
        if isinstance(action, Return):
            onward |= {key for key in (action.key, f"@call{action.call}") if key in tracked}
        if isinstance(action, Assign):
            gone = frozenset({action.target})
            needed = {
                key for key in (action.copy_of, f"@call{action.call}") if action.target in onward and key in tracked
            }
            onward = {key for key in onward if not is_about(key, gone)} | {key for key in needed if key is not None}
        found = frozenset(onward)
        if found != live[index]:
            live[index] = found
            new = before[index] - waiting
            queue.extend(new)
            waiting |= new
    return live


def _order(state: AccessState) -> tuple[int, str, list[tuple[str, bool]]]:
    opened = state.open
    return (
        opened.node if opened else -2,
        f"{opened.name if opened else ''}{len(state.under)}{state.is_shut}",
        sorted(state.facts),
    )
