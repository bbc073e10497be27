"""The CPU and the configuration that the user chooses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from reviewbot.errors import UsageError
from reviewbot.frontends import settings

if TYPE_CHECKING:
    from reviewbot.cost.environment import CpuChoice
    from reviewbot.graph.configuration import Configuration
    from reviewbot.rulebook.book import Rulebook
    from reviewbot.rulebook.primitives import KernelVersion

_SWITCHED = {"on": True, "off": False}
_OPTION = re.compile(r"[A-Za-z_]\w*")


def to_cpu_choice(section: settings.ReviewSection, book: Rulebook) -> CpuChoice:
    """The CPU, mitigations and kernel version of [review]. Raises UsageError for one that does not exist."""
    from reviewbot.cost.environment import CpuChoice, Environment, find_cpu

    if section.mitigations not in (None, *_SWITCHED):
        raise UsageError(f"mitigations can be on or off, not {section.mitigations!r}.")
    mitigations = None if section.mitigations is None else _SWITCHED[section.mitigations]
    if section.cpu:  # else the models need not be read
        names = [name for model in book.cpu_models.values() for name in (model.name, *model.aliases)]
        if section.cpu.lower() not in map(str.lower, names):
            from reviewbot.frontends.options import unknown

            raise unknown("CPU model", section.cpu, names)
    return CpuChoice(
        model=find_cpu(book, section.cpu) if section.cpu else None,
        environment=Environment(mitigations=mitigations, kernel=to_version(section.kernel)),
    )


def cpu_of_options(book: Rulebook, cpu: str | None, mitigations: str | None, kernel: str | None) -> CpuChoice:
    """As `to_cpu_choice`, from the options of a command on top of the user's settings."""
    given = settings.command_line({"cpu": cpu, "mitigations": mitigations, "kernel": kernel})
    section, _ = settings.section("review", [*settings.file_layers(None), given])
    return to_cpu_choice(section, book)


def to_version(text: str | None) -> KernelVersion | None:
    """`6.1`, `v6.1-rc2`. Raises UsageError."""
    from reviewbot.rulebook.primitives import KernelVersion

    if text is None:
        return None
    major, _, minor = text.removeprefix("v").partition(".")
    minor = minor.partition(".")[0].partition("-")[0]
    if not (major.isdecimal() and minor.isdecimal()):
        raise UsageError(f"{text!r} is not a kernel version such as 6.1.")
    return KernelVersion(major=int(major), minor=int(minor))


def to_configuration(defined: Iterable[str], undefined: Iterable[str]) -> Configuration:
    """Raises UsageError for what is no name of an option, or both on and off."""
    from reviewbot.graph.configuration import Configuration

    on, off = frozenset(defined), frozenset(undefined)
    for name in sorted(on | off):
        if not _OPTION.fullmatch(name):
            raise UsageError(f"{name!r} is no name of an option such as CONFIG_VSX.")
    for name in sorted(on & off):
        raise UsageError(f"{name} cannot be both defined and undefined.")
    return Configuration(defined=on, undefined=off)
