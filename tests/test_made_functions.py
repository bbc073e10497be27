"""Functions that a file makes with macros of its own."""

from __future__ import annotations

import pytest

from reviewbot.csyntax.made_functions import made_functions

INLINE = "#define MAKE(f) static inline int f(void) { return 0; }\n"

CASES: dict[str, tuple[str, dict[str, list[tuple[int, bool]]]]] = {
    "a name that is passed": (INLINE + "MAKE(a)\nMAKE(b);\n", {"a": [(2, True)], "b": [(3, True)]}),
    "words before the use": ("#define MAKE(f) int f(void) { }\nstatic inline MAKE(a)\n", {"a": [(2, True)]}),
    "a name that is pasted": ("#define OP(x) int get_##x##_bits(void) { }\nOP(le)\n", {"get_le_bits": [(2, False)]}),
    "macros in macros": (
        "#define ONE(x) int x##_get(void) { }\n#define TWO(x) ONE(x) ONE(x##2)\nTWO(a)\n",
        {"a_get": [(3, False)], "a2_get": [(3, False)]},
    ),
    "one macro after another under one name": (
        INLINE + "MAKE(a)\n#undef MAKE\n#define MAKE(f) int f(void) { }\nMAKE(b)\n",
        {"a": [(2, True)], "b": [(5, False)]},
    ),
    "each branch": (
        "#ifdef A\n#define MAKE(f) int f(void) { }\n#else\n" + INLINE + "#endif\nMAKE(a)\n",
        {"a": [(6, False), (6, True)]},
    ),
    "inside a function": (INLINE + "int g(void)\n{\nMAKE(a)\n}\n", {}),
    "in a comment": (INLINE + "/*\nMAKE(a)\n*/\n", {}),
    "before the #define": ("MAKE(a)\n" + INLINE, {}),
    "only prototypes": ("#define MAKE(f) int f(void);\nMAKE(a)\n", {}),
    "a macro of another file": ("MAKE(a)\n", {}),
    "too few arguments": ("#define MAKE(f, g) int f(void) { }\nMAKE(a)\n", {}),
    "one that never closes": (INLINE + "MAKE(a\n", {}),
    "one that uses itself": ("#define MAKE(f) MAKE(f) int f(void) { }\nMAKE(a)\n", {"a": [(2, False)]}),
}


@pytest.mark.parametrize("case", CASES)
def test_what_macros_make(case: str) -> None:
    text, expected = CASES[case]
    found = made_functions(text.encode(), "a.h").functions
    assert {name: [(each.line, "inline" in each.words) for each in made] for name, made in found.items()} == expected


def test_conditions_of_the_use_and_of_the_macro() -> None:
    text = "#ifdef A\n" + INLINE + "#endif\n#ifdef B\nMAKE(a)\n#endif\n"
    (made,) = made_functions(text.encode(), "a.h").functions["a"]
    assert made.conditions == ("defined(B)", "defined(A)")
    assert made.text == b"MAKE(a)"


def test_many_uses_of_a_macro_with_two_meanings_take_no_longer_than_that() -> None:
    """Every use means the same: the number of combinations does not double with each."""
    uses = " ".join(f"F(n{number})" for number in range(300))
    source = (
        "#ifdef A\n#define F(x) static inline void x(void) { }\n#else\n#define F(x) static void x(void) { }\n#endif\n"
        f"#define ALL() {uses}\nALL()\n"
    )
    made = made_functions(source.encode(), "a.h").functions
    assert len(made) == 300
    assert all({"inline" in each.words for each in found} == {True, False} for found in made.values())


def test_more_combinations_than_anyone_counts_show_each_meaning() -> None:
    names = [f"F{number}" for number in range(12)]
    source = "".join(
        f"#ifdef A{name}\n#define {name}(x) static inline void x(void) {{ }}\n#else\n"
        f"#define {name}(x) static void x(void) {{ }}\n#endif\n"
        for name in names
    )
    source += f"#define ALL() {' '.join(f'{name}(of_{name})' for name in names)}\nALL()\n"
    made = made_functions(source.encode(), "a.h").functions
    assert all({"inline" in each.words for each in made[f"of_{name}"]} == {True, False} for name in names)
