"""Top-level items and definitions, found from the bytes of a C file."""

from __future__ import annotations

import re

import pytest

from reviewbot.csyntax.definition import DefinitionKind
from reviewbot.csyntax.definitions import find_macros
from reviewbot.csyntax.items import (
    LineIndex,
    blank_comments,
    conditions_at,
    find_definitions,
    function_at,
    functions_holding,
    line_of,
    macro_at,
)
from reviewbot.csyntax.lexing import CONDITIONAL, DIRECTIVE, lines_of
from reviewbot.rulebook.policy import NameMaker

# Each source marks the asked place with @, which is taken out. Expected: name, first and last line.
FUNCTIONS = {
    "kernel style": ("static int f(int a)\n{\n\treturn @a;\n}\n", ("f", 1, 4)),
    "place in the head": ("int x;\n\nstatic int @f(int a)\n{\n\treturn a;\n}\n", ("f", 3, 6)),
    "return type on its own line": ("static noinline_for_stack int\nf(int a)\n{\n\t@g();\n}\n", ("f", 1, 5)),
    "one line": ("static inline int f(void) { return @0; }\n", ("f", 1, 1)),
    "empty body in column 0": (
        "void f(void)\n{ @}\n\nvoid g(void)\n{\n\th();\n}\n",
        ("f", 1, 2),
    ),
    "brace at the end of the line": ("int f(int a) {\n\tif (a) {\n\t\t@g();\n\t}\n}\nint b;\n", ("f", 1, 5)),
    "attribute before the type": (
        "__printf(1, 2) static void __attribute__((cold)) f(const char *s, ...)\n{\n\t@g(s);\n}\n",
        ("f", 1, 4),
    ),
    "attribute behind the parameters": ("int f(void)\n\t__releases(lock)\n{\n\t@g();\n}\n", ("f", 1, 5)),
    "syscall": ("SYSCALL_DEFINE1(open, int, fd)\n{\n\t@g();\n}\n", ("SYSCALL_DEFINE1(open)", 1, 4)),
    "alternative heads": (
        "int z;\n#ifdef CONFIG_A\nint f(int a)\n#else\nint f(long a)\n#endif\n{\n\t@g();\n}\n",
        ("f", 2, 9),
    ),
    "heads inside an #if that stays open": ("#ifdef CONFIG_A\nint f(int a)\n{\n\t@g();\n}\n#endif\n", ("f", 2, 5)),
    "brace in a string, a constant and a comment": (
        "int f(void)\n{\n\tg(\"}\", '}');\n\t/* }\n} */\n\t@h();\n}\nint k;\n",
        ("f", 1, 7),
    ),
    "unbalanced #if branches": (
        "int f(int a)\n{\n#ifdef A\n\tif (a) {\n#else\n\tif (!a) {\n#endif\n\t\t@g();\n\t}\n}\nint b(void)\n{\n}\n",
        ("f", 1, 10),
    ),
    "column 0 brace inside the body": ("int f(int a)\n{\n\tif (a)\n{\n\tg();\n}\n\t@h();\n}\nint k;\n", ("f", 1, 8)),
    "macro with braces in column 0 before it": (
        "#define M(x) \\\n{ \\\n\tg(x); \\\n}\n\nint f(void)\n{\n\t@M(1);\n}\n",
        ("f", 6, 9),
    ),
    "macro call without semicolon before it": ("EXPORT(x)\n\nint f(void)\n{\n\t@g();\n}\n", ("f", 3, 6)),
    "after an initialiser": ("struct s a =\n{\n\t.b = 1,\n};\nint f(void)\n{\n\t@g();\n}\n", ("f", 5, 8)),
    "returns a function pointer": ("int (*f(int a))(void)\n{\n\t@return 0;\n}\n", ("f", 1, 4)),
    "apostrophe in #error": ("#error don't\nint f(void)\n{\n\t@g();\n}\n", ("f", 2, 5)),
    "carriage returns": ("int f(void)\r\n{\r\n\t@g();\r\n}\r\n", ("f", 1, 4)),
}

