"""What patchwork's JSON says, checked and as values. Facts: patchwork's docs/api/schemas/v1.3/patchwork.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Any

from reviewbot.errors import FetchError
from reviewbot.values import dataclass


class CheckState(Enum):
    """The states that a check can have; `pending` is the only one that is no verdict."""

    PENDING = "pending"
    SUCCESS = "success"
    WARNING = "warning"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRecord:
    """A project: `linkname` is the word in URLs, `list_email` the address of its list, lower-case."""

    id: int
    linkname: str
    list_email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchRecord:
    """A patch as a series lists it. `message_id` is without brackets; `position` is N of N/M in the name, 0 without."""

    id: int
    message_id: str
    name: str
    web_url: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchStanding:
    """Where a patch stands: `state` is the server's slug (instances add their own), `series` the ids it belongs to."""

    id: int
    message_id: str
    state: str
    archived: bool
    series: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRecord:
    """A series. `name` may be empty. `patches` are in order of N/M. `cover_mbox` and `cover_id` are None without a
    cover."""

    id: int
    web_url: str
    project: str
    name: str
    date: datetime
    submitter_id: int
    submitter_email: str
    version: int
    total: int
    received_all: bool
    mbox: str
    cover_mbox: str | None
    cover_message_id: str | None
    patches: tuple[PatchRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRecord:
    """A check on the server."""

    id: int
    user: str
    user_id: int
    date: datetime
    state: str
    context: str
    description: str
    target_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """A series-completed event."""

    id: int
    date: datetime
    series_id: int


def to_project(value: Any) -> ProjectRecord:
    """ProjectRecord from `projects/<linkname>/`; FetchError where a field is missing or of another kind (as all
    below)."""
    item = _object(value)
    return ProjectRecord(
        id=_number(item, "id"), linkname=_text(item, "link_name"), list_email=_text(item, "list_email").lower()
    )


def to_series(value: Any) -> SeriesRecord:
    """SeriesRecord from `series/<id>/`; patches are put in order of N/M, as older servers list them by arrival."""
    item = _object(value)
    cover = item.get("cover_letter")
    submitter = _object(item.get("submitter") or {})
    project = _object(item.get("project") or {})
    patches = [_to_patch(patch) for patch in _array(item, "patches")]
    return SeriesRecord(
        id=_number(item, "id"),
        web_url=_text(item, "web_url"),
        project=_text(project, "link_name"),
        name=_text(item, "name"),
        date=_date(item),
        submitter_id=_number(submitter, "id") if submitter else 0,
        submitter_email=_text(submitter, "email").lower(),
        version=_number(item, "version", 1),
        total=_number(item, "total", len(patches)),
        received_all=bool(item.get("received_all", False)),
        mbox=_text(item, "mbox"),
        cover_mbox=_text(_object(cover), "mbox") or None if cover else None,
        cover_message_id=_bare(_text(_object(cover), "msgid")) or None if cover else None,
        patches=tuple(sorted(patches, key=lambda patch: (patch.position == 0, patch.position, patch.id))),
    )


def to_standing(value: Any) -> PatchStanding:
    """PatchStanding from `patches/<id>/` or a row of `patches/`."""
    item = _object(value)
    return PatchStanding(
        id=_number(item, "id"),
        message_id=_bare(_text(item, "msgid")),
        state=_text(item, "state"),
        archived=bool(item.get("archived", False)),
        series=tuple(_number(_object(series), "id") for series in _array(item, "series")),
    )


def to_check(value: Any) -> CheckRecord:
    """CheckRecord from a row of `patches/<id>/checks/`."""
    item = _object(value)
    user = _object(item.get("user") or {})
    return CheckRecord(
        id=_number(item, "id"),
        user=_text(user, "username"),
        user_id=_number(user, "id", 0),
        date=_date(item),
        state=_text(item, "state"),
        context=_text(item, "context"),
        description=_text(item, "description"),
        target_url=_text(item, "target_url"),
    )


def to_event(value: Any) -> EventRecord:
    """EventRecord from a row of `events/` of the category series-completed."""
    item = _object(value)
    series = _object(_object(item.get("payload")).get("series"))
    return EventRecord(id=_number(item, "id"), date=_date(item), series_id=_number(series, "id"))


def _to_patch(value: Any) -> PatchRecord:
    item = _object(value)
    name = _text(item, "name")
    return PatchRecord(
        id=_number(item, "id"),
        message_id=_bare(_text(item, "msgid")),
        name=name,
        web_url=_text(item, "web_url"),
        position=_position(name),
    )


_TAGS = re.compile(r"^\s*((?:\[[^\]]*\]\s*)+)")
_COUNT = re.compile(r"(?<!\d)(\d{1,4})\s*(?:/|\bof\b)\s*\d{1,4}(?!\d)")


def _position(name: str) -> int:
    """N of `[v2,3/7] subject`; 0 where the name has no such tag (a single patch)."""
    tags = _TAGS.match(name)
    counts = _COUNT.findall(tags[1]) if tags else []
    return int(counts[-1]) if counts else 0


def _bare(message_id: str) -> str:
    return message_id.strip().removeprefix("<").removesuffix(">")


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise FetchError(
            "patchwork's answer does not have the documented form (an object is missing); is the address right?"
        )
    return value


def _array(item: Mapping[str, Any], key: str) -> list[Any]:
    value = item.get(key) or []
    if not isinstance(value, list):
        raise FetchError(f"patchwork's answer does not have the documented form ('{key}' is not a list)")
    return value


def _number(item: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = item.get(key)
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        raise FetchError(f"patchwork's answer does not have the documented form ('{key}' is not a number)")
    return value


def _text(item: Mapping[str, Any], key: str) -> str:
    """A text; null and absent are "" (a series without a name, a submitter without one)."""
    value = item.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FetchError(f"patchwork's answer does not have the documented form ('{key}' is not a text)")
    return value


def _date(item: Mapping[str, Any]) -> datetime:
    """The date as the server says it. Most servers say no offset and mean their own zone, so it is only compared
    with, and
    handed back to, the same server."""
    text = _text(item, "date")
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise FetchError("patchwork's answer does not have the documented form ('date' is not a date)") from error
