"""A call that may sleep or schedule inside a block.

The state of user access is saved on interrupts but not on an explicit context switch: the next task runs with access
open, and this one later finds it shut (00ff1eaac129, 94902d849e85).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reviewbot.findings.finding import Observation
from reviewbot.rulebook.policy import CalleeForm
from reviewbot.rules.context import Context
from reviewbot.rules.traced_call import to_observation

SLUG = "sleep_in_block"


def find(context: Context) -> Iterator[Observation]:
    """Every call in a block to something that is known to sleep, whatever form it has."""
    for inside in context.inside:
        if inside.primitive is None and inside.call.name in context.book.words.sleeping:
            callees = [callee for callee in inside.callees if callee.form is not CalleeForm.BUILTIN and callee.form]
            for callee in callees[:1]:
                yield replace(to_observation(SLUG, context, inside, callee), variant="sleeps")
