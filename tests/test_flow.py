"""Statements and expressions as control flow: what runs, in which order, and under which conditions."""

from __future__ import annotations

import pytest

from reviewbot.csyntax.flow import Call
from tests.flows import flow_of, ways

# name -> (body, every way through it)
BODIES: dict[str, tuple[str, list[str]]] = {
    "nothing": ("", [""]),
    "calls in order": ("a(); b();", ["a() b()"]),
    "arguments before the call": ("a(b(), c());", ["b() c() a()"]),
    "if": ("if (x) a(); b();", ["!x b()", "?x a() b()"]),
    "if and else": ("if (x) a(); else b();", ["!x b()", "?x a()"]),
    "the result of a call": ("if (!a()) return; b();", ["a() !a return", "a() ?a b()"]),
    "compared with zero": ("if (a() == 0) b();", ["a() !a b()", "a() ?a"]),
    "compared with NULL": ("if (p != NULL) b();", ["!p", "?p b()"]),
    "a comparison and its opposite": ("if (a >= b) c(); if (a < b) d();", [
        "!a<b c() !a<b", "!a<b c() ?a<b d()", "?a<b !a<b", "?a<b ?a<b d()"]),
    "a wrapper of a condition": ("if (unlikely(!x)) a();", ["!x a()", "?x"]),
    "a constant condition": ("if (0) a(); if (1) b();", ["b()"]),
    "and": ("if (x && a()) b();", ["!x", "?x a() !a", "?x a() ?a b()"]),
    "or": ("if (x || a()) b();", ["!x a() !a", "!x a() ?a b()", "?x b()"]),
    "a choice": ("x ? a() : b();", ["!x b()", "?x a()"]),
    "a choice as a condition": ("if (x ? a() : b()) c();", [
        "!x b() !b", "!x b() ?b c()", "?x a() !a", "?x a() ?a c()"]),
    "a choice without a middle": ("a() ?: b();", ["a() !a b()", "a() ?a"]),
    "a comma": ("if (a(), b()) c();", ["a() b() !b", "a() b() ?b c()"]),
    "a kept result": ("ret = a(); if (ret) b();", ["a() ret= !ret", "a() ret= ?ret b()"]),
    "a declaration with a value": ("int ret = a(), n;", ["a() ret="]),
    "what is never evaluated": ("BUILD_BUG_ON(a()); n = sizeof(b());", ["n="]),
    "what never comes back": ("if (x) panic(); a();", ["!x a()"]),
    "a cast": ("(void)a(); b((long)c());", ["a() c() b()"]),
    "an indirect call": ("ops->run(x);", ["ops->run()"]),
    "while": ("while (x) a(); b();", ["!x b()", "?x a() !x b()"]),
    "a loop for ever": ("for (;;) { if (a()) break; }", ["a() !a a() ?a", "a() ?a"]),
    "do": ("do { a(); } while (b()); c();", ["a() b() !b c()", "a() b() ?b a() b() !b c()"]),
    "do once": ("do { a(); if (x) break; b(); } while (0); c();", ["a() !x b() c()", "a() ?x c()"]),
    "for": ("for (i = 0; i < n; i++) a();", ["i= !i<n", "i= ?i<n a() i= !i<n"]),
    "continue": ("while (x) { if (y) continue; a(); }", ["!x", "?x !y a() !x", "?x ?y !x"]),
    "a loop of a macro": ("for_each_thing(t) a();", ["for_each_thing()", "for_each_thing() a() for_each_thing()"]),
    "switch": ("switch (x) { case 1: a(); break; case 2: b(); default: c(); }", ["?x==1 a()", "?x==2 b() c()", "c()"]),
    "switch without default": ("switch (x) { case 1: a(); } b();", ["?x==1 a() b()", "b()"]),
    "a range of cases": ("switch (x) { case 1 ... 4: a(); }", ["", "?x==1 a()"]),
    "return in a loop in a switch": ("switch (x) { case 1: while (y) return; } a();", [
        "?x==1 !y a()", "?x==1 ?y return", "a()"]),
    "goto forward": ("if (x) goto out; a(); out: b();", ["!x a() b()", "?x b()"]),
    "goto backward": ("again: a(); if (x) goto again;", ["a() !x", "a() ?x a() !x"]),
    "a label nobody uses": ("a(); return; out: b();", ["a() return"]),
    "code behind a return": ("return; a();", ["return"]),
    "an access may fault": ("put(x, p, out); a(); out: b();", ["put() a() b()", "put() fault b()"]),
    "a fault behind an argument": ("put(a(), p, out); out: ;", ["a() put()", "a() put() fault"]),
    "a statement expression": ("x = ({ a(); b(); }); c();", ["a() b() x= c()"]),
    "a truth that is kept": ("bool ok = x && a(); if (ok) b();", [
        "!x ok= !ok", "!x ok= ?ok b()", "?x a() !a ok= !ok", "?x a() !a ok= ?ok b()",
        "?x a() ?a ok= !ok", "?x a() ?a ok= ?ok b()"]),
    "assembler": ('asm volatile("nop" : : "r"(a())); b();', ["a() asm b()"]),
    "assembler that jumps": ('asm goto("" : : : : out); a(); out: b();', ["asm a() b()", "asm fault b()"]),
    "a scoped block": ("scoped(p, out) { a(); } b(); out: c();", [
        "c()", "scoped() a() close_scoped b() c()"]),
    "a return out of a scope": ("scoped(p, out) { if (x) return; } out: ;", [
        "", "scoped() !x close_scoped", "scoped() ?x close_scoped return"]),
    "a goto out of a scope": ("scoped(p, out) { if (x) goto out; a(); } out: b();", [
        "b()", "scoped() !x a() close_scoped b()", "scoped() ?x close_scoped b()"]),
    "a goto within a scope": ("scoped(p, out) { if (x) goto in; a(); in: b(); } out: ;", [
        "", "scoped() !x a() b() close_scoped", "scoped() ?x b() close_scoped"]),
    "a fault in a scope": ("scoped(p, out) { put(x, p, out); } out: a();", [
        "a()", "scoped() put() close_scoped a()", "scoped() put() fault close_scoped a()"]),
    "a break out of a scope": ("while (x) scoped(p, out) { if (y) break; a(); } out: ;", [
        "!x", "?x", "?x scoped() !y a() close_scoped !x", "?x scoped() ?y close_scoped !x"]),
}  # fmt: skip

