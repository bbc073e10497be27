"""User-access primitives as data: what each one opens, closes, reads or writes, by architecture and kernel
version."""

from __future__ import annotations

from enum import Enum

from reviewbot.values import dataclass


class Effect(Enum):
    OPEN = "open"  # opens a block (begin, allow_*, stac)
    CLOSE = "close"  # closes it (end, prevent_*, clac)
    ACCESS = "access"  # self-contained: opens, accesses, closes (get_user, copy_to_user)
    INSIDE = "inside"  # needs an open block (unsafe_put_user)
    SAVE = "save"  # closes and gives back the former state (user_access_save)
    RESTORE = "restore"  # takes that state back
    SCOPED = "scoped"  # opens for the statement that follows and closes on leaving it
    NEUTRAL = (
        "neutral"  # no switch and no user access of its own (access_ok, copies between kernel addresses); not followed
    )


class Direction(Enum):
    READ = "read"
    WRITE = "write"
    READ_WRITE = "read_write"

    def covers(self, other: Direction) -> bool:
        """Whether access opened in this direction permits an access in the other."""
        return self is Direction.READ_WRITE or self is other


class Guard(Enum):
    """Which accesses an architecture really guards."""

    BOTH = "both"
    WRITE = "write"
    NONE = "none"


class Result(Enum):
    """What an opener gives back."""

    STATUS = "status"  # true when access is open, false when it is not
    NOTHING = "nothing"  # always open afterwards
    POINTER = "pointer"  # a masked pointer, always open afterwards
    ERROR = "error"  # accesses: 0 when done, not 0 when not
    STATE = "state"  # the former state of user access, to be given back to the closer


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class KernelVersion:
    major: int
    minor: int

    def __str__(self) -> str:
        return f"v{self.major}.{self.minor}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Primitive:
    """One function or macro. Argument indexes count from 0, negative ones from the end; None: there is no such
    argument.

    `closed_by` are the closers that match an opener, best first. `small_copy`: a constant small size is worth a
    finding; `scalar_form` is what to use instead, `scalar_form_in_block` inside a block. `may_sleep`: may fault and
    sleep. `switches`: how many switches it really makes on this architecture (0 where the guard does not exist).
    `direction_arg` is the argument that names the direction (`KUAP_READ`) of a low-level form; `direction` is the
    widest then. `since` is the first version that has it, `until` the first that has it no more.
    """

    name: str
    arch: str
    effect: Effect
    direction: Direction
    result: Result = Result.NOTHING
    pointer_arg: int | None = None
    value_arg: int | None = None
    size_arg: int | None = None
    label_arg: int | None = None
    direction_arg: int | None = None
    closed_by: tuple[str, ...] = ()
    small_copy: bool = False
    scalar_form: str | None = None
    scalar_form_in_block: str | None = None
    may_sleep: bool = False
    switches: int = 0
    since: KernelVersion | None = None
    until: KernelVersion | None = None
    source: str = ""

    def is_in(self, version: KernelVersion) -> bool:
        """Whether this entry describes kernel `version`."""
        return (self.since is None or self.since <= version) and (self.until is None or version < self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """How one architecture (or the generic code, named `generic`) guards user memory.

    `directories` are the names below arch/ it stands for. `distinct_directions`: read and write access are opened
    apart, so a block opened for reading refuses a write. `guards` says which accesses a switch exists for at all.
    """

    name: str
    directories: tuple[str, ...]
    distinct_directions: bool
    guards: Guard
    source: str
