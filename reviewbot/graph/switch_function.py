"""One #if variant of one function -> its tally."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from reviewbot.csyntax.brackets import split_arguments
from reviewbot.csyntax.flow import Call, Flow, Return
from reviewbot.csyntax.items import Item
from reviewbot.graph.configuration import Configuration
from reviewbot.graph.switch_counts import (
    CallStep,
    CountedPlace,
    Interval,
    LoopHead,
    LoopPairs,
    Tally,
    both,
    one_pair,
)
from reviewbot.graph.switch_loops import heads_of
from reviewbot.graph.switch_paths import Way, once_round, whole
from reviewbot.graph.switch_places import conditions_of
from reviewbot.graph.switch_ways import Ways
from reviewbot.patterns import regex
from reviewbot.rulebook.primitives import Direction, Effect, Primitive, Result
from reviewbot.values import dataclass

MAX_PLACES = 400
_USER_POINTER = regex(rb"__user\s*\*\s*(?:const\s+|restrict\s+)?(\w+)|__user\s*\*\s*,\s*(\w+)")
_RETURN = regex(rb"return\b\s*\(?([^;]*)")
_PARAMETER = regex(rb"([A-Za-z_]\w*)\s*$")
_SHUT = frozenset((Effect.OPEN, Effect.SCOPED, Effect.ACCESS, Effect.SAVE))


class Counter(Protocol):
    """What a function asks of the count that it is part of."""

    @property
    def is_outermost(self) -> bool:
        """Whether the function that was asked for is being read, and none that it calls."""

    def handed_on(self, path: str, item: Item) -> tuple[str, ...]:
        """Functions that access user memory and that the function names without calling them."""

    def primitive(self, call: Call, path: str) -> Primitive | None:
        """The primitive that the call is or stands for."""

    def direction(self, call: Call, primitive: Primitive) -> Direction:
        """The way in which it opens user access."""

    def of_callee(self, call: Call, path: str, configuration: Configuration) -> tuple[Tally | None, str]:
        """What the call makes (None: nothing that can be told), and why it was not looked for."""

    def line(self, path: str, offset: int) -> int:
        """The 1-based line of an offset."""

    def constant(self, text: str, path: str) -> int | None:
        """The value of a number, or of a macro that is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """Something at a node that makes pairs: a primitive, or a helper's tally."""

    call: Call
    primitive: Primitive | None
    direction: Direction
    tally: Tally | None

    @property
    def pairs(self) -> Interval:
        if self.tally is not None:
            return self.tally.pairs
        pair = one_pair(self.direction)
        return Interval(low=pair, typ=pair, high=pair)


