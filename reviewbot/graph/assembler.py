"""Routines of an assembler file: the symbols it defines, and the symbols each of them calls or branches to.

No instruction set is modelled. A routine runs from its label through every local label it mentions (also in exception
tables and in the macros it uses, which the file defines) and on into the next label, until a branch that never comes
back. A branch to a symbol that is no local label of the file counts as a call, conditional or not. What a header's
macro expands to, and what an included .S file holds, is not seen; `Routine.includes` names the latter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import lru_cache

from reviewbot.csyntax.conditions import conditions_at
from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.lexing import LineIndex, blank_comments
from reviewbot.patterns import regex
from reviewbot.rulebook.book import arch_of
from reviewbot.rulebook.policy import Words
from reviewbot.values import dataclass

_LABEL = regex(r"\s*([A-Za-z_.$][\w.$]*)\s*:(?!:)")
_NUMERIC_LABEL = regex(r"\s*\d+\s*:")
_HEAD = regex(r"\s*(\w+)\s*\(\s*([A-Za-z_.$][\w.$]*)\s*(?:,\s*([\w.$]+)[^)]*)?\)")
_BRANCH = regex(r"(?:b|j|br\.|lcall|ljmp|call|tail|BRASL|BL)[a-z.,+\-]*$")
_NO_BRANCH = regex(
    r"(?:bic\w*|bf[iecx]\w*|bt|bt[lqwsrc]\w?|bset|bclr|bis|brk|bkpt|break\w*|bswap\w?|bsf\w?|bit\w*|barrier|be?xt\w*)$"
)
_NEVER_RETURNS = regex(
    r"(?:b|ba|bra|bctr|blr|br|bx|j|jr|jmp[lq]?|jra|jg|ret[lqn]?|rfi|rfid|hrfid|eret|iret[lq]?|sret|mret|rte|rts|tail|ud2|RET|BR_EX|trap)$"
)
_RETURN_BY_MOVE = regex(r"(?:mov|pop|ldm\w*|ldr)\b.*\bpc\b")
_REGISTER = regex(
    r"(?:r|x|w|t|a|s|v|k|cr|b|f|ar|p)\d+|lr|ra|pc|ctr|ip|fp|sp|gp|tp|at|zero|rp|o7|eax|rax", re.IGNORECASE
)
_TARGET = regex(r"(?:\w+=)?(?:\w+\()?\.?([A-Za-z_]\w*)(?:@\w+)?\)?$")
_LOCAL = regex(r"\.?L[\w.$]+|[\w.$]+")
_QUOTED = regex(r'"([^"]*)"')
_MAYBE = "?"  # marks a statement that may be patched out
_COMMENT = {"arm": r"@.*", "sparc": r"!.*", "s390": r"#.*", "alpha": r"#.*", "x86": r"(?<!^)\s#.*", "riscv": r"#.*"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Routine:
    """A symbol that a file defines: `calls` are the (symbol, 1-based line) it may reach in other routines or files,
    `includes` the files it includes in its body.
    """

    name: str
    line: int
    calls: tuple[tuple[str, int], ...]
    includes: tuple[str, ...] = ()


def find_routines(data: bytes, path: str, words: Words) -> tuple[Routine, ...]:
    """The routines of an assembler file in order."""
    return _routines(data, arch_of(path) or "", words.assembler_definers)


def find_assembler_definitions(data: bytes, name: str, path: str, words: Words) -> tuple[Definition, ...]:
    """Where an assembler file defines a symbol; the text is the line that does, the words the macros that stand on
    it.
    """
    if name.encode() not in data:
        return ()
    lines = LineIndex(data)
    found = []
    for routine in find_routines(data, path, words):
        if routine.name == name:
            start = lines.start(routine.line)
            end = data.find(b"\n", start)
            text = data[start : end if end >= 0 else len(data)]
            found.append(
                Definition(
                    kind=DefinitionKind.ASM,
                    name=name,
                    path=path,
                    line=routine.line,
                    start=start,
                    text=text,
                    conditions=conditions_at(data, start),
                    words=tuple(re.findall(r"\w+(?=\s*\()", text.decode("utf-8", "replace"))),
                )
            )
    return tuple(found)


@dataclass(slots=True)
class _Block:
    """What follows one label."""

    name: str
    line: int
    is_routine: bool
    mentions: set[str] = field(default_factory=set)
    calls: list[tuple[str, int]] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    falls_through: bool = True


@lru_cache(maxsize=64)
def _routines(data: bytes, arch: str, definers: frozenset[str]) -> tuple[Routine, ...]:
    statements = list(_statements(data, arch))
    macros, statements = _split_macros(statements)
    exported = _exported(statements)
    blocks = _to_blocks(statements, macros, exported, definers)
    by_name: dict[str, list[int]] = {}
    for index, block in enumerate(blocks):
        by_name.setdefault(block.name, []).append(index)
    return tuple(_to_routine(blocks, index, by_name) for index, block in enumerate(blocks) if block.is_routine)


def _statements(data: bytes, arch: str) -> Iterator[tuple[int, str]]:
    """The statements with their 1-based lines; `#include` and `#define` stay, other directives go."""
    text = blank_comments(data).decode("utf-8", "replace")
    comment = re.compile(_COMMENT[arch]) if arch in _COMMENT else None
    pending, begin = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        begin = begin or number
        if line.rstrip().endswith("\\"):
            pending += line.rstrip()[:-1] + " "
            continue
        line, pending = pending + line, ""
        first, begin = begin, 0
        if line.lstrip().startswith("#"):
            yield first, line.strip()
            continue
        if comment is not None:
            line = comment.sub("", line)
        if '"' in line and not re.match(r"\s*\.(?:ascii|asciz|string|section|pushsection|incbin)", line):
            line = _QUOTED.sub(_to_alternative, line)
        for statement in line.split(";"):
            if statement.strip():
                yield first, statement.strip()


def _to_alternative(quoted: re.Match[str]) -> str:
    """Code in quotes (ALTERNATIVE "jmp f", "", FEATURE) as statements that may or may not run."""
    return "".join(f";{_MAYBE}{part.strip()};" for part in quoted[1].split(";") if part.strip())


def _split_macros(statements: Iterable[tuple[int, str]]) -> tuple[dict[str, list[str]], list[tuple[int, str]]]:
    """The bodies of the file's own macros (.macro, and #define), and the statements outside them."""
    macros: dict[str, list[str]] = {}
    rest: list[tuple[int, str]] = []
    current: list[str] | None = None
    for line, statement in statements:
        begin = re.match(r"\.macro\s+(\w+)|#\s*define\s+(\w+)(?:\([^)]*\))?\s+(.*)", statement)
        if current is not None:
            if re.match(r"\.endm\b", statement):
                current = None
            else:
                current.append(statement)
        elif begin is not None and begin[1]:
            current = macros.setdefault(begin[1], [])
        elif begin is not None:
            macros.setdefault(begin[2], []).extend(part.strip() for part in begin[3].split(";"))
        else:
            rest.append((line, statement))
    return macros, rest


