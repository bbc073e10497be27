"""Of a function that hunks show in part, nothing is said that an unseen line could make untrue."""

from __future__ import annotations

import pytest

from reviewbot.rulebook.book import load_rulebook
from reviewbot.rules.inspection import inspect
from tests.expectations import small_tree
from tests.trees import MemoryTree

PATH = "kernel/ticket_part.c"
BEGIN = "\tif (!user_write_access_begin(u, sizeof(*u)))\n\t\treturn -EFAULT;\n"
END = "\tuser_write_access_end();\n"
CALL = "\tticket_seen(t);\n"
GAP = "\n\n\n"


class PartTree(MemoryTree):
    """A tree rebuilt from hunks: blank lines of `PATH` are lines that nobody has seen."""

    is_complete = False

    def known_lines(self, path: str) -> tuple[tuple[int, int], ...] | None:
        if path != PATH:
            return None
        lines = (self.read(path) or b"").decode().split("\n")
        known = [number for number, line in enumerate(lines, start=1) if line]
        ranges: list[tuple[int, int]] = []
        for number in known:
            if ranges and ranges[-1][1] == number - 1:
                ranges[-1] = (ranges[-1][0], number)
            else:
                ranges.append((number, number))
        return tuple(ranges)


def rules_of(body: str, *, name: str = "static int part") -> list[str]:
    text = f"{name}(struct ticket *t, struct uticket __user *u)\n{{\n{body}\treturn 0;\n}}\n"
    head = "#include <linux/ticket.h>\n#include <linux/uaccess.h>\n"
    tree = PartTree({**small_tree(), PATH: (head + text).encode()})
    return [seen.rule for seen in inspect(tree, [PATH], load_rulebook()).observations]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(BEGIN + CALL + END, ["traced_call"], id="all_lines_between_are_shown"),
        pytest.param(BEGIN + GAP + CALL + END, [], id="the_end_may_stand_in_the_gap"),
        pytest.param(BEGIN + GAP, [], id="an_end_may_follow"),
        pytest.param(CALL + GAP + END, [], id="a_begin_may_precede"),
        pytest.param("\tput_user(1, &u->id);\n\tput_user(2, &u->state);\n", ["repeated_pair"], id="pairs_side_by_side"),
        pytest.param(
            "\tput_user(1, &u->id);\n" + GAP + "\tput_user(2, &u->state);\n", [], id="a_lock_may_stand_between"
        ),
        pytest.param("\tunsafe_put_user(1, &u->id, out);\nout:\n", [], id="a_caller_elsewhere_may_have_opened"),
    ],
)
def test_says_only_what_the_lines_shown_prove(body: str, expected: list[str]) -> None:
    assert rules_of(body) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(
            "int f(void) { if (user_access_begin(p, 4)) {{{ unsafe_put_user(1, p, x)\n",
            "stands in no function",
            id="braces_that_never_close_on_one_line",
        ),
        pytest.param(
            "int f(u32 __user *p)\n#ifdef CONFIG_X\n{\n\tif (!user_write_access_begin(p, 4))\n#else\n{\n"
            "\tif (!user_write_access_begin(p, 8))\n#endif\n\t\treturn 1;\n"
            "\tuser_write_access_end();\n\treturn 0;\n}\n",
            "begins in one branch",
            id="a_brace_in_each_branch",
        ),
    ],
)
def test_a_function_that_cannot_be_read_is_a_gap(text: str, reason: str) -> None:
    tree = MemoryTree({**small_tree(), PATH: "#include <linux/uaccess.h>\n" + text})
    inspection = inspect(tree, [PATH], load_rulebook())
    assert inspection.observations == ()
    assert [reason in gap.reason for gap in inspection.gaps] == [True]
