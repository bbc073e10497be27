"""Which files of a tree are C. Most say so by their names; others are C because a C file includes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reviewbot.patterns import regex

if TYPE_CHECKING:
    from reviewbot.source.tree import SourceTree

# Programs for the machine that builds the kernel, examples, and texts: nothing in them runs in the kernel.
NOT_KERNEL = ("Documentation", "samples", "scripts", "tools", "usr")
C_SUFFIXES = (".c", ".h")

# What files with these endings are is known, and it is not C. Everything else that has an ending may be, for an
# #include takes any name.
# fmt: off
OTHER_SUFFIXES = frozenset(
    {
        "S", "s", "asm", "sa", "dts", "dtsi", "dtso", "rs", "py", "pl", "pm", "sh", "bash", "awk", "sed", "tcl",
        "lua", "go", "java", "js", "ts", "css", "html", "xml", "svg", "json", "yaml", "yml", "toml", "rst",
        "txt", "md", "tex", "man", "1", "2", "3", "4", "5", "6", "7", "8", "9", "csv", "tsv", "log", "cfg",
        "conf", "config", "ini", "mk", "mak", "lds", "ld", "map", "asn1", "cocci", "patch", "diff", "mbox",
        "eml", "png", "jpg", "gif", "ppm", "pgm", "pbm", "dot", "pdf", "gz", "xz", "bz2", "zip", "o", "ko", "a",
        "so", "bin", "hex", "ihex", "fw", "dtb", "pem", "x509", "l", "y", "el", "vim", "debug", "kunitconfig",
        "fuc", "fuc3", "fuc5", "litmus",
    }
)
# fmt: on
_OTHER_NAMES = ("Makefile", "Kconfig", "Kbuild", "README", "ChangeLog", "Changes", "LICENSE", "COPYING", "TODO")
_INCLUDED = regex(rb'^[ \t]*#[ \t]*include[ \t]*[<"](?:[^">\n]*/)?([^/">\n]+)[">]', re.MULTILINE)
_WORD = regex(r"[A-Za-z_]\w*")


def is_kernel(path: str) -> bool:
    """Whether a file of the tree is built into the kernel, as far as its place tells."""
    return path.split("/", 1)[0] not in NOT_KERNEL


def is_c_named(path: str) -> bool:
    """Whether its name says that a file is C."""
    return path.endswith(C_SUFFIXES)


def may_be_c(path: str) -> bool:
    """Whether a file may be C by its name and place: a C file, or a part of the kernel of no other known kind."""
    if is_c_named(path):
        return True
    name = path.rpartition("/")[2]
    stem, _, suffix = name.rpartition(".")
    is_other = suffix in OTHER_SUFFIXES or name.startswith(_OTHER_NAMES)
    return bool(stem) and not is_other and is_kernel(path)


def is_included(tree: SourceTree, path: str) -> bool:
    """Whether a C file of the tree includes one with the last part of this path. For names of every kind."""
    name = path.rpartition("/")[2].encode("utf-8", "surrogateescape")
    words = _WORD.findall(path.rpartition("/")[2])
    if not words or not is_kernel(path):
        return False
    word = max(words, key=len)
    holders = tree.search([word], C_SUFFIXES).get(word, ())
    return any(name in _INCLUDED.findall(tree.read(holder) or b"") for holder in holders)
