"""Runs of pairs where macros of headers stand between the accesses: what these do to the flow is not read."""

from __future__ import annotations

import pytest

from reviewbot.rulebook.book import load_rulebook
from reviewbot.rules.inspection import inspect
from tests.expectations import small_tree
from tests.trees import MemoryTree

PATH = "kernel/pairs.c"
HEADER = "include/linux/around.h"
FUNCTION = (
    "#include <linux/around.h>\n#include <linux/uaccess.h>\n"
    "int f(int __user *p, int a)\n{{\n\t{}\nout:\n\treturn a;\n}}\n"
)
ONE_OF_THREE = (
    "if (a == 1) { put_user(a, p); around(0); }\n\t"
    "if (a == 2) { put_user(a, p + 1); around(0); }\n\t"
    "put_user(a, p + 2);"
)
CASES = "switch (a) { case 1: put_user(a, p); around(2) put_user(a, p + 1); around(3) put_user(a, p + 2); }"


def runs(macro: str, body: str) -> list[int | None]:
    files = {**small_tree(), HEADER: f"{macro}\n", PATH: FUNCTION.format(body)}
    return [seen.pairs for seen in inspect(MemoryTree(files), [PATH], load_rulebook()).observations]


@pytest.mark.parametrize(
    "macro",
    [
        "#define around(x) return (x)",
        "#define around(x) do { return (x); } while (0)",
        "#define around(x) do { a = (x); goto out; } while (0)",
        "#define around(x) inner(x)\n#define inner(x) return (x)",
    ],
    ids=["returns", "returns from a block", "jumps", "uses a macro that returns"],
)
def test_a_macro_that_leaves_the_function_ends_a_run(macro: str) -> None:
    assert runs(macro, ONE_OF_THREE) == []


def test_a_macro_that_begins_a_case_ends_a_run() -> None:
    assert runs("#define around(n) break; case n:", CASES) == []


@pytest.mark.parametrize(
    "macro",
    ["#define around(x) do { a += (x); } while (0)", "#define around(x) do { while (a) if (a--) break; } while (0)"],
    ids=["plain", "leaves its own loop"],
)
def test_a_macro_that_goes_on_may_stand_in_a_run(macro: str) -> None:
    assert runs(macro, ONE_OF_THREE) == [3]
