"""Whole reviews, from commits or mails to findings, on the small tree of fixtures/."""

from __future__ import annotations

from pathlib import Path

import pytest

from reviewbot.errors import InputError
from reviewbot.findings.finding import Status
from reviewbot.findings.review import Outcome, Review
from reviewbot.git import Repository
from reviewbot.mail.mailbox import read_mailbox
from reviewbot.pipeline import ReviewOptions, review, review_on_tree, review_push, review_range, review_staged
from reviewbot.rulebook.book import load_rulebook
from reviewbot.series.from_mail import choose_series, find_series
from tests.expectations import FIXTURES, small_tree
from tests.repositories import commit, git, make_repository, write

BOOK = load_rulebook()
FRAME = "arch/powerpc/kernel/frame.c"
FILL = "arch/powerpc/kernel/frame_fill.c"

FRAME_TEXT = """\
#include <linux/kernel.h>
#include <linux/uaccess.h>

struct frame {
	unsigned long back;
	unsigned long tail;
};

notrace unsigned long frame_tail(unsigned long word);

int put_frame(struct frame __user *frame, unsigned long word)
{
	if (!user_write_access_begin(frame, sizeof(*frame)))
		return -EFAULT;
	unsafe_put_user(word, &frame->back, Efault);
	unsafe_put_user(frame_tail(word), &frame->tail, Efault);
	user_write_access_end();
	return 0;

Efault:
	user_write_access_end();
	return -EFAULT;
}

int get_back(struct frame __user *frame, unsigned long *word)
{
	unsigned long back;

	if (get_user(back, &frame->back))
		return -EFAULT;
	*word = back;
	return 0;
}
"""
FILL_TEXT = """\
#include <linux/kernel.h>

notrace unsigned long frame_tail(unsigned long word)
{
	return word & ~15UL;
}
"""
GET = "	if (get_user(back, &frame->back))\n"
COPY = "	if (copy_from_user(&back, &frame->back, sizeof(back)))\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "linux", {**small_tree(), FRAME: FRAME_TEXT, FILL: FILL_TEXT})


def run(tree: Path, text: str = "HEAD", *, show_all: bool = False) -> Review:
    return review_range(Repository.open(tree), text, ReviewOptions(show_all=show_all), BOOK)


def told(made: Review) -> list[tuple[str, str, str, str, str, int | None, int | None]]:
    return [
        (
            each.rule,
            each.status.value,
            each.place.path,
            each.place.function,
            each.observation.callee or "",
            each.patch,
            each.fixed_by,
        )
        for each in made.findings
    ]


def outcomes(made: Review) -> list[Outcome]:
    return [result.outcome for result in made.patches]


def test_a_dropped_notrace_in_another_file_is_found_at_the_call(tree: Path) -> None:
    edits = {FRAME: FRAME_TEXT.replace("notrace ", ""), FILL: FILL_TEXT.replace("notrace ", "")}
    commit(tree, edits, "Drop notrace")
    made = run(tree)
    assert told(made) == [("traced_call", "introduced", FRAME, "put_frame", "frame_tail", 1, None)]
    (finding,) = made.findings
    assert (
        finding.place.line
        == FRAME_TEXT.split("\n").index("	unsafe_put_user(frame_tail(word), &frame->tail, Efault);") + 1
    )
    assert finding.cost.cycles.low <= finding.cost.cycles.typ <= finding.cost.cycles.high
    assert made.cpu == (finding.cost.cpu,)
    assert outcomes(made) == [Outcome.REVIEWED]
    ((fingerprint, excerpt),) = made.excerpts
    assert fingerprint == finding.fingerprint
    assert any(number == finding.place.line for number, _, _ in excerpt.lines)
    commit(tree, {FRAME: FRAME_TEXT, FILL: FILL_TEXT}, "Bring notrace back")
    assert told(run(tree)) == [("traced_call", "fixed", FRAME, "put_frame", "frame_tail", 1, 1)]
    both = run(tree, "HEAD~2..")
    assert told(both) == [("traced_call", "introduced", FRAME, "put_frame", "frame_tail", 1, 2)]


def test_a_definition_alone_that_loses_notrace_is_found_in_the_file_that_calls_it(tree: Path) -> None:
    commit(
        tree,
        {
            FRAME: FRAME_TEXT.replace(
                "notrace unsigned long frame_tail(unsigned long word);\n",
                "unsigned long frame_tail(unsigned long word);\n",
            )
        },
        "Prototype",
    )
    assert told(run(tree)) == []
    commit(tree, {FILL: FILL_TEXT.replace("notrace ", "")}, "Definition")
    assert told(run(tree)) == [("traced_call", "introduced", FRAME, "put_frame", "frame_tail", 1, None)]


def test_a_small_copy_is_introduced_and_its_excerpt_shows_the_change(tree: Path) -> None:
    commit(tree, {FRAME: FRAME_TEXT.replace(GET, COPY)}, "Copy")
    made = run(tree)
    assert [(each.rule, each.status, each.place.function) for each in made.findings] == [
        ("small_copy", Status.INTRODUCED, "get_back")
    ]
    ((_, excerpt),) = made.excerpts
    assert ("-", GET.rstrip("\n")) in [(sign, text) for _, sign, text in excerpt.lines]
    assert ("+", COPY.rstrip("\n")) in [(sign, text) for _, sign, text in excerpt.lines]


