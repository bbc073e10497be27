"""In which direction a call opens user access."""

from __future__ import annotations

from reviewbot.csyntax.flow import Call
from reviewbot.rulebook.book import Rulebook
from reviewbot.rulebook.primitives import Direction, Primitive
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True)
class DirectionReader:
    """The direction that a call opens: the primitive's, or what its direction argument says."""

    book: Rulebook
    arch: str | None

    def __call__(self, call: Call, primitive: Primitive) -> Direction:
        index = primitive.direction_arg
        if index is not None and -len(call.arguments) <= index < len(call.arguments):
            word = call.arguments[index].text.decode("utf-8", "replace").strip()
            named = self.book.direction_of(word, self.arch)
            if named is not None:
                return named
        return primitive.direction
