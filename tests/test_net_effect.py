"""What a wrapper of the same file does to user access on the whole."""

from __future__ import annotations

import pytest

from reviewbot.graph.code import CodeReader
from reviewbot.rulebook.book import load_rulebook
from reviewbot.rulebook.primitives import Effect, Primitive, Result
from tests.expectations import small_tree
from tests.trees import MemoryTree

PATH = "kernel/wrapped.c"
HEAD = "#include <linux/uaccess.h>\n"
BEGIN, END = "user_access_begin(p, 8)", "user_access_end()"


def effect_of(text: str, name: str = "f") -> Primitive | None:
    reader = CodeReader(MemoryTree({**small_tree(), PATH: HEAD + text}), load_rulebook())
    return reader.net_effect(name, PATH, None)


def bool_function(body: str) -> str:
    return f"static bool f(void __user *p, int a)\n{{\n\t{body}\n}}\n"


OPENS: dict[str, tuple[str, Result]] = {
    "hands the result on": (f"return {BEGIN};", Result.STATUS),
    "true when open": (f"if (!{BEGIN}) return false; return true;", Result.STATUS),
    "0 when open": (f"if (!{BEGIN}) return -EFAULT; return 0;", Result.ERROR),
    "a kept result": (f"int ok = {BEGIN}; if (!ok) return false; return true;", Result.STATUS),
    "something before": (f"if (a) return false; if (!{BEGIN}) return false; return true;", Result.STATUS),
}

CHANGES_NOTHING: dict[str, str] = {
    "no access": "return a;",
    "opens and closes": f"if (!{BEGIN}) return false; {END}; return true;",
    "works in its block": f"if (!{BEGIN}) return false; unsafe_put_user(a, p, out); return true; out: return false;",
    "open whatever it says": f"if (!{BEGIN}) return a; return a;",
    "closes on one path": f"if (a) {END}; return true;",
}


@pytest.mark.parametrize(("body", "result"), OPENS.values(), ids=OPENS)
def test_a_wrapper_that_opens(body: str, result: Result) -> None:
    effect = effect_of(bool_function(body))
    assert effect is not None
    assert (effect.name, effect.effect, effect.result) == ("f", Effect.OPEN, result)
    assert "user_access_end" in effect.closed_by


@pytest.mark.parametrize("body", CHANGES_NOTHING.values(), ids=CHANGES_NOTHING)
def test_a_function_that_leaves_access_as_it_was(body: str) -> None:
    assert effect_of(bool_function(body)) is None


def test_a_wrapper_that_closes_names_the_ends_it_uses() -> None:
    effect = effect_of(f"static void f(int *n)\n{{\n\t(*n)++;\n\t{END};\n}}\n")
    assert effect is not None
    assert (effect.effect, effect.closed_by) == (Effect.CLOSE, ("user_access_end",))


def test_a_function_that_calls_itself_ends() -> None:
    body = f"if (a) return f(p, a - 1); if (!{BEGIN}) return false; {END}; return true;"
    assert effect_of(bool_function(body)) is None


def test_two_functions_that_call_each_other_end() -> None:
    text = (
        f"static void g(int a);\nstatic void f(int a)\n{{\n\tif (a)\n\t\tg(a - 1);\n\t{END};\n}}\n"
        f"static void g(int a)\n{{\n\tif (a)\n\t\tf(a - 1);\n\t{END};\n}}\n"
    )
    assert effect_of(text) is not None and effect_of(text, "g") is not None


def test_a_name_that_is_not_in_the_file() -> None:
    assert effect_of(bool_function(f"return {BEGIN};"), "other") is None


def test_a_function_with_a_helper_that_ends_is_left_to_its_caller() -> None:
    """It opens and also closes on an error path: a wrapper only where a caller in the file closes the rest."""
    opener = bool_function(f"if (!{BEGIN}) return false; if (a) {{ {END}; return false; }} return true;")
    caller = f"void g(void __user *p)\n{{\n\tif (!f(p, 0))\n\t\treturn;\n\t{END};\n}}\n"
    assert effect_of(opener) is None
    effect = effect_of(opener + caller)
    assert effect is not None and effect.result is Result.STATUS
