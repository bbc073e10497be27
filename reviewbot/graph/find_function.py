"""A function by its name as a person gives it: `name`, `path:name`, or a system call's name alone."""

from __future__ import annotations

from reviewbot.csyntax.items import Item, functions_holding
from reviewbot.csyntax.lexing import code_of
from reviewbot.graph.code import CodeReader
from reviewbot.rulebook.book import arch_of
from reviewbot.values import dataclass

MAX_FILES = 400
_ELSEWHERE = ("tools/", "scripts/", "samples/", "Documentation/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A definition of a function."""

    path: str
    item: Item


def find_functions(reader: CodeReader, wanted: str, arch: str | None) -> tuple[Found, ...]:
    """Every definition of that name in the tree, by path; with `arch` none of another architecture. A system call goes
    by `SYSCALL_DEFINE0(rt_sigreturn)`, `rt_sigreturn` or `sys_rt_sigreturn`."""
    path, _, name = wanted.rpartition(":")
    name = name.strip().removesuffix("()")
    word = name.rpartition("(")[2].rstrip(")").split(",")[0].strip()
    found: list[Found] = []
    for spelled in dict.fromkeys((word, word.removeprefix("sys_"))):
        if found or not spelled:
            break
        paths = [path] if path else reader.tree.search([spelled], (".c", ".h")).get(spelled, ())
        for each in [p for p in paths if _is_for(p, arch)][:MAX_FILES]:
            found += [Found(path=each, item=item) for item in _named(reader, each, name, spelled)]
    return tuple(found)


def _is_for(path: str, arch: str | None) -> bool:
    return not path.startswith(_ELSEWHERE) and (arch is None or arch_of(path) in (None, arch))


def _named(reader: CodeReader, path: str, name: str, word: str) -> list[Item]:
    data = reader.data(path)
    offsets = (match.start() for match in reader.word(word).finditer(code_of(data)))
    items = functions_holding(data, offsets)
    exact = [item for item in items if item.name == name]
    return exact or [item for item in items if item.name.endswith(f"({word})")]
