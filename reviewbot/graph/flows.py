"""The control flow of a function, once for each choice of its #if branches, and what of it could not be read."""

from __future__ import annotations

from collections.abc import Mapping

from reviewbot.csyntax.conditions import conditions_at
from reviewbot.csyntax.flow import Flow
from reviewbot.csyntax.flow_graph import FlowTooLargeError
from reviewbot.csyntax.items import Item
from reviewbot.csyntax.lexing import blank_comments
from reviewbot.csyntax.meaning import Meaning
from reviewbot.csyntax.variants import split_variants
from reviewbot.values import dataclass

Conditions = tuple[tuple[str, bool], ...]
"""(condition, truth) of each #if that a variant decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A piece of a function that could not be understood: 1-based line and one sentence."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Flows:
    """`unread` is by line and reason."""

    variants: tuple[tuple[Conditions, Flow], ...]
    unread: Mapping[tuple[int, str], Unread]


def read_flows(data: bytes, item: Item, meaning: Meaning, most_bytes: int) -> Flows:
    """The flows of the function `item` of the file `data`; a longer one than `most_bytes` is not read."""
    from reviewbot.csyntax.function_flow import read_flow  # most files of a small review need no flow

    conditions = conditions_at(data, item.body)
    unread: dict[tuple[int, str], Unread] = {}
    variants: list[tuple[Conditions, Flow]] = []

    def leave_out(reason: str) -> None:
        unread[0, reason] = Unread(line=item.line, reason=reason)

    body = data[item.body : item.end]
    if len(body) > most_bytes:
        leave_out(f"the function is longer than {most_bytes} bytes (limits.code.function_bytes) and was not read")
        body = b"{}"
    if conditions_at(data, max(item.body, item.end - 1)) != conditions:
        leave_out("the function's body begins in one branch of an #if and ends outside of it, and was not read")
        body = b"{}"
    for variant in split_variants(blank_comments(body), conditions):
        if variant.is_cut_off:
            leave_out("the function has too many different #if conditions to look at each of them")
        try:
            flow = read_flow(variant.text, item.body, meaning)
        except (FlowTooLargeError, RecursionError):
            leave_out("the function, with the macros in it, is too large to follow")
            continue
        variants.append((variant.conditions, flow))
    return Flows(variants=tuple(variants), unread=unread)
