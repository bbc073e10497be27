"""What a name means to the file that asks."""

from __future__ import annotations

import pytest

from reviewbot.csyntax.definition import DefinitionKind
from reviewbot.graph.includes import Includes, own_folders, written_includes
from reviewbot.graph.known import KnownFiles
from reviewbot.graph.nearness import How
from reviewbot.graph.symbols import Symbols
from reviewbot.rulebook.book import arch_of
from reviewbot.rulebook.policy import NameMaker
from tests.kernel_words import words
from tests.trees import MemoryTree

WORDS = words(assembler_definers={"START"}, makers=(NameMaker(pattern="MAKE_EVENT", argument=0, template="trace_{}"),))

TREE = {
    "kernel/ask.c": '#include <linux/a.h>\n#include "local.h"\nstatic int own(void)\n{\n}\n#define same same\n',
    "kernel/local.h": "#define local(x) (x)\n",
    "kernel/beside.c": (
        "int linked(void)\n{\n}\nint hidden(void);\nint twice(void)\n{\n}\n"
        "int __attribute__((weak)) soft(void)\n{\n}\n__weak void arch_hook(void)\n{\n}\n"
    ),
    "kernel/hidden.c": "static int hidden(void)\n{\n}\nstatic int linked(void)\n{\n}\n",
    "lib/twice.c": "int twice(void)\n{\n}\nvoid *copy(void *p)\n{\n}\n",
    "include/linux/a.h": (
        "#include <asm/m.h>\n#include <asm/g.h>\n"
        "int linked(void);\nint hidden(void);\nint twice(void);\nint soft(void);\n"
        "#ifndef guarded\n#define guarded(x) (x)\n#endif\n"
        "#ifdef CONFIG_S\nint stub(void);\n#else\nstatic inline int stub(void)\n{\n}\n#endif\n"
        "enum { ONE = 1 };\ntypedef struct { int a; } pair_t;\nvoid *copy(void *p);\nstatic inline int early(void);\n"
        "static inline int early(void)\n{\n}\n"
    ),
    "include/asm-generic/g.h": "#define from_generic 1\n",
    "arch/one/include/asm/m.h": "#define machine 1\n#define guarded guarded\nstatic inline int guarded(int x)\n{\n}\n",
    "arch/two/include/asm/m.h": "#define machine 2\n",
    "arch/two/include/uapi/asm/u.h": "#define user_api 2\n",
    "arch/one/kernel/ask.c": "#include <linux/a.h>\n#include <asm/u.h>\n",
    "arch/one/kernel/hook.c": "void arch_hook(void)\n{\n}\n",
    "arch/two/kernel/hook.c": "void arch_hook(void)\n{\n}\nint only_two(void)\n{\n}\n",
    "arch/one/lib/copy.S": "START(copy)\n\tret\n",
    "kernel/stub.c": "int stub(void)\n{\n}\n",
    "include/trace/events/e.h": "MAKE_EVENT(thing, ARGS(int a));\n",
    "tools/x.c": "int tool(void)\n{\n}\n",
    "drivers/near/a/ask.c": "int a;\n",
    "drivers/near/b.c": "int common(void)\n{\n}\n",
    "drivers/far/c.c": "int common(void)\n{\n}\n",
    "drivers/far/d.h": "static inline int stray(void)\n{\n}\n",
    "include/linux/made.h": (
        "#define MAKE(f, op) \\\nstatic inline void f(void) \\\n{ \\\n\tint op; \\\n}\n"
        "MAKE(made_whole, add)\n#define PASTE(x) static inline int pasted_##x(void) { return 0; }\nPASTE(one)\n"
    ),
    "drivers/far/made.h": "int (*made_whole)(void);\nint (*pasted_one)(void);\n",
    "kernel/makes.c": "#include <linux/made.h>\n#define OWN(f) void f(void) { }\nOWN(made_here)\n",
}

