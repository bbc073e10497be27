"""Subjects as people and tools write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewbot.series.subject import parse_subject

# subject, version, index, total, title
PATCHES = [
    ("[PATCH] mm: fix it", 1, 1, 1, "mm: fix it"),
    ("[PATCH 3/8] mm: fix it", 1, 3, 8, "mm: fix it"),
    ("[PATCH v2 0/3] mm: fix it", 2, 0, 3, "mm: fix it"),
    ("[PATCH net-next 00/12] net: more", 1, 0, 12, "net: more"),
    ("[RFC PATCH bpf-next v6,19/24] bpf: x", 6, 19, 24, "bpf: x"),
    ("[PATCH,v2,1/2] a: b", 2, 1, 2, "a: b"),
    ("[PATCH1/8] a: b", 1, 1, 8, "a: b"),
    ("[PATCH0/3] a: b", 1, 0, 3, "a: b"),
    ("[PATCHv3] a: b", 3, 1, 1, "a: b"),
    ("[PATCHv2 2/2]a: b", 2, 2, 2, "a: b"),
    ("[PATCH-V2] a: b", 2, 1, 1, "a: b"),
    ("[PATCH V4 1/3] a: b", 4, 1, 3, "a: b"),
    ("[PATCH 5/5 v9] a: b", 9, 5, 5, "a: b"),
    ("[PATCH (v2)] a: b", 2, 1, 1, "a: b"),
    ("[PATCH v5-1/8] a: b", 5, 1, 8, "a: b"),
    ("[PATCH 1 of 8] a: b", 1, 1, 8, "a: b"),
    ("[PATCH v2 12/13 RESEND] a: b", 2, 12, 13, "a: b"),
    ("[PATCH v4 [RESEND] 1/3] a: b", 4, 1, 3, "a: b"),
    ("[v3,1/8] a: b", 3, 1, 8, "a: b"),
    ("[RFC/PATCH] a: b", 1, 1, 1, "a: b"),
    ("[RFC v2] a: b", 2, 1, 1, "a: b"),
]


@pytest.mark.parametrize(("text", "version", "index", "total", "title"), PATCHES, ids=[case[0] for case in PATCHES])
def test_a_patch_subject_is_read_in_its_pieces(text: str, version: int, index: int, total: int, title: str) -> None:
    subject = parse_subject(text)
    assert (subject.version, subject.index, subject.total, subject.title) == (version, index, total, title)
    assert subject.is_patch
    assert not subject.is_reply


@pytest.mark.parametrize(
    "text",
    ["Re: [PATCH 1/2] x", "RE: x", "Aw: [PATCH] x", "Fwd: [PATCH] x", "[EXT] Re: [PATCH] x", "Re[2]: x", "回复:x"],
)
def test_answers_are_replies(text: str) -> None:
    assert parse_subject(text).is_reply


@pytest.mark.parametrize("text", ["[PATCH] regmap: re: nothing", "remoteproc: x", "[PATCH] re-add it", "reset: fix"])
def test_titles_that_begin_like_an_answer_are_none(text: str) -> None:
    assert not parse_subject(text).is_reply


@pytest.mark.parametrize(
    ("text", "trees"),
    [
        ("[PATCH bpf-next/net] x", ("bpf-next",)),
        ("[PATCH net-next v2 1/3] x", ("net-next",)),
        ("[PATCH 6.1 01/20] x", ("6.1",)),
        ("[PATCH v2] x", ()),
        ("[RFC PATCH] x", ()),
    ],
)
def test_trees_are_the_prefixes_that_are_no_words_of_the_trade(text: str, trees: tuple[str, ...]) -> None:
    assert parse_subject(text).trees == trees


def test_a_tree_with_a_number_is_no_count() -> None:
    subject = parse_subject("[PATCH 5.10/stable 1/2] x")
    assert (subject.index, subject.total) == (1, 2)


@pytest.mark.parametrize("text", ["[GIT PULL] x", "[PULL 1/5] x", "[GIT,PULL] x", "Git pull for 6.2"])
def test_pull_requests_are_known(text: str) -> None:
    assert parse_subject(text).is_pull


@pytest.mark.parametrize("text", ["mm: no prefix", "", "   ", "[", "[]", "[][][]", "]["])
def test_a_subject_without_prefix_is_no_patch_but_is_read(text: str) -> None:
    subject = parse_subject(text)
    assert not subject.is_patch
    assert (subject.version, subject.index, subject.total) == (1, 1, 1)


@given(st.text(max_size=300))
def test_no_subject_breaks_it(text: str) -> None:
    subject = parse_subject(text)
    assert subject.version >= 1
    assert 0 <= subject.index <= subject.total


@given(
    st.integers(1, 99),
    st.integers(1, 99).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))),
    st.sampled_from(["", "RFC ", "net-next ", "RESEND "]),
    st.sampled_from([" ", ","]),
)
def test_what_format_patch_writes_comes_back(version: int, count: tuple[int, int], tag: str, between: str) -> None:
    subject = parse_subject(f"[{tag}PATCH v{version}{between}{count[0]:02}/{count[1]:02}] a: b")
    assert (subject.version, subject.index, subject.total, subject.title) == (version, *count, "a: b")
