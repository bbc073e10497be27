"""rules/catalogue/<slug>.toml -> CatalogueEntry: everything that is said about a rule, and how seriously."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path

from reviewbot.errors import RulebookError
from reviewbot.rulebook.reading import Table, read_table
from reviewbot.values import dataclass

# Fields of an observation that every template may use; what a rule adds beside them is listed in its file as `facts`.
COMMON_PLACEHOLDERS = frozenset(
    {"callee", "function", "path", "line", "bytes", "pairs", "direction", "arch", "condition"}
)


class Weight(Enum):
    """A severity as written in rules/; the same words as in findings."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A commit id, message id or document that shows the mistake to be real."""

    ref: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way in which a rule is broken. `severities` holds what differs from `severity` for a policy (`x86`,
    `powerpc`).

    `message` says what the code does, `suggestion` what to do; both are templates over the observation and its facts.
    `minimum_cycles` overrides the entry's. `is_hint`: shown only on demand.
    """

    name: str
    when: str
    severity: Weight
    severities: Mapping[str, Weight]
    message: str
    suggestion: str
    minimum_cycles: float | None = None
    is_hint: bool = False

    def severity_for(self, policies: Iterable[str]) -> Weight:
        """The highest severity among the policies (or architectures) that the code breaks; without any, the
        default."""
        weights = [self.severities.get(policy, self.severity) for policy in policies]
        return max(weights, key=list(Weight).index, default=self.severity)

    def fill(self, values: Mapping[str, str]) -> tuple[str, str]:
        """Message and suggestion for one observation. Raises RulebookError if a value that they need is missing."""
        try:
            return self.message.format_map(values), self.suggestion.format_map(values)
        except KeyError as missing:
            raise RulebookError(
                f"variant {self.name!r} needs the fact {missing}, which the rule did not give."
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """One rule. `short` is one sentence, `full` a paragraph (both as SARIF wants them); the rest is for `reviewbot
    explain`.

    `facts` are the names that the rule must give with each observation. Below `minimum_cycles` (typical, on the
    chosen CPU; `minimum_cycles_by_arch` where one differs) a finding is not worth a reader's time.
    """

    slug: str
    level: int
    title: str
    short: str
    full: str
    what: str
    why: str
    bad: str
    good: str
    fix: str
    facts: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    variants: Mapping[str, Variant]
    minimum_cycles: float
    minimum_cycles_by_arch: Mapping[str, float]

    def variant(self, name: str) -> Variant:
        """The variant of that name. Raises RulebookError if the catalogue does not know it."""
        if name not in self.variants:
            raise RulebookError(f"catalogue/{self.slug}.toml: variants: there is no {name!r}.")
        return self.variants[name]

    def threshold(self, variant: str, arch: str | None) -> float:
        """The least typical cycles that make this variant worth reporting on `arch` (None: generic code)."""
        own = self.variant(variant).minimum_cycles
        return own if own is not None else self.minimum_cycles_by_arch.get(arch or "generic", self.minimum_cycles)


def load_catalogue(root: Path) -> Mapping[str, CatalogueEntry]:
    """slug -> entry, from `root`/catalogue/*.toml, in order of level and slug. Raises RulebookError."""
    entries = [_load_entry(path, root) for path in (root / "catalogue").glob("*.toml")]
    return {entry.slug: entry for entry in sorted(entries, key=lambda entry: (entry.level, entry.slug))}


def _load_entry(path: Path, root: Path) -> CatalogueEntry:
    table = read_table(path, root)
    facts = table.names("facts")
    entry = CatalogueEntry(
        slug=table.text("slug"),
        level=table.integer("level"),
        facts=facts,
        evidence=tuple(_read_evidence(item) for item in table.tables("evidence")),
        variants={name: _read_variant(item, name, facts) for name, item in table.named_tables("variants")},
        minimum_cycles=table.number("minimum_cycles", 0.0),
        minimum_cycles_by_arch=_read_numbers(table, "minimum_cycles_by_arch"),
        **{key: table.text(key).strip() for key in ("title", "short", "full", "what", "why", "bad", "good", "fix")},
    )
    table.finish()
    _check(table, entry, path.stem)
    return entry


def _check(table: Table, entry: CatalogueEntry, stem: str) -> None:
    if entry.slug != stem:
        table.refuse("slug", f"must be the name of the file, {stem!r}")
    if entry.level not in (1, 2):
        table.refuse("level", "must be 1 or 2")
    if not entry.evidence:
        table.refuse("evidence", "is missing")
    if not entry.variants:
        table.refuse("variants", "is missing")


def _read_evidence(item: Table) -> Evidence:
    evidence = Evidence(ref=item.text("ref"), what=item.text("what"))
    item.finish()
    return evidence


def _read_variant(item: Table, name: str, facts: tuple[str, ...]) -> Variant:
    variant = Variant(
        name=name,
        when=item.text("when"),
        severity=item.choice("severity", Weight),
        severities=_read_weights(item),
        message=_read_template(item, "message", facts),
        suggestion=_read_template(item, "suggestion", facts),
        minimum_cycles=item.number("minimum_cycles") if item.has("minimum_cycles") else None,
        is_hint=item.flag("hint", False),
    )
    item.finish()
    return variant


def _read_weights(item: Table) -> Mapping[str, Weight]:
    if not item.has("severity_by_policy"):
        return {}
    below = item.table("severity_by_policy")
    return {policy: below.choice(policy, Weight) for policy in below.key_names()}


def _read_numbers(table: Table, key: str) -> Mapping[str, float]:
    if not table.has(key):
        return {}
    below = table.table(key)
    return {name: below.number(name) for name in below.key_names()}


def _read_template(item: Table, key: str, facts: tuple[str, ...]) -> str:
    """A template whose placeholders are all known."""
    from string import Formatter  # a clean commit reads no catalogue

    template = " ".join(item.text(key).split())
    try:
        named = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
    except ValueError as error:
        item.refuse(key, f"is no template: {error}")
    for name in sorted(named - COMMON_PLACEHOLDERS - set(facts)):
        item.refuse(key, f"{{{name}}} is neither a common placeholder nor among the facts")
    return template
