"""Interval arithmetic on Cycles: every result holds whatever the true values within the intervals are."""

from __future__ import annotations

from reviewbot.findings.finding import Cycles

ZERO = Cycles(low=0.0, typ=0.0, high=0.0)


def plus(one: Cycles, other: Cycles) -> Cycles:
    return Cycles(low=one.low + other.low, typ=one.typ + other.typ, high=one.high + other.high)


def times(cycles: Cycles, factor: float) -> Cycles:
    """`factor` executions; a negative factor turns the interval round."""
    ends = sorted((cycles.low * factor, cycles.high * factor))
    return Cycles(low=ends[0], typ=cycles.typ * factor, high=ends[1])


def product(one: Cycles, other: Cycles) -> Cycles:
    """The product of two intervals that do not reach below 0."""
    return Cycles(low=one.low * other.low, typ=one.typ * other.typ, high=one.high * other.high)


def to_ns(cycles: Cycles, clock_ghz: float) -> Cycles:
    """The same span in nanoseconds."""
    return times(cycles, 1.0 / clock_ghz)
