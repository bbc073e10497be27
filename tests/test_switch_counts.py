"""Pairs of switches per call: branches, loops, helpers, directions, #if variants, and what is said of each."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from reviewbot.csyntax.items import function_at
from reviewbot.findings.switches import loop_text, to_count, typical_text
from reviewbot.graph.code import CodeReader
from reviewbot.graph.configuration import Configuration
from reviewbot.graph.switch_counter import SwitchCounter
from reviewbot.graph.switch_counts import Tally
from reviewbot.rulebook.book import load_rulebook
from reviewbot.rulebook.primitives import Direction
from tests.expectations import small_tree
from tests.trees import MemoryTree

BOOK = load_rulebook()
PATH = "arch/powerpc/kernel/counted.c"
HEAD = "#include <linux/kernel.h>\n#include <linux/uaccess.h>\n\n"


def count(
    text: str,
    name: str = "f",
    *,
    path: str = PATH,
    arch: str = "powerpc",
    on: tuple[str, ...] = (),
    off: tuple[str, ...] = (),
    others: dict[str, str] | None = None,
) -> Tally:
    files = {**small_tree(), path: (HEAD + text).encode()}
    files |= {other: content.encode() for other, content in (others or {}).items()}
    reader = CodeReader(MemoryTree(files), BOOK)
    data = reader.data(path)
    item = function_at(data, data.index(b"{", data.index(f"{name}(".encode())) + 1)
    assert item is not None
    configuration = Configuration(defined=frozenset(on), undefined=frozenset(off))
    return SwitchCounter(reader, arch, path.rpartition("/")[0], configuration).tally(path, item)


def one_line(body: str) -> str:
    return f"long f(u64 __user *p, int a, int b)\n{{\n\t{body}\n}}\n"


def totals(tally: Tally) -> tuple[int, int, int]:
    return tally.pairs.low.total, tally.pairs.typ.total, tally.pairs.high.total


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`body` is that of `long f(u64 __user *p, u64 __user *q, int n, int flag)`."""

    name: str
    body: str
    pairs: tuple[int, int, int]
    loops: str = ""


