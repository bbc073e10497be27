"""Replies that a reviewer could have written: quoted, short, 78 columns, and never a patch."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from reviewbot.findings.finding import Status
from reviewbot.report import mail
from reviewbot.report.view import View
from tests import reviews


def test_only_patches_that_leave_a_new_finding_get_a_reply() -> None:
    assert [reply.patch for reply in mail.replies(reviews.full_review(), View())] == [2]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"status": Status.FIXED}, id="fixed"),
        pytest.param({"status": Status.EXISTING}, id="old-code"),
        pytest.param({"fixed_by": 3}, id="mended-later"),
    ],
)
def test_nobody_is_asked_about(change: dict[str, object]) -> None:
    review = replace(reviews.empty_review(), findings=(reviews.finding(**change),))
    assert mail.replies(review, View()) == ()


def test_the_remark_stands_under_the_line_in_question() -> None:
    (reply,) = mail.replies(reviews.full_review(), View())
    assert "> +\tflush_it(current);\n\nflush_it() is called while" in reply.body
    assert reply.in_reply_to == "2@example.org"


@pytest.mark.parametrize("kind", ["full", "hostile", "empty"])
def test_a_mail_is_never_taken_for_a_patch(kind: str) -> None:
    review = getattr(reviews, f"{kind}_review")()
    for reply in (*mail.replies(review, View()), mail.summary(review, View())):
        assert reply.subject.startswith("Re: ")
        assert "\n" not in reply.subject
        assert not re.search(r"^(diff |Index: |--- |\+\+\+ |@@ )", reply.body, re.MULTILINE)


def test_lines_fit_unless_they_are_quoted() -> None:
    review = reviews.full_review()
    for reply in (*mail.replies(review, View()), mail.summary(review, View())):
        assert [line for line in reply.body.splitlines() if len(line) > 78 and not line.startswith("> ")] == []


def test_a_mail_says_who_it_is_from_and_how_to_stop_it() -> None:
    (reply,) = mail.replies(reviews.full_review(), View(opt_out="robot-stop@example.org"))
    head, _, signature = reply.body.partition("\n-- \n")
    assert "robot" in head.splitlines()[2]
    assert "robot-stop@example.org" in signature


def test_the_summary_names_every_patch_and_every_finding() -> None:
    body = mail.summary(reviews.full_review(), View()).body
    assert all(f"  {at}/4 " in body for at in range(1, 5))
    assert all(f"frame.c:{line}: " in body for line in (14, 31, 52, 70, 80))
