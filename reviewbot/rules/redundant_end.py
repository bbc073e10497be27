"""A close on a path where access is not open: a second end, or a failed opener that jumps to the closing label.

On powerpc it costs a switch, and where state is nested by hand it shuts somebody else's block (e6a9522ac3ff).
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.findings.finding import Confidence, Observation
from reviewbot.rulebook.primitives import Effect
from reviewbot.rules.context import Context

SLUG = "redundant_end"


def find(context: Context) -> Iterator[Observation]:
    """Every close that can be reached with access closed, in a function that opens access itself."""
    if not context.has_opener or not context.is_exact or context.code.entry is not None:
        return
    if context.own_primitive is not None:
        return
    for use in context.uses:
        if use.primitive.effect is not Effect.CLOSE or use.call.closes_scope:
            continue
        if context.variant.paths.is_closed_at(use.node) and context.is_behind_opener(use.node):
            yield Observation(
                rule=SLUG,
                variant="close" if context.variant.open_at(use.node) else "always",
                place=context.place(use.call.offset),
                callee=use.call.name,
                direction=use.primitive.direction.value,
                arch=(context.code.arch,) if context.code.arch else (),
                confidence=Confidence.MEDIUM,
                facts=(("callee", use.call.name), ("function", context.code.name)),
                key=(SLUG, context.code.path, context.code.name, use.call.name),
            )
