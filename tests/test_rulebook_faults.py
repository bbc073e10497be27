"""rules/: every kind of fault is refused, in one sentence that names the file and the key."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reviewbot.errors import RulebookError
from reviewbot.rulebook.book import load_rulebook

RULES = load_rulebook().directory

FAULTS = {
    "not toml": ("primitives/s390.toml", "[architecture]", "[architecture", "not valid TOML"),
    "unknown key": ("primitives/arm.toml", "switches = 1", "switch = 1", r"primitive\[0\]\.switch: unknown key"),
    "wrong type": ("primitives/arm.toml", "switches = 1", 'switches = "1"', r"switches: must be a whole number"),
    "bool is no number": (
        "primitives/arm.toml",
        "switches = 1",
        "switches = true",
        r"switches: must be a whole number",
    ),
    "not an effect": ("primitives/arm.toml", '"open"', '"opens"', r"effect: 'opens' is not one of open, close"),
    "no source": ("primitives/arm.toml", "source = ", "# source = ", r"source: is missing"),
    "empty source": ("primitives/x86.toml", 'source = "arch/x86/include/asm/smap.h (v6.1)"', 'source = " "', "empty"),
    "bad version": ("primitives/riscv.toml", 'since = "v5.0"', 'since = "5.0"', r"since: must be a kernel version"),
    "until before since": ("primitives/riscv.toml", 'since = "v5.0"', 'since = "v6.17"', r"until: must be later"),
    "twice in one version": ("primitives/riscv.toml", 'since = "v5.0"\nuntil = "v6.16"', 'since = "v5.0"', "twice"),
    "closer that does not exist": (
        "primitives/x86.toml",
        'closed_by = ["clac"]',
        'closed_by = ["clack"]',
        r"x86\.toml: stac: .*'clack'",
    ),
    "scalar form that does not exist": ("primitives/generic.toml", '"get_user"\n', '"get_usr"\n', "'get_usr'"),
    "opener without closer": ("primitives/x86.toml", 'closed_by = ["clac"]\n', "", r"closed_by: 'stac' opens"),
    "closer with a closer": (
        "primitives/arm.toml",
        'effect = "close"',
        'effect = "close"\nclosed_by = ["uaccess_restore"]',
        "opens nothing",
    ),
    "three switches": ("primitives/arm.toml", "switches = 1", "switches = 3", r"switches: must be 0, 1 or 2"),
    "another name than the file": ("primitives/arm.toml", 'name = "arm"', 'name = "arms"', r"architecture\.name"),
    "unknown form": ("allow/x86.toml", '"builtin"]', '"builtins"]', r"allow/x86\.toml: safe_forms: 'builtins'"),
    "safe twice": ("allow/powerpc.toml", '"memset", ', '"memset", "memset", ', r"powerpc\.toml: safe\[0\]\.names"),
    "arch with two policies": ("allow/x86.toml", '["x86"]', '["x86", "powerpc"]', r"'powerpc' already is with"),
    "word twice": ("syntax/tracing.toml", '["noinstr",', '["noinstr", "noinstr",', r"noinstr: 'noinstr' stands"),
    "definer that is no number": ("syntax/definers.toml", "BPF_CALL_0 = 1", 'BPF_CALL_0 = "1"', "whole number"),
    "unknown placeholder": ("catalogue/small_copy.toml", "copies {what}", "copies {waht}", r"\{waht\} is neither"),
    "broken template": ("catalogue/small_copy.toml", "copies {what}", "copies {what", "no template"),
    "unknown severity": ("catalogue/small_copy.toml", '"note"', '"info"', "'info' is not one of note, warning, error"),
    "no evidence": ("catalogue/small_copy.toml", "[[evidence]]", "[[proof]]", "proof: unknown key"),
    "level three": ("catalogue/small_copy.toml", "level = 1", "level = 3", "level: must be 1 or 2"),
    "typ outside the interval": ("cycles/power9.toml", "typ = 130", "typ = 160", r"figure\[0\]\.typ: must lie between"),
    "figure without source": ("cycles/fu540.toml", 'source = "FU540', 'origin2 = "FU540', r"source: is missing"),
    "figure twice": ("cycles/power9.toml", '"flush"', '"switch"', "'switch' stands there twice"),
    "two defaults": ("cycles/zen2.toml", "default_for = []", 'default_for = ["x86"]', "'default for x86' already"),
    "alias of another model": ("cycles/zen2.toml", '"Rome"', '"P9"', "'P9' already belongs to power9.toml"),
    "no clock source": ("cycles/8xx.toml", "clock_source", "clock_sauce", "clock_source: is missing"),
}


@pytest.mark.parametrize(("file", "old", "new", "complaint"), FAULTS.values(), ids=FAULTS)
def test_faults_are_refused(tmp_path: Path, file: str, old: str, new: str, complaint: str) -> None:
    rules = Path(shutil.copytree(RULES, tmp_path / "rules"))
    text = (rules / file).read_text(encoding="utf-8")
    assert old in text
    (rules / file).write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(RulebookError, match=complaint) as caught:
        load_rulebook(rules)
    assert Path(file).name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(RulebookError, match="no such directory"):
        load_rulebook(tmp_path / "nowhere")


def test_version_changes_with_any_byte_and_only_then(tmp_path: Path) -> None:
    rules = Path(shutil.copytree(RULES, tmp_path / "rules"))
    assert load_rulebook(rules).version == load_rulebook(RULES).version
    other = Path(shutil.copytree(RULES, tmp_path / "other"))
    with (other / "cycles" / "zen2.toml").open("a", encoding="utf-8") as file:
        file.write("# one more word\n")
    assert load_rulebook(other).version != load_rulebook(RULES).version
