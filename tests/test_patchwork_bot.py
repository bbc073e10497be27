"""The patchwork bot: every series once, the newest only, every patch its own verdict, whatever the server does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest
from bots import FakeReviewer, log_text, make_desk, make_voice, series_mails
from servers import TOKEN, FakePatchwork, Fault, patchwork_server
from test_ledger import Clock

from reviewbot.delivery.checks import CheckSender
from reviewbot.delivery.clock import StopAsked
from reviewbot.delivery.patchwork import Patchwork, Target, to_target
from reviewbot.delivery.patchwork_records import to_series
from reviewbot.delivery.settings import BotSection, ListSettings, PatchworkSection
from reviewbot.errors import FetchError, GitError, InputError, UsageError
from reviewbot.findings.review import Outcome
from reviewbot.frontends.isolation import ReviewFailedError, review_apart
from reviewbot.frontends.patchwork_bot import read_mails
from reviewbot.frontends.patchwork_watch import PatchworkWatcher
from reviewbot.frontends.watching import Desk, watch
from reviewbot.http import Client, Secret
from reviewbot.series.from_mail import find_series

LOUD = ListSettings(mute=False, dry_run=False, check=True, project="demo")


@pytest.fixture
def server() -> Iterator[FakePatchwork]:
    with patchwork_server() as data:
        yield data


@dataclass
class Bot:
    """A watcher with what it works with."""

    watcher: PatchworkWatcher
    desk: Desk
    reviewer: FakeReviewer
    clock: Clock

    def poll(self) -> None:
        self.clock.time += 200_000
        self.watcher.poll()


def make_client(url: str) -> Patchwork:
    client = Client(version="1", contact="x", token=Secret(TOKEN), token_origin=url, sleep=lambda seconds: None)
    return Patchwork(url=url, client=client)


def make_bot(server: FakePatchwork, directory: Path, reviewer: FakeReviewer | None = None, **settings: object) -> Bot:
    remote = make_client(server.url)
    section = PatchworkSection(url=server.url, user="bot", target_url="https://ci.example.org/{series}/{patch}")
    desk = make_desk(directory, {"check": CheckSender({server.url: remote}, "bot")}, BotSection(attempts=3))
    reviewer = reviewer or FakeReviewer()
    where = ListSettings(**{**{name: getattr(LOUD, name) for name in LOUD.__slots__}, **settings})  # type: ignore[arg-type]
    watcher = PatchworkWatcher(
        desk, remote, section, {"demo": where}, make_voice(), read=read_mails, find=find_series, review=reviewer
    )
    assert isinstance(desk.clock, Clock)
    return Bot(watcher=watcher, desk=desk, reviewer=reviewer, clock=desk.clock)


def add(
    server: FakePatchwork, version: int = 1, count: int = 2, name: str | None = "Write the frame in one block"
) -> int:
    """A series on the server, as series_mails makes it."""
    cover, *patches = series_mails(count, version)
    named = [
        (message_id, f"[v{version},{at}/{count}] Step {at}", raw) for at, (message_id, _, raw) in enumerate(patches, 1)
    ]
    return server.add_series(name, named, cover=(cover[0], cover[2]), version=version)


def test_every_patch_gets_pending_then_its_own_verdict(server: FakePatchwork, tmp_path: Path) -> None:
    number = add(server)
    bot = make_bot(server, tmp_path, FakeReviewer(guilty={2: ("f1",)}))
    bot.poll()
    first, second = server.patch_ids(number)
    assert [state for state, _ in server.shown(first)] == ["pending", "success"]
    assert [state for state, _ in server.shown(second)] == ["pending", "fail"]
    assert "traced_call at arch/powerpc/kernel/frame.c:14" in server.shown(second)[1][1]
    assert server.checks[-1]["target_url"] == f"https://ci.example.org/{number}/{second}"


def test_the_cover_letter_is_fetched_and_patches_are_in_order(server: FakePatchwork, tmp_path: Path) -> None:
    number = add(server, count=12)
    server.series[number]["patches"].reverse()
    bot = make_bot(server, tmp_path)
    bot.poll()
    (series,) = bot.reviewer.seen
    assert series.cover is not None and [patch.index for patch in series.patches] == list(range(1, 13))


def test_nothing_is_said_again_by_later_rounds_or_after_a_restart(server: FakePatchwork, tmp_path: Path) -> None:
    add(server)
    bot = make_bot(server, tmp_path)
    for _ in range(3):
        bot.poll()
    make_bot(server, tmp_path).poll()
    assert len(server.checks) == 4 and len(bot.reviewer.seen) == 1


def test_it_catches_up_over_many_pages_and_keeps_its_place_by_event(server: FakePatchwork, tmp_path: Path) -> None:
    bot = make_bot(server, tmp_path, check=False)
    add(server)
    bot.poll()
    for _ in range(70):  # more than two pages, all at the same second as the place that is kept
        server.clock = server.clock.replace(minute=server.clock.minute)
        server.series[100 + len(server.series)] = {
            **server.series[100],
            "id": 100 + len(server.series),
            "submitter": {"id": 0, "name": None, "email": ""},
        }
        server.add_event(99 + len(server.series))
    bot.poll()
    assert len(bot.reviewer.seen) == 71
    bot.poll()
    assert len(bot.reviewer.seen) == 71


def test_only_the_newest_version_is_reviewed(server: FakePatchwork, tmp_path: Path) -> None:
    old, new = add(server, 1), add(server, 2)
    bot = make_bot(server, tmp_path)
    bot.poll()
    assert [series.version for series in bot.reviewer.seen] == [2]
    assert not any(server.shown(each) for each in server.patch_ids(old)) and all(
        server.shown(each) for each in server.patch_ids(new)
    )
    assert "version 2 is out" in log_text(bot.desk)


def test_a_pending_check_does_not_stand_for_ever_on_an_outdated_version(server: FakePatchwork, tmp_path: Path) -> None:
    number = add(server, 1)
    bot = make_bot(server, tmp_path, FakeReviewer(trouble=[GitError("no such object")]))
    bot.poll()
    assert server.shown(server.patch_ids(number)[0])[-1][0] == "pending"
    add(server, 2)
    bot.poll()
    assert server.shown(server.patch_ids(number)[0])[-1] == ("warning", "not reviewed: version 2 is out")


def test_a_series_set_aside_by_people_is_left_alone(server: FakePatchwork, tmp_path: Path) -> None:
    number = add(server)
    for patch_id in server.patch_ids(number):
        server.states[patch_id] = "superseded"
    bot = make_bot(server, tmp_path)
    bot.poll()
    assert server.checks == [] and bot.reviewer.seen == []


def test_states_that_an_instance_made_up_count_as_active(server: FakePatchwork, tmp_path: Path) -> None:
    number = add(server)
    for patch_id in server.patch_ids(number):
        server.states[patch_id] = "needs-ack"
    make_bot(server, tmp_path).poll()
    assert len(server.checks) == 4


@pytest.mark.parametrize(
    ("outcome", "reason", "expected"),
    [
        (Outcome.NOT_APPLIED, "hunk 1 of a.c does not fit v6.1", ("warning", "did not apply: hunk 1 of a.c does not fit v6.1")),  # noqa: E501
        (Outcome.NOT_KERNEL, "it is for xfsprogs", ("warning", "not a kernel patch: it is for xfsprogs")),
        (Outcome.NOTHING_TO_REVIEW, "", ("success", "no user access touched")),
        (Outcome.UNREADABLE, "the diff is cut off", ("warning", "could not be read: the diff is cut off")),
    ],
)  # fmt: skip
def test_what_could_not_be_reviewed_is_a_verdict_with_its_reason(
    server: FakePatchwork, tmp_path: Path, outcome: Outcome, reason: str, expected: tuple[str, str]
) -> None:
    number = add(server)
    make_bot(server, tmp_path, FakeReviewer(outcome=outcome, reason=reason)).poll()
    assert [server.shown(each)[-1] for each in server.patch_ids(number)] == [expected, expected]


def test_a_mail_without_a_patch_is_told_and_leaves_no_pending(server: FakePatchwork, tmp_path: Path) -> None:
    number = server.add_series(
        "odd", [("odd@x", "odd", b"From: a@b.org\nMessage-ID: <odd@x>\nSubject: [PATCH] odd\n\nno diff\n")]
    )
    bot = make_bot(server, tmp_path)
    bot.poll()
    (patch_id,) = server.patch_ids(number)
    assert server.shown(patch_id)[-1][0] in ("warning", "success") and server.shown(patch_id)[-1][0] != "pending"


@pytest.mark.parametrize("name", [None, ""])
def test_a_series_without_a_name_is_no_version_of_anything(
    server: FakePatchwork, tmp_path: Path, name: str | None
) -> None:
    server.add_series(name, [(m, "x", raw) for m, _, raw in series_mails(1, 1, with_cover=False)], submitter="a@x")
    bot = make_bot(server, tmp_path)
    bot.poll()
    assert len(bot.reviewer.seen) == 1


def test_a_broken_review_is_tried_again_then_told_without_its_insides(server: FakePatchwork, tmp_path: Path) -> None:
    number = add(server)
    bot = make_bot(server, tmp_path, FakeReviewer(trouble=[ReviewFailedError("/secret/path broke")] * 5))
    for _ in range(6):
        bot.poll()
    assert len(bot.reviewer.seen) == 3
    state, words = server.shown(server.patch_ids(number)[0])[-1]
    assert state == "warning" and words.startswith("could not be reviewed") and "/secret" not in words


def test_a_series_that_ends_the_process_each_time_is_given_up(server: FakePatchwork, tmp_path: Path) -> None:
    number = add(server)
    bot = make_bot(server, tmp_path, FakeReviewer(trouble=[StopAsked()]))
    with pytest.raises(StopAsked):
        bot.poll()
    bot.desk.ledger.change("UPDATE job SET attempts = 6, due_at = 0")  # as six killed lives would leave it
    bot.poll()
    assert len(bot.reviewer.seen) == 1
    assert server.shown(server.patch_ids(number)[0])[-1][1].startswith("could not be reviewed")


def test_an_input_error_is_worded_for_the_author(server: FakePatchwork, tmp_path: Path) -> None:
    number = add(server)
    bot = make_bot(server, tmp_path, FakeReviewer(trouble=[InputError("patch 2 is cut off")] * 3))
    for _ in range(4):
        bot.poll()
    assert server.shown(server.patch_ids(number)[0])[-1] == ("warning", "could not be reviewed: patch 2 is cut off")


def test_a_stop_in_the_middle_rolls_back_and_the_next_life_finishes(server: FakePatchwork, tmp_path: Path) -> None:
    number = add(server)
    bot = make_bot(server, tmp_path, FakeReviewer(trouble=[StopAsked()]))
    with pytest.raises(StopAsked):
        bot.poll()
    make_bot(server, tmp_path).poll()
    assert [state for state, _ in server.shown(server.patch_ids(number)[0])] == ["pending", "success"]


@pytest.mark.parametrize("kind", ["wall", "html", "502", "429", "text", "reset", "drip"])
@pytest.mark.parametrize("path", ["events/", "/series/", "projects/", "mbox"])
def test_trouble_with_the_server_is_told_and_loses_nothing(
    server: FakePatchwork, tmp_path: Path, kind: str, path: str
) -> None:
    number = add(server)
    bot = make_bot(server, tmp_path)
    if kind == "drip":
        from reviewbot.http import HttpLimits

        bot.watcher._server.client.limits = HttpLimits(total_timeout_s=0.05, attempts=2)
    server.faults.append(Fault(kind, path=path, times=5))
    with pytest.raises(FetchError):
        bot.poll()
    server.faults.clear()
    bot.poll()
    assert [server.shown(each)[-1][0] for each in server.patch_ids(number)] == ["success", "success"]
    assert len(server.checks) == 4


def test_a_wall_is_loud_and_once_ends_with_3(server: FakePatchwork, tmp_path: Path) -> None:
    add(server)
    bot = make_bot(server, tmp_path)
    server.faults.append(Fault("wall", times=99))
    assert watch(bot.desk, "demo", bot.watcher.poll, once=True) == 3
    assert "blocked" in bot.desk.pulse.trouble and "BlockedError" in log_text(bot.desk)
    server.faults.clear()
    bot.clock.time += 1000
    assert watch(bot.desk, "demo", bot.watcher.poll, once=True) == 0 and bot.desk.pulse.trouble == ""


def test_pages_without_end_are_cut(server: FakePatchwork, tmp_path: Path) -> None:
    add(server)
    bot = make_bot(server, tmp_path)
    bot.poll()
    server.faults.append(Fault("endless", path="events/", times=1000))
    with pytest.raises(FetchError, match="pages without end"):
        bot.poll()
    assert len(server.requests) < 600


def test_an_unknown_project_is_told_instead_of_looking_quiet(server: FakePatchwork, tmp_path: Path) -> None:
    bot = make_bot(server, tmp_path, project="no-such")
    with pytest.raises(FetchError, match="has no project 'no-such'"):
        bot.poll()


def test_a_server_of_version_1_2_is_understood(tmp_path: Path) -> None:
    with patchwork_server(FakePatchwork(versions=("1.2",))) as old:
        add(old)
        make_bot(old, tmp_path).poll()
        assert len(old.checks) == 4
        assert all("/api/1.2/" in path for method, path, _ in old.requests if method == "POST")


def test_a_server_without_patchwork_is_told(tmp_path: Path) -> None:
    with patchwork_server(FakePatchwork(versions=())) as other, pytest.raises(FetchError, match="has no patchwork API"):
        make_bot(other, tmp_path).poll()


def test_mute_asks_nothing_and_dry_run_posts_nothing(server: FakePatchwork, tmp_path: Path) -> None:
    add(server)
    make_bot(server, tmp_path / "a", mute=True).poll()
    assert server.requests == []
    bot = make_bot(server, tmp_path / "b", dry_run=True)
    bot.poll()
    assert server.checks == [] and len(bot.reviewer.seen) == 1
    assert {item.state.value for item in bot.desk.outbox.items()} == {"dry_run"}


def test_a_list_is_silent_until_told_otherwise() -> None:
    assert ListSettings().mute and ListSettings().dry_run and not ListSettings().check and not ListSettings().mail


def test_a_delay_lets_people_see_the_patch_first(server: FakePatchwork, tmp_path: Path) -> None:
    add(server)
    bot = make_bot(server, tmp_path, delay_minutes=60)
    bot.watcher.poll()
    assert bot.reviewer.seen == []
    bot.clock.time += 3601
    bot.watcher.poll()
    assert len(bot.reviewer.seen) == 1


def test_every_post_ends_in_a_slash_and_says_what_it_is(server: FakePatchwork, tmp_path: Path) -> None:
    add(server)
    make_bot(server, tmp_path).poll()
    posts = [(path, headers) for method, path, headers in server.requests if method == "POST"]
    assert posts and all(
        path.endswith("/checks/") and headers["content-type"] == "application/json" for path, headers in posts
    )


def test_two_watchers_of_one_server_do_not_run_side_by_side(server: FakePatchwork, tmp_path: Path) -> None:
    bot = make_bot(server, tmp_path)
    with (
        bot.desk.ledger.only_one("watch-demo", wait=False),
        pytest.raises(UsageError, match="another reviewbot already watches"),
    ):
        watch(make_desk(tmp_path), "demo", bot.watcher.poll, once=True)


def test_next_links_are_followed_as_they_are(server: FakePatchwork) -> None:
    for _ in range(130):
        server.add_event(100)
    events = list(make_client(server.url).completed("demo", datetime(2026, 1, 1)))
    assert len(events) == 130 and len({event.id for event in events}) == 130
    queries = [path.partition("?")[2] for _, path, _ in server.requests if "/events/" in path]
    assert all(query.count("project=") == 1 for query in queries) and len(queries) == 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("123", (None, Target(series_id=123))),
        ("https://p.example.org/series/5/mbox/", ("https://p.example.org/", Target(series_id=5))),
        ("https://p.example.org/sub/api/1.3/series/5/", ("https://p.example.org/sub/", Target(series_id=5))),
        ("https://p.example.org/api/patches/7/", ("https://p.example.org/", Target(patch_id=7))),
        ("https://p.example.org/patch/7/", ("https://p.example.org/", Target(patch_id=7))),
        ("https://p.example.org/project/x/list/?series=9&state=*", ("https://p.example.org/", Target(series_id=9))),
        ("https://p.example.org/project/x/patch/a%2Fb@c.d/", ("https://p.example.org/", Target(message_id="a/b@c.d"))),
        ("https://p.example.org/project/x/cover/a@c.d/mbox/", ("https://p.example.org/", Target(message_id="a@c.d"))),
        ("<a@c.d>", (None, Target(message_id="a@c.d"))),
    ],
)  # fmt: skip
def test_what_names_a_series_or_patch(text: str, expected: tuple[str | None, Target]) -> None:
    assert to_target(text) == expected


@pytest.mark.parametrize(
    "text", ["", "-1", "https://p.example.org/", "https://p.example.org/project/x/list/", "ftp://x/series/5/"]
)
def test_what_names_nothing_is_told(text: str) -> None:
    with pytest.raises(UsageError):
        to_target(text)


def test_a_patch_or_cover_leads_to_its_series(server: FakePatchwork) -> None:
    number = add(server)
    client = make_client(server.url)
    assert client.resolve(Target(patch_id=server.patch_ids(number)[1])) == number
    assert client.resolve(Target(message_id="v1-2@example.org")) == number
    assert client.resolve(Target(message_id="v1-0@example.org")) == number
    with pytest.raises(FetchError, match="knows no series"):
        client.resolve(Target(message_id="no@where"))


@pytest.mark.parametrize(
    "value",
    [[], None, {}, {"id": "5"}, {"id": 5, "patches": {}}, {"id": 5, "date": "yesterday", "submitter": {"id": 1}}],
)
def test_json_of_another_form_is_an_error_and_no_crash(value: object) -> None:
    with pytest.raises(FetchError, match="documented form"):
        to_series(value)


# A review in a process of its own


def test_a_review_apart_gives_its_result_and_its_errors(tmp_path: Path) -> None:
    from bots import to_review

    (series,) = find_series(read_mails(series_mails(1, with_cover=False)[0][2], "x"))
    made = review_apart(lambda: to_review(series, {1: ("f",)}), Clock(), timeout_s=30, memory_mb=512)
    assert made == to_review(series, {1: ("f",)})

    def broken() -> object:
        raise InputError("patch 1 is cut off")

    with pytest.raises(InputError, match="cut off"):
        review_apart(broken, Clock(), timeout_s=30, memory_mb=512)  # type: ignore[arg-type]


def test_who_waits_for_a_review_apart_hears_that_it_goes_on() -> None:
    import time

    ticks: list[int] = []
    with pytest.raises(ReviewFailedError):
        review_apart(lambda: time.sleep(60), Clock(), timeout_s=0.5, memory_mb=256, tick=lambda: ticks.append(1))  # type: ignore[arg-type]
    assert ticks


def test_a_review_that_crashes_hangs_or_eats_memory_ends_alone(capfd: pytest.CaptureFixture[str]) -> None:
    import os
    import time

    cases = (
        (lambda: os._exit(7), "ended without a result"),
        (lambda: time.sleep(60), "took longer than 0.3 s"),
        (lambda: bytearray(1 << 40), "needs more than 256 MB"),
        (lambda: {}["x"], "a bug in reviewbot"),
    )
    for work, words in cases:
        with pytest.raises(ReviewFailedError, match=words):
            review_apart(work, Clock(), timeout_s=0.3 if "longer" in words else 30, memory_mb=256)  # type: ignore[arg-type]
