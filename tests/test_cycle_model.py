"""The cycle model against published measurements: what it was fitted to, what it predicts, and what it does not
explain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from reviewbot.cost.budget import cost_of_switches, saved_by
from reviewbot.cost.environment import Environment, find_cpu
from reviewbot.cost.rate import predict_rate
from reviewbot.findings.finding import Cycles
from reviewbot.rulebook.book import load_rulebook
from reviewbot.rulebook.cpu_models import Event, Figure
from reviewbot.rulebook.primitives import Direction, KernelVersion

BOOK = load_rulebook()
P9 = find_cpu(BOOK, "POWER9")
P9_HASH = find_cpu(BOOK, "POWER9-hash")
E300 = find_cpu(BOOK, "book3s32")
GHZ = 3.8  # assumed for every POWER9 table: the mails give no clock
V5_9 = KernelVersion(major=5, minor=9)  # before the L1D flush, and before hash had KUAP
BEFORE_FLUSH = Environment(mitigations=True, kernel=V5_9)
WITH_FLUSH = Environment(mitigations=True, kernel=KernelVersion(major=5, minor=11))
NO_FLUSH = Environment(mitigations=False)


def merged(pairs: int, environment: Environment) -> Cycles:
    """Cycles saved on POWER9 by `pairs` fewer pairs, the accesses remaining."""
    return saved_by({Direction.WRITE: pairs + 11}, {Direction.WRITE: 11}, P9, environment).cycles


def switches(count: int) -> Cycles:
    return cost_of_switches(count, P9, NO_FLUSH).cycles


def rate(base: float, saved: Cycles) -> Cycles:
    return predict_rate(base, GHZ, saved).per_s


def without_guard(operation: float, environment: Environment, switches_left: int) -> Cycles:
    """An operation measured without KUAP, less what merging 33 accesses saves beside switches, plus the switches
    left."""
    saved = merged(33, environment)
    pairs = cost_of_switches(66, P9, NO_FLUSH).cycles
    left = switches(switches_left)
    return Cycles(
        low=operation - (saved.high - pairs.high) + left.low,
        typ=operation - (saved.typ - pairs.typ) + left.typ,
        high=operation - (saved.low - pairs.low) + left.high,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row: what the model says (low, typ, high, as worked out by hand), what was published, and whether the
    figures of the model were fitted to this very row. `error_percent` is how far the typical value is off."""

    name: str
    model: Callable[[], Cycles]
    by_hand: tuple[float, float, float]
    published: float
    error_percent: float
    in_sample: bool
    tolerance: float = 0.5


