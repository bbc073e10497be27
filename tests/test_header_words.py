"""Which headers hold a word: the same answer from their bytes and from the index."""

from __future__ import annotations

from reviewbot.graph.closures import FileNumbers, FileSet
from reviewbot.graph.header_words import INDEX_AFTER, HeaderWords
from tests.trees import MemoryTree


def file_set(paths: list[str], numbers: FileNumbers) -> FileSet:
    return FileSet(sum(map(numbers.bit, paths)), numbers)


def test_every_question_is_answered_alike() -> None:
    files = {
        f"include/only_here_{n:03}.h": f"#define ONLY_HERE_{n:03} only_word_{n:03}\n" for n in range(3 * INDEX_AFTER)
    }
    paths = file_set(sorted(files), FileNumbers())
    words = HeaderWords(MemoryTree(files))

    for n in range(INDEX_AFTER):
        path = f"include/only_here_{n:03}.h"
        assert words.defining(f"ONLY_HERE_{n:03}", paths) == [path], f"question {2 * n + 1}"
        assert words.holding([f"only_word_{n:03}"], paths) == [path], f"question {2 * n + 2}"


def test_the_first_question_about_headers_that_no_index_knows_yet() -> None:
    files = {
        f"include/late_header_{n:03}.h": f"#define LATE_HEADER_{n:03} late_word_{n:03}\n"
        for n in range(2 * INDEX_AFTER)
    }
    words, numbers = HeaderWords(MemoryTree(files)), FileNumbers()
    for _ in range(INDEX_AFTER):
        words.defining("ANYTHING", file_set(["include/late_header_000.h"], numbers))

    for n in range(1, 2 * INDEX_AFTER):
        path = f"include/late_header_{n:03}.h"
        assert words.defining(f"LATE_HEADER_{n:03}", file_set([path], numbers)) == [path]


def test_the_first_question_about_words_of_such_headers() -> None:
    files = {f"include/word_header_{n:03}.h": f"int word_of_header_{n:03};\n" for n in range(2 * INDEX_AFTER)}
    words, numbers = HeaderWords(MemoryTree(files)), FileNumbers()

    for n in range(2 * INDEX_AFTER):
        path = f"include/word_header_{n:03}.h"
        assert words.holding([f"word_of_header_{n:03}"], file_set([path], numbers)) == [path]
