"""In which state of user access a place can be reached: every path, and no path that no run can take."""

from __future__ import annotations

import pytest

from reviewbot.csyntax.flow import Call, Flow
from reviewbot.graph.paths import BY_CALLER, MAX_STATES_PER_NODE, Open, Paths, follow_paths
from reviewbot.rulebook.primitives import Direction
from tests.flows import direction_of, flow_of, primitive_of

BY_THE_CALLER = Open(node=BY_CALLER, name="begin", direction=Direction.READ_WRITE)


def follow(flow: Flow, entry: Open | None = None) -> Paths:
    return follow_paths(flow, primitive_of, entry, direction_of)


def states_at(flow: Flow, paths: Paths, name: str) -> str:
    """The states in which the call `name` is reached: the openers, `-` for closed; empty where it never is."""
    found = {
        state.open.name if state.open else "-"
        for index, node in enumerate(flow.nodes)
        if isinstance(node.action, Call) and node.action.name == name
        for state in paths.before[index]
    }
    return " ".join(sorted(found))


def states_at_exit(paths: Paths) -> str:
    return " ".join(sorted({state.open.name if state.open else "-" for _, state in paths.exits}))


# name -> (body, states at x(), states at the exits)
CASES: dict[str, tuple[str, str, str]] = {
    "before a block": ("x(); if (begin()) end();", "-", "-"),
    "the negative form": ("if (!begin()) return; x(); end();", "begin", "-"),
    "the positive form": ("if (begin()) { x(); end(); }", "begin", "-"),
    "where the opener failed": ("if (!begin()) { x(); return; } end();", "-", "-"),
    "behind the block": ("if (!begin()) return; end(); x();", "-", "-"),
    "an opener that nobody asks": ("begin(); x(); end();", "begin", "-"),
    "an opener that always opens": ("allow(); x(); end();", "allow", "-"),
    "an opener that gives an error": ("if (try_begin()) return; x(); end();", "try_begin", "-"),
    "left open": ("if (!begin()) return; x();", "begin", "- begin"),
    "left open on one path": ("if (!begin()) return; if (err) return; end(); x();", "-", "- begin"),
    "a result kept in a variable": ("ok = begin(); if (!ok) return; x(); end();", "begin", "-"),
    "a result that is overwritten": ("ok = begin(); ok = f(); if (!ok) return; x(); end();", "- begin", "- begin"),
    "a result that a callee may change": ("ok = begin(); f(&ok); if (!ok) return; x(); end();", "- begin", "- begin"),
    "an opener in a condition": ("if (a && !begin()) return; x(); if (a) end();", "- begin", "-"),
    "two openers by turns": ("if (a ? !begin() : !try_begin()) return; end();", "", "- try_begin"),
    "the same condition twice": ("if (a) allow(); if (a) { x(); end(); }", "allow", "-"),
    "a condition and its opposite": ("if (!a) allow(); if (a) x(); else end();", "-", "-"),
    "a comparison and its opposite": ("if (n < 8) allow(); if (n >= 8) x(); else end();", "-", "-"),
    "a condition that changes between": ("if (a) allow(); a = f(); if (a) { x(); end(); }", "- allow", "- allow"),
    "a condition that a callee may change": ("if (a) allow(); f(&a); if (a) x(); else end();", "- allow", "- allow"),
    "a step of the condition's variable": ("if (i) allow(); i++; if (i) x(); else end();", "- allow", "- allow"),
    "a choice that is kept": ("ok = a ? begin() : 0; if (!ok) return; x(); end();", "begin", "-"),
    "a truth that is kept": ("bool ok = a && begin(); if (ok) { x(); end(); }", "begin", "-"),
    "a constant that is kept": ("done = 0; if (a) { allow(); done = 1; } if (done) { x(); end(); }", "allow", "-"),
    "an error label": (
        "if (!begin()) return; put(v, p, fault); end(); return; fault: x(); end();", "begin", "-"),
    "an error label behind the end": (
        "if (!begin()) return; put(v, p, fault); end(); x(); return; fault: f();", "-", "- begin"),
    "a goto past the end": ("if (!begin()) goto out; end(); out: x();", "-", "-"),
    "a loop in a block": ("if (!begin()) return; while (n) x(); end();", "begin", "-"),
    "a block in a loop": ("while (n) { if (!begin()) continue; end(); } x();", "-", "-"),
    "an end that a break skips": ("while (n) { allow(); if (m) break; end(); } x();", "- allow", "- allow"),
    "a switch": ("switch (n) { case 1: allow(); } x(); switch (n) { case 1: end(); }", "- allow", "- allow"),
    "saved and restored": ("allow(); s = save(); x(); restore(s); end();", "-", "-"),
    "restored": ("allow(); s = save(); restore(s); x(); end();", "allow", "-"),
    "saved while closed": ("s = save(); restore(s); x();", "-", "-"),
    "nested": ("allow(); if (begin()) { x(); end(); } end();", "begin", "-"),
    "in the outer block again": ("allow(); if (!begin()) return; end(); x(); end();", "allow", "- allow"),
    "an end too many": ("allow(); end(); end(); x();", "-", "-"),
    "in a scope": ("scoped(p, out) { x(); } out: ;", "scoped", "-"),
    "behind a scope": ("scoped(p, out) { } x(); out: ;", "-", "-"),
    "where a scope failed": ("scoped(p, out) { } return; out: x();", "-", "-"),
    "a fault leaves the scope": ("scoped(p, out) { put(v, q, out); } return; out: x();", "-", "-"),
    "never reached": ("return; x();", "", "-"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "inside", "at_exit"), CASES.values(), ids=CASES)