NO_FUNCTION = {
    "a declaration": "int f(void);\nint @a;\n",
    "between functions": "int f(void)\n{\n}\n@\nint g(void)\n{\n}\n",
    "a structure": "struct s\n{\n\tint @a;\n};\n",
    "a packed structure": "struct __attribute__((packed)) s {\n\tint @a;\n};\n",
    "an initialiser": "static struct s a = {\n\t.f = @g(1),\n};\n",
    "a comment that holds a function": "/*\nint f(void)\n{\n\t@g();\n}\n*/\nint b;\n",
    "a macro": "#define M(x) \\\n{ \\\n\t@g(x); \\\n}\nint f(void)\n{\n}\n",
    "an enumeration": "enum e {\n\tA = @B(1),\n};\n",
    "an empty file": "@",
}


def place(source: str) -> tuple[bytes, int]:
    return source.replace("@", "").encode(), source.index("@")


@pytest.mark.parametrize("case", FUNCTIONS)
def test_the_function_around_a_place_is_found_with_its_exact_extent(case: str) -> None:
    source, (name, first, last) = FUNCTIONS[case]
    data, offset = place(source)
    item = function_at(data, offset)
    assert item is not None
    assert (item.name, item.line, line_of(data, item.end - 1)) == (name, first, last)
    assert item.text == data[item.start : item.end]
    assert data[item.body : item.body + 1] == b"{"
    assert item.text.endswith(b"}")


@pytest.mark.parametrize("case", NO_FUNCTION)
def test_a_place_outside_functions_has_none(case: str) -> None:
    assert function_at(*place(NO_FUNCTION[case])) is None


def test_functions_are_given_once_and_in_order() -> None:
    data = b"int f(void)\n{\n\tx();\n\tx();\n}\nint x;\nint g(void)\n{\n\tx();\n}\n"
    offsets = [at for at in range(len(data)) if data[at : at + 2] == b"x("]
    assert [item.name for item in functions_holding(data, reversed(offsets))] == ["f", "g"]


def test_a_macro_is_found_with_its_continuation_lines() -> None:
    data, offset = place("int a;\n#define M(x) do { \\\n\tg(@x); \\\n} while (0)\nint b;\n")
    item = macro_at(data, offset)
    assert item is not None
    assert (item.name, item.kind, item.line) == ("M", DefinitionKind.MACRO, 2)
    assert item.text.endswith(b"while (0)")
    assert macro_at(data, len(data) - 3) is None


