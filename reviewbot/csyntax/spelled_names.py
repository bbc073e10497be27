"""Names that macros spell: `GLUE(MODEL, _flush)` is `v7_flush`, or another for each #define of MODEL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product

from reviewbot.csyntax.brackets import closing, split_arguments
from reviewbot.csyntax.macros import Argument, expand
from reviewbot.csyntax.meaning import Meaning
from reviewbot.patterns import regex

MAX_DEPTH = 6
MAX_NAMES = 64
"""More than so many processors nobody has to choose from."""

_USE = regex(rb"\s*([A-Za-z_]\w*)\s*\(")
_NAME = regex(rb"[A-Za-z_]\w*")


def spelled_names(text: bytes, meaning: Meaning) -> tuple[str, ...]:
    """The names that the use of a macro may be, sorted; none where one of its expansions is anything else."""
    found: set[str] = set()
    for number, each in enumerate(_expansions(text, meaning, MAX_DEPTH)):
        if _NAME.fullmatch(each) is None or number >= MAX_NAMES:
            return ()
        found.add(each.decode())
    return tuple(sorted(found))


def _expansions(text: bytes, meaning: Meaning, depth: int) -> Iterator[bytes]:
    """What the use of a macro with arguments becomes, and what that becomes; any other text as it is."""
    use = _USE.match(text)
    end = closing(text, use.end() - 1) if use is not None else None
    macros = meaning.macros(use[1].decode(), is_call=True) if use is not None and depth else ()
    if use is None or end is None or text[end + 1 :].strip() or not macros:
        yield text
        return
    values = [
        _values(text[begin:stop].strip(), meaning, depth) for begin, stop in split_arguments(text, use.end(), end)
    ]
    for macro in (replace(each, body=each.body.replace(b"/**/", b"##")) for each in macros):  # as before C had ##
        is_pasting = b"##" in macro.body  # what is pasted is taken as it is written
        choices = [[each[0]] for each in values] if is_pasting else [each[1] for each in values]
        for chosen in product(*choices):
            made = expand(macro, tuple(Argument(text=each, offset=0) for each in chosen))
            yield from _expansions(made.text.strip(), meaning, depth - 1) if made is not None else (b"",)


def _values(argument: bytes, meaning: Meaning, depth: int) -> tuple[bytes, list[bytes]]:
    """An argument as written, and what it stands for: what the macro in it becomes, else itself."""
    if depth == 0:
        return argument, [argument]
    if _NAME.fullmatch(argument) is None:
        return argument, sorted(set(islice(_expansions(argument, meaning, depth - 1), MAX_NAMES)))
    bodies = {
        macro.body.removesuffix(b"(__VA_ARGS__)").strip() for macro in meaning.macros(argument.decode(), is_call=True)
    }
    return argument, sorted(bodies) or [argument]
