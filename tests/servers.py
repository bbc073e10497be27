"""Servers on loopback for the tests: a patchwork that behaves as its API documents (faults on demand), and a real
SMTP server."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlencode, urlsplit

TOKEN = "0123456789abcdef0123456789abcdef01234567"
WALL = b"<!DOCTYPE html><html><head><title>Just a moment</title></head><body>Are you human?</body></html>"
PAGE = 30
_FROM = b"From patchwork Mon Jan  5 10:00:00 2026\n"
START = datetime(2026, 1, 5, 10, 0, 0)


@dataclass
class Fault:
    """Something that goes wrong for the next `times` requests of `method` whose path holds `path`.

    Kinds: wall (403 HTML), html (200 HTML), 429, 502, text (200, not JSON), drip (a body that never ends), reset
    (connection
    closed without an answer), reset_after (the same, but the request was carried out), 200_after (carried out, odd
    answer),
    elsewhere (redirect to another host), endless (a list whose next page always exists).
    """

    kind: str
    path: str = ""
    method: str = "GET"
    times: int = 1
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class FakePatchwork:
    """The data of one server. `add_series` fills it; `checks` is what was posted; `requests` is (method, path,
    headers)."""

    versions: tuple[str, ...] = ("1.3", "1.2")
    projects: dict[str, dict[str, Any]] = field(default_factory=dict)
    series: dict[int, dict[str, Any]] = field(default_factory=dict)
    mails: dict[str, bytes] = field(default_factory=dict)
    states: dict[int, str] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    user: str = "bot"
    url: str = ""
    clock: datetime = START

    def __post_init__(self) -> None:
        self.projects["demo"] = {
            "id": 1,
            "link_name": "demo",
            "list_email": "Demo@lists.example.org",
            "list_id": "demo.example.org",
        }

    def add_series(
        self,
        name: str | None,
        patches: list[tuple[str, str, bytes]],
        *,
        cover: tuple[str, bytes] | None = None,
        version: int = 1,
        total: int | None = None,
        project: str = "demo",
        submitter: str = "jane@example.org",
    ) -> int:
        """A complete series with its event; `patches` are (Message-ID, name, raw mail), `cover` is (Message-ID, raw
        mail)."""
        number = 100 + len(self.series)
        self.clock += timedelta(minutes=1)
        date = self.clock.isoformat()
        rows = []
        for message_id, title, raw in patches:
            patch_id = 1000 + sum(len(each["patches"]) for each in self.series.values()) + len(rows)
            self.mails[message_id] = _FROM + raw
            self.states[patch_id] = "new"
            rows.append(
                {"id": patch_id, "msgid": f"<{message_id}>", "name": title, "date": date, "web_url": "", "mbox": ""}
            )
        self.series[number] = {
            "id": number, "url": "", "web_url": f"{self.url}project/{project}/list/?series={number}",
            "project": self.projects[project], "name": name, "date": date,
            "submitter": {"id": sum(map(ord, submitter)), "name": None, "email": submitter}, "version": version,
            "total": total or len(patches), "received_total": len(patches), "received_all": True,
            "mbox": f"{self.url}series/{number}/mbox/", "cover_letter": None, "patches": rows,
        }  # fmt: skip
        if cover is not None:
            self.mails[cover[0]] = _FROM + cover[1]
            mbox = f"{self.url}project/{project}/cover/{cover[0]}/mbox/"
            self.series[number]["cover_letter"] = {
                "id": 5000 + number,
                "msgid": f"<{cover[0]}>",
                "name": name,
                "mbox": mbox,
            }
        self.add_event(number, project)
        return number

    def add_event(self, number: int, project: str = "demo") -> None:
        """A series-completed event."""
        event = {"id": 9000 + len(self.events), "category": "series-completed", "project": self.projects[project]}
        self.events.append(
            {**event, "date": self.clock.isoformat(), "actor": None, "payload": {"series": {"id": number}}}
        )

    def patch_ids(self, number: int) -> list[int]:
        return [patch["id"] for patch in self.series[number]["patches"]]

    def shown(self, patch_id: int, context: str = "reviewbot-uaccess") -> list[tuple[str, str]]:
        """(state, description) of every check on a patch, oldest first."""
        return [
            (each["state"], each["description"])
            for each in self.checks
            if each["patch"] == patch_id and each["context"] == context
        ]

    def fault(self, method: str, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.times > 0 and fault.method == method and fault.path in path:
                fault.times -= 1
                return fault
        return None

    def answer(self, path: str, query: dict[str, str]) -> Any:
        """The value of a GET below the API root; None for 404."""
        steps = [unquote(step) for step in path.strip("/").split("/") if step]
        match steps:
            case []:
                return {"projects": "…", "series": "…"}
            case ["projects", name]:
                return next((each for key, each in self.projects.items() if name in (key, str(each["id"]))), None)
            case ["series", number]:
                return self.series.get(int(number))
            case ["series"]:
                rows = [each for each in self.series.values() if self._fits(each, query)]
                return sorted(rows, key=lambda each: each["date"], reverse=query.get("order", "").startswith("-"))
            case ["patches", number, "checks"]:
                return [each for each in self._own_rows(int(number)) if self._check_fits(each, query)]
            case ["patches"]:
                return [row for row in self._patch_rows() if self._patch_fits(row, query)]
            case ["patches", number]:
                return next((row for row in self._patch_rows() if row["id"] == int(number)), None)
            case ["covers"]:
                return [
                    {
                        "id": each["cover_letter"]["id"],
                        "msgid": each["cover_letter"]["msgid"],
                        "series": [{"id": each["id"]}],
                    }
                    for each in self.series.values()
                    if each["cover_letter"] and each["cover_letter"]["msgid"] == f"<{query.get('msgid')}>"
                ]
            case ["events"]:
                rows = [each for each in self.events if each["project"]["link_name"] == query.get("project")]
                rows = [each for each in rows if each["date"] >= query.get("since", "")]
                return sorted(rows, key=lambda each: each["date"], reverse=query.get("order", "-date").startswith("-"))
        return None

    def mbox(self, path: str) -> bytes | None:
        steps = [unquote(step) for step in path.strip("/").split("/")]
        match steps:
            case ["series", number, "mbox"] if int(number) in self.series:
                return b"\n".join(self.mails[each["msgid"].strip("<>")] for each in self.series[int(number)]["patches"])
            case ["project", _, "cover" | "patch", message_id, "mbox"]:
                return self.mails.get(message_id)
        return None

    def post(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        steps = path.strip("/").split("/")
        if not path.endswith("/"):
            return 301, None
        if headers.get("authorization") != f"Token {TOKEN}":
            return 403, {"detail": "You do not have permission to perform this action."}
        if headers.get("content-type") != "application/json":
            return 200, self._own_rows(int(steps[1]))
        value = json.loads(body)
        if int(steps[1]) not in self.states:
            return 404, {"detail": "Not found."}
        if value.get("state") not in ("pending", "success", "warning", "fail"):
            return 400, {"state": ["A check must have a state."]}
        self.clock += timedelta(seconds=1)
        row = {
            "id": len(self.checks) + 1, "patch": int(steps[1]), "user": {"id": 7, "username": self.user},
            "date": self.clock.isoformat(), "state": value["state"], "target_url": value.get("target_url"),
            "context": value.get("context", "default"), "description": value.get("description"),
        }  # fmt: skip
        self.checks.append(row)
        return 201, row

    def _fits(self, each: dict[str, Any], query: dict[str, str]) -> bool:
        project, submitter = query.get("project"), query.get("submitter")
        return (
            (project is None or each["project"]["link_name"] == project)
            and (submitter is None or str(each["submitter"]["id"]) == submitter)
            and each["date"] >= query.get("since", "")
        )

    def _patch_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "id": patch["id"],
                "msgid": patch["msgid"],
                "state": self.states[patch["id"]],
                "archived": False,
                "series": [{"id": each["id"]}],
            }
            for each in self.series.values()
            for patch in each["patches"]
        ]

    def _patch_fits(self, row: dict[str, Any], query: dict[str, str]) -> bool:
        by_series = "series" not in query or str(row["series"][0]["id"]) == query["series"]
        return by_series and ("msgid" not in query or row["msgid"] == f"<{query['msgid']}>")

    def _own_rows(self, patch_id: int) -> list[dict[str, Any]]:
        return [each for each in self.checks if each["patch"] == patch_id]

    def _check_fits(self, each: dict[str, Any], query: dict[str, str]) -> bool:
        return "user" not in query or each["user"]["username"] == query["user"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else every answer waits 40 ms for the acknowledgement of its head
    data: FakePatchwork

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.data.requests.append(("GET", self.path, {name.lower(): value for name, value in self.headers.items()}))
        parts = urlsplit(self.path)
        fault = self.data.fault("GET", self.path)
        if fault is not None and self._go_wrong(fault):
            return
        if not parts.path.startswith("/api/"):
            raw = self.data.mbox(parts.path)
            self._send(404 if raw is None else 200, raw or b"Not found", "text/plain")
            return
        _, _, version, *rest = parts.path.split("/")
        path = "/".join(rest)
        if version not in self.data.versions or (path and not path.endswith("/")):
            self._json(404, {"detail": "Not found."})
            return
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        value = self.data.answer(path, query)
        if isinstance(value, list):
            self._page(value, query)
        else:
            self._json(404 if value is None else 200, {"detail": "Not found."} if value is None else value)

    def do_POST(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.data.requests.append(("POST", self.path, headers))
        body = self.rfile.read(int(headers.get("content-length", "0")))
        fault = self.data.fault("POST", self.path)
        if fault is not None and not fault.kind.endswith("_after") and self._go_wrong(fault):
            return
        status, value = self.data.post("/".join(self.path.split("/")[3:]), headers, body)
        if fault is not None and fault.kind == "reset_after":
            self.close_connection = True
            return
        if fault is not None and fault.kind == "200_after":
            self._send(200, WALL, "text/html")
            return
        self._json(status, value)

    def _page(self, rows: list[Any], query: dict[str, str]) -> None:
        size = min(int(query.get("per_page", PAGE)), 250)
        page = int(query.get("page", "1"))
        links = [f'<{self.data.url.rstrip("/")}{self.path}>; rel="first"']
        if page * size < len(rows):
            parts = urlsplit(self.path)
            pairs = [(name, value) for name, value in parse_qsl(parts.query) if name != "page"]
            following = f"{self.data.url.rstrip('/')}{parts.path}?{urlencode([*pairs, ('page', page + 1)])}"
            links.insert(0, f'<{following}>; rel="next"')
        self._json(200, rows[(page - 1) * size : page * size], {"Link": ", ".join(links)})

    def _go_wrong(self, fault: Fault) -> bool:
        match fault.kind:
            case "wall":
                self._send(403, WALL, "text/html; charset=utf-8")
            case "html":
                self._send(200, WALL, "text/html")
            case "text":
                self._send(200, b"maintenance", "application/json")
            case "429" | "502" | "503":
                self._send(int(fault.kind), b"<html>later</html>", "text/html", fault.headers)
            case "reset":
                self.close_connection = True
            case "elsewhere":
                self._send(302, b"", "text/plain", {"Location": "http://localhost.example.org/api/"})
            case "drip":
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "1000000")
                self.end_headers()
                self.close_connection = True
                with contextlib.suppress(OSError):
                    for _ in range(200):
                        self.wfile.write(b" ")
                        self.wfile.flush()
                        time.sleep(0.01)
            case "endless":
                parts = urlsplit(self.path)
                page = int(parse_qs(parts.query).get("page", ["1"])[0]) + 1
                link = f'<{self.data.url.rstrip("/")}{parts.path}?page={page}>; rel="next"'
                self._json(200, [], {"Link": link})
            case _:
                return False
        return True

    def _json(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(value).encode(), "application/json", headers)

    def _send(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def patchwork_server(data: FakePatchwork | None = None) -> Iterator[FakePatchwork]:
    """A patchwork on a free port of loopback; its `url` is set."""
    data = data or FakePatchwork()
    handler = type("Handler", (_Handler,), {"data": data})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    data.url = f"http://127.0.0.1:{server.server_address[1]}/"
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True)
    thread.start()
    try:
        yield data
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Post:
    """What a mail server received."""

    sender: str
    recipients: list[str]
    raw: bytes


@dataclass
class MailServer:
    """A real SMTP server; `answer` (from the handler's point of view) can refuse or drop."""

    port: int = 0
    posts: list[Post] = field(default_factory=list)
    answer: Callable[[Post], str | None] = lambda post: None
    refuse_recipients: tuple[str, ...] = ()

    async def handle_RCPT(  # noqa: N802 - the name is aiosmtpd's
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        if address in self.refuse_recipients:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802 - the name is aiosmtpd's
        self, server: Any, session: Any, envelope: Any
    ) -> str:
        post = Post(sender=envelope.mail_from, recipients=list(envelope.rcpt_tos), raw=envelope.content)
        said = self.answer(post)
        if said is None or said.startswith("250") or said == "drop_after":
            self.posts.append(post)
        if said in ("drop", "drop_after"):
            server.transport.close()
            return "421 gone"
        return said or "250 OK"


@contextlib.contextmanager
def mail_server() -> Iterator[MailServer]:
    """An SMTP server (aiosmtpd) on a free port of loopback."""
    from aiosmtpd.controller import Controller

    class OnFreePort(Controller):
        def _trigger_server(self) -> None:
            self.port = handler.port = self.server.sockets[0].getsockname()[1]
            super()._trigger_server()

    handler = MailServer()
    controller = OnFreePort(handler, hostname="127.0.0.1", port=0, ready_timeout=10)
    controller.start()
    try:
        yield handler
    finally:
        controller.stop(no_assert=True)


@dataclass
class ImapServer:
    """As much of IMAP4rev1 as a reader needs: LOGIN, EXAMINE, UID SEARCH, UID FETCH, LOGOUT; no changes."""

    mails: list[bytes] = field(default_factory=list)
    validity: int = 7
    port: int = 0
    commands: list[str] = field(default_factory=list)

    def answer(self, line: str) -> list[bytes]:
        """The untagged answers to a command."""
        match line.upper().split():
            case ["EXAMINE", *_]:
                return [b"* %d EXISTS" % len(self.mails), b"* OK [UIDVALIDITY %d] ok" % self.validity]
            case ["UID", "SEARCH", "UID", span]:
                first = int(span.split(":")[0])
                return [b"* SEARCH " + b" ".join(b"%d" % uid for uid in self._from(first))]
            case ["UID", "SEARCH", "SINCE", _]:
                return [b"* SEARCH " + b" ".join(b"%d" % uid for uid in range(1, len(self.mails) + 1))]
            case ["UID", "FETCH", uid, what] if "SIZE" in what:
                return [
                    b"* %s FETCH (UID %s RFC822.SIZE %d)" % (uid.encode(), uid.encode(), len(self.mails[int(uid) - 1]))
                ]
            case ["UID", "FETCH", uid, "(BODY.PEEK[])"]:
                raw = self.mails[int(uid) - 1]
                return [b"* %s FETCH (UID %s BODY[] {%d}\r\n%s)" % (uid.encode(), uid.encode(), len(raw), raw)]
        return []

    def _from(self, first: int) -> list[int]:
        """`n:*` always names the last mail too, as the standard says."""
        last = len(self.mails)
        return sorted({*range(first, last + 1), *([last] if last else [])})


@contextlib.contextmanager
def imap_server() -> Iterator[ImapServer]:
    """An IMAP server on a free port of loopback."""
    import socketserver

    data = ImapServer()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"* OK ready\r\n")
            for raw in self.rfile:
                tag, _, line = raw.decode().strip().partition(" ")
                data.commands.append(line)
                allowed = line.upper().startswith(
                    ("CAPABILITY", "LOGIN", "EXAMINE", "UID SEARCH", "UID FETCH", "LOGOUT")
                )
                caps = [b"* CAPABILITY IMAP4rev1"] if line.upper() == "CAPABILITY" else []
                for answer in (*caps, *data.answer(line)):
                    self.wfile.write(answer + b"\r\n")
                self.wfile.write(f"{tag} {'OK' if allowed else 'BAD'} done\r\n".encode())
                if line.upper() == "LOGOUT":
                    return

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    data.port = server.server_address[1]
    threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True).start()
    try:
        yield data
    finally:
        server.shutdown()
        server.server_close()
