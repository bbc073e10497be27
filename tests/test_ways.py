"""Between which places of a function no way leads."""

from __future__ import annotations

import pytest

from reviewbot.csyntax.ways import Ways

# The asked places are the letters X and Y.
APART: dict[str, str] = {
    "a return statement": "return X; Y;",
    "a return under an if": "if (a) return X; Y;",
    "a return behind an else": "if (a) b(); else return X; Y;",
    "a return in a case": "switch (a) { case 1: return X; case 2: Y; }",
    "a return with conditions": "return a ? X : b; Y;",
    "a return on several lines": "return a(\n\tX,\n\tb);\nY;",
    "a return before an #if": "return X;\n#ifdef A\nY;\n#endif\n",
    "a block that returns": "if (a) { X; return 0; } Y;",
    "a block that returns behind a label": "if (a) { X; out: return 0; } Y;",
    "a block that returns behind another": "if (a) { X; if (b) { c(); } return 0; } Y;",
    "a block around the one": "if (a) { if (X) { b(); } return 0; } Y;",
    "a block that returns nothing": "if (a) { X; return; } Y;",
    "a block under an #if": "\n#ifdef A\nif (a) { X; return 0; }\n#endif\nY;",
    "a block with an #if in it": "if (a) {\n#ifdef A\nX;\n#endif\nreturn 0; } Y;",
    "two branches": "if (a) { X; } else { Y; }",
    "two branches without braces": "if (a) X; else Y;",
    "branches with and without braces": "if (a) { X; } else Y;",
    "the condition of the other branch": "if (a) { X; } else if (Y) { b(); }",
    "the third branch": "if (a) { X; } else if (b) { c(); } else { Y; }",
    "the third branch without braces": "if (a) X; else if (b) c(); else Y;",
    "deep in two branches": "if (a) { if (b) { X; } } else { if (c) Y; }",
    "in a condition that is no if": "if (a) while (X) b(); else Y;",
    "behind two conditions": "if (a) if (b) X; else Y;",
    "behind a condition with calls": "if (a(b(c))) X; else Y;",
    "an #if behind both": "if (a) { X; } else { Y; }\n#ifdef A\n#endif\n",
    "cases": "switch (a) { case 1: X; break; case 2: Y; }",
}

TOGETHER: dict[str, str] = {
    "one after the other": "X; Y;",
    "a return statement before both": "if (a) return 0; X; Y;",
    "in one return statement": "return X || Y;",
    "a word that begins with return": "returned = X; Y;",
    "a return under an #if": "\n#ifdef A\nreturn\n#endif\nX; Y;",
    "a block in a return": "return a(({ b; X; }), Y);",
    "a block behind a return": "return X + ({ b; Y; });",
    "a block that may return": "if (a) { X; if (b) return 0; } Y;",
    "a block that may return behind an else": "if (a) { X; if (b) c(); else return 0; } Y;",
    "a block that returns under an #if": "if (a) { X;\n#ifdef A\nreturn 0;\n#endif\n} Y;",
    "a block that returns under an #else": "if (a) { X;\n#ifdef A\nb();\n#else\nreturn 0;\n#endif\n} Y;",
    "a block that returns under an if that is under an #if": "if (a) { X;\n#ifdef A\nif (b)\n#endif\nreturn 0; } Y;",
    "a block that jumps": "if (a) { X; if (b) goto out; return 0; } out: Y;",
    "a block that is left": "while (a) { if (b) { X; if (c) break; return 0; } } Y;",
    "a block in which a loop returns": "if (a) { X; while (b) { return 0; } } Y;",
    "before the block": "X; if (a) { return 0; } Y;",
    "in the block": "if (a) { X; Y; return 0; }",
    "in the condition": "if (X) { a(); } else { Y; }",
    "in the condition without braces": "if (X) a(); else Y;",
    "in the condition of an outer if": "if (X) if (b) c(); else Y;",
    "in the condition of an inner if": "if (a) if (X) b(); else Y;",
    "in the condition of an if behind an else": "if (a) b(); else if (c) if (X) d(); else Y;",
    "in the condition of an if in a loop": "if (a) while (b) if (X) c(); else Y;",
    "behind the branches": "if (a) { X; } else { b(); } Y;",
    "behind the branches without braces": "if (a) X; else b(); Y;",
    "an else under an #if": "if (a) { X; }\n#ifdef A\nelse\n#endif\nY;",
    "an else with one of two statements under an #if": "if (a) { X; } else\n#ifdef A\nb();\n#endif\nY;",
    "no else": "if (a) { X; } Y;",
    "a word that begins with else": "if (a) { X; } elsewhere(); Y;",
    "braces that do not fit": "if (a) {\n#ifdef A\nX; return 0; }\n#else\n}\n#endif\nY; }",
    "falls through": "switch (a) { case 1: X; case 2: Y; }",
}


def are_apart(text: str) -> bool:
    body = f"{{ {text} }}"
    ways = Ways(body.encode(), 0)
    one, other = body.index("X"), body.index("Y")
    answer = ways.are_apart(one, other)
    assert ways.are_apart(other, one) is answer and ways.are_apart(one, other) is answer
    return answer


@pytest.mark.parametrize("text", APART.values(), ids=APART)
def test_no_way_leads_from_the_first_to_the_second(text: str) -> None:
    assert are_apart(text)


@pytest.mark.parametrize("text", TOGETHER.values(), ids=TOGETHER)
def test_a_way_may_lead_from_the_first_to_the_second(text: str) -> None:
    assert not are_apart(text)


# The loops are written with the word `for`, and each ends with its braces.
ROUND: dict[str, str] = {
    "in a loop": "for (;;) { X; }",
    "under an if": "for (;;) { if (a) { X; } }",
    "with a break": "for (;;) { X; if (b) break; }",
    "a block that goes on": "for (;;) { if (a) { X; continue; } return 0; }",
    "a block that may go on": "for (;;) { if (a) { X; if (b) continue; return 0; } }",
    "a block that may jump": "for (;;) { again: if (a) { X; if (b) goto again; break; } }",
    "a break of an inner switch": "for (;;) { switch (a) { case 1: { X; break; } } }",
    "a break of an inner loop": "for (;;) { for (;;) { if (a) { X; break; } } }",
    "the loop in a block that returns": "if (a) { for (;;) { X; } return 0; }",
}

ONCE: dict[str, str] = {
    "in no loop": "for (;;) { a(); } X;",
    "a return statement": "for (;;) { if (a) return X; }",
    "a block that returns": "for (;;) { if (a) { X; return 0; } }",
    "a block that returns from two loops": "for (;;) { for (;;) { if (a) { X; return 0; } } }",
    "a block that breaks": "for (;;) { if (a) { X; break; } }",
}


def comes_round(text: str) -> bool:
    body = f"{{ {text} }}"
    ways = Ways(body.encode(), 0)
    loops = []
    for at in range(len(body)):
        if body.startswith("for", at):
            end = body.index("{", at) + 1
            while body.count("{", at, end) > body.count("}", at, end):
                end += 1
            loops.append((at, end))
    return ways.comes_round(body.index("X"), loops)


@pytest.mark.parametrize("text", ROUND.values(), ids=ROUND)
def test_a_loop_may_lead_back(text: str) -> None:
    assert comes_round(text)


@pytest.mark.parametrize("text", ONCE.values(), ids=ONCE)
def test_no_loop_leads_back(text: str) -> None:
    assert not comes_round(text)
