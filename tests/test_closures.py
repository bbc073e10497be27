"""What each file reaches: the same as a walk over the #includes gives."""

from __future__ import annotations

import itertools
import random

import networkx as nx
import pytest

from reviewbot.graph import closures
from reviewbot.graph.closures import Closures, Edges, FileNumbers, FileSet, numbers_in


@pytest.mark.parametrize("seed", range(60))
def test_any_graph_of_includes(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 40)
    graph = nx.gnp_random_graph(count, rng.choice([0.02, 0.05, 0.1, 0.3]), seed=seed, directed=True)
    graph.add_edges_from((node, node) for node in range(0, count, 7))  # a file that includes itself
    names = {node: f"include/{node:02}.h" for node in graph}
    numbers = FileNumbers()

    def edges_in(which: nx.DiGraph) -> Edges:
        return lambda path: [names[target] for target in which.successors(int(path[8:10]))]

    other = graph.copy()  # as with an -I directory: some files include something else
    changed = set(rng.sample(sorted(graph), rng.randint(0, count // 4)))
    other.remove_edges_from(list(other.out_edges(changed)))
    other.add_edges_from((node, rng.randrange(count)) for node in changed)

    plain = Closures(edges_in(graph), numbers)
    special = Closures(edges_in(other), numbers, like=plain, differs=lambda path: int(path[8:10]) in changed)
    for which, closures_of in ((graph, plain), (other, special), (graph, plain)):
        for start in rng.sample(sorted(graph), count):
            expected = {names[node] for node in nx.descendants(which, start) | {start}}
            assert FileSet(closures_of.of([names[start]]), numbers).paths == tuple(sorted(expected))


def test_a_chain_longer_than_any_stack() -> None:
    numbers = FileNumbers()
    names = [f"{n}.h" for n in range(5000)]
    after = dict(itertools.pairwise(names))
    chain = Closures(lambda path: [after[path]] if path in after else [], numbers)
    assert chain.of(["0.h"]).bit_count() == 5000
    assert chain.of(["4999.h"]) == numbers.bit("4999.h")


def test_a_file_too_many_is_in_no_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closures, "MAX_FILES", 2)
    numbers = FileNumbers()
    assert [numbers.bit(path) for path in ("a.h", "b.h", "c.h", "b.h")] == [1, 2, 0, 2]
    assert numbers.known_bit("c.h") == 0


@pytest.mark.parametrize("bits", [0, 1, 2, 0b1011, 1 << 8, (1 << 70) | 1, (1 << 64) - 1])
def test_the_numbers_of_a_set(bits: int) -> None:
    expected = [number for number in range(80) if bits >> number & 1]
    assert list(numbers_in(bits)) == expected
    assert [number for number in range(80) if FileSet(bits, FileNumbers()).has(number)] == expected
