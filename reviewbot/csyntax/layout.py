"""The size and alignment of types, and the offsets of members, as GCC lays them out on Linux (System V ABI)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from reviewbot.csyntax.abi import DataModel
from reviewbot.csyntax.c_declarations import NotADeclarationError, parse_declaration
from reviewbot.csyntax.c_tokens import Tokens
from reviewbot.csyntax.c_types import (
    Alignment,
    Array,
    Basic,
    CType,
    Declared,
    Enumeration,
    Function,
    Named,
    Odd,
    Pointer,
    Realigned,
    Record,
    Void,
    type_text,
)
from reviewbot.csyntax.members import Item, TooManyVariantsError, member_variants, possible_items
from reviewbot.csyntax.unknown_size import IncompleteTypeError, UnknownSizeError
from reviewbot.rulebook.types import TypeTable
from reviewbot.values import dataclass

_Item = TypeVar("_Item")
_Value = TypeVar("_Value")


class Surroundings(Protocol):
    """What layout asks of the evaluator."""

    model: DataModel
    table: TypeTable

    def constant(self, tokens: Tokens) -> int:
        """The value of a constant expression. Raises UnknownSizeError."""

    def resolved(self, ctype: CType) -> tuple[CType, ...]:
        """The types that a name, tag or typeof may stand for: complete, at least one. Raises UnknownSizeError."""

    def typedef_types(self, ctype: Named) -> tuple[CType, ...]:
        """What a type name stands for, one step further. Raises UnknownSizeError."""

    def within(self, name: str, work: Callable[[], _Value]) -> _Value:
        """Do something inside the meaning of `name`. Raises UnknownSizeError where that leads to the name itself."""

    def expanded_members(self, item: Item) -> tuple[Item, ...] | None:
        """The member declarations that a macro stands for; None if the item is no macro call."""

    def deeper(self) -> None:
        """Counts one step down. Raises UnknownSizeError when it goes too deep or has taken too long."""

    def higher(self) -> None:
        """Counts one step up."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes, and the alignment in bytes; None where definitions agree on the size alone."""

    size: int
    alignment: int | None

    @property
    def sure_alignment(self) -> int:
        """The alignment. Raises UnknownSizeError where it is not known."""
        if self.alignment is None:
            raise UnknownSizeError("an alignment differs between definitions")
        return self.alignment


def agreed(values: Iterable[Callable[[], _Value]], what: str) -> _Value:
    """The value that all ways to work it out give; incomplete ones do not count unless all are. Raises
    UnknownSizeError.
    """
    found: list[_Value] = []
    incomplete: IncompleteTypeError | None = None
    for value in values:
        try:
            result = value()
        except IncompleteTypeError as error:
            incomplete = error
            continue
        if found and result != found[0]:
            raise UnknownSizeError(f"{what} differs between its definitions")
        found = [result]
    if not found:
        raise incomplete or UnknownSizeError(f"{what} is not defined in any file seen")
    return found[0]


def agreed_among(items: Iterable[_Item], work: Callable[[_Item], _Value], what: str) -> _Value:
    """The value that `work` gives for every one of the items; see agreed()."""
    return agreed((partial(work, item) for item in items), what)


def extent_of(ctype: CType, near: Surroundings) -> Extent:
    """Size and alignment of a complete type. Raises UnknownSizeError."""
    near.deeper()
    match ctype:
        case Basic():
            extent = _basic_extent(ctype, near.model)
        case Pointer():
            extent = Extent(near.model.abi.pointer_bytes, near.model.abi.pointer_bytes)
        case Array():
            extent = _array_extent(ctype, near)
        case Record(body=tuple()):
            extent = _record_extent(ctype, near)
        case Enumeration():
            if ctype.packed:
                raise UnknownSizeError("a packed enum")
            extent = Extent(4, 4)
        case Realigned():
            inner = extent_of(ctype.of, near)
            # Alone on a typedef an aligned attribute may lower the alignment as well as raise it.
            extent = Extent(inner.size, _attribute_alignment(ctype.alignment, near, floor=1) or inner.alignment)
        case Named():
            extent = near.within(ctype.name, lambda: _named_extent(ctype, near))
        case Void():
            raise UnknownSizeError("void has no size")
        case Function():
            raise UnknownSizeError("a function has no size")
        case Odd():
            raise UnknownSizeError(ctype.why)
        case _:
            extent = _agreed_extent([partial(extent_of, each, near) for each in near.resolved(ctype)], ctype)
    near.higher()
    return extent


