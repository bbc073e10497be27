"""What a rule looks at: one #if variant of one function, with its paths and everything that runs inside its blocks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from reviewbot.csyntax.flow import Call
from reviewbot.findings.finding import Link, Place
from reviewbot.graph.code import CodeReader, FunctionCode, Variant
from reviewbot.graph.paths import BY_CALLER, Open
from reviewbot.graph.reach import InsideCall, Reach, Step
from reviewbot.rulebook.book import Rulebook
from reviewbot.rulebook.primitives import Effect, Primitive
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimitiveUse:
    """A primitive at a node of the variant's flow."""

    node: int
    call: Call
    primitive: Primitive


@dataclass(frozen=True, kw_only=True, eq=False)
class Context:
    """One variant of one function. `inside` are the calls that run in its blocks, followed callees included."""

    code: FunctionCode
    variant: Variant
    reach: Reach

    @property
    def reader(self) -> CodeReader:
        return self.code.reader

    @property
    def book(self) -> Rulebook:
        return self.code.reader.book

    @cached_property
    def inside(self) -> tuple[InsideCall, ...]:
        return tuple(self.reach.inside(self.code, self.variant))

    @cached_property
    def uses(self) -> tuple[PrimitiveUse, ...]:
        """Every primitive in the function itself, wrappers of the same file included, in the order of the flow."""
        return tuple(self._uses())

    def _uses(self) -> Iterator[PrimitiveUse]:
        for index, node in enumerate(self.variant.flow.nodes):
            if isinstance(node.action, Call):
                primitive = self.code.primitive(node.action)
                if primitive is not None:
                    yield PrimitiveUse(node=index, call=node.action, primitive=primitive)

    @cached_property
    def own_primitive(self) -> Primitive | None:
        """Set when the function is itself the body of a primitive (`user_access_begin` in uaccess.h)."""
        return body_of(self.book, self.code)

    @cached_property
    def has_opener(self) -> bool:
        return any(use.primitive.effect in (Effect.OPEN, Effect.SCOPED) for use in self.uses)

    @property
    def is_entry_point(self) -> bool:
        """Headed by a macro such as that of a system call: nobody calls it with access open."""
        return "(" in self.code.name

    def is_behind_opener(self, node: int) -> bool:
        """Whether some way leads from an opener to the node."""
        return node in self._behind_openers

    @cached_property
    def _behind_openers(self) -> frozenset[int]:
        queue = [use.node for use in self.uses if use.primitive.effect in (Effect.OPEN, Effect.SCOPED)]
        seen: set[int] = set()
        while queue:
            for edge in self.variant.flow.nodes[queue.pop()].edges:
                if edge.target not in seen:
                    seen.add(edge.target)
                    queue.append(edge.target)
        return frozenset(seen)

    @cached_property
    def is_exact(self) -> bool:
        """Whether the paths can be trusted: all lines are known, nothing ran together, no statement was misread."""
        is_read = all(piece.is_in_arguments for piece in self.variant.flow.misread)
        return self.code.is_whole and self.variant.paths.is_exact and is_read

    def place(self, offset: int, code: FunctionCode | None = None) -> Place:
        code = code or self.code
        start = code.lines.start(code.lines.line(offset))
        column = len(code.reader.data(code.path)[start:offset].decode("utf-8", "replace")) + 1
        return Place(path=code.path, line=code.lines.line(offset), column=column, function=code.name)

    def opener_link(self, opened: Open) -> Link | None:
        """Where the block was opened, when that is in this function."""
        if opened.node == BY_CALLER:
            return None
        action = self.variant.flow.nodes[opened.node].action
        assert isinstance(action, Call)
        return Link(place=self.place(action.offset), what="access is opened by", name=action.name)

    def links(self, inside: InsideCall) -> tuple[Link, ...]:
        """The chain from the opener to the place of an inside call."""
        if inside.chain:
            return tuple(to_link(each) for each in inside.chain)
        opener = self.opener_link(inside.open)
        uses = tuple(
            Link(place=Place(path=use.path, line=use.line), what="expands the macro", name=use.name)
            for use in inside.call.via
        )
        return ((opener,) if opener is not None else ()) + uses


def to_link(step: Step) -> Link:
    return Link(place=Place(path=step.path, line=step.line, function=step.function), what=step.what, name=step.name)


def body_of(book: Rulebook, code: FunctionCode) -> Primitive | None:
    """The primitive that the function is the body of, and may use the parts of as it likes: in a header, or in the code
    of an architecture. Another function is written with primitives like any other, even where its callers take it for
    one."""
    is_low_level = code.path.endswith(".h") or code.arch is not None
    return book.primitive(code.name, code.arch) if is_low_level else None
