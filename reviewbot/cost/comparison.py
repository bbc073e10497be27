"""A posted change beside the cycles that the model predicts for it: agrees, disagrees, says nothing, or not
comparable."""

from __future__ import annotations

from enum import Enum

from reviewbot.cost.readings import Reading
from reviewbot.findings.finding import Cycles
from reviewbot.values import dataclass

_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


class Verdict(Enum):
    AGREES = "agrees"  # the published saving lies within the predicted interval
    DISAGREES = "disagrees"
    SAYS_NOTHING = "says nothing"  # the published change is no larger than code layout alone may make it
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`published_cycles` is the saving per operation, where it can be worked out; `reason` one sentence with the
    arithmetic."""

    verdict: Verdict
    reason: str
    published_cycles: float | None = None


def compare(
    before: Reading,
    after: Reading,
    predicted: Cycles,
    *,
    clock_ghz: float | None,
    operations: float | None = None,
    noise_percent: tuple[float, float] = (1.0, 2.0),
) -> Comparison:
    """Sets a change from `before` to `after` beside `predicted` cycles per operation.

    Rates ("ops/s", or no unit) need a clock; a time needs one as well, and the number of `operations` it was measured
    over, unless it is a time per operation.
    """
    if before.unit != after.unit:
        return _not_comparable(f"the units differ ({before.unit or 'none'} and {after.unit or 'none'})")
    ends = [_to_cycles(reading, clock_ghz, operations) for reading in (before, after)]
    if isinstance(ends[0], str) or isinstance(ends[1], str):
        return _not_comparable(str(next(end for end in ends if isinstance(end, str))))
    return _judge(ends[0], ends[1], predicted, noise_percent)


def _judge(before: float, after: float, predicted: Cycles, noise_percent: tuple[float, float]) -> Comparison:
    saved = before - after
    told = f"{before:.0f} - {after:.0f} = {saved:.0f} cycles per operation"
    model = f"the model says {predicted.low:.0f} to {predicted.high:.0f}, typically {predicted.typ:.0f}"
    if predicted.low <= saved <= predicted.high:
        verdict = Verdict.AGREES
    elif abs(saved) <= noise_percent[1] / 100.0 * before:
        verdict = Verdict.SAYS_NOTHING
        model += f", and {noise_percent[1]:.0f} % may be code layout"
    else:
        verdict = Verdict.DISAGREES
    return Comparison(verdict=verdict, reason=f"Published {told}; {model}.", published_cycles=saved)


def _not_comparable(why: str) -> Comparison:
    return Comparison(verdict=Verdict.NOT_COMPARABLE, reason=f"Not comparable: {why}.")


def _to_cycles(reading: Reading, clock_ghz: float | None, operations: float | None) -> float | str:
    """Cycles per operation, or why they cannot be worked out."""
    if reading.value <= 0:
        return "a figure is not above 0"
    if reading.unit == "cycles":
        return reading.value
    if reading.unit == "%":
        return "a percentage has no base rate"
    if clock_ghz is None:
        return "no clock is known"
    if reading.unit in ("ops/s", ""):
        return clock_ghz * 1e9 / reading.value
    if reading.unit in ("ms", "s") and operations is None:
        return "the number of operations is not stated"
    return reading.value * _NS[reading.unit] * clock_ghz / (operations or 1.0)
