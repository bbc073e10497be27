"""The one way a size or a type turns out to be unknown while it is worked out."""

from __future__ import annotations


class UnknownSizeError(Exception):
    """The size cannot be told; `str(error)` says why, as half a sentence (`struct foo is not defined in any
    file seen`). Internal to csyntax: the functions of sizes.py turn it into a result.
    """


class IncompleteTypeError(UnknownSizeError):
    """The type is only declared here; another definition may complete it."""
