"""What a cost depends on beside the code: the CPU, the kernel version, the mitigations, the clock."""

from __future__ import annotations

from dataclasses import field

from reviewbot.errors import UsageError
from reviewbot.rulebook.book import Rulebook
from reviewbot.rulebook.cpu_models import CpuModel
from reviewbot.rulebook.primitives import KernelVersion
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """`mitigations`: on, off, or None for unknown (then a figure that depends on them may also be 0). `kernel` is
    None for the newest version. `clock_ghz` overrides the model's. `tracing`: the function tracer is running."""

    mitigations: bool | None = None
    kernel: KernelVersion | None = None
    clock_ghz: float | None = None
    tracing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuChoice:
    """The CPU that the user named (None: the default of the code's architecture) and the environment."""

    model: CpuModel | None = None
    environment: Environment = field(default_factory=Environment)


def find_cpu(book: Rulebook, name: str) -> CpuModel:
    """The model called `name` or with that alias, in any case. Raises UsageError that lists the names."""
    wanted = name.strip().lower()
    for model in book.cpu_models.values():
        if wanted in (model.name.lower(), *(alias.lower() for alias in model.aliases)):
            return model
    raise UsageError(f"There is no CPU model {name!r}; there are {', '.join(book.cpu_models)}.")


def default_cpu(book: Rulebook, arch: str | None) -> CpuModel:
    """The default model for code of `arch` (a directory below arch/; None: generic code)."""
    wanted = arch or "generic"
    models = book.cpu_models.values()
    found = next((model for model in models if wanted in model.default_for), None)
    return found or next(model for model in models if not model.arches)


def list_models(book: Rulebook) -> tuple[CpuModel, ...]:
    """Every model, in order of name."""
    return tuple(book.cpu_models.values())


def choose_cpu(book: Rulebook, choice: CpuChoice, arches: tuple[str, ...]) -> tuple[CpuModel, str]:
    """The model for code that runs on `arches` (empty: generic code), and a note if it is not the one the user
    named."""
    arch = arches[0] if arches else None
    named = choice.model
    if named is None:
        return default_cpu(book, arch), ""
    if not arches or not named.arches or set(arches) & set(named.arches):
        return named, ""
    return default_cpu(book, arch), f"{named.name} does not run this code."
