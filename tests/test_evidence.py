"""Benchmark figures in mails: every form is found, with who, when and on what; prose and patches are not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from reviewbot.cost.budget import saved_by
from reviewbot.cost.changes import find_changes
from reviewbot.cost.comparison import Verdict, compare
from reviewbot.cost.environment import Environment
from reviewbot.cost.evidence import Evidence, find_evidence, own_lines
from reviewbot.cost.posted_figures import find_posted
from reviewbot.cost.readings import Form, Reading, to_number
from reviewbot.findings.finding import Cycles
from reviewbot.mail.message import Address, Message
from reviewbot.rulebook.book import load_rulebook
from reviewbot.rulebook.primitives import Direction

BOOK = load_rulebook()


def to_message(body: str) -> Message:
    someone = Address(name="Ada Tester", email="ada@example.org")
    return Message(
        message_id="bench-1@example.org",
        subject="Re: [PATCH v2 0/3] Copy less",
        author=someone,
        sender=someone,
        date=datetime(2024, 5, 6, 7, 8, tzinfo=UTC),
        in_reply_to=None,
        references=(),
        to=(),
        cc=(),
        headers=(),
        body=body,
        origin="a test",
        is_automatic=False,
    )


def find(body: str) -> tuple[Evidence, ...]:
    return find_evidence([to_message(body)], BOOK)


def values(item: Evidence) -> list[tuple[float, str, str]]:
    return [(reading.value, reading.unit, reading.label) for reading in item.readings]


# --- Nothing there


@pytest.mark.parametrize(
    "body",
    [
        "",
        "Looks good to me.\n\nReviewed-by: Ada Tester <ada@example.org>\n",
        " 5 files changed, 194 insertions(+), 107 deletions(-)\n",
        " kernel/signal.c | 35 +++++++++++++++\n",
        "> It went from 2.55s to 1.73s here.\n",
        "> > | kernel | ops |\n> > | next | 100 |\n",
        "diff --git a/a.c b/a.c\n@@ -1,2 +1,2 @@\n-  5 s\n+  6 s\n",
        'Fixes: 0123456789ab ("x: y")\nSent on 12/05/2024 at 10:30:15.\n',
        "See v5.12 and version 2 of the series, patch 3/8.\n",
        "The block covers 128 bytes and 16 registers.\n",
        "-- \nAda, 24 cycles a day\n",
        "It moves from patch 2 to patch 3.\n",
        "real life is hard\nuser space as well\n",
        "Chapter 4 says so.\n12\n",
        "if (x > 5) return 7;\n",
    ],
)
def test_no_figure_is_seen_in(body: str) -> None:
    assert find(body) == ()


# --- The forms


def test_a_pipe_table_with_rows_and_columns() -> None:
    body = """Numbers from an idle box:

        sig1_threads -t1 -s10

        |         | hash   | radix   |
        | ------- | -----: | ------- |
        | next    | 111000 | 222,000 |
        | patched | 333000 | ~444k   |
"""
    (item,) = find(body)
    assert item.form is Form.TABLE
    assert item.line == 5
    assert item.quote.count("\n") == 3
    assert item.benchmark == "sig1_threads -t1 -s10"
    assert values(item)[0] == (111000, "", "next / hash")
    assert values(item)[1] == (222000, "", "next / radix")
    assert values(item)[2] == (333000, "", "patched / hash")


def test_rows_below_a_table_take_its_header() -> None:
    body = (
        "| kernel | a | b |\n| --- | --- | --- |\n| next | 1 | 2 |\n\nand with the alternative:\n\n| other | 3 | 4 |\n"
    )
    first, second = find(body)
    assert values(first) == [(1, "", "next / a"), (2, "", "next / b")]
    assert values(second) == [(3, "", "other / a"), (4, "", "other / b")]


def test_cells_with_units() -> None:
    (item,) = find("| case | before | after |\n|---|---|---|\n| open | 120 ns | 90 ns |\n")
    assert values(item) == [(120, "ns", "open / before"), (90, "ns", "open / after")]


@pytest.mark.parametrize(
    ("sentence", "before", "after", "unit"),
    [
        ("The loop went from 2.5s to 1.7s.", 2.5, 1.7, "s"),
        ("It drops from 2.5 down to 1.7 seconds", 2.5, 1.7, "s"),
        ("goes from 1.9s down to 1.5s,\nthat is quicker", 1.9, 1.5, "s"),
        ("it grows from\n900 ns to 1200 ns", 900, 1200, "ns"),
        ("from ~150k to ~180k here", 150_000, 180_000, ""),
        ("from 1,200 cycles to 900 cycles", 1200, 900, "cycles"),
    ],
)
def test_a_change(sentence: str, before: float, after: float, unit: str) -> None:
    item = find(sentence)[0]
    assert item.form is Form.CHANGE
    assert values(item) == [(before, unit, "before"), (after, unit, "after")]


def test_real_user_and_sys() -> None:
    (item,) = find("$ time ./loop\n\nreal\t0m2.500s\nuser\t0m0.100s\nsys\t1m2,400s\n")
    assert item.form is Form.TIMES
    assert item.benchmark == "time ./loop"
    assert values(item) == [(2.5, "s", "real"), (0.1, "s", "user"), (62.4, "s", "sys")]


def test_perf_stat() -> None:
    body = """
     1,234,567      cycles                    #    3.1 GHz
       765,432      instructions:u            #    0.62  insn per cycle
        412.55 msec task-clock                #    0.99 CPUs utilized

       0.413000 seconds time elapsed
