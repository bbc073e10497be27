"""Functions of a tree, read: every #if variant with its flow and the paths that access takes through it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from reviewbot.csyntax.conditions import conditions_at
from reviewbot.csyntax.definition import DefinitionKind
from reviewbot.csyntax.flow import Call, Flow
from reviewbot.csyntax.items import Item, function_at
from reviewbot.csyntax.lexing import LineIndex, code_of
from reviewbot.graph.directions import DirectionReader
from reviewbot.graph.flows import Flows, Unread, read_flows
from reviewbot.graph.meaning import NameMeaning
from reviewbot.graph.net_effect import NetEffects
from reviewbot.graph.paths import NetEffect, Open, Paths, follow_paths
from reviewbot.graph.primitive_words import PrimitiveWords, words_of
from reviewbot.graph.symbols import Symbols
from reviewbot.graph.uses import Uses, find_uses
from reviewbot.rulebook.book import Rulebook, arch_of
from reviewbot.rulebook.primitives import Effect, Primitive, Result
from reviewbot.source.tree import SourceTree
from reviewbot.values import dataclass

if TYPE_CHECKING:
    from reviewbot.csyntax.sizes import SizeResult


def _is_declaration(data: bytes, offset: int) -> bool:
    """The name stands in a prototype at the left edge, not in a macro or a table."""
    line = data[data.rfind(b"\n", 0, offset) + 1 : data.find(b"\n", offset)]
    return not line[:1].isspace() and not line.startswith(b"#") and b"=" not in line


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One choice of #if branches. `conditions` are (condition, truth); `paths` start with the entry state of the
    function. `no_blocks` are the nodes of openers whose effect is meant to outlast the function: what follows them is
    no block."""

    conditions: tuple[tuple[str, bool], ...]
    flow: Flow
    paths: Paths
    no_blocks: frozenset[int]
    stretches: tuple[tuple[int, int], ...] | None = None
    """Where lines of the function are not known: (start, end) in the file of each run of known lines."""

    def open_at(self, node: int) -> tuple[Open, ...]:
        """The blocks in which the node can be reached, and no unknown line lies between."""
        return tuple(
            opened
            for opened in self.paths.open_at(node)
            if opened.node not in self.no_blocks and (self.stretches is None or self._reaches(opened, node))
        )

    def is_known_between(self, first: int, second: int) -> bool:
        """Whether every line between two offsets is known."""
        if self.stretches is None:
            return True
        low, high = min(first, second), max(first, second)
        return any(begin <= low and high < end for begin, end in self.stretches)

    def _reaches(self, opened: Open, node: int) -> bool:
        here = self.flow.nodes[node].action
        opener = self.flow.nodes[opened.node].action if opened.node >= 0 else None
        return here is not None and opener is not None and self.is_known_between(opener.offset, here.offset)


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionCode:
    """A function as read. `entry` is the block of the caller it was read in (None: entered with access closed).
    `conditions` are the #if conditions around it."""

    path: str
    name: str
    arch: str | None
    line: int
    item: Item
    entry: Open | None
    conditions: tuple[str, ...]
    variants: tuple[Variant, ...]
    unread: tuple[Unread, ...]
    reader: CodeReader

    @cached_property
    def lines(self) -> LineIndex:
        return self.reader.lines(self.path)

    @cached_property
    def is_whole(self) -> bool:
        """Whether every line of it is known; of a tree rebuilt from hunks only the shown ones are."""
        known = self.reader.tree.known_lines(self.path)
        first, last = self.lines.line(self.item.start), self.lines.line(max(self.item.start, self.item.end - 1))
        return known is None or any(begin <= first and last <= end for begin, end in known)

    @cached_property
    def is_called_closed(self) -> bool:
        """A static function that its own file calls, and never inside a block. Hunks do not show all of its callers."""
        if not self.reader.tree.is_complete:
            return False
        if b"static" not in self.item.text[: self.item.body - self.item.start].split():
            return False
        states = list(self.reader.states_of_calls(self))
        return bool(states) and not any(states)

    def primitive(self, call: Call) -> Primitive | None:
        """The primitive that the call is, or (for a wrapper that opens or closes on the whole) stands for."""
        return self.reader.primitive_of(call, self.path, self.arch)


