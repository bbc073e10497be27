"""A block closed with another primitive than the one that matches its opener.

Invisible where both are the same instruction, wrong where directions are guarded apart (344af27715dd).
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.csyntax.flow import Call
from reviewbot.findings.finding import Observation
from reviewbot.graph.paths import BY_CALLER
from reviewbot.rulebook.primitives import Effect
from reviewbot.rules.context import Context, PrimitiveUse

SLUG = "mismatched_end"


def find(context: Context) -> Iterator[Observation]:
    """Every close that meets a block which another primitive ought to close."""
    for use in context.uses:
        if use.primitive.effect is not Effect.CLOSE or use.call.closes_scope:
            continue
        for opened in context.variant.open_at(use.node):
            link = context.opener_link(opened)
            if opened.node == BY_CALLER or link is None:
                continue
            call = context.variant.flow.nodes[opened.node].action
            opener = context.code.primitive(call) if isinstance(call, Call) else None
            if opener is None or not opener.closed_by or _ends(use) & set(opener.closed_by):
                continue
            yield Observation(
                rule=SLUG,
                variant="close",
                place=context.place(use.call.offset),
                chain=(link,),
                callee=use.call.name,
                direction=opened.direction.value,
                arch=(context.code.arch,) if context.code.arch else (),
                facts=(
                    ("callee", use.call.name),
                    ("function", context.code.name),
                    ("opener", opened.name),
                    ("expected", opener.closed_by[0]),
                ),
                key=(SLUG, context.code.path, context.code.name, opened.name, use.call.name),
                suspect_lines=((link.place.path, link.place.line),),
            )


def _ends(use: PrimitiveUse) -> set[str]:
    """The end itself, or for a helper that closes the ends that it uses."""
    return {use.call.name, *use.primitive.closed_by}
