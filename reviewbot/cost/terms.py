"""A cost as a sum of terms: count × figure, written out as a person would check it."""

from __future__ import annotations

from collections.abc import Sequence

from reviewbot.cost.environment import Environment
from reviewbot.cost.interval import ZERO, plus, product, times, to_ns
from reviewbot.findings.finding import Confidence, Cost, Cycles, Per
from reviewbot.grammar import plural
from reviewbot.rulebook.cpu_models import CpuModel, Event, Figure, Trust
from reviewbot.values import dataclass

_LABELS = {
    Event.SWITCH: "switch",
    Event.PAIR: "pair",
    Event.FLUSH: "L1D flush",
    Event.ACCESS: "access",
    Event.READ_BARRIER: "read barrier",
    Event.SMALL_COPY: "small copy",
    Event.STORE_FORWARD: "store forwarding",
    Event.CALL: "call and return",
    Event.TRACE_RECORD: "tracer",
    Event.RETPOLINE: "retpoline",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """`count` times `each`; `text` is the product with typical values, `figures` are what it was made of."""

    count: float
    each: Cycles
    text: str
    figures: tuple[Figure, ...]

    @property
    def cycles(self) -> Cycles:
        return times(self.each, self.count)


def to_term(model: CpuModel, environment: Environment, event: Event, count: float) -> Term | None:
    """`count` times the figure for `event`, or None where there is none, or nothing to count."""
    figure = model.figure(event, environment.kernel)
    if figure is None or count == 0:
        return None
    each = _under(environment, figure)
    if each == ZERO:
        return None
    return Term(count=count, each=each, text=f"{_say(count)} × {_say(each.typ)} ({_LABELS[event]})", figures=(figure,))


def to_pair_term(model: CpuModel, environment: Environment, count: float, *, is_later: bool) -> Term | None:
    """`count` open and close pairs. With `is_later` they follow another pair, and cost the share that a later pair
    costs."""
    share = model.figure(Event.LATER_SHARE, environment.kernel) if is_later else None
    term = to_term(model, environment, Event.PAIR, count) or _to_switches(model, environment, count)
    if term is None or share is None:
        return term
    return Term(
        count=count,
        each=product(term.each, Cycles(low=share.low, typ=share.typ, high=share.high)),
        text=term.text.replace(" (", f" × {_say(share.typ)} (later ", 1),
        figures=(*term.figures, share),
    )


def _to_switches(model: CpuModel, environment: Environment, count: float) -> Term | None:
    term = to_term(model, environment, Event.SWITCH, count)
    if term is None:
        return None
    text = term.text.replace(" × ", " × 2 × ", 1)
    return Term(count=count, each=times(term.each, 2), text=text, figures=term.figures)


def to_switch_term(model: CpuModel, environment: Environment, count: float) -> Term | None:
    """`count` single opens or closes."""
    term = to_term(model, environment, Event.SWITCH, count)
    if term is not None:
        return term
    pair = to_term(model, environment, Event.PAIR, count)
    if pair is None:
        return None
    text = pair.text.replace("(pair)", "/ 2 (pair)")
    return Term(count=count, each=times(pair.each, 0.5), text=text, figures=pair.figures)


def _under(environment: Environment, figure: Figure) -> Cycles:
    """What the figure amounts to with the mitigations on, off, or perhaps on."""
    cycles = Cycles(low=figure.low, typ=figure.typ, high=figure.high)
    if not figure.mitigation or environment.mitigations:
        return cycles
    return ZERO if environment.mitigations is False else Cycles(low=0.0, typ=cycles.typ, high=cycles.high)


def to_cost(
    terms: Sequence[Term | None], model: CpuModel, environment: Environment, per: Per = Per.EXECUTION, note: str = ""
) -> Cost:
    """The sum of the terms on `model`, with its arithmetic, facts, confidence and, where a clock is known,
    nanoseconds."""
    present = [term for term in terms if term is not None]
    cycles = ZERO
    for term in present:
        cycles = plus(cycles, term.cycles)
    figures = [figure for term in present for figure in term.figures]
    clock = environment.clock_ghz or model.clock_ghz
    return Cost(
        cpu=model.name,
        cycles=cycles,
        per=per,
        confidence=Confidence(
            min((figure.trust for figure in figures), key=list(Trust).index, default=Trust.HIGH).value
        ),
        basis=_explain(present, cycles, figures),
        facts=tuple(dict.fromkeys(figure.fact for figure in figures)),
        ns=to_ns(cycles, clock) if clock is not None else None,
        note=" ".join(part for part in (note, _assumption(environment, figures)) if part),
    )


def _explain(terms: Sequence[Term], cycles: Cycles, figures: Sequence[Figure]) -> str:
    if not terms:
        return "0 cycles: no figure applies."
    total = f"{plural(cycles.typ, 'cycle', _say(cycles.typ))} ({_say(cycles.low)} to {_say(cycles.high)})"
    origins = ", ".join(dict.fromkeys(figure.origin.value for figure in figures))
    return f"{' + '.join(term.text for term in terms)} = {total}; {origins}"


def _assumption(environment: Environment, figures: Sequence[Figure]) -> str:
    if environment.mitigations is None and any(figure.mitigation for figure in figures):
        return "The low end is without mitigations, the typical value with them."
    return ""


def _say(value: float) -> str:
    """At most one decimal for large values, two for ratios, none where it is whole."""
    return f"{value:.0f}" if value == round(value) or abs(value) >= 100 else f"{value:.2f}".rstrip("0").rstrip(".")
