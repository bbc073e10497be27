"""Which places stand in cases of a switch between which no way leads."""

from __future__ import annotations

import re

import pytest

from reviewbot.csyntax.cases import cases_of

# The asked places are the letters X and Y.
APART: dict[str, str] = {
    "return": "switch (a) { case 1: X; return 0; case 2: Y; }",
    "break": "switch (a) { case 1: X; break; default: Y; break; }",
    "goto and continue": "for (;;) switch (a) { case 1: X; continue; case 2: goto out; case 3: Y; } out: return 0;",
    "a return of a value on two lines": "switch (a) { case 1: return X(\n1); case 2: return Y(2); }",
    "in braces": "switch (a) { case 1: { X; break; } case 2: { if (b) { Y; } } }",
    "one of several labels": "switch (a) { case 1: case 2: X; break; case 3: case 4: Y; }",
    "one case between": "switch (a) { case 1: X; case 2: break; case 3: Y; }",
    "in an inner switch": "switch (a) { case 1: switch (b) { case 3: X; break; } break; case 2: Y; }",
    "both in an inner switch": "switch (a) { case 1: switch (b) { case 3: X; break; case 4: Y; } }",
    "under an #if": "switch (a) { case 1: X; break;\n#ifdef A\ncase 2: Y;\n#endif\n}",
    "behind a case under an #if": "switch (a) { case 1: break;\n#ifdef A\ncase 2: X; return 0;\n#endif\ncase 3: Y; }",
    "before and behind a case under an #if": (
        "switch (a) { case 1: X; break;\n#ifdef A\ncase 2: return 0;\n#else\ncase 3: return 1;\n#endif\ncase 4: Y; }"
    ),
    "in branches of an #if": (
        "switch (a) { case 1: break;\n#ifdef A\ncase 2: X; break;\n#elif B\ncase 3: Y; break;\n#endif\n}"
    ),
    "a statement under an #if": "switch (a) { case 1: X;\n#ifdef A\nc();\n#endif\nbreak; case 2: Y; }",
    "a whole switch under an #if": "\n#ifdef A\nswitch (a) { case 1: X; break; case 2: Y; }\n#endif\n",
    "behind a loop that is left": "switch (a) { case 1: while (b) { X; } return 0; case 2: Y; }",
}

TOGETHER: dict[str, str] = {
    "one case": "switch (a) { case 1: X; Y; }",
    "falls through": "switch (a) { case 1: X; case 2: Y; }",
    "a jump under an if": "switch (a) { case 1: X; if (b) return 0; case 2: Y; }",
    "a jump under an if with braces": "switch (a) { case 1: X; if (b) { return 0; } case 2: Y; }",
    "a jump under an else": "switch (a) { case 1: X; if (b) c(); else return 0; case 2: Y; }",
    "a jump out of an inner switch": "switch (a) { case 1: X; switch (b) { default: break; } case 2: Y; }",
    "a jump out of an inner loop": "switch (a) { case 1: X; do { break; } while (b); case 2: Y; }",
    "a jump under an #if": "switch (a) { case 1: X;\n#ifdef A\nbreak;\n#endif\ncase 2: Y; }",
    "jumps in both branches of an #if": (
        "switch (a) { case 1: X;\n#ifdef A\nbreak;\n#else\nreturn 0;\n#endif\ncase 2: Y; }"
    ),
    "past a case under an #if": "switch (a) { case 1: X;\n#ifdef A\ncase 2: break;\n#endif\ncase 3: Y; }",
    "into a case under an #if": "switch (a) { case 1: X;\n#ifdef A\ncase 2: Y; break;\n#endif\ncase 3: b(); }",
    "an if under an #if before the jump": "switch (a) { case 1: X;\n#ifdef A\nif (b)\n#endif\nbreak; case 2: Y; }",
    "something behind the jump": "switch (a) { case 1: X; break; next(); case 2: Y; }",
    "before the switch": "X; switch (a) { case 1: Y; }",
    "behind the switch": "switch (a) { case 1: X; break; case 2: break; } Y;",
    "two switches": "switch (a) { case 1: X; break; case 2: break; } switch (a) { case 1: break; case 2: Y; }",
    "no case at all": "switch (a) { X; Y; }",
    "no switch": "{ X; break; } { Y; }",
}

UNKNOWN: dict[str, str] = {
    "a label in a case": "switch (a) { case 1: X; goto b; case 2: b: Y; }",
    "a case deeper in the switch": "switch (a) { case 1: do { X; break; case 2: Y; } while (b); }",
    "an #if that cuts through a brace": "switch (a) {\n#ifdef A\ncase 1: X; break; }\n#else\n}\n#endif\nY;",
    "an #if that opens another switch": (
        "\n#ifdef A\nswitch (a) {\n#else\nswitch (b) {\n#endif\ncase 1: X; break; case 2: Y; }"
    ),
    "an #else without an #if": "switch (a) { case 1: X; break;\n#else\ncase 2: Y; }",
    "a case without a switch": "case 1: X; break; case 2: Y;",
}


def are_apart(text: str) -> bool | None:
    body = f"{{ {text} }}"
    cases = cases_of(body.encode(), re.sub(r"(?m)^#.*", lambda match: " " * len(match[0]), body).encode(), 0)
    return None if cases is None else cases.are_apart(body.index("X"), body.index("Y"))


@pytest.mark.parametrize("text", APART.values(), ids=APART)
def test_no_way_leads_from_one_to_the_other(text: str) -> None:
    assert are_apart(text) is True


@pytest.mark.parametrize("text", TOGETHER.values(), ids=TOGETHER)
def test_a_way_may_lead_from_one_to_the_other(text: str) -> None:
    assert are_apart(text) is False


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_cases_that_cannot_be_told(text: str) -> None:
    assert are_apart(text) is None


def test_braces_that_close_too_much_do_no_harm() -> None:
    text = b"} } switch (a) { case 1: break; } }"
    assert cases_of(text, text, 0) is not None
