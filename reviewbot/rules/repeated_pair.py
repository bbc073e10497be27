"""Two or more pairs of switches that one block could replace.

Each self-contained access opens and closes; on POWER9 a pair is about 260 cycles
(20201015150159.28933-1-cmr@codefail.de: 44 pairs a signal became 11, and 158408 signals a second 253053). Pairs are
mergeable when they lie on one path, access one object in one direction, and nothing between them is forbidden in a
block.
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.csyntax.function_scope import scope_of
from reviewbot.csyntax.roles import role_of
from reviewbot.findings.finding import Access, Confidence, Observation, Per
from reviewbot.rulebook.primitives import Effect, Result
from reviewbot.rules.context import Context
from reviewbot.rules.runs import Pair, Run, find_runs

SLUG = "repeated_pair"


def find(context: Context) -> Iterator[Observation]:
    """One observation for each run of mergeable pairs, placed at its first access."""
    if context.code.entry is not None or context.own_primitive is not None:
        return
    for run in find_runs(context):
        yield _to_observation(context, run)


def _to_observation(context: Context, run: Run) -> Observation:
    first = run.pairs[0]
    loop = run.loop
    return Observation(
        rule=SLUG,
        variant=_variant(run),
        place=context.place(first.call.offset),
        callee=first.call.name,
        accesses=tuple(_to_access(context, pair) for pair in run.pairs),
        direction=first.direction,
        pairs=sum(pair.count for pair in run.pairs),
        per=Per.ITERATION if loop is not None else Per.EXECUTION,
        arch=(context.code.arch,) if context.code.arch else (),
        confidence=Confidence.MEDIUM if run.between else Confidence.HIGH,
        facts=(
            ("callee", first.call.name),
            ("function", context.code.name),
            ("base", run.base),
            ("accesses", _listing(run)),
            ("opener", _opener(context, first)),
            ("helpers", _helpers(run)),
            ("between", f", with accesses to {' and '.join(run.between)} in between" if run.between else ""),
            ("iterations", (loop.bound or loop.text) if loop is not None else ""),
        ),
        key=(SLUG, context.code.path, context.code.name, _role(context, run), first.direction),
        written=(run.base,),
        suspect_lines=tuple((context.code.path, context.place(pair.call.offset).line) for pair in run.pairs),
    )


def _role(context: Context, run: Run) -> str:
    item = context.code.item
    return role_of(run.base, run.pairs[0].call.offset - item.start, scope_of(item.text))


def _variant(run: Run) -> str:
    if any(pair.helper for pair in run.pairs):
        return "helper"
    if run.loop is not None:
        return "loop"
    return "error_chain" if all(pair.is_chained for pair in run.pairs) else "straight_line"


def _to_access(context: Context, pair: Pair) -> Access:
    return Access(primitive=pair.call.name, direction=pair.direction, place=context.place(pair.call.offset))


def _listing(run: Run) -> str:
    counted: dict[str, int] = {}
    for pair in run.pairs:
        counted[pair.call.name] = counted.get(pair.call.name, 0) + pair.count
    parts = [f"{name}()" if count == 1 else f"{name}() {count} times" for name, count in counted.items()]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _helpers(run: Run) -> str:
    names = list(dict.fromkeys(pair.helper for pair in run.pairs if pair.helper))
    return f" in {', '.join(f'{name}()' for name in names)}" if names else ""


def _opener(context: Context, first: Pair) -> str:
    """The opener that asks first and opens in the run's direction."""
    for entries in context.book.architectures["generic"].entries.values():
        for entry in entries:
            if (
                entry.effect is Effect.OPEN
                and entry.result is Result.STATUS
                and entry.direction.value == first.direction
            ):
                return entry.name
    return first.call.name
