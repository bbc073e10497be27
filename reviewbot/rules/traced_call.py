"""A call, inside a block, to something that can be traced or instrumented.

With user access open, code that the tracer or a probe can enter runs unprotected, and may even schedule (c6c9645e3748,
6bc9c0a90522; tools/objtool/Documentation/objtool.txt for x86). The policies in rules/allow/ say what is safe where.
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.csyntax.function_scope import scope_of
from reviewbot.csyntax.roles import role_of
from reviewbot.findings.finding import Observation
from reviewbot.graph.callees import Callee
from reviewbot.graph.reach import InsideCall
from reviewbot.rulebook.policy import CalleeForm
from reviewbot.rules.context import Context

SLUG = "traced_call"


def find(context: Context) -> Iterator[Observation]:
    """Every call in a block that a policy of its place does not allow, and that is not known to sleep."""
    for inside in context.inside:
        for callee in inside.callees:
            if callee.violates and callee.name not in context.book.words.sleeping:
                yield to_observation(SLUG, context, inside, callee)


def to_observation(slug: str, context: Context, inside: InsideCall, callee: Callee) -> Observation:
    """The observation about a call to `callee` inside a block, placed at the call itself."""
    assert callee.form is not None
    definition = callee.definition
    return Observation(
        rule=slug,
        variant=_variant(context, inside, callee),
        place=context.place(inside.call.offset, inside.code),
        chain=context.links(inside),
        callee=callee.name,
        direction=inside.open.direction.value,
        arch=_arches(context, inside, callee),
        condition=callee.condition or None,
        facts=(
            ("callee", callee.name),
            ("function", inside.code.name),
            ("opener", inside.open.name or "its caller"),
            ("reason", callee.reason),
            ("defined", f"{definition.path}:{definition.line}" if definition is not None else ""),
            ("within", inside.call.within),
        ),
        key=(slug, inside.code.path, inside.code.name, _role(inside, callee)),
        written=(callee.name,),
        suspect_lines=((definition.path, definition.line),) if definition is not None else (),
    )


def _role(inside: InsideCall, callee: Callee) -> str:
    """The name of the function, or what a call through a pointer goes through."""
    if callee.form is not CalleeForm.INDIRECT:
        return callee.name
    item = inside.code.item
    return role_of(callee.name, inside.call.offset - item.start, scope_of(item.text))


def _variant(context: Context, inside: InsideCall, callee: Callee) -> str:
    """How the call is worded: by the place it stands in where that is the point, else by the callee's form."""
    assert callee.form is not None
    if inside.code.path.endswith(".S"):
        return "asm_reaches_c"
    if inside.call.within:
        return "argument"
    if callee.form in (CalleeForm.STATIC, CalleeForm.EXTERN) and _works_in_block(context, callee):
        return "block_helper"
    return callee.form.value


def _works_in_block(context: Context, callee: Callee) -> bool:
    """The callee makes accesses that need its caller's block, so that it cannot stand before it; it opens none."""
    definition, reader = callee.definition, context.reader
    if definition is None or reader.openers.search(definition.text) is not None:
        return False
    return reader.inside_words.search(definition.text) is not None


def _arches(context: Context, inside: InsideCall, callee: Callee) -> tuple[str, ...]:
    if context.code.arch is not None:
        return (context.code.arch,)
    return tuple(sorted(callee.violates))
