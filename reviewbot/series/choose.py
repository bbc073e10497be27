"""Several series in one input -> the one to review, with the others named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from reviewbot.errors import InputError
from reviewbot.mail.message import Message
from reviewbot.series.patch import Series


def choose_series(series: Sequence[Series]) -> Series:
    """The newest version of the work that was sent last; its `notes` name what was left out.

    A patch that somebody else sent into the thread of a series is a side proposal and is not chosen instead of the
    series. Raises InputError where no series holds a patch.
    """
    readable = [one for one in series if one.patches]
    if not readable:
        raise InputError("There is no patch in the input; give the thread that holds the patches")
    last = _owner_of_thread(max(readable, key=_sent_at), readable)
    versions = [one for one in readable if one is last or _is_same_work(one, last)]
    chosen = max(versions, key=lambda one: (one.version, _sent_at(one)))
    notes = [
        _note(one, chosen, is_version=any(one is version for version in versions))
        for one in readable
        if one is not chosen
    ]
    notes += [
        _note_cover(one)
        for one in series
        if not one.patches and one.version > chosen.version and _is_same_work(one, chosen)
    ]
    return replace(chosen, notes=(*chosen.notes, *notes))


def _owner_of_thread(last: Series, series: Sequence[Series]) -> Series:
    """The series of another sender into whose thread `last` was sent, if there is one; else `last`."""
    for _ in range(len(series)):
        answered = set(_answers(last))
        owner = next(
            (one for one in series if one is not last and answered & _ids(one) and _sender(one) != _sender(last)), None
        )
        if owner is None:
            return last
        last = owner
    return last


def _is_same_work(one: Series, other: Series) -> bool:
    """Two versions of one piece of work: by change-id, by subject, by titles, or by thread, sender and another
    version."""
    if one.change_id and one.change_id == other.change_id:
        return True
    if _key(one.subject) == _key(other.subject):
        return True
    titles, others = ({_key(patch.subject) for patch in series.patches} for series in (one, other))
    if titles and others and 2 * len(titles & others) >= min(len(titles), len(others)):
        return True
    is_threaded = bool(set(_answers(one)) & _ids(other) or set(_answers(other)) & _ids(one))
    return is_threaded and one.version != other.version and _sender(one) == _sender(other)


def _note(one: Series, chosen: Series, *, is_version: bool) -> str:
    size = f"{len(one.patches)} patch{'es' if len(one.patches) != 1 else ''}"
    day = f", {one_date:%Y-%m-%d}" if (one_date := _mails(one)[0].date) else ""
    if not is_version:
        return f"Another series in the input was left out: {one.subject!r} (v{one.version}, {size}{day})"
    if one.version == chosen.version:
        return f"An earlier copy of v{one.version} was left out ({size}{day})"
    return f"The older version v{one.version} was left out ({size}{day})"


def _note_cover(one: Series) -> str:
    return f"A newer version v{one.version} has only its cover letter in the input"


def _mails(series: Series) -> list[Message]:
    cover = [series.cover] if series.cover else []
    return [*cover, *(patch.message for patch in series.patches if patch.message)]


def _sent_at(series: Series) -> float:
    return min((mail.date.timestamp() for mail in _mails(series) if mail.date), default=0.0)


def _sender(series: Series) -> str:
    mails = _mails(series)
    return mails[0].sender.email if mails else ""


def _ids(series: Series) -> set[str]:
    return {mail.message_id for mail in (*_mails(series), *series.replies) if mail.message_id}


def _answers(series: Series) -> tuple[str, ...]:
    mails = _mails(series)
    return (mails[0].in_reply_to or "", *mails[0].references) if mails else ()


def _key(text: str) -> str:
    return re.sub(r"[^\w]+", " ", text).strip().casefold()