CASES = (
    Case(name="nothing", body="return n;", pairs=(0, 0, 0)),
    Case(name="one access", body="return put_user(1, p);", pairs=(1, 1, 1)),
    Case(
        name="a chain",
        body="long err = 0; err |= __put_user(1, p); err |= __put_user(2, q); return err;",
        pairs=(2, 2, 2),
    ),
    Case(
        name="an early end after a fault costs what came before, and does not count as the fewest",
        body="if (put_user(1, p)) return -EFAULT; if (put_user(2, q)) return -EFAULT; return 0;",
        pairs=(2, 2, 2),
    ),
    Case(name="a branch", body="if (flag & 1) return 0; return put_user(1, p);", pairs=(0, 1, 1)),
    Case(
        name="of two ways with pairs the cheaper is typical",
        body="long err = put_user(1, p); if (flag) err |= put_user(2, q); return err;",
        pairs=(1, 1, 2),
    ),
    Case(
        name="an optional user pointer is given",
        body="if (put_user(1, p)) return -EFAULT; if (q) return put_user(2, q); return 0;",
        pairs=(1, 2, 2),
    ),
    Case(
        name="a condition tested twice is one condition",
        body="long err = 0; if (flag) err |= put_user(1, p); n++; if (!flag) err |= put_user(2, p); return err;",
        pairs=(1, 1, 1),
    ),
    Case(
        name="a block is one pair, whatever is in it",
        body="if (!user_write_access_begin(p, 16)) return -EFAULT; unsafe_put_user(1, p, bad);"
        " unsafe_put_user(2, q, bad); user_write_access_end(); return 0; bad: user_write_access_end(); return -EFAULT;",
        pairs=(1, 1, 1),
    ),
    Case(
        name="an error exit that checks without access is not the typical way",
        body="if (n > 8) return -EINVAL; return put_user(1, p);",
        pairs=(1, 1, 1),
    ),
    Case(
        name="a loop with a bound",
        body="int i; for (i = 0; i < n; i++) if (put_user(i, p + i)) return -EFAULT; return 0;",
        pairs=(0, 0, 0),
        loops="1·n",
    ),
    Case(
        name="beside a loop",
        body="int i; if (put_user(n, q)) return -EFAULT;"
        " for (i = 1; i < n; i++) if (put_user(i, p + i)) return -EFAULT; return 0;",
        pairs=(1, 1, 1),
        loops="1·(n - 1)",
    ),
    Case(
        name="a loop of constant length is multiplied out",
        body="int i; long err = 0; for (i = 0; i < 4; i++) err |= put_user(i, p + i); return err;",
        pairs=(4, 4, 4),
    ),
    Case(
        name="a loop without a bound",
        body="while (flag--) if (put_user(flag, p)) return -EFAULT; return 0;",
        pairs=(0, 0, 0),
        loops="1·n",
    ),
    Case(
        name="a loop in a loop",
        body="int i, j; for (i = 0; i < n; i++) { if (put_user(i, q)) return -EFAULT;"
        " for (j = 0; j < flag; j++) if (put_user(j, p)) return -EFAULT; } return 0;",
        pairs=(0, 0, 0),
        loops="1·n + 1·n·flag",
    ),
    Case(
        name="a constant loop in a loop",
        body="int i, j; long err = 0; for (i = 0; i < n; i++) for (j = 0; j < 3; j++)"
        " err |= put_user(j, p); return err;",
        pairs=(0, 0, 0),
        loops="3·n",
    ),
    Case(
        name="a branch in a loop",
        body="int i; long err = 0; for (i = 0; i < n; i++) { err |= put_user(i, p); if (i & 1) err |= put_user(i, q); }"
        " return err;",
        pairs=(0, 0, 0),
        loops="(1 to 2)·n",
    ),
    Case(
        name="a loop on the way that is not typical",
        body="int i; if (put_user(n, q)) return -EFAULT; if (!(flag & 4)) return 0;"
        " if (flag & 8) for (i = 0; i < n; i++) if (put_user(i, p)) return -EFAULT; return 0;",
        pairs=(1, 1, 1),
        loops="up to 1·n",
    ),
    Case(
        name="a switch",
        body="switch (flag) { case 1: return put_user(1, p); case 2: if (put_user(1, p)) return -EFAULT;"
        " return put_user(2, q); default: return -EINVAL; }",
        pairs=(1, 2, 2),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_pairs_of(case: Case) -> None:
    tally = count(f"long f(u64 __user *p, u64 __user *q, int n, int flag)\n{{\n{case.body}\n}}\n")
    assert (totals(tally), loop_text(tally.loops)) == (case.pairs, case.loops)


# --- Helpers

HELPERS = """\
static long one(u64 __user *p)
{
	return put_user(1, p);
}

static long two(u64 __user *p, u64 __user *q)
{
	if (one(p))
		return -EFAULT;
	if (q)
		return one(q);
	return 0;
}

"""


def test_helpers_are_folded_in_with_the_way_there() -> None:
    tally = count(f"{HELPERS}long f(u64 __user *p, u64 __user *q)\n{{\n\treturn two(p, q);\n}}\n")
    assert totals(tally) == (1, 2, 2)
    assert [[step.callee for step in place.via] for place in tally.places] == [["two", "one"], ["two", "one"]]
    assert all(place.function == "one" and place.primitive == "put_user" for place in tally.places)


def test_a_helper_that_is_given_null_does_not_take_that_way() -> None:
    tally = count(f"{HELPERS}long f(u64 __user *p)\n{{\n\treturn two(p, NULL);\n}}\n")
    assert totals(tally) == (1, 1, 1)


def test_a_helper_with_a_loop_called_in_a_loop() -> None:
    text = """\
static long fill(u64 __user *p, int size)
{
	int i;

	for (i = 0; i < size; i++)
		if (put_user(i, p + i))
			return -EFAULT;
	return 0;
}

long f(u64 __user *p, int rows)
{
	int row;

	for (row = 0; row < rows; row++)
		if (fill(p, 8))
			return -EFAULT;
	return 0;
}
"""
    assert loop_text(count(text).loops) == "1·rows·size"


def test_a_function_that_calls_itself_is_counted_once_and_says_so() -> None:
    tally = count(
        "long f(u64 __user *p, int n)\n{\n\tif (put_user(n, p)) return -EFAULT;\n\treturn n ? f(p, n - 1) : 0;\n}\n"
    )
    assert totals(tally) == (1, 1, 1)
    assert any("calls itself" in gap for gap in tally.gaps)


def test_a_function_of_another_object_counts_when_its_own_text_names_an_access() -> None:
    other = "#include <linux/uaccess.h>\nlong far(u64 __user *p)\n{\n\treturn put_user(1, p);\n}\n"
    text = "long far(u64 __user *p);\n\nlong f(u64 __user *p)\n{\n\treturn far(p);\n}\n"
    tally = count(text, others={"kernel/far.c": other})
    assert totals(tally) == (1, 1, 1)
    assert tally.places[0].path == "kernel/far.c"


def test_a_macro_with_an_access_is_expanded() -> None:
    text = "#define put_twice(v, p)\tput_user(v, p) | put_user(v, (p) + 1)\n\n" + one_line("return put_twice(1, p);")
    assert totals(count(text)) == (2, 2, 2)


def test_a_helper_that_opens_for_its_caller_is_one_pair() -> None:
    text = """\
static int open_it(u64 __user *p)
{
	return user_write_access_begin(p, 8);
}

long f(u64 __user *p)
{
	if (!open_it(p))
		return -EFAULT;
	unsafe_put_user(1, p, bad);
	user_write_access_end();
	return 0;
bad:
	user_write_access_end();
	return -EFAULT;
}
"""
    assert totals(count(text)) == (1, 1, 1)


# --- Directions and architectures

BOTH_WAYS = "long f(u64 __user *p, u64 v)\n{\n\tif (get_user(v, p))\n\t\treturn -EFAULT;\n\treturn put_user(v, p);\n}\n"


def test_read_and_write_are_told_apart() -> None:
    typical = count(BOTH_WAYS).pairs.typ
    assert (typical.of(Direction.READ), typical.of(Direction.WRITE), typical.of(Direction.READ_WRITE)) == (1, 1, 0)
    told = to_count(count(BOTH_WAYS), has_directions=True)
    assert (told.reads, told.writes) == ((1, 1, 1), (1, 1, 1))
    assert to_count(count(BOTH_WAYS), has_directions=False).reads is None


@pytest.mark.parametrize(("arch", "pairs"), [("powerpc", 2), ("x86", 2), ("arm64", 0)])
def test_an_architecture_without_switches_has_no_pairs(arch: str, pairs: int) -> None:
    assert totals(count(BOTH_WAYS, path="kernel/counted.c", arch=arch))[1] == pairs


# --- #if variants

VARIANTS = """\
long f(u64 __user *p, u64 __user *q)
{
	long err = put_user(1, p);
#ifdef CONFIG_WIDE
	err |= put_user(2, q);
#endif
	return err;
}
"""


@pytest.mark.parametrize(
    ("on", "off", "pairs"),
    [((), (), (1, 2, 2)), (("CONFIG_WIDE",), (), (2, 2, 2)), ((), ("CONFIG_WIDE",), (1, 1, 1))],
)
def test_variants(on: tuple[str, ...], off: tuple[str, ...], pairs: tuple[int, int, int]) -> None:
    assert totals(count(VARIANTS, on=on, off=off)) == pairs


def test_a_place_says_its_condition() -> None:
    places = count(VARIANTS).places
    assert [place.condition for place in places] == ["", "defined(CONFIG_WIDE)"]


def test_is_enabled_follows_the_configuration() -> None:
    text = "long f(u64 __user *p)\n{\n\tif (IS_ENABLED(CONFIG_WIDE))\n\t\treturn put_user(1, p);\n\treturn 0;\n}\n"
    assert totals(count(text)) == (0, 1, 1)
    assert totals(count(text, off=("CONFIG_WIDE",))) == (0, 0, 0)
    assert count(text, off=("CONFIG_WIDE",)).places == ()


def test_a_stub_for_another_configuration_is_left_out() -> None:
    text = """\
#ifdef CONFIG_WIDE
static long wide(u64 __user *p)
{
	return put_user(1, p);
}
#else
static long wide(u64 __user *p)
{
	return -EINVAL;
}
#endif

long f(u64 __user *p)
{
	return wide(p);
}
"""
    assert totals(count(text)) == (0, 1, 1)
    assert totals(count(text, on=("CONFIG_WIDE",))) == (1, 1, 1)
    assert totals(count(text, off=("CONFIG_WIDE",))) == (0, 0, 0)


@pytest.mark.parametrize(
    ("condition", "truth"),
    [
        ("defined(CONFIG_A)", True),
        ("!defined(CONFIG_A)", False),
        ("defined(CONFIG_B)", False),
        ("defined(CONFIG_C)", None),
        ("defined(CONFIG_C) && defined(CONFIG_B)", False),
        ("defined(CONFIG_C) || defined(CONFIG_A)", True),
        ("!(defined(CONFIG_B) || defined(CONFIG_C))", None),
        ("IS_ENABLED(CONFIG_A) && !IS_ENABLED(CONFIG_B)", True),
        ("defined CONFIG_A", True),
        ("LINUX_VERSION > 5 || defined(CONFIG_A)", True),
        ("0", False),
        ("1 && defined(CONFIG_A)", True),
        ("(", None),
        ("", None),
    ],
)
def test_truth_of_a_condition(condition: str, truth: bool | None) -> None:
    known = Configuration(defined=frozenset({"CONFIG_A"}), undefined=frozenset({"CONFIG_B"}))
    assert known.truth(condition) is truth


# --- What is said


def test_typical_names_the_choices_that_matter_only() -> None:
    text = one_line("long err = put_user(1, p); if (a) b++; if (b) err |= put_user(2, p); return err;")
    assert typical_text(count(text)) == "not b"
    assert typical_text(count(BOTH_WAYS)) == ""


def test_places_say_conditions_blocks_and_the_typical_way() -> None:
    text = one_line("if (get_user(a, p)) return -EFAULT; if (b) return put_user(2, p); return 0;")
    first, second = count(text).places
    assert (first.primitive, first.direction, first.condition, first.is_typical) == (
        "get_user",
        Direction.READ,
        "",
        True,
    )
    told = (second.primitive, second.condition, second.is_typical, second.is_block)
    assert told == ("put_user", "b", False, False)


def test_a_jump_back_is_counted_once_and_said() -> None:
    text = one_line("again: if (put_user(a, p)) return -EFAULT; if (a--) goto again; return 0;")
    tally = count(text)
    assert totals(tally) == (1, 1, 1)
    assert any("jump back" in gap for gap in tally.gaps)


def test_calls_through_pointers_are_said() -> None:
    text = "long f(u64 __user *p, struct ops *ops)\n{\n\tlong err = put_user(1, p);\n\treturn err | ops->write(p);\n}\n"
    assert any("through pointers" in gap for gap in count(text).gaps)


def test_an_accessor_that_is_handed_on_is_said() -> None:
    text = (
        "static int fill(u64 __user *p)\n{\n\treturn put_user(1, p);\n}\n\n"
        "long f(struct walker *w)\n{\n\tw->fill = fill;\n\treturn walk(w);\n}\n"
    )
    assert any(gap.startswith("fill() accesses user memory") for gap in count(text).gaps)
