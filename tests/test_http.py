"""HTTP: who we are is said, waits and sizes are bounded, walls are told, secrets stay."""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Iterator

import pytest
from servers import TOKEN, FakePatchwork, Fault, patchwork_server

from reviewbot.errors import FetchError, InputError
from reviewbot.http import BlockedError, Client, HttpLimits, Secret, StatusError, UnreachableError
from reviewbot.mail.archive import Archive, Mailed, to_mailed


class Pauses(list[float]):
    """A sleep that only remembers."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def server() -> Iterator[FakePatchwork]:
    with patchwork_server() as data:
        yield data


def make_client(server: FakePatchwork, pauses: Pauses | None = None, **limits: float) -> Client:
    return Client(
        version="9.9",
        contact="https://example.org/who",
        token=Secret(TOKEN),
        token_origin=server.url,
        limits=HttpLimits(**limits),  # type: ignore[arg-type]
        sleep=pauses if pauses is not None else Pauses(),
    )


def test_user_agent_names_version_and_contact(server: FakePatchwork) -> None:
    make_client(server).get(server.url + "api/1.3/")
    assert server.requests[0][2]["user-agent"] == "reviewbot/9.9 (+https://example.org/who)"


@pytest.mark.parametrize("kind", ["429", "502", "503", "reset"])
def test_passing_trouble_is_retried_with_growing_pauses(server: FakePatchwork, kind: str) -> None:
    server.faults.append(Fault(kind, times=3))
    pauses = Pauses()
    assert make_client(server, pauses).get(server.url + "api/1.3/").status == 200
    assert len(pauses) == 3 and pauses == sorted(pauses)


def test_retry_after_is_obeyed(server: FakePatchwork) -> None:
    server.faults.append(Fault("429", headers={"Retry-After": "120"}))
    pauses = Pauses()
    make_client(server, pauses).get(server.url + "api/1.3/")
    assert pauses == [120.0]


def test_a_retry_after_beyond_our_patience_ends_the_request_and_is_handed_on(server: FakePatchwork) -> None:
    server.faults.append(Fault("429", headers={"Retry-After": "7200"}))
    pauses = Pauses()
    with pytest.raises(UnreachableError, match="pause of 7200 s") as caught:
        make_client(server, pauses).get(server.url + "api/1.3/")
    assert caught.value.retry_after_s == 7200 and pauses == []


@pytest.mark.parametrize("asked", ["soon", "-5", "", "Thu, 01 Jan 1970 00:00:00 GMT", "9" * 400])
def test_an_odd_retry_after_does_no_harm(server: FakePatchwork, asked: str) -> None:
    server.faults.append(Fault("503", headers={"Retry-After": asked}))
    try:
        make_client(server).get(server.url + "api/1.3/")
    except UnreachableError as error:
        assert error.retry_after_s <= 86400


def test_it_gives_up_in_the_end(server: FakePatchwork) -> None:
    server.faults.append(Fault("502", times=99))
    with pytest.raises(UnreachableError, match="answered 502 5 times"):
        make_client(server).get(server.url + "api/1.3/")
    assert len(server.requests) == 5


def test_a_bot_wall_is_blocked_and_not_no_data(server: FakePatchwork) -> None:
    server.faults.append(Fault("wall", times=9))
    with pytest.raises(BlockedError, match="blocked"):
        make_client(server).get_json(server.url + "api/1.3/")


def test_html_behind_a_200_is_asked_again_then_blocked(server: FakePatchwork) -> None:
    server.faults.append(Fault("html", times=1))
    assert make_client(server).get_json(server.url + "api/1.3/")[0]
    server.faults.append(Fault("html", times=2))
    with pytest.raises(BlockedError, match="web page instead of JSON"):
        make_client(server).get_json(server.url + "api/1.3/")


def test_text_that_is_not_json_is_an_error(server: FakePatchwork) -> None:
    server.faults.append(Fault("text", times=2))
    with pytest.raises(FetchError, match="not JSON"):
        make_client(server).get_json(server.url + "api/1.3/")


def test_a_refusal_in_json_is_no_wall(server: FakePatchwork) -> None:
    with pytest.raises(StatusError) as caught:
        Client(version="1", contact="").post_json(server.url + "api/1.3/patches/1/checks/", {})
    assert caught.value.status == 403 and not isinstance(caught.value, BlockedError)


def test_a_body_that_drips_ends_at_the_deadline(server: FakePatchwork) -> None:
    server.faults.append(Fault("drip"))
    with pytest.raises(UnreachableError, match=r"longer than 0\.05 s"):
        make_client(server, total_timeout_s=0.05, attempts=1).get(server.url + "api/1.3/")


def test_a_body_without_end_is_cut(server: FakePatchwork) -> None:
    server.mails["big@x"] = b"x" * 5000
    with pytest.raises(FetchError, match="more than 1000 bytes"):
        make_client(server, size_bytes=1000).get(server.url + "project/demo/patch/big@x/mbox/")


def test_a_redirect_to_another_host_is_not_followed(server: FakePatchwork) -> None:
    server.faults.append(Fault("elsewhere"))
    with pytest.raises(FetchError, match="redirects to another host"):
        make_client(server).get(server.url + "api/1.3/")


def test_the_token_goes_to_its_own_server_only(server: FakePatchwork) -> None:
    client = make_client(server)
    client.get(server.url + "api/1.3/")
    with patchwork_server() as other:
        client.get(other.url + "api/1.3/")
        assert "authorization" not in other.requests[0][2]
    assert server.requests[0][2]["authorization"] == f"Token {TOKEN}"


def test_a_post_is_never_repeated(server: FakePatchwork) -> None:
    server.faults.append(Fault("reset_after", method="POST"))
    server.states[1] = "new"
    with pytest.raises(UnreachableError):
        make_client(server).post_json(server.url + "api/1.3/patches/1/checks/", {"state": "success"})
    assert len(server.checks) == 1


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/x", "http://user:hunter2@127.0.0.1:1/x?token=hunter2", "ftp://x", "http://["]
)
def test_no_message_holds_a_secret(server: FakePatchwork, url: str) -> None:
    with pytest.raises(FetchError) as caught:
        make_client(server, attempts=1).get(url)
    text = f"{caught.value} {caught.value!r}"
    assert "hunter2" not in text and TOKEN not in text


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = Secret(TOKEN)
    assert TOKEN not in f"{secret} {secret!r} {[secret]}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<a.b@example.org>", Mailed(message_id="a.b@example.org")),
        ("20210227011259.11992-1-x@example.org", Mailed(message_id="20210227011259.11992-1-x@example.org")),
        ("https://lore.kernel.org/r/a@b.org", Mailed(message_id="a@b.org", inbox="https://lore.kernel.org/all/")),
        ("https://lore.kernel.org/all/a@b.org/T/#u", Mailed(message_id="a@b.org", inbox="https://lore.kernel.org/all/")),
        ("https://lore.kernel.org/linux-mm/a%2Fc@b.org/t.mbox.gz", Mailed(message_id="a/c@b.org", inbox="https://lore.kernel.org/linux-mm/")),
        ("https://patchwork.example.org/project/x/patch/a@b.org/", None),
        ("https://example.org/series/5/", None),
        ("series.mbox", None),
        ("../dir/file", None),
        ("-", None),
    ],
)  # fmt: skip
def test_what_names_a_mail_in_an_archive(text: str, expected: Mailed | None) -> None:
    assert to_mailed(text) == expected


def test_a_thread_is_fetched_once_and_kept(server: FakePatchwork, tmp_path: object) -> None:
    import pathlib

    data = gzip.compress(b"From a Thu Jan  1 00:00:00 1970\nSubject: x\n\n")
    server.mbox = lambda path: data if path == "/all/a%2Fb@x.org/t.mbox.gz" else None  # type: ignore[method-assign]
    client = make_client(server)
    archive = Archive(url=server.url + "all/", client=client, cache=pathlib.Path(str(tmp_path)) / "c")
    assert archive.thread("a/b@x.org") == data == archive.thread("a/b@x.org")
    assert len(server.requests) == 1
    archive.cache_s = 0
    assert archive.thread("a/b@x.org") == data and len(server.requests) == 2


def test_an_archive_tells_missing_from_blocked(server: FakePatchwork) -> None:
    archive = Archive(url=server.url + "all/", client=make_client(server))
    with pytest.raises(InputError, match="has no mail with the Message-ID no@where"):
        archive.thread("no@where")
    server.faults.append(Fault("html"))
    with pytest.raises(BlockedError):
        archive.thread("no@where")
    server.mbox = lambda path: b"not gzip"  # type: ignore[method-assign]
    with pytest.raises(FetchError, match="not a gzip'd mbox"):
        archive.thread("no@where")
