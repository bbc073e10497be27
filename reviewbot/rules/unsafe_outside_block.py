"""An unsafe_* access on a path where access is not open.

It faults, or (where nothing is guarded) it skips the check of the address that the opener makes.
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.findings.finding import Observation
from reviewbot.rulebook.primitives import Effect
from reviewbot.rules.context import Context

SLUG = "unsafe_outside_block"


def find(context: Context) -> Iterator[Observation]:
    """Every access that needs a block and can be reached without one, where no caller can have opened it."""
    if not context.is_exact or context.code.entry is not None or context.own_primitive is not None:
        return
    if not any(use.primitive.effect is Effect.INSIDE for use in context.uses):
        return
    if not (context.has_opener or context.is_entry_point or context.code.is_called_closed):
        return
    for use in context.uses:
        if use.primitive.effect is Effect.INSIDE and context.variant.paths.is_closed_at(use.node):
            yield Observation(
                rule=SLUG,
                variant="some_path" if context.variant.open_at(use.node) else "always",
                place=context.place(use.call.offset),
                callee=use.call.name,
                direction=use.primitive.direction.value,
                arch=(context.code.arch,) if context.code.arch else (),
                facts=(("callee", use.call.name), ("function", context.code.name)),
                key=(SLUG, context.code.path, context.code.name, use.call.name),
            )