K = DefinitionKind
# source, name -> kind, line, conditions
DEFINITIONS = {
    "function": ("static int f(int a)\n{\n}\n", "f", [(K.FUNCTION, 1, ())]),
    "prototype": ("extern int f(int a);\n", "f", [(K.PROTOTYPE, 1, ())]),
    "both": ("int f(int a);\n\nint\nf(int a)\n{\n}\n", "f", [(K.PROTOTYPE, 1, ()), (K.FUNCTION, 4, ())]),
    "prototype on two lines": ("extern struct s *\n\tf(int a,\n\t  int b);\n", "f", [(K.PROTOTYPE, 2, ())]),
    "returns a structure": ("struct s f(void)\n{\n}\n", "f", [(K.FUNCTION, 1, ())]),
    "returns a function pointer": ("int (*f(int a))(void)\n{\n}\n", "f", [(K.FUNCTION, 1, ())]),
    "object-like macro": ("#define F 1\n", "F", [(K.MACRO, 1, ())]),
    "indented macro": ("# define F(x) \\\n\tg(x)\n", "F", [(K.MACRO, 1, ())]),
    "macro in a function": ("int f(void)\n{\n#define F 1\n\treturn F;\n}\n", "F", [(K.MACRO, 3, ())]),
    "structure": ("struct s {\n\tint a;\n};\nstruct s b;\n", "s", [(K.STRUCT, 1, ())]),
    "union with attribute": ("union __aligned(8) u {\n\tint a;\n} __packed;\n", "u", [(K.UNION, 1, ())]),
    "structure in a structure": ("struct o {\n\tstruct s {\n\t\tint a;\n\t} b;\n};\n", "s", [(K.STRUCT, 2, ())]),
    "enumeration": ("enum e { A, B = 2 };\n", "e", [(K.ENUM, 1, ())]),
    "first enumerator": ("enum e { A, B = 2 };\n", "A", [(K.ENUMERATOR, 1, ())]),
    "last enumerator": ("enum {\n\tA,\n\tB = A + 1 /* A, */\n};\n", "B", [(K.ENUMERATOR, 3, ())]),
    "enumerator in a structure": ("struct s {\n\tenum { A, B } e;\n};\n", "B", [(K.ENUMERATOR, 2, ())]),
    "typedef": ("typedef unsigned int t;\n", "t", [(K.TYPEDEF, 1, ())]),
    "typedef of a structure": ("typedef struct {\n\tint a;\n} t, *p;\n", "t", [(K.TYPEDEF, 3, ())]),
    "second typedef": ("typedef struct {\n\tint a;\n} t, *p;\n", "p", [(K.TYPEDEF, 3, ())]),
    "typedef of an array": ("typedef int t[4];\n", "t", [(K.TYPEDEF, 1, ())]),
    "typedef of a function pointer": ("typedef int (*t)(int a, int (*b)(void));\n", "t", [(K.TYPEDEF, 1, ())]),
    "typedef of a function": ("typedef int t(int a);\n", "t", [(K.TYPEDEF, 1, ())]),
    "typedef with attribute": ("typedef int t __attribute__((aligned(8)));\n", "t", [(K.TYPEDEF, 1, ())]),
    "typedef of a tag of the same name": ("typedef struct t t;\n", "t", [(K.TYPEDEF, 1, ())]),
    "variable": ("static int a __read_mostly = 3;\n", "a", [(K.VARIABLE, 1, ())]),
    "variable on a second line": ("static const struct s\n\ta[4] = {\n\t{ 1 },\n};\n", "a", [(K.VARIABLE, 2, ())]),
    "variable of an anonymous structure": ("struct {\n\tint b;\n} a[2];\n", "a", [(K.VARIABLE, 3, ())]),
    "second variable": ("int a, *b = &a;\n", "b", [(K.VARIABLE, 1, ())]),
    "function pointer": ("int (*a)(int);\n", "a", [(K.VARIABLE, 1, ())]),
    "both branches": (
        "#ifdef A\n#define F 1\n#else\nint F(void);\n#endif\n",
        "F",
        [(K.MACRO, 2, ("defined(A)",)), (K.PROTOTYPE, 4, ("!(defined(A))",))],
    ),
    "array of function pointers": ("static int (* const a[])(int b) = {\n\tg,\n};\n", "a", [(K.VARIABLE, 1, ())]),
    "return type of a function": ("enum e __f(int a)\n{\n}\n", "e", []),
    "an argument in an enumerator": ("enum {\n\tA = M(1, B, 2),\n\tC\n};\n", "B", []),
    "an argument of a macro that holds statements": ("CLASS(x,\n\tASSIGN(a = b;),\n\tprintk(F G, H));\n", "G", []),
    "a line of a comment": ("/*\n * f (int a);\n */\n", "f", []),
    "a call": ("int g(void)\n{\n\treturn f(1);\n}\n", "f", []),
    "a call in column 0": ("int g(void)\n{\nf(1);\n}\n", "f", []),
    "a macro call at the top": ("EXPORT(f);\nmodule_init(f);\n", "module_init", []),
    "a parameter": ("int g(int f, int (*h)(int f));\n", "f", []),
    "a member": ("struct s {\n\tint f;\n\tint (*g)(int f);\n};\n", "f", []),
    "a local": ("int g(void)\n{\n\tint f = 1;\n}\n", "f", []),
    "a comment": ("/*\nint f(void);\n*/\n// int f(void);\n", "f", []),
    "a string": ('char *a = "int f(void);";\n', "f", []),
    "an initialiser": ("int a = f;\nint b[f] = { f, f };\n", "f", []),
    "a forward declaration": ("struct s;\nstruct s *a;\nextern struct s b;\n", "s", []),
    "an element of an array of enumerations": ("static enum e a[] = {\n\tA,\n\tB,\n};\n", "A", []),
    "a prototype after an #undef": ("#undef f\nint f(void);\n", "f", [(K.PROTOTYPE, 2, ())]),
    "a macro and calls": ("#define F(x) g(x)\nint h(void)\n{\n\treturn F(1);\n}\n", "F", [(K.MACRO, 1, ())]),
    "use in a macro body": ("#define G f\n#define H(f) f\n", "f", []),
    "a longer name": ("int ff(void);\nint f_(void);\n#define f2 1\n", "f", []),
}


