"""Observation + CPU model -> Cost, by the kind of finding.

Merging n accesses into one block saves (n − 1) × (later share × pair + flush + access), the pairs only of directions
that the CPU guards; a small copy costs a call and a loop above an access in place, and its pair is the same before
and after; a call in a block costs little, and is reported for safety.
"""

from __future__ import annotations

from collections.abc import Callable

from reviewbot.cost.environment import CpuChoice, Environment, choose_cpu
from reviewbot.cost.terms import Term, to_cost, to_pair_term, to_switch_term, to_term
from reviewbot.findings.finding import Cost, Cycles, Observation, Per
from reviewbot.rulebook.book import Rulebook
from reviewbot.rulebook.cpu_models import CpuModel, Event
from reviewbot.rulebook.primitives import Direction, Guard

_SAFETY = "Reported for safety, not for speed."
_SMALL = "The gain is small, and the high end of the interval is not understood."
_NO_SWITCH = "This CPU makes no switch here, so merging saves none: below the noise."


def estimate(observation: Observation, book: Rulebook, choice: CpuChoice) -> Cost:
    """What the finding costs per execution (or iteration) on the chosen CPU, or the default of its architecture."""
    model, note = choose_cpu(book, choice, observation.arch)
    price = _PRICES.get(observation.rule, _price_safety)
    terms, own_note = price(observation, model, choice.environment)
    notes = " ".join(part for part in (note, own_note) if part)
    return to_cost(terms, model, choice.environment, observation.per, notes)


def is_guarded(model: CpuModel, direction: Direction) -> bool:
    """Whether the CPU has a switch for accesses in this direction."""
    if model.guards is Guard.WRITE:
        return direction is not Direction.READ
    return model.guards is Guard.BOTH


_Priced = tuple[list[Term | None], str]


def _price_repeated_pair(observation: Observation, model: CpuModel, environment: Environment) -> _Priced:
    directions = _directions(observation)
    # One pair remains; outside a loop it is one of these, around a loop it is paid once and not in each iteration.
    kept = 0 if observation.per is Per.ITERATION else 1
    guarded = max(0, sum(is_guarded(model, direction) for direction in directions) - kept)
    reads = max(0, sum(direction is not Direction.WRITE for direction in directions) - kept)
    terms = [
        to_pair_term(model, environment, guarded, is_later=True),
        to_term(model, environment, Event.FLUSH, guarded),
        to_term(model, environment, Event.ACCESS, len(directions) - kept),
        to_term(model, environment, Event.READ_BARRIER, reads),
    ]
    return terms, "" if terms[0] is not None else _NO_SWITCH


def _directions(observation: Observation) -> list[Direction]:
    """The direction of each pair; what the accesses do not tell is as the observation says, or both."""
    known = [Direction(access.direction) for access in observation.accesses]
    count = observation.pairs or len(known) or 2
    rest = Direction(observation.direction or Direction.READ_WRITE.value)
    return (known * (count // len(known) + 1))[:count] if known else [rest] * count


def _price_small_copy(observation: Observation, model: CpuModel, environment: Environment) -> _Priced:
    reads_back = ("read_back", "other_width") in observation.facts
    terms = [
        to_term(model, environment, Event.SMALL_COPY, 1),
        to_term(model, environment, Event.STORE_FORWARD, 1 if reads_back else 0),
    ]
    return terms, _SMALL


def _price_traced_call(observation: Observation, model: CpuModel, environment: Environment) -> _Priced:
    terms = [
        to_term(model, environment, Event.CALL, 1),
        to_term(model, environment, Event.RETPOLINE, 1 if observation.variant == "indirect" else 0),
        _to_tracer(model, environment) if environment.tracing else None,
    ]
    idle = model.figure(Event.TRACE_IDLE, environment.kernel)
    traced = f" A running tracer adds {idle.typ:.0f} cycles or more." if idle and not environment.tracing else ""
    return terms, _SAFETY + traced


def _to_tracer(model: CpuModel, environment: Environment) -> Term | None:
    """From an empty handler (low end) to one that records."""
    record = to_term(model, environment, Event.TRACE_RECORD, 1)
    idle = model.figure(Event.TRACE_IDLE, environment.kernel)
    if record is None or idle is None:
        return record
    each = Cycles(low=idle.low, typ=record.each.typ, high=record.each.high)
    return Term(count=1, each=each, text=record.text, figures=(*record.figures, idle))


def _price_redundant_end(observation: Observation, model: CpuModel, environment: Environment) -> _Priced:
    count = 1 if _is_switch(observation, model) else 0
    terms = [to_switch_term(model, environment, count), to_term(model, environment, Event.FLUSH, count)]
    return terms, _SAFETY


def _price_nested_block(observation: Observation, model: CpuModel, environment: Environment) -> _Priced:
    count = 1 if _is_switch(observation, model) else 0
    terms = [to_pair_term(model, environment, count, is_later=True), to_term(model, environment, Event.FLUSH, count)]
    return terms, _SAFETY


def _is_switch(observation: Observation, model: CpuModel) -> bool:
    return is_guarded(model, Direction(observation.direction or Direction.READ_WRITE.value))


def _price_safety(observation: Observation, model: CpuModel, environment: Environment) -> _Priced:
    return [], _SAFETY


_PRICES: dict[str, Callable[[Observation, CpuModel, Environment], _Priced]] = {
    "repeated_pair": _price_repeated_pair,
    "small_copy": _price_small_copy,
    "traced_call": _price_traced_call,
    "redundant_end": _price_redundant_end,
    "nested_block": _price_nested_block,
}
