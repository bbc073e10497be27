"""One series of an archive -> its result as plain text; runs in a worker, here or on another machine."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from reviewbot import pipeline
from reviewbot.backfill.windows import Item
from reviewbot.errors import ReviewbotError
from reviewbot.findings.review import Review
from reviewbot.git import Repository
from reviewbot.mail.decode import decode_message
from reviewbot.mail.limits import DEFAULT_LIMITS, Limits
from reviewbot.report.json import to_dict
from reviewbot.rulebook.book import Rulebook, load_rulebook
from reviewbot.rulebook.limits import DEFAULT_CODE_LIMITS, CodeLimits
from reviewbot.series.from_mail import to_series
from reviewbot.series.mail_kind import sort_mail
from reviewbot.series.threads import Group
from reviewbot.source.folder_tree import FolderTree, is_git
from reviewbot.time_limit import TooLongError, time_limit
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What every worker is told besides the series: the tree (a path on its machine) or None, the time for one, and how
    much of the mails and of the source is read."""

    tree: str | None
    timeout_s: float = 600.0
    limits: Limits = DEFAULT_LIMITS
    code: CodeLimits = DEFAULT_CODE_LIMITS


def review_item(item: Item, task: Task) -> str:
    """The result as JSON: `{"review": the report}`, or `{"error": why there is none}`; never raises."""
    try:
        with time_limit(task.timeout_s):
            return json.dumps({"review": to_dict(_review(item, task))}, ensure_ascii=False, sort_keys=True)
    except ReviewbotError as error:
        return _failed(str(error))
    except TooLongError:
        return _failed(f"the review took longer than {task.timeout_s:g} s")
    except MemoryError:
        return _failed("the review needs more memory than a worker has")
    except Exception as error:  # noqa: BLE001 - the guard of a worker: one broken review must not end the archive
        return _failed(f"a bug in reviewbot ({_where(error)})")


def failure(reason: str) -> dict[str, Any]:
    """The result of a series that no worker could review."""
    return {"error": reason}


def _failed(reason: str) -> str:
    return json.dumps(failure(reason))


def _where(error: Exception) -> str:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = f" in {Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}" if last else ""
    return f"{type(error).__name__}: {str(error)[:200]}{place}"


def _review(item: Item, task: Task) -> Review:
    limits = task.limits
    members = {
        index: sort_mail(decode_message(raw, origin, limits=limits), position)
        for index, position, origin, raw in item.mails
    }
    series = to_series(Group(members=members, notes=list(item.notes)), limits=limits)
    options, book = pipeline.ReviewOptions(), _book(task.code)
    if task.tree is None:
        return pipeline.review(series, None, options, book)
    opened = _open(task.tree)
    if isinstance(opened, Repository):
        return pipeline.review_on_tree(series, opened, options, book)
    return pipeline.review(series, opened, options, book)


@lru_cache(maxsize=1)
def _book(limits: CodeLimits) -> Rulebook:
    return replace(load_rulebook(), limits=limits)


@lru_cache(maxsize=2)
def _open(tree: str) -> Repository | FolderTree:
    path = Path(tree)
    return Repository.open(path) if is_git(path) else FolderTree(path.resolve())
