"""What Makefiles say about one object: its tracing flags and its include directories."""

from __future__ import annotations

import pytest

from reviewbot.graph.kbuild import include_directories, is_untraced, object_condition
from tests.trees import MemoryTree

FLAGS = "$(CC_FLAGS_FTRACE)"

# Makefiles by path, the C file -> the condition ("" for always), None if it is traced
CASES: dict[str, tuple[dict[str, str], str, str | None]] = {
    "nothing said": ({"d/Makefile": "obj-y += a.o\n"}, "d/a.c", None),
    "no Makefile": ({}, "d/a.c", None),
    "object": ({"d/Makefile": f"CFLAGS_REMOVE_a.o = {FLAGS}\n"}, "d/a.c", ""),
    "object with -pg": ({"d/Makefile": "CFLAGS_REMOVE_a.o := -pg\n"}, "d/a.c", ""),
    "object, added": ({"d/Makefile": f"CFLAGS_REMOVE_a.o += -Os {FLAGS}\n"}, "d/a.c", ""),
    "object, continued": ({"d/Makefile": f"CFLAGS_REMOVE_a.o = -Os \\\n\t{FLAGS}\n"}, "d/a.c", ""),
    "object, by another variable": (
        {"d/Makefile": f"GONE := -pg\nCFLAGS_REMOVE_a.o += $(GONE) {FLAGS}\n"},
        "d/a.c",
        "",
    ),
    "only by another variable": ({"d/Makefile": "GONE := -pg\nCFLAGS_REMOVE_a.o = $(GONE)\n"}, "d/a.c", ""),
    "other flags": ({"d/Makefile": "CFLAGS_REMOVE_a.o = -fstack-protector -pgo\n"}, "d/a.c", None),
    "another object": ({"d/Makefile": f"CFLAGS_REMOVE_b.o = {FLAGS}\n"}, "d/a.c", None),
    "no object at all": ({"d/Makefile": f"CFLAGS_REMOVE.o = {FLAGS}\n"}, "d/a.c", None),
    "pattern of word size": ({"d/Makefile": "CFLAGS_REMOVE_t_$(BITS).o := -pg\n"}, "d/t_64.c", ""),
    "object of a directory below": ({"d/Makefile": "CFLAGS_REMOVE_e/a.o = -pg\n"}, "d/e/a.c", ""),
    "comment": ({"d/Makefile": f"# CFLAGS_REMOVE_a.o = {FLAGS}\n"}, "d/a.c", None),
    "directory": ({"d/Makefile": f"ccflags-remove-y += {FLAGS}\n"}, "d/a.c", ""),
    "directory, with the tracer": (
        {"d/Makefile": f"ccflags-remove-$(CONFIG_FUNCTION_TRACER) += {FLAGS}\n"},
        "d/a.c",
        "",
    ),
    "directory, with an option": ({"d/Makefile": f"ccflags-remove-$(CONFIG_X) += {FLAGS}\n"}, "d/a.c", "CONFIG_X"),
    "directory is not inherited": (
        {"d/Makefile": f"ccflags-remove-y += {FLAGS}\n", "d/e/Makefile": "obj-y += a.o\n"},
        "d/e/a.c",
        None,
    ),
    "subdirectories": (
        {"d/Makefile": f"subdir-ccflags-remove-y := {FLAGS}\n", "d/e/Makefile": "obj-y += a.o\n"},
        "d/e/a.c",
        "",
    ),
    "tracer around it": (
        {"d/Makefile": f"ifdef CONFIG_FUNCTION_TRACER\nCFLAGS_REMOVE_a.o = {FLAGS}\nendif\n"},
        "d/a.c",
        "",
    ),
    "option around it": ({"d/Makefile": "ifdef CONFIG_X\nCFLAGS_REMOVE_a.o = -pg\nendif\n"}, "d/a.c", "CONFIG_X"),
    "no option around it": (
        {"d/Makefile": "ifdef CONFIG_X\nelse\nCFLAGS_REMOVE_a.o = -pg\nendif\n"},
        "d/a.c",
        "!CONFIG_X",
    ),
    "ifeq around it": ({"d/Makefile": "ifeq ($(CONFIG_X),y)\nCFLAGS_REMOVE_a.o = -pg\nendif\n"}, "d/a.c", "CONFIG_X"),
    "unconditional wins": (
        {"d/Makefile": "ifdef CONFIG_X\nCFLAGS_REMOVE_a.o = -pg\nendif\nCFLAGS_REMOVE_a.o = -pg\n"},
        "d/a.c",
        "",
    ),
    "directory, but given back": (
        {"d/Makefile": f"ccflags-remove-y += {FLAGS}\nCFLAGS_a.o = {FLAGS}\n"},
        "d/a.c",
        None,
    ),
    "filtered flags": ({"d/Makefile": f"KBUILD_CFLAGS := $(filter-out {FLAGS},$(KBUILD_CFLAGS))\n"}, "d/a.c", ""),
    "filtered flags are inherited": (
        {"d/Makefile": f"KBUILD_CFLAGS := $(subst {FLAGS},,$(KBUILD_CFLAGS))\n", "d/e/Makefile": ""},
        "d/e/a.c",
        "",
    ),
    "filtered for something else": (
        {"d/Makefile": "KBUILD_CFLAGS := $(filter-out -O2,$(KBUILD_CFLAGS))\n"},
        "d/a.c",
        None,
    ),
    "flags made anew": ({"d/Makefile": "KBUILD_CFLAGS := -m32 -O2\n"}, "d/a.c", ""),
    "flags extended": ({"d/Makefile": "KBUILD_CFLAGS += -m32\n"}, "d/a.c", None),
    "top Makefile makes them": ({"Makefile": "KBUILD_CFLAGS := -O2\n", "d/Makefile": ""}, "d/a.c", None),
    "Kbuild before Makefile": ({"d/Kbuild": "", "d/Makefile": "CFLAGS_REMOVE_a.o = -pg\n"}, "d/a.c", None),
}


