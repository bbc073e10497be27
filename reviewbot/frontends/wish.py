"""What the command line asks of any review, without the parser of the command line, which takes longer to import than
the commit hook has time for."""

from __future__ import annotations

from pathlib import Path

from reviewbot.frontends.exits import FailOn
from reviewbot.values import dataclass

# formats that carry suggested changes
_WITH_EDITS = ("json", "sarif", "rdjson")
# the same for a whole tree, where trying out every edit takes as long as finding what it mends
_WITH_EDITS_OF_TREE = ("sarif", "rdjson")
# formats that show what runs inside blocks
_WITH_GRAPHS = ("html",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The options of `frontends/options.py` by their names, and what counts when they are not given. None means that it
    was not said."""

    format: str = "terminal"
    output: Path | None = None
    no_cache: bool = False
    cpu: str | None = None
    everything: bool = False
    fail_on: FailOn | None = None
    mitigations: str | None = None
    kernel: str | None = None
    min_cycles: float | None = None
    base_rate: str | None = None
    colour: bool | None = None
    quiet: bool = False
    verbose: bool = False
    baseline: Path | None = None
    write_baseline: Path | None = None
    fix_patch: Path | None = None
    graph: Path | None = None
    config: Path | None = None
    rules: Path | None = None

    @property
    def wants_edits(self) -> bool:
        return self.fix_patch is not None or self.format in _WITH_EDITS

    @property
    def wants_edits_of_tree(self) -> bool:
        return self.fix_patch is not None or self.format in _WITH_EDITS_OF_TREE

    @property
    def wants_graphs(self) -> bool:
        return self.graph is not None or self.format in _WITH_GRAPHS
