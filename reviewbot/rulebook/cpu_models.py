"""rules/cycles/<cpu>.toml -> CpuModels: what user access costs on one CPU, every figure with its source."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path

from reviewbot.errors import RulebookError
from reviewbot.rulebook.primitives import Guard, KernelVersion
from reviewbot.rulebook.reading import Table, read_table
from reviewbot.values import dataclass


class Event(Enum):
    """What a figure is the price of, in cycles unless said otherwise."""

    SWITCH = "switch"  # one open or close
    PAIR = "pair"  # both, where only their sum is known
    LATER_SHARE = "later_share"  # ratio: what a later pair costs against a lone first one
    FLUSH = "flush"  # the L1D flush at each close
    ACCESS = "access"  # address check, error chain and barrier of one more access
    READ_BARRIER = "read_barrier"  # speculation barrier of one more reading access
    SMALL_COPY = "small_copy"  # a copy of constant small size, above an access in place
    STORE_FORWARD = "store_forward"  # reading back in another width than was stored
    CALL = "call"  # call and return of a small function
    TRACE_IDLE = "trace_idle"  # a traced call with an empty handler, the call included
    TRACE_RECORD = "trace_record"  # a traced call that is recorded
    RETPOLINE = "retpoline"  # an indirect call through a retpoline, above a direct one
    ENTRY_SWITCHES = "entry_switches"  # key registers written at kernel entry and exit


class Origin(Enum):
    """How a figure came about."""

    PUBLISHED = "published"  # it stands in the source
    DERIVED = "derived"  # arithmetic on published figures and counts
    MEASURED = "measured"  # measured for this model
    ESTIMATE = "estimate"  # none of these
    FACT = "fact"  # follows from the kernel's source (a switch that does not exist)


class Trust(Enum):
    """How far a figure can be relied on."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure: low <= typ <= high. `fact` is its id. `mitigation`: it is paid only with mitigations on. `since`
    and `until` are the kernel versions between which it holds."""

    event: Event
    low: float
    typ: float
    high: float
    fact: str
    origin: Origin
    trust: Trust
    source: str
    note: str = ""
    mitigation: bool = False
    since: KernelVersion | None = None
    until: KernelVersion | None = None

    def is_in(self, version: KernelVersion | None) -> bool:
        """Whether the figure holds for kernel `version`; None stands for the newest."""
        if version is None:
            return self.until is None
        return (self.since is None or self.since <= version) and (self.until is None or version < self.until)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CpuModel:
    """One CPU. `arches` are the directories below arch/ whose code it runs, `default_for` those it is the default of
    (`generic` for code outside arch/). `clock_ghz` is None where no clock is known. `noise_percent` is how much of an
    operation code layout alone moves (low, high): a saving below that cannot be measured."""

    name: str
    aliases: tuple[str, ...]
    title: str
    arches: tuple[str, ...]
    default_for: tuple[str, ...]
    guards: Guard
    clock_ghz: float | None
    clock_source: str
    noise_percent: tuple[float, float]
    notes: tuple[str, ...]
    figures: tuple[Figure, ...]

    def figure(self, event: Event, version: KernelVersion | None = None) -> Figure | None:
        """The figure for `event` on kernel `version` (None: the newest), or None where the event does not exist
        here."""
        return next((figure for figure in self.figures if figure.event is event and figure.is_in(version)), None)


def load_cpu_models(root: Path) -> Mapping[str, CpuModel]:
    """name -> model, from `root`/cycles/*.toml, in order of name. Raises RulebookError."""
    models: dict[str, CpuModel] = {}
    owners: dict[str, str] = {}
    for path in sorted((root / "cycles").glob("*.toml")):
        model = _load_model(path, root)
        for label in (model.name, *model.aliases, *(f"default for {arch}" for arch in model.default_for)):
            if label.lower() in owners:
                raise RulebookError(f"cycles/{path.name}: {label!r} already belongs to {owners[label.lower()]}.")
            owners[label.lower()] = path.name
        models[model.name] = model
    return dict(sorted(models.items()))


def _load_model(path: Path, root: Path) -> CpuModel:
    table = read_table(path, root)
    clock = table.number("clock_ghz") if table.has("clock_ghz") else None
    model = CpuModel(
        name=table.text("name"),
        aliases=table.names("aliases", ()),
        title=table.text("title"),
        arches=table.names("arches"),
        default_for=table.names("default_for", ()),
        guards=table.choice("guards", Guard),
        clock_ghz=clock,
        clock_source=table.text("clock_source") if clock is not None else "",
        noise_percent=(table.number("noise_percent_low"), table.number("noise_percent_high")),
        notes=table.names("notes", ()),
        figures=tuple(_read_figure(item) for item in table.tables("figure")),
    )
    table.finish()
    _check(table, model)
    return model


def _check(table: Table, model: CpuModel) -> None:
    if model.clock_ghz is not None and model.clock_ghz <= 0:
        table.refuse("clock_ghz", "must be above 0")
    if not any(figure.event in (Event.SWITCH, Event.PAIR) for figure in model.figures):
        table.refuse("figure", "needs a switch or a pair")
    for index, figure in enumerate(model.figures):
        for other in model.figures[:index]:
            if other.event is figure.event and not _is_before(other, figure):
                table.refuse("figure", f"{figure.event.value!r} stands there twice for one kernel version")


def _is_before(older: Figure, newer: Figure) -> bool:
    return older.until is not None and newer.since is not None and older.until <= newer.since


def _read_figure(item: Table) -> Figure:
    figure = Figure(
        event=item.choice("event", Event),
        low=item.number("low"),
        typ=item.number("typ"),
        high=item.number("high"),
        fact=item.text("fact"),
        origin=item.choice("origin", Origin),
        trust=item.choice("confidence", Trust),
        source=item.text("source"),
        note=item.text("note", ""),
        mitigation=item.flag("mitigation", False),
        since=item.version("since"),
        until=item.version("until"),
    )
    item.finish()
    if not 0 <= figure.low <= figure.typ <= figure.high:
        item.refuse("typ", "must lie between low and high, none below 0")
    return figure
