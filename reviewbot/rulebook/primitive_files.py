"""rules/primitives/<arch>.toml -> Primitives and Architectures, each architecture on top of the generic entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from operator import attrgetter
from pathlib import Path

from reviewbot.rulebook.primitives import Architecture, Direction, Effect, Guard, KernelVersion, Primitive, Result
from reviewbot.rulebook.reading import Table, read_table
from reviewbot.values import dataclass

GENERIC = "generic"
_OPENERS = (Effect.OPEN, Effect.SAVE)
_OLDEST = KernelVersion(major=0, minor=0)
_NEWEST = KernelVersion(major=9999, minor=0)
_FIELDS = tuple(each.name for each in fields(Primitive))
_values_of = attrgetter(*_FIELDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchPrimitives:
    """One file, with the generic entries it inherits. `entries` maps a name to its entries, newest version first.
    `direction_words` maps what stands in a `direction_arg` to the direction it means."""

    architecture: Architecture
    entries: Mapping[str, tuple[Primitive, ...]]
    direction_words: Mapping[str, Direction]


def load_primitives(root: Path) -> Mapping[str, ArchPrimitives]:
    """architecture name -> its primitives, `generic` among them. Reads `root`/primitives/*.toml; raises
    RulebookError."""
    folder = root / "primitives"
    generic = _load_file(folder / f"{GENERIC}.toml", root, {})
    loaded = {GENERIC: generic}
    for path in sorted(folder.glob("*.toml")):
        if path.stem != GENERIC:
            loaded[path.stem] = _load_file(path, root, generic.entries)
    return loaded


def _load_file(path: Path, root: Path, inherited: Mapping[str, tuple[Primitive, ...]]) -> ArchPrimitives:
    table = read_table(path, root)
    architecture = _read_architecture(table.table("architecture"))
    if architecture.name != path.stem:
        table.refuse("architecture.name", f"must be the name of the file, {path.stem!r}")
    words = table.table("directions") if table.has("directions") else None
    direction_words = {word: words.choice(word, Direction) for word in words.key_names()} if words else {}
    switches = _read_switches(table)
    entries = {
        n: tuple(_inherit(entry, architecture.name, switches) for entry in kept) for n, kept in inherited.items()
    }
    entries |= _read_entries(table, architecture.name)
    table.finish()
    return ArchPrimitives(architecture=architecture, entries=entries, direction_words=direction_words)


def _read_architecture(table: Table) -> Architecture:
    architecture = Architecture(
        name=table.text("name"),
        directories=table.names("directories"),
        distinct_directions=table.flag("distinct_directions"),
        guards=table.choice("guards", Guard),
        source=table.text("source"),
    )
    table.finish()
    return architecture


def _read_switches(table: Table) -> Mapping[Effect, int]:
    """effect -> the number of switches that an inherited entry with this effect makes here."""
    if not table.has("inherited_switches"):
        return {}
    below = table.table("inherited_switches")
    switches = {effect: below.integer(effect.value) for effect in Effect if below.has(effect.value)}
    below.finish()
    return switches


def _inherit(primitive: Primitive, arch: str, switches: Mapping[Effect, int]) -> Primitive:
    """The same as `replace`, which takes three times as long, and there are hundreds."""
    known = dict(zip(_FIELDS, _values_of(primitive), strict=True))
    known |= {"arch": arch, "switches": switches.get(primitive.effect, primitive.switches)}
    return Primitive(**known)


def _read_entries(table: Table, arch: str) -> dict[str, tuple[Primitive, ...]]:
    found: dict[str, list[Primitive]] = {}
    for item in table.tables("primitive"):
        for name in item.names("names"):
            primitive = _read_primitive(item, name, arch)
            if any(_overlaps(primitive, other) for other in found.get(name, ())):
                item.refuse("names", f"{name!r} is described twice for the same kernel version")
            found.setdefault(name, []).append(primitive)
        item.finish()
    return {name: tuple(sorted(entries, key=_newest_first)) for name, entries in found.items()}


def _read_primitive(item: Table, name: str, arch: str) -> Primitive:
    primitive = Primitive(
        name=name,
        arch=arch,
        effect=item.choice("effect", Effect),
        direction=item.choice("direction", Direction),
        result=item.choice("result", Result, Result.NOTHING),
        pointer_arg=item.optional_integer("pointer_arg"),
        value_arg=item.optional_integer("value_arg"),
        size_arg=item.optional_integer("size_arg"),
        label_arg=item.optional_integer("label_arg"),
        direction_arg=item.optional_integer("direction_arg"),
        closed_by=item.names("closed_by", ()),
        small_copy=item.flag("small_copy", False),
        scalar_form=item.optional_text("scalar_form"),
        scalar_form_in_block=item.optional_text("scalar_form_in_block"),
        may_sleep=item.flag("may_sleep", False),
        switches=item.integer("switches", 0),
        since=item.version("since"),
        until=item.version("until"),
        source=item.text("source"),
    )
    _check(item, primitive)
    return primitive


def _check(item: Table, primitive: Primitive) -> None:
    """What one entry must be to make sense by itself."""
    if primitive.effect in _OPENERS and not primitive.closed_by:
        item.refuse("closed_by", f"{primitive.name!r} opens a block, so it needs a closer")
    if primitive.effect not in _OPENERS and primitive.closed_by:
        item.refuse("closed_by", f"{primitive.name!r} opens nothing")
    if primitive.small_copy and (primitive.size_arg is None or primitive.scalar_form is None):
        item.refuse("small_copy", "needs size_arg and scalar_form")
    if primitive.since and primitive.until and primitive.since >= primitive.until:
        item.refuse("until", "must be later than since")
    if not 0 <= primitive.switches <= 2:
        item.refuse("switches", "must be 0, 1 or 2")


def _overlaps(one: Primitive, other: Primitive) -> bool:
    start = max(one.since or _OLDEST, other.since or _OLDEST)
    return start < min(one.until or _NEWEST, other.until or _NEWEST)


def _newest_first(primitive: Primitive) -> tuple[int, int]:
    until = primitive.until or _NEWEST
    return (-until.major, -until.minor)
