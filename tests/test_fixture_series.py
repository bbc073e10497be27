"""The series of fixtures/series: what is read from each mailbox, and what becomes of each patch on the small tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest

from reviewbot.findings.finding import Finding
from reviewbot.findings.review import Review
from reviewbot.mail.mailbox import read_mailbox
from reviewbot.pipeline import ReviewOptions, review
from reviewbot.rulebook.book import load_rulebook
from reviewbot.series.choose import choose_series
from reviewbot.series.from_mail import find_series
from reviewbot.series.patch import Series
from reviewbot.source.states import PatchState, build_states
from tests.expectations import FIXTURES, small_tree
from tests.trees import MemoryTree


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What a mailbox holds. `broken` are the patches that do not apply, with the file that they do not apply to."""

    name: str
    subject: str
    version: int
    subjects: tuple[str, ...]
    message_ids: tuple[str, ...]
    changed: tuple[str, ...]
    broken: tuple[tuple[int, str], ...] = ()


STORIES = (
    Story(
        name="signal64-like",
        subject="powerpc/frame64: open user access once per frame",
        version=1,
        subjects=(
            "powerpc/frame64: write the context in one block",
            "powerpc/frame64: save the registers before access is opened",
            "powerpc/frame64: read the context in one block",
            "powerpc/frame64: describe a frame to a debugger",
            "powerpc/frame64: read the signal mask as the word it is",
        ),
        message_ids=tuple(f"20260105-frame64-v1-{index}@example.org" for index in range(1, 6)),
        changed=("arch/powerpc/kernel/signal_64.c",) * 5,
    ),
    Story(
        name="two-versions",
        subject="demo/ring: progress and flags",
        version=2,
        subjects=("demo/ring: report progress", "demo/ring: let user space set flags"),
        message_ids=("20260109-ring-v2-1@example.org", "20260109-ring-v2-2@example.org"),
        changed=("drivers/demo/ring.c",) * 2,
    ),
    Story(
        name="does-not-apply",
        subject="kernel/ticket: write the owner",
        version=1,
        subjects=(
            "kernel/ticket: write the owner",
            "kernel/ticket: write the owner with the rest",
            "demo/ring: kick when reported",
        ),
        message_ids=tuple(f"20260112-owner-v1-{index}@example.org" for index in range(1, 4)),
        changed=("kernel/ticket.c", "", "drivers/demo/ring.c"),
        broken=((2, "kernel/ticket.c"),),
    ),
    Story(
        name="nothing-to-review",
        subject="Words about tickets",
        version=1,
        subjects=("Documentation: say what becomes of expired tickets", "MAINTAINERS: name the list"),
        message_ids=("20260114-docs-v1-1@example.org", "20260114-docs-v1-2@example.org"),
        changed=("Documentation/tickets.rst", "MAINTAINERS"),
    ),
)

each_story = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)


@cache
def _series(name: str) -> Series:
    return choose_series(find_series(read_mailbox(FIXTURES / "series" / f"{name}.mbox").messages))


@cache
def _states(name: str) -> tuple[PatchState, ...]:
    return build_states(_series(name), MemoryTree(small_tree(), label="the small tree"))


@each_story
def test_reads_the_newest_version_in_order(story: Story) -> None:
    """Subject, version, patches and their message ids, however the mails arrived."""
    series = _series(story.name)
    assert (series.subject, series.version, series.total) == (story.subject, story.version, len(story.subjects))
    assert tuple(patch.subject for patch in series.patches) == story.subjects
    assert tuple(patch.message_id for patch in series.patches) == story.message_ids
    assert tuple(patch.index for patch in series.patches) == tuple(range(1, len(story.subjects) + 1))
    assert series.missing == ()


def test_reply_with_a_diff_and_a_robot_are_no_patches() -> None:
    """Both answered the older version; neither its diff nor the older version is reviewed."""
    ids = {patch.message_id for patch in _series("two-versions").patches}
    assert not ids & {"bert-1@example.org", "bert-2@example.org", "bot-1@example.org"}
    assert all("-v2-" in message_id for message_id in ids)


def test_says_that_the_older_version_was_left_out() -> None:
    """What was in the mailbox and was not reviewed is named."""
    assert any("v1" in note or "version 1" in note for note in _series("two-versions").notes)


@each_story
def test_applies_to_the_small_tree(story: Story) -> None:
    """Every patch changes its file, but for the one made for another tree; what follows that one is applied as well."""
    states = _states(story.name)
    assert tuple((state.patch.index, failure.path) for state in states for failure in state.failures) == story.broken
    assert tuple("".join(state.changed) for state in states) == story.changed


