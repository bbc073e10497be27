"""The command line as its users meet it: what is said, where, and with which exit code."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from reviewbot.frontends import guard
from reviewbot.frontends.cli import cli
from reviewbot.frontends.commands import COMMANDS, overview
from reviewbot.frontends.options import FORMAT_NAMES
from reviewbot.report.formats import FORMATS
from tests.repositories import commit, git, make_repository, write
from tests.test_pipeline import FILL, FILL_TEXT, FRAME, FRAME_TEXT

FIXTURES = Path(__file__).parent.parent / "fixtures"
HOOKS = FIXTURES.parent / ".pre-commit-hooks.yaml"
SERIES = str(FIXTURES / "series" / "signal64-like.mbox")
QUIET_SERIES = str(FIXTURES / "series" / "nothing-to-review.mbox")
TREE = str(FIXTURES / "tree")


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings, cache or colour of the machine that runs the tests."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "REVIEWBOT_CONFIG", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.chdir(home)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Runs the whole command line in this process, as bytes on stdout and stderr."""

    def call(*arguments: str, stdin: bytes = b"") -> Done:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        monkeypatch.setattr(sys, "argv", ["reviewbot", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = guard.main()
        return Done(int(code), *(_text(stream) for stream in (out, err)))

    return call


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


# Help and names


def test_the_quick_help_is_the_real_help() -> None:
    assert CliRunner().invoke(cli, ["--help"]).output == overview()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_own_help(run, name) -> None:  # type: ignore[no-untyped-def]
    done = run(name, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: reviewbot {name}")


def test_the_offered_formats_are_those_that_exist() -> None:
    assert tuple(FORMATS) == FORMAT_NAMES


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["revue"], "There is no command 'revue'. Did you mean 'review'?", id="command"),
        pytest.param(["explain", "traced_cal"], "Did you mean 'traced_call'?", id="rule"),
        pytest.param(["models", "powr9"], "Did you mean 'POWER9'?", id="model"),
        pytest.param(["review", SERIES, "--cpu", "powr9"], "Did you mean 'POWER9'?", id="cpu"),
        pytest.param(["review", SERIES, "--formt", "json"], "--format", id="option"),
        pytest.param(["review", SERIES, "--format", "jsn"], "'json'", id="format"),
        pytest.param(["review"], "Missing argument", id="no-source"),
        pytest.param(["review", SERIES, "--base", "HEAD"], "--tree DIR", id="base-without-tree"),
        pytest.param(["review", SERIES, "--tree", TREE, "--base", "HEAD"], "without git", id="base-of-a-folder"),
        pytest.param(["review", SERIES, "--kernel", "six"], "not a kernel version", id="kernel"),
        pytest.param(["review", SERIES, "--mitigations", "maybe"], "can be on or off", id="mitigations"),
        pytest.param(["config", "revue"], "There is no section 'revue'", id="section"),
    ],
)
def test_called_wrongly_is_one_sentence_and_2(run, arguments, said) -> None:  # type: ignore[no-untyped-def]
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err and done.err.count("\n") == 1


def test_no_command_is_help_on_stderr_and_2(run) -> None:  # type: ignore[no-untyped-def]
    assert run() == Done(2, "", overview())


# Words and numbers


def test_explain_lists_every_rule_and_tells_one(run) -> None:  # type: ignore[no-untyped-def]
    assert "small_copy" in run("explain").out
    page = run("explain", "small_copy").out
    assert all(f"\n{part}\n" in page for part in ("What", "Why", "Bad", "Good", "Fix", "Variants", "Evidence"))
    assert max(map(len, page.splitlines())) <= 120


def test_models_lists_every_cpu_with_the_sources_of_its_figures(run) -> None:  # type: ignore[no-untyped-def]
    assert "POWER9" in run("models").out
    assert "[ppc64-p9-amr-switch]" in run("models", "power9").out


