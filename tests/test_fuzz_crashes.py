"""What the fuzzers run, in small: seeds, seeds with damage, and every input that ever broke a reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.__main__ import seeds
from tests.fuzz.readers import READERS

CRASHES = Path(__file__).parent / "fuzz" / "crashes"
SEEDS = {reader: sorted(seeds(reader), key=len)[:12] for reader in READERS}


@pytest.mark.parametrize("file", sorted(CRASHES.glob("*-*")), ids=lambda file: file.name)
def test_what_broke_a_reader_once_does_so_no_more(file: Path) -> None:
    """The name begins with the reader."""
    READERS[file.name.partition("-")[0]](file.read_bytes())


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_damaged_seed_breaks_no_reader(reader: str, data: st.DataObject) -> None:
    """Pieces are taken out, doubled, or replaced by anything: the reader refuses it or reads the rest."""
    seed = data.draw(st.sampled_from(SEEDS[reader]))
    begin = data.draw(st.integers(0, len(seed)))
    end = data.draw(st.integers(begin, len(seed)))
    middle = data.draw(st.sampled_from([b"", seed[begin:end] * 2]) | st.binary(max_size=40))
    READERS[reader](seed[:begin] + middle + seed[end:])
