"""Messages -> the benchmark figures that people posted in them, each with who, when, where and on what machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from reviewbot.cost.posted_figures import find_posted
from reviewbot.cost.readings import Form, Posted, Reading
from reviewbot.mail.message import Address, Message
from reviewbot.patterns import regex
from reviewbot.rulebook.book import Rulebook
from reviewbot.rulebook.cpu_models import CpuModel
from reviewbot.values import dataclass

_CONFIG = regex(r"\bCONFIG_[A-Z0-9_]+(?:=\w+)?|\b[a-z0-9_]+_defconfig\b")
_CLOCK = regex(r"\b(\d{1,15}(?:\.\d{1,15})?) ?([GM])Hz\b", re.IGNORECASE)
_COMMAND = regex(
    r"^\s*(?:[#$] ?|~# ?)?((?:\./|dd |perf |chrt |time |taskset )\S.*|\w+_(?:threads|processes)(?: -\w+)+)\s*$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One table, change or line of figures. `line` is 1-based within the message's body, `quote` the text there.

    `cpus` are the names of the CPU models that the message speaks of, `clock_ghz` the clock if it states one or
    gives one thing in ns and in cycles, `settings` the configuration words, `benchmark` the nearest command line above
    ("" if there is none)."""

    form: Form
    author: Address
    date: datetime | None
    message_id: str
    subject: str
    line: int
    quote: str
    readings: tuple[Reading, ...]
    cpus: tuple[str, ...] = ()
    clock_ghz: float | None = None
    settings: tuple[str, ...] = ()
    benchmark: str = ""


def find_evidence(messages: Iterable[Message], book: Rulebook) -> tuple[Evidence, ...]:
    """Every posted figure, in the order of the messages and of their lines; quoted lines and diffs are left out."""
    return tuple(item for message in messages for item in _find_in(message, book))


def _find_in(message: Message, book: Rulebook) -> list[Evidence]:
    lines = own_lines(message.body)
    posted = find_posted(lines)
    if not posted:
        return []
    text = "\n".join(lines)
    cpus = tuple(model.name for model in book.cpu_models.values() if _is_named(model, text))
    settings = tuple(dict.fromkeys(_CONFIG.findall(text)))
    return [_to_evidence(message, item, lines, cpus, settings, _clock_in(text)) for item in posted]


def _to_evidence(
    message: Message,
    item: Posted,
    lines: list[str],
    cpus: tuple[str, ...],
    settings: tuple[str, ...],
    clock_ghz: float | None,
) -> Evidence:
    return Evidence(
        form=item.form,
        author=message.author,
        date=message.date,
        message_id=message.message_id,
        subject=message.subject,
        line=item.line,
        quote=item.quote,
        readings=item.readings,
        cpus=cpus,
        clock_ghz=clock_ghz or _clock_from(item.readings),
        settings=settings,
        benchmark=_command_above(lines, item.line),
    )


def own_lines(body: str) -> list[str]:
    """The lines of a body with everything that its author did not write as prose blanked: quotes, diffs, the
    signature."""
    kept = []
    is_over = False
    for line in body.split("\n"):
        is_over = is_over or line.startswith("diff --git ") or line.rstrip("\r") == "-- "
        kept.append("" if is_over or line.lstrip().startswith(">") else line.expandtabs().rstrip())
    return kept


def _is_named(model: CpuModel, text: str) -> bool:
    """Whether the text speaks of this CPU. Names that are an architecture's as well say nothing about the CPU."""
    labels = [label for label in (model.name, *model.aliases) if model.arches and label not in model.arches]
    telling = [label for label in labels if re.search(r"\d", label) or len(label) >= 6]
    return any(re.search(rf"(?<![\w-]){re.escape(label)}(?![\w-])", text, re.IGNORECASE) for label in telling)


def _clock_in(text: str) -> float | None:
    """The one clock that the text states, or None if it states none or several."""
    clocks = {float(number) / (1.0 if unit in "gG" else 1000.0) for number, unit in _CLOCK.findall(text)}
    return clocks.pop() if len(clocks) == 1 else None


def _clock_from(readings: tuple[Reading, ...]) -> float | None:
    """The clock of a line that gives one thing in ns and in cycles."""
    values = {reading.unit: reading.value for reading in readings}
    if len(readings) != 2 or set(values) != {"ns", "cycles"} or not values["ns"]:
        return None
    return values["cycles"] / values["ns"]


def _command_above(lines: list[str], line: int) -> str:
    """The nearest command line within 12 lines above `line`."""
    for text in reversed(lines[max(0, line - 13) : line - 1]):
        match = _COMMAND.match(text)
        if match is not None:
            return match[1].strip()
    return ""