def members_named(record: Record, name: str, near: Surroundings) -> list[CType]:
    """The types of the member `name` in every variant, looking into anonymous members; equal ones once."""
    near.deeper()
    found: dict[CType, None] = {}
    for item in possible_items(record.body or (), near.model.abi, record.arch, near.table):
        for member in _declared(item, near):
            if member.name == name:
                found[_of_arch(member.type, record.arch)] = None
            elif not member.name and isinstance(member.type, Record):
                found.update(dict.fromkeys(members_named(replace(member.type, arch=record.arch), name, near)))
    near.higher()
    return list(found)


def offset_of(record: Record, name: str, near: Surroundings) -> int:
    """The offset of a member in bytes, the same in every variant. Raises UnknownSizeError."""
    variants = _variants(record, near)
    return agreed_among(variants, lambda items: _lay_out(record, items, near, name)[1], f"the offset of {name}")


def _basic_extent(basic: Basic, model: DataModel) -> Extent:
    size, alignment = model.size(basic.name), model.alignment(basic.name)
    if size is None or alignment is None:
        raise UnknownSizeError(f"{basic.name} has different sizes")
    return Extent(size, alignment)


def _array_extent(array: Array, near: Surroundings) -> Extent:
    if array.bound is None:
        raise IncompleteTypeError("an array without a bound")
    element = extent_of(array.of, near)
    count = near.constant(array.bound)
    if count < 0:
        raise UnknownSizeError("an array with a negative bound")
    return Extent(element.size * count, element.alignment)


def _record_extent(record: Record, near: Surroundings) -> Extent:

    def extent(items: tuple[Item, ...]) -> Extent:
        return _lay_out(record, items, near)[0]

    return _agreed_extent([partial(extent, items) for items in _variants(record, near)], record)


def _named_extent(ctype: Named, near: Surroundings) -> Extent:
    """Like extent_of; step by step, because each typedef on the way may have an aligned attribute of its own."""
    return _agreed_extent([partial(extent_of, each, near) for each in near.typedef_types(ctype)], ctype)


def _agreed_extent(ways: Iterable[Callable[[], Extent]], ctype: CType) -> Extent:
    alignments: set[int | None] = set()

    def size(way: Callable[[], Extent]) -> int:
        extent = way()
        alignments.add(extent.alignment)
        return extent.size

    total = agreed_among(ways, size, f"the size of {type_text(ctype)}")
    return Extent(total, alignments.pop() if len(alignments) == 1 else None)


def _variants(record: Record, near: Surroundings) -> tuple[tuple[Item, ...], ...]:
    try:
        return member_variants(record.body or (), near.model.abi, record.arch, near.table)
    except TooManyVariantsError:
        raise UnknownSizeError(f"{type_text(record)} depends on too many #if conditions") from None


