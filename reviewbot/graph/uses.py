"""Where a file names primitives, and the functions around these places: found once for everybody who asks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping

from reviewbot.csyntax.items import Item, functions_holding
from reviewbot.csyntax.lexing import code_of
from reviewbot.csyntax.whole_words import find_words
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """`names` are the primitives that the file names outside of comments and literals, `offsets` the places where it
    does, in order, and `items` the functions that hold them. `accessors`: name -> the functions of that name with a
    self-contained access in them."""

    names: frozenset[bytes]
    offsets: tuple[int, ...]
    items: tuple[Item, ...]
    accessors: Mapping[str, tuple[Item, ...]]


def find_uses(
    data: bytes, primitives: Collection[bytes], fragments: Collection[bytes], accesses: Collection[bytes]
) -> Uses:
    """`primitives` are the names of primitives, `fragments` pieces of them, and `accesses` those of self-contained
    accesses."""
    found = find_words(code_of(data), primitives, fragments)
    offsets = tuple(offset for offset, _ in found)
    items = functions_holding(data, offsets)
    starts = [item.start for item in items]
    accessing: dict[int, Item] = {}
    for offset, name in found:
        at = bisect_right(starts, offset) - 1
        if name in accesses and at >= 0 and items[at].holds(offset):
            accessing[at] = items[at]
    accessors: dict[str, tuple[Item, ...]] = {}
    for item in accessing.values():
        accessors[item.name] = (*accessors.get(item.name, ()), item)
    return Uses(names=frozenset(name for _, name in found), offsets=offsets, items=items, accessors=accessors)
