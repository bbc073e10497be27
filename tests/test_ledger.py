"""The ledger and the outbox: written down before it is said, said once, lost never, whatever happens in between."""

from __future__ import annotations

import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import reviews
from servers import TOKEN, FakePatchwork, Fault, patchwork_server

from reviewbot.delivery.checks import CheckSender, check_draft
from reviewbot.delivery.clock import StopAsked, SystemClock
from reviewbot.delivery.credentials import read_secret
from reviewbot.delivery.jobs import Jobs
from reviewbot.delivery.ledger import Ledger
from reviewbot.delivery.lineage import already_said, newer_version, note_said, note_series, series_key, tokens_of
from reviewbot.delivery.metrics import Pulse, backlog, health_line, metrics_text, write_metrics
from reviewbot.delivery.outbox import (
    MAX_ATTEMPTS,
    Draft,
    Evidence,
    Item,
    Outbox,
    PostponedError,
    RefusedError,
    State,
    UncertainError,
)
from reviewbot.delivery.patchwork import Patchwork
from reviewbot.delivery.patchwork_records import CheckState
from reviewbot.errors import ConfigError, DeliveryError
from reviewbot.http import Client, Secret


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.time = 1_000_000.0
        self.is_stopping = False

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        if self.is_stopping:
            raise StopAsked


class World:
    """A receiver: `there` is what arrived; `trouble` is raised by the next sends (before or after arrival)."""

    settle_s = 60.0

    def __init__(self) -> None:
        self.there: list[str] = []
        self.trouble: list[tuple[str, DeliveryError]] = []
        self.evidence: Evidence | None = None
        self.stale: str | None = None

    def find(self, item: Item) -> Evidence:
        if self.evidence is not None:
            return self.evidence
        return Evidence.SENT if item.draft.key in self.there else Evidence.NOT_SENT

    def overtaken(self, item: Item) -> str | None:
        return self.stale

    def send(self, item: Item, begin: Callable[[], None]) -> str:
        when, error = self.trouble.pop(0) if self.trouble else ("", None)
        if error is not None and when == "early":
            raise error
        begin()
        if error is not None and when == "before":
            raise error
        self.there.append(item.draft.key)
        if error is not None:
            raise error
        return f"remote {item.id}"


def draft(key: str = "k", text: str = "hello") -> Draft:
    return Draft(
        channel="test", place="here", key=key, series="s", subject="A subject", reader="a@x", payload={"text": text}
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "state")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def outbox(ledger: Ledger, clock: Clock, world: World) -> Outbox:
    return Outbox(ledger, clock, {"test": world})


def states(outbox: Outbox) -> list[State]:
    return [item.state for item in reversed(outbox.items())]


def test_files_belong_to_the_owner_alone(ledger: Ledger) -> None:
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(ledger.directory.stat().st_mode) == 0o700


def test_what_is_put_is_sent_once(outbox: Outbox, world: World) -> None:
    outbox.put(draft())
    assert outbox.deliver() == 1 and outbox.deliver() == 0
    assert world.there == ["k"] and outbox.items()[0].remote.startswith("remote")


def test_the_same_word_is_not_put_again_but_a_new_one_is(outbox: Outbox) -> None:
    assert outbox.put(draft()) is not None
    assert outbox.put(draft()) is None
    outbox.deliver()
    assert outbox.put(draft()) is None
    assert outbox.put(draft(text="other")) is not None
    assert outbox.put(draft()) is not None  # back to the first: that is news again


def test_a_newer_word_replaces_one_that_was_not_sent_yet(outbox: Outbox, world: World) -> None:
    outbox.put(draft(text="pending"))
    outbox.put(draft(text="verdict"))
    assert outbox.deliver() == 1
    assert states(outbox) == [State.WITHDRAWN, State.SENT]


def test_a_slot_for_one_word_stays_filled(outbox: Outbox) -> None:
    assert outbox.put(draft(), once=True) is not None
    assert outbox.put(draft(text="other"), once=True) is None


def test_a_dry_run_is_kept_but_never_sent(outbox: Outbox, world: World) -> None:
    assert outbox.put(draft(), dry_run=True) is not None
    assert outbox.put(draft(), dry_run=True) is None
    assert outbox.deliver() == 0 and world.there == [] and states(outbox) == [State.DRY_RUN]
    assert outbox.put(draft()) is not None  # the real thing is still to be said


