"""Pairs per call before and after -> what the difference saves."""

from __future__ import annotations

from collections.abc import Mapping

from reviewbot.cost.environment import Environment
from reviewbot.cost.estimate import is_guarded
from reviewbot.cost.terms import to_cost, to_pair_term, to_switch_term, to_term
from reviewbot.findings.finding import Cost
from reviewbot.rulebook.cpu_models import CpuModel, Event
from reviewbot.rulebook.primitives import Direction


def saved_by(
    before: Mapping[Direction, int],
    after: Mapping[Direction, int],
    model: CpuModel,
    environment: Environment,
    *,
    other_switches_saved: int = 0,
) -> Cost:
    """What one call saves when its pairs per direction go from `before` to `after`; negative where it becomes dearer.

    The accesses themselves are taken to remain, each without its own check. `other_switches_saved` are single
    switches beside the pairs (kernel entries on hash).
    """
    saved = {direction: before.get(direction, 0) - after.get(direction, 0) for direction in Direction}
    guarded = sum(count for direction, count in saved.items() if is_guarded(model, direction))
    reads = saved[Direction.READ] + saved[Direction.READ_WRITE]
    terms = [
        to_pair_term(model, environment, guarded, is_later=True),
        to_term(model, environment, Event.FLUSH, guarded),
        to_term(model, environment, Event.ACCESS, sum(saved.values())),
        to_term(model, environment, Event.READ_BARRIER, reads),
        to_switch_term(model, environment, other_switches_saved),
    ]
    note = (
        "" if guarded or not any(saved.values()) else "This CPU makes no switch in these directions: below the noise."
    )
    return to_cost(terms, model, environment, note=note)


def cost_of_switches(count: int, model: CpuModel, environment: Environment) -> Cost:
    """What `count` single switches cost by themselves, without flush and check."""
    return to_cost([to_switch_term(model, environment, count)], model, environment)


def cost_of_pairs(pairs: Mapping[Direction, int], model: CpuModel, environment: Environment, *, note: str = "") -> Cost:
    """What this many pairs cost by themselves, with the flush at each close; the accesses between are not in it."""
    guarded = sum(count for direction, count in pairs.items() if is_guarded(model, direction))
    terms = [
        to_pair_term(model, environment, guarded, is_later=False),
        to_term(model, environment, Event.FLUSH, guarded),
    ]
    return to_cost(terms, model, environment, note=note)