# name, asking file, architecture -> how, the paths of the definitions
CASES: dict[str, tuple[str, str, str | None, How, list[str]]] = {
    "same file": ("own", "kernel/ask.c", None, How.SAME_FILE, ["kernel/ask.c"]),
    "header beside it": ("local", "kernel/ask.c", None, How.INCLUDED, ["kernel/local.h"]),
    "header of the architecture": ("machine", "kernel/ask.c", "one", How.INCLUDED, ["arch/one/include/asm/m.h"]),
    "headers of all architectures": (
        "machine",
        "kernel/ask.c",
        None,
        How.INCLUDED,
        ["arch/one/include/asm/m.h", "arch/two/include/asm/m.h"],
    ),
    "generic instead of asm": ("from_generic", "kernel/ask.c", "one", How.INCLUDED, ["include/asm-generic/g.h"]),
    "header of no other architecture": ("user_api", "arch/one/kernel/ask.c", "one", How.UNKNOWN, []),
    "a macro that names itself is no definition": ("same", "kernel/ask.c", None, How.UNKNOWN, []),
    "fallback under !defined(name)": ("guarded", "kernel/ask.c", "one", How.INCLUDED, ["arch/one/include/asm/m.h"]),
    "fallback where there is nothing else": ("guarded", "kernel/ask.c", "two", How.INCLUDED, ["include/linux/a.h"]),
    "another object": ("linked", "kernel/ask.c", None, How.GENERIC, ["kernel/beside.c"]),
    "static in another object": ("hidden", "kernel/ask.c", None, How.UNKNOWN, []),
    "the same directory first": ("twice", "kernel/ask.c", None, How.GENERIC, ["kernel/beside.c"]),
    "assembler of the architecture": ("copy", "arch/one/kernel/ask.c", "one", How.SAME_ARCH, ["arch/one/lib/copy.S"]),
    "generic code for another": ("copy", "kernel/ask.c", "two", How.GENERIC, ["lib/twice.c"]),
    "no foreign architecture": ("only_two", "arch/one/kernel/ask.c", "one", How.UNKNOWN, []),
    "any architecture for generic code": ("only_two", "kernel/ask.c", None, How.ELSEWHERE, ["arch/two/kernel/hook.c"]),
    "weak and strong": (
        "arch_hook",
        "arch/one/kernel/ask.c",
        "one",
        How.SAME_ARCH,
        ["arch/one/kernel/hook.c", "kernel/beside.c"],
    ),
    "weak in the same file, strong elsewhere": (
        "arch_hook",
        "kernel/beside.c",
        None,
        How.SAME_FILE,
        ["kernel/beside.c", "arch/one/kernel/hook.c", "arch/two/kernel/hook.c"],
    ),
    "stub or object": ("stub", "kernel/ask.c", None, How.INCLUDED, ["include/linux/a.h", "kernel/stub.c"]),
    "inline with an early prototype": ("early", "kernel/ask.c", None, How.INCLUDED, ["include/linux/a.h"]),
    "made by a macro": ("trace_thing", "kernel/ask.c", None, How.ELSEWHERE, ["include/trace/events/e.h"]),
    "host programs are not linked": ("tool", "kernel/ask.c", None, How.UNKNOWN, []),
    "the nearer of two drivers": ("common", "drivers/near/a/ask.c", None, How.GENERIC, ["drivers/near/b.c"]),
    "a header no #include led to": ("stray", "kernel/ask.c", None, How.ELSEWHERE, ["drivers/far/d.h"]),
    "made by a macro of a header, and another thing far away": (
        "made_whole",
        "kernel/makes.c",
        None,
        How.INCLUDED,
        ["include/linux/made.h"],
    ),
    "a name that is pasted": ("pasted_one", "kernel/makes.c", None, How.INCLUDED, ["include/linux/made.h"]),
    "made by a macro of the file": ("made_here", "kernel/makes.c", None, How.SAME_FILE, ["kernel/makes.c"]),
    "nowhere": ("nothing", "kernel/ask.c", None, How.UNKNOWN, []),
}


@pytest.mark.parametrize("prefetched", [False, True], ids=["asked", "prefetched"])
@pytest.mark.parametrize("case", CASES)
def test_a_name_is_resolved_for_the_file_that_asks(case: str, prefetched: bool) -> None:
    name, path, arch, how, expected = CASES[case]
    symbols = Symbols(MemoryTree(TREE), WORDS)
    if prefetched:
        symbols.prefetch([name], arch)
    found = symbols.resolve(name, path, arch)
    assert (found.how, [each.path for each in found.definitions]) == (how, expected)
    assert bool(found.reason) or found.how is not How.UNKNOWN or bool(found.prototypes) or case.startswith("a macro")


def test_prototypes_come_along_with_their_words() -> None:
    tree = MemoryTree({"a.c": '#include "a.h"\n', "a.h": "int f(void) notrace;\n", "b.c": "int f(void)\n{\n}\n"})
    found = Symbols(tree, WORDS).resolve("f", "a.c", None)
    assert [each.path for each in found.definitions] == ["b.c"]
    assert [(each.path, "notrace" in each.words) for each in found.prototypes] == [("a.h", True)]


