"""All errors that a user may see: each is one sentence, and says what to do next where that is known."""

from __future__ import annotations


class ReviewbotError(Exception):
    """The root of the tree. `str(error)` is one sentence for the user, without a traceback or a secret."""


class UsageError(ReviewbotError):
    """reviewbot was called wrongly (exit code 2)."""


class ConfigError(UsageError):
    """The configuration cannot be used; names the file and the key (exit code 2)."""


class RulebookError(ConfigError):
    """A file in rules/ is not well formed; names the file and the key (exit code 2)."""


class InputError(ReviewbotError):
    """The input cannot be reviewed at all; names the file, message or line (exit code 3)."""


class GitError(ReviewbotError):
    """git refused, or an object is not there; names the repository and the object (exit code 3)."""


class FetchError(ReviewbotError):
    """A server could not be read: blocked, broken, gone or too slow (exit code 3)."""


class DeliveryError(ReviewbotError):
    """The review is done but could not be handed on (exit code 4)."""
