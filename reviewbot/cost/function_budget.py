"""The switch budget of one function as it stands: its tally, and what the typical call of it costs in switches."""

from __future__ import annotations

from collections.abc import Sequence

from reviewbot.cost.budget import cost_of_pairs
from reviewbot.cost.environment import CpuChoice, choose_cpu
from reviewbot.errors import UsageError
from reviewbot.findings.finding import Cost
from reviewbot.grammar import plural
from reviewbot.graph.code import CodeReader
from reviewbot.graph.configuration import Configuration
from reviewbot.graph.find_function import Found, find_functions
from reviewbot.graph.switch_counter import SwitchCounter
from reviewbot.graph.switch_counts import Tally
from reviewbot.rulebook.book import Rulebook, arch_of
from reviewbot.rulebook.primitives import Direction
from reviewbot.source.tree import SourceTree
from reviewbot.values import dataclass

GENERIC_ARCHES = ("powerpc", "x86")
"""Code outside arch/ runs everywhere; these two guard user memory, and differ in how."""

MAX_DEFINITIONS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionBudget:
    """`has_directions`: the architecture opens read and write access apart. `cost` is that of the switches alone."""

    path: str
    line: int
    function: str
    arch: str
    has_directions: bool
    tally: Tally
    cost: Cost


def function_budgets(
    tree: SourceTree,
    wanted: Sequence[str],
    book: Rulebook,
    cpu: CpuChoice,
    *,
    arch: str | None = None,
    configuration: Configuration | None = None,
) -> tuple[FunctionBudget, ...]:
    """One for each definition and architecture, in the order asked for. Raises UsageError for a function that is not
    there, or that is defined in too many places."""
    reader = CodeReader(tree, book)
    found = [each for name in wanted for each in _definitions(reader, name, arch)]
    counters: dict[tuple[str, str], SwitchCounter] = {}
    made: list[FunctionBudget] = []
    for each in dict.fromkeys(found):
        for where in _arches(each.path, arch):
            key = (where, each.path.rpartition("/")[0])
            if key not in counters:
                counters[key] = SwitchCounter(reader, where, key[1], configuration)
            made.append(_to_budget(each, where, counters[key].tally(each.path, each.item), reader, book, cpu))
    counted = {each.function for each in made if not each.tally.is_nothing}
    # beside the function, a stub of the same name is there for a configuration without it
    return tuple(each for each in made if not each.tally.is_nothing or each.function not in counted)


def _definitions(reader: CodeReader, name: str, arch: str | None) -> tuple[Found, ...]:
    found = find_functions(reader, name, arch)
    if not found:
        raise UsageError(f"There is no function {name!r} in {reader.tree.label}; write path:name to say where it is.")
    if len(found) > MAX_DEFINITIONS:
        places = ", ".join(each.path for each in found[:3])
        raise UsageError(
            f"{name} is defined {plural(len(found), 'time')} ({places}, …); name one as path:name, or give --arch."
        )
    return found


def _arches(path: str, arch: str | None) -> tuple[str, ...]:
    own = arch_of(path)
    return (own,) if own is not None else (arch,) if arch is not None else GENERIC_ARCHES


def _to_budget(
    found: Found, arch: str, tally: Tally, reader: CodeReader, book: Rulebook, cpu: CpuChoice
) -> FunctionBudget:
    model, note = choose_cpu(book, cpu, (arch,))
    pairs = {direction: tally.pairs.typ.of(direction) for direction in Direction}
    return FunctionBudget(
        path=found.path,
        line=reader.lines(found.path).line(found.item.body),
        function=found.item.name,
        arch=arch,
        has_directions=book.architecture(arch).distinct_directions,
        tally=tally,
        cost=cost_of_pairs(pairs, model, cpu.environment, note=note),
    )
