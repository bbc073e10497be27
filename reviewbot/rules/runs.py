"""Runs of pairs that one block could replace: accesses to one object that have a form for a block, one after another,
with nothing forbidden on any way from one to the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from reviewbot.csyntax.flow import Assembly, Assign, Call, Loop, Return
from reviewbot.csyntax.macros import Argument
from reviewbot.patterns import regex
from reviewbot.rulebook.primitives import Direction, Effect, Primitive
from reviewbot.rules.context import Context
from reviewbot.rules.outcomes import after_success, is_waiting, values_of
from reviewbot.rules.pair_helpers import HelperPairs, base_of, fits_block, pairs_of_helper
from reviewbot.rules.quiet import is_harmless, is_quiet, may_jump
from reviewbot.values import dataclass

_ROOT = regex(r"[A-Za-z_]\w*")
_STATEMENT_ENDS = regex(rb"[;{}]")
_LOOP_WORDS = frozenset({"for", "while", "do"})
WORTH_RESOLVING = 3
"""From this many pairs on it is worth asking the tree what the calls between them are."""
MAX_WAYS = 2
"""A node with more ways out is a switch: what follows it is another case each time, not the next access."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An access (or a block, or a helper with `count` of them) at `node`; `ends` are the nodes behind which access is
    closed again."""

    node: int
    call: Call
    base: str
    direction: str
    ends: tuple[int, ...]
    count: int = 1
    helper: str = ""
    is_block: bool = False
    is_chained: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Pairs in the order of one path. `loop` is set when the run repeats in each iteration of it."""

    pairs: tuple[Pair, ...]
    base: str
    loop: Loop | None
    between: tuple[str, ...] = ()
    """Other objects that are accessed between the run's pairs."""


def find_runs(context: Context) -> Iterator[Run]:
    """Every run of two or more pairs, or of one that repeats in a loop."""
    pairs = {pair.node: pair for pair in _pairs(context)}
    if not _may_run(context, pairs):
        return
    likely = _Chains(context, pairs, lambda call: is_harmless(context.code, call.name) is not False)
    if not likely.is_anything(2):
        return
    pairs = {
        node: pair for node, pair in pairs.items() if pair.is_block or pair.helper or fits_block(context, pair.call)
    }
    if not _may_run(context, pairs):
        return
    likely = _Chains(context, pairs, lambda call: is_harmless(context.code, call.name) is not False)
    is_worth_it = likely.is_anything(WORTH_RESOLVING)

    def may_pass(call: Call) -> bool:
        known = is_harmless(context.code, call.name)
        if known is not None or not is_worth_it:
            return bool(known)
        return is_quiet(context.code, call.name) and not may_jump(context.code, call.name)

    yield from _Chains(context, pairs, may_pass).runs()


def _may_run(context: Context, pairs: dict[int, Pair]) -> bool:
    return len(pairs) > 1 or any(context.variant.flow.nodes[node].loops for node in pairs)


def _pairs(context: Context) -> Iterator[Pair]:
    flow, paths = context.variant.flow, context.variant.paths
    closers = [u.node for u in context.uses if u.primitive.effect is Effect.CLOSE or u.call.closes_scope]
    for index, node in enumerate(flow.nodes):
        call = node.action
        if not isinstance(call, Call) or call.closes_scope or not paths.before[index] or paths.open_at(index):
            continue
        primitive = context.code.primitive(call)
        if primitive is None:
            helped = pairs_of_helper(context, call)
            if helped is not None:
                yield _from_helper(index, call, helped, base_of(context.code, call.arguments[helped.argument]))
            continue
        if primitive.effect is Effect.ACCESS and primitive.switches > 0:
            ends: tuple[int, ...] = (index,)
        elif primitive.effect in (Effect.OPEN, Effect.SCOPED):
            ends = tuple(c for c in closers if any(o.node == index for o in paths.open_at(c)))
        else:
            continue
        pointer = _argument(call, primitive.pointer_arg)
        if pointer is not None and ends and primitive.direction is not Direction.READ_WRITE:
            yield Pair(
                node=index,
                call=call,
                base=base_of(context.code, pointer),
                direction=primitive.direction.value,
                ends=ends,
                is_block=primitive.effect is not Effect.ACCESS,
                is_chained=_is_chained(context, index),
            )


def _from_helper(index: int, call: Call, helped: HelperPairs, base: str) -> Pair:
    return Pair(
        node=index,
        call=call,
        base=base,
        direction=helped.direction,
        ends=(index,),
        count=helped.count,
        helper=call.name,
    )


