"""Threads as lists really have them -> series, and the one to review."""

# ruff: noqa: E501 - tables of inputs are read line by line

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewbot.errors import InputError
from reviewbot.mail.decode import decode_message
from reviewbot.mail.message import Message
from reviewbot.series.from_mail import choose_series, find_series, sort_mails
from reviewbot.series.kernel import why_not_kernel
from reviewbot.series.message_body import has_diff, is_scissors, read_base, split_body
from reviewbot.series.patch import Series

START = datetime(2024, 3, 1, 12, 0, tzinfo=UTC)


def diff(path: str = "fs/a.c") -> str:
    return f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"


def patch_body(path: str = "fs/a.c", log: str = "Why it is so.\n\nSigned-off-by: J <j@example.org>") -> str:
    return f"{log}\n---\n {path} | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n{diff(path)}-- \n2.39.2\n"


def mail(
    subject: str, body: str | None = None, *, id: str = "", to: str = "", minute: float = 0, **headers: str
) -> Message:
    fields = {
        "From": "Jane Roe <jane@example.org>",
        "Subject": subject,
        "Message-ID": f"<{id or subject}>".replace(" ", "_"),
    }
    fields["Date"] = (START + timedelta(minutes=minute)).strftime("%a, %d %b %Y %H:%M:%S +0000")
    if to:
        fields |= {"In-Reply-To": f"<{to}>", "References": f"<{to}>"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    text = "".join(f"{name}: {value}\n" for name, value in fields.items() if value)
    return decode_message(f"{text}\n{patch_body() if body is None else body}".encode(), f"mail {subject}")


def thread(
    total: int, prefix: str = "PATCH", *, key: str = "s", minute: float = 0, to: str = "", title: str = "a: part"
) -> list[Message]:
    cover = mail(f"[{prefix} 0/{total}] {title}s", "cover\n", id=f"{key}0", minute=minute, to=to)
    return [cover, *(
        mail(f"[{prefix} {at}/{total}] {title} {at}", patch_body(f"fs/{key}{at}.c"), id=f"{key}{at}", to=f"{key}0", minute=minute + at)
        for at in range(1, total + 1)
    )]  # fmt: skip


def shape(series: Series) -> tuple[int, int, tuple[int, ...]]:
    return series.version, series.total, tuple(patch.index for patch in series.patches)


def chosen(messages: list[Message]) -> Series:
    return choose_series(find_series(messages))


# --- one series


def test_a_thread_is_one_series_in_the_order_of_its_numbers() -> None:
    messages = [*thread(3), mail("Re: [PATCH 2/3] a: part 2", "> x\nlooks good\n", id="r", to="s2", minute=9)]
    random.Random(1).shuffle(messages)
    (series,) = find_series(messages)
    assert shape(series) == (1, 3, (1, 2, 3))
    assert [patch.subject for patch in series.patches] == ["a: part 1", "a: part 2", "a: part 3"]
    assert series.cover is not None and series.subject == "a: parts"
    assert (series.message_id, series.missing) == ("s0", ())
    assert [reply.message_id for reply in series.replies] == ["r"]
    first = series.patches[0]
    assert first.log.startswith("Why it is so.") and "1 file changed" not in first.log
    assert first.trailers == (("Signed-off-by", "J <j@example.org>"),)
    assert [file.path for file in first.files] == ["fs/s1.c"]
    assert first.message is not None and not first.problems


@given(st.permutations(range(10)))
def test_the_order_of_arrival_changes_nothing(order: list[int]) -> None:
    messages = [*thread(4), *thread(4, "PATCH v2", key="t", minute=60)]
    assert find_series([messages[at] for at in order]) == find_series(messages)


@pytest.mark.parametrize(
    "subjects",
    [
        ["[PATCH v6,1/3] a", "[PATCH v6,2/3] b", "[PATCH v6,3/3] c"],
        ["[PATCH1/3] a", "[PATCH2/3] b", "[PATCH3/3] c"],
        ["[RFC v2 1/3] a", "[RFC v2 2/3] b", "[RFC v2 3/3] c"],
        ["[PATCH 1/3 v9] a", "[PATCH 2/3 v9] b", "[PATCH 3/3 v9] c"],
    ],
)
@pytest.mark.parametrize("how", ["shallow", "deep", "missing cover", "unthreaded", "format-patch"])
def test_odd_prefixes_and_any_threading_give_one_series(subjects: list[str], how: str) -> None:
    parents = {"shallow": ["", "a", "a"], "deep": ["", "a", "b"], "missing cover": ["gone"] * 3}.get(how, [""] * 3)
    messages = [
        mail(
            subject, id=name, to=parent, minute=at, **({"Message_ID": "", "Date": ""} if how == "format-patch" else {})
        )
        for at, (subject, name, parent) in enumerate(zip(subjects, "abc", parents, strict=True))
    ]
    (series,) = find_series(messages)
    assert shape(series)[1:] == (3, (1, 2, 3))
    assert not series.missing


def test_files_of_format_patch_with_different_authors_are_one_series() -> None:
    messages = [
        mail(f"[PATCH {at}/2] x", From=f"A{at} <a{at}@example.org>", Message_ID="", minute=at * 90_000) for at in (1, 2)
    ]
    (series,) = find_series(messages)
    assert [patch.author.email for patch in series.patches] == ["a1@example.org", "a2@example.org"]


def test_missing_members_are_named() -> None:
    (series,) = find_series([message for message in thread(4) if message.message_id not in ("s2", "s4")])
    assert series.missing == (2, 4)


def test_a_member_without_a_readable_diff_is_said_and_not_lost() -> None:
    messages = thread(2)
    messages[2] = mail("[PATCH 2/2] b", "see attachment\n\nSigned-off-by: J <j@x>\n", id="s2", to="s0", minute=2)
    (series,) = find_series(messages)
    assert not series.missing
    assert "no diff" in series.patches[1].problems[0].reason


def test_the_same_mail_from_two_lists_counts_once() -> None:
    (series,) = find_series([*thread(2), *thread(2)])
    assert shape(series) == (1, 2, (1, 2))
    assert not series.replies


def test_base_and_change_id_are_found_in_the_cover_or_below_the_last_diff() -> None:
    messages = thread(2)
    trailers = f"base-commit: {'a' * 40}\nchange-id: 20240301-x-1\nprerequisite-patch-id: {'b' * 40}\n"
    with_cover = find_series([mail("[PATCH 0/2] as", "x\n-- \n2.39\n\n" + trailers, id="s0"), *messages[1:]])[0]
    without = find_series([messages[1], mail("[PATCH 2/2] b", patch_body() + "\n" + trailers, id="s2", to="s0")])[0]
    for series in (with_cover, without):
        assert (series.base_commit, series.change_id, series.prerequisites) == ("a" * 40, "20240301-x-1", ("b" * 40,))
    assert read_base("base-commit: not-hex\n").base_commit is None


# --- several series


def test_the_newest_version_wins_and_the_older_ones_are_named() -> None:
    series = chosen(
        [*thread(3, "PATCH v3", key="v", minute=200), *thread(2), *thread(3, "PATCH v2", key="u", minute=100)]
    )
    assert series.version == 3
    assert [note.split(" was")[0] for note in series.notes] == ["The older version v1", "The older version v2"]


def test_a_newer_version_in_reply_to_the_older_is_its_own_series() -> None:
    found = find_series([*thread(3), *thread(3, "PATCH v2", key="t", minute=60, to="s0")])
    assert [shape(series) for series in found] == [(1, 3, (1, 2, 3)), (2, 3, (1, 2, 3))]


def test_a_series_of_seven_in_reply_to_one_of_twenty_five_is_two_series() -> None:
    messages = [*thread(25, key="big"), *thread(7, key="small", to="big0", minute=60, title="b: other")]
    assert [series.total for series in find_series(messages)] == [25, 7]
    series = chosen(messages)
    assert series.total == 7
    assert "Another series in the input was left out: 'a: parts' (v1, 25 patches" in series.notes[0]


def test_a_resend_under_the_same_version_is_two_series_and_the_later_is_chosen() -> None:
    messages = [*thread(2), *thread(2, key="t", minute=600, to="s0")]
    assert [shape(series) for series in find_series(messages)] == [(1, 2, (1, 2))] * 2
    assert chosen(messages).message_id == "t0"


def test_a_single_patch_sent_again_in_reply_to_itself_takes_its_place() -> None:
    again = mail("[PATCH v2 2/3] a: part 2", patch_body("fs/new.c"), id="again", to="s2", minute=90)
    (series,) = find_series([*thread(3), again])
    assert shape(series) == (1, 3, (1, 2, 3))
    assert [file.path for file in series.patches[1].files] == ["fs/new.c"]
    assert "Patch 2/3 was taken from a single later mail" in series.notes[0]


def test_a_new_version_of_a_patch_alone_is_a_new_series() -> None:
    messages = [mail("[PATCH] x", id="a"), mail("[PATCH v2] x", id="b", to="a", minute=5)]
    assert [series.version for series in find_series(messages)] == [1, 2]
    assert chosen(messages).version == 2


def test_a_patch_that_somebody_else_sends_into_the_thread_is_not_chosen() -> None:
    other = mail("[PATCH] a: do it otherwise", id="o", to="s2", minute=500, From="Max <max@example.org>")
    series = chosen([*thread(3), other])
    assert series.message_id == "s0"
    assert "do it otherwise" in series.notes[0]


def test_of_two_unrelated_series_the_last_is_chosen_and_the_other_named() -> None:
    series = chosen([*thread(2), mail("[PATCH v4] z: other", id="o", minute=-600)])
    assert series.subject == "a: parts"
    assert "'z: other'" in series.notes[0]


# --- what is no patch


def test_a_reply_with_an_unquoted_diff_is_a_comment() -> None:
    reply = mail(
        "Re: [PATCH 1/2] a: part 1", "> x\nWhat about this?\n\n" + diff("fs/other.c"), id="r", to="s1", minute=30
    )
    (series,) = find_series([*thread(2), reply])
    assert [file.path for patch in series.patches for file in patch.files] == ["fs/s1.c", "fs/s2.c"]
    assert "holds a diff" in series.notes[0]
    assert series.replies == (reply,)


NOT_PATCHES = [
    ("reply", mail("Re: [PATCH] x", "> x\n" + diff()), "a reply"),
    ("reply without Re", mail("another thought", "> quoted\n" + diff(), to="gone"), "a reply"),
    ("robot", mail("[PATCH] x", Auto_Submitted="auto-generated"), "an automatic mail"),
    ("pull", mail("[GIT PULL] fixes"), "a pull request"),
    (
        "pull by its text",
        mail("fixes for 6.9", "x\nThe following changes since commit 1234567890:\n"),
        "a pull request",
    ),
    ("tip notice", mail("[tip: x86/fpu] x86/fpu: x"), "a notice"),
    ("stable notice", mail('Patch "x: y" has been added to the 6.6-stable tree'), "a notice"),
    ("cover", mail("[PATCH 0/3] x", "cover"), "a cover letter without its patches"),
    ("prose", mail("hello", "--- is this a patch?\nno\n"), "without a diff"),
]


@pytest.mark.parametrize(("message", "said"), [case[1:] for case in NOT_PATCHES], ids=[case[0] for case in NOT_PATCHES])
def test_an_input_without_patch_is_refused_and_says_what_it_is(message: Message, said: str) -> None:
    with pytest.raises(InputError, match="No patch found") as caught:
        find_series([message])
    assert said in str(caught.value)
    assert not any(group.is_complete() for group in sort_mails([message]))


def test_several_mails_without_patch_are_counted() -> None:
    with pytest.raises(InputError, match="3 mails, all replies"):
        find_series([mail(f"Re: x{at}", "no\n") for at in range(3)])
    with pytest.raises(InputError, match="2 replies, a pull request"):
        find_series([mail("Re: a", "no\n"), mail("Re: b", "no\n"), mail("[GIT PULL] c", "no\n")])
    with pytest.raises(InputError, match="no mail"):
        find_series([])


# --- the body of a patch mail


BODIES = [
    ("plain", patch_body(), "Why it is so."),
    ("heading underlined with =", patch_body(log="Heading\n=======\n\ntext\n\nSigned-off-by: J <j@x>"), "Heading\n======="),
    ("line Index:", patch_body(log="Index: a database\nterm\n\nSigned-off-by: J <j@x>"), "Index: a database"),
    ("line --- with words", patch_body(log="--- before\nis how it was\n\nSigned-off-by: J <j@x>"), "--- before"),
    ("heading underlined with ---", patch_body(log="Why\n---\n\nreason\n\nSigned-off-by: J <j@x>"), "Why\n---\n\nreason"),
    ("diff in the message", patch_body(log="Seen with\n\n" + diff("fs/example.c") + "\nSigned-off-by: J <j@x>"), "Seen with"),
    ("indented diff", patch_body(log="  diff --git a/q b/q\n  --- a/q\n  +++ b/q\n  @@ -1 +1 @@\n\nSigned-off-by: J <j@x>"), "  diff --git"),
    ("diff --git in prose", patch_body(log="diff --git shows it\n\nSigned-off-by: J <j@x>"), "diff --git shows it"),
    ("scissors", "Hello Max,\n\nhere it is.\n\n-- >8 --\nSubject: [PATCH] b: real title\n\n" + patch_body(), "Why it is so."),
    ("without ---", "Only a log.\n\n" + diff(), "Only a log."),
    ("form feed", "a\x0cb\n---\n\n" + diff(), "a\x0cb"),
    ("line From", "From here on.\n---\n\n" + diff(), "From here on."),
    ("pasted format-patch", f"From {'c' * 40} Mon Sep 17 00:00:00 2001\nFrom: K <k@x>\nDate: today\nSubject: [PATCH] b: c\n\n" + patch_body(),
     "Why it is so."),
]  # fmt: skip


@pytest.mark.parametrize(("body", "log"), [case[1:] for case in BODIES], ids=[case[0] for case in BODIES])
def test_message_and_diff_are_told_apart_as_git_does(body: str, log: str) -> None:
    (series,) = find_series([mail("[PATCH] x: y", body)])
    (patch,) = series.patches
    assert not patch.problems
    assert [file.path for file in patch.files] == ["fs/a.c"]
    assert patch.log.startswith(log)
    assert "file changed" not in patch.log


def test_the_body_may_name_author_and_subject() -> None:
    body = "From: Max Moe <max@example.org>\nSubject: [PATCH v2] b: better\n title\n\nlog\n---\n\n" + diff()
    (series,) = find_series([mail("[PATCH v2] b: worse", body)])
    (patch,) = series.patches
    assert (patch.author.email, patch.subject, patch.log) == ("max@example.org", "b: better title", "log")


def test_trailers_are_the_last_paragraph_of_the_log() -> None:
    log = 'Fix: this.\n\nNote: that\n\nFixes: 1234567890ab ("x: y")\nCc: a@b\nLink: https://example.org/x\n [why]\nSigned-off-by: J <j@x>'
    parts = split_body(patch_body(log=log))
    assert [name for name, _ in parts.trailers] == ["Fixes", "Cc", "Link", "Signed-off-by"]
    assert split_body("Fix: this.\n---\n\n" + diff()).trailers == ()


def test_the_line_of_a_hunk_is_its_line_in_the_body() -> None:
    (series,) = find_series([mail("[PATCH] x")])
    hunk = series.patches[0].files[0].hunks[0]
    assert patch_body().split("\n")[hunk.line_in_message - 1].startswith("@@ ")


@pytest.mark.parametrize(
    "line", ["-- >8 --", "---8<---", "-- 8< -- cut here -- 8< --", "- - - >8 - - -", "------%<------"]
)
def test_scissors_are_known_as_git_knows_them(line: str) -> None:
    assert is_scissors(line)


@pytest.mark.parametrize(
    "line", ["---", "------------", "a >8 b", "8<", "-- a long sentence that mentions >8 here", "x = y >> 8; --"]
)
def test_other_lines_are_no_scissors(line: str) -> None:
    assert not is_scissors(line)


@pytest.mark.parametrize(
    "body", ["> " + diff().replace("\n", "\n> "), "--- a\n+++ b\n", "Index: x\n", "diff --git is a tool\n"]
)
def test_quoted_and_mentioned_diffs_are_none(body: str) -> None:
    assert not has_diff(body)


@given(st.text(max_size=300))
def test_no_body_breaks_the_cutting(body: str) -> None:
    parts = split_body(body)
    assert body.endswith(parts.diff)


# --- other projects


@pytest.mark.parametrize(
    ("subject", "path", "is_kernel"),
    [
        ("[PATCH] fs: x", "fs/a.c", True),
        ("[PATCH] crash: x", "kernel/crash_core.c", True),
        ("[PATCH] x: add a list", "MAINTAINERS", True),
        ("[PATCH] ethtool: x", "net/ethtool/x.c", True),
        ("[PATCH xfstests] x", "tests/generic/001", False),
        ("[PATCH] generic/123: x", "tests/generic/123", False),
        ("[PATCH] btrfs-progs: x", "cmds/x.c", False),
        ("[PATCH e2fsprogs] x", "lib/ext2fs/x.c", False),
        ("[PATCH iproute2-next] x", "ip/x.c", False),
        ("[PATCH] something", "src/main.rs", False),
    ],
)
def test_patches_for_other_projects_are_known(subject: str, path: str, is_kernel: bool) -> None:
    (series,) = find_series([mail(subject, patch_body(path))])
    assert (why_not_kernel(series) is None) is is_kernel
    assert (why_not_kernel(series.patches[0]) is None) is is_kernel


@pytest.mark.parametrize(
    "line",
    ["---\n", "---\n 1 file changed\n", "--- a\n+++ b\n", "diff --git a/x b/x\n", "Index: x\n=====\n", "-- >8 --\n"],
)
def test_a_body_of_nothing_but_marks_is_cut_in_bounded_time(line: str) -> None:
    # Quadratic work would take minutes here.
    parts = split_body(diff() + line * 100_000 + diff("fs/b.c"))
    assert parts.diff.endswith(diff("fs/b.c"))


def test_many_mails_with_one_number_stay_apart_in_bounded_time() -> None:
    messages = [mail("[PATCH 1/2] x", "log\n---\n" + diff(), id=f"m{at}", to="root", minute=at) for at in range(2_000)]
    groups = sort_mails(messages)
    assert len(groups) == 2_000
    assert not any(group.is_complete() for group in groups)