# name -> (macros, body, every way through it)
MACROS: dict[str, tuple[str, str, list[str]]] = {
    "an expression": ("#define M(x) a(x)", "M(b());", ["b() a()"]),
    "an argument that is not used": ("#define M(x) a()", "M(b());", ["a()"]),
    "an argument that is used twice": ("#define M(x) a(x, x)", "M(b());", ["b() b() a()"]),
    "a condition": ("#define M(x) (x && a())", "if (M(y)) b();", ["!y", "?y a() !a", "?y a() ?a b()"]),
    "statements": ("#define M(x) do { a(); b(x); } while (0)", "if (y) M(c()); d();", ["!y d()", "?y a() c() b() d()"]),
    "a macro in a macro": ("#define M(x) N(x)\n#define N(x) a(x)", "M(b());", ["b() a()"]),
    "a macro that names itself": ("#define M(x) M(x)", "M(b());", ["b() M()"]),
    "a label of the caller": (
        "#define M(x, l) do { if (a(x)) goto l; } while (0)", "M(y, out); b(); out: ;", ["a() !a b()", "a() ?a"]),
    "a label of its own": (
        "#define M(x) do { if (x) goto done; a(); done: ; } while (0)",
        "M(y); M(z); done: b();",
        ["!y a() !z a() b()", "!y a() ?z b()", "?y !z a() b()", "?y ?z b()"]),
    "a statement expression that yields a call": (
        "#define M(x) ({ int err = a(x); err; })", "if (M(y)) b();", ["a() err= !err", "a() err= ?err b()"]),
    "an access with a label": (
        "#define M(x, p, l) put(x, p, l)", "M(x, p, out); out: a();", ["put() a()", "put() fault a()"]),
    "an object-like macro": ("#define NOW a()", "x = NOW;", ["a() x="]),
    "two definitions": (
        "#ifdef A\n#define M(x) a(x)\n#else\n#define M(x) b(x)\n#endif", "M(y);",
        ["?#if !(defined(A)) b()", "?#if defined(A) a()"]),
    "a pasted name": ("#define M(n, x) a_##n(x)", "M(b, c());", ["c() a_b()"]),
    "an empty rest": ("#define M(f, ...) a(f, ##__VA_ARGS__)", "M(b());", ["b() a()"]),
    "too few arguments": ("#define M(x, y) a(x)", "M(b());", ["b() M()"]),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), BODIES.values(), ids=BODIES)
