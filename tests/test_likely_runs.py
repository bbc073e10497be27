"""Which functions are read for runs of pairs: those whose text leaves one open, and no others."""

from __future__ import annotations

from random import Random

import pytest

from reviewbot.graph.code import CodeReader
from reviewbot.rulebook.book import load_rulebook
from reviewbot.rules.copies import FunctionText
from reviewbot.rules.inspection import inspect
from reviewbot.rules.likely_runs import LikelyRuns
from tests.expectations import small_tree
from tests.trees import MemoryTree

PATH = "kernel/pairs.c"
HEAD = "#include <linux/uaccess.h>\n#include <linux/types.h>\n"
F = "int f(int __user *p, int __user *q, int a, unsigned long count)\n{{\n\t{}\n}}\n"


def may_run(text: str, name: str = "f") -> bool:
    reader = CodeReader(MemoryTree({**small_tree(), PATH: HEAD + text}), load_rulebook())
    item = next(each for each in reader.uses(PATH).items if each.name == name)
    return LikelyRuns(reader, PATH).may_run(FunctionText(reader=reader, path=PATH, item=item))


LIKELY: dict[str, str] = {
    "one object twice": "return put_user(a, p) || put_user(a, p + 1);",
    "copies of a constant size": "char b[8]; return copy_to_user(p, b, 8) || copy_to_user(p + 2, b, sizeof(b));",
    "copies of at most a constant size": "return copy_to_user(p, &a, min(count, 8UL)) || put_user(a, p + 4);",
    "a size under #if": "return copy_to_user(p, &a,\n#ifdef A\n4\n#else\ncount\n#endif\n) || put_user(a, p + 4);",
    "in a for loop": "for (; a; a--) put_user(a, p++); return 0;",
    "in a do loop": "do { put_user(a, p++); } while (--a); return 0;",
    "in a loop without braces round an if": "while (a) if (a--) { f(p, q, 0, 0); } else put_user(a, p++); return 0;",
    "in the loop of a macro": "rounds(a) { put_user(a, p++); } return 0;",
    "in the loop of a macro without braces": "list_for_each_entry(a, b, c) put_user(a, p++); return 0;",
}

LIKELY |= {
    "in cases that fall through": "switch (a) { case 1: put_user(a, p); case 2: put_user(a, p + 1); } return 0;",
    "before and in a switch": "put_user(a, p); switch (a) { case 1: break; case 2: return put_user(a, p + 1); }",
    "in cases with a label": "switch (a) { case 1: put_user(a, p); goto b; case 2: b: put_user(a, p); } return 0;",
    "in cases under #if": "switch (a) {\ncase 1: put_user(a, p);\n#ifdef A\nbreak;\n#endif\n"
    "case 2: put_user(a, p + 1); } return 0;",
    "more than are compared": "switch (a) {" + "case 1: return put_user(a, p);" * 101 + "} return 0;",
}

UNLIKELY: dict[str, str] = {
    "in cases under #if that are apart": "switch (a) {\ncase 1: return put_user(a, p);\n#ifdef A\n"
    "case 2: put_user(a, p + 1); break;\n#endif\ncase 3: put_user(a, p + 2); }\nreturn 0;",
    "behind a return": "if (a) return put_user(a, p); return put_user(a, p + 1);",
    "in two branches": "if (a) put_user(a, p); else put_user(a, p + 1); return 0;",
    "behind a block that returns": "if (a) { put_user(a, p); return 0; } put_user(a, p + 1); return 0;",
    "returned from a loop": "for (; a; a--) { if (count) return put_user(a, p); } return 0;",
    "in cases that are apart": "switch (a) { case 1: return put_user(a, p); case 2: return put_user(a, p + 1); }",
    "one access": "return put_user(a, p);",
    "two objects": "return put_user(a, p) || put_user(a, q);",
    "two directions": "return put_user(a, p) || get_user(a, p);",
    "copies of any size": "return copy_to_user(p, &a, count) || copy_to_user(p + 1, &a, count);",
    "copies of a large size": "return copy_to_user(p, &a, 4096) || copy_to_user(p + 1, &a, 4096);",
    "a copy of any size in a loop": "for (; a; a--) copy_to_user(p, &a, count); return 0;",
    "an access behind a loop": "for (; a; a--) { f(p, q, 0, 0); } return put_user(a, p);",
    "an access under an if": "if (a) { put_user(a, p); } return 0;",
    "functions of a structure": "return ops->put_user(a, p) || ops->put_user(a, p);",
    "in comments and literals": 'return put_user(a, p); /* put_user(a, p) */ f("put_user(a, p)");',
    "in a prototype of another": "extern int copy_to_user(void *p, int n); return put_user(a, p);",
}


@pytest.mark.parametrize("body", LIKELY.values(), ids=LIKELY)
def test_is_read_where_a_run_is_possible(body: str) -> None:
    assert may_run(F.format(body))


@pytest.mark.parametrize("body", UNLIKELY.values(), ids=UNLIKELY)
def test_is_not_read_where_the_text_rules_a_run_out(body: str) -> None:
    assert not may_run(F.format(body))


HELPER = "static int give(int __user *p, int a)\n{\n\treturn put_user(a, p);\n}\n"
COPYING = "static int give(int __user *p, int a)\n{\n\treturn copy_to_user(p, &a, sizeof(a));\n}\n"


def test_a_helper_that_accesses_for_its_caller_counts() -> None:
    body = F.format("return put_user(a, p) || give(p + 1, a);")
    assert may_run(HELPER + body)
    assert not may_run(HELPER + F.format("return put_user(a, p) || give(q, a);"))
    assert not may_run(HELPER.removeprefix("static ") + body), "another object may have another function of that name"
    assert not may_run(COPYING + body), "a helper makes single accesses alone"


