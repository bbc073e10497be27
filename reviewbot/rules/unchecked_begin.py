"""The result of an opener is ignored.

It checks the address; when it says no, access is not open and the pointer may point into the kernel (CVE-2017-5123).
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.findings.finding import Observation
from reviewbot.rulebook.primitives import Effect, Result
from reviewbot.rules.context import Context

SLUG = "unchecked_begin"


def find(context: Context) -> Iterator[Observation]:
    """Every opener that says whether it opened, and is not asked."""
    for use in context.uses:
        opens = use.primitive.effect is Effect.OPEN and use.primitive.result is Result.STATUS
        if opens and use.call.is_discarded:
            yield Observation(
                rule=SLUG,
                variant="ignored",
                place=context.place(use.call.offset),
                callee=use.call.name,
                direction=use.primitive.direction.value,
                arch=(context.code.arch,) if context.code.arch else (),
                facts=(("callee", use.call.name), ("function", context.code.name)),
                key=(SLUG, context.code.path, context.code.name, use.call.name),
            )
