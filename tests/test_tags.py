"""Where the body of a struct, union or enum is: each case says what C makes of it."""

from __future__ import annotations

import pytest

from reviewbot.csyntax.definition import DefinitionKind
from reviewbot.csyntax.tags import MAX_DEFINITIONS, find_tags

STRUCT, UNION, ENUM = DefinitionKind.STRUCT, DefinitionKind.UNION, DefinitionKind.ENUM


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("struct it { int a; };", [(STRUCT, "struct it { int a; };")]),
        ("union it\n{ int a; } x, *y;", [(UNION, "union it\n{ int a; } x, *y;")]),
        ("enum it { A, B };", [(ENUM, "enum it { A, B };")]),
        ("struct __packed it { int a; };", [(STRUCT, "struct __packed it { int a; };")]),
        ("struct __aligned(8) __packed it { int a; };", [(STRUCT, "struct __aligned(8) __packed it { int a; };")]),
        ("struct it __attribute__((packed)) { int a; };", [(STRUCT, "struct it __attribute__((packed)) { int a; };")]),
        ("struct outer { struct it { int a; } in; };", [(STRUCT, "struct it { int a; } in;")]),
        ("typedef struct it { int a; } it;", [(STRUCT, "struct it { int a; } it;")]),
        ("struct it { struct it *next; };", [(STRUCT, "struct it { struct it *next; };")]),
        ("struct\nit\n{\n\tint a;\n};", [(STRUCT, "struct\nit\n{\n\tint a;\n};")]),
        ("struct it a = { 1 };", []),
        ("struct it;\nstruct other { int a; };", []),
        ("struct other { struct it *a; };", []),
        ("int it(void) { return 0; }", []),
        ("struct it *get(struct it *a)\n{\n\treturn a;\n}", []),
        ("/* struct it { */ struct other { int a; };", []),
        ('char *text = "struct it {"; struct other { int a; };', []),
        ("struct items { int a; }; struct an_it { int a; };", []),
        ("struct other it { int a; };", []),
        ("struct it { int a;", []),
    ],
)
def test_the_bodies_of_a_tag(text: str, found: list[tuple[DefinitionKind, str]]) -> None:
    tags = find_tags(text.encode(), "it", "a.h")
    assert [(tag.kind, tag.text.decode()) for tag in tags] == found
    assert all(text.encode()[tag.start :].startswith(tag.text[:5]) for tag in tags)


def test_both_branches_have_one() -> None:
    text = b"#ifdef A\nstruct it { int a; };\n#else\nstruct it { long a; };\n#endif\n"
    assert [(tag.line, tag.conditions) for tag in find_tags(text, "it", "a.h")] == [
        (2, ("defined(A)",)),
        (4, ("!(defined(A))",)),
    ]


def test_two_heads_with_one_body() -> None:
    text = b"#ifdef A\nstruct it\n#else\nstruct that\n#endif\n{\n\tint a;\n};\n"
    for name in ("it", "that"):
        (tag,) = find_tags(text, name, "a.h")
        assert tag.text.split() == [b"struct", name.encode(), b"{", b"int", b"a;", b"};"]


def test_what_is_defined_too_often_is_not_defined() -> None:
    text = b"struct it { int a; };\n"
    assert len(find_tags(text * MAX_DEFINITIONS, "it", "a.h")) == MAX_DEFINITIONS
    assert find_tags(text * (MAX_DEFINITIONS + 1), "it", "a.h") == ()
