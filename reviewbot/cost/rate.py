"""A base rate that the user measured, and the rate that saved cycles predict."""

from __future__ import annotations

import re

from reviewbot.errors import UsageError
from reviewbot.findings.finding import Cycles
from reviewbot.patterns import regex
from reviewbot.values import dataclass

_BASE_RATE = regex(r"\s*([0-9][0-9_,]*(?:\.[0-9]+)?)\s*/\s*s\s*@\s*([0-9]+(?:\.[0-9]+)?)\s*([GM])Hz\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseRate:
    """Operations a second, on a core at `clock_ghz`."""

    per_s: float
    clock_ghz: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Predicted operations a second (low <= typ <= high), and the gain over the base rate in percent."""

    per_s: Cycles
    gain_percent: Cycles

    def is_below_noise(self, noise_percent: tuple[float, float]) -> bool:
        """Whether code layout alone may move the rate as much: the typical gain lies below the noise's high end."""
        return abs(self.gain_percent.typ) < noise_percent[1]


def parse_base_rate(text: str) -> BaseRate:
    """Reads `158408/s@3.8GHz`. Raises UsageError."""
    match = _BASE_RATE.fullmatch(text)
    if match is None:
        raise UsageError(f'The base rate {text!r} is not understood; write it like "158408/s@3.8GHz".')
    per_s = float(match[1].replace("_", "").replace(",", ""))
    clock_ghz = float(match[2]) / (1.0 if match[3].upper() == "G" else 1000.0)
    if per_s <= 0 or clock_ghz <= 0:
        raise UsageError(f"The base rate {text!r} must be above 0, and so must its clock.")
    return BaseRate(per_s=per_s, clock_ghz=clock_ghz)


def predict_rate(base_rate_per_s: float, clock_ghz: float, saved: Cycles) -> Rate:
    """The rate when each operation takes `saved` cycles less. Raises UsageError if an operation has not that many."""
    hz = clock_ghz * 1e9
    operation = hz / base_rate_per_s
    if saved.high >= operation:
        raise UsageError(
            f"One operation takes {operation:.0f} cycles at {base_rate_per_s:.0f}/s and {clock_ghz} GHz, "
            f"fewer than may be saved ({saved.high:.0f}); check the rate and the clock."
        )
    low, typ, high = (hz / (operation - cycles) for cycles in (saved.low, saved.typ, saved.high))
    gains = [100.0 * (value / base_rate_per_s - 1.0) for value in (low, typ, high)]
    return Rate(
        per_s=Cycles(low=low, typ=typ, high=high), gain_percent=Cycles(low=gains[0], typ=gains[1], high=gains[2])
    )
