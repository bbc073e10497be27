"""The kernel version that a tree says it is."""

from __future__ import annotations

import re

from reviewbot.patterns import regex
from reviewbot.rulebook.primitives import KernelVersion
from reviewbot.source.tree import SourceTree

_FIELD = regex(rb"^(VERSION|PATCHLEVEL)[ \t]*=[ \t]*(\d{1,4})[ \t]*\r?$", re.MULTILINE)


def kernel_version(tree: SourceTree) -> KernelVersion | None:
    """VERSION and PATCHLEVEL of the top Makefile; None if there is none, or it is not the kernel's."""
    fields = dict(_FIELD.findall((tree.read("Makefile") or b"")[:4096]))
    if len(fields) < 2:
        return None
    return KernelVersion(major=int(fields[b"VERSION"]), minor=int(fields[b"PATCHLEVEL"]))