def test_branches_come_with_their_conditions() -> None:
    found = Symbols(MemoryTree(TREE), WORDS).resolve("stub", "kernel/ask.c", None)
    assert [each.conditions for each in found.definitions] == [("!(defined(CONFIG_S))",), ()]


def test_one_search_of_sources_and_one_of_headers_serve_all_prefetched_names() -> None:
    tree = MemoryTree(TREE)
    symbols = Symbols(tree, WORDS)
    names = ["linked", "nothing", "trace_thing", "copy", "own", "nowhere"]
    symbols.prefetch(names, None)
    for name in names:
        symbols.resolve(name, "kernel/ask.c", None)
        symbols.lookup((DefinitionKind.STRUCT,), name, "kernel/ask.c", None)
    symbols.prefetch(names, None)
    assert tree.searched == [tuple(sorted([*names, "thing"]))] * 2


def _functions(*paths: str) -> MemoryTree:
    """A tree whose files define `there`: `__weak` where the path has `weak` in it."""
    return MemoryTree({path: f"{'__weak ' if 'weak' in path else ''}int there(void)\n{{\n}}\n" for path in paths})


@pytest.mark.parametrize("prefetched", [False, True], ids=["asked", "prefetched"])
def test_an_architecture_is_searched_before_the_whole_tree(prefetched: bool) -> None:
    tree = _functions("arch/one/lib/a.c", "arch/two/lib/a.c", "lib/weak.c", "drivers/a.c")
    symbols = Symbols(tree, WORDS)
    if prefetched:
        symbols.prefetch(["there"], "one")
    found = symbols.resolve("there", "kernel/ask.c", "one")
    assert [each.path for each in found.definitions] == ["arch/one/lib/a.c", "lib/weak.c"]
    assert found.how is How.SAME_ARCH
    assert tree.searched_folders == [("arch/one/", "kernel/", "lib/", "mm/")]


@pytest.mark.parametrize("prefetched", [False, True], ids=["asked", "prefetched"])
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("lib/a.c", "arch/two/lib/a.c"), ["lib/a.c"]),
        (("drivers/a.c", "arch/two/lib/a.c"), ["drivers/a.c"]),
        (("arch/two/lib/a.c",), []),
        # the asker's own definition, which another object may define anew
        (("arch/one/lib/weak_ask.c", "drivers/a.c"), ["arch/one/lib/weak_ask.c", "drivers/a.c"]),
    ],
)
def test_what_an_architecture_does_not_define_is_searched_everywhere(
    files: tuple[str, ...], expected: list[str], prefetched: bool
) -> None:
    tree = _functions(*files)
    symbols = Symbols(tree, WORDS)
    if prefetched:
        symbols.prefetch(["there"], "one")
    found = symbols.resolve("there", "arch/one/lib/weak_ask.c", "one")
    assert [each.path for each in found.definitions] == expected
    assert () in tree.searched_folders


def test_a_use_in_the_architecture_is_no_definition() -> None:
    tree = MemoryTree(
        {"arch/one/a.c": "int b(void)\n{\n\treturn there();\n}\n", "drivers/a.c": "int there(void)\n{\n}\n"}
    )
    found = Symbols(tree, WORDS).resolve("there", "arch/one/ask.c", "one")
    assert [each.path for each in found.definitions] == ["drivers/a.c"]


def test_the_files_of_an_architecture_lie_where_it_belongs() -> None:
    assert own_folders("one") == ("arch/one/",)
    assert set(own_folders("um")) >= {"arch/um/", "arch/x86/um/"}
    assert all(arch_of(f"{folder}a.c") == "um" for folder in own_folders("um"))


def test_headers_answer_without_a_search_and_nothing_is_searched_twice() -> None:
    tree = MemoryTree(TREE)
    symbols = Symbols(tree, WORDS)
    symbols.resolve("local", "kernel/ask.c", None)
    symbols.declared("nothing", "kernel/ask.c", None)
    assert tree.searched == []
    symbols.resolve("nothing", "kernel/ask.c", None)
    symbols.resolve("nothing", "arch/one/kernel/ask.c", "one")
    assert tree.searched == [("nothing",)] * 2  # sources, then headers


def test_a_name_that_stands_in_too_many_files_is_unknown_with_the_reason() -> None:
    crowd = {f"drivers/d/f{number}.c": "int g(void)\n{\n\tget();\n}\n" for number in range(700)}
    found = Symbols(MemoryTree({"kernel/a.c": "", **crowd}), WORDS).resolve("get", "kernel/a.c", None)
    assert (found.how, found.definitions) == (How.UNKNOWN, ())
    assert "more than 600 files" in found.reason


