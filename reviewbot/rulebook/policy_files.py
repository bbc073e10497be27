"""rules/allow/<policy>.toml -> Policies; rules/syntax/*.toml -> Words."""

from __future__ import annotations

import re
from pathlib import Path

from reviewbot.rulebook.policy import CalleeForm, NameMaker, Policy, SafeName, Words
from reviewbot.rulebook.reading import Table, read_table

ANY_ARCH = "*"
_WORD_LISTS = (
    "annotations",
    "attributes_with_arguments",
    "notrace",
    "noinstr",
    "inline",
    "always_inline",
    "builtins",
    "safe_macros",
    "sleeping",
    "waiting",
    "assembler_definers",
    "condition_wrappers",
    "unevaluated",
    "noreturn",
)
_OTHER_SYNTAX = ("types.toml",)  # has its own reader, rulebook/types.py


def load_policies(root: Path) -> tuple[Policy, ...]:
    """The policies of `root`/allow/*.toml in order of name. Raises RulebookError."""
    policies = tuple(_load_policy(path, root) for path in sorted((root / "allow").glob("*.toml")))
    served: dict[str, str] = {}
    for policy in policies:
        for arch in policy.arches:
            if arch in served:
                read_table(root / "allow" / f"{policy.name}.toml", root).refuse(
                    "arches", f"{arch!r} already is with {served[arch]!r}"
                )
            served[arch] = policy.name
    return policies


def _load_policy(path: Path, root: Path) -> Policy:
    table = read_table(path, root)
    policy = Policy(
        name=table.text("name"),
        arches=table.names("arches"),
        safe_forms=table.choices("safe_forms", CalleeForm),
        hint_forms=table.choices("hint_forms", CalleeForm),
        generic=table.flag("generic", False),
        safe=_read_safe_names(table),
        source=table.text("source"),
    )
    if policy.name != path.stem:
        table.refuse("name", f"must be the name of the file, {path.stem!r}")
    if not policy.hint_forms <= policy.safe_forms:
        table.refuse("hint_forms", "must be among safe_forms")
    table.finish()
    return policy


def _read_safe_names(table: Table) -> tuple[SafeName, ...]:
    found: dict[str, SafeName] = {}
    for item in table.tables("safe"):
        reason, source, follow = item.text("reason"), item.text("source"), item.flag("follow", False)
        size_arg = item.optional_integer("constant_size_arg")
        for name in item.names("names"):
            if name in found:
                item.refuse("names", f"{name!r} stands there twice")
            found[name] = SafeName(name=name, reason=reason, source=source, follow=follow, constant_size_arg=size_arg)
        item.finish()
    return tuple(found.values())


def load_words(root: Path) -> Words:
    """The words of all `root`/syntax/*.toml together. Raises RulebookError."""
    lists: dict[str, dict[str, str]] = {key: {} for key in (*_WORD_LISTS, "loop_patterns", "linker_errors")}
    definers: dict[str, int] = {}
    makers: list[NameMaker] = []
    instructions: dict[str, frozenset[str]] = {}
    for path in sorted((root / "syntax").glob("*.toml")):
        if path.name in _OTHER_SYNTAX:
            continue
        table = read_table(path, root)
        table.text("source")
        for key, known in lists.items():
            for word in table.names(key, ()):
                if word in known:
                    table.refuse(key, f"{word!r} already stands in {known[word]}")
                known[word] = path.name
        _read_definers(table, definers)
        makers += _read_makers(table)
        if table.has("call_instructions"):
            instructions |= _read_instructions(table.table("call_instructions"))
        table.finish()
    words = {key: frozenset(lists[key]) for key in _WORD_LISTS}
    return Words(
        loop_patterns=tuple(lists["loop_patterns"]),
        linker_errors=tuple(lists["linker_errors"]),
        definers=tuple(sorted(definers.items())),
        makers=tuple(makers),
        call_instructions=tuple(sorted(instructions.items())),
        **words,
    )


def _read_instructions(table: Table) -> dict[str, frozenset[str]]:
    found = {arch: frozenset(table.names(arch)) for arch in table.key_names()}
    table.finish()
    return found


def _read_makers(table: Table) -> list[NameMaker]:
    found = []
    for item in table.tables("makers"):
        pattern, template = item.text("pattern"), item.text("template")
        if re.fullmatch(r"\w*\{\}\w*", template) is None:
            item.refuse("template", "must be a name with one {}")
        try:
            re.compile(pattern)
        except re.error as error:
            item.refuse("pattern", f"is no regular expression ({error})")
        found.append(
            NameMaker(
                pattern=pattern, argument=item.integer("argument", 0), template=template, words=item.names("words", ())
            )
        )
        item.finish()
    return found


def _read_definers(table: Table, definers: dict[str, int]) -> None:
    if not table.has("definers"):
        return
    below = table.table("definers")
    for name in below.key_names():
        if name in definers:
            below.refuse(name, "stands there twice")
        definers[name] = below.integer(name)