T1_RADIX_NEXT, T2_RADIX_NEXT, T2_HASH_NEXT = 158408, 133296, 118693
CASES = [
    Case(
        name="T1 radix saving: 33 x (260+13)",
        model=lambda: merged(33, BEFORE_FLUSH),
        by_hand=(6864, 9009, 10725),
        published=8972,
        error_percent=0.4,
        in_sample=True,
    ),
    Case(
        name="T1 radix unsafe, ops/s",
        model=lambda: rate(T1_RADIX_NEXT, merged(33, BEFORE_FLUSH)),
        by_hand=(221900, 253700, 286500),
        published=253053,
        error_percent=0.2,
        in_sample=True,
        tolerance=100,
    ),
    Case(
        name="T2 KUAP cost, radix: 88 x 130",
        model=lambda: switches(88),
        by_hand=(9152, 11440, 13200),
        published=11889,
        error_percent=-3.8,
        in_sample=False,
    ),
    Case(
        name="T2 KUAP and KUEP cost, hash: 112 x 130",
        model=lambda: switches(112),
        by_hand=(11648, 14560, 16800),
        published=15415,
        error_percent=-5.5,
        in_sample=False,
    ),
    Case(
        name="T2 radix saving: 33 x (260+85+13)",
        model=lambda: merged(33, WITH_FLUSH),
        by_hand=(8844, 11814, 14355),
        published=12273,
        error_percent=-3.7,
        in_sample=True,
    ),
    Case(
        name="T2 radix unsafe, ops/s",
        model=lambda: rate(T2_RADIX_NEXT, merged(33, WITH_FLUSH)),
        by_hand=(193000, 227600, 268500),
        published=234067,
        error_percent=-2.8,
        in_sample=True,
        tolerance=700,
    ),
    Case(
        name="T2 hash saving",
        model=lambda: merged(33, WITH_FLUSH),
        by_hand=(8844, 11814, 14355),
        published=13061,
        error_percent=-9.5,
        in_sample=True,
    ),
    Case(
        name="T2 hash unsafe, ops/s",
        model=lambda: rate(T2_HASH_NEXT, merged(33, WITH_FLUSH)),
        by_hand=(164000, 188100, 215000),
        published=200480,
        error_percent=-6.2,
        in_sample=True,
        tolerance=700,
    ),
    Case(
        name="T2 radix unsafe from the row without KUAP: 16619 - 33 x 98 + 22 x 130",
        model=lambda: without_guard(16619, WITH_FLUSH, 22),
        by_hand=(14452, 16245, 17939),
        published=16235,
        error_percent=0.1,
        in_sample=True,
    ),
    Case(
        name="T2 hash unsafe from the row without KUAP: 16600 - 33 x 98 + 46 x 130",
        model=lambda: without_guard(16600, WITH_FLUSH, 46),
        by_hand=(16929, 19346, 21520),
        published=18954,
        error_percent=2.1,
        in_sample=True,
    ),
    Case(
        name="null syscall at 2.90 GHz, 4 writes of AMR and IAMR",
        model=lambda: switches(4),
        by_hand=(416, 520, 600),
        published=473,
        error_percent=10.0,
        in_sample=False,
    ),
    Case(
        name="null syscall at 2.90 GHz, 2 writes",
        model=lambda: switches(2),
        by_hand=(208, 260, 300),
        published=289,
        error_percent=-10.0,
        in_sample=False,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_model_says_what_was_worked_out_by_hand(case: Case) -> None:
    found = case.model()
    assert (found.low, found.typ, found.high) == pytest.approx(case.by_hand, abs=case.tolerance)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_published_value_lies_in_the_interval(case: Case) -> None:
    found = case.model()
    assert found.low <= case.published <= found.high


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_error_of_the_typical_value_is_as_recorded(case: Case) -> None:
    error = 100.0 * (case.model().typ / case.published - 1.0)
    assert error == pytest.approx(case.error_percent, abs=0.4)


def test_enough_cases_were_not_fitted() -> None:
    """Rows that the figures were fitted to prove nothing; these four are the honest ones."""
    assert sum(not case.in_sample for case in CASES) == 4


# --- What the model does not explain. These fail when tuning makes a misfit disappear unseen.


def test_misfit_one_extra_get_user_on_hash() -> None:
    """192467 to about 197k ops/s by one __get_user() less is 405 to 503 cycles, 454 in the middle; the model has
    358."""
    found = saved_by({Direction.READ: 1}, {}, P9_HASH, WITH_FLUSH).cycles
    assert (found.low, found.typ, found.high) == (268, 358, 435)
    assert found.high < 454


def test_misfit_unexplained_one_and_a_half_percent() -> None:
    """789 cycles were lost on hash with the copy routine; an extra access and one small copy leave some 230 to 280
    and more."""
    lost = GHZ * 1e9 / 192467 - GHZ * 1e9 / 200480
    access = 454.0  # the measured one, which flatters the model
    copy = _figure("POWER9", Event.SMALL_COPY)
    unexplained = lost - access - copy.typ
    assert lost == pytest.approx(789, abs=1)
    assert 230 <= unexplained <= 285
    assert unexplained / (GHZ * 1e9 / 192467) == pytest.approx(0.0139, abs=0.002)
    assert copy.high >= 289  # the only reason why the step 197k to 200k lies within the interval
    assert copy.typ < 289 / 3


def test_misfit_null_syscall_at_132_mhz() -> None:
    """336.17 to 459.30 cycles with no change of any user access: the model says 0, and the core's own noise is as
    large."""
    model = find_cpu(BOOK, "8xx")
    unchanged = saved_by({Direction.WRITE: 2}, {Direction.WRITE: 2}, model, Environment()).cycles
    assert (unchanged.low, unchanged.high) == (0, 0)
    added = 459.30 - 336.17
    assert added > 100
    assert model.noise_percent[1] >= 100 * added / 336.17


@pytest.mark.parametrize(("seconds", "cycles"), [(5.82, 1848), (6.64, 2109)])
def test_misfit_dd_on_mpc832x(seconds: float, cycles: float) -> None:
    """5.29 s grew to 5.82 and 6.64 s for 1048576 iterations at 333 MHz; no switch was added, so the model says 0."""
    each = seconds * 333e6 / 1048576
    before = 5.29 * 333e6 / 1048576
    unchanged = saved_by({Direction.WRITE: 1}, {Direction.WRITE: 1}, E300, Environment()).cycles
    assert each == pytest.approx(cycles, abs=1)
    assert (unchanged.low, unchanged.high) == (0, 0)
    assert not unchanged.low <= each - before <= unchanged.high


def test_misfit_signal32_on_mpc832x() -> None:
    """2.55 s to 1.73 s, if it was 100000 signals, is 341 cycles for each of 8 write pairs: far above any pair of the
    model."""
    per_pair = (2.55 - 1.73) * 333e6 / 100000 / 8
    model = saved_by({Direction.WRITE: 1}, {}, E300, Environment(kernel=KernelVersion(major=5, minor=14))).cycles
    assert per_pair == pytest.approx(341, abs=1)
    assert per_pair > 2 * model.high


def test_misfit_early_three_percent() -> None:
    """The first posting of KUAP for radix said about 3 %, 30 to 60 cycles a switch; the tables say more than 100."""
    assert _figure("POWER9", Event.SWITCH).low > 60


# --- Consistency of the figures


def test_one_fact_has_one_value() -> None:
    seen: dict[str, tuple[float, float, float]] = {}
    for model in BOOK.cpu_models.values():
        for figure in model.figures:
            values = (figure.low, figure.typ, figure.high)
            assert seen.setdefault(figure.fact, values) == values, figure.fact


@pytest.mark.parametrize("name", sorted(BOOK.cpu_models))
def test_every_figure_is_ordered_and_sourced(name: str) -> None:
    for figure in BOOK.cpu_models[name].figures:
        assert 0 <= figure.low <= figure.typ <= figure.high
        assert figure.source
        assert figure.fact


@pytest.mark.parametrize("name", sorted(BOOK.cpu_models))
def test_an_estimate_is_never_sure_of_itself(name: str) -> None:
    for figure in BOOK.cpu_models[name].figures:
        if figure.origin.value == "estimate":
            assert figure.trust.value == "low"


PROMISED = """
    POWER8 POWER9 POWER9-hash POWER10 POWER10-hash book3s32 8xx booke Skylake Ice-Lake Zen2 Zen3 Zen4
    arm64 arm64-sw-pan FU540 riscv s390 arm generic
"""


@pytest.mark.parametrize("name", PROMISED.split())
def test_the_models_that_are_promised_are_there(name: str) -> None:
    assert find_cpu(BOOK, name).name == name


def _figure(name: str, event: Event) -> Figure:
    figure = find_cpu(BOOK, name).figure(event)
    assert figure is not None
    return figure