def test_patch_that_does_not_apply_leaves_its_file_as_it_was() -> None:
    """The reason names the file and the tree."""
    state = _states("does-not-apply")[1]
    assert state.before.read("kernel/ticket.c") == state.after.read("kernel/ticket.c")
    assert "kernel/ticket.c" in state.why_not_applied


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One finding, as a report says it. `line` is where it was last seen; `patch` is the one that introduced it, or
    fixed what was there before."""

    status: str
    patch: int
    rule: str
    path: str
    line: int
    function: str
    callee: str | None = None
    fixed_by: int | None = None


FRAME = "arch/powerpc/kernel/signal_64.c"
RING = "drivers/demo/ring.c"

FINDINGS = {
    "signal64-like": (
        Row(
            status="fixed",
            patch=1,
            rule="repeated_pair",
            path=FRAME,
            line=31,
            function="save_context",
            callee="__put_user",
            fixed_by=1,
        ),
        Row(
            status="fixed",
            patch=3,
            rule="repeated_pair",
            path=FRAME,
            line=57,
            function="restore_context",
            callee="__get_user",
            fixed_by=3,
        ),
        Row(
            status="fixed",
            patch=5,
            rule="small_copy",
            path=FRAME,
            line=88,
            function="resume_frame64",
            callee="__copy_from_user",
            fixed_by=5,
        ),
        Row(
            status="introduced",
            patch=1,
            rule="traced_call",
            path=FRAME,
            line=31,
            function="save_context",
            callee="flush_wide_regs",
            fixed_by=2,
        ),
        Row(
            status="introduced",
            patch=1,
            rule="traced_call",
            path=FRAME,
            line=33,
            function="save_context",
            callee="frame_space",
        ),
        Row(
            status="introduced",
            patch=4,
            rule="small_copy",
            path=FRAME,
            line=107,
            function="describe_frame64",
            callee="copy_from_user",
        ),
        Row(
            status="introduced",
            patch=4,
            rule="repeated_pair",
            path=FRAME,
            line=109,
            function="describe_frame64",
            callee="put_user",
        ),
    ),
    "two-versions": (
        Row(
            status="introduced",
            patch=2,
            rule="small_copy",
            path=RING,
            line=53,
            function="ring_set_flags",
            callee="copy_from_user",
        ),
    ),
    "does-not-apply": (
        Row(
            status="introduced",
            patch=3,
            rule="traced_call",
            path=RING,
            line=22,
            function="ring_report",
            callee="ring_kick",
        ),
    ),
    "nothing-to-review": (),
}

OUTCOMES = {
    "signal64-like": ("reviewed",) * 5,
    "two-versions": ("reviewed",) * 2,
    "does-not-apply": ("reviewed", "not_applied", "reviewed"),
    "nothing-to-review": ("nothing_to_review",) * 2,
}


@cache
def _review(name: str) -> Review:
    tree = MemoryTree(small_tree(), label="the small tree")
    return review(_series(name), tree, ReviewOptions(), load_rulebook())


def _row(finding: Finding) -> Row:
    return Row(
        status=finding.status.value,
        patch=finding.patch or 0,
        rule=finding.rule,
        path=finding.place.path,
        line=finding.place.line,
        function=finding.place.function,
        callee=finding.observation.callee,
        fixed_by=finding.fixed_by,
    )


@pytest.mark.parametrize("name", FINDINGS)
def test_says_what_the_series_brings_and_takes_away(name: str) -> None:
    """Rule, place, function, callee, the patch that did it and the one that mends it; nothing more."""
    said = [_row(finding) for finding in _review(name).findings]
    assert sorted(said, key=repr) == sorted(FINDINGS[name], key=repr)


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_patch_has_its_outcome(name: str) -> None:
    """A patch that does not apply, or that has nothing to look at, is not called reviewed."""
    assert tuple(result.outcome.value for result in _review(name).patches) == OUTCOMES[name]


@pytest.mark.parametrize("name", FINDINGS)
def test_every_finding_has_a_cost_and_nothing_is_left_unread(name: str) -> None:
    """The small tree holds all that the series need."""
    review_of_series = _review(name)
    assert all(0 <= finding.cost.cycles.low <= finding.cost.cycles.high for finding in review_of_series.findings)
    assert review_of_series.gaps == ()