def test_what_could_not_go_out_goes_later(outbox: Outbox, world: World, clock: Clock) -> None:
    world.trouble = [("early", PostponedError("no network", 500.0))]
    outbox.put(draft())
    outbox.deliver()
    assert states(outbox) == [State.PENDING] and outbox.items()[0].note == "no network"
    clock.time += 499
    assert outbox.deliver() == 0
    clock.time += 2
    assert outbox.deliver() == 1 and world.there == ["k"]


def test_a_refusal_for_good_is_kept_with_its_reason(outbox: Outbox, world: World) -> None:
    world.trouble = [("before", RefusedError("no such user"))]
    outbox.put(draft())
    outbox.deliver()
    assert states(outbox) == [State.FAILED] and outbox.items()[0].note == "no such user"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_lost_answer_asks_the_world_before_it_repeats(outbox: Outbox, world: World, clock: Clock, when: str) -> None:
    world.trouble = [(when, UncertainError("connection lost"))]
    outbox.put(draft())
    outbox.deliver()
    assert states(outbox) == [State.UNCERTAIN]
    clock.time += 61
    outbox.deliver()
    assert states(outbox) == [State.SENT] and world.there == ["k"]


def test_without_any_evidence_nothing_is_repeated(outbox: Outbox, world: World, clock: Clock) -> None:
    world.trouble = [("after", UncertainError("connection lost"))]
    world.evidence = Evidence.UNKNOWN
    number = outbox.put(draft())
    for _ in range(5):
        outbox.deliver()
        clock.time += 90_000
    assert states(outbox) == [State.UNCERTAIN] and world.there == ["k"]
    assert number is not None and outbox.settle(number, State.SENT, "seen on the list")
    assert states(outbox) == [State.SENT] and not outbox.settle(number, State.PENDING, "")


def test_what_was_overtaken_is_withdrawn_with_the_reason(outbox: Outbox, world: World) -> None:
    outbox.put(draft())
    world.stale = "version 3 is out"
    assert outbox.deliver() == 0 and outbox.items()[0].note == "version 3 is out"


def test_it_gives_up_in_the_end(outbox: Outbox, world: World, clock: Clock) -> None:
    world.trouble = [("early", PostponedError("no network"))] * (MAX_ATTEMPTS + 5)
    outbox.put(draft())
    for _ in range(MAX_ATTEMPTS + 5):
        outbox.deliver()
        clock.time += 7 * 3600
    assert states(outbox) == [State.FAILED] and "given up after" in outbox.items()[0].note


def test_a_stop_leaves_the_rest_for_later(outbox: Outbox, world: World, clock: Clock) -> None:
    outbox.put(draft("a"))
    clock.is_stopping = True
    assert outbox.deliver() == 0
    clock.is_stopping = False
    assert outbox.deliver() == 1


def test_a_full_disk_is_told_and_nothing_is_sent(ledger: Ledger, outbox: Outbox, world: World) -> None:
    outbox.put(draft("a"))
    pages = ledger.rows("PRAGMA page_count")[0][0]
    ledger.rows(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DeliveryError, match=r"disk is full.*make room"):
        for at in range(200):
            outbox.put(draft(f"b{at}", "x" * 5000))
    assert world.there == []
    ledger.rows("PRAGMA max_page_count = 1000000")
    outbox.deliver()
    assert world.there[0] == "a"


def test_a_damaged_ledger_is_told(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite3").write_bytes(b"this is no database, but long enough to look like one" * 50)
    with pytest.raises(DeliveryError, match="damaged"):
        Ledger(tmp_path)


def test_a_ledger_of_a_newer_version_is_left_alone(ledger: Ledger) -> None:
    ledger.rows("PRAGMA user_version = 99")
    with pytest.raises(DeliveryError, match="newer reviewbot"):
        Ledger(ledger.directory)


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DeliveryError, match="ledger"):
        Ledger(tmp_path / "file" / "state")


def test_old_things_are_forgotten_but_never_what_is_open(
    ledger: Ledger, outbox: Outbox, clock: Clock, world: World
) -> None:
    outbox.put(draft("old"))
    outbox.deliver()
    outbox.put(draft("open"))
    ledger.note_seen("patchwork x", "1", clock.now())
    ledger.note_seen("maildir /m", "f", clock.now())
    ledger.forget(clock.now() + 1, keep=0)
    assert [item.draft.key for item in outbox.items()] == ["open"]
    assert not ledger.is_seen("patchwork x", "1") and ledger.is_seen("maildir /m", "f")