class FunctionTally:
    """Counts one flow."""

    def __init__(
        self, counter: Counter, path: str, item: Item, flow: Flow, configuration: Configuration, absent: frozenset[str]
    ) -> None:
        self._counter = counter
        self._path = path
        self._item = item
        self._flow = flow
        self._configuration = configuration
        self._absent = absent
        self._gaps: dict[str, None] = {}
        self._indirect = 0

    def tally(self) -> Tally:
        events = dict(self._events())
        if self._counter.is_outermost:
            for name in self._counter.handed_on(self._path, self._item):
                self._gaps.setdefault(
                    f"{name}() accesses user memory and is handed on as a pointer; its calls are not seen"
                )
        if not events:
            return Tally(gaps=self._all_gaps() if self._counter.is_outermost else ())
        weights: dict[int, Interval] = {node: event.pairs for node, event in events.items()}
        ways = self._ways(events, weights)
        heads = heads_of(self._flow, self._path, self._counter.line, self._counter.constant)
        rounds = self._rounds(ways, weights, heads)
        entire = whole(ways)
        on_way = self._typical_nodes(entire, rounds)
        self._note_repeats(ways, events)
        return Tally(
            pairs=entire.pairs,
            loops=tuple(self._loops(events, heads, rounds, on_way)),
            places=tuple(self._places(ways, events, heads, on_way))[:MAX_PLACES],
            typical=tuple(dict.fromkeys((*entire.guards, *(g for way in rounds.values() for g in way.guards)))),
            gaps=self._all_gaps(),
        )

    def _events(self) -> Iterator[tuple[int, _Event]]:
        for index, node in enumerate(self._flow.nodes):
            call = node.action
            if not isinstance(call, Call):
                continue
            primitive = self._counter.primitive(call, self._path)
            if primitive is not None:
                if primitive.effect in _SHUT and primitive.switches > 0 and not call.closes_scope:
                    direction = self._counter.direction(call, primitive)
                    yield index, _Event(call=call, primitive=primitive, direction=direction, tally=None)
                continue
            tally, reason = self._counter.of_callee(call, self._path, self._configuration)
            if reason:
                self._gaps.setdefault(f"not followed: {reason}")
            if tally is not None:
                self._gaps.update(dict.fromkeys(tally.gaps))
                if not tally.is_nothing:
                    yield index, _Event(call=call, primitive=None, direction=Direction.READ_WRITE, tally=tally)
            self._indirect += not call.name

    def _ways(self, events: Mapping[int, _Event], weights: Mapping[int, Interval]) -> Ways:
        failing: dict[int, bool] = {}
        openers: set[int] = set()
        for index, node in enumerate(self._flow.nodes):
            call = node.action
            if not isinstance(call, Call):
                continue
            primitive = self._counter.primitive(call, self._path)
            if primitive is not None and primitive.result in (Result.STATUS, Result.ERROR):
                failing[index] = primitive.result is Result.ERROR
                if primitive.effect is Effect.OPEN and index in events and not call.is_discarded:
                    openers.add(index)
            elif index in events:
                failing[index] = True  # a helper that accesses user memory gives back 0 when it could
        return Ways(
            flow=self._flow,
            weights=weights,
            failing=failing,
            openers=frozenset(openers),
            optional=frozenset(
                name.decode() for groups in _USER_POINTER.findall(self._item.text) for name in groups if name
            ),
            configuration=self._configuration,
            values={
                index: self._returned(node.action)
                for index, node in enumerate(self._flow.nodes)
                if isinstance(node.action, Return)
            },
            absent=self._absent,
        )

    def _returned(self, action: Return) -> str:
        """The value as written, where the return stands in the function itself."""
        match = _RETURN.match(self._item.text, action.offset - self._item.start)
        return match.group(1).decode("utf-8", "replace").strip() if match is not None else action.key

    def _rounds(self, ways: Ways, weights: dict[int, Interval], heads: Mapping[int, LoopHead]) -> dict[int, Way]:
        """One round of each loop that makes pairs, inner ones first. Constant loops become pairs of their head."""
        found: dict[int, Way] = {}
        for loop in sorted(heads, reverse=True):
            members = ways.members(loop)
            if not any(node in weights for node in members) or not members:
                continue
            way, can_leave = once_round(ways, loop)
            if way.pairs.is_nothing and not way.nodes:
                continue
            found[loop] = way
            rounds = heads[loop].rounds
            if rounds is not None and rounds > 0:
                low = way.pairs.low if can_leave else way.pairs.low.times(rounds)
                whole = Interval(low=low, typ=way.pairs.typ.times(rounds), high=way.pairs.high.times(rounds))
                head = min(members) - 1
                weights[head] = weights.get(head, Interval()) + whole
        return found

    def _typical_nodes(self, whole: Way, rounds: Mapping[int, Way]) -> frozenset[int]:
        """The nodes of the typical way, into the loops that it comes by."""
        nodes = set(whole.nodes)
        for loop in sorted(rounds):
            members = [i for i, node in enumerate(self._flow.nodes) if loop in node.loops]
            if min(members) - 1 in nodes:
                nodes |= rounds[loop].nodes
        return frozenset(nodes)

    def _loops(
        self,
        events: Mapping[int, _Event],
        heads: Mapping[int, LoopHead],
        rounds: Mapping[int, Way],
        on_way: frozenset[int],
    ) -> Iterator[LoopPairs]:
        for loop, way in sorted(rounds.items()):
            outer = next(node.loops for node in self._flow.nodes if loop in node.loops)
            around = tuple(heads[each] for each in outer[: outer.index(loop) + 1])
            own = heads[loop].rounds is None
            if way.pairs.is_nothing or not own:
                continue
            is_typical = bool(way.nodes & on_way)
            yield LoopPairs(heads=_unknown(around), round=_scaled(way.pairs, around), is_typical=is_typical)
        for node, event in events.items():
            for inner in event.tally.loops if event.tally is not None else ():
                around = tuple(heads[each] for each in self._flow.nodes[node].loops if each in heads)
                yield LoopPairs(
                    heads=(*_unknown(around), *inner.heads),
                    round=_scaled(inner.round, around),
                    is_typical=inner.is_typical and node in on_way,
                )

    def _places(
        self, ways: Ways, events: Mapping[int, _Event], heads: Mapping[int, LoopHead], on_way: frozenset[int]
    ) -> Iterator[CountedPlace]:
        conditions = conditions_of(ways)
        for node, event in events.items():
            line = self._counter.line(self._path, event.call.offset)
            around = tuple(heads[each] for each in self._flow.nodes[node].loops if each in heads)
            if node not in conditions:
                continue  # the configuration rules it out
            condition = conditions[node]
            if event.primitive is not None:
                yield CountedPlace(
                    path=self._path,
                    line=line,
                    function=self._item.name,
                    primitive=event.call.name,
                    direction=event.direction,
                    is_block=event.primitive.effect is not Effect.ACCESS,
                    condition=condition,
                    loops=around,
                    is_typical=node in on_way,
                )
            elif event.tally is not None:
                step = CallStep(path=self._path, line=line, function=self._item.name, callee=event.call.name)
                for place in event.tally.places:
                    yield replace(
                        place,
                        condition=both(condition, place.condition),
                        loops=(*around, *place.loops),
                        via=(step, *place.via),
                        is_typical=place.is_typical and node in on_way,
                    )

    def _note_repeats(self, ways: Ways, events: Mapping[int, _Event]) -> None:
        """A jump back that is no loop statement may repeat what was counted once."""
        for source, target in sorted(ways.back):
            loops = {min(ways.members(loop)) - 1 for loop in self._flow.nodes[source].loops}
            if target not in loops and any(target <= node <= source for node in events):
                self._gaps.setdefault(f"{self._item.name}() may jump back and repeat accesses; they are counted once")

    def _all_gaps(self) -> tuple[str, ...]:
        gaps = [*self._gaps]
        gaps += [f"the text of {self._item.name}() was understood only in part"] if self._is_misread() else []
        if self._indirect:
            gaps.append(f"{self._item.name}() calls through pointers ({self._indirect}), which are not followed")
        return tuple(gaps)

    def _is_misread(self) -> bool:
        return any(not piece.is_in_arguments for piece in self._flow.misread)


def _unknown(heads: tuple[LoopHead, ...]) -> tuple[LoopHead, ...]:
    return tuple(head for head in heads if head.rounds is None)


def _scaled(pairs: Interval, heads: tuple[LoopHead, ...]) -> Interval:
    """Times the rounds of the constant loops around."""
    count = 1
    for head in heads:
        count *= head.rounds if head.rounds is not None else 1
    return Interval(low=pairs.low.times(count), typ=pairs.typ.times(count), high=pairs.high.times(count))


def absent_in(call: Call, item: Item) -> frozenset[str]:
    """The parameters of the function for which the call gives NULL."""
    head = item.text[: item.body - item.start]
    spans = split_arguments(head, head.find(b"(") + 1, head.rfind(b")"))
    return frozenset(
        match.group(1).decode()
        for argument, (start, end) in zip(call.arguments, spans, strict=False)
        if argument.text.strip() == b"NULL" and (match := _PARAMETER.search(head, start, end)) is not None
    )