def _exported(statements: Iterable[tuple[int, str]]) -> frozenset[str]:
    """The symbols that .globl, .global or .weak name."""
    names: set[str] = set()
    for _, statement in statements:
        found = re.match(r"\.(?:globl|global|weak)\s+(.*)", statement)
        if found is not None:
            names.update(name.strip() for name in found[1].split(","))
    return frozenset(names)


def _to_blocks(
    statements: Iterable[tuple[int, str]],
    macros: dict[str, list[str]],
    exported: frozenset[str],
    definers: frozenset[str],
) -> list[_Block]:
    blocks: list[_Block] = [_Block("", 1, False)]
    for line, statement in statements:
        statement = _NUMERIC_LABEL.sub("", statement)
        while (label := _LABEL.match(statement)) is not None:
            blocks.append(_Block(label[1], line, label[1] in exported))
            statement = _NUMERIC_LABEL.sub("", statement[label.end() :])
        head = _HEAD.match(statement)
        if head is not None and head[1] in definers:
            blocks.append(_Block(head[2], line, not head[2].startswith(".L")))
            if head[3] and any(block.is_routine and block.name == head[3] for block in blocks):  # an alias
                blocks[-1].calls.append((head[3], line))
                blocks[-1].falls_through = False
        elif head is not None and re.search(r"END|EXPORT", head[1]):
            blocks[-1].falls_through = False
        elif statement.strip():
            _read(blocks[-1], line, statement.strip(), macros, 0)
    return blocks


