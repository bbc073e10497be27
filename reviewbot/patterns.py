"""Regular expressions that are compiled when they are first used: of those that a program knows, one run uses few."""

from __future__ import annotations

import re

TYPE_CHECKING = False  # typing's own would have to be imported
if TYPE_CHECKING:
    from typing import Any, AnyStr

_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split")


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, for the constants of a module; what is wrong with a pattern is said on its first use."""
    return _Later(pattern, flags)  # type: ignore[return-value]


class _Later:
    """Takes over the compiled pattern's methods on the first use, and is as quick as that from then on."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self.pattern = pattern
        self._given_flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._given_flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)
