"""rulebook/parsed.py: parsed rules are read back only where they are whole, ours and of these very files."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from reviewbot.errors import RulebookError
from reviewbot.rulebook import book, parsed
from reviewbot.rulebook.book import Rulebook, load_rulebook

RULES = load_rulebook().directory


class Program:
    """reviewbot started anew with each call, with rules of its own and a cache."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rules = Path(shutil.copytree(RULES, root / "rules"))
        self.cache = root / "cache"
        self.parsed = 0
        self._patch = monkeypatch
        monkeypatch.setattr(book, "_shipped_rules", lambda: self.rules)
        loads = tomllib.loads

        def counted(text: str) -> dict[str, Any]:
            self.parsed += 1
            return loads(text)

        monkeypatch.setattr(tomllib, "loads", counted)

    def start(self, *, cached: bool = True) -> Rulebook:
        self.parsed = 0
        self._patch.setattr(parsed, "_tables", {})
        for known in (load_rulebook, book._catalogue, book._cpu_models):
            known.cache_clear()
        found = load_rulebook(None, self.cache) if cached else load_rulebook()
        assert found.catalogue and found.cpu_models
        return found

    @property
    def kept(self) -> Path:
        (path,) = self.cache.glob("rules-*.json")
        return path


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    return Program(tmp_path, monkeypatch)


def content(rules: Rulebook) -> tuple[object, ...]:
    catalogue, models = dict(rules.catalogue), repr(rules.cpu_models)  # models are compared by identity
    return rules.version, rules.architectures, rules.policies, rules.words, rules.primitive_names, catalogue, models


def test_rules_are_parsed_once_and_read_back_the_same(program: Program) -> None:
    fresh = content(program.start(cached=False))
    first = content(program.start())
    assert program.parsed == len(list(RULES.rglob("*.toml")))
    assert content(program.start()) == first == fresh
    assert program.parsed == 0
    assert program.kept.stat().st_mode & 0o777 == 0o600


def test_without_a_cache_nothing_is_written(program: Program) -> None:
    program.start(cached=False)
    assert not program.cache.exists()


def test_rules_that_a_user_names_are_not_kept(program: Program) -> None:
    load_rulebook(program.rules, program.cache)
    assert not program.cache.exists()


