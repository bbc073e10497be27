"""What depends on the outcome of an access: what runs only after it failed, and loops that wait for what it reads."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence

from reviewbot.csyntax.flow import Assign, Call, Edge
from reviewbot.patterns import regex
from reviewbot.rulebook.primitives import Direction, Effect, Result
from reviewbot.rules.context import Context

_NAME = regex(r"[A-Za-z_]\w*")
_MEMBER = regex(r"(?:->|\.)\s*[A-Za-z_]\w*")


def after_success(context: Context, node: int, *, is_chained: bool) -> frozenset[int] | None:
    """The nodes that some way reaches on which the access at `node` did not fail, as far as its result and the
    variables that hold it tell; None where it gives no result. `is_chained`: by `err |= …`."""
    nodes = context.variant.flow.nodes
    call = nodes[node].action
    primitive = context.code.primitive(call) if isinstance(call, Call) else None
    if (
        primitive is None
        or primitive.effect is not Effect.ACCESS
        or primitive.result
        not in (
            Result.ERROR,
            Result.STATUS,
        )
    ):
        return None
    fails_when = primitive.result is Result.ERROR
    start = (node, _chain_of(context, node) if is_chained else frozenset())
    queue, seen, reached = deque([start]), {start}, set()
    while queue:
        index, holders = queue.popleft()
        action = nodes[index].action
        if isinstance(action, Assign):
            holders = _holders_after(action, holders, node)
        for edge in nodes[index].edges:
            onward = (edge.target, holders)
            if _says_failed(edge, holders, node, fails_when=fails_when):
                continue
            reached.add(edge.target)
            if onward not in seen and edge.target != node:
                seen.add(onward)
                queue.append(onward)
    return frozenset(reached)


def _chain_of(context: Context, node: int) -> frozenset[str]:
    nodes = context.variant.flow.nodes
    following = (nodes[edge.target].action for edge in nodes[node].edges)
    return frozenset(action.target for action in following if isinstance(action, Assign) and action.is_step)


def _holders_after(action: Assign, holders: frozenset[str], node: int) -> frozenset[str]:
    if action.call == node or (action.copy_of is not None and action.copy_of in holders):
        return holders | {action.target}
    return holders if action.is_step else holders - {action.target}


def _says_failed(edge: Edge, holders: frozenset[str], node: int, *, fails_when: bool) -> bool:
    guard = edge.guard
    if guard is None:
        return False
    if guard.call is not None:
        return guard.call == node and guard.truth is fails_when
    if guard.key in holders:
        return guard.truth is fails_when
    return fails_when and guard.truth and any(guard.key == f"{name}<0" for name in holders)


def is_waiting(context: Context, loop: int, accesses: Sequence[int]) -> bool:
    """Whether a loop waits for user space: it calls what one waits with, or each of these accesses reads the same
    address in every round, so that one block round the loop would only be held open the longer."""
    nodes = context.variant.flow.nodes
    inside = [node.action for node in nodes if loop in node.loops]
    waiting = context.book.words.waiting
    if any(isinstance(action, Call) and action.name in waiting for action in inside):
        return True
    changed = frozenset(_changed_in(context, inside))
    return all(_reads_one_address(context, nodes[index].action, changed) for index in accesses)


def _changed_in(context: Context, actions: Sequence[object]) -> Iterator[str]:
    for action in actions:
        if isinstance(action, Assign):
            yield action.target
            yield action.root
        elif isinstance(action, Call):
            yield from action.addresses
            yield from values_of(context, action)


def values_of(context: Context, action: object) -> tuple[str, ...]:
    """The variable that an access reads into, if the action is one."""
    primitive = context.code.primitive(action) if isinstance(action, Call) else None
    if not isinstance(action, Call) or primitive is None or primitive.value_arg is None:
        return ()
    if primitive.direction is Direction.WRITE:
        return ()
    return tuple(_NAME.findall(_text(action, primitive.value_arg))[:1])


def _reads_one_address(context: Context, action: object, changed: frozenset[str]) -> bool:
    primitive = context.code.primitive(action) if isinstance(action, Call) else None
    if not isinstance(action, Call) or primitive is None or primitive.pointer_arg is None:
        return False
    pointer = _text(action, primitive.pointer_arg)
    is_moved = "++" in pointer or "--" in pointer or "(" in re.sub(r"\(\s*[\w\s*]+\*\s*\)", "", pointer)
    return (
        primitive.direction is Direction.READ
        and not is_moved
        and changed.isdisjoint(_NAME.findall(_MEMBER.sub("", pointer)))
    )


def _text(call: Call, index: int) -> str:
    return call.arguments[index].text.decode("utf-8", "replace") if index < len(call.arguments) else ""
