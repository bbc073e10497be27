"""Settings: strict, typed, and each value knows where it comes from."""

from __future__ import annotations

import pwd
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import NoReturn

import platformdirs
import pytest

from reviewbot import config
from reviewbot.config import Layer, read_layer, resolve, secret
from reviewbot.errors import ConfigError


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    host: str
    port: int = 25
    password: str | None = secret()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    name: str = "x"
    count: int = 1
    ratio: float = 0.5
    flag: bool = False
    where: Path | None = None
    tags: tuple[str, ...] = ()
    colour: Colour = Colour.RED
    server: Server | None = None
    named: Mapping[str, Server] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError("count must be at least 1")


def layer(origin: str = "a.toml", **values: object) -> Layer:
    return Layer(origin=origin, table={"sample": values})


def test_every_supported_type_arrives_as_declared() -> None:
    value, _ = resolve(
        "sample",
        Sample,
        [
            layer(
                count=3,
                ratio=1,
                flag=True,
                where="/x",
                tags=["a", "b"],
                colour="blue",
                server={"host": "h"},
                named={"one": {"host": "i", "port": 2}},
            )
        ],
    )
    assert value == Sample(
        count=3,
        ratio=1.0,
        flag=True,
        where=Path("/x"),
        tags=("a", "b"),
        colour=Colour.BLUE,
        server=Server(host="h"),
        named={"one": Server(host="i", port=2)},
    )


def test_a_later_layer_wins_key_by_key_and_the_origin_is_kept() -> None:
    value, settings = resolve("sample", Sample, [layer(count=3, name="a"), layer("command line", count=4)])
    assert (value.count, value.name) == (4, "a")
    origins = {each.key: each.origin for each in settings}
    assert origins["sample.count"] == "command line"
    assert origins["sample.name"] == "a.toml"
    assert origins["sample.flag"] == "default"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        pytest.param({"cuont": 1}, "a.toml: unknown key sample.cuont; did you mean 'count'?.", id="unknown-key"),
        pytest.param({"count": "1"}, "sample.count must be a whole number, not a text", id="text-for-number"),
        pytest.param({"count": True}, "sample.count must be a whole number, not true or false", id="bool-is-no-int"),
        pytest.param({"flag": 1}, "sample.flag must be true or false", id="int-is-no-bool"),
        pytest.param({"tags": "a"}, "sample.tags must be a list (of a text), not a text", id="text-for-list"),
        pytest.param({"tags": ["a", 1]}, "sample.tags[1] must be a text", id="wrong-list-member"),
        pytest.param({"colour": "green"}, "sample.colour is 'green'; it can be red, blue", id="unknown-choice"),
        pytest.param({"count": 0}, "a.toml: [sample] count must be at least 1", id="out-of-range"),
        pytest.param({"server": {}}, "sample.server.host is missing", id="missing-key"),
        pytest.param({"server": {"hots": "x"}}, "unknown key sample.server.hots; did you mean 'host'?", id="nested"),
        pytest.param({"named": {"a": {"port": "x", "host": "h"}}}, "sample.named.a.port must be", id="named-table"),
        pytest.param({"named": {"a": {"prot": 1, "host": "h"}}}, "unknown key sample.named.a.prot", id="named-unknown"),
    ],
)
def test_a_wrong_value_is_one_sentence_with_file_and_key(values: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve("sample", Sample, [layer(**values)])
    assert said.removesuffix(".") in str(caught.value)
    assert "a.toml" in str(caught.value)


def test_a_secret_is_never_shown() -> None:
    value, settings = resolve("sample", Sample, [layer(server={"host": "h", "password": "hunter2"})])
    assert value.server is not None and value.server.password == "hunter2"
    assert "hunter2" not in repr(settings) + repr(value)
    assert any(each.key == "sample.server.password" and each.value == config.HIDDEN for each in settings)


def test_an_unknown_section_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"unknown section \[samlpe\]; did you mean 'sample'"):
        config.check_sections(Layer(origin="a.toml", table={"samlpe": {}}), ["sample"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"a = ", "not valid TOML", id="broken"),
        pytest.param(b"a = '\xff'", "not valid TOML", id="not-utf8"),
        pytest.param(b"#" * (config.MAX_CONFIG_BYTES + 1), "larger than", id="huge"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "c.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_layer(path)
    assert str(path) in str(caught.value) and said in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_layer(tmp_path / "none.toml")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere platformdirs itself is asked")
@pytest.mark.parametrize("home", ["/home/ann", "/", "", "relative", None])
@pytest.mark.parametrize("given", ["/var/own", "/var/own/", "", " ", "relative", "~/own", None])
def test_directories_are_where_platformdirs_says(monkeypatch: pytest.MonkeyPatch, given: str, home: str) -> None:
    for kind in ("CACHE", "CONFIG", "STATE"):
        set_or_unset(monkeypatch, f"XDG_{kind}_HOME", given)
    set_or_unset(monkeypatch, "HOME", home)
    assert config.cache_dir() == platformdirs.user_cache_path("reviewbot", appauthor=False)
    assert config.state_dir() == platformdirs.user_state_path("reviewbot", appauthor=False)
    assert config.config_file() == platformdirs.user_config_path("reviewbot", appauthor=False) / "config.toml"


def test_a_user_without_a_home_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> NoReturn:
        raise KeyError(uid)

    for name in ("HOME", "XDG_CACHE_HOME"):
        set_or_unset(monkeypatch, name, None)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(ConfigError, match="no home directory: set HOME or XDG_CACHE_HOME"):
        config.cache_dir()
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/own")
    assert config.cache_dir() == Path("/var/own/reviewbot")


def set_or_unset(monkeypatch: pytest.MonkeyPatch, name: str, value: str | None) -> None:
    if value is None:
        monkeypatch.delenv(name, raising=False)
    else:
        monkeypatch.setenv(name, value)
