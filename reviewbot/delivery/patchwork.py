"""The REST client of one patchwork server: reads projects, events, series and checks; posts checks.

Facts: patchwork's docs/api/rest/index.rst and patchwork/api/*.py. All routes end in a slash, `next` links are
followed as they
are, an unknown project in a filter gives an empty list (so it is asked for first), checks cannot be changed, only
added to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit, urlunsplit

from reviewbot.delivery.patchwork_records import (
    CheckRecord,
    CheckState,
    EventRecord,
    PatchStanding,
    ProjectRecord,
    SeriesRecord,
    to_check,
    to_event,
    to_project,
    to_series,
    to_standing,
)
from reviewbot.errors import FetchError, UsageError
from reviewbot.http import Client, StatusError
from reviewbot.values import dataclass

API_VERSIONS = ("1.3", "1.2")
PAGES_AT_MOST = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What the user named: a series id, a patch id or the Message-ID of a patch or cover; exactly one is set."""

    series_id: int | None = None
    patch_id: int | None = None
    message_id: str | None = None


@dataclass(slots=True, kw_only=True)
class Patchwork:
    """One server. `url` is its front page (`https://patchwork.example.org/`); `client` holds the token and the
    manners."""

    url: str
    client: Client
    _version: str = field(default="", init=False)

    def project(self, linkname: str) -> ProjectRecord:
        """The project, or FetchError that says that there is none of this name."""
        try:
            return to_project(self._get(f"projects/{quote(linkname, safe='')}/"))
        except StatusError as error:
            if error.status == 404:
                raise FetchError(
                    f"{self._host} has no project '{linkname}'; look up its short name on the web page"
                ) from error
            raise

    def completed(self, project: str, since: datetime | None) -> Iterator[EventRecord]:
        """series-completed events of a project, oldest first, from `since` on (inclusive, so some may be known
        already)."""
        query = {"project": project, "category": "series-completed", "order": "date"}
        if since is not None:
            query["since"] = since.isoformat()
        return (to_event(item) for item in self._pages("events/", query))

    def newest_event(self, project: str) -> EventRecord | None:
        """The newest series-completed event: where a new follower begins."""
        query = {"project": project, "category": "series-completed", "order": "-date"}
        return next((to_event(item) for item in self._pages("events/", query)), None)

    def series(self, series_id: int) -> SeriesRecord:
        """The series, patches in order of N/M."""
        return to_series(self._get(f"series/{series_id}/"))

    def series_since(self, project: str, submitter_id: int, since: datetime) -> Iterator[SeriesRecord]:
        """Series of one submitter, newest first: the server has no filter for the version."""
        query = {
            "project": project,
            "submitter": str(submitter_id),
            "since": since.isoformat(),
            "order": "-date",
            "per_page": "100",
        }
        return (to_series(item) for item in self._pages("series/", query))

    def standing(self, patch_id: int) -> PatchStanding:
        """State of a patch, and the series it belongs to."""
        return to_standing(self._get(f"patches/{patch_id}/"))

    def standings(self, series_id: int) -> Iterator[PatchStanding]:
        """The patches of a series with their states."""
        return (to_standing(item) for item in self._pages("patches/", {"series": str(series_id), "per_page": "100"}))

    def resolve(self, target: Target) -> int:
        """The series id of what the user named; FetchError where it has none."""
        if target.series_id is not None:
            return target.series_id
        if target.patch_id is not None:
            series = self.standing(target.patch_id).series
        else:
            # The filter wants the Message-ID without the brackets that the field has.
            query = {"msgid": target.message_id or ""}
            found = next((item for item in self._pages("patches/", query)), None)
            series = to_standing(found).series if found is not None else self._series_of_cover(query)
        if not series:
            raise FetchError(f"{self._host} knows no series for this patch; name the series by its id")
        return max(series)

    def mbox(self, url: str) -> bytes:
        """The raw mails behind a record's `mbox` link."""
        body = self.client.get_data(self._own(url)).body
        if not body.startswith(b"From "):
            raise FetchError(f"{self._host} answered with something that is no mail; try again later")
        return body

    def own_checks(self, patch_id: int, user: str) -> tuple[CheckRecord, ...]:
        """All checks of `user` on a patch, newest first; filtered here too, as the server ignores a filter value it
        does not know."""
        query = {"user": user, "per_page": "100"} if user else {"per_page": "100"}
        checks = [to_check(item) for item in self._pages(f"patches/{patch_id}/checks/", query)]
        own = [check for check in checks if not user or check.user.lower() == user.lower()]
        return tuple(sorted(own, key=lambda check: (check.date, check.id), reverse=True))

    def post_check(
        self, patch_id: int, state: CheckState, context: str, description: str, target_url: str
    ) -> CheckRecord:
        """Adds a check. Raises StatusError when refused, UnreachableError when its fate is unknown."""
        value = {
            "state": state.value,
            "context": context,
            "description": description or None,
            "target_url": target_url or None,
        }
        reply = self.client.post_json(self._api() + f"patches/{patch_id}/checks/", value)
        if reply.status != 201:
            # The documentation warns of writes that are answered with 200 and change nothing.
            raise StatusError(
                f"{self._host} answered {reply.status} to a new check and did not create it", reply.status
            )
        return to_check(reply.json())

    def _series_of_cover(self, query: dict[str, str]) -> tuple[int, ...]:
        found = next((item for item in self._pages("covers/", query)), None)
        return to_standing(found).series if found is not None else ()

    def _get(self, path: str) -> Any:
        return self.client.get_json(self._api() + path)[0]

    def _pages(self, path: str, query: dict[str, str]) -> Iterator[Any]:
        url: str | None = self._api() + path + "?" + urlencode(query)
        seen: set[str] = set()
        while url is not None:
            if url in seen or len(seen) >= PAGES_AT_MOST:
                raise FetchError(f"{self._host} sends pages without end for {path}; the rest is left out")
            seen.add(url)
            value, reply = self.client.get_json(url)
            if not isinstance(value, list):
                raise FetchError(f"{self._host} answered {path} with something that is not a list")
            yield from value
            # `next` already holds the query: adding it again doubles the filters.
            following = reply.links.get("next")
            url = self._own(following) if following else None

    def _api(self) -> str:
        """The versioned root; the newest version that the server knows, asked once."""
        if not self._version:
            self._version = next((version for version in API_VERSIONS if self._has(version)), "")
        if not self._version:
            raise FetchError(
                f"{self._host} has no patchwork API {' or '.join(API_VERSIONS)}; is the address its front page?"
            )
        return self._root(self._version)

    def _has(self, version: str) -> bool:
        try:
            value, _ = self.client.get_json(self._root(version))
        except StatusError as error:
            if error.status == 404:
                return False
            raise
        return isinstance(value, dict)

    def _root(self, version: str) -> str:
        return f"{self.url.rstrip('/')}/api/{version}/"

    def _own(self, link: str) -> str:
        """A link that the server gave, on the server itself. Behind a proxy it may say http where we speak https."""
        own, parts = urlsplit(self.url), urlsplit(link)
        if parts.hostname != own.hostname:
            raise FetchError(f"{self._host} links to another host; not followed")
        if parts.scheme == "http" and own.scheme == "https":
            return urlunsplit((own.scheme, own.netloc, parts.path, parts.query, ""))
        return link

    @property
    def _host(self) -> str:
        return urlsplit(self.url).hostname or "the server"


