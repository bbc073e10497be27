"""What the rules found in some files of a tree."""

from __future__ import annotations

from reviewbot.findings.finding import Gap, Observation
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """Sorted by place. `blocks_seen` counts the openers, and the functions that run in the block of a caller nobody
    found."""

    observations: tuple[Observation, ...]
    gaps: tuple[Gap, ...]
    blocks_seen: int
