"""How a report is to look; what it says comes from the Review alone."""

from __future__ import annotations

from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleText:
    """What a report may say about a rule, beside its findings: from the rule's catalogue entry."""

    slug: str
    title: str
    why: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """`width` in columns. `cpu`: the model that costs were asked for ("" for the default). `rules`: the catalogue, for
    formats that carry rule descriptions. `opt_out`: where to write to get no more mail ("" says that a maintainer can).
    `report_url`: where the whole report can be read, "" for nowhere."""

    width: int = 80
    colour: bool = False
    cpu: str = ""
    verbose: bool = False
    rules: tuple[RuleText, ...] = ()
    opt_out: str = ""
    report_url: str = ""
