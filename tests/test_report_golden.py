"""Each format of one hand-made review, compared with the file under fixtures/reports/.

After a wanted change: `REVIEWBOT_REGENERATE=1 pytest tests/test_report_golden.py`, then read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reviewbot import __version__
from reviewbot.report.formats import FORMATS
from reviewbot.report.view import View
from tests import reviews

GOLDEN = Path(__file__).parent.parent / "fixtures" / "reports"


@pytest.mark.parametrize("name", FORMATS)
def test_the_report_is_the_golden_one(name: str) -> None:
    text = FORMATS[name].render(reviews.full_review(), View()).replace(__version__, "VERSION")
    path = GOLDEN / f"full.{name}"
    if os.environ.get("REVIEWBOT_REGENERATE"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_golden_file_belongs_to_a_format() -> None:
    assert {path.suffix[1:] for path in GOLDEN.iterdir()} == set(FORMATS)