def test_moving_and_renaming_reports_nothing(tree: Path) -> None:
    bad = FRAME_TEXT.replace(GET, COPY)
    commit(tree, {FRAME: bad}, "Copy")
    head, get_back = bad.split("int get_back(")
    get_back = "int get_back(" + get_back
    top = bad.index("int put_frame(")
    edits: dict[str, dict[str, str | bytes | None]] = {
        "moved": {FRAME: head[:top] + get_back + "\n" + head[top:]},
        "a line above": {FRAME: bad.replace("struct frame {", "int before;\n\nstruct frame {")},
        "a variable": {
            FRAME: head
            + get_back.replace("unsigned long back;", "unsigned long tmp;")
            .replace("&back,", "&tmp,")
            .replace("sizeof(back)", "sizeof(tmp)")
            .replace("= back", "= tmp")
        },
        "the file": {FRAME: None, "arch/powerpc/kernel/frame_new.c": bad},
    }
    for what, edit in edits.items():
        git(tree, "checkout", "-q", "--detach", "main")
        commit(tree, edit, what)
        made = run(tree)
        assert (what, told(made)) == (what, [])
        assert {each.finding.rule for each in made.held_back} == {"small_copy"}
        assert [each.rule for each in run(tree, show_all=True).findings] == ["small_copy"]


def test_a_patch_without_user_access_has_nothing_to_review(tree: Path) -> None:
    commit(tree, {"kernel/other.c": "int other(void)\n{\n\treturn 1;\n}\n"}, "Other")
    commit(tree, {"Documentation/x.rst": "x\n"}, "Docs")
    made = run(tree, "HEAD~2..")
    assert outcomes(made) == [Outcome.NOTHING_TO_REVIEW] * 2
    assert [result.reason for result in made.patches] == [
        "it changes no code that accesses user memory",
        "it changes no C source",
    ]
    assert made.findings == made.gaps == ()


def test_staged_changes_are_reviewed_and_not_the_work_tree(tree: Path) -> None:
    write(tree, {FRAME: FRAME_TEXT.replace(GET, COPY)})
    git(tree, "add", "-A")
    write(tree, {FRAME: FRAME_TEXT})
    made = review_staged(Repository.open(tree), ReviewOptions(), BOOK)
    assert [each.rule for each in made.findings] == ["small_copy"]
    git(tree, "reset", "-q")
    write(tree, {FRAME: FRAME_TEXT.replace(GET, COPY)})
    assert review_staged(Repository.open(tree), ReviewOptions(), BOOK).findings == ()


def test_a_push_is_reviewed(tree: Path) -> None:
    before = git(tree, "rev-parse", "HEAD")
    after = commit(tree, {FRAME: FRAME_TEXT.replace(GET, COPY)}, "Copy")
    made = review_push(Repository.open(tree), before, after, ReviewOptions(), BOOK)
    assert [each.rule for each in made.findings] == ["small_copy"]
    assert review_push(Repository.open(tree), after, after, ReviewOptions(), BOOK).patches == ()


def test_the_users_choice_of_rules_counts(tree: Path) -> None:
    commit(tree, {FRAME: FRAME_TEXT.replace(GET, COPY)}, "Copy")
    options = ReviewOptions(rules=frozenset({"traced_call"}))
    assert review_range(Repository.open(tree), "HEAD", options, BOOK).findings == ()


def test_a_review_is_the_same_twice(tree: Path) -> None:
    commit(tree, {FRAME: FRAME_TEXT.replace(GET, COPY).replace("notrace ", "")}, "Both")
    assert run(tree) == run(tree)


def test_mails_on_a_tree_and_without_one(tree: Path) -> None:
    series = choose_series(find_series(read_mailbox(FIXTURES / "series" / "signal64-like.mbox").messages))
    on_tree = review_on_tree(series, Repository.open(tree), ReviewOptions(), BOOK)
    assert on_tree.base.rev == git(tree, "rev-parse", "HEAD")
    assert set(outcomes(on_tree)) <= {Outcome.REVIEWED, Outcome.PARTIAL, Outcome.NOTHING_TO_REVIEW}
    assert {each.rule for each in on_tree.findings} >= {"traced_call", "small_copy", "repeated_pair"}
    assert any(each.fixed_by for each in on_tree.findings)
    alone = review(series, None, ReviewOptions(), BOOK)
    assert alone.base.rev == ""
    assert Outcome.REVIEWED not in outcomes(alone)
    with pytest.raises(InputError, match="--base"):
        review_on_tree(series, Repository.open(tree), ReviewOptions(), BOOK, "nope")


def test_a_patch_that_does_not_apply_is_said_and_the_rest_is_reviewed(tree: Path) -> None:
    series = choose_series(find_series(read_mailbox(FIXTURES / "series" / "does-not-apply.mbox").messages))
    made = review_on_tree(series, Repository.open(tree), ReviewOptions(), BOOK)
    assert Outcome.NOT_APPLIED in outcomes(made)
    broken = next(result for result in made.patches if result.outcome is Outcome.NOT_APPLIED)
    assert "hunk" in broken.reason
