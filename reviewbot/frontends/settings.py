"""All sections of the settings file, and the layers that they come from: defaults, files, git config, command line."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reviewbot.config import Layer, Setting, check_sections, config_file, read_layer, resolve
from reviewbot.errors import ConfigError
from reviewbot.frontends.exits import FailOn
from reviewbot.git.user import toplevel, user_settings
from reviewbot.mail.limits import DEFAULT_LIMITS, Limits
from reviewbot.rulebook.limits import DEFAULT_CODE_LIMITS, CodeLimits
from reviewbot.values import dataclass

TREE_FILE = ".reviewbot.toml"
WAIVERS = "waivers"
# section -> dataclass; the stage that has the settings owns the dataclass
SECTIONS: dict[str, str] = {
    "review": "reviewbot.frontends.settings:ReviewSection",
    "limits": "reviewbot.frontends.settings:LimitsSection",
    "http": "reviewbot.delivery.settings:HttpSection",
    "archive": "reviewbot.delivery.settings:ArchiveSection",
    "patchwork": "reviewbot.delivery.settings:PatchworkSection",
    "mail": "reviewbot.delivery.settings:MailSection",
    "bot": "reviewbot.delivery.settings:BotSection",
}
# What a file inside a reviewed tree may say: nothing about servers, passwords or other trees.
TREE_SECTIONS = ("review", WAIVERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSection:
    """[review]. `tree` is the kernel tree that series are applied to, `cpu` the model that costs are for, `mitigations`
    and `kernel` what the machine runs. `min_cycles`: cheaper findings are held back."""

    tree: Path | None = None
    cpu: str | None = None
    mitigations: str | None = None
    kernel: str | None = None
    min_cycles: float | None = None
    fail_on: FailOn = FailOn.WARNING

    def __post_init__(self) -> None:
        if self.min_cycles is not None and self.min_cycles < 0:
            raise ValueError("min_cycles must not be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsSection:
    """[limits]. What strangers send and write is read up to these; what is beyond is a gap that names the limit."""

    input: Limits = DEFAULT_LIMITS
    code: CodeLimits = DEFAULT_CODE_LIMITS


def section(name: str, layers: Sequence[Layer]) -> tuple[Any, tuple[Setting, ...]]:
    """The value of one section, and its settings with their origins."""
    module, kind = SECTIONS[name].split(":")
    return resolve(name, getattr(importlib.import_module(module), kind), layers)


def file_layers(config: Path | None) -> list[Layer]:
    """The user's own file (or $REVIEWBOT_CONFIG), then the one named with --config. Raises ConfigError."""
    named = os.environ.get("REVIEWBOT_CONFIG")
    own = Path(named) if named else config_file()
    paths = [own] if named or own.is_file() else []
    layers = [read_layer(path) for path in [*paths, *([config] if config else [])]]
    for layer in layers:
        check_sections(layer, [*SECTIONS, WAIVERS])
    return layers


def limits_in_force() -> LimitsSection:
    """[limits] of the user's own file, for commands that need no other setting. Raises ConfigError."""
    found, _ = section("limits", file_layers(None))
    assert isinstance(found, LimitsSection)
    return found


def tree_layer(directory: Path) -> list[Layer]:
    """The settings file at the top of the developer's own tree, if there is one."""
    path = directory / TREE_FILE
    if not path.is_file() or path.is_symlink():
        return []
    layer = read_layer(path)
    check_sections(layer, TREE_SECTIONS)
    if "tree" in layer.table.get("review", {}):
        raise ConfigError(f"{path}: review.tree cannot be set in a tree; use `git config reviewbot.tree`.")
    return [layer]


def git_layer(directory: Path) -> list[Layer]:
    """`git config reviewbot.tree` and `reviewbot.cpu`, for the developer's own commands."""
    table = user_settings(directory, "reviewbot", ("tree", "cpu"))
    return [Layer(origin="git config", table={"review": table})] if table else []


def command_line(values: Mapping[str, Any]) -> Layer:
    """What was given on the command line; None means not given."""
    table = {name: value for name, value in values.items() if value is not None}
    return Layer(origin="command line", table={"review": table})


def developer_layers(config: Path | None, directory: Path, top: Path | None = None) -> list[Layer]:
    """All layers of a command that a developer runs in their own tree: the files, the tree's own file, git config.
    `top` is the top of the work tree, where that is known."""
    files = file_layers(config)
    own, named = (files[:-1], files[-1:]) if config else (files, [])
    top = top or toplevel(directory)
    return [*own, *(tree_layer(top) if top else []), *named, *(git_layer(directory))]
