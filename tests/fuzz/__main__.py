"""Fuzz one reader with atheris (`pip install atheris`, which is not among the test dependencies):

    python -m tests.fuzz mail|diff|c CORPUS [options of libFuzzer, such as -max_total_time=3600]

The corpus is seeded from fixtures/. A crash is a file that belongs into tests/fuzz/crashes/READER-WHAT; from then on
tests/test_fuzz_crashes.py reads it in every run.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "fixtures"


def seeds(reader: str) -> Iterator[bytes]:
    """Small inputs of our own for one reader."""
    series = [file.read_bytes() for file in sorted((FIXTURES / "series").glob("*.mbox"))]
    if reader == "mail":
        yield from series
    elif reader == "diff":
        for mbox in series:
            yield from (b"diff --git " + piece for piece in mbox.split(b"\ndiff --git ")[1:])
    else:
        yield from (file.read_bytes() for file in sorted((FIXTURES / "rules").rglob("*.c")))


def main() -> None:
    if len(sys.argv) < 3 or sys.argv[1] not in ("mail", "diff", "c"):
        sys.exit(__doc__)
    import atheris

    _, reader, corpus, *options = sys.argv
    folder = Path(corpus)
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds(reader):
        (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
    with atheris.instrument_imports(include=["reviewbot"]):
        from tests.fuzz.readers import READERS
    atheris.Setup([sys.argv[0], str(folder), *options], READERS[reader])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
