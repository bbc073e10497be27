"""The bot's commands as a user calls them: patchwork, mail, ledger; and the example settings that ship."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from bots import mail, series_mails
from servers import TOKEN, FakePatchwork, patchwork_server

import reviewbot.delivery
from reviewbot.config import read_layer
from reviewbot.frontends.settings import SECTIONS, section

EXAMPLE = Path(reviewbot.delivery.__file__).parent / "example.toml"


def run(*arguments: str, stdin: bytes = b"", home: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [
        sys.executable,
        "-c",
        "import sys; from reviewbot.frontends.guard import main; sys.exit(main())",
        *arguments,
    ]
    settings = {"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(reviewbot.__file__).parent.parent)}
    return subprocess.run(
        command, input=stdin, capture_output=True, timeout=120, check=False, env={**settings, **environment}
    )


def post(what: str, config: str, home: Path, token: str) -> subprocess.CompletedProcess[bytes]:
    words = ("patchwork", "review", what, "--post", "--config", config)
    return run(*words, home=home, REVIEWBOT_PATCHWORK_TOKEN=token)


def write_settings(home: Path, url: str) -> str:
    file = home / "bot.toml"
    file.write_text(f'[patchwork]\nurl = "{url}"\nuser = "bot"\n[bot]\nstate_dir = "{home}/state"\n')
    return str(file)


def add_series(server: FakePatchwork) -> int:
    cover, *patches = series_mails(2)
    named = [(message_id, f"[{at}/2] x", raw) for at, (message_id, _, raw) in enumerate(patches, 1)]
    return server.add_series("x", named, cover=(cover[0], cover[2]))


@pytest.mark.parametrize("name", [name for name in SECTIONS if name != "review"])
def test_the_example_settings_are_valid_and_silent(name: str) -> None:
    value, _ = section(name, [read_layer(EXAMPLE)])
    if name == "bot":
        assert all(each.mute and each.dry_run for each in value.lists.values()) and value.lists


def test_a_series_is_reviewed_without_settings_and_posted_only_on_demand(tmp_path: Path) -> None:
    with patchwork_server() as server:
        number = add_series(server)
        done = run("patchwork", "review", f"{server.url}series/{number}/", "--format", "json", home=tmp_path)
        assert done.returncode in (0, 1, 3) and b'"schema_version"' in done.stdout, done.stderr
        assert server.checks == []
        config = write_settings(tmp_path, server.url)
        for _ in range(2):
            done = run(
                "patchwork",
                "review",
                str(number),
                "--post",
                "--config",
                config,
                home=tmp_path,
                REVIEWBOT_PATCHWORK_TOKEN=TOKEN,
            )
            assert done.returncode in (0, 1, 3), done.stderr
        assert [len(server.shown(each)) for each in server.patch_ids(number)] == [2, 2]
        listed = run("ledger", "--config", config, home=tmp_path)
        assert listed.stdout.count(b"sent") == 4 and listed.returncode == 0
        assert TOKEN.encode() not in listed.stdout + done.stdout + done.stderr


def test_a_thread_is_fetched_by_message_id_and_by_address(tmp_path: Path) -> None:
    thread = gzip.compress(
        b"".join(b"From mboxrd@z Thu Jan  1 00:00:00 1970\n" + raw + b"\n" for _, _, raw in series_mails(2))
    )
    with patchwork_server() as server:
        server.mbox = lambda path: thread if path == "/all/v1-2@example.org/t.mbox.gz" else None  # type: ignore[method-assign]
        file = tmp_path / "a.toml"
        file.write_text(f'[archive]\nurl = "{server.url}all/"\n[http]\ncontact = "https://example.org/me"\n')
        for source in ("<v1-2@example.org>", "v1-2@example.org", f"{server.url}all/v1-2@example.org/T/#u"):
            done = run("review", source, "--format", "json", "--config", str(file), home=tmp_path)
            assert b"Write the frame in one block" in done.stdout, done.stderr
        assert len(server.requests) == 1  # the thread is kept
        assert "+https://example.org/me" in server.requests[0][2]["user-agent"]
        missing = run("review", "no@where.org", "--config", str(file), home=tmp_path)
        assert missing.returncode == 3 and b"has no mail with the Message-ID no@where.org" in missing.stderr
        wrong = run("review", f"{server.url}series/3/", home=tmp_path)
        assert wrong.returncode == 2 and b"reviewbot patchwork review" in wrong.stderr


def test_posting_without_rights_ends_with_4_and_shows_no_token(tmp_path: Path) -> None:
    with patchwork_server() as server:
        number = add_series(server)
        config = write_settings(tmp_path, server.url)
        done = run(
            "patchwork",
            "review",
            str(number),
            "--post",
            "--config",
            config,
            home=tmp_path,
            REVIEWBOT_PATCHWORK_TOKEN="s3cr3t-t0ken",
        )
        assert done.returncode == 4 and b"did not get through" in done.stderr
        assert b"s3cr3t-t0ken" not in done.stdout + done.stderr


def test_the_token_is_not_taken_to_another_server(tmp_path: Path) -> None:
    with patchwork_server() as server, patchwork_server() as other:
        config = write_settings(tmp_path, server.url)
        add_series(other)
        done = run(
            "patchwork",
            "review",
            f"{other.url}series/100/",
            "--post",
            "--config",
            config,
            home=tmp_path,
            REVIEWBOT_PATCHWORK_TOKEN=TOKEN,
        )
        assert done.returncode == 2 and other.requests == []


@pytest.mark.parametrize("command", ["patchwork", "mail"])
def test_a_watcher_without_lists_is_told(tmp_path: Path, command: str) -> None:
    config = write_settings(tmp_path, "http://127.0.0.1:1/")
    done = run(command, "watch", "--once", "--config", config, home=tmp_path)
    assert done.returncode == 2 and b"[bot.lists.NAME]" in done.stderr


@pytest.mark.parametrize(
    ("raw", "code", "words"),
    [
        (b"", 3, b"stdin"),
        (mail("[PATCH] x", "p@example.org", headers=["Auto-Submitted: auto-generated"]), 3, b"automatic"),
        (mail("Re: [PATCH] x", "p@example.org"), 3, b"reply"),
    ],
    ids=["nothing", "automatic", "a reply"],
)
def test_mail_that_is_not_answered_gives_no_mail(tmp_path: Path, raw: bytes, code: int, words: bytes) -> None:
    done = run("mail", "review", stdin=raw, home=tmp_path)
    assert done.stdout == b"" and done.returncode == code and words in done.stderr


def test_the_ledger_of_a_new_user_is_empty_and_well(tmp_path: Path) -> None:
    config = write_settings(tmp_path, "http://127.0.0.1:1/")
    assert run("ledger", "--config", config, home=tmp_path).stdout == b""
    done = run("ledger", "--config", config, "health", home=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith(b"ok: ")