class CodeReader(PrimitiveWords):
    """Reads functions of one tree on demand and remembers them."""

    def __init__(self, tree: SourceTree, book: Rulebook) -> None:
        self.tree = tree
        super().__init__(book)
        self.symbols = Symbols(tree, book.words, _generic_arches(book))
        self._data: dict[str, bytes] = {}
        self._lines: dict[str, LineIndex] = {}
        self._read: dict[tuple[str, int, Open | None, str | None], FunctionCode] = {}
        self._flows: dict[tuple[str, int, bool, str | None], Flows] = {}
        self._uses: dict[str, Uses] = {}
        self._words: dict[str, frozenset[bytes]] = {}
        self._sizes: dict[str, dict[tuple[int, bytes], SizeResult]] = {}
        self._effects = NetEffects(self)

    def forget(self, path: str) -> None:
        """Let go of what was read of a source file; others do not include it, so nobody will ask again."""
        if path.endswith(".c"):
            for kept in (self._data, self._lines, self._uses, self._words, self._sizes):
                kept.pop(path, None)
            for read in (self._read, self._flows):
                for key in [key for key in read if key[0] == path]:
                    del read[key]  # type: ignore[arg-type]
            self.symbols.forget(path)

    def data(self, path: str) -> bytes:
        if path not in self._data:
            self._data[path] = self.tree.read(path) or b""
        return self._data[path]

    def lines(self, path: str) -> LineIndex:
        if path not in self._lines:
            self._lines[path] = LineIndex(self.data(path))
        return self._lines[path]

    def sizes(self, path: str) -> dict[tuple[int, bytes], SizeResult]:
        """Where the rules keep the sizes of copies in the file on both word sizes: (offset, text) of the argument ->
        size."""
        return self._sizes.setdefault(path, {})

    def function(
        self, path: str, item: Item, entry: Open | None = None, caller_arch: str | None = None
    ) -> FunctionCode:
        """The function of `item` in `path`, entered with access closed, or open by the caller. Generic code that code
        of an architecture calls is read as that architecture compiles it."""
        arch = arch_of(path) or caller_arch
        key = (path, item.start, entry, arch)
        if key not in self._read:
            self._read[key] = self._function(path, item, entry, arch)
        return self._read[key]

    def routine(self, path: str, name: str, line: int) -> FunctionCode:
        """An assembler routine as a place where calls stand; it has no flow."""
        start = self.lines(path).start(line)
        item = Item(kind=DefinitionKind.ASM, name=name, start=start, end=start, body=start, line=line, text=b"")
        return FunctionCode(
            path=path,
            name=name,
            arch=arch_of(path),
            line=line,
            item=item,
            entry=None,
            conditions=(),
            variants=(),
            unread=(),
            reader=self,
        )

    def primitive_of(self, call: Call, path: str, arch: str | None) -> Primitive | None:
        if not call.name:
            return None
        primitive = self.book.primitive(call.name, arch)
        return primitive if primitive is not None else self._effects.of(call.name, path, arch)

    def net_effect(self, name: str, path: str, arch: str | None) -> Primitive | None:
        """What a function of the same file does to access on the whole, or None (see NetEffects)."""
        return self._effects.of(name, path, arch)

    def type_arch(self, arch: str | None) -> str:
        """The architecture whose headers give the types of code: its own, or for generic code that of the first policy
        which binds generic code (asking all would cost ten times as much, and few types differ)."""
        return arch or next(policy.arches[0] for policy in self.book.policies if policy.generic)

    def words(self, path: str) -> frozenset[bytes]:
        """Every word of the file, those in comments and literals too."""
        if path not in self._words:
            self._words[path] = words_of(self.data(path))
        return self._words[path]

    def holds_block_word(self, text: bytes) -> bool:
        """Whether the name of something that opens, closes or needs a block is in the text."""
        return self._block_words.search(text) is not None

    def holds_blocks(self, item: Item) -> bool:
        """Whether the text names something that opens, closes or needs a block (a macro of the file may hide it)."""
        return self._block_words.search(item.text) is not None

    def uses(self, path: str) -> Uses:
        """Where the file names primitives, and the functions around these places."""
        if path not in self._uses:
            self._uses[path] = find_uses(self.data(path), self.telling_names, self.telling_fragments, self.access_names)
        return self._uses[path]

    def is_accessor(self, name: str, path: str) -> bool:
        """Whether a function of that name, in that file, makes accesses."""
        return name in self.uses(path).accessors

    def states_of_calls(self, code: FunctionCode) -> Iterator[bool]:
        """For every call of the function in its own file: whether it can run with access open. A use of the name that
        is no call in a function (a macro, a table) says that it can: nobody knows from where it will be called."""
        data = code_of(self.data(code.path))
        for match in self.word(code.name).finditer(data):
            item = function_at(data, match.start())
            if item is not None and item.start == code.item.start:
                continue
            after = data[match.end() : match.end() + 80].lstrip()
            if item is None:
                if not _is_declaration(data, match.start()):
                    yield True
                continue
            if not after.startswith(b"("):
                yield True
                continue
            caller = self.function(code.path, item)
            for variant in caller.variants:
                for index, node in enumerate(variant.flow.nodes):
                    if isinstance(node.action, Call) and node.action.name == code.name:
                        yield bool(variant.open_at(index)) or self._may_run_in_block(item)

    def _may_run_in_block(self, item: Item) -> bool:
        """A function that itself has no part in a block, but is inline or notrace, as what runs in one has to be."""
        words = self.book.words
        head = item.text[: item.body - item.start].decode("utf-8", "replace").split()
        return not self.holds_blocks(item) and not (words.inline | words.always_inline | words.notrace).isdisjoint(head)

    def _function(self, path: str, item: Item, entry: Open | None, arch: str | None) -> FunctionCode:
        follow = entry is not None or self.holds_blocks(item)
        key = (path, item.start, follow, arch)
        if key not in self._flows:  # the same for every block of a caller that it may be entered in
            data = self.data(path)
            meaning = NameMeaning(self.book, self.symbols, data, path, arch, follow_headers=follow, function=item.text)
            self._flows[key] = read_flows(data, item, meaning, self.book.limits.function_bytes)
        flows = self._flows[key]
        unread = dict(flows.unread)
        variants: list[Variant] = []

        def primitive_of(call: Call) -> Primitive | None:
            return self.primitive_of(call, path, arch)

        for conditions, flow in flows.variants:
            paths = follow_paths(flow, primitive_of, entry, self.direction_reader(arch))
            if not paths.is_exact:
                reason = "the function has too many paths to tell all of them apart"
                unread[0, reason] = Unread(line=item.line, reason=reason)
            no_blocks = _lasting_openers(flow, paths, primitive_of)
            stretches = self._stretches(path, item)
            variants.append(
                Variant(conditions=conditions, flow=flow, paths=paths, no_blocks=no_blocks, stretches=stretches)
            )
        return FunctionCode(
            path=path,
            name=item.name,
            arch=arch,
            line=self.lines(path).line(item.body),
            item=item,
            entry=entry,
            conditions=conditions_at(self.data(path), item.body),
            variants=tuple(variants),
            unread=tuple(unread[key] for key in sorted(unread)),
            reader=self,
        )

    def _stretches(self, path: str, item: Item) -> tuple[tuple[int, int], ...] | None:
        known = self.tree.known_lines(path)
        if known is None:
            return None
        lines = self.lines(path)
        first, last = lines.line(item.start), lines.line(max(item.start, item.end - 1))
        if any(begin <= first and last <= end for begin, end in known):
            return None
        return tuple((lines.start(begin), lines.end(end)) for begin, end in known if begin <= last and end >= first)

    def direction_reader(self, arch: str | None) -> DirectionReader:
        return DirectionReader(self.book, arch)


def _lasting_openers(flow: Flow, paths: Paths, primitive_of: NetEffect) -> frozenset[int]:
    """Openers that ask nothing, that no end in the function closes, and that no access follows: a change of state, no
    block."""
    primitives = {i: primitive_of(n.action) for i, n in enumerate(flow.nodes) if isinstance(n.action, Call)}
    used: set[int] = set()
    for index, primitive in primitives.items():
        if primitive is not None and primitive.effect in (Effect.CLOSE, Effect.INSIDE):
            used |= {opened.node for opened in paths.open_at(index)}
    return frozenset(
        index
        for index, primitive in primitives.items()
        if primitive is not None
        and primitive.effect is Effect.OPEN
        and primitive.result is not Result.STATUS
        and index not in used
    )


def _generic_arches(book: Rulebook) -> tuple[str, ...]:
    """The architectures whose headers count for generic code: those whose policies bind it."""
    return tuple(sorted({arch for policy in book.policies if policy.generic for arch in policy.arches}))
