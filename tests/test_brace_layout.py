"""Braces that do not fit the indentation are told from all that kernel code does with braces."""

from __future__ import annotations

import pytest

from reviewbot.csyntax.brace_layout import misplaced_brace

FITTING = {
    "plain": "{\n\tif (x) {\n\t\ta();\n\t} else {\n\t\tb();\n\t}\n}",
    "one line": "{ return 0; }",
    "switch": "{\n\tswitch (x) {\n\tcase 1: {\n\t\ta();\n\t\tbreak;\n\t}\n\tdefault:\n\t\tb();\n\t}\n}",
    "a head of two lines": "{\n\tif (x &&\n\t    y) {\n\t\ta();\n\t}\n}",
    "a brace of its own line": "{\n\tif (x)\n\t{\n\t\ta();\n\t}\n}",
    "do": "{\n\tdo {\n\t\ta();\n\t} while (x);\n}",
    "labels at the margin": "{\n\tif (x) {\nretry:\n\t\ta();\n\t}\nout:\n\treturn;\n}",
    "an initialiser": "{\n\tint a[] = { 1,\n2, 3 };\n\tb();\n}",
    "blanks for tabs": "{\n        if (x) {\n\t\ta();\n\t}\n}",
    "deeper than its head": "{\n\tif (x) {\n\t\ta();\n\t\t}\n}",
}
ODD = {
    "missing before the end": "{\n\tif (x) {\n\t\ta();\n\n\tb();\n}",
    "missing within": "{\n\tif (x) {\n\t\tif (y) {\n\t\t\ta();\n\t\tb();\n\t}\n}\n}",
    "one too many": "{\n\tif (x)\n\t\ta();\n\t}\n\tb();\n}",
    "never closed": "{\n\tif (x) {\n\t\ta();\n\t}\n",
    "reaches into the next function": "{\n\tif (x) {\n\t\ta();\n}\n\nint g(void)\n{\n\tb();\n}\n}",
}


@pytest.mark.parametrize("body", FITTING.values(), ids=FITTING)
def test_layouts_that_fit(body: str) -> None:
    assert misplaced_brace(body.encode(), is_at_margin=True) is None


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_layouts_that_do_not(body: str) -> None:
    assert misplaced_brace(body.encode(), is_at_margin=True) is not None


def test_a_function_that_begins_inside_a_line_may_end_anywhere() -> None:
    assert misplaced_brace(b"{\n\ta();\n\t}", is_at_margin=False) is None
