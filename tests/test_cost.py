"""Costs: interval arithmetic, the formula for each kind of finding, the environment, rates and budgets."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewbot.cost.budget import saved_by
from reviewbot.cost.environment import CpuChoice, Environment, default_cpu, find_cpu, list_models
from reviewbot.cost.estimate import estimate
from reviewbot.cost.interval import plus, product, times
from reviewbot.cost.rate import parse_base_rate, predict_rate
from reviewbot.errors import UsageError
from reviewbot.findings.finding import Access, Confidence, Cost, Cycles, Observation, Per, Place
from reviewbot.rulebook.book import load_rulebook
from reviewbot.rulebook.primitives import Direction, KernelVersion

BOOK = load_rulebook()
PLACE = Place(path="kernel/a.c", line=1)
ON = Environment(mitigations=True)
OFF = Environment(mitigations=False)


def observe(rule: str, *directions: str, arch: tuple[str, ...] = ("powerpc",), **changes: object) -> Observation:
    accesses = tuple(Access(primitive="put_user", direction=direction, place=PLACE) for direction in directions)
    pairs = len(accesses) or None
    base = Observation(rule=rule, variant="straight_line", place=PLACE, accesses=accesses, pairs=pairs, arch=arch)
    return replace(base, **changes)  # type: ignore[arg-type]


def on(cpu: str, observation: Observation, environment: Environment = ON) -> Cost:
    return estimate(observation, BOOK, CpuChoice(model=find_cpu(BOOK, cpu), environment=environment))


def cycles(cost: Cost) -> tuple[float, float, float]:
    return (cost.cycles.low, cost.cycles.typ, cost.cycles.high)


# --- Merging


def test_four_writes_into_one_block_on_power9() -> None:
    cost = on("POWER9", observe("repeated_pair", *["write"] * 4))
    assert cycles(cost) == (804, 1074, 1305)
    assert cost.ns is not None
    assert cost.ns.typ == pytest.approx(283, abs=0.5)
    assert cost.confidence is Confidence.LOW  # because of the flush
    assert cost.basis.startswith(
        "3 × 2 × 130 (switch) + 3 × 85 (L1D flush) + 3 × 13 (access) = 1074 cycles (804 to 1305)"
    )
    assert cost.facts == ("ppc64-p9-amr-switch", "ppc64-p9-uaccess-flush", "ppc64-p9-access-overhead")


def test_without_mitigations_there_is_no_flush_and_more_confidence() -> None:
    cost = on("POWER9", observe("repeated_pair", *["write"] * 4), OFF)
    assert cycles(cost) == (624, 819, 975)
    assert cost.confidence is Confidence.MEDIUM


def test_unknown_mitigations_lower_only_the_low_end_and_say_so() -> None:
    cost = on("POWER9", observe("repeated_pair", *["write"] * 4), Environment())
    assert cycles(cost) == (624, 1074, 1305)
    assert "without mitigations" in cost.note


@pytest.mark.parametrize(("version", "typ"), [((5, 9), 0), ((5, 10), 0), ((5, 11), 2 * 130)])
def test_hash_has_a_switch_since_5_11(version: tuple[int, int], typ: float) -> None:
    kernel = KernelVersion(major=version[0], minor=version[1])
    cost = on("POWER9-hash", observe("repeated_pair", "write", "write"), Environment(mitigations=False, kernel=kernel))
    assert cost.cycles.typ == typ + 13


@pytest.mark.parametrize(("version", "flush"), [((5, 9), 0), ((5, 10), 85), ((6, 1), 85)])
def test_the_flush_came_with_5_10(version: tuple[int, int], flush: float) -> None:
    kernel = KernelVersion(major=version[0], minor=version[1])
    cost = on("POWER9", observe("repeated_pair", "write", "write"), Environment(mitigations=True, kernel=kernel))
    assert cost.cycles.typ == 260 + flush + 13


def test_reads_on_book3s32_save_no_switch() -> None:
    cost = on("book3s32", observe("repeated_pair", "read", "read", "read"))
    assert cycles(cost) == (0, 2 * 5, 2 * 15)
    assert "below the noise" in cost.note


def test_a_mixture_on_book3s32_counts_the_writes() -> None:
    cost = on("book3s32", observe("repeated_pair", "read", "write", "write"))
    assert cost.cycles.typ == 1 * 40 + 2 * 5


@pytest.mark.parametrize("arch", ["arm64", "s390", "mips"])
def test_no_guard_no_switch_cycles(arch: str) -> None:
    cost = estimate(observe("repeated_pair", *["write"] * 9, arch=(arch,)), BOOK, CpuChoice())
    assert cycles(cost) == (0, 0, 0)
    assert "below the noise" in cost.note


def test_arm64_before_5_11_toggled_pan() -> None:
    kernel = KernelVersion(major=5, minor=10)
    cost = on("arm64", observe("repeated_pair", "write", "write", arch=("arm64",)), Environment(kernel=kernel))
    assert cycles(cost) == (2, 8, 30)


def test_a_later_pair_on_x86_costs_a_share() -> None:
    cost = on("Zen2", observe("repeated_pair", "write", "write", arch=("x86",)))
    assert cycles(cost) == pytest.approx((0.15 * 16, 0.5 * 60, 250))


@pytest.mark.parametrize(("version", "barrier"), [((6, 1), 12), ((6, 12), 0)])
def test_reads_on_x86_save_the_barrier_where_there_is_one(version: tuple[int, int], barrier: float) -> None:
    kernel = KernelVersion(major=version[0], minor=version[1])
    cost = on("Skylake", observe("repeated_pair", "read", "read", arch=("x86",)), replace(ON, kernel=kernel))
    assert cost.cycles.typ == 12 + barrier


def test_a_loop_saves_every_pair_of_an_iteration() -> None:
    cost = on("POWER9", observe("repeated_pair", "write", "write", per=Per.ITERATION), OFF)
    assert cost.per is Per.ITERATION
    assert cost.cycles.typ == 2 * (260 + 13)


def test_pairs_without_accesses_use_the_direction_of_the_observation() -> None:
    cost = on("book3s32", observe("repeated_pair", pairs=3, direction="read"))
    assert cost.cycles.typ == 2 * 5


# --- The other kinds


def test_a_small_copy_counts_no_switch() -> None:
    cost = on("POWER9", observe("small_copy", size_bytes=8))
    assert cycles(cost) == (12, 60, 300)
    assert "small" in cost.note
    assert "not understood" in cost.note


def test_reading_back_in_another_width_costs_a_failed_store_forward() -> None:
    cost = on("Zen2", observe("small_copy", arch=("x86",), facts=(("read_back", "other_width"),)))
    assert cycles(cost) == (8 + 18, 14 + 20, 40 + 22)


def test_a_traced_call_is_about_safety() -> None:
    cost = on("Skylake", observe("traced_call", arch=("x86",), variant="extern"))
    assert cycles(cost) == (4, 5, 6)
    assert "safety" in cost.note
    assert "tracer" in cost.note


def test_an_indirect_call_pays_the_retpoline() -> None:
    assert cycles(on("Skylake", observe("traced_call", arch=("x86",), variant="indirect"))) == (22, 26, 29)
    assert cycles(on("Skylake", observe("traced_call", arch=("x86",), variant="indirect"), OFF)) == (4, 5, 6)


def test_a_running_tracer_is_counted() -> None:
    cost = on("Skylake", observe("traced_call", arch=("x86",), variant="extern"), replace(ON, tracing=True))
    assert cycles(cost) == (4 + 28, 5 + 300, 6 + 1000)


def test_a_redundant_end_is_one_switch_and_one_flush() -> None:
    assert cycles(on("POWER9", observe("redundant_end", direction="write"))) == (164, 215, 260)
    assert cycles(on("book3s32", observe("redundant_end", direction="read"))) == (0, 0, 0)
    assert on("Skylake", observe("redundant_end", arch=("x86",))).cycles.typ == 12


@pytest.mark.parametrize("rule", sorted(set(BOOK.catalogue) - {"repeated_pair", "small_copy", "traced_call"}))
def test_every_level_2_rule_has_a_cost_and_says_that_it_is_about_safety(rule: str) -> None:
    cost = on("POWER9", observe(rule))
    assert cost.basis
    assert "safety" in cost.note


# --- CPUs


@pytest.mark.parametrize(
    ("arch", "cpu"),
    [
        ("powerpc", "POWER9"),
        ("x86", "Skylake"),
        ("arm64", "arm64"),
        ("riscv", "riscv"),
        ("s390", "s390"),
        ("arm", "arm"),
    ],
)
def test_each_architecture_has_a_default(arch: str, cpu: str) -> None:
    assert default_cpu(BOOK, arch).name == cpu


def test_generic_code_and_unknown_architectures() -> None:
    assert default_cpu(BOOK, None).name == "POWER9"
    assert default_cpu(BOOK, "mips").name == "unguarded"
    assert default_cpu(BOOK, "no_such_arch").name == "generic"


def test_a_cpu_that_does_not_run_the_code_gives_way_and_says_so() -> None:
    cost = on("POWER9", observe("small_copy", arch=("x86",)))
    assert cost.cpu == "Skylake"
    assert "POWER9 does not run this code." in cost.note


def test_a_named_cpu_serves_generic_code() -> None:
    assert on("Zen2", observe("small_copy", arch=())).cpu == "Zen2"


def test_cpus_are_found_by_alias_in_any_case_and_unknown_ones_named() -> None:
    assert find_cpu(BOOK, "mpc832x").name == "book3s32"
    with pytest.raises(UsageError, match=r"'Pentium'.*POWER9"):
        find_cpu(BOOK, "Pentium")


def test_nanoseconds_only_with_a_clock() -> None:
    observation = observe("repeated_pair", "write", "write", arch=("x86",))
    assert on("Skylake", observation).ns is None
    with_clock = on("Skylake", observation, replace(ON, clock_ghz=2.0)).ns
    assert with_clock is not None
    assert with_clock.typ == 6


def test_every_model_is_listed_with_its_figures() -> None:
    models = list_models(BOOK)
    assert [model.name for model in models] == sorted(BOOK.cpu_models)
    assert all(figure.source for model in models for figure in model.figures)


# --- Rates


@pytest.mark.parametrize(
    ("text", "per_s", "ghz"),
    [("158408/s@3.8GHz", 158408, 3.8), (" 1,000/s @ 132 MHz ", 1000, 0.132), ("2.5/s@1ghz", 2.5, 1.0)],
)
def test_base_rates_are_read(text: str, per_s: float, ghz: float) -> None:
    base = parse_base_rate(text)
    assert (base.per_s, base.clock_ghz) == pytest.approx((per_s, ghz))


@pytest.mark.parametrize(
    "text", ["", "158408", "158408/s", "158408@3.8GHz", "-1/s@3GHz", "0/s@3GHz", "1/s@0GHz", "x/s@3GHz"]
)
def test_other_base_rates_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="base rate"):
        parse_base_rate(text)


def test_a_saving_predicts_a_rate_and_a_gain() -> None:
    rate = predict_rate(100_000, 1.0, Cycles(low=0, typ=5000, high=8000))
    assert (rate.per_s.low, rate.per_s.typ, rate.per_s.high) == pytest.approx((100_000, 200_000, 500_000))
    assert (rate.gain_percent.low, rate.gain_percent.typ) == pytest.approx((0, 100))


def test_a_saving_larger_than_the_operation_is_refused() -> None:
    with pytest.raises(UsageError, match="10000 cycles"):
        predict_rate(100_000, 1.0, Cycles(low=0, typ=5000, high=10_000))


def test_below_the_noise() -> None:
    noise = find_cpu(BOOK, "POWER9").noise_percent
    assert predict_rate(100_000, 1.0, Cycles(low=0, typ=100, high=200)).is_below_noise(noise)
    assert not predict_rate(100_000, 1.0, Cycles(low=0, typ=1000, high=2000)).is_below_noise(noise)


# --- Budgets


def test_a_budget_that_does_not_change_saves_nothing() -> None:
    same = {Direction.READ: 3, Direction.WRITE: 2}
    cost = saved_by(same, same, find_cpu(BOOK, "POWER9"), ON)
    assert cycles(cost) == (0, 0, 0)


def test_more_pairs_than_before_cost_what_fewer_save() -> None:
    model = find_cpu(BOOK, "POWER9")
    fewer = saved_by({Direction.WRITE: 5}, {Direction.WRITE: 2}, model, ON).cycles
    more = saved_by({Direction.WRITE: 2}, {Direction.WRITE: 5}, model, ON).cycles
    assert (more.low, more.typ, more.high) == (-fewer.high, -fewer.typ, -fewer.low)


def test_directions_count_apart_where_the_cpu_guards_one() -> None:
    model = find_cpu(BOOK, "book3s32")
    reads = saved_by({Direction.READ: 5}, {Direction.READ: 1}, model, ON)
    writes = saved_by({Direction.WRITE: 5}, {Direction.WRITE: 1}, model, ON)
    assert reads.cycles.typ == 4 * 5
    assert "below the noise" in reads.note
    assert writes.cycles.typ == 4 * (40 + 5)


# --- Laws of the arithmetic

_numbers = st.floats(min_value=0, max_value=1e6)
_intervals = st.tuples(_numbers, _numbers, _numbers).map(
    lambda ends: Cycles(low=sorted(ends)[0], typ=sorted(ends)[1], high=sorted(ends)[2])
)


@given(_intervals, _intervals, st.floats(min_value=-100, max_value=100))
def test_results_stay_ordered(one: Cycles, other: Cycles, factor: float) -> None:
    for found in (plus(one, other), product(one, other), times(one, factor)):
        assert found.low <= found.typ <= found.high


@given(st.lists(st.sampled_from(["read", "write", "read_write"]), min_size=2, max_size=12))
def test_merging_more_never_saves_less(directions: list[str]) -> None:
    for model in BOOK.cpu_models.values():
        choice = CpuChoice(model=model, environment=ON)
        some = estimate(observe("repeated_pair", *directions, arch=()), BOOK, choice).cycles
        more = estimate(observe("repeated_pair", *directions, "write", arch=()), BOOK, choice).cycles
        assert some.typ <= more.typ
        assert some.low <= some.typ <= some.high