def test_a_clock_that_jumps_years_ahead_makes_nothing_forgotten(tmp_path: Path) -> None:
    """What was said and seen lately stays known, so that it is not said again."""
    ledger, clock = Ledger(tmp_path), Clock()
    ledger.note_seen("patchwork x", "1", clock.now())
    jobs = Jobs(ledger, "x")
    jobs.add("1", {}, now=clock.now(), due_at=clock.now())
    done = jobs.take(clock.now())
    assert done is not None
    jobs.finish(done, "done")
    clock.time += 5 * 365 * 86400
    ledger.forget(clock.now() - 180 * 86400)
    assert ledger.is_seen("patchwork x", "1")
    assert not jobs.add("1", {}, now=clock.now(), due_at=clock.now())


def test_old_things_go_where_there_are_many_newer_ones(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    for number in range(20):
        ledger.note_seen("x", str(number), float(number))
    ledger.forget(15.0, keep=10)
    assert [number for number in range(20) if ledger.is_seen("x", str(number))] == list(range(10, 20))


def test_a_clock_that_goes_back_leaves_nothing_waiting_for_years(tmp_path: Path) -> None:
    """Put off while the clock was ahead: due at once when it is right again. What waits as it should goes on."""
    ledger, clock = Ledger(tmp_path), Clock()
    jobs = Jobs(ledger, "x")
    jobs.add("lost", {}, now=clock.now(), due_at=clock.now() + 3 * 365 * 86400)
    jobs.add("fine", {}, now=clock.now(), due_at=clock.now() + 3600)
    assert ledger.wait_no_longer(clock.now()) == 1
    taken = jobs.take(clock.now())
    assert taken is not None and taken.key == "lost"
    assert jobs.take(clock.now()) is None


def test_two_holders_of_one_lock(ledger: Ledger) -> None:
    other = Ledger(ledger.directory)
    with ledger.only_one("watch", wait=False) as first, other.only_one("watch", wait=False) as second:
        assert first and not second
    with other.only_one("watch", wait=False) as again:
        assert again


def test_a_job_is_taken_once_and_counted_before_it_begins(ledger: Ledger) -> None:
    jobs = Jobs(ledger, "here")
    assert jobs.add("k", {"x": 1}, now=5, due_at=10) and not jobs.add("k", {}, now=5, due_at=10)
    assert jobs.take(9) is None
    job = jobs.take(10)
    assert job is not None and job.attempts == 1 and jobs.take(10) is None
    jobs.recover()  # as after a kill
    again = jobs.take(10)
    assert again is not None and again.attempts == 2
    jobs.give_back(again, due_at=20, counts=False)
    assert jobs.take(19) is None and jobs.counts() == {"waiting": 1}


def test_what_v2_was_told_is_known_for_v3_and_only_to_that_reader(ledger: Ledger, outbox: Outbox) -> None:
    v2 = replace(reviews.series(), version=2, message_id="v2@x", change_id="20260101-x")
    v3 = replace(reviews.series(), version=3, message_id="v3@x", change_id="20260101-x", subject="Renamed")
    for series in (v2, v3):
        note_series(ledger, series, "list", 100.0)
    number = outbox.put(draft())
    assert number is not None
    note_said(ledger, number, series_key(v2), "Ada@Example.org", ["f1"])
    assert already_said(ledger, tokens_of(v3), "ada@example.org", ["f1", "f2"]) == {"f1"}
    assert already_said(ledger, tokens_of(v3), "bob@example.org", ["f1"]) == frozenset()


def test_what_was_only_tried_counts_as_not_said(ledger: Ledger, outbox: Outbox) -> None:
    series = reviews.series()
    note_series(ledger, series, "list", 100.0)
    number = outbox.put(draft(), dry_run=True)
    assert number is not None
    note_said(ledger, number, series_key(series), "ada@example.org", ["f1"])
    assert already_said(ledger, tokens_of(series), "ada@example.org", ["f1"]) == frozenset()


def test_newer_versions_count_on_the_same_list_only(ledger: Ledger) -> None:
    v1, v2 = reviews.series(), replace(reviews.series(), version=2, message_id="v2@x")
    note_series(ledger, v2, "list", 500.0)
    newer = newer_version(ledger, tokens_of(v1), 1, "list", 500.0)
    assert newer is not None and newer.version == 2
    assert newer_version(ledger, tokens_of(v1), 1, "another", 500.0) is None
    assert newer_version(ledger, tokens_of(v1), 2, "list", 500.0) is None
    assert newer_version(ledger, tokens_of(v1), 1, "list", 500.0 + 40 * 86400) is None  # an older work of the same name


def test_secrets_come_from_the_environment_or_a_file_of_the_owner(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("hunter22\n")
    file.chmod(0o600)
    assert read_secret("X", file, {"X": "from-env"}).reveal() == "from-env"  # type: ignore[union-attr]
    assert read_secret("X", file, {}).reveal() == "hunter22"  # type: ignore[union-attr]
    assert read_secret("X", None, {}) is None
    file.chmod(0o640)
    with pytest.raises(ConfigError, match="others can read") as caught:
        read_secret("X", file, {})
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "two\nlines", "n\x00l", "é", "x" * 5000])
def test_a_file_without_a_usable_secret_is_told_and_not_quoted(tmp_path: Path, content: str) -> None:
    file = tmp_path / "token"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(ConfigError, match="does not hold a secret"):
        read_secret("X", file, {})


