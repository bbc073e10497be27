"""A write inside a read-only block, or the reverse.

Where the architecture guards reads and writes apart, the access faults, or works only until something else is mended
(9dc086f1e9ef, 1d8f739b07bd).
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.findings.finding import Observation
from reviewbot.rulebook.primitives import Effect
from reviewbot.rules.context import Context

SLUG = "wrong_direction"


def find(context: Context) -> Iterator[Observation]:
    """Every access that the direction of its block does not cover; nothing where there is but one direction."""
    if not context.book.architecture(context.code.arch).distinct_directions:
        return
    for inside in context.inside:
        primitive = inside.primitive
        if primitive is None or primitive.effect is not Effect.INSIDE or not inside.open.name:
            continue
        if not inside.open.direction.covers(primitive.direction):
            yield Observation(
                rule=SLUG,
                variant=primitive.direction.value,
                place=context.place(inside.call.offset, inside.code),
                chain=context.links(inside),
                callee=inside.call.name,
                direction=primitive.direction.value,
                arch=(context.code.arch,) if context.code.arch else (),
                facts=(
                    ("callee", inside.call.name),
                    ("function", inside.code.name),
                    ("opener", inside.open.name),
                    ("direction", primitive.direction.value),
                    ("opened", inside.open.direction.value),
                ),
                key=(SLUG, inside.code.path, inside.code.name, inside.call.name),
            )
