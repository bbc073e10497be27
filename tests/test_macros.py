"""Macros as the preprocessor expands them, and where each argument came from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewbot.csyntax.definitions import find_definitions
from reviewbot.csyntax.macros import MAX_EXPANSION_BYTES, Argument, Macro, expand, to_macro


def macro_of(text: str) -> Macro:
    (definition,) = find_definitions(f"{text}\n".encode(), "M", "include/test.h")
    macro = to_macro(definition)
    assert macro is not None
    return macro


def arguments(*texts: str) -> tuple[Argument, ...]:
    """Arguments that stand at 100, 200 and so on."""
    return tuple(Argument(text=text.encode(), offset=100 * (at + 1)) for at, text in enumerate(texts))


# name -> (definition, arguments, expansion); None: it cannot be expanded
CASES: dict[str, tuple[str, tuple[str, ...], str | None]] = {
    "object-like": ("#define M 1 + 2", (), "1 + 2"),
    "no parameter": ("#define M() f()", (), "f()"),
    "one parameter": ("#define M(x) f(x)", ("a + b",), "f(a + b)"),
    "a parameter twice": ("#define M(x) x + x", ("a",), "a + a"),
    "a parameter within a word": ("#define M(x) xx + x_x + x", ("a",), "xx + x_x + a"),
    "a parameter in a string": ('#define M(x) f("x", x)', ("a",), 'f("x", a)'),
    "a parameter in a comment": ("#define M(x) /* x */ x", ("a",), "        a"),
    "an argument with the name of another parameter": ("#define M(x, y) x + y", ("y", "x"), "y + x"),
    "an argument with commas": ("#define M(x) f x", ("(a, b)",), "f (a, b)"),
    "an empty argument": ("#define M(x) f(x)", (), "f()"),
    "over several lines": ("#define M(x) f(x); \\\n\tg(x)", ("a",), "f(a);   \tg(a)"),
    "parameters over several lines": ("#define M(x, \\\n\ty) x y", ("a", "b"), "a b"),
    "quoted": ("#define M(x) f(#x)", ('a + "b"',), 'f("a + \\"b\\"")'),
    "quoted and used": ("#define M(x) f(x, #x)", ("a",), 'f(a, "a")'),
    "pasted": ("#define M(x) get_##x()", ("user",), "get_user()"),
    "pasted with blanks": ("#define M(x) get_ ## x ()", ("user",), "get_user ()"),
    "pasted on both sides": ("#define M(x) a_##x##_b", ("c",), "a_c_b"),
    "two parameters pasted": ("#define M(x, y) x##y", ("a", "b"), "ab"),
    "variadic": ("#define M(f, ...) f(__VA_ARGS__)", ("g", "a", "b"), "g(a, b)"),
    "variadic with a name": ("#define M(f, args...) f(args)", ("g", "a", "b"), "g(a, b)"),
    "an empty rest": ("#define M(f, ...) f(__VA_ARGS__)", ("g",), "g()"),
    "an empty rest loses its comma": ("#define M(f, ...) f(1, ##__VA_ARGS__)", ("g",), "g(1)"),
    "an empty named rest loses its comma": ("#define M(f, args...) f(1, ##args)", ("g",), "g(1)"),
    "a rest keeps its comma": ("#define M(f, ...) f(1, ##__VA_ARGS__)", ("g", "a"), "g(1,a)"),
    "nothing but a rest": ("#define M(...) f(__VA_ARGS__)", ("a", "b"), "f(a, b)"),
    "too few arguments": ("#define M(x, y) f(x, y)", ("a",), None),
    "too many arguments": ("#define M(x) f(x)", ("a", "b"), None),
}


@pytest.mark.parametrize(("definition", "given_texts", "expected"), CASES.values(), ids=CASES)
def test_expansion(definition: str, given_texts: tuple[str, ...], expected: str | None) -> None:
    expansion = expand(macro_of(definition), arguments(*given_texts))
    assert (None if expansion is None else expansion.text.decode()) == expected


@pytest.mark.parametrize(("definition", "given_texts", "expected"), CASES.values(), ids=CASES)
def test_segments_are_the_arguments_where_they_were_written(
    definition: str, given_texts: tuple[str, ...], expected: str | None
) -> None:
    expansion = expand(macro_of(definition), arguments(*given_texts))
    written = {100 * (at + 1): text for at, text in enumerate(given_texts)}
    for start, length, offset in expansion.segments if expansion else ():
        assert expansion is not None
        assert expansion.text[start : start + length].decode() == written.get(offset, "")


def test_every_use_of_an_argument_has_its_segment() -> None:
    expansion = expand(macro_of("#define M(x, y) f(x, y, x)"), arguments("a", "bb"))
    assert expansion is not None
    assert [(length, offset) for _, length, offset in expansion.segments] == [(1, 100), (2, 200), (1, 100)]


@pytest.mark.parametrize(
    ("definition", "parameters", "variadic", "body"),
    [
        ("#define M", None, None, b""),
        ("#define M (x)", None, None, b"(x)"),
        ("#  define M(x,y) x", ("x", "y"), None, b"x"),
        ("#define M(...) f", (), "__VA_ARGS__", b"f"),
        ("#define M(x, rest...) f", ("x",), "rest", b"f"),
    ],
)
def test_the_head_of_a_definition(
    definition: str, parameters: tuple[str, ...] | None, variadic: str | None, body: bytes
) -> None:
    macro = macro_of(definition)
    assert (macro.parameters, macro.variadic, macro.body) == (parameters, variadic, body)


def test_a_macro_knows_the_conditions_around_it() -> None:
    text = b"#ifdef CONFIG_A\n#define M(x) f(x)\n#else\n#define M(x) g(x)\n#endif\n"
    found = [to_macro(definition) for definition in find_definitions(text, "M", "a.h")]
    assert [(macro.body, macro.line, macro.conditions) for macro in found if macro] == [
        (b"f(x)", 2, ("defined(CONFIG_A)",)),
        (b"g(x)", 4, ("!(defined(CONFIG_A))",)),
    ]


def test_an_expansion_that_grows_too_large_is_given_up() -> None:
    macro = macro_of(f"#define M(x) {'x ' * 300}")
    assert expand(macro, arguments("a" * (MAX_EXPANSION_BYTES // 200))) is None


PIECES = st.sampled_from(["x", "y", "f", "(", ")", ",", "#", "##", " ", "rest", '"s"', "'", "/*", "*/", "..."])


@given(st.lists(PIECES, max_size=20), st.lists(st.sampled_from(["", "a", "(b, c)", '"d"', "x"]), max_size=4))
def test_segments_lie_within_the_text_whatever_the_body_is(body: list[str], texts: list[str]) -> None:
    macro = Macro(
        name="M",
        parameters=("x", "y"),
        variadic="rest",
        body="".join(body).encode(),
        path="a.h",
        line=1,
        conditions=(),
    )
    expansion = expand(macro, arguments(*texts))
    for start, length, offset in expansion.segments if expansion else ():
        assert expansion is not None
        assert expansion.text[start : start + length].decode() == texts[offset // 100 - 1]