def test_metrics_are_prometheus_text_and_replaced_in_one_step(tmp_path: Path, ledger: Ledger, outbox: Outbox) -> None:
    outbox.put(draft())
    pulse = Pulse(started_at=1.0)
    pulse.counts["sent_check"] = 4
    file = tmp_path / "m" / "reviewbot.prom"
    write_metrics(file, metrics_text(pulse, backlog(ledger)))
    lines = file.read_text().splitlines()
    assert "reviewbot_outbox_pending 1" in lines and 'reviewbot_events_total{what="sent_check"} 4' in lines
    names = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {line.split("{")[0].split()[0] for line in lines if not line.startswith("#")} == names
    assert [each.name for each in file.parent.iterdir()] == ["reviewbot.prom"]


def test_the_health_line_tells_trouble(ledger: Ledger) -> None:
    pulse = Pulse(started_at=1.0)
    assert health_line(pulse, backlog(ledger)).startswith("ok: ")
    pulse.trouble = "the server is blocked"
    assert health_line(pulse, backlog(ledger)).startswith("trouble: the server is blocked; ")


def test_a_pause_ends_when_the_process_is_told_to_stop() -> None:
    clock = SystemClock()
    clock.stop()
    with pytest.raises(StopAsked):
        clock.sleep(1000)


# Checks against a server


def make_sender(server: FakePatchwork) -> CheckSender:
    client = Client(version="1", contact="x", token=Secret(TOKEN), token_origin=server.url, sleep=lambda seconds: None)
    return CheckSender({server.url: Patchwork(url=server.url, client=client)}, "bot")


def check(server: FakePatchwork, state: str, description: str = "", patch_id: int = 1000) -> Draft:
    return check_draft(
        server=server.url, patch_id=patch_id, context="reviewbot-uaccess", state=CheckState(state),
        description=description, target_url="", series="1", subject="x",
    )  # fmt: skip