@pytest.mark.parametrize("case", DEFINITIONS)
def test_every_definition_of_a_name_and_nothing_else(case: str) -> None:
    source, name, expected = DEFINITIONS[case]
    found = find_definitions(source.encode(), name, "a.h")
    assert [(each.kind, each.line, each.conditions) for each in found] == expected
    assert find_macros(source.encode(), name, "a.h") == tuple(each for each in found if each.kind is K.MACRO)
    for each in found:
        assert source.encode()[each.start : each.start + len(each.text)] == each.text


WORDS = {
    "before the name": ("static noinline_for_stack int f(void)\n{\n}\n", {"static", "noinline_for_stack"}),
    "linkage and visibility": ("asmlinkage __visible notrace void f(void)\n{\n}\n", {"asmlinkage", "notrace"}),
    "behind the parameters": ("int f(int a) notrace;\n", {"notrace"}),
    "an attribute with arguments": (
        "int f(int a) __attribute__((no_instrument_function)) __must_hold(x);\n",
        {"no_instrument_function", "__must_hold"},
    ),
    "between head and body": ("static int f(void)\n\t__acquires(x)\n{\n}\n", {"static", "__acquires"}),
}


@pytest.mark.parametrize("case", WORDS)
def test_annotation_words_are_recorded(case: str) -> None:
    source, expected = WORDS[case]
    (found,) = find_definitions(source.encode(), "f", "a.c")
    assert expected <= set(found.words)


def test_the_text_of_a_structure_holds_all_of_it() -> None:
    data = b"int z;\nstruct s {\n\tint a; /* { */\n} __packed;\nint y;\n"
    (found,) = find_definitions(data, "s", "a.h")
    assert found.text == b"struct s {\n\tint a; /* { */\n} __packed;"


MAKERS = (
    NameMaker(pattern="MAKE_EVENT", argument=1, template="trace_{}"),
    NameMaker(pattern="MAKE_CALL[0-3]", argument=0, template="sys_{}"),
)


@pytest.mark.parametrize(
    ("source", "name", "line"),
    [
        ("MAKE_EVENT(cls, thing,\n\tARGS(a));\n", "trace_thing", 1),
        ("int a;\nMAKE_CALL2(open, int, fd)\n{\n}\n", "sys_open", 2),
    ],
    ids=["second argument", "head of a function"],
)
def test_a_macro_makes_a_name(source: str, name: str, line: int) -> None:
    (found,) = find_definitions(source.encode(), name, "a.c", MAKERS)
    assert (found.name, found.line) == (name, line)


@pytest.mark.parametrize("source", ["MAKE_EVENT(thing, cls);\n", "/* MAKE_EVENT(cls, thing) */\n", "x(cls, thing);\n"])
def test_other_places_make_no_name(source: str) -> None:
    assert find_definitions(source.encode(), "trace_thing", "a.c", MAKERS) == ()


