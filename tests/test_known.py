"""What the states of a series share: the same answers as from a tree of its own, whatever changes."""

from __future__ import annotations

import pytest

from reviewbot.graph.symbols import Symbols
from reviewbot.source.overlay import OverlayTree
from tests.kernel_words import words
from tests.trees import MemoryTree

WORDS = words()
BASE = {
    "include/linux/one.h": "struct pair { int a; };\nstatic inline int get(void) { return 1; }\n",
    "include/linux/two.h": "#include <linux/one.h>\n",
    "fs/a.c": "#include <linux/two.h>\nint f(void) { return get(); }\n",
}


@pytest.mark.parametrize(
    "changed",
    [
        {"fs/a.c": b"#include <linux/one.h>\nint f(void) { return get(); }\n"},
        {"include/linux/one.h": b"static int get(void) { return 2; }\nstruct pair { long a; };\n"},
        {"include/linux/two.h": b"int get(void);\n"},
        {"fs/linux/one.h": b"int get(void);\n", "fs/a.c": b'#include "linux/one.h"\n#include <linux/two.h>\n'},
        {"include/linux/one.h": None},
        {"include/linux/one.h": None, "include/uapi/linux/one.h": b"extern int get(void);\n"},
    ],
    ids=["source", "header", "include", "nearer", "gone", "moved"],
)
def test_a_state_knows_what_a_tree_of_its_own_would_know(changed: dict[str, bytes | None]) -> None:
    base = MemoryTree(BASE)
    assert Symbols(base, WORDS).resolve("get", "fs/a.c", None).definitions
    whole = {path: text.encode() for path, text in BASE.items()} | changed
    alone = MemoryTree({path: text.decode() for path, text in whole.items() if text is not None})
    for order in (0, 1):  # the second asks what the first has left
        shared = Symbols(OverlayTree(base, changed, label=f"state {order}"), WORDS)
        for name in ("get", "pair", "f"):
            assert shared.resolve(name, "fs/a.c", None) == Symbols(alone, WORDS).resolve(name, "fs/a.c", None)
