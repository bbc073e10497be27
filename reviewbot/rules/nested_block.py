"""A block opened, or a self-contained access made, inside an open block: the inner close shuts the outer block.

"Nesting is not supported" (arch/powerpc/include/asm/book3s/64/kup.h); on x86 the inner clac() clears the only flag
there is.
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.findings.finding import Observation
from reviewbot.graph.reach import InsideCall
from reviewbot.rulebook.primitives import Effect, Primitive
from reviewbot.rules.context import Context, body_of

SLUG = "nested_block"


def find(context: Context) -> Iterator[Observation]:
    """Every opener and self-contained access that runs while access is open."""
    for inside in context.inside:
        primitive = inside.primitive
        if primitive is not None and _switches(primitive) and not _is_low_level(context, inside):
            yield Observation(
                rule=SLUG,
                variant="access" if primitive.effect is Effect.ACCESS else "open",
                place=context.place(inside.call.offset, inside.code),
                chain=context.links(inside),
                callee=inside.call.name,
                direction=primitive.direction.value,
                arch=(context.code.arch,) if context.code.arch else (),
                facts=(
                    ("callee", inside.call.name),
                    ("function", inside.code.name),
                    ("opener", inside.open.name or "its caller"),
                ),
                key=(SLUG, inside.code.path, inside.code.name, inside.call.name),
            )


def _switches(primitive: Primitive) -> bool:
    return primitive.effect in (Effect.OPEN, Effect.SCOPED, Effect.ACCESS) and primitive.switches > 0


def _is_low_level(context: Context, inside: InsideCall) -> bool:
    """The body of a primitive may use its parts as it likes."""
    return body_of(context.book, inside.code) is not None
