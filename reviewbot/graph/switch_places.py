"""Under which conditions a node of a flow is reached, as a person would say it."""

from __future__ import annotations

from reviewbot.graph.switch_ways import Ways, guard_text

MAX_CONDITIONS = 3


def conditions_of(ways: Ways) -> dict[int, str]:
    """For each node the conditions that hold on every way to it; that nothing failed before is not said."""
    held: dict[int, tuple[str, ...]] = {0: ()}
    for node in ways.order:
        if node not in held:
            continue
        choices = ways.choices(node)
        is_choice = len({edge.target for edge in choices}) > 1 and not _ends_loop(ways, node)
        for edge in ways.forward(node):
            text = guard_text(ways.flow, edge.guard) if is_choice and edge in choices else ""
            here = (*held[node], text) if text and text not in held[node] else held[node]
            known = held.get(edge.target)
            held[edge.target] = here if known is None else tuple(each for each in known if each in here)
    return {node: " && ".join(conditions[-MAX_CONDITIONS:]) for node, conditions in held.items()}


def _ends_loop(ways: Ways, node: int) -> bool:
    """Whether the node decides about another round."""
    loops = set(ways.flow.nodes[node].loops)
    return any(not loops <= set(ways.flow.nodes[edge.target].loops) for edge in ways.forward(node))
