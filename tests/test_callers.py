"""Who calls a function, in the directories of a series."""

from __future__ import annotations

from reviewbot.csyntax.items import function_at
from reviewbot.graph.callers import MAX_FILES, Entries, entries_of
from reviewbot.graph.code import CodeReader
from reviewbot.rulebook.book import load_rulebook
from tests.trees import MemoryTree

HELPER = "int helper(void)\n{\n\treturn 0;\n}\n"
CALLER = "int caller(void)\n{\n\treturn helper();\n}\n"


def _entries(files: dict[str, str], directories: list[str]) -> Entries:
    reader = CodeReader(MemoryTree(files), load_rulebook())
    item = function_at(reader.data("small/helper.c"), 5)
    assert item is not None
    return entries_of(reader, [("small/helper.c", item)], directories)


def test_callers_in_every_directory_of_the_series() -> None:
    files = {"small/helper.c": HELPER, "small/caller.c": CALLER, "other/caller.c": CALLER, "third/caller.c": CALLER}
    found = _entries(files, ["other", "small"])
    assert [(each.path, each.item.name) for each in found.found] == [
        ("other/caller.c", "caller"),
        ("small/caller.c", "caller"),
    ]
    assert found.gaps == ()


def test_a_large_directory_leaves_room_for_the_small_one() -> None:
    crowd = {f"large/{number:03}.c": "int a;\n" for number in range(MAX_FILES + 50)}
    found = _entries({"small/helper.c": HELPER, "small/caller.c": CALLER, **crowd}, ["large", "small"])
    assert [each.path for each in found.found] == ["small/caller.c"]
    assert found.gaps == (
        f"callers were looked for in {MAX_FILES} of the {MAX_FILES + 52} files beside those that the series changes",
    )
