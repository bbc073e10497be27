"""Benchmark figures that nobody measured: read in linear time, and none of them is too large to be a number."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from reviewbot.cost.evidence import find_evidence
from reviewbot.frontends.cli import cli
from reviewbot.mail.page import read_page
from reviewbot.rulebook.book import load_rulebook

DIGITS = "9" * 5000
LONG: dict[str, Callable[[int], str]] = {
    "figures on one line": lambda n: "2.5 s, " * n,
    "changes on one line": lambda n: "from 2.5 s to " * n,
    "cells of one row": lambda n: "| 1 " * n + "|\n" + "| 2 " * n + "|",
    "blanks before a figure": lambda n: " " * n + "1.5 seconds time elapsed",
    "groups of digits": lambda n: "1,000" * n + " s",
    "rows of one figure": lambda n: "1.5\n" * n,
}
HUGE = {
    "a change": f"from {DIGITS} s to {DIGITS} s",
    "a figure": f"it takes {DIGITS} s",
    "a time": f"real {DIGITS}m1.5s\nuser {DIGITS}m1.5s\nsys {DIGITS}m1.5s",
    "a time of many digits": f"real {DIGITS}.5\nuser 1.5\nsys 1.5",
    "a counter": f"  {DIGITS}  cycles",
    "a time elapsed": f"  {DIGITS}.5 seconds time elapsed",
    "a clock": f"it ran at {DIGITS} GHz, from 2.5 s to 1.5 s",
    "a profile": f"  {DIGITS}.5%  hash  [k] copy_page",
    "rows": f"{DIGITS}\n{DIGITS}\n{DIGITS}",
    "a table": f"| kernel | hash |\n| old | {DIGITS} |\n| new | {DIGITS} |",
}


@pytest.mark.parametrize("kind", LONG)
def test_figures_are_read_in_linear_time(kind: str) -> None:
    """A text of some megabytes is read in seconds, whatever its lines hold."""
    page = read_page("x", "page")
    message = type(page)(**{name: getattr(page, name) for name in page.__slots__} | {"body": LONG[kind](100_000)})
    began = time.process_time()
    find_evidence([message], load_rulebook())
    assert time.process_time() - began < 8


@pytest.mark.parametrize("kind", HUGE)
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_number_of_endless_digits_is_no_figure(
    form: str, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """It is neither infinite nor a reason to end."""
    page = tmp_path_factory.mktemp("evidence") / "page.html"
    page.write_text(f"Some words\n\n{HUGE[kind]}\n")
    done = CliRunner().invoke(cli, ["evidence", str(page), "--pairs", "44:11", "--cpu", "power9", "--format", form])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    found = find_evidence([read_page(page.read_text(), "page")], load_rulebook())
    assert all(math.isfinite(reading.value) for each in found for reading in each.readings)
    assert all(each.clock_ghz is None or math.isfinite(each.clock_ghz) for each in found)


@pytest.mark.parametrize(
    "date", ["Mon, 99 Foo 2026 99:99:99 +9999", "31 Feb 2026 25:61 +0000", "01 Jan 2026 00:00 -9999"]
)
def test_a_date_that_does_not_exist_is_none(date: str) -> None:
    """A page says when its mail was written, or not."""
    assert read_page(f"x Date: {date} y", "page").date is None


def test_the_limits_of_the_settings_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cut off is said, and the exit code tells."""
    mail = "From: J <j@example.org>\nSubject: x\nMessage-ID: <1@example.org>\n\nfrom 2.5 s to 1.5 s\n" + "words\n" * 500
    (tmp_path / "mail").write_text(mail)
    (tmp_path / "config.toml").write_text("[limits.input]\nmessage_bytes = 1000\n")
    monkeypatch.setenv("REVIEWBOT_CONFIG", str(tmp_path / "config.toml"))
    done = CliRunner().invoke(cli, ["evidence", str(tmp_path / "mail")], standalone_mode=False)
    assert done.return_value == 3
    assert "limits.input.message_bytes" in done.output
