"""What a reader of expressions has to be told about names; graph/ answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from reviewbot.csyntax.macros import Macro

if TYPE_CHECKING:
    from reviewbot.rulebook.policy import Words
    from reviewbot.rulebook.primitives import Primitive


class Meaning(Protocol):
    """What names mean to the function that is being read."""

    @property
    def words(self) -> Words: ...

    @property
    def call_instructions(self) -> frozenset[str]:
        """The instructions that call a subroutine, on the architecture of the code (of every one for generic code)."""

    def primitive(self, name: str) -> Primitive | None:
        """The user-access primitive of that name, or None."""

    def macros(self, name: str, *, is_call: bool) -> tuple[Macro, ...]:
        """The macros of that name to follow (several when #if decides); none when it is to be taken as a function or a
        value. For a call every macro comes with parameters, also one that only names another."""

    def is_macro(self, name: str) -> bool:
        """Whether `name(…)` is surely a macro, followed or not (a member that is spelled by a macro is no function)."""
