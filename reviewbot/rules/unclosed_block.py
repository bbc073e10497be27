"""A path that leaves the function with access open.

From then on the task reads and writes user memory unguarded, until something else happens to close it (CVE-2017-5123
shows what unguarded access is worth to an attacker).
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.csyntax.flow import Call, Return
from reviewbot.findings.finding import Link, Observation
from reviewbot.graph.paths import BY_CALLER
from reviewbot.rulebook.primitives import Effect
from reviewbot.rules.context import Context

SLUG = "unclosed_block"


def find(context: Context) -> Iterator[Observation]:
    """One observation for each opener whose block is still open where the function is left; none for one that the end
    of a nested block has closed, which is a mistake of that block."""
    if not context.is_exact or context.code.entry is not None:
        return
    if all(state.open is None for _, state in context.variant.paths.exits) or _opens_for_its_caller(context):
        return
    seen: set[int] = set()
    for node, state in context.variant.paths.exits:
        opened = state.open
        if opened is None or state.is_shut or opened.node == BY_CALLER:
            continue
        if opened.node in seen | context.variant.no_blocks:
            continue
        seen.add(opened.node)
        opener = context.variant.flow.nodes[opened.node].action
        assert isinstance(opener, Call)
        action = context.variant.flow.nodes[node].action
        leaves_at = action.offset if isinstance(action, Return) else context.code.item.end - 1
        yield Observation(
            rule=SLUG,
            variant="return" if isinstance(action, Return) else "end",
            place=context.place(opener.offset),
            chain=(Link(place=context.place(leaves_at), what="access is still open at", name=""),),
            callee=opener.name,
            direction=opened.direction.value,
            arch=(context.code.arch,) if context.code.arch else (),
            facts=(
                ("callee", opener.name),
                ("function", context.code.name),
                ("exit_line", str(context.place(leaves_at).line)),
            ),
            key=(SLUG, context.code.path, context.code.name, opener.name),
            suspect_lines=((context.code.path, context.place(leaves_at).line),),
        )


def _opens_for_its_caller(context: Context) -> bool:
    """The function is a primitive itself, or a wrapper that does nothing but open."""
    own = context.own_primitive
    if own is not None and own.effect in (Effect.OPEN, Effect.SAVE, Effect.RESTORE, Effect.SCOPED):
        return True
    return context.reader.net_effect(context.code.name, context.code.path, context.code.arch) is not None