def test_the_states_in_which_a_place_is_reached(body: str, inside: str, at_exit: str) -> None:
    flow = flow_of(body)
    paths = follow(flow)
    assert (states_at(flow, paths, "x"), states_at_exit(paths)) == (inside, at_exit)
    assert paths.is_exact


@pytest.mark.parametrize(
    ("body", "inside", "at_exit"),
    [
        ("x();", "begin", "begin"),
        ("end(); x();", "-", "-"),
        ("if (a) end(); x();", "- begin", "- begin"),
        ("s = save(); x(); restore(s);", "-", "begin"),
        ("allow(); end(); x();", "begin", "begin"),
    ],
)
def test_a_function_that_runs_in_its_callers_block(body: str, inside: str, at_exit: str) -> None:
    flow = flow_of(body)
    paths = follow(flow, BY_THE_CALLER)
    assert (states_at(flow, paths, "x"), states_at_exit(paths)) == (inside, at_exit)


def test_each_opener_is_told_apart() -> None:
    flow = flow_of("if (a) allow(); else allow(); x(); end();")
    paths = follow(flow)
    (place,) = [i for i, n in enumerate(flow.nodes) if isinstance(n.action, Call) and n.action.name == "x"]
    assert len(paths.open_at(place)) == 2
    assert not paths.is_closed_at(place)


def test_more_states_than_the_limit_are_said_and_openers_still_known() -> None:
    """Each condition is tested twice and decides about access, so every combination is a state of its own."""
    count = 8
    assert 2**count > MAX_STATES_PER_NODE
    asked = "".join(f"if (a{number}) {{ end(); begin(); }} " for number in range(count))
    flow = flow_of(f"if (!begin()) return; {asked} x(); {asked} end();")
    paths = follow(flow)
    assert not paths.is_exact
    assert "begin" in states_at(flow, paths, "x")
    assert all(len(states) <= MAX_STATES_PER_NODE for states in paths.before)


def test_conditions_that_decide_nothing_make_no_states() -> None:
    asked = "".join(f"if (a{number}) f(); " for number in range(40))
    flow = flow_of(f"if (!begin()) return; {asked} x(); {asked} end();")
    assert follow(flow).is_exact
