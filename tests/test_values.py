"""reviewbot.values.dataclass: the same as the standard library's, in everything that our classes use."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any

import pytest

from reviewbot.values import dataclass

OPTIONS = [
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True, "order": True},
    {"frozen": True, "slots": True, "kw_only": True, "eq": False},
    {"frozen": True, "kw_only": True},
    {"slots": True},
    {"slots": True, "kw_only": True},
    {"slots": True, "eq": False},
    {"order": True},
]


def both(options: dict[str, bool], make: Callable[[Any], type]) -> tuple[Any, Any]:
    """The same class, made by us and by the standard library."""
    return make(dataclass(**options)), make(dataclasses.dataclass(**options))


def with_everything(decorate: Any) -> type:
    @decorate
    class Everything:
        number: int
        text: str = field(repr=False)
        rows: list[int] = field(default_factory=list)
        note: str | None = None
        mark: int = field(default=3, compare=False)
        fixed: str = field(default="fixed", init=False)
        made: dict[str, int] = field(default_factory=dict, init=False, compare=False)

        def doubled(self) -> int:
            return self.number * 2

    return Everything


def hashed(value: object) -> object:
    try:
        return hash(value)
    except TypeError as error:
        return str(error)


def outcome(act: Callable[[], object]) -> object:
    try:
        return act()
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options))
def test_every_method_does_what_the_standard_librarys_does(options: dict[str, bool]) -> None:
    seen = []
    for kind in both(options, with_everything):
        one, same = kind(number=1, text="a"), kind(number=1, text="a", rows=[], mark=4)
        other = kind(number=2, text="a", rows=[1], note="n")
        seen.append(
            (
                repr(other).rpartition(".")[2],
                [(each.name, each.type) for each in fields(kind)],
                kind.__annotations__,
                [getattr(other, each.name) for each in fields(kind)],
                one == same,
                one != other,
                one == "one",
                outcome(lambda one=one, other=other: one < other),
                outcome(lambda one=one, other=other: one >= other),
                one.doubled(),
                kind.__match_args__,
                outcome(lambda kind=kind: kind(number=1)),
                outcome(lambda kind=kind: kind(number=1, text="a", unknown=2)),
                outcome(lambda kind=kind: kind(1, "a").number),
                outcome(lambda one=one: replace(one, number=7).number),
                outcome(lambda kind=kind, one=one: kind.__eq__(one, 1)),
                dataclasses.asdict(other),
            )
        )
        assert one.rows is not same.rows
    assert repr(seen[0]).replace("tests.", "") == repr(seen[1]).replace("tests.", "")


def with_hashes(decorate: Any) -> type:
    @decorate
    class Hashed:
        number: int
        names: tuple[str, ...] = ()

    return Hashed


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options))
def test_values_are_hashed_alike(options: dict[str, bool]) -> None:
    ours, theirs = both(options, with_hashes)
    if options.get("eq", True):
        assert hashed(ours(number=1, names=("a",))) == hashed(theirs(number=1, names=("a",)))
    else:
        value = ours(number=1)
        assert hash(value) == object.__hash__(value) and value != ours(number=1)


@pytest.mark.parametrize("options", [each for each in OPTIONS if each.get("frozen")], ids=str)
def test_frozen_values_refuse_changes_before_and_after_the_first_call(options: dict[str, bool]) -> None:
    for value in (
        with_hashes(dataclass(**options))(number=1),
        with_everything(dataclass(**options))(number=1, text=""),
    ):
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'number'"):
            value.number = 2
        with pytest.raises(FrozenInstanceError, match="cannot delete field 'number'"):
            del value.number
        assert value.number == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    number: int
    names: tuple[str, ...] = ()


@dataclass(slots=True)
class Open:
    number: int
    rows: list[int] = field(default_factory=list)


@pytest.mark.parametrize("value", [Kept(number=1, names=("a", "b")), Open(2, [3])], ids=["frozen", "open"])
def test_values_survive_pickle_and_copy(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value, protocol=5)) == value
    assert copy.deepcopy(value) == value and copy.copy(value) == value


def test_a_value_that_was_never_made_here_is_read_from_a_pickle() -> None:
    """Another process wrote it; here `__init__` was not called yet."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Late:
        number: int

    late = object.__new__(Late)
    late.__setstate__([5])  # type: ignore[attr-defined]
    assert late.number == 5 and late == Late(number=5)


def test_values_are_checked_after_they_are_made() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Checked:
        number: int

        def __post_init__(self) -> None:
            if self.number < 0:
                raise ValueError("negative")

    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            Checked(number=-1)
    assert Checked(number=1).number == 1


def test_methods_of_the_class_itself_win() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Own:
        number: int

        def __repr__(self) -> str:
            return "own"

        def __hash__(self) -> int:
            return 7

    assert repr(Own(number=1)) == "own" and hash(Own(number=2)) == 7 and Own(number=1) == Own(number=1)


def test_a_class_that_extends_another_has_the_fields_of_both() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Base:
        number: int = 1

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Derived(Base):
        text: str = "t"

    assert Derived(number=2) == Derived(number=2, text="t") != Base(number=2)
    assert (Derived().number, Base(number=4).number, repr(Derived()).endswith("Derived(number=1, text='t')")) == (
        1,
        4,
        True,
    )
    assert isinstance(Derived(), Base) and hash(Derived()) == hash(Derived())


def test_methods_are_written_once() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Once:
        number: int

    before = Once.__init__
    Once(number=1)
    after = Once.__init__
    Once(number=2)
    assert before is not after and Once.__init__ is after
