"""The series of fixtures/series: what is read from each mailbox, and what becomes of each patch on the small tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest

from reviewbot.mail.mailbox import read_mailbox
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
