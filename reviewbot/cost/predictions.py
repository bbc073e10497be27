"""Budgets and a base rate that the user measured -> sentences with the rate that is to be expected."""

from __future__ import annotations

from collections.abc import Iterable

from reviewbot.cost.rate import BaseRate, predict_rate
from reviewbot.errors import UsageError
from reviewbot.findings.finding import Cycles
from reviewbot.findings.review import SwitchBudget
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesBudgets:
    """The budgets that a series changes; `entries` are those of them that nothing here calls. `notes` are sentences
    about what was not counted."""

    changed: tuple[SwitchBudget, ...] = ()
    entries: tuple[SwitchBudget, ...] = ()
    notes: tuple[str, ...] = ()


def predict(budgets: Iterable[SwitchBudget], base: BaseRate | None) -> tuple[str, ...]:
    """One sentence for each budget that saves or costs something; none without a base rate."""
    if base is None:
        return ()
    return tuple(
        f"{each.function.removesuffix('()')} on {each.saved.cpu}: {rate_sentence(each.saved.cycles, base)}"
        for each in budgets
        if each.saved is not None and each.saved.cycles != Cycles(low=0, typ=0, high=0)
    )


def rate_sentence(saved: Cycles, base: BaseRate) -> str:
    """The new rate when each operation makes one call less `saved`, or why there is none."""
    told = f"with one call per operation, {base.per_s:,.0f}/s at {base.clock_ghz:g} GHz"
    try:
        rate = predict_rate(base.per_s, base.clock_ghz, saved)
    except UsageError as error:
        return f"{told} cannot be right: {error}"
    low, typ, high = rate.per_s.low, rate.per_s.typ, rate.per_s.high
    gain = rate.gain_percent
    return (
        f"{told} becomes {typ:,.0f}/s ({low:,.0f} to {high:,.0f}), "
        f"{gain.typ:+.1f} % ({gain.low:+.1f} to {gain.high:+.1f})."
    )