def test_config_names_the_origin_of_every_value(run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "c.toml"
    file.write_text('[review]\nfail_on = "note"\n')
    root = make_repository(tmp_path / "tree")
    git(root, "config", "reviewbot.cpu", "power9")
    out = run("config", "review", "--config", str(file), "-C", str(root)).out
    rows = dict(line.split(None, 1) for line in out.splitlines() if line.startswith("review."))
    assert rows["review.fail_on"] == f"note  ({file})"
    assert rows["review.cpu"] == "power9  (git config)"
    assert rows["review.tree"] == "(unset)  (default)"


def test_the_example_settings_are_accepted_with_and_without_the_hashes(run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    text = run("config", "--example").out
    head, waivers, rest = text.partition("# [[waivers]]")
    filled = re.sub(r'^# (\w+ = (?!""))', r"\1", head, flags=re.MULTILINE)
    filled = re.sub(r"^# (\[[\w.]+\])$", r"\1", filled, flags=re.MULTILINE)
    path = tmp_path / "example.toml"
    for content, has_values in ((text, False), (filled + waivers + rest, True)):
        path.write_text(content)
        done = run("config", "--config", str(path))
        assert (done.code, done.err) == (0, "")
        assert (str(path) in done.out) is has_values


def test_a_file_in_a_tree_may_not_name_servers(run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    root = make_repository(tmp_path / "tree", {".reviewbot.toml": '[patchwork]\nurl = "https://example.org"\n'})
    done = run("config", "-C", str(root))
    assert done.code == 2 and "unknown section [patchwork]" in done.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_for_the_shell(run, shell) -> None:  # type: ignore[no-untyped-def]
    done = run("completion", shell)
    assert done.code == 0 and "_REVIEWBOT_COMPLETE" in done.out


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        pytest.param(["reviewbot", "ra"], "range", id="command"),
        pytest.param(["reviewbot", "patchwork", "w"], "watch", id="command-of-a-group"),
        pytest.param(["reviewbot", "review", "--fix"], "--fix-patch", id="option"),
        pytest.param(["reviewbot", "scan", "--format", "sa"], "sarif", id="format"),
        pytest.param(["reviewbot", "explain", "tra"], "traced_call", id="rule"),
        pytest.param(["reviewbot", "models", "power9"], "power9", id="model"),
        pytest.param(["reviewbot", "budget", "f", "--cpu", "power9"], "power9", id="cpu-of-budget"),
        pytest.param(["reviewbot", "range", "--cpu", "power9"], "power9", id="cpu"),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_shell_is_told_what_may_come_next(shell: str, words: list[str], offered: str, tmp_path: Path) -> None:
    """The scripts in a real shell, where there is one."""
    if shutil.which(shell) is None:
        pytest.skip(f"without {shell}")
    program = tmp_path / "reviewbot"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m reviewbot "$@"\n')
    program.chmod(0o755)
    line = " ".join(words)
    script = f'reviewbot completion fish | source; complete -C "{line}"'
    if shell == "bash":
        script = (
            f'eval "$(reviewbot completion bash)"; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; '
            "name=$(complete -p reviewbot | sed 's/.*-F \\([^ ]*\\).*/\\1/'); $name reviewbot; echo ${COMPREPLY[*]}"
        )
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "xterm",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }  # fmt: skip
    done = subprocess.run([shell, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split()[:1] == [offered], done.stderr


def test_the_manual_page_tells_every_command_and_option(run) -> None:  # type: ignore[no-untyped-def]
    page = run("man").out
    assert page.startswith(".TH REVIEWBOT 1")
    assert all(f'.SS "reviewbot {name} ' in page for name in COMMANDS)
    assert '.SS "reviewbot patchwork watch ' in page
    assert "\\-\\-fail\\-on" in page
    assert all(f".SH {name}\n" in page for name in ("ENVIRONMENT", "FILES", "SEE ALSO"))


@pytest.mark.skipif(shutil.which("man") is None, reason="without man")
def test_man_shows_the_page_in_80_columns_and_warns_of_nothing(run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    page = tmp_path / "reviewbot.1"
    page.write_text(run("man").out, "utf-8")
    environment = {"PATH": os.environ["PATH"], "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""}
    shown = subprocess.run(
        ["man", "--warnings", "-P", "cat", str(page)], env=environment, capture_output=True, text=True, check=False
    )
    if "minimized" in shown.stdout:
        pytest.skip("man itself was taken out of this system")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert [line for line in shown.stdout.splitlines() if len(re.sub(r".\x08|\x1b\[[0-9;]*m", "", line)) > 80] == []
    assert "reviewbot patchwork watch" in re.sub(r".\x08|\x1b\[[0-9;]*m", "", shown.stdout)


# review


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(None, "no such file", id="missing"),
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b"<html><body>x</body></html>", "", id="web-page"),
        pytest.param(b"\x00\x01\x02" * 99, "", id="binary"),
        pytest.param(b"From: a@example.org\nSubject: hello\n\nJust words.\n", "", id="no-patch"),
    ],
)
def test_what_cannot_be_reviewed_is_one_sentence_and_3(run, tmp_path, content, said) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "input.mbox"
    if content is not None:
        path.write_bytes(content)
    done = run("review", str(path))
    assert (done.code, done.out) == (3, "")
    assert "input.mbox" in done.err or "no patch" in done.err
    assert said in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_each_format_reaches_stdout_and_the_code_is_1(run, name) -> None:  # type: ignore[no-untyped-def]
    done = run("review", SERIES, "--tree", TREE, "--format", name)
    assert (done.code, done.err) == (1, "")
    assert "\x1b" not in done.out
    if name in ("json", "sarif", "rdjson", "b4"):
        assert json.loads(done.out)
    else:
        assert "signal_64.c" in done.out


def test_the_same_input_gives_the_same_bytes(run) -> None:  # type: ignore[no-untyped-def]
    first, second = (run("review", SERIES, "--tree", TREE, "--format", "json").out for _ in range(2))
    assert first == second


def test_a_series_on_stdin(run) -> None:  # type: ignore[no-untyped-def]
    done = run("review", "-", "--tree", TREE, stdin=Path(SERIES).read_bytes())
    assert done.code == 1 and "signal_64.c" in done.out


def test_without_a_tree_the_review_says_that_it_is_partial(run) -> None:  # type: ignore[no-untyped-def]
    report = json.loads(run("review", SERIES, "--format", "json").out)
    assert report["complete"] is False
    assert report["series"]["base"]["rev"] == ""


@pytest.mark.parametrize(
    ("options", "is_coloured"),
    [
        pytest.param([], False, id="a-pipe"),
        pytest.param(["--color"], True, id="asked-for"),
        pytest.param(["--no-color"], False, id="refused"),
    ],
)
def test_colour_is_for_terminals_or_on_demand(run, options, is_coloured) -> None:  # type: ignore[no-untyped-def]
    assert ("\x1b[" in run("review", SERIES, "--tree", TREE, *options).out) is is_coloured


def test_lines_fit_80_columns_in_a_pipe(run) -> None:  # type: ignore[no-untyped-def]
    out = run("review", SERIES, "--tree", TREE).out
    assert max(map(len, out.splitlines())) <= 80


def test_output_goes_to_a_file_and_nothing_else_stays(run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "out" / "report.json"
    path.parent.mkdir()
    done = run("review", SERIES, "--tree", TREE, "--format", "json", "--output", str(path))
    assert (done.code, done.out) == (1, "")
    assert json.loads(path.read_text())["findings"]
    assert [each.name for each in path.parent.iterdir()] == ["report.json"]


def test_a_report_that_cannot_be_written_is_4(run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    done = run("review", SERIES, "--tree", TREE, "--output", str(tmp_path / "no" / "report.txt"))
    assert done.code == 4 and "cannot be written" in done.err


def test_quiet_says_nothing_when_there_is_nothing(run) -> None:  # type: ignore[no-untyped-def]
    assert run("review", QUIET_SERIES, "--tree", TREE, "--quiet") == Done(0, "", "")
    assert run("review", SERIES, "--tree", TREE, "--quiet").out


def test_fail_on_never_reports_and_exits_0(run) -> None:  # type: ignore[no-untyped-def]
    done = run("review", SERIES, "--tree", TREE, "--fail-on", "never")
    assert done.code in (0, 3) and "finding" in done.out


def test_a_baseline_holds_back_what_it_was_written_from(run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = str(tmp_path / "base.json")
    assert run("review", SERIES, "--tree", TREE, "--write-baseline", path).code == 1
    report = json.loads(run("review", SERIES, "--tree", TREE, "--baseline", path, "--format", "json").out)
    assert report["findings"] == []
    assert "in the baseline" in {entry["reason"] for entry in report["held_back"]}


def test_a_waiver_in_the_settings_file_counts(run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "c.toml"
    file.write_text('[[waivers]]\npath = "arch/*"\nreason = "known"\n')
    report = json.loads(run("review", SERIES, "--tree", TREE, "--config", str(file), "--format", "json").out)
    assert "waived: known" in {entry["reason"] for entry in report["held_back"]}


def test_min_cycles_holds_back_what_is_cheaper(run) -> None:  # type: ignore[no-untyped-def]
    options = ["review", SERIES, "--tree", TREE, "--format", "json", "--min-cycles", "100000"]
    report = json.loads(run(*options).out)
    assert all(finding["severity"] == "error" for finding in report["findings"])


# range and hook


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small tree as a repository, with a user who can commit."""
    root = tmp_path / "kernel"
    shutil.copytree(TREE, root)
    make_repository(root, {})
    for name, value in (("user.name", "A"), ("user.email", "a@example.org")):
        git(root, "config", name, value)
    monkeypatch.chdir(root)
    return root


BAD = """\
#include <linux/uaccess.h>

long copy_mask(u64 __user *from)
{
	u64 mask;

	if (copy_from_user(&mask, from, sizeof(mask)))
		return -EFAULT;
	return mask;
}
"""


def test_a_range_reports_what_its_commits_bring(run, kernel) -> None:  # type: ignore[no-untyped-def]
    write(kernel, {"arch/powerpc/kernel/mask.c": BAD})
    git(kernel, "add", "-A")
    git(kernel, "commit", "-q", "-m", "kernel: copy a mask")
    report = json.loads(run("range", "HEAD~1..", "--format", "json").out)
    (finding,) = report["findings"]
    assert (finding["rule"], finding["path"], finding["line"]) == ("small_copy", "arch/powerpc/kernel/mask.c", 7)
    assert (finding["bytes"], finding["patch"], finding["function"]) == (8, 1, "copy_mask")


@pytest.mark.parametrize("text", ["nope..", "HEAD..HEAD", "--upload-pack=x"])
def test_a_range_that_is_none_is_one_sentence(run, kernel, text) -> None:  # type: ignore[no-untyped-def]
    done = run("range", text)
    assert done.code in (2, 3) and done.out == "" and done.err.count("\n") == 1


def test_the_hook_is_silent_when_there_is_nothing(run, kernel) -> None:  # type: ignore[no-untyped-def]
    assert run("hook") == Done(0, "", "")
    write(kernel, {"Documentation/x.rst": "words\n"})
    git(kernel, "add", "-A")
    assert run("hook") == Done(0, "", "")


def test_the_hook_reviews_what_is_staged_and_not_the_work_tree(run, kernel) -> None:  # type: ignore[no-untyped-def]
    write(kernel, {"arch/powerpc/kernel/mask.c": BAD})
    assert run("hook") == Done(0, "", "")
    git(kernel, "add", "-A")
    write(kernel, {"arch/powerpc/kernel/mask.c": "int x;\n"})
    done = run("hook")
    assert done.code == 1 and "small_copy" in done.out


def test_an_installed_hook_stops_the_commit_and_runs_the_former_one(run, kernel) -> None:  # type: ignore[no-untyped-def]
    former = kernel / ".git" / "hooks" / "pre-commit"
    former.parent.mkdir(exist_ok=True)
    former.write_text("#!/bin/sh\ntouch former-ran\n")
    former.chmod(0o755)
    assert run("hook", "--install").code == 0
    write(kernel, {"arch/powerpc/kernel/mask.c": BAD})
    git(kernel, "add", "-A")
    done = subprocess.run(["git", "commit", "-m", "x"], cwd=kernel, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "small_copy" in done.stdout + done.stderr
    assert (kernel / "former-ran").exists()
    assert run("hook", "--uninstall").code == 0
    assert former.read_text() == "#!/bin/sh\ntouch former-ran\n"


def test_a_shared_hooks_folder_is_left_alone_without_force(run, kernel, tmp_path) -> None:  # type: ignore[no-untyped-def]
    git(kernel, "config", "core.hooksPath", str(tmp_path / "shared"))
    done = run("hook", "--install")
    assert done.code == 2 and "--force" in done.err
    assert run("hook", "--install", "--force").code == 0
    assert (tmp_path / "shared" / "pre-commit").exists()


def test_a_push_is_read_from_pre_commits_variables(run, kernel, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    before = git(kernel, "rev-parse", "HEAD")
    write(kernel, {"arch/powerpc/kernel/mask.c": BAD})
    git(kernel, "add", "-A")
    git(kernel, "commit", "-q", "-m", "kernel: copy a mask")
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", before)
    monkeypatch.setenv("PRE_COMMIT_TO_REF", git(kernel, "rev-parse", "HEAD"))
    assert run("hook", "--push").code == 1


@pytest.mark.parametrize("branch", ["refs/heads/main", None], ids=["first-push", "by-hand"])
def test_what_pre_commit_names_no_commits_for_is_reviewed_as_new(  # type: ignore[no-untyped-def]
    run, kernel, monkeypatch, branch
) -> None:
    """pre-commit calls a push that brings the root commit "all files", and passes no range."""
    git(kernel, "branch", "-M", "main")
    write(kernel, {"arch/powerpc/kernel/mask.c": BAD})
    git(kernel, "add", "-A")
    git(kernel, "commit", "-q", "-m", "kernel: copy a mask")
    monkeypatch.setenv("PRE_COMMIT", "1")
    if branch:
        monkeypatch.setenv("PRE_COMMIT_LOCAL_BRANCH", branch)
    done = run("hook", "--push")
    assert done.code == 1 and "small_copy" in done.out


@pytest.mark.skipif(not HOOKS.exists(), reason="without the checkout")
def test_both_hooks_of_pre_commit_run_whatever_is_changed() -> None:
    """A commit that only deletes files has no files for pre-commit, and a hook that waits for some would be skipped."""
    text = HOOKS.read_text("utf-8")
    hooks = text.split("- id: ")[1:]
    assert [part.split("\n")[0] for part in hooks] == ["reviewbot", "reviewbot-push"]
    assert all("always_run: true" in part and "pass_filenames: false" in part for part in hooks)


def test_of_a_file_staged_in_part_only_that_part_is_reviewed(run, kernel) -> None:  # type: ignore[no-untyped-def]
    path, pad = "arch/powerpc/kernel/mask.c", "\n".join(f"int pad{number};" for number in range(30))
    write(kernel, {path: f"#include <linux/uaccess.h>\n{pad}\n"})
    git(kernel, "add", "-A")
    git(kernel, "commit", "-q", "-m", "kernel: pad")
    write(kernel, {path: f"#include <linux/uaccess.h>\nint good;\n{pad}\n{BAD.partition('uaccess.h>')[2]}"})
    first, second = re.split(r"(?m)^(?=@@)", git(kernel, "diff"))[1:]
    head = git(kernel, "diff").partition("@@")[0]
    git(kernel, "apply", "--cached", "--recount", "-", stdin=f"{head}{first}".encode())
    assert run("hook") == Done(0, "", "")
    git(kernel, "add", path)
    assert run("hook").code == 1 and "+" in second


def test_a_push_is_read_from_git(run, kernel) -> None:  # type: ignore[no-untyped-def]
    before = git(kernel, "rev-parse", "HEAD")
    write(kernel, {"arch/powerpc/kernel/mask.c": BAD})
    git(kernel, "add", "-A")
    git(kernel, "commit", "-q", "-m", "kernel: copy a mask")
    after = git(kernel, "rev-parse", "HEAD")
    row = f"refs/heads/main {after} refs/heads/main {before}\n".encode()
    assert run("hook", "--push", stdin=row).code == 1
    deleted = f"(delete) {'0' * 40} refs/heads/main {before}\n".encode()
    assert run("hook", "--push", stdin=deleted) == Done(0, "", "")


def test_a_commit_that_only_mends_is_silent(run, kernel) -> None:  # type: ignore[no-untyped-def]
    (kernel / "kernel/mask.c").write_text(BAD)
    git(kernel, "add", "-A")
    git(kernel, "commit", "-q", "-m", "kernel: copy a mask")
    git(kernel, "rm", "-q", "kernel/mask.c")
    assert run("hook") == Done(0, "", "")


# Suggested changes


def test_the_fix_patch_of_a_commit_applies_to_it(run, kernel) -> None:  # type: ignore[no-untyped-def]
    source = kernel / "kernel" / "copied.c"
    head = "#include <linux/uaccess.h>\n#include <linux/types.h>\n#include <linux/errno.h>\n\n"
    test = "\tif (copy_from_user(&x, p, sizeof(x)))\n\t\treturn -EFAULT;\n"
    copying = f"int copied(u32 __user *p)\n{{\n\tu32 x;\n\n{test}\treturn x;\n}}\n"
    source.write_text(head + copying)
    git(kernel, "add", "-A")
    git(kernel, "commit", "-q", "-m", "kernel: copy a word")
    assert run("range", "HEAD", "--fix-patch", "fix.patch").code == 1
    git(kernel, "apply", "fix.patch")
    assert source.read_text() == head + copying.replace("copy_from_user(&x, p, sizeof(x))", "get_user(x, p)")
    git(kernel, "commit", "-q", "-a", "-m", "kernel: read a word")
    assert run("range", "HEAD", "--fix-patch", "fix.patch").code == 0
    assert (kernel / "fix.patch").read_text() == ""


# The process


def test_a_closed_pipe_is_quiet() -> None:
    command = f"{sys.executable} -m reviewbot explain traced_call | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == "" and done.returncode in (0, 141)


def test_an_ascii_locale_loses_no_character_and_raises_nothing() -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "reviewbot", "review", SERIES, "--tree", TREE]
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode == 1 and done.stderr == b""


# What is kept


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("range", "HEAD"), id="range"),
        pytest.param(("scan",), id="scan"),
        pytest.param(("hook",), id="hook"),
        pytest.param(("review", "series.patch", "--tree", "."), id="review"),
    ],
)
def test_without_a_cache_nothing_is_kept(run, command, tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    tree = make_repository(tmp_path / "linux", {FRAME: FRAME_TEXT, FILL: FILL_TEXT})
    commit(tree, {FILL: FILL_TEXT.replace("notrace ", "")}, "Drop it")
    write(tree, {FILL: FILL_TEXT})
    git(tree, "add", FILL)
    (tree / "series.patch").write_bytes(git(tree, "format-patch", "-1", "--stdout").encode())
    monkeypatch.chdir(tree)
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    without = run(*command, "--no-cache")
    assert not cache.exists()
    assert run(*command)[:2] == without[:2] and cache.exists()