@pytest.mark.parametrize(
    "macro",
    [
        "#define PUT(x, p) put_user(x, p)",
        "#define PUT OTHER\n#define OTHER(x, p) put_user(x, p)",
        "#define PUT(x, p) PASTED(put_, user)(x, p)\n#define PASTED(a, b) a ## b",
        "#define PUT(call, x) call(x, p)",
    ],
    ids=["an access", "a macro that is one", "a pasted name", "a name that is given"],
)
def test_a_macro_of_the_file_may_hide_accesses(macro: str) -> None:
    large = "copy_to_user(p, &a, count) || copy_to_user(p, &a, count)"
    assert may_run(f"{macro}\n" + F.format(f"return PUT(a, p) || {large};"))
    assert may_run(f"{macro}\n" + F.format("return put_user(a, p) || PUT(a, p + 1);"))
    assert not may_run(f"{macro}\n" + F.format(f"return {large};"))


def test_a_macro_of_the_file_may_repeat_its_argument() -> None:
    twice = "#define TWICE(x) ((x) || (x))\n#define REPORT(format, ...) report(format, ##__VA_ARGS__)\n"
    large = "copy_to_user(p, &a, count)"
    assert may_run(twice + F.format(f"return TWICE(put_user(a, p++)) || {large};"))
    assert may_run(twice + F.format("return TWICE(put_user(a, p++));"))
    assert not may_run(twice + F.format(f'REPORT("copy"); return put_user(a, p) || {large};'))


def test_a_macro_of_the_file_may_hide_a_helper() -> None:
    macro = "#define SEND(p) give(p, a)\n"
    assert may_run(macro + HELPER + F.format("return put_user(a, p) || SEND(p + 1);"))
    assert not may_run(macro + HELPER + F.format("return put_user(a, p);"))


def test_a_function_is_read_that_accesses_through_macros_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    macro = "#define SEND(p, v) do { if (put_user(v, p)) goto out; } while (0)\n#define OTHER(p) (p)\n"
    twice = F.format("SEND(p, a);\n\tSEND(p + 1, a);\nout:\n\treturn 0;")
    once = F.format("SEND(p, a);\n\tOTHER(p);\nout:\n\treturn 0;").replace("int f(", "int g(")
    assert _runs(macro + twice + once, monkeypatch, every=False) == {"f"}


def _statement(rng: Random, depth: int, in_loop: bool, in_switch: bool) -> str:
    """A random statement around accesses to two objects."""
    access = f"put_user(a, {rng.choice('ppppq')} + {rng.randrange(4)})"

    def inner(*, loop: bool = in_loop, switch: bool = in_switch) -> str:
        return _statement(rng, depth - 1, loop, switch)

    def block(**around: bool) -> str:
        return "{ " + " ".join(inner(**around) for _ in range(rng.randrange(1, 4))) + " }"

    simple = [
        f"{access};",
        f"{access};",
        f"if ({access}) return -1;",
        f"return {access};",
        "return 0;",
        "a--;",
        "goto out;",
    ]
    simple += ["break;"] if in_loop or in_switch else []
    simple += ["continue;"] if in_loop else []
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(simple)
    kind = rng.randrange(9)
    if kind == 0:
        return f"if (a) {block()}"
    if kind == 1:
        return f"if ({rng.choice(('a', access))}) {block()} else {block()}"
    if kind == 2:
        return f"if (a) {rng.choice(simple)} else if ({rng.choice(('b', access))}) {rng.choice(simple)} else {block()}"
    if kind == 3:
        return f"while (a--) {block(loop=True)}"
    if kind == 4:
        return f"do {block(loop=True)} while (--a);"
    if kind == 5:
        branches = "\n#else\n" + inner() if rng.random() < 0.5 else ""
        return f"\n#ifdef CONFIG_A\n{inner()}{branches}\n#endif\n"
    if kind == 6:
        return f"if ({rng.choice(('a', access))}) {inner()}" + (f" else {inner()}" if rng.random() < 0.5 else "")
    if kind == 7:
        return f"{rng.choice(('while (a--)', f'while ({access})', 'for (; a; a--)'))} {inner(loop=True)}"
    cases = []
    for number in range(rng.randrange(2, 5)):
        body = " ".join(inner(switch=True) for _ in range(rng.randrange(1, 3)))
        case = f"case {number}: {body} {rng.choice(('break;', 'return 0;', '', f'return {access};'))}"
        cases.append(f"\n#ifdef CONFIG_B\n{case}\n#endif\n" if rng.random() < 0.3 else case)
    return f"switch (a) {{ {' '.join(cases)} }}"


def _runs(text: str, monkeypatch: pytest.MonkeyPatch, *, every: bool) -> set[str]:
    """The functions in which repeated pairs are found; with `every` all are read for them."""
    tree = MemoryTree({**small_tree(), PATH: HEAD + text})
    with monkeypatch.context() as patch:
        if every:
            patch.setattr(LikelyRuns, "may_run", lambda self, text: True)
        found = inspect(tree, [PATH], load_rulebook())
    return {seen.place.function for seen in found.observations if seen.rule == "repeated_pair"}


@pytest.mark.parametrize("seed", range(8))
def test_no_run_is_lost_in_a_function_that_is_not_read(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    functions = []
    for number in range(40):
        body = "\n\t".join(_statement(rng, 3, in_loop=False, in_switch=False) for _ in range(rng.randrange(1, 4)))
        functions.append(
            f"int f{number}(int __user *p, int __user *q, int a, int b)\n{{\n\t{body}\nout:\n\treturn 0;\n}}\n"
        )
    text = "\n".join(functions)
    known = _runs(text, monkeypatch, every=True)
    assert known and _runs(text, monkeypatch, every=False) == known