def test_an_edited_rule_counts_at_once_and_so_does_its_way_back(program: Program) -> None:
    before = program.start()
    path = program.rules / "primitives" / "arm.toml"
    text = path.read_text("utf-8")
    status = path.stat()
    path.write_text(text.replace("switches = 1", "switches = 2"), "utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # same size, same time
    edited = program.start()
    assert edited.version != before.version and edited.architectures != before.architectures
    assert content(edited) == content(program.start(cached=False))
    path.write_text(text, "utf-8")
    assert content(program.start()) == content(before)
    assert program.parsed == 0


def test_a_broken_rule_is_refused_as_without_a_cache(program: Program) -> None:
    program.start()
    (program.rules / "primitives" / "arm.toml").write_text("[", "utf-8")
    with pytest.raises(RulebookError, match=r"primitives/arm\.toml: is not valid TOML"):
        program.start()
    with pytest.raises(RulebookError, match=r"primitives/arm\.toml: is not valid TOML"):
        program.start()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def flip(path: Path) -> None:
    data = path.read_bytes()
    at = data.rindex(b'"switches":2') + len('"switches":')
    path.write_bytes(data[:at] + b"1" + data[at + 1 :])


def resealed(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Somebody who knows the checksum."""

    def damage(path: Path) -> None:
        text = change(path.read_bytes().partition(b"\n")[2])
        path.write_bytes(parsed._head(text) + b"\n" + text)

    return damage


def link_to_itself(path: Path) -> None:
    other = path.with_name("elsewhere")
    path.rename(other)
    path.symlink_to(other)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "cut off": cut,
    "a changed value": flip,
    "empty": lambda path: path.write_bytes(b""),
    "no head": lambda path: path.write_bytes(path.read_bytes().partition(b"\n")[2]),
    "another format": lambda path: path.write_bytes(
        path.read_bytes().replace(b"reviewbot-rules 1", b"reviewbot-rules 0")
    ),
    "no JSON": resealed(lambda text: text[:-1]),
    "nested too deep": resealed(lambda text: b"[" * 100_000),
    "no table of tables": resealed(lambda text: b'{"a":1}'),
    "a list": resealed(lambda text: b"[]"),
    "files missing": resealed(lambda text: b"{}"),
    "of other files": resealed(lambda text: text.replace(b'{"', b'{"0', 1)),
    "the group may write": lambda path: path.chmod(0o620),
    "everybody may write": lambda path: path.chmod(0o602),
    "a link": link_to_itself,
    "a pipe": pipe,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_is_not_whole_and_ours_is_parsed_again(program: Program, damage: Callable[[Path], None]) -> None:
    expected = content(program.start())
    damage(program.kept)
    assert content(program.start()) == expected
    assert program.parsed > 0
    assert content(program.start()) == expected  # and it is put right
    assert program.parsed == 0


def test_what_another_user_wrote_is_not_read(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = content(program.start())
    monkeypatch.setattr(os, "geteuid", lambda: program.kept.stat().st_uid + 1)
    assert content(program.start()) == expected
    assert program.parsed > 0


@pytest.mark.parametrize("way", ["a file in its place", "a directory in the file's place", "a full disk"])
def test_a_cache_that_cannot_be_used_is_no_error(program: Program, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    expected = content(program.start())
    path = program.kept
    path.unlink()
    if way == "a file in its place":
        program.cache.rmdir()
        program.cache.write_text("not a directory")
    elif way == "a directory in the file's place":
        (path / "full").mkdir(parents=True)
    else:

        def refuse(*arguments: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "replace", refuse)
    assert content(program.start()) == expected
    assert content(program.start()) == expected
    assert program.cache.is_file() or [each.name for each in program.cache.iterdir()] in ([], [path.name])


def test_many_processes_at_once_leave_one_whole_file(program: Program) -> None:
    texts = [path.read_bytes() for path in RULES.rglob("*.toml")]

    def run(number: int) -> int:
        pid = os.fork()
        if pid == 0:  # a process of its own, as each commit is one
            os._exit(0 if _use_many_times(texts, program.cache) else 1)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(4))) == [0] * 4
    assert [path.name for path in program.cache.iterdir()] == ["rules-version.json"]
    assert parsed._read(program.kept) is not None


def _use_many_times(texts: list[bytes], cache: Path) -> bool:
    for _ in range(5):
        parsed._tables.clear()
        parsed.use_kept(texts, "version", cache)
        if len(parsed._tables) != len(texts):
            return False
        (cache / "rules-version.json").unlink(missing_ok=True)
    parsed._tables.clear()
    parsed.use_kept(texts, "version", cache)
    return True


def test_only_the_latest_versions_are_kept(program: Program) -> None:
    for number in range(7):
        parsed.use_kept([b"a = 1"], f"version{number}", program.cache)
        os.utime(program.cache / f"rules-version{number}.json", (number, number))
    names = sorted(path.name for path in program.cache.iterdir())
    assert names == [f"rules-version{number}.json" for number in (3, 4, 5, 6)]


def test_a_date_which_json_lacks_is_parsed_each_time(program: Program) -> None:
    parsed.use_kept([b"day = 2024-01-01"], "version", program.cache)
    assert not list(program.cache.glob("*"))
    assert str(parsed.parse(b"day = 2024-01-01")["day"]) == "2024-01-01"


def test_cache_clear_forgets_them(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from reviewbot.frontends.cache import cache

    monkeypatch.setenv("XDG_CACHE_HOME", str(program.cache))
    program.cache = program.cache / "reviewbot"
    program.start()
    (program.cache / "hook-words").write_text("words")
    assert CliRunner().invoke(cache, ["clear"]).exit_code == 0
    assert not list(program.cache.iterdir())
