"""What runs inside blocks: calls, and the calls in everything that they run there."""

from __future__ import annotations

import pytest

from reviewbot.csyntax.items import functions_holding
from reviewbot.graph.code import CodeReader
from reviewbot.graph.reach import MAX_CHAIN, InsideCall, Reach
from reviewbot.rulebook.book import load_rulebook
from tests.expectations import small_tree
from tests.trees import MemoryTree

PATH = "arch/powerpc/kernel/asked.c"
INLINE = "static __always_inline void"


def inside(body: str, before: str = "", files: dict[str, str] | None = None, path: str = PATH) -> list[InsideCall]:
    """What runs in the blocks of `void asked(p)` with this body, in a file with the functions `before` it."""
    text = f"#include <linux/uaccess.h>\n{before}\nvoid asked(int __user *p, int n)\n{{\n{body}\n}}\n"
    reader = CodeReader(MemoryTree({**small_tree(), **(files or {}), path: text}), load_rulebook())
    (item,) = functions_holding(text.encode(), [text.index("asked")])
    code = reader.function(path, item)
    reach = Reach(reader)
    return [found for variant in code.variants for found in reach.inside(code, variant)]


def block(statements: str) -> str:
    return f"if (!user_access_begin(p, 4))\n\treturn;\n{statements}\nuser_access_end();\n"


def in_block(statements: str, before: str = "", files: dict[str, str] | None = None) -> list[str]:
    """`function -> callee` for each call that is no primitive."""
    found = inside(block(statements), before, files)
    return [f"{call.code.name} -> {call.call.name or call.call.text}" for call in found if call.primitive is None]


CASES: dict[str, tuple[str, str, list[str]]] = {
    "a call": ("out();", "", ["asked -> out"]),
    "an argument of an access": ("unsafe_put_user(out(), p, e); e: ;", "", ["asked -> out"]),
    "an ordinary function is not entered": ("f();", "void f(void)\n{\n\tg();\n}", ["asked -> f"]),
    "an inline function is": ("f();", f"{INLINE} f(void)\n{{\n\tg();\n}}", ["asked -> f", "f -> g"]),
    "a notrace function is": ("f();", "notrace void f(void)\n{\n\tg();\n}", ["asked -> f", "f -> g"]),
    "through two": (
        "f();", f"{INLINE} g(void)\n{{\n\th();\n}}\n{INLINE} f(void)\n{{\n\tg();\n}}",
        ["asked -> f", "f -> g", "g -> h"]),
    "through a macro": ("M(1);", "#define M(x) out(x)", ["asked -> out"]),
    "through a macro to an inline function": (
        "M();", f"{INLINE} f(void)\n{{\n\tg();\n}}\n#define M() f()", ["asked -> f", "f -> g"]),
    "an indirect call": ("ops->run(p);", "", ["asked -> ops->run"]),
    "a function that calls itself": (
        "f();", f"{INLINE} f(void)\n{{\n\tf();\n\tg();\n}}", ["asked -> f", "f -> f", "f -> g"]),
    "two functions that call each other": (
        "f();", f"{INLINE} g(void);\n{INLINE} f(void)\n{{\n\tg();\n}}\n{INLINE} g(void)\n{{\n\tf();\n\th();\n}}",
        ["asked -> f", "f -> g", "g -> f", "g -> h"]),
    "a wrapper of the end is the end": (
        "f();", "static void f(void)\n{\n\tuser_access_end();\n\tg();\n}", []),
    "only what is open": ("", f"{INLINE} f(void)\n{{\n\tg();\n}}\nvoid other(void)\n{{\n\tf();\n}}", []),
    "each #if branch of a callee once": (
        "f();",
        f"{INLINE} f(void)\n{{\n\tg();\n#ifdef CONFIG_A\n\th();\n#endif\n}}",
        ["asked -> f", "f -> g", "f -> h"]),
}  # fmt: skip


@pytest.mark.parametrize(("statements", "before", "expected"), CASES.values(), ids=CASES)
def test_what_runs_in_a_block(statements: str, before: str, expected: list[str]) -> None:
    assert in_block(statements, before) == expected


def test_nothing_outside_a_block() -> None:
    body = "before(); if (!user_access_begin(p, 4)) { failed(); return; } within(); user_access_end(); after();"
    assert [call.call.name for call in inside(body) if call.primitive is None] == ["within"]


def test_the_chain_leads_from_the_opener_to_the_call() -> None:
    before = f"{INLINE} f(void)\n{{\n\tg();\n}}\n#define M() f()"
    (found,) = [call for call in inside(block("M();"), before) if call.call.name == "g"]
    assert [(step.function, step.what, step.name) for step in found.chain] == [
        ("asked", "access is opened by", "user_access_begin"),
        ("asked", "expands the macro", "M"),
        ("asked", "calls", "f"),
    ]
    assert [step.line for step in found.chain] == [9, 6, 11]
    assert found.open.name == "user_access_begin"


def test_an_assembler_routine_is_entered() -> None:
    routine = "#include <asm/ppc_asm.h>\n_GLOBAL(copy_words)\n\tbl\tslow_copy\n\tblr\n"
    files = {
        "arch/powerpc/lib/more.S": routine,
        "arch/powerpc/kernel/slow.c": "void slow_copy(void)\n{\n}\n",
        "arch/powerpc/include/asm/more.h": "void copy_words(void);\n",
    }
    found = in_block("copy_words();", "#include <asm/more.h>", files)
    assert found == ["asked -> copy_words", "copy_words -> slow_copy"]


def test_a_chain_without_end_is_cut() -> None:
    depth = MAX_CHAIN + 10
    chain = "".join(f"{INLINE} f{n}(void)\n{{\n\tf{n - 1}();\n}}\n" for n in range(1, depth))
    found = inside(block(f"f{depth - 1}();"), f"{INLINE} f0(void)\n{{\n}}\n{chain}")
    assert 0 < max(len(call.chain) for call in found) <= MAX_CHAIN + 2


def test_a_callee_is_told_with_its_form_and_the_policy_it_breaks() -> None:
    found = {
        call.call.name: call for call in inside(block("f(); g();"), f"{INLINE} f(void)\n{{\n}}\nvoid g(void)\n{{\n}}")
    }
    (inline,), (plain,) = found["f"].callees, found["g"].callees
    assert (inline.violates, inline.is_body_run) == ((), True)
    assert plain.violates and not plain.is_body_run
