"""Functions of a tree -> how many pairs one call makes: own accesses and blocks, and those of everything it calls."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from reviewbot.csyntax.conditions import conditions_at
from reviewbot.csyntax.definition import Definition
from reviewbot.csyntax.flow import Call, Flow
from reviewbot.csyntax.flow_graph import FlowTooLargeError
from reviewbot.csyntax.function_flow import read_flow
from reviewbot.csyntax.items import Item, function_at
from reviewbot.csyntax.lexing import blank_comments
from reviewbot.csyntax.variants import split_variants
from reviewbot.graph.code import CodeReader
from reviewbot.graph.configuration import Configuration
from reviewbot.graph.meaning import NameMeaning
from reviewbot.graph.switch_callees import Accessors
from reviewbot.graph.switch_counts import Tally, either
from reviewbot.graph.switch_function import FunctionTally, absent_in
from reviewbot.graph.switch_variants import merge
from reviewbot.patterns import regex
from reviewbot.rulebook.primitives import Direction, Primitive

_NAMED = regex(rb"(?<![\w.>])([A-Za-z_]\w*)\b(?!\s*\()")
MAX_DEPTH = 12
MAX_FUNCTIONS = 400


class SwitchCounter:
    """Counts for code of one architecture in one configuration; what it learns of a tree serves every function."""

    def __init__(
        self,
        reader: CodeReader,
        arch: str | None,
        directory: str,
        configuration: Configuration | None = None,
        max_searches: int | None = None,
    ) -> None:
        self._reader = reader
        self._arch = arch
        self._configuration = configuration or Configuration()
        self._accessors = Accessors(reader, arch, directory, max_searches)
        self._known: dict[tuple[str, int, Configuration, frozenset[str]], Tally] = {}
        self._active: set[tuple[str, int]] = set()
        self._cut: set[tuple[str, int]] = set()
        self.functions_read = 0

    @property
    def was_cut(self) -> bool:
        """Whether some callees were looked for in the own directory alone, because `max_searches` were made."""
        return self._accessors.was_cut

    def tally(self, path: str, item: Item) -> Tally:
        """What one call of the function switches."""
        self.prefetch([(path, item)])
        return self._tally(path, item, self._configuration, frozenset())

    def prefetch(self, functions: Iterable[tuple[str, Item]]) -> None:
        """Look for what these functions call in few searches of the tree; `tally` then needs hardly any."""
        self._accessors.prefetch_around([(path, item.text) for path, item in functions], self.is_worth_a_look)

    def names_around(self, functions: Iterable[tuple[str, Item]]) -> set[str]:
        """The names that `prefetch` will look for first."""
        return self._accessors.names_around([(path, item.text) for path, item in functions], self.is_worth_a_look)

    def _tally(self, path: str, item: Item, configuration: Configuration, absent: frozenset[str]) -> Tally:
        key = (path, item.start, configuration, absent)
        if key in self._known:
            return self._known[key]
        place = key[:2]
        if place in self._active:
            return Tally(gaps=(f"{item.name}() calls itself; only one call of it is counted",))
        if len(self._active) >= MAX_DEPTH:
            return Tally(gaps=(f"{item.name}() is more than {MAX_DEPTH} calls away and is not counted",))
        if self.functions_read >= MAX_FUNCTIONS:
            return Tally(gaps=(f"more than {MAX_FUNCTIONS} functions are called; the others are not counted",))
        if len(item.text) > (most := self._reader.book.limits.function_bytes):
            return Tally(gaps=(f"{item.name}() is longer than {most} bytes and is not counted",))
        self.functions_read += 1
        self._active.add(place)
        found = self._read(path, item, configuration, absent)
        self._active.discard(place)
        self._known[key] = found
        return found

    def _read(self, path: str, item: Item, configuration: Configuration, absent: frozenset[str]) -> Tally:
        reader = self._reader
        data = reader.data(path)
        meaning = NameMeaning(
            reader.book, reader.symbols, data, path, self._arch, follow_headers=True, function=item.text
        )
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
            FunctionTally(self, path, item, flow, configuration.assuming(conditions), absent).tally()
            for flow, conditions in flows
        ]
        return merge(tallies, [conditions for _, conditions in flows])

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

    def handed_on(self, path: str, item: Item) -> tuple[str, ...]:
        """Functions of the same file that access user memory and that the function names without calling them."""
        text = blank_comments(item.text[item.body - item.start :], literals=True)
        names = {match.group(1).decode() for match in _NAMED.finditer(text)}
        return tuple(name for name in sorted(names - {item.name}) if self._reader.is_accessor(name, path))

    def may_count(self, call: Call) -> bool:
        """Whether the callee is worth a look: it has a name, and is none that is known to make no access."""
        return bool(call.name) and not call.closes_scope and self.is_worth_a_look(call.name)

    def is_worth_a_look(self, name: str) -> bool:
        """Whether a function of that name may access user memory, for all that the rules know."""
        words = self._reader.book.words
        return (
            not name.startswith("__builtin_")
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
                found.append((self._tally(definition.path, item, inner, absent_in(call, item)), condition))
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
            if re.fullmatch(r"\d{1,18}", text):
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
