"""The Rulebook: everything in rules/, checked as a whole, with the questions that the later stages ask of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from reviewbot.errors import RulebookError
from reviewbot.rulebook.catalogue import CatalogueEntry, load_catalogue
from reviewbot.rulebook.cpu_models import CpuModel, load_cpu_models
from reviewbot.rulebook.limits import DEFAULT_CODE_LIMITS, CodeLimits
from reviewbot.rulebook.parsed import use_kept
from reviewbot.rulebook.policy import Policy, Words
from reviewbot.rulebook.policy_files import ANY_ARCH, load_policies, load_words
from reviewbot.rulebook.primitive_files import GENERIC, ArchPrimitives, load_primitives
from reviewbot.rulebook.primitives import Architecture, Direction, KernelVersion, Primitive
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rulebook:
    """All data of rules/. `version` is a hash over every byte of it, for caches. `limits` come from the settings."""

    directory: Path
    version: str
    architectures: Mapping[str, ArchPrimitives]
    policies: tuple[Policy, ...]
    words: Words
    primitive_names: frozenset[str]
    limits: CodeLimits = DEFAULT_CODE_LIMITS

    @property
    def catalogue(self) -> Mapping[str, CatalogueEntry]:
        """slug -> what is said about the rule, in order of level and slug."""
        return _catalogue(self.directory)

    @property
    def cpu_models(self) -> Mapping[str, CpuModel]:
        """name -> the model, in order of name."""
        return _cpu_models(self.directory)

    def primitive(self, name: str, arch: str | None, version: KernelVersion | None = None) -> Primitive | None:
        """What `name` is for code of `arch` (a directory below arch/; None: generic code) in kernel `version`, or
        None.

        Without a version, and for a version that no entry describes, the newest entry counts.
        """
        entries = self._primitives_of(arch).entries.get(name, ())
        fitting = (entry for entry in entries if version is None or entry.is_in(version))
        return next(fitting, entries[0] if entries else None)

    def has_form_in_block(self, access: Primitive, arch: str | None) -> bool:
        """Whether the access has a form for a block in code of `arch`, and not one that opens and closes by itself, as
        where the opener is the generic fallback."""
        if access.scalar_form_in_block is None:
            return False
        form = self.primitive(access.scalar_form_in_block, arch)
        return form is None or form.switches == 0 or form.switches < access.switches

    def architecture(self, arch: str | None) -> Architecture:
        """How `arch` (a directory below arch/; None: generic code) guards user memory; an unknown one counts as
        generic."""
        return self._primitives_of(arch).architecture

    def direction_of(self, word: str, arch: str | None) -> Direction | None:
        """The direction that `word` (`KUAP_READ`) means in a primitive's direction_arg, or None."""
        return self._primitives_of(arch).direction_words.get(word)

    def policies_for(self, path: str) -> tuple[Policy, ...]:
        """The policies that code in `path` must satisfy: its architecture's, or all that generic code must
        satisfy."""
        arch = arch_of(path)
        if arch is None:
            return tuple(policy for policy in self.policies if policy.generic)
        own = tuple(policy for policy in self.policies if arch in policy.arches)
        return own or tuple(policy for policy in self.policies if ANY_ARCH in policy.arches)

    def _primitives_of(self, arch: str | None) -> ArchPrimitives:
        if arch is None:
            return self.architectures[GENERIC]
        named = (found for found in self.architectures.values() if arch in found.architecture.directories)
        return next(named, self.architectures[GENERIC])


def arch_of(path: str) -> str | None:
    """The architecture a file belongs to (`powerpc` for arch/powerpc/…, `um` for arch/x86/um/…, which User-mode Linux
    alone compiles), None for generic code."""
    parts = path.split("/")
    if len(parts) < 3 or parts[0] != "arch":
        return None
    return "um" if parts[1:3] == ["x86", "um"] else parts[1]


@cache
def load_rulebook(directory: Path | None = None, cache_in: Path | None = None) -> Rulebook:
    """Reads and checks `directory`, by default the rules that come with reviewbot; those are parsed once and kept in
    the directory `cache_in`, if that is given. Raises RulebookError.

    Of the rules that come with reviewbot the catalogue and the CPU models are read when they are first asked for: a run
    that finds nothing needs neither, and reading them is half of the time.
    """
    root = directory or _shipped_rules()
    if not root.is_dir():
        raise RulebookError(f"{root}: there is no such directory of rules.")
    files = _files(root)
    version = _hash(files)
    if directory is None and cache_in is not None:
        use_kept(files.values(), version, cache_in)
    architectures = load_primitives(root)
    _check_references(architectures)
    if directory is not None:
        _catalogue(root)
        _cpu_models(root)
    return Rulebook(
        directory=root,
        version=version,
        architectures=architectures,
        policies=load_policies(root),
        words=load_words(root),
        primitive_names=frozenset(name for arch in architectures.values() for name in arch.entries),
    )


@cache
def _catalogue(root: Path) -> Mapping[str, CatalogueEntry]:
    return load_catalogue(root)


@cache
def _cpu_models(root: Path) -> Mapping[str, CpuModel]:
    return load_cpu_models(root)


def _shipped_rules() -> Path:
    """rules/ beside the package in a checkout, reviewbot/shipped_rules in an installed wheel."""
    package = Path(__file__).resolve().parent.parent
    shipped = package / "shipped_rules"
    return shipped if shipped.is_dir() else package.parent / "rules"


def _files(root: Path) -> dict[str, bytes]:
    """Every file of the rules by its name below `root`."""
    found = {}
    try:
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in names:
                if name.endswith(".toml"):
                    path = Path(folder, name)
                    found[path.relative_to(root).as_posix()] = path.read_bytes()
    except OSError as error:
        raise RulebookError(f"{error.filename}: cannot be read ({error.strerror}).") from error
    return dict(sorted(found.items()))


def _hash(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, data in files.items():
        digest.update(name.encode() + b"\0" + data + b"\0")
    return digest.hexdigest()


def _check_references(architectures: Mapping[str, ArchPrimitives]) -> None:
    """Every primitive that another one names must be there, on the same architecture."""
    for arch, primitives in architectures.items():
        for entries in primitives.entries.values():
            for entry in entries:
                named = (*entry.closed_by, entry.scalar_form, entry.scalar_form_in_block)
                for name in named:
                    if name is not None and name not in primitives.entries:
                        raise RulebookError(
                            f"primitives/{arch}.toml: {entry.name}: refers to {name!r}, which is no primitive."
                        )
