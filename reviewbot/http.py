"""HTTP with manners: who we are is said, everything is bounded, and no secret leaves for another host or enters a
message."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from reviewbot.errors import FetchError
from reviewbot.values import dataclass

if TYPE_CHECKING:
    import requests

_RETRIED = frozenset({429, 500, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class BlockedError(FetchError):
    """The server keeps robots out (403 with a web page, or a web page where data was due). Never the same as 'no
    data'."""


class StatusError(FetchError):
    """The server understood and refused; `status` is the HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class UnreachableError(FetchError):
    """Network, time-out, 429 or 5xx, after all attempts. A write that ends so may have been accepted all the same.

    `retry_after_s` is what the server asked for where that is longer than we wait within one request, else 0.
    """

    def __init__(self, message: str, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Secret:
    """A token or password; it prints as dots, and only `reveal()` gives the text."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the one header or login that needs it."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a secret is not stored")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """What one request may cost. A Retry-After longer than `longest_wait_s` ends the request instead of being waited
    for."""

    connect_timeout_s: float = 10.0
    read_timeout_s: float = 30.0
    total_timeout_s: float = 180.0
    size_bytes: int = 64 << 20
    attempts: int = 5
    first_wait_s: float = 2.0
    longest_wait_s: float = 300.0
    redirects: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a server answered: `headers` have lower-case names; `links` is rel -> URL of the Link header."""

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes
    links: Mapping[str, str]

    def json(self) -> Any:
        """The body as JSON; BlockedError for a web page, FetchError for anything else that is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            if self.is_web_page:
                raise BlockedError(
                    f"{_shown(self.url)} answered with a web page instead of JSON: {_BLOCKED_HINT}"
                ) from error
            raise FetchError(f"{_shown(self.url)} answered with something that is not JSON; try again later") from error

    @property
    def is_web_page(self) -> bool:
        """HTML, whatever the Content-Type claims."""
        start = self.body[:256].lstrip().lower()
        return "html" in self.headers.get("content-type", "") or start.startswith((b"<!doctype html", b"<html"))


@dataclass(slots=True, kw_only=True)
class Client:
    """One polite HTTP client. `contact` (a URL or mail address) goes into the User-Agent, which bot walls ask for.

    `token` is sent as `Authorization: Token …` to `token_origin` (scheme://host[:port]) and to nobody else.
    `sleep` and `monotonic` are seconds; tests replace them.
    """

    version: str
    contact: str
    token: Secret | None = None
    token_origin: str = ""
    limits: HttpLimits = field(default_factory=HttpLimits)
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    _session: requests.Session | None = None

    @property
    def user_agent(self) -> str:
        contact = _one_line(self.contact)
        return f"reviewbot/{self.version} (+{contact})" if contact else f"reviewbot/{self.version}"

    def get(self, url: str, *, accept: str = "*/*") -> Reply:
        """The answer to GET, retried while that makes sense. Raises BlockedError, StatusError, UnreachableError or
        FetchError."""
        return self._retry(url, lambda: self._follow(url, accept))

    def get_data(self, url: str) -> Reply:
        """Like `get`, for anything that is not a web page: a page where data was due raises BlockedError."""
        reply = self.get(url)
        if reply.is_web_page:
            raise BlockedError(f"{_shown(url)} answered with a web page instead of data: {_BLOCKED_HINT}")
        return reply

    def get_json(self, url: str) -> tuple[Any, Reply]:
        """(decoded JSON, reply); a page of HTML or broken JSON behind a 200 is tried once more, then an error."""
        reply = self.get(url, accept="application/json")
        try:
            return reply.json(), reply
        except FetchError:
            self.sleep(self.limits.first_wait_s)
            reply = self.get(url, accept="application/json")
            return reply.json(), reply

    def post_json(self, url: str, value: object) -> Reply:
        """One POST, never repeated and never redirected. UnreachableError means: it may have been accepted."""
        body = json.dumps(value).encode()
        reply = self._once("POST", url, "application/json", body, self.monotonic() + self.limits.total_timeout_s)
        if reply.status in _RETRIED:
            raise UnreachableError(f"{_shown(url)} answered {reply.status}; whether it took the data is not known")
        if reply.status in _REDIRECTS:
            raise StatusError(f"{_shown(url)} redirects a write; check the server's address", reply.status)
        self._check(reply)
        return reply

    def _retry(self, url: str, attempt: Callable[[], Reply]) -> Reply:
        waits = _waits(self.limits)
        for number in range(1, self.limits.attempts + 1):
            try:
                reply = attempt()
            except UnreachableError:
                if number == self.limits.attempts:
                    raise
                self.sleep(next(waits))
                continue
            if reply.status not in _RETRIED:
                self._check(reply)
                return reply
            wait_s = max(next(waits), _retry_after_s(reply))
            if wait_s > self.limits.longest_wait_s:
                raise UnreachableError(
                    f"{_shown(url)} answered {reply.status} and asks for a pause of {wait_s:.0f} s", wait_s
                )
            if number < self.limits.attempts:
                self.sleep(wait_s)
        raise UnreachableError(
            f"{_shown(url)} answered {reply.status} {self.limits.attempts} times; it will be tried again later"
        )

    def _follow(self, url: str, accept: str) -> Reply:
        deadline = self.monotonic() + self.limits.total_timeout_s
        for _ in range(self.limits.redirects + 1):
            reply = self._once("GET", url, accept, None, deadline)
            target = reply.headers.get("location")
            if reply.status not in _REDIRECTS or not target:
                return reply
            target = urljoin(url, target)
            if not _stays(url, target):
                raise FetchError(f"{_shown(url)} redirects to another host ({_shown(target)}); not followed")
            url = target
        raise FetchError(f"{_shown(url)} redirects in a circle")

    def _once(self, method: str, url: str, accept: str, body: bytes | None, deadline: float) -> Reply:
        import requests
        import urllib3

        headers = {"User-Agent": self.user_agent, "Accept": accept}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            with self._opened().request(
                method,
                url,
                data=body,
                headers=headers,
                stream=True,
                allow_redirects=False,
                timeout=(self.limits.connect_timeout_s, self.limits.read_timeout_s),
            ) as answer:
                content = b"".join(self._bounded(answer, url, deadline))
                links = {rel: link["url"] for rel, link in answer.links.items() if "url" in link}
                lower = {name.lower(): value for name, value in answer.headers.items()}
                return Reply(status=answer.status_code, url=url, headers=lower, body=content, links=links)
        except (
            requests.exceptions.InvalidURL,
            requests.exceptions.InvalidSchema,
            requests.exceptions.MissingSchema,
        ) as error:
            raise FetchError(f"{_shown(url)} is not an address that can be fetched") from error
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            # The library's own text may quote the request, so only its kind is told.
            raise UnreachableError(f"{_shown(url)} cannot be reached ({_kind(error)})") from error

    def _bounded(self, answer: requests.Response, url: str, deadline: float) -> Iterator[bytes]:
        size = 0
        # read1 hands over what has come; a full-size read of a body that drips would never get to look at the clock.
        while chunk := answer.raw.read1(64 * 1024, decode_content=True):
            size += len(chunk)
            if size > self.limits.size_bytes:
                raise FetchError(f"{_shown(url)} sends more than {self.limits.size_bytes} bytes; given up")
            if self.monotonic() > deadline:
                raise UnreachableError(f"{_shown(url)} took longer than {self.limits.total_timeout_s:g} s; given up")
            yield chunk

    def _check(self, reply: Reply) -> None:
        if reply.status < 400:
            return
        if reply.status == 403 and not _is_json(reply):
            raise BlockedError(
                f"{_shown(reply.url)} is blocked for us ({reply.status}, not from the API): {_BLOCKED_HINT}"
            )
        raise StatusError(f"{_shown(reply.url)} answered {reply.status}{_detail(reply)}", reply.status)

    def _opened(self) -> requests.Session:
        if self._session is None:
            import requests

            self._session = requests.Session()
            # An auth object of our own also keeps requests from looking into ~/.netrc.
            self._session.auth = self._authorise
        return self._session

    def _authorise(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self.token is not None and self.token_origin and _origin(request.url or "") == _origin(self.token_origin):
            request.headers["Authorization"] = f"Token {self.token.reveal()}"
        return request


_BLOCKED_HINT = "the server keeps robots out; set http.contact so that its keepers know whom to ask"


def _waits(limits: HttpLimits) -> Iterator[float]:
    """2, 4, 8 … seconds, a little spread so that many bots do not come back at once."""
    wait = limits.first_wait_s
    while True:
        yield min(wait * random.uniform(1.0, 1.25), limits.longest_wait_s)
        wait = min(wait * 2, limits.longest_wait_s)


def _retry_after_s(reply: Reply) -> float:
    """What Retry-After asks for (seconds or a date), 0 where it asks for nothing that can be understood; a day at
    most."""
    asked = reply.headers.get("retry-after", "").strip()
    try:
        wait_s = float(asked) if asked.isdigit() else parsedate_to_datetime(asked).timestamp() - time.time()
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return min(max(wait_s, 0.0), 86400.0)


def _origin(url: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ("", "", None)
    return (parts.scheme.lower(), (parts.hostname or "").lower(), port)


def _stays(url: str, target: str) -> bool:
    """Same host, and never from https down to http."""
    here, there = _origin(url), _origin(target)
    upgrade = here[0] == "http" and there[0] == "https" and here[1] == there[1]
    return here == there or upgrade


def _shown(url: str) -> str:
    """The address for people: without user, password, query or fragment."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return _one_line(urlunsplit((parts.scheme, host, parts.path, "", "")))[:200]
    except ValueError:
        return "the address"


def _is_json(reply: Reply) -> bool:
    return "json" in reply.headers.get("content-type", "") and not reply.is_web_page


def _detail(reply: Reply) -> str:
    """The server's own reason, shortened to one printable line."""
    try:
        value = json.loads(reply.body)
    except (ValueError, RecursionError):
        return ""
    text = value.get("detail", value) if isinstance(value, dict) else value
    return f" ({_one_line(json.dumps(text) if not isinstance(text, str) else text)[:200]})"


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def _kind(error: BaseException) -> str:
    import requests

    if isinstance(error, requests.exceptions.Timeout):
        return "timed out"
    if isinstance(error, requests.exceptions.SSLError):
        return "the certificate is not trusted"
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy refused"
    return "connection failed or was cut"
