"""The one place where an error becomes a sentence on stderr and an exit code, for every command."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

# Modules and their classes stay, and are many: looking for garbage every 700 objects takes longer than loading some.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000
_SECRET_WORDS = ("TOKEN", "PASSWORD", "SECRET", "PASSPHRASE", "API_KEY")


def program() -> NoReturn:
    """What the command is: `main`, and the end of the process. A hook does not take its modules and values apart first,
    which takes a tenth of its time; what it wrote is written by then, and what it started has ended."""
    status = main()
    if sys.argv[1:2] == ["hook"]:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):  # the interpreter knows what to say
            sys.exit(status)
        os._exit(status)
    sys.exit(status)


def main() -> int:
    """Run the command line; returns the exit code. Findings are on stdout, everything else on stderr."""
    _fill_closed_streams()
    arguments = sys.argv[1:]
    is_completing = "_REVIEWBOT_COMPLETE" in os.environ
    if arguments in (["--help"], ["-h"], ["help"], ["--version"], []) and not is_completing:
        return _answer_at_once(arguments)
    staged = None
    if arguments == ["hook"] and not is_completing:
        is_quiet, staged = _look_at_commit()
        if is_quiet:
            return 0
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    from reviewbot.frontends.exits import Exit

    try:
        _end_on_signals()
        return _run(arguments, staged)
    except BrokenPipeError:
        _silence(sys.stdout)
        return Exit.BROKEN_PIPE
    except KeyboardInterrupt:
        say("interrupted")
        return Exit.INTERRUPTED
    except TerminatedError as error:
        say(f"ended by {error.name}")
        return 128 + error.number
    except MemoryError:
        return _out_of_memory()
    except Exception as error:  # noqa: BLE001 - the one place where everything ends
        try:
            return _explain(error, "-v" in arguments or "--verbose" in arguments)
        except MemoryError:
            return _out_of_memory()


class TerminatedError(BaseException):
    """SIGTERM or SIGHUP came; like KeyboardInterrupt no Exception, so that no handler of errors takes it for one."""

    def __init__(self, number: int, name: str) -> None:
        super().__init__(name)
        self.number, self.name = number, name


def _end_on_signals() -> None:
    """What ends the process unwinds it first, so that no half-written file is left. What was ignored, as under nohup,
    stays so."""
    import signal

    def end(number: int, frame: FrameType | None) -> None:
        raise TerminatedError(number, signal.Signals(number).name)

    for each in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) is signal.SIG_DFL:
            signal.signal(each, end)


def _fill_closed_streams() -> None:
    """A stream that the caller closed must not become the descriptor of another file. What is written to a closed
    stdout fails, as it should; nothing comes from a closed stdin, and a closed stderr takes everything."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY), "r")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _out_of_memory() -> int:
    """Said without asking for any more of it."""
    from contextlib import suppress

    with suppress(OSError):
        os.write(2, b"reviewbot: there is not enough memory for this review; nothing is known of the rest.\n")
    return 3


def say(sentence: str) -> None:
    """One sentence for people on stderr, without a secret and without control characters."""
    from reviewbot.report.escape import visible

    text = visible(_without_secrets(sentence.strip()), keep="\n\t")
    try:
        print(f"reviewbot: {text}", file=sys.stderr, flush=True)
    except UnicodeEncodeError:
        print(f"reviewbot: {text.encode('ascii', 'backslashreplace').decode()}", file=sys.stderr, flush=True)
    except OSError:  # nobody reads it, or the disk that takes it is full
        _silence(sys.stderr)


def _answer_at_once(arguments: list[str]) -> int:
    """Help and version need no command line parser and no enum, whose imports take longer than the answer."""
    from reviewbot.frontends.commands import overview, version

    if not arguments:
        print(overview(), end="", file=sys.stderr)
        return 2
    try:
        print(version() if arguments == ["--version"] else overview(), end="", flush=True)
    except BrokenPipeError:
        _silence(sys.stdout)
        return 141
    except OSError as error:
        _silence(sys.stdout)
        say(f"stdout cannot be written: {error.strerror}.")
        return 4
    return 0


