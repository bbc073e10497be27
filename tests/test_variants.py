"""#if inside a function: one variant for each choice of branches, and the condition that tells variants apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewbot.csyntax.variants import MAX_FREE_CONDITIONS, MAX_VARIANTS, condition_of, split_variants

A, B = "defined(CONFIG_A)", "defined(CONFIG_B)"

# name -> (text, enclosing conditions, {chosen conditions: words left})
CASES: dict[str, tuple[str, tuple[str, ...], dict[tuple[tuple[str, bool], ...], str]]] = {
    "no #if": ("a b", (), {(): "a b"}),
    "a # that is no condition": ("#pragma x\na", (), {(): "a"}),
    "ifdef": ("a\n#ifdef CONFIG_A\nb\n#endif\nc", (), {((A, True),): "a b c", ((A, False),): "a c"}),
    "ifndef": ("#ifndef CONFIG_A\nb\n#endif\nc", (), {((A, True),): "c", ((A, False),): "b c"}),
    "else": ("#ifdef CONFIG_A\na\n#else\nb\n#endif", (), {((A, True),): "a", ((A, False),): "b"}),
    "the same condition twice": (
        "#ifdef CONFIG_A\na\n#endif\nx\n#if defined(CONFIG_A)\nb\n#endif", (), {
            ((A, True),): "a x b", ((A, False),): "x"}),
    "three spellings of one condition": (
        "#ifdef CONFIG_A\na\n#endif\n#if IS_ENABLED(CONFIG_A)\nb\n#endif\n#if !(!defined CONFIG_A)\nc\n#endif", (), {
            ((A, True),): "a b c", ((A, False),): ""}),
    "elif": (
        "#if X > 1\na\n#elif X > 0\nb\n#else\nc\n#endif", (), {
            (("X > 0", True), ("X > 1", True)): "a",
            (("X > 0", True), ("X > 1", False)): "b",
            (("X > 0", False), ("X > 1", False)): "c"}),
    "nested": (
        "#ifdef CONFIG_A\na\n#ifdef CONFIG_B\nb\n#endif\n#endif", (), {
            ((A, True), (B, True)): "a b", ((A, True), (B, False)): "a", ((A, False), (B, True)): ""}),
    "#if 0": ("#if 0\na\n#else\nb\n#endif", (), {(): "b"}),
    "#if 1": ("#if 1\na\n#else\nb\n#endif", (), {(): "a"}),
    "known from around the function": ("#ifdef CONFIG_A\na\n#else\nb\n#endif", (A,), {(): "a"}),
    "excluded around the function": ("#ifdef CONFIG_A\na\n#else\nb\n#endif", (f"!({A})",), {(): "b"}),
    "a condition over two lines": ("#if X && \\\n    Y\na\n#endif", (), {
        (("X && Y", True),): "a", (("X && Y", False),): ""}),
    "an #endif too many": ("a\n#endif\nb", (), {(): "a b"}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "enclosing", "expected"), CASES.values(), ids=CASES)
def test_every_choice_of_branches_is_a_variant(
    text: str, enclosing: tuple[str, ...], expected: dict[tuple[tuple[str, bool], ...], str]
) -> None:
    found = split_variants(text.encode(), enclosing)
    assert {variant.conditions: " ".join(variant.text.decode().split()) for variant in found} == expected
    assert all(variant.is_exhaustive for variant in found)


@pytest.mark.parametrize("text", [text for text, _, _ in CASES.values()], ids=CASES)
def test_no_byte_and_no_line_moves(text: str) -> None:
    for variant in split_variants(text.encode()):
        assert len(variant.text) == len(text)
        assert variant.text.count(b"\n") == text.count("\n")


PIECES = st.sampled_from(
    ["#ifdef CONFIG_A", "#if X", "#elif Y", "#else", "#endif", "a();", "", "#if \\", "# define Z", "\t#ifndef CONFIG_B"]
)


@given(st.lists(PIECES, max_size=30))
def test_whatever_stands_there_keeps_its_place_or_becomes_blank(lines: list[str]) -> None:
    text = "\n".join(lines).encode()
    for variant in split_variants(text):
        assert len(variant.text) == len(text)
        assert all(new in (old, ord(" ")) for new, old in zip(variant.text, text, strict=True))


def text_with(count: int) -> bytes:
    return "".join(f"#ifdef CONFIG_{number}\na{number}\n#endif\n" for number in range(count)).encode()


@pytest.mark.parametrize("count", [MAX_FREE_CONDITIONS, MAX_FREE_CONDITIONS + 1, 200])
def test_the_number_of_variants_is_bounded_and_said(count: int) -> None:
    found = split_variants(text_with(count))
    assert len(found) <= MAX_VARIANTS
    assert all(variant.is_exhaustive is (count <= MAX_FREE_CONDITIONS) for variant in found)


def test_beyond_the_bound_every_condition_is_still_seen_both_ways() -> None:
    count = MAX_FREE_CONDITIONS + 3
    found = split_variants(text_with(count))
    for number in range(count):
        assert {f"a{number}".encode() in variant.text.split() for variant in found} == {True, False}


Conditions = tuple[tuple[str, bool], ...]

YES, NO = ((A, True),), ((A, False),)
TELLING: dict[str, tuple[list[Conditions], list[Conditions], str | None]] = {
    "all have it": ([YES, NO], [], None),
    "nobody has it": ([], [YES, NO], None),
    "one of two": ([YES], [NO], A),
    "the other of two": ([NO], [YES], f"!{A}"),
    "a longer condition": ([(("X > 0", False),)], [(("X > 0", True),)], "!(X > 0)"),
    "both at once": (
        [((A, True), (B, True))],
        [((A, True), (B, False)), ((A, False), (B, True)), ((A, False), (B, False))],
        f"{A} && {B}",
    ),
    "another condition does not matter": (
        [((A, True), (B, True)), ((A, True), (B, False))],
        [((A, False), (B, True)), ((A, False), (B, False))],
        A,
    ),
    "either of two": (
        [((A, True), (B, True)), ((A, True), (B, False)), ((A, False), (B, True))],
        [((A, False), (B, False))],
        None,
    ),
}


@pytest.mark.parametrize(("present", "absent", "expected"), TELLING.values(), ids=TELLING)
def test_the_condition_of_a_finding(present: list[Conditions], absent: list[Conditions], expected: str | None) -> None:
    assert condition_of(present, absent) == expected
