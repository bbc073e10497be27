"""Exit codes: what a script may conclude from a run."""

from __future__ import annotations

import errno
import os
from enum import Enum, IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewbot.findings.review import Review


class Exit(IntEnum):
    """The whole table; README.md shows it."""

    CLEAN = 0  # reviewed in full, nothing at or above --fail-on
    FINDINGS = 1
    USAGE = 2  # called wrongly
    NOT_REVIEWED = 3  # not (fully) reviewed, and no finding
    NOT_DELIVERED = 4  # reviewed, but the result could not be handed on
    BUG = 70
    HUNG_UP = 129
    INTERRUPTED = 130
    BROKEN_PIPE = 141  # as for a process that SIGPIPE ended
    TERMINATED = 143


class FailOn(Enum):
    """The least severity that makes the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


def exit_code(review: Review, fail_on: FailOn) -> Exit:
    """What the process exits with after this review. A finding that a later patch mends does not count."""
    from reviewbot.findings.finding import Severity
    from reviewbot.report import phrases

    if fail_on is not FailOn.NEVER:
        least = Severity(fail_on.value).rank
        if any(finding.severity.rank >= least for finding in phrases.open_findings(review.findings)):
            return Exit.FINDINGS
    return Exit.CLEAN if phrases.is_complete(review) else Exit.NOT_REVIEWED


def refusal(error: OSError) -> tuple[str, Exit] | None:
    """A sentence and the exit code, where the system refused what is no mistake of ours; None for other errors."""
    if error.errno in (errno.ENOENT, errno.ESTALE) and not error.filename and _is_started_nowhere():
        return "the folder that it was started in is no longer there.", Exit.NOT_REVIEWED
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many files are open at once; raise the limit (ulimit -n) and start again.", Exit.NOT_REVIEWED
    if error.errno in (errno.ENOMEM, errno.EAGAIN):
        return f"the system has no memory or process left for this review: {error.strerror}.", Exit.NOT_REVIEWED
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EBADF, errno.EIO):
        return f"the output cannot be written: {error.strerror}{where}.", Exit.NOT_DELIVERED
    if error.errno in (errno.EACCES, errno.EPERM) and error.filename:
        return f"{error.filename}: {error.strerror}.", Exit.NOT_REVIEWED
    return None


def _is_started_nowhere() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - Path.cwd is the same
    except OSError:
        return True
    return False