def to_target(text: str, *, is_patch: bool = False) -> tuple[str | None, Target]:
    """(front page of the server or None, Target) from `123`, or from a web, API or mbox URL of a series, patch or
    cover."""
    if text.isdigit():
        return None, Target(patch_id=int(text)) if is_patch else Target(series_id=int(text))
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        if "@" in text and " " not in text:
            return None, Target(message_id=text.strip("<>"))
        raise UsageError(f"'{text}' is neither an id nor the address of a series or patch on a patchwork server")
    for pattern, make in _SHAPES:
        if found := pattern.match(parts.path):
            return f"{parts.scheme}://{parts.netloc}{found['root']}/", make(found["what"])
    listed = re.match(r"^(?P<root>.*?)/project/[^/]+/list/?$", parts.path)
    wanted = parse_qs(parts.query).get("series", [""])[0]
    if listed and wanted.isdigit():
        return f"{parts.scheme}://{parts.netloc}{listed['root']}/", Target(series_id=int(wanted))
    raise UsageError(f"'{text}' does not look like the address of a series or patch on a patchwork server")


def _by_series(text: str) -> Target:
    return Target(series_id=int(text))


def _by_patch(text: str) -> Target:
    return Target(patch_id=int(text))


def _by_message_id(text: str) -> Target:
    return Target(message_id=unquote(text))


_SHAPES = (
    (re.compile(r"^(?P<root>.*?)/api/(?:\d+\.\d+/)?series/(?P<what>\d{1,18})/?$"), _by_series),
    (re.compile(r"^(?P<root>.*?)/api/(?:\d+\.\d+/)?patches/(?P<what>\d{1,18})(?:/.*)?$"), _by_patch),
    (
        re.compile(r"^(?P<root>.*?)/project/[^/]+/(?:patch|cover)/(?P<what>[^/]*@[^/]*)(?:/(?:mbox|raw))?/?$"),
        _by_message_id,
    ),
    (re.compile(r"^(?P<root>.*?)/series/(?P<what>\d{1,18})(?:/mbox)?/?$"), _by_series),
    (re.compile(r"^(?P<root>.*?)/patch/(?P<what>\d{1,18})(?:/(?:mbox|raw))?/?$"), _by_patch),
)