def _read(block: _Block, line: int, statement: str, macros: dict[str, list[str]], depth: int) -> None:
    """Take what one statement says into the block; macros of the file are read in place."""
    included = re.match(r"#\s*include\s*[<\"]([^>\"]+\.S)[>\"]", statement)
    if included is not None:
        block.includes.append(included[1])
    if statement.startswith(("#", ".section", ".type", ".size", ".globl", ".global", ".weak")):
        return
    is_certain = depth == 0 and not statement.startswith((".", _MAYBE))
    parts = statement.lstrip(_MAYBE).split(None, 1)
    mnemonic, operands = parts[0], parts[1] if len(parts) > 1 else ""
    if depth < 4:
        for name in dict.fromkeys(re.findall(r"\w+", statement)):
            for inner in macros.get(name, ()):
                _read(block, line, _NUMERIC_LABEL.sub("", inner).strip() or ".", macros, depth + 1)
    block.mentions.update(_LOCAL.findall(operands))
    block.mentions.update(_LOCAL.findall(mnemonic) if "(" in mnemonic else ())
    target = _branch_target(mnemonic, operands)
    if target is not None:
        block.calls.append((target, line))
    if is_certain:
        ends = _NEVER_RETURNS.match(mnemonic) is not None or _RETURN_BY_MOVE.match(statement) is not None
        block.falls_through = not ends


def _branch_target(mnemonic: str, operands: str) -> str | None:
    if not operands or _BRANCH.match(mnemonic) is None or _NO_BRANCH.match(mnemonic) is not None:
        return None
    listed = [operand.strip() for operand in operands.split(",")]
    chosen = listed[0] if listed[-1].startswith("%") and not listed[0].startswith("%") else listed[-1]
    found = _TARGET.match(chosen)
    if found is None or _REGISTER.fullmatch(found[1]) or chosen.startswith((".L", "\\")):
        return None
    return found[1]


def _to_routine(blocks: list[_Block], start: int, by_name: dict[str, list[int]]) -> Routine:
    """Follow a routine through the local labels it mentions and falls into."""
    calls: dict[str, int] = {}
    includes: dict[str, None] = {}
    pending, seen = [start], {start}

    def reach(index: int, line: int) -> None:
        if blocks[index].is_routine and index != start:
            calls.setdefault(blocks[index].name, line)
        elif index not in seen:
            seen.add(index)
            pending.append(index)

    while pending:
        index = pending.pop()
        block = blocks[index]
        includes.update(dict.fromkeys(block.includes))
        for target, line in block.calls:
            if target not in by_name or any(blocks[each].is_routine for each in by_name[target]):
                calls.setdefault(target, line)
        for name in block.mentions:
            for each in by_name.get(name, ()):
                if not blocks[each].is_routine:
                    reach(each, block.line)
        if block.falls_through and index + 1 < len(blocks):
            reach(index + 1, blocks[index + 1].line)
    calls.pop(blocks[start].name, None)
    ordered = tuple(sorted(calls.items(), key=lambda call: (call[1], call[0])))
    return Routine(name=blocks[start].name, line=blocks[start].line, calls=ordered, includes=tuple(includes))
