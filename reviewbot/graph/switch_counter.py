"""Functions of a tree -> how many pairs one call makes: own accesses and blocks, and those of everything it calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from reviewbot.csyntax.conditions import conditions_at
from reviewbot.csyntax.definition import Definition
from reviewbot.csyntax.flow import Call, Flow, Return
from reviewbot.csyntax.flow_graph import FlowTooLargeError
from reviewbot.csyntax.function_flow import read_flow
from reviewbot.csyntax.items import Item, function_at
from reviewbot.csyntax.lexing import blank_comments
from reviewbot.csyntax.variants import condition_of, split_variants
from reviewbot.graph.code import MAX_FUNCTION_BYTES, CodeReader
from reviewbot.graph.configuration import Configuration
from reviewbot.graph.meaning import NameMeaning
from reviewbot.graph.switch_callees import Accessors
from reviewbot.graph.switch_counts import (
    CallStep,
    CountedPlace,
    Interval,
    LoopHead,
    LoopPairs,
    Tally,
    both,
    either,
    one_pair,
)
from reviewbot.graph.switch_loops import heads_of
from reviewbot.graph.switch_paths import Way, Ways
from reviewbot.graph.switch_places import conditions_of
from reviewbot.rulebook.primitives import Direction, Effect, Primitive, Result

MAX_DEPTH = 12
MAX_FUNCTIONS = 400
MAX_PLACES = 400
_USER_POINTER = re.compile(rb"__user\s*\*\s*(?:const\s+|restrict\s+)?(\w+)|__user\s*\*\s*,\s*(\w+)")
_RETURN = re.compile(rb"return\b\s*\(?([^;]*)")
_SHUT = frozenset((Effect.OPEN, Effect.SCOPED, Effect.ACCESS, Effect.SAVE))


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


class SwitchCounter:
    """Counts for code of one architecture in one configuration; what it learns of a tree serves every function."""

    def __init__(
        self, reader: CodeReader, arch: str | None, directory: str, configuration: Configuration | None = None
    ) -> None:
        self._reader = reader
        self._arch = arch
        self._configuration = configuration or Configuration()
        self._accessors = Accessors(reader, arch, directory)
        self._known: dict[tuple[str, int, Configuration], Tally] = {}
        self._active: set[tuple[str, int]] = set()
        self._cut: set[tuple[str, int]] = set()
        self.functions_read = 0

    def tally(self, path: str, item: Item) -> Tally:
        """What one call of the function switches."""
        return self._tally(path, item, self._configuration)

    def _tally(self, path: str, item: Item, configuration: Configuration) -> Tally:
        key = (path, item.start, configuration)
        if key in self._known:
            return self._known[key]
        place = key[:2]
        if place in self._active:
            return Tally(gaps=(f"{item.name}() calls itself; only one call of it is counted",))
        if len(self._active) >= MAX_DEPTH:
            return Tally(gaps=(f"{item.name}() is more than {MAX_DEPTH} calls away and is not counted",))
        if self.functions_read >= MAX_FUNCTIONS:
            return Tally(gaps=(f"more than {MAX_FUNCTIONS} functions are called; the others are not counted",))
        if len(item.text) > MAX_FUNCTION_BYTES:
            return Tally(gaps=(f"{item.name}() is longer than {MAX_FUNCTION_BYTES} bytes and is not counted",))
        self.functions_read += 1
        self._active.add(place)
        found = self._read(path, item, configuration)
        self._active.discard(place)
        self._known[key] = found
        return found

    def _read(self, path: str, item: Item, configuration: Configuration) -> Tally:
        reader = self._reader
        data = reader.data(path)
        meaning = NameMeaning(reader.book, reader.symbols, data, path, self._arch, follow_headers=True)
        around = conditions_at(data, item.body)
        flows: list[tuple[Flow, tuple[tuple[str, bool], ...]]] = []
        for variant in split_variants(blank_comments(data[item.body : item.end]), around):
            if configuration.allows(variant.conditions):
                try:
                    flows.append((read_flow(variant.text, item.body, meaning), variant.conditions))
                except (FlowTooLargeError, RecursionError):
                    return Tally(gaps=(f"{item.name}(), with the macros in it, is too large to count",))
        self._prefetch(path, flows)
        tallies = [
            _Function(self, path, item, flow, configuration.assuming(conditions)).tally() for flow, conditions in flows
        ]
        return _merge(tallies, [conditions for _, conditions in flows])

    def _prefetch(self, path: str, flows: list[tuple[Flow, tuple[tuple[str, bool], ...]]]) -> None:
        names = {
            node.action.name
            for flow, _ in flows
            for node in flow.nodes
            if isinstance(node.action, Call) and self.may_count(node.action)
        }
        self._accessors.prefetch(names, path)

    @property
    def is_outermost(self) -> bool:
        """Whether the function that was asked for is being read, and none that it calls."""
        return len(self._active) == 1

    def may_count(self, call: Call) -> bool:
        """Whether the callee is worth a look: it has a name, and is none that is known to make no access."""
        words = self._reader.book.words
        name = call.name
        return (
            bool(name)
            and not call.closes_scope
            and not name.startswith("__builtin_")
            and name not in words.builtins
            and name not in words.safe_macros
            and name not in words.sleeping
            and name not in words.noreturn
            and self._reader.book.primitive(name, self._arch) is None
        )

    def primitive(self, call: Call, path: str) -> Primitive | None:
        found = self._reader.book.primitive(call.name, self._arch) if call.name else None
        if found is None and call.name and self.may_count(call):
            wrapper = self._reader.net_effect(call.name, path, self._arch)
            return replace(wrapper, switches=1) if wrapper is not None else None
        return found

    def direction(self, call: Call, primitive: Primitive) -> Direction:
        return self._reader.direction_reader(self._arch)(call, primitive)

    def of_callee(self, call: Call, path: str, configuration: Configuration) -> tuple[Tally | None, str]:
        """What the call makes (None: nothing that can be told), and why it was not looked for."""
        if not self.may_count(call):
            return None, ""
        bodies = self._accessors.bodies(call.name, path)
        found: list[tuple[Tally, str]] = []
        for definition in bodies.definitions:
            if any(configuration.truth(each) is False for each in definition.conditions):
                continue
            condition = " && ".join(each for each in definition.conditions if configuration.truth(each) is None)
            item = self._item(definition)
            if item is not None:
                inner = configuration.assuming((each, True) for each in definition.conditions)
                found.append((self._tally(definition.path, item, inner), condition))
        if not found:
            return None, bodies.reason
        usual = min(range(len(found)), key=lambda index: found[index][1].count("!"))
        return either(found, usual), ""

    def _item(self, definition: Definition) -> Item | None:
        return function_at(self._reader.data(definition.path), definition.start + len(definition.text) - 1)

    def line(self, path: str, offset: int) -> int:
        return self._reader.lines(path).line(offset)

    def constant(self, text: str, path: str) -> int | None:
        """The value of a number, or of a macro that is one."""
        for _ in range(4):
            text = text.strip().strip("()").strip()
            if re.fullmatch(r"\d+", text):
                return int(text)
            if not text.isidentifier():
                return None
            bodies = {
                definition.text.partition(text.encode())[2].partition(b"/*")[0].strip()
                for definition in self._reader.symbols.macros(text, path, self._arch)
            }
            if len(bodies) != 1:
                return None
            text = bodies.pop().decode("utf-8", "replace")
        return None


class _Function:
    """One #if variant of one function."""

    def __init__(self, counter: SwitchCounter, path: str, item: Item, flow: Flow, configuration: Configuration) -> None:
        self._counter = counter
        self._path = path
        self._item = item
        self._flow = flow
        self._configuration = configuration
        self._gaps: dict[str, None] = {}
        self._indirect = 0

    def tally(self) -> Tally:
        events = dict(self._events())
        if not events:
            return Tally(gaps=self._all_gaps() if self._counter.is_outermost else ())
        weights: dict[int, Interval] = {node: event.pairs for node, event in events.items()}
        ways = self._ways(events, weights)
        heads = heads_of(self._flow, self._path, self._counter.line, self._counter.constant)
        rounds = self._rounds(ways, weights, heads)
        whole = ways.whole()
        on_way = self._typical_nodes(whole, rounds)
        self._note_repeats(ways, events)
        return Tally(
            pairs=whole.pairs,
            loops=tuple(self._loops(events, heads, rounds, on_way)),
            places=tuple(self._places(ways, events, heads, on_way))[:MAX_PLACES],
            typical=tuple(dict.fromkeys((*whole.guards, *(g for way in rounds.values() for g in way.guards)))),
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
            way, can_leave = ways.round(loop)
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


def _merge(tallies: list[Tally], conditions: list[tuple[tuple[str, bool], ...]]) -> Tally:
    """The #if variants of one function; typical is the one with the most options on."""
    if not tallies:
        return Tally()
    typical = max(range(len(tallies)), key=lambda index: (sum(truth for _, truth in conditions[index]), -index))
    merged = either([(tally, "") for tally in tallies], typical)
    return replace(merged, places=tuple(_joined(tallies, conditions, typical)), loops=_distinct(tallies, typical))


def _distinct(tallies: list[Tally], typical: int) -> tuple[LoopPairs, ...]:
    found: dict[tuple[LoopHead, ...], LoopPairs] = {each.heads: each for each in tallies[typical].loops}
    for tally in tallies:
        for each in tally.loops:
            found.setdefault(each.heads, replace(each, is_typical=False))
    return tuple(found.values())


def _joined(
    tallies: list[Tally], conditions: list[tuple[tuple[str, bool], ...]], typical: int
) -> Iterator[CountedPlace]:
    """Each place once, with the #if under which it is there."""
    found: dict[tuple[object, ...], tuple[CountedPlace, list[int]]] = {}
    for index in sorted(range(len(tallies)), key=lambda each: each != typical):
        seen: dict[tuple[object, ...], int] = {}
        for place in tallies[index].places:
            base = (place.path, place.line, place.primitive, place.via)
            seen[base] = seen.get(base, 0) + 1
            found.setdefault((*base, seen[base]), (place, []))[1].append(index)
    for place, present in found.values():
        absent = [each for index, each in enumerate(conditions) if index not in present]
        condition = condition_of([conditions[index] for index in present], absent) or ""
        is_typical = place.is_typical and typical in present
        yield replace(place, condition=both(condition, place.condition), is_typical=is_typical)