CONDITIONS = {
    "none": ("int @a;\n", ()),
    "nested": ("#ifdef A\n#if B > 1\nint @a;\n#endif\n#endif\n", ("defined(A)", "B > 1")),
    "ifndef": ("#ifndef A\nint @a;\n#endif\n", ("!defined(A)",)),
    "else": ("#ifdef A\n#else\nint @a;\n#endif\n", ("!(defined(A))",)),
    "else of ifndef": ("#ifndef A\n#else\nint @a;\n#endif\n", ("defined(A)",)),
    "elif": ("#if A\n#elif B\nint @a;\n#endif\n", ("!(A) && B",)),
    "else of elif": ("#if A\n#elif B\n#else\nint @a;\n#endif\n", ("!(A) && !(B)",)),
    "after the #endif": ("#ifdef A\n#endif\nint @a;\n", ()),
    "include guard": ("/* x */\n#ifndef G\n#define G\n#ifdef A\nint @a;\n#endif\n#endif\n", ("defined(A)",)),
    "include guard with #if": ("#if !defined(G)\n#define G\nint @a;\n#endif\n", ()),
    "guard of trace events": (
        "#undef S\n#define S s\n#if !defined(_G_H) || defined(AGAIN)\n#define _G_H\nint @a;\n#endif\n",
        (),
    ),
    "a default behind a #define": ("#define S s\n#ifndef G\n#define G 1\nint @a;\n#endif\n", ("!defined(G)",)),
    "no guard": ("#ifndef G\n#define H\nint @a;\n#endif\n", ("!defined(G)",)),
    "comment behind it": ("#ifdef A /* why */\nint @a;\n#endif\n", ("defined(A)",)),
    "continued": ("#if A && \\\n    B\nint @a;\n#endif\n", ("A && B",)),
    "in a comment": ("/*\n#ifdef A\n*/\nint @a;\n", ()),
    "#if 0": ("#if 0\nint @a;\n#endif\n", ("0",)),
}


@pytest.mark.parametrize("case", CONDITIONS)
def test_conditions_around_a_place(case: str) -> None:
    source, expected = CONDITIONS[case]
    assert conditions_at(*place(source)) == expected


def test_blanking_keeps_every_offset_and_line() -> None:
    data = b'a /* x\n y */ b // c\n"/* s */" \'q\' "\\"//" d\n'
    blanked = blank_comments(data)
    assert blanked == b'a     \n      b     \n"/* s */" \'q\' "\\"//" d\n'
    assert blank_comments(data, literals=True) == b'a     \n      b     \n"       " \' \' "    " d\n'


@pytest.mark.parametrize("pattern", [DIRECTIVE, CONDITIONAL], ids=["directives", "conditionals"])
@pytest.mark.parametrize(
    "code",
    [
        "",
        "#if A",
        "int a;\n",
        "a # b\n",
        "#define F(x) #x ## x\n#if A\n",
        " \t#\tif A && \\\n#ifdef B\n x\n#endif",
        "#define F \\\n#if A\n#else\n",
        "a;\r\n#ifdef B\r\n#endif\r\n",
        "\x0b#if A\x0b\n a; #if B\n# \\\n if C\n",
    ],
)
def test_directives_are_found_by_their_hash_as_well(pattern: re.Pattern[bytes], code: str) -> None:
    found = [(match.span(), match.groups()) for match in lines_of(pattern, code.encode())]
    assert found == [(match.span(), match.groups()) for match in pattern.finditer(code.encode())]


def test_lines_and_columns() -> None:
    index = LineIndex(b"ab\n\ncd")
    assert [index.line(at) for at in range(6)] == [1, 1, 1, 2, 3, 3]
    assert (index.column(5), index.start(3)) == (2, 4)
