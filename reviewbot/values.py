"""`dataclass` as in the standard library, but its methods are written when they are first called.

The standard library compiles up to ten methods of each class on import, 0.3 ms a class. All of ours together cost more
than the commit hook may take, and few of their methods are ever called in one run. What the methods do is the same.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

_OWN = "__dataclass_self__"  # no field has this name
_ORDERS = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True, order: bool = False
    ) -> Callable[[type], type]:
        """The decorator; each option means what it means in `dataclasses.dataclass`. Every annotation is a field: there
        is no ClassVar, InitVar or KW_ONLY."""

        def decorate(kind: type) -> type:
            if kind.__doc__ is None:
                kind.__doc__ = kind.__name__  # else a signature is drawn up for it
            made = _with_fields(kind, slots, kw_only)
            own = {"__init__": _write_init, "__repr__": None}
            if eq:
                own |= {"__eq__": _write_comparison, "__hash__": _write_hash if frozen else None}
            if order:
                own |= dict.fromkeys(_ORDERS, _write_comparison)
            for name, write in own.items():
                if name in kind.__dict__ and (name != "__hash__" or kind.__dict__[name] is not None):
                    continue
                if write is not None:
                    setattr(made, name, _when_called(made, name, write, frozen, slots))
                else:
                    setattr(made, name, _repr if name == "__repr__" else None)
            if frozen:
                made.__setattr__, made.__delattr__ = _refuse_to_assign, _refuse_to_delete
                if slots:
                    made.__getstate__, made.__setstate__ = _state, _restore
            return made

        return decorate


def _with_fields(kind: type, slots: bool, kw_only: bool) -> Any:
    """The class with its fields, but without a method. The standard library would search the text of each annotation
    for ClassVar and its like, which takes as long as all the rest."""
    annotations = inspect.get_annotations(kind)
    kind.__annotations__ = dict.fromkeys(annotations, object)
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(kind)
    made.__annotations__ = annotations
    for each in dataclasses.fields(made):
        if each.name in annotations:
            each.type = annotations[each.name]
    return made


def _when_called(kind: type, name: str, write: Callable[..., Callable[..., Any]], frozen: bool, slots: bool) -> Any:
    """Stands in for a method until the first call."""

    def stand_in(self: Any, *arguments: Any, **named: Any) -> Any:
        method = write(kind, name, frozen, slots)
        method.__name__, method.__qualname__, method.__module__ = name, f"{kind.__qualname__}.{name}", kind.__module__
        setattr(kind, name, method)
        return method(self, *arguments, **named)

    return stand_in


def _write_init(kind: Any, name: str, frozen: bool, slots: bool) -> Callable[..., Any]:
    known: dict[str, Any] = {"_NotGiven": _NotGiven, "_assign": object.__setattr__}
    positional: list[str] = [_OWN]
    named: list[str] = []
    body: list[str] = []
    for each in dataclasses.fields(kind):
        default, value = "", each.name
        if each.default_factory is not dataclasses.MISSING:
            known[f"_make_{each.name}"] = each.default_factory
            default = "=_NotGiven"
            value = f"_make_{each.name}() if {each.name} is _NotGiven else {each.name}"
        elif each.default is not dataclasses.MISSING:
            known[f"_default_{each.name}"] = each.default
            default = f"=_default_{each.name}"
        if each.init:
            (named if each.kw_only else positional).append(each.name + default)
        elif default:
            value = f"_make_{each.name}()" if default == "=_NotGiven" else f"_default_{each.name}"
        else:
            continue
        if frozen and slots:
            known[f"_set_{each.name}"] = getattr(kind, each.name).__set__  # quicker than object.__setattr__
            body.append(f"_set_{each.name}({_OWN}, {value})")
        elif frozen:
            body.append(f"_assign({_OWN}, {each.name!r}, {value})")
        else:
            body.append(f"{_OWN}.{each.name} = {value}")
    if hasattr(kind, "__post_init__"):
        body.append(f"{_OWN}.__post_init__()")
    return _compile(name, [*positional, *(["*", *named] if named else [])], body, known)


def _write_comparison(kind: Any, name: str, frozen: bool, slots: bool) -> Callable[..., Any]:
    operator = _ORDERS.get(name, "==")
    body = [
        f"if other.__class__ is {_OWN}.__class__:",
        f"  return {_tuple(kind, _OWN)} {operator} {_tuple(kind, 'other')}",
        "return NotImplemented",
    ]
    return _compile(name, [_OWN, "other"], body, {})


def _write_hash(kind: Any, name: str, frozen: bool, slots: bool) -> Callable[..., Any]:
    return _compile(name, [_OWN], [f"return hash({_tuple(kind, _OWN)})"], {})


def _tuple(kind: Any, value: str) -> str:
    """Of what counts in comparisons."""
    return f"({''.join(f'{value}.{each.name}, ' for each in dataclasses.fields(kind) if each.compare)})"


def _compile(name: str, parameters: list[str], body: list[str], known: dict[str, Any]) -> Callable[..., Any]:
    """A function of these lines, which hold nothing but names of fields: identifiers of our own source."""
    lines = "".join(f"  {line}\n" for line in body or ["pass"])
    # what is `known` are variables of a function around it, which are quicker to look up than global ones
    text = f"def write({', '.join(known)}):\n def {name}({', '.join(parameters)}):\n{lines} return {name}"
    scope: dict[str, Any] = {}
    exec(text, scope)
    method: Callable[..., Any] = scope["write"](**known)
    return method


class _NotGiven:
    """Stands for an argument that was not given, where its default is to be made."""


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_assign(self: object, name: str, value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    """What pickle and copy keep; without it they would assign to the fields of a frozen value."""
    return [getattr(self, name) for name in self.__dataclass_fields__]


def _restore(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__dataclass_fields__, state, strict=True):
        object.__setattr__(self, name, value)