def test_every_way_through_a_body(body: str, expected: list[str]) -> None:
    assert ways(flow_of(body)) == expected


@pytest.mark.parametrize(("macros", "body", "expected"), MACROS.values(), ids=MACROS)
def test_macros_are_read_as_code(macros: str, body: str, expected: list[str]) -> None:
    assert ways(flow_of(body, macros + "\n")) == expected


@pytest.mark.parametrize("body", [text for text, _ in BODIES.values()], ids=BODIES)
def test_nothing_here_is_misread(body: str) -> None:
    assert flow_of(body).misread == ()


@pytest.mark.parametrize(
    ("body", "said"),
    [("a(; b();", "could not parse"), ("goto *target;", "a computed goto"), ("if (x) } a();", "could not parse")],
    ids=["a missing bracket", "a computed goto", "a brace too many"],
)
def test_what_cannot_be_read_is_said(body: str, said: str) -> None:
    assert any(said in misread.reason for misread in flow_of(body).misread)


def calls(body: str, macros: str = "") -> dict[str, Call]:
    return {n.action.name: n.action for n in flow_of(body, macros).nodes if isinstance(n.action, Call)}


def test_an_argument_of_a_macro_stands_where_it_was_written() -> None:
    body = "one(); M(two());"
    call = calls(body, "#define M(x) three(x)\n")["two"]
    assert call.offset == f"{{ {body} }}".index("two") and call.via == ()


def test_the_body_of_a_macro_stands_at_its_use_and_names_the_macro() -> None:
    body = "one(); M(two());"
    call = calls(body, "\n#define M(x) three(x)\n")["three"]
    assert call.offset == f"{{ {body} }}".index("M")
    assert [(use.name, use.path, use.line) for use in call.via] == [("M", "include/test.h", 2)]


@pytest.mark.parametrize(
    ("body", "is_discarded"),
    [
        ("begin(p);", True),
        ("(void)begin(p);", True),
        ("int ok; ok = begin(p);", True),
        ("int ok = begin(p); use(ok);", False),
        ("if (begin(p)) a();", False),
        ("return begin(p);", False),
    ],
)
def test_a_result_that_nobody_looks_at(body: str, is_discarded: bool) -> None:
    assert calls(body)["begin"].is_discarded is is_discarded


def test_a_loop_knows_its_head_and_its_bound() -> None:
    flow = flow_of("for (i = 0; i < count; i++) a(); while (x) b();")
    assert [(loop.text, loop.bound) for loop in flow.loops] == [
        ("for (i = 0; i < count; i++)", "count"),
        ("while (x)", ""),
    ]
    assert {n.action.name: n.loops for n in flow.nodes if isinstance(n.action, Call)} == {"a": (0,), "b": (1,)}


def test_macros_without_end_are_given_up_with_a_reason() -> None:
    macros = "".join(f"#define M{i}(x) M{i + 1}(x)\n" for i in range(40))
    assert any("nest too deeply" in misread.reason for misread in flow_of("M0(y);", macros).misread)