"""
    found = find(body)
    assert {item.form for item in found} == {Form.PERF_STAT}
    assert [values(item)[0] for item in found] == [
        (1234567, "cycles", "cycles"),
        (765432, "", "instructions:u"),
        (412.55, "ms", "task-clock"),
        (0.413, "s", "time elapsed"),
    ]


def test_a_profile() -> None:
    (item,) = find(
        "    12.50%  loop     [kernel.kallsyms]  [k] copy_words\n     1.25%  loop  libc-2.30.so  [.] write\n"
    )
    assert item.form is Form.PROFILE
    assert values(item) == [(12.5, "%", "copy_words"), (1.25, "%", "write")]


def test_rows_of_one_figure_and_its_command() -> None:
    (item,) = find("~# chrt -f 98 ./switcher\n1001\n1002\n1003\n")
    assert item.form is Form.ROW
    assert item.benchmark == "chrt -f 98 ./switcher"
    assert [reading.value for reading in item.readings] == [1001, 1002, 1003]


def test_ns_and_cycles_on_one_line_give_the_clock() -> None:
    (item,) = find("~# ./nullcall\n    1000.00 ns     250.00 cycles\n")
    assert item.form is Form.LINE
    assert item.clock_ghz == pytest.approx(0.25)


def test_without_and_with_are_told_apart() -> None:
    without, with_it = find("Without the series it runs in 5.5 seconds.\nWith it, 6.0 seconds, that is 9% more.\n")
    assert values(without) == [(5.5, "s", "before")]
    assert values(with_it) == [(6.0, "s", "after"), (9, "%", "after")]


# --- Around the figures


def test_who_when_and_where() -> None:
    (item,) = find("Measured on a MPC832x at 333 MHz with CONFIG_PPC_KUAP=y:\n\nfrom 3s to 2s\n")
    assert item.author.name == "Ada Tester"
    assert item.date == datetime(2024, 5, 6, 7, 8, tzinfo=UTC)
    assert item.message_id == "bench-1@example.org"
    assert item.line == 3
    assert item.cpus == ("book3s32",)
    assert item.clock_ghz == pytest.approx(0.333)
    assert item.settings == ("CONFIG_PPC_KUAP=y",)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("a P9 box", ("POWER9",)),
        ("a power9 guest", ("POWER9",)),
        ("Zen2, and Skylake as well", ("Skylake", "Zen2")),
        ("on arm64 and s390", ()),
        ("any generic box", ()),
        ("POWER90", ()),
    ],
)
def test_cpus_are_known_by_their_names(text: str, cpus: tuple[str, ...]) -> None:
    assert find(f"{text}: from 3s to 2s\n")[0].cpus == cpus


def test_two_clocks_are_no_clock() -> None:
    assert find("2 GHz against 3 GHz: from 3s to 2s\n")[0].clock_ghz is None


def test_order_is_that_of_the_messages_and_lines() -> None:
    messages = [to_message("from 3s to 2s\n\nfrom 5s to 4s\n"), to_message("from 9s to 8s\n")]
    assert [item.readings[0].value for item in find_evidence(messages, BOOK)] == [3, 5, 9]


def test_own_lines_keep_their_numbers() -> None:
    assert own_lines("a\n> b\nc\n-- \nd") == ["a", "", "c", "", ""]


@pytest.mark.parametrize("length", [0, 1, 5000])
def test_long_lines_do_not_run_away(length: int) -> None:
    assert find_posted(["1" * length + " " + "1," * length + "x" * length]) == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("253,053", 253053),
        ("0,8", 0.8),
        ("2.55", 2.55),
        ("1,234.5", 1234.5),
        ("197k", 197000),
        ("12 K", 12000),
        ("7", 7),
    ],
)
def test_numbers_as_people_write_them(text: str, number: float) -> None:
    assert to_number(text) == pytest.approx(number)


# --- Beside a prediction

PREDICTED = Cycles(low=800, typ=1000, high=1200)


def rate(value: float) -> Reading:
    return Reading(value=value, unit="ops/s")


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (100_000, 111_111, Verdict.AGREES),  # 10000 to 9000 cycles at 1 GHz
        (100_000, 200_000, Verdict.DISAGREES),
        (100_000, 100_100, Verdict.SAYS_NOTHING),
        (100_000, 90_000, Verdict.DISAGREES),
    ],
)
def test_rates_are_set_beside_the_prediction(before: float, after: float, verdict: Verdict) -> None:
    found = compare(rate(before), rate(after), PREDICTED, clock_ghz=1.0)
    assert found.verdict is verdict
    assert "cycles per operation" in found.reason


@pytest.mark.parametrize(
    ("before", "after", "clock", "why"),
    [
        (rate(100), rate(200), None, "no clock"),
        (Reading(value=2.5, unit="s"), Reading(value=1.7, unit="s"), 1.0, "number of operations"),
        (Reading(value=5, unit="%"), Reading(value=4, unit="%"), 1.0, "base rate"),
        (Reading(value=5, unit="ns"), Reading(value=4, unit="cycles"), 1.0, "units differ"),
        (rate(0), rate(1), 1.0, "not above 0"),
    ],
)
def test_what_cannot_be_compared_says_why(before: Reading, after: Reading, clock: float | None, why: str) -> None:
    found = compare(before, after, PREDICTED, clock_ghz=clock)
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert why in found.reason
    assert found.published_cycles is None


def test_a_time_over_known_operations_is_comparable() -> None:
    found = compare(
        Reading(value=2.0, unit="s"), Reading(value=1.0, unit="s"), PREDICTED, clock_ghz=1.0, operations=1_000_000
    )
    assert found.verdict is Verdict.AGREES
    assert found.published_cycles == pytest.approx(1000)


# --- Before and after


def changes(body: str) -> list[tuple[str, float, float, str]]:
    return [(c.what, c.before.value, c.after.value, c.before.unit) for c in find_changes(find(body))]


def test_each_column_of_a_table_changes_from_its_first_row() -> None:
    body = "| kernel | hash | radix |\n|---|---|---|\n| next | 10 | 20 |\n| series | 30 | 40 |\n| other | 50 | 60 |\n"
    assert changes(body) == [
        ("hash: next to series", 10, 30, ""),
        ("radix: next to series", 20, 40, ""),
        ("hash: next to other", 10, 50, ""),
        ("radix: next to other", 20, 60, ""),
    ]


def test_without_and_with_make_a_change() -> None:
    body = "Without the series it runs in 5.5 seconds.\nWith it, 6.0 seconds, that is 9% more.\n"
    assert [change[1:] for change in changes(body)] == [(5.5, 6.0, "s")]


def test_one_command_run_twice_makes_a_change_of_means_and_of_each_unit() -> None:
    body = (
        "Before:\n\n~# ./switcher\n100\n101\n102\n~# ./nullcall\n  10.0 ns  5.0 cycles\n\n"
        "Now:\n\n~# ./switcher\n98\n99\n100\n~# ./nullcall\n  20.0 ns  10.0 cycles\n"
    )
    assert changes(body) == [
        ("./switcher", 101, 99, ""),
        ("./nullcall", 10, 20, "ns"),
        ("./nullcall", 5, 10, "cycles"),
    ]


@pytest.mark.parametrize(
    "body",
    [
        "It takes 5 seconds here.\n\nAnother takes 6 seconds.\n",  # two things, no command, no word which is which
        "Without it 5 seconds.\n\nWith it 9%.\n",  # two units
        "With it 5 seconds.\n\nWithout it 6 seconds.\n",  # the other order is not guessed
    ],
)
def test_no_change_is_made_up(body: str) -> None:
    assert changes(body) == []


def test_the_published_signal_table_agrees_with_the_model() -> None:
    """44 pairs before and 11 after, on radix with KUAP and without the flush; the figures are the published ones."""
    body = "On a POWER9:\n\n| kernel | radix |\n|---|---|\n| before | 158408 |\n| after | 253053 |\n"
    (change,) = find_changes(find(body))
    model = BOOK.cpu_models[change.sources[0].cpus[0]]
    saved = saved_by({Direction.WRITE: 44}, {Direction.WRITE: 11}, model, Environment(mitigations=False))
    found = compare(change.before, change.after, saved.cycles, clock_ghz=model.clock_ghz)
    assert found.verdict is Verdict.AGREES
    assert found.published_cycles == pytest.approx(8972, abs=1)