@dataclass(slots=True)
class _Layout:
    """Where the next member goes, in bits."""

    is_union: bool
    is_packed: bool
    end_bits: int = 0
    size_bits: int = 0
    alignment: int = 1

    def place(self, extent: Extent, alignment: int) -> int:
        """The offset in bytes of a member."""
        self.alignment = max(self.alignment, alignment)
        start = 0 if self.is_union else _rounded(self.end_bits, alignment * 8)
        self.end_bits = start + extent.size * 8
        self.size_bits = max(self.size_bits, self.end_bits)
        return start // 8

    def place_bits(self, width: int, unit: Extent, *, is_named: bool) -> None:
        """A bit-field: it may not cross a border of its own type, unless the record is packed; width 0 closes
        the unit.
        """
        if width == 0:
            self.end_bits = _rounded(self.end_bits, unit.sure_alignment * 8)
            return
        start = 0 if self.is_union else self.end_bits
        if not self.is_packed:
            unit_bits = unit.size * 8
            if start // unit_bits != (start + width - 1) // unit_bits:
                start = _rounded(start, unit_bits)
            if is_named:
                self.alignment = max(self.alignment, unit.sure_alignment)
        self.end_bits = start + width
        self.size_bits = max(self.size_bits, self.end_bits)

    def extent(self, alignment: int) -> Extent:
        alignment = max(alignment, self.alignment)
        return Extent(_rounded(self.size_bits, alignment * 8) // 8, alignment)


def _lay_out(record: Record, items: tuple[Item, ...], near: Surroundings, wanted: str = "") -> tuple[Extent, int]:
    """The extent of one variant and, for `wanted`, the offset of that member."""
    layout = _Layout(record.keyword == "union", record.alignment.packed)
    offset: int | None = None
    for item in items:
        for member in _declared(item, near):
            if member.width is not None:
                if wanted and member.name == wanted:
                    raise UnknownSizeError(f"{wanted} is a bit-field")
                width = near.constant(member.width)
                layout.place_bits(width, extent_of(member.type, near), is_named=bool(member.name))
                continue
            ctype = _of_arch(member.type, record.arch)
            if not member.name and not _is_anonymous_record(ctype):
                continue
            place = layout.place(*_member_extent(member, ctype, record, near))
            if wanted and offset is None:
                inside = _offset_inside(member, ctype, wanted, near)
                offset = None if inside is None else place + inside
    if wanted and offset is None:
        raise IncompleteTypeError(f"{type_text(record)} has no member {wanted}")
    own = _attribute_alignment(Alignment(aligned=record.alignment.aligned), near, floor=1) or 1
    return layout.extent(own), offset or 0


def _is_anonymous_record(ctype: CType) -> bool:
    """Whether a member without a name is a record that takes room; an enum or a tag that is only declared does not."""
    if not isinstance(ctype, Record):
        return False
    if ctype.tag:  # room or not depends on -fms-extensions, which the kernel uses since v6.19
        raise UnknownSizeError(f"{type_text(ctype)} as a member without a name")
    return True


def _member_extent(member: Declared, ctype: CType, record: Record, near: Surroundings) -> tuple[Extent, int]:
    if isinstance(ctype, Array) and ctype.bound is None:  # a flexible array takes no room
        extent = Extent(0, extent_of(ctype.of, near).alignment)
    else:
        extent = extent_of(ctype, near)
    is_packed = member.alignment.packed or record.alignment.packed
    natural = 1 if is_packed else extent.sure_alignment
    asked = _attribute_alignment(Alignment(aligned=member.alignment.aligned), near, floor=1)
    return extent, max(natural, asked or 1)


def _offset_inside(member: Declared, ctype: CType, wanted: str, near: Surroundings) -> int | None:
    if member.name == wanted:
        return 0
    if not member.name and isinstance(ctype, Record) and members_named(ctype, wanted, near):
        return offset_of(ctype, wanted, near)
    return None


def _declared(item: Item, near: Surroundings) -> list[Declared]:
    """The members that one item declares; a macro is replaced by what it stands for."""
    near.deeper()
    expansion = near.expanded_members(item)
    if expansion is not None:
        members = [member for piece in expansion for member in _declared(piece, near)]
    else:
        try:
            members = list(parse_declaration(item, near.table))
        except NotADeclarationError as error:
            raise UnknownSizeError(f"a member could not be read ({error})") from None
    near.higher()
    return members


def _of_arch(ctype: CType, arch: str | None) -> CType:
    """The type with the #if of its own nested bodies settled for the same architecture."""
    if arch is None:
        return ctype
    match ctype:
        case Record(body=tuple(), arch=None):
            return replace(ctype, arch=arch)
        case Array():
            return Array(of=_of_arch(ctype.of, arch), bound=ctype.bound)
        case Pointer():
            return Pointer(to=_of_arch(ctype.to, arch))
    return ctype


def _attribute_alignment(alignment: Alignment, near: Surroundings, *, floor: int) -> int | None:
    """The alignment in bytes that attributes ask for, or None if they ask for none."""
    asked = [near.constant(tokens) if tokens else _machine_alignment() for tokens in alignment.aligned]
    if alignment.packed:
        asked.append(floor)
    return max(asked, default=None)


def _machine_alignment() -> int:
    raise UnknownSizeError("an alignment that depends on the machine")


def _rounded(value: int, unit: int) -> int:
    return -(-value // unit) * unit