def _look_at_commit() -> tuple[bool, bytes | None]:
    """Whether the hook can be silent at once, and what is staged; anything odd is left to the review, which says what
    it is."""
    from pathlib import Path

    from reviewbot.frontends.quiet_hook import look_at_staged

    return look_at_staged(Path())


def _run(arguments: list[str], staged: bytes | None) -> int:
    """Without click's own `main`, which has its own ideas of broken pipes and interrupts. A hook without options needs
    no parser, whose import takes longer than all that git does for it."""
    if arguments == ["hook"] and "_REVIEWBOT_COMPLETE" not in os.environ:
        from reviewbot.frontends.hook_review import review_hook
        from reviewbot.frontends.wish import Wish

        status = int(review_hook(Wish(), staged=staged))
    else:
        from reviewbot.frontends.cli import cli

        if "_REVIEWBOT_COMPLETE" in os.environ:
            cli.main(arguments, prog_name="reviewbot")
        with cli.make_context("reviewbot", list(arguments)) as context:
            status = int(cli.invoke(context) or 0)
    sys.stdout.flush()
    return status


def _explain(error: Exception, is_verbose: bool) -> int:
    """The exit code for an error, after saying it."""
    import click

    from reviewbot.errors import DeliveryError, ReviewbotError, UsageError
    from reviewbot.frontends.exits import Exit, refusal

    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    _drop_what_stdout_cannot_take()
    if isinstance(error, click.Abort):
        say("interrupted")
        return Exit.INTERRUPTED
    if isinstance(error, click.ClickException):
        say(_click_sentence(error))
        return Exit.USAGE
    if isinstance(error, ReviewbotError):
        say(_ended(str(error)))
        if isinstance(error, UsageError):
            return Exit.USAGE
        return Exit.NOT_DELIVERED if isinstance(error, DeliveryError) else Exit.NOT_REVIEWED
    if isinstance(error, OSError) and (refused := refusal(error)):
        say(refused[0])
        return refused[1]
    return _report_bug(error, is_verbose)


def _click_sentence(error: Exception) -> str:
    """click's message, and where the help for that command is."""
    import click

    assert isinstance(error, click.ClickException)
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f" See `{context.command_path} --help`." if context is not None else ""
    return f"{_ended(error.format_message())}{hint}"


def _report_bug(error: Exception, is_verbose: bool) -> int:
    """No traceback for users: it goes to a file that they can send, or to stderr when they asked for details."""
    import traceback

    from reviewbot.frontends.exits import Exit

    trace = _without_secrets("".join(traceback.format_exception(error)))
    where = "see above"
    if is_verbose:
        print(trace, file=sys.stderr)
    else:
        where = _keep_trace(trace)
    say(f"this is a bug in reviewbot ({type(error).__name__}); please report it with the details: {where}.")
    return Exit.BUG


def _keep_trace(trace: str) -> str:
    """Write the traceback where only the user can read it; gives the place, or how to see it."""
    from reviewbot.config import state_dir
    from reviewbot.errors import ConfigError

    try:
        directory = state_dir()
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = directory / f"bug-{os.getpid()}.txt"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as stream:
            stream.write(trace.encode("utf-8", "backslashreplace").decode("utf-8"))
    except (OSError, UnicodeError, ConfigError):
        return "run it again with -v"
    return str(path)


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."


def _without_secrets(text: str) -> str:
    """The text without the value of any environment variable that is called a secret."""
    for name, value in os.environ.items():
        if len(value) >= 6 and any(word in name.upper() for word in _SECRET_WORDS):
            text = text.replace(value, "(hidden)")
    return text


def _drop_what_stdout_cannot_take() -> None:
    """Else Python tries again at the end, and fails with words of its own."""
    try:
        sys.stdout.flush()
    except OSError:
        _silence(sys.stdout)


def _silence(stream: object) -> None:
    """After a broken pipe: let Python's own flush at exit find something that takes it."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - a descriptor is what is needed
        os.dup2(nowhere.fileno(), stream.fileno())  # type: ignore[attr-defined]