@pytest.mark.parametrize("case", CASES)
def test_tracing_of_an_object(case: str) -> None:
    makefiles, path, expected = CASES[case]
    found = is_untraced(MemoryTree(makefiles), path)
    assert (
        (found and found.condition) == expected
        if expected is None
        else found is not None and found.condition == expected
    )


def test_the_reason_names_makefile_line_and_condition() -> None:
    makefile = "obj-y += a.o\n\nifdef CONFIG_X\nCFLAGS_REMOVE_a.o = -pg\nendif\n"
    found = is_untraced(MemoryTree({"d/Makefile": makefile}), "d/a.c")
    assert found is not None
    assert found.reason == "d/Makefile:4 takes the tracing flags away (CFLAGS_REMOVE_a.o), conditional on CONFIG_X"


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("ccflags-y := -I $(srctree)/other", ("other",)),
        ("ccflags-$(CONFIG_X) += -I$(src)/inc -Wall", ("d/inc",)),
        ("ccflags-y += -I$(srctree)/$(src)/../up", ("up",)),
        ("CFLAGS_a.o := -I$(src)", ("d",)),
        ("CFLAGS_b.o := -I$(src)", ()),
        ("ccflags-y := -I$(objtree)/gen -I/usr/include -I../out", ()),
    ],
    ids=["of the tree", "of the directory", "with ..", "of the object", "of another object", "outside the tree"],
)
def test_include_directories(flag: str, expected: tuple[str, ...]) -> None:
    assert include_directories(MemoryTree({"d/Makefile": flag + "\n"}), "d/a.c") == expected


def test_include_directories_for_everything_below_are_inherited() -> None:
    tree = MemoryTree({"d/Makefile": "subdir-ccflags-y := -Iinc\nccflags-y := -Ino\n", "d/e/Makefile": ""})
    assert include_directories(tree, "d/e/a.c") == ("inc",)


@pytest.mark.parametrize(
    ("makefile", "expected"),
    [
        ("obj-$(CONFIG_COMPAT) += frame_32.o\n", "CONFIG_COMPAT"),
        ("obj-y += frame_32.o\n", None),
        ("obj-y += trap.o frame_$(BITS).o\nobj-$(CONFIG_COMPAT) += frame_32.o\n", None),
        ("frames-y := frame_32.o\nobj-$(CONFIG_COMPAT) += frame_32.o\n", None),
        ("obj-$(CONFIG_COMPAT) += frame_32.o\nobj-$(CONFIG_PPC32) += frame_32.o\n", None),
        ("ifdef CONFIG_ALTIVEC\nobj-$(CONFIG_COMPAT) += frame_32.o\nendif\n", None),
        ("obj-$(CONFIG_COMPAT) += frame_$(BITS).o $(others)\n", "CONFIG_COMPAT"),
        ("obj-y += $(others)\nobj-$(CONFIG_COMPAT) += frame_32.o\n", "CONFIG_COMPAT"),
    ],
    ids=["one_line", "always", "by_word_size", "composite", "two_options", "around", "pattern", "other_list"],
)
def test_object_depends_on_an_option_only_where_one_line_alone_says_so(makefile: str, expected: str | None) -> None:
    """A line that may name the object in another way, such as frame_$(BITS).o, decides as well."""
    tree = MemoryTree({"arch/powerpc/kernel/Makefile": makefile.encode()})
    assert object_condition(tree, "arch/powerpc/kernel/frame_32.c") == expected
