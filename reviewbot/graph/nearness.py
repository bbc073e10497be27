"""Of many definitions of one name, those that belong to the file that asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import PurePosixPath

from reviewbot.csyntax.definition import Definition
from reviewbot.rulebook.book import arch_of

_WEAK = frozenset(("__weak", "weak", "__weak__"))
CORE = ("kernel/", "lib/", "mm/")  # where the functions are defined that thousands of files call
_DRIVERS = ("drivers/", "sound/")


class How(Enum):
    """Where the answer comes from."""

    SAME_FILE = "same_file"
    INCLUDED = "included"
    SAME_ARCH = "same_arch"
    GENERIC = "generic"
    ELSEWHERE = "elsewhere"  # any architecture, because generic code asked
    UNKNOWN = "unknown"


def is_weak(found: Definition) -> bool:
    """Another object may define it anew."""
    return not _WEAK.isdisjoint(found.words)


def split_by_nearness(paths: Sequence[str], from_path: str, arch: str | None) -> tuple[list[str], list[str]]:
    """The files of the asker's directory and architecture, and the rest: the core of the kernel, then drivers."""
    directory = f"{from_path.rpartition('/')[0]}/"
    near = [path for path in paths if path.startswith(directory) or (arch is not None and arch_of(path) == arch)]
    rest = set(paths) - set(near)
    return near, sorted(rest, key=lambda path: (not path.startswith(CORE), path.startswith(_DRIVERS), path))


def rank(found: Sequence[Definition], from_path: str, arch: str | None) -> tuple[tuple[Definition, ...], How, str]:
    """The objects that belong to the asker: its directory, its architecture, generic code; weak ones always stay."""
    weak = [each for each in found if is_weak(each)]
    directory = PurePosixPath(from_path).parent
    beside = [each for each in found if PurePosixPath(each.path).parent == directory]
    own_arch = [each for each in found if arch is not None and arch_of(each.path) == arch]
    generic = [each for each in found if arch_of(each.path) is None]
    if arch is not None and own_arch:
        return _merge(own_arch, weak), How.SAME_ARCH, ""
    if beside:
        how = How.GENERIC if arch_of(from_path) is None else How.SAME_ARCH
        return _merge(beside, found if _all_weak(beside) else weak), how, ""
    closest = _closest(generic, directory)
    if arch is None and (len(closest) == len(generic) or _all_weak(closest)):
        return _merge(closest, found), How.GENERIC if generic else How.ELSEWHERE, ""
    return tuple(closest), How.GENERIC, ""


def _all_weak(found: Sequence[Definition]) -> bool:
    return all(map(is_weak, found))


def _merge(first: Iterable[Definition], second: Iterable[Definition]) -> tuple[Definition, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _closest(found: Sequence[Definition], directory: PurePosixPath) -> list[Definition]:
    """Those below the deepest directory they share with the asker: two drivers may each have a function of one name."""

    def shared(each: Definition) -> int:
        pairs = zip(PurePosixPath(each.path).parts, directory.parts, strict=False)
        return next((i for i, (left, right) in enumerate(pairs) if left != right), len(directory.parts))

    deepest = max(map(shared, found), default=0)
    return [each for each in found if deepest < 2 or shared(each) == deepest]
