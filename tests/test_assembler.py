"""Symbols that assembler files define, and what they call."""

from __future__ import annotations

import pytest

from reviewbot.csyntax.definition import DefinitionKind
from reviewbot.graph.assembler import find_assembler_definitions, find_routines
from tests.kernel_words import words

WORDS = words(assembler_definers={"START", "ENTRY", "_GLOBAL", "ALIAS"})

# source (as a file of an architecture) -> {routine: calls}
CASES: dict[str, tuple[str, str, dict[str, list[str]]]] = {
    "a call": ("powerpc", "_GLOBAL(f)\n\tbl\tg\n\tblr\n", {"f": ["g"]}),
    "a wrapped call": ("powerpc", "_GLOBAL(f)\n\tbl\tCFUNC(g)\n\tblr\n", {"f": ["g"]}),
    "a dot symbol": ("powerpc", "_GLOBAL(f)\n\tbl\t.g\n\tblr\n", {"f": ["g"]}),
    "a tail branch": ("powerpc", "_GLOBAL(f)\n\tb\tg\n", {"f": ["g"]}),
    "a conditional tail branch": ("powerpc", "_GLOBAL(f)\n\tbne-\tcr1,g\n\tblr\n", {"f": ["g"]}),
    "local labels": ("powerpc", "_GLOBAL(f)\n\tbeq\t.Lx\n1:\tbdnz\t1b\n.Lx:\tblr\n", {"f": []}),
    "registers": ("powerpc", "_GLOBAL(f)\n\tmtctr\tr12\n\tbctrl\n\tblr\n", {"f": []}),
    "a call behind a local label before the routine": (
        "powerpc",
        ".Lfix:\n\tbl\tg\n\tb\t.Lout\n.Lother:\n\tbl\th\n_GLOBAL(f)\n\tbeq\t.Lfix\n.Lout:\tblr\n",
        {"f": ["g"]},
    ),
    "a label that only a macro mentions": (
        "powerpc",
        "\t.macro err\n1:\tEX(1b,.Lfix)\n\t.endm\n.Lfix:\n\tbl\tg\n\tblr\n_GLOBAL(f)\nerr;\tld\tr0,0(r3)\n\tblr\n",
        {"f": ["g"]},
    ),
    "a call in a macro of the file": ("powerpc", "#define CALL\tbl\tg\n_GLOBAL(f)\n\tCALL\n\tblr\n", {"f": ["g"]}),
    "an unused macro": ("powerpc", ".macro m\n\tbl g\n.endm\n_GLOBAL(f)\n\tblr\n", {"f": []}),
    "falling into the next": ("riscv", "ENTRY(f)\nENTRY(g)\n\tcall h\n\tret\n", {"f": ["g"], "g": ["h"]}),
    "not falling past a return": ("powerpc", "_GLOBAL(f)\n\tblr\n_GLOBAL(g)\n\tbl\th\n\tblr\n", {"f": [], "g": ["h"]}),
    "not falling past an end mark": (
        "x86",
        "START(f)\n\tUNKNOWN_RET\nFUNC_END(f)\nSTART(g)\n\tcall h\n\tRET\n",
        {"f": [], "g": ["h"]},
    ),
    "x86 calls": ("x86", "START(f)\n\tcall g@PLT\n\tjz h\n\tcall *%rax\n\tjmp 1f\n1:\tRET\n", {"f": ["g", "h"]}),
    "x86 bit test": ("x86", "START(f)\n\tbtl $5, flags\n\tbswap %eax\n\tRET\n", {"f": []}),
    "x86 alternative": ("x86", 'START(f)\n\tALTERNATIVE "jmp g", "", FEATURE\n\tcall h\n\tRET\n', {"f": ["g", "h"]}),
    "arm calls and comments": ("arm", "ENTRY(f)\n\tblne\tg\t@ bl h\n\tbic r0, r1, r2\n\tbx lr\n", {"f": ["g"]}),
    "arm64 calls": ("arm64", "START(f)\n\tbl g // bl h\n\tb.ne k\n\tcbz x0, 1f\n1:\tret\n", {"f": ["g", "k"]}),
    "s390 calls": ("s390", "ENTRY(f)\n\tbrasl\t%r14,g\t# brasl %r14,h\n\tbr\t%r14\n", {"f": ["g"]}),
    "exported label": ("sh", "\t.globl f, k\nf:\n\tbsr\tg\n\trts\nk:\n\trts\n", {"f": ["g"], "k": []}),
    "a label that is no symbol": ("sh", "f:\n\tbsr g\n\trts\n", {}),
    "an alias": ("x86", "START(g)\n\tRET\nALIAS(f, g)\n", {"g": [], "f": ["g"]}),
    "a comment": ("powerpc", "_GLOBAL(f)\n\t/* bl g */\n\tblr\n", {"f": []}),
    "a string": ("powerpc", '_GLOBAL(f)\n\tblr\n\t.section ".text"\n\t.asciz "bl g"\n', {"f": []}),
}


@pytest.mark.parametrize("case", CASES)
def test_routines_and_their_calls(case: str) -> None:
    arch, source, expected = CASES[case]
    found = find_routines(source.encode(), f"arch/{arch}/lib/a.S", WORDS)
    assert {routine.name: [name for name, _ in routine.calls] for routine in found} == expected


def test_lines_are_those_of_the_file() -> None:
    (routine,) = find_routines(b"/* two\n lines */\n_GLOBAL(f)\n\tnop\n\tbl g\n\tblr\n", "arch/powerpc/lib/a.S", WORDS)
    assert (routine.line, routine.calls) == (3, (("g", 5),))


def test_an_included_file_is_named() -> None:
    (routine,) = find_routines(b'START(f)\n#include "body.S"\n\tret\n', "arch/arm64/lib/a.S", WORDS)
    assert routine.includes == ("body.S",)


def test_a_symbol_is_a_definition_with_its_conditions() -> None:
    data = b"#ifdef CONFIG_A\n_GLOBAL(f)\n\tblr\n#endif\n_GLOBAL(g)\n\tbl f\n\tblr\n"
    (found,) = find_assembler_definitions(data, "f", "arch/powerpc/lib/a.S", WORDS)
    assert (found.kind, found.line, found.conditions) == (DefinitionKind.ASM, 2, ("defined(CONFIG_A)",))
    assert (found.text, found.words) == (b"_GLOBAL(f)", ("_GLOBAL",))
    assert find_assembler_definitions(data, "h", "arch/powerpc/lib/a.S", WORDS) == ()
