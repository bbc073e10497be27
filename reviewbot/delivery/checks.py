"""Checks on their way to patchwork: posted when they say something new, and never 'pending' over a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reviewbot.delivery.outbox import Draft, Evidence, Item, PostponedError, RefusedError, UncertainError
from reviewbot.delivery.patchwork import Patchwork
from reviewbot.delivery.patchwork_records import CheckRecord, CheckState
from reviewbot.errors import FetchError
from reviewbot.http import BlockedError, StatusError, UnreachableError

CHANNEL = "check"


def check_draft(
    *,
    server: str,
    patch_id: int,
    context: str,
    state: CheckState,
    description: str,
    target_url: str,
    series: str,
    subject: str,
) -> Draft:
    """A check as a draft for the outbox. Its slot is (server, patch, context): only the newest word in a slot
    counts."""
    payload = {
        "patch_id": patch_id,
        "context": context,
        "state": state.value,
        "description": description,
        "target_url": target_url,
    }
    return Draft(
        channel=CHANNEL,
        place=server,
        key=f"{patch_id} {context.lower()}",
        series=series,
        subject=subject,
        reader="",
        payload=payload,
    )


class CheckSender:
    """Posts checks as `user`. Before every post the server is asked what our newest check in this context is."""

    settle_s = 60.0

    def __init__(self, servers: Mapping[str, Patchwork], user: str) -> None:
        self._servers = servers
        self._user = user

    def find(self, item: Item) -> Evidence:
        """SENT when our newest check on the server is this one."""
        newest = self._newest(item)
        return Evidence.SENT if newest is not None and _says_same(newest, item) else Evidence.NOT_SENT

    def overtaken(self, item: Item) -> str | None:
        """The server already says so, or has a verdict where we would say 'pending'."""
        newest = self._newest(item)
        if newest is None:
            return None
        if _says_same(newest, item):
            return "the server already shows this check"
        is_pending = item.draft.payload["state"] == CheckState.PENDING.value
        if is_pending and newest.state != CheckState.PENDING.value:
            return "the server already has a verdict"
        return None

    def send(self, item: Item, begin: Callable[[], None]) -> str:
        """Posts the check; the id that the server gave it."""
        server, value = self._server(item), item.draft.payload
        begin()
        try:
            record = server.post_check(
                value["patch_id"],
                CheckState(value["state"]),
                value["context"],
                value["description"],
                value["target_url"],
            )
        except BlockedError as error:
            raise PostponedError(str(error)) from error
        except StatusError as error:
            raise _refusal(error) from error
        except FetchError as error:  # no answer, or one that cannot be understood: it may be there all the same
            raise UncertainError(str(error)) from error
        return str(record.id)

    def _newest(self, item: Item) -> CheckRecord | None:
        server, value = self._server(item), item.draft.payload
        try:
            checks = server.own_checks(value["patch_id"], self._user)
        except UnreachableError as error:
            raise PostponedError(str(error), error.retry_after_s) from error
        except StatusError as error:
            raise _refusal(error) from error
        except FetchError as error:
            raise PostponedError(str(error)) from error
        # kernel.org compares contexts ignoring case.
        return next((check for check in checks if check.context.lower() == value["context"].lower()), None)

    def _server(self, item: Item) -> Patchwork:
        server = self._servers.get(item.draft.place)
        if server is None:
            raise PostponedError(f"the settings no longer name the server {item.draft.place}")
        return server


def _says_same(check: CheckRecord, item: Item) -> bool:
    value = item.draft.payload
    said = (check.state, check.description or "", check.target_url or "")
    return said == (value["state"], value["description"], value["target_url"])


def _refusal(error: StatusError) -> RefusedError | PostponedError | UncertainError:
    if error.status < 400:
        return UncertainError(str(error))
    if error.status in (401, 403):
        # A token that ran out or lacks rights is mended by people, and then the check should still go out.
        return PostponedError(f"{error}; the token's user must be a maintainer of the project")
    return RefusedError(str(error))
