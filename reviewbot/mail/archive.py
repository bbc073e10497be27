"""Threads from a public-inbox server (lore.kernel.org and its like), fetched with manners and kept for a while.

Facts: public-inbox's own documentation of its URLs (`<inbox>/<Message-ID>/t.mbox.gz`, `/raw`; "/" in an id is escaped).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from reviewbot.errors import FetchError, InputError
from reviewbot.http import Client, StatusError
from reviewbot.values import dataclass

_GZIP = b"\x1f\x8b"
_CACHED_AT_MOST = 500
_MESSAGE_ID = re.compile(r"^[^\s<>@/][^\s<>@]*@[^\s<>@/]+$")
_VIEWS = frozenset({"raw", "t", "T", "t.mbox.gz", "t.atom", ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailed:
    """A mail that the user named: its id without brackets, and the inbox it was named in (None: the configured one)."""

    message_id: str
    inbox: str | None = None


@dataclass(slots=True, kw_only=True)
class Archive:
    """One inbox of a public-inbox server: `url` ends in the inbox (`https://lore.kernel.org/all/`). `cache` None keeps
    nothing; a thread in it is used for `cache_s` seconds."""

    url: str
    client: Client
    cache: Path | None = None
    cache_s: float = 86400.0
    now: Callable[[], float] = time.time

    def thread(self, message_id: str) -> bytes:
        """The whole thread as gzip'd mbox. Raises FetchError, and InputError where the archive has no such mail."""
        kept = self._kept_file(message_id)
        if kept is not None and (data := self._from_cache(kept)) is not None:
            return data
        try:
            data = self.client.get_data(self._address(message_id) + "t.mbox.gz").body
        except StatusError as error:
            if error.status in (300, 404):
                raise InputError(f"{self._host} has no mail with the Message-ID {message_id}") from error
            raise
        if not data.startswith(_GZIP):
            raise FetchError(f"{self._host} answered with something that is not a gzip'd mbox; try again later")
        if kept is not None:
            _keep(kept, data)
        return data

    def has(self, message_id: str) -> bool | None:
        """Whether the mail is there; None where the server cannot tell now."""
        try:
            self.client.get_data(self._address(message_id) + "raw")
        except StatusError as error:
            return False if error.status == 404 else None
        except FetchError:
            return None
        return True

    def _address(self, message_id: str) -> str:
        return f"{self.url.rstrip('/')}/{quote(message_id, safe='@+=,;:!$*~()')}/"

    def _kept_file(self, message_id: str) -> Path | None:
        if self.cache is None:
            return None
        return self.cache / f"{hashlib.sha256(f'{self.url} {message_id}'.encode()).hexdigest()[:40]}.mbox.gz"

    def _from_cache(self, file: Path) -> bytes | None:
        try:
            age_s = self.now() - file.stat().st_mtime
            return file.read_bytes() if 0 <= age_s < self.cache_s else None
        except OSError:
            return None

    @property
    def _host(self) -> str:
        return urlsplit(self.url).hostname or "the archive"


def to_mailed(text: str) -> Mailed | None:
    """A Message-ID or the address of a mail or thread in a public-inbox; None for anything else (a file name, say)."""
    if text.startswith(("http://", "https://")):
        return _from_url(text)
    bare = text.removeprefix("mid:").strip("<>")
    is_bracketed = text.startswith(("<", "mid:"))
    if not _MESSAGE_ID.match(bare) or (not is_bracketed and Path(text).exists()):
        return None
    return Mailed(message_id=bare)


def _from_url(text: str) -> Mailed | None:
    try:
        parts = urlsplit(text)
        steps = [unquote(step) for step in parts.path.split("/")]
    except ValueError:
        return None
    at = next((number for number, step in enumerate(steps) if "@" in step), None)
    if at is None or not parts.hostname or "/".join(steps[at + 1 :]) not in _VIEWS | {f"{view}/" for view in _VIEWS}:
        return None
    before = [step for step in steps[:at] if step]
    if before[-1:] in (["patch"], ["cover"]):  # a patchwork, not an archive
        return None
    if before == ["r"]:  # kernel.org's short links; all its mail is in one inbox
        before = ["all"]
    root = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/"
    return Mailed(message_id=steps[at].strip("<>"), inbox=root + "".join(f"{quote(step)}/" for step in before))


def _keep(file: Path, data: bytes) -> None:
    """Into the cache, in one step; a cache that cannot be written is no reason to fail."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=file.parent, suffix=".part")
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        Path(name).replace(file)
        kept = sorted(file.parent.glob("*.mbox.gz"), key=lambda each: each.stat().st_mtime)
        for old in kept[:-_CACHED_AT_MOST]:
            old.unlink(missing_ok=True)
