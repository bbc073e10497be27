"""Kernel C made digestible for the parser: what changes, and that no byte moves."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewbot.csyntax.lexing import blank_comments
from reviewbot.csyntax.normalise import normalise
from tests.flows import WORDS

SOME = replace(
    WORDS,
    annotations=frozenset({"__user", "__force", "__iomem"}),
    attributes_with_arguments=frozenset({"__printf"}),
    inline=frozenset({"inline", "__inline"}),
)

# name -> (text, what the parser gets, but for blanks)
CASES: dict[str, tuple[str, str]] = {
    "plain C": ("if (a) b(c);", "if (a) b(c);"),
    "an annotation": ("u32 __user *p;", "u32 *p;"),
    "an annotation in a cast": ("p = (void __user __force *)q;", "p = (void *)q;"),
    "a word that only begins like one": ("__user_ok(p);", "__user_ok(p);"),
    "a function named like an annotation": ("__user (p);", "__user (p);"),
    "an attribute": ("int x __attribute__((unused, aligned(8)));", "int x ;"),
    "a word with arguments": ("__printf(1, 2) f();", " f();"),
    "typeof": ("typeof(*(p)) x = 0; __typeof__ (a[f(1)]) y;", "int x = 0; int y;"),
    "a range of cases": ("case 'a' ... 'z': f();", "case 'a' : f();"),
    "local labels": ("__label__ one, two; f();", " f();"),
    "a type as first argument": ("x = va_arg(struct foo *, a);", "x = va_arg(0 , a);"),
    "a type as later argument": ("x = get(a, unsigned long);", "x = get(a,0 );"),
    "an offset is a number": ("x = offsetof(struct foo, bar);", "x = 0;"),
    "a template": ('asm volatile("1: " INSN "\\n" : "=r"(x));', 'asm volatile("" : "=r"(x));'),
    "spellings of asm": ('__asm__ __volatile__("nop" ::: "memory");', '__asm__ volatile ("" ::: "memory");'),
    "a macro for asm goto": ('asm_volatile_goto("nop" : : : : l);', 'asm goto ("" : : : : l);'),
    "a loop macro": ("list_for_each(p, q) { f(); }", "while (p, q) { f(); }"),
    "a known loop macro without braces": ("for_each_thing(t) f(t);", "while (t) f(t);"),
    "a call that only looks like one": ("for_each_thing(t); f(t);", "for_each_thing(t); f(t);"),
    "a call in an expression": ("x = something(p) { 0 };", "x = something(p) { 0 };"),
}


def without_blanks(text: bytes) -> bytes:
    return b"".join(text.split())


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_what_the_parser_gets(text: str, expected: str) -> None:
    clean, wanted = (blank_comments(each.encode(), literals=True) for each in (text, expected))
    assert without_blanks(normalise(clean, SOME).text) == without_blanks(wanted)


@pytest.mark.parametrize("text", [text for text, _ in CASES.values()], ids=CASES)
def test_no_byte_moves(text: str) -> None:
    assert len(normalise(text.encode(), SOME).text) == len(text)


def test_the_macro_behind_a_loop_is_remembered() -> None:
    text = b"a(); list_for_each(p, q) { } scoped_open(p) b();"
    assert normalise(text, SOME, frozenset({"scoped_open"})).heads == {
        text.index(b"list"): "list_for_each",
        text.index(b"scoped"): "scoped_open",
    }


PIECES = st.sampled_from(
    [
        *" \n(){};:,*&=",
        "...",
        '"s"',
        "x",
        "__user",
        "inline",
        "__attribute__",
        "__printf",
        "typeof",
        "case 1",
        "__label__ l;",
        "asm",
        "__volatile__",
        "asm_volatile_goto",
        "for_each_x",
        "scoped_open",
        "struct s",
        "int",
        "ü",
    ]
)


@given(st.lists(PIECES, max_size=40))
def test_length_and_lines_are_kept_whatever_the_text_is(pieces: list[str]) -> None:
    text = "".join(pieces).encode()
    found = normalise(text, SOME, frozenset({"scoped_open"}))
    assert len(found.text) == len(text)
    assert [at for at, byte in enumerate(text) if byte == ord("\n")] == [
        at for at, byte in enumerate(found.text) if byte == ord("\n")
    ]
    assert all(text[offset:].startswith(name.encode()) for offset, name in found.heads.items())
