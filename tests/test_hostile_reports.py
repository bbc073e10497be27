"""What is endless in the input (a name, a path, a subject, a line of source) is short in every report."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from reviewbot.findings.finding import Finding, Gap, HeldBack, Link
from reviewbot.findings.review import Review
from reviewbot.mail.mailbox import read_mail_bytes
from reviewbot.pipeline import ReviewOptions, review
from reviewbot.report.block_graph import to_dot, to_svg
from reviewbot.report.escape import MAX_LINE, MAX_WORD, shortened, visible
from reviewbot.report.excerpt import byte_column
from reviewbot.report.formats import FORMATS
from reviewbot.report.view import View
from reviewbot.rulebook.book import load_rulebook
from reviewbot.series.from_mail import choose_series, find_series
from tests.expectations import small_tree
from tests.trees import MemoryTree

NAME = "n" * 100_000
WORDS = "word " * 20_000
MOST_BYTES = 120_000  # of a report with half a dozen endless texts; the name alone is as long
PATCH = """\
From: Jane Roe <jane@example.org>
Subject: [PATCH] {subject}
Message-ID: <1@example.org>

It is better so.
---
diff --git a/{path} b/{path}
new file mode 100644
--- /dev/null
+++ b/{path}
@@ -0,0 +1,14 @@
+#include <linux/kernel.h>
+#include <linux/uaccess.h>
+
+int {function}(int __user *p, int x)
+{{
+	if (!user_write_access_begin(p, 4))
+		return -EFAULT;
+	{called}(x); /* {comment} */
+	unsafe_put_user(x, p, Efault);
+Efault:
+	user_write_access_end();
+	return 0;
+}}
+
"""
SHORT = {"subject": "Add it", "path": "fs/added.c", "function": "add_it", "called": "printk", "comment": "now"}
ENDLESS = {
    "subject of one word": {"subject": NAME},
    "subject of many words": {"subject": WORDS},
    "path": {"path": f"fs/{'d/' * 1900}added.c"},
    "function": {"function": NAME},
    "function that is called": {"called": NAME},
    "line": {"comment": NAME},
    "line of many words": {"comment": WORDS},
}


@cache
def reviewed(kind: str) -> Review:
    raw = PATCH.format(**SHORT | ENDLESS[kind]).encode()
    series = choose_series(find_series(read_mail_bytes(raw, "endless.mbox").messages))
    made = review(series, MemoryTree(small_tree()), ReviewOptions(with_edits=True, with_graphs=True), load_rulebook())
    assert made.findings or made.gaps
    return made


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("name", FORMATS)
def test_nothing_endless_gets_into_a_report(name: str, kind: str) -> None:
    """Every format stays small and shows no more of a word than MAX_WORD."""
    text = FORMATS[name].render(reviewed(kind), View(verbose=True))
    assert len(text) < MOST_BYTES
    assert "n" * (MAX_WORD + 1) not in text
    assert all(len(line) <= 3 * MAX_LINE for line in text.split("\n") if "<svg" not in line)


@pytest.mark.parametrize("kind", ENDLESS)
def test_pictures_stay_small(kind: str) -> None:
    """A block's picture and its text for Graphviz are bounded in the same way."""
    graphs = reviewed(kind).graphs
    assert all(len(draw(graphs)) < MOST_BYTES for draw in (to_svg, to_dot))


def test_what_is_held_back_or_not_reviewed_is_cut_as_well() -> None:
    """The texts that only some reviews have: chains, gaps, notes, reasons."""
    made = reviewed("function")
    finding = made.findings[0] if made.findings else None
    assert isinstance(finding, Finding)
    link = Link(place=replace(finding.place, path=NAME), what="calls", name=NAME)
    long = replace(finding, observation=replace(finding.observation, chain=(link,), condition=NAME), message=WORDS)
    gap = Gap(path=NAME, line=1, function=NAME, reason=WORDS)
    held = HeldBack(finding=long, reason=NAME)
    made = replace(made, findings=(long,), gaps=(gap,), held_back=(held,), notes=(NAME,))
    for name, form in FORMATS.items():
        text = form.render(made, View(verbose=True))
        assert len(text) < MOST_BYTES and "n" * (MAX_WORD + 1) not in text, name


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a" * MAX_WORD, "a" * MAX_WORD, id="as long as may be"),
        pytest.param("a" * (MAX_WORD + 1), "a" * (MAX_WORD - 1) + "…", id="a letter more"),
        pytest.param("x " + "a" * 9999 + " y", "x " + "a" * (MAX_WORD - 1) + "… y", id="the rest is kept"),
        pytest.param("a " * MAX_LINE, ("a " * MAX_LINE)[: MAX_LINE - 1] + "…", id="a long line"),
    ],
)
def test_what_is_cut_ends_in_an_ellipsis(text: str, shown: str) -> None:
    """What may be as long as it is stays whole."""
    assert visible(text) == shortened(text) == shown


def test_a_text_of_several_lines_is_cut_line_by_line() -> None:
    """No line takes room from another; written out characters count as they are shown."""
    text = "\n".join(["a " * MAX_LINE, "\0" * MAX_LINE, "short"])
    first, second, third = visible(text, keep="\n").split("\n")
    assert len(first) == MAX_LINE and len(second) == MAX_WORD and third == "short"


def test_a_column_behind_the_cut_of_its_line_is_not_made_up() -> None:
    """The excerpt does not reach as far as the finding, so its byte column is not known."""
    made = reviewed("line")
    far = replace(made.findings[0].observation.place, column=5_000)
    finding = replace(made.findings[0], observation=replace(made.findings[0].observation, place=far))
    assert byte_column(made, finding) is None