def _argument(call: Call, index: int | None) -> Argument | None:
    if index is None or not -len(call.arguments) <= index < len(call.arguments):
        return None
    return call.arguments[index]


def _is_chained(context: Context, index: int) -> bool:
    """Whether the result is taken in by `err |= …`, and not merely followed by a step of something else."""
    nodes = context.variant.flow.nodes
    call = nodes[index].action
    following = [nodes[edge.target].action for edge in nodes[index].edges]
    steps = [action for action in following if isinstance(action, Assign) and action.is_step]
    return isinstance(call, Call) and any(_takes_in(context, step, call) for step in steps)


def _takes_in(context: Context, step: Assign, call: Call) -> bool:
    """Whether the target stands before the call in one statement; in a macro both stand at one place."""
    text = context.reader.data(context.code.path)[step.offset : call.offset]
    return step.offset <= call.offset and not _STATEMENT_ENDS.search(text)


class _Chains:
    """Which pair can directly follow which, when the calls between them that `may_pass` refuses stand in the way."""

    def __init__(self, context: Context, pairs: dict[int, Pair], may_pass: Callable[[Call], bool]) -> None:
        self._context = context
        self._pairs = pairs
        self._may_pass = may_pass
        self._passes: dict[int, bool] = {}
        self._next = {node: self._following(pair) for node, pair in pairs.items()}

    def is_anything(self, minimum: int) -> bool:
        """Whether some run has `minimum` pairs, joins blocks, or repeats in a loop."""
        return any(
            sum(pair.count for pair in run.pairs) >= minimum
            or run.loop is not None
            or any(p.is_block for p in run.pairs)
            for run in self.runs()
        )

    def runs(self) -> Iterator[Run]:
        """The longest chains, each pair in one of them."""
        used: set[int] = set()
        followed = {target for node, targets in self._next.items() for target in targets if target > node}
        for start in sorted(self._pairs, key=lambda node: (node in followed, node)):
            if start in used:
                continue
            chain = self._longest(start, frozenset(used), {})
            used.update(chain)
            used.update(self._reachable(start))
            loop = self._loop(chain)
            first = self._pairs[start]
            if len(chain) > 1 or (loop is not None and not first.helper):
                pairs = tuple(self._pairs[node] for node in chain)
                yield Run(pairs=pairs, base=first.base, loop=loop, between=self._between(pairs, loop))

    def _reads_pointers(self, chain: tuple[int, ...], loop: int) -> bool:
        """Whether another access of the loop goes where a pointer leads that these read: to any object in each
        round."""
        nodes = self._context.variant.flow.nodes
        bases = {pair.base for node, pair in self._pairs.items() if loop in nodes[node].loops and node not in chain}
        return not bases.isdisjoint(each for node in chain for each in values_of(self._context, nodes[node].action))

    def _between(self, pairs: tuple[Pair, ...], loop: Loop | None) -> tuple[str, ...]:
        """The other objects that one block would have to hold: between the pairs, and in the rest of their loop."""
        inside = {*range(pairs[0].node, pairs[-1].node), *(self._in_loop(loop) if loop is not None else ())}
        return tuple(sorted({p.base for node, p in self._pairs.items() if node in inside} - {pairs[0].base}))

    def _in_loop(self, loop: Loop) -> Iterator[int]:
        flow = self._context.variant.flow
        return (node for node in self._pairs if any(flow.loops[each] is loop for each in flow.nodes[node].loops))

    def _following(self, pair: Pair) -> frozenset[int]:
        """The pairs that can be next: forward, and back to the start of a loop."""
        forward = {target for target in self._next_on(pair, is_forward=True) if target > pair.node}
        if not self._context.variant.flow.nodes[pair.node].loops:
            return frozenset(forward)
        back = {target for target in self._next_on(pair, is_forward=False) if target <= pair.node}
        return frozenset(forward | back)

    def _next_on(self, pair: Pair, *, is_forward: bool) -> Iterator[int]:
        """The next pairs of the same object that nothing forbidden leads to: whatever way is taken from here, for one
        block would hold all of them."""
        nodes = self._context.variant.flow.nodes
        around = nodes[pair.node].loops
        before: dict[int, list[int]] = {}
        queue = deque(pair.ends)
        seen = set(pair.ends)
        targets: set[int] = set()
        while queue:
            index = queue.popleft()
            for edge in nodes[index].edges:
                if edge.target <= pair.node if is_forward else not self._stays_in(around, index, edge.target):
                    continue
                before.setdefault(edge.target, []).append(index)
                if edge.target in seen and edge.target not in pair.ends:
                    continue
                if self._is_same(edge.target, pair) and self._is_beside(edge.target, pair):
                    targets.add(edge.target)
                elif edge.target not in seen:
                    seen.add(edge.target)
                    queue.append(edge.target)
        succeeded = after_success(self._context, pair.node, is_chained=pair.is_chained) if targets else None
        for target in targets:
            if succeeded is not None and target not in succeeded:
                continue  # as the second of `put_user() && put_user()`, which runs when the first has failed
            known = self._context.variant.is_known_between(pair.call.offset, self._pairs[target].call.offset)
            if known and self._is_free(target, pair, before):
                yield target

    def _stays_in(self, loops: tuple[int, ...], index: int, target: int) -> bool:
        """Whether an edge stays in the innermost of the loops, or goes back to its head, which stands before it."""
        nodes = self._context.variant.flow.nodes
        if nodes[target].loops[: len(loops)] == loops:
            return True
        return target <= index and nodes[index].loops[: len(loops)] == loops and nodes[target].action is None

    def _is_free(self, target: int, pair: Pair, before: dict[int, list[int]]) -> bool:
        """Whether everything between the pair and the target may stand in a block."""
        queue = deque(before[target])
        seen: set[int] = set(queue)
        while queue:
            index = queue.popleft()
            if index in pair.ends:
                continue
            if not self._may_stand(index, pair):
                return False
            new = set(before.get(index, ())) - seen
            seen |= new
            queue.extend(new)
        return True

    def _is_same(self, index: int, pair: Pair) -> bool:
        other = self._pairs.get(index)
        return other is not None and other.base == pair.base and other.direction == pair.direction

    def _is_beside(self, index: int, pair: Pair) -> bool:
        """In the same loops, so that both run equally often."""
        nodes = self._context.variant.flow.nodes
        return nodes[index].loops == nodes[pair.node].loops

    def _may_stand(self, index: int, pair: Pair) -> bool:
        if len(self._context.variant.flow.nodes[index].edges) > MAX_WAYS:
            return False
        other = self._pairs.get(index)
        if other is None:
            return self._goes_on(index, pair)
        root = _ROOT.search(pair.base)
        if root is not None and root.group() in values_of(self._context, other.call):
            return False  # from there on the pointer leads elsewhere
        # another single access the same way may join the block, or move out of it
        is_single = not (other.is_block or other.helper) and other.direction == pair.direction
        return is_single and self._is_beside(index, pair)

    def _goes_on(self, index: int, pair: Pair) -> bool:
        action = self._context.variant.flow.nodes[index].action
        if isinstance(action, Return | Assembly):
            return False
        if isinstance(action, Assign):
            root = _ROOT.search(pair.base)
            return action.is_step or root is None or action.target != root.group()
        if isinstance(action, Call):
            if index not in self._passes:
                primitive = self._context.code.primitive(action)
                self._passes[index] = _is_neutral(primitive) if primitive is not None else self._may_pass(action)
            return self._passes[index]
        return True

    def _longest(self, node: int, used: frozenset[int], known: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
        """The chain from here on with the most pairs; back edges and pairs in use end it."""
        if node not in known:
            onward = [t for t in sorted(self._next[node]) if t > node and t not in used]
            best: tuple[int, ...] = ()
            for target in onward:
                chain = self._longest(target, used, known)
                if self._weight(chain) > self._weight(best):
                    best = chain
            known[node] = (node, *best)
        return known[node]

    def _weight(self, chain: tuple[int, ...]) -> int:
        return sum(self._pairs[node].count for node in chain)

    def _reachable(self, start: int) -> set[int]:
        seen: set[int] = set()
        queue = [start]
        while queue:
            node = queue.pop()
            for target in self._next[node]:
                if target not in seen:
                    seen.add(target)
                    queue.append(target)
        return seen

    def _loop(self, chain: tuple[int, ...]) -> Loop | None:
        """The innermost loop around all of the chain, if its end leads back to its start, and no macro that heads the
        loop calls anything."""
        nodes = self._context.variant.flow.nodes
        shared = set(nodes[chain[0]].loops).intersection(*(nodes[node].loops for node in chain))
        if not shared or not any(target <= chain[0] for target in self._next[chain[-1]] if target in chain):
            return None
        if is_waiting(self._context, max(shared), chain) or self._reads_pointers(chain, max(shared)):
            return None
        loop = self._context.variant.flow.loops[max(shared)]
        head = _ROOT.match(loop.text)
        hidden = head is not None and head.group() not in _LOOP_WORDS and not is_quiet(self._context.code, head.group())
        return None if hidden else loop


def _is_neutral(primitive: Primitive) -> bool:
    return primitive.effect is Effect.NEUTRAL