@pytest.mark.parametrize("fault", [None, "reset_after", "200_after", "reset", "wall", "502", "text"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_check_is_posted_exactly_once(ledger: Ledger, clock: Clock, fault: str | None, method: str) -> None:
    with patchwork_server() as server:
        server.states[1000] = "new"
        if fault:
            server.faults.append(Fault(fault, path="/checks/", method=method, times=1 if method == "POST" else 8))
        outbox = Outbox(ledger, clock, {"check": make_sender(server)})
        outbox.put(check(server, "success", "fine"))
        for _ in range(10):
            outbox.deliver()
            clock.time += 20_000
        assert server.shown(1000) == [("success", "fine")]
        assert states(outbox) == [State.SENT]


def test_pending_never_covers_a_verdict(ledger: Ledger, clock: Clock) -> None:
    with patchwork_server() as server:
        server.states[1000] = "new"
        server.post(
            "patches/1000/checks/", _HEADERS, b'{"state": "fail", "context": "REVIEWBOT-uaccess", "description": "old"}'
        )
        outbox = Outbox(ledger, clock, {"check": make_sender(server)})
        outbox.put(check(server, "pending", "under way"))
        outbox.deliver()
        assert len(server.checks) == 1 and outbox.items()[0].note == "the server already has a verdict"
        outbox.put(check(server, "success", "fine"))
        outbox.deliver()
        assert server.checks[-1]["state"] == "success"


def test_another_posters_check_does_not_silence_ours(ledger: Ledger, clock: Clock) -> None:
    with patchwork_server() as server:
        server.states[1000] = "new"
        server.user = "somebody"
        server.post(
            "patches/1000/checks/",
            _HEADERS,
            b'{"state": "success", "context": "reviewbot-uaccess", "description": "fine"}',
        )
        server.user = "bot"
        outbox = Outbox(ledger, clock, {"check": make_sender(server)})
        outbox.put(check(server, "success", "fine"))
        outbox.deliver()
        assert len(server.checks) == 2


def test_a_check_that_the_server_shows_already_is_not_repeated_by_a_new_ledger(tmp_path: Path, clock: Clock) -> None:
    with patchwork_server() as server:
        server.states[1000] = "new"
        for name in ("a", "b"):
            outbox = Outbox(Ledger(tmp_path / name), clock, {"check": make_sender(server)})
            outbox.put(check(server, "success", "fine"))
            outbox.deliver()
        assert len(server.checks) == 1


def test_a_token_without_rights_keeps_the_check_for_later(ledger: Ledger, clock: Clock) -> None:
    with patchwork_server() as server:
        server.states[1000] = "new"
        sender = CheckSender(
            {server.url: Patchwork(url=server.url, client=Client(version="1", contact="", sleep=clock.sleep))}, "bot"
        )
        outbox = Outbox(ledger, clock, {"check": sender})
        outbox.put(check(server, "success", "fine"))
        outbox.deliver()
        assert states(outbox) == [State.PENDING] and "must be a maintainer" in outbox.items()[0].note


def test_a_patch_that_is_gone_fails_for_good(ledger: Ledger, clock: Clock) -> None:
    with patchwork_server() as server:
        outbox = Outbox(ledger, clock, {"check": make_sender(server)})
        outbox.put(check(server, "success", "fine", patch_id=77))
        outbox.deliver()
        assert states(outbox) == [State.FAILED]


_HEADERS = {"authorization": f"Token {TOKEN}", "content-type": "application/json"}


# Killed at every step

_POSTER = textwrap.dedent(
    """
    import os, sys
    import requests  # here, so that the forks need not
    from pathlib import Path
    sys.path.insert(0, sys.argv[1])
    from reviewbot.delivery.ledger import Ledger
    from reviewbot.delivery.outbox import Outbox
    from reviewbot.http import Client
    from servers import FakePatchwork
    from test_ledger import Clock, check, make_sender

    base, url = Path(sys.argv[2]), sys.argv[3]

    def run(number, kill_at, time):
        steps = 0
        def step(*ignored):
            nonlocal steps
            steps += 1
            if steps == kill_at:
                os._exit(9)
        plain = Client._once
        def traced(*arguments):
            step()
            answer = plain(*arguments)
            step()
            return answer
        Client._once = traced
        clock = Clock()
        clock.time += time
        server = FakePatchwork(url=url)
        ledger = Ledger(base / str(number))
        ledger._db.set_trace_callback(step)  # every statement, BEGIN and COMMIT included
        outbox = Outbox(ledger, clock, {"check": make_sender(server)})
        for state, words in (("pending", "under way"), ("fail", "verdict")):
            outbox.put(check(server, state, words, 10_000 + number))
            outbox.deliver()

    def forked(*arguments):
        child = os.fork()
        if child == 0:
            run(*arguments)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    # One life ends at each step in turn; two more follow it in the same directory.
    number = 1
    while forked(number, number, 0) == 9:
        assert forked(number, 0, 100_000) == 0
        assert forked(number, 0, 200_000) == 0
        number += 1
    print(number)
    """
)


def test_killed_at_every_step_a_check_is_neither_lost_nor_repeated(tmp_path: Path) -> None:
    with patchwork_server() as server:
        server.states.update(dict.fromkeys(range(10_000, 11_000), "new"))
        command = [sys.executable, "-c", _POSTER, str(Path(__file__).parent), str(tmp_path), server.url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        steps = int(done.stdout)
        assert steps > 40  # it did die at many different places
        for number in range(1, steps + 1):
            said = server.shown(10_000 + number)
            assert said.count(("fail", "verdict")) == 1, (number, said)
            assert said[-1] == ("fail", "verdict"), (number, said)
            assert said.count(("pending", "under way")) <= 1, (number, said)


def test_two_processes_at_once_say_it_once(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[1])
        from test_ledger import Clock, Ledger, Outbox, check, make_sender
        from servers import FakePatchwork
        server = FakePatchwork(url=sys.argv[3])
        outbox = Outbox(Ledger(Path(sys.argv[2])), Clock(), {"check": make_sender(server)})
        for patch_id in range(1000, 1010):
            outbox.put(check(server, "success", "fine", patch_id))
        outbox.deliver()
        """
    )
    with patchwork_server() as server:
        server.states.update(dict.fromkeys(range(1000, 1010), "new"))
        command = [sys.executable, "-c", script, str(Path(__file__).parent), str(tmp_path), server.url]
        running = [subprocess.Popen(command) for _ in range(3)]
        assert [process.wait(60) for process in running] == [0, 0, 0]
        assert sorted(each["patch"] for each in server.checks) == list(range(1000, 1010))