@pytest.mark.parametrize(
    ("kinds", "name", "expected"),
    [
        ((DefinitionKind.ENUMERATOR,), "ONE", ["include/linux/a.h"]),
        ((DefinitionKind.TYPEDEF,), "pair_t", ["include/linux/a.h"]),
        ((DefinitionKind.MACRO,), "machine", ["arch/one/include/asm/m.h"]),
        ((DefinitionKind.STRUCT,), "pair_t", []),
    ],
    ids=["enumerator", "typedef", "macro", "another kind"],
)
def test_lookup_by_kind(kinds: tuple[DefinitionKind, ...], name: str, expected: list[str]) -> None:
    found = Symbols(MemoryTree(TREE), WORDS).lookup(kinds, name, "kernel/ask.c", "one")
    assert [each.path for each in found] == expected


def headers(tree: MemoryTree, path: str) -> tuple[str, ...]:
    return Includes(tree, KnownFiles(tree, WORDS)).headers(path, None).paths


def test_headers_of_headers_are_seen_too() -> None:
    tree = MemoryTree(
        {
            "d/a.c": '#include "b.h"\n#include <linux/c.h>\n',
            "d/b.h": '#include "deep.h"\n#include "b.h"\n',
            "d/deep.h": '#include "b.h"\n',
            "d/not.h": '#include "b.h"\n',
            "include/linux/c.h": '#include "missing.h"\n#include <uapi/linux/c.h>\n',
            "include/uapi/linux/c.h": "",
        }
    )
    assert headers(tree, "d/a.c") == ("d/b.h", "d/deep.h", "include/linux/c.h", "include/uapi/linux/c.h")
    assert headers(tree, "d/deep.h") == ("d/b.h",)


def test_an_include_directory_of_the_makefile_counts() -> None:
    tree = MemoryTree({"d/a.c": "#include <x.h>\n", "d/inc/x.h": "", "d/Makefile": "ccflags-y := -I$(src)/inc\n"})
    assert headers(tree, "d/a.c") == ("d/inc/x.h",)


@pytest.mark.parametrize("order", [("d", "e"), ("e", "d")])
@pytest.mark.parametrize("name", ["<local.h>", '"local.h"', '"../local.h"', "<./local.h>", "<sub//../local.h>"])
def test_such_a_directory_counts_for_headers_of_others_too(name: str, order: tuple[str, str]) -> None:
    files = {
        "d/a.c": "#include <linux/first.h>\n",
        "d/Makefile": "ccflags-y := -I$(src)/inc -I$(src)/inc/deep\n",
        "d/inc/local.h": "#include <linux/last.h>\n",
        "d/inc/deep/other.h": "",
        "d/inc/sub/other.h": "",
        "e/a.c": "#include <linux/first.h>\n",
        "include/linux/first.h": "#include <linux/second.h>\n",
        "include/linux/second.h": f"#include {name}\n#include <linux/first.h>\n",
        "include/linux/last.h": "#include <linux/first.h>\n",
    }
    includes = Includes(MemoryTree(files), KnownFiles(MemoryTree(files), WORDS))
    seen = {directory: includes.headers(f"{directory}/a.c", "one").paths for directory in order}
    assert seen["e"] == ("include/linux/first.h", "include/linux/second.h")
    assert seen["d"] == ("d/inc/local.h", "include/linux/first.h", "include/linux/last.h", "include/linux/second.h")


def test_a_path_never_leaves_the_tree() -> None:
    tree = MemoryTree({"a.c": '#include "../../etc/passwd"\n#include "/etc/passwd"\n'})
    assert headers(tree, "a.c") == ()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("#include <a.h>", ("<a.h",)),
        ('  #\tinclude\t"b.h" /* c */', ('"b.h',)),
        ("#include_next <c.h>", ("<c.h",)),
        ("#include<d.h>\r", ("<d.h",)),
        ("#include HEADER", ()),
        ("/* #include <e.h> */", ()),
        ("x #include <f.h>", ()),
        ("#includes <g.h>", ()),
        ('include "h.h"', ()),
        ('#include "i.h\n"', ()),
    ],
)
def test_what_an_include_line_is(line: str, names: tuple[str, ...]) -> None:
    text = f"{line}\n/* include */\n{line}\n".encode()
    assert written_includes(text) == names * 2


@pytest.mark.parametrize(
    ("path", "arch"),
    [("arch/powerpc/kernel/a.c", "powerpc"), ("arch/x86/um/a.c", "um"), ("kernel/a.c", None), ("arch/Kconfig", None)],
)
def test_the_architecture_of_a_path(path: str, arch: str | None) -> None:
    assert arch_of(path) == arch
