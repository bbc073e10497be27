"""`reviewbot review`: a series as it travels, from an mbox, a maildir, a folder of patches or stdin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reviewbot.frontends.options import review_options, to_wish

if TYPE_CHECKING:
    from reviewbot.findings.review import Review
    from reviewbot.frontends.reviewing import Ready
    from reviewbot.frontends.wish import Wish
    from reviewbot.mail.limits import Limits
    from reviewbot.mail.mailbox import MailInput
    from reviewbot.series.patch import Series


@click.command()
@click.argument("sources", metavar="MBOX|MAILDIR|DIR|MSGID|URL|-", nargs=-1, required=True)
@click.option(
    "--tree",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The kernel tree that the series is for: a git work tree, a bare repository or a folder of sources.",
)
@click.option("--base", metavar="REV", help="The commit that the series is applied to, in the repository of --tree.")
@review_options
def review(sources: tuple[str, ...], tree: Path | None, base: str | None, **values: Any) -> int:
    """Review a patch series from an mbox, a maildir, a folder of `git format-patch` files, or stdin (-).
    A Message-ID or the address of a mail fetches its thread from a public-inbox archive such as lore.kernel.org.

    The newest version of the newest series is reviewed. Without a tree the review works from the patches alone,
    and says what it could not see.

    \b
    Examples:
      reviewbot review series.mbox --tree ~/linux
      reviewbot review https://lore.kernel.org/r/MESSAGE-ID --tree ~/linux
      b4 am -o- MESSAGE-ID | reviewbot review - --tree ~/linux
      reviewbot review outgoing/ --tree ~/linux --format json
    """
    from reviewbot.frontends import settings
    from reviewbot.frontends.progress import command_progress
    from reviewbot.frontends.reviewing import conclude, prepare

    wish = to_wish(values)
    layers = [*settings.file_layers(wish.config), *settings.git_layer(Path.cwd())]
    ready = prepare(wish, layers, command_progress(quiet=wish.quiet))
    series, unread = _read(sources, wish, ready)
    tree = tree or ready.section.tree
    if base and tree is None:
        raise click.UsageError("--base names a commit of a tree; give the tree with --tree DIR.")
    return conclude(lambda: _with_gaps(_review(series, tree, base, ready), unread), wish, ready, layers)


def _read(sources: tuple[str, ...], wish: Wish, ready: Ready) -> tuple[Series, tuple[str, ...]]:
    """The series to review, and a sentence for each mail that could not be read."""
    from reviewbot.series.from_mail import choose_series, find_series

    ready.options.tell.start("fetching mails" if any(map(_is_remote, sources)) else "reading mails")
    inputs = [
        _fetch(source, wish, ready.limits) if _is_remote(source) else _read_local(source, ready.limits)
        for source in sources
    ]
    messages = [message for each in inputs for message in each.messages]
    found = find_series(messages, limits=ready.limits)
    unread = tuple(problem for each in inputs for problem in each.problems)
    return _named(found, sources) or choose_series(found), unread


def _is_remote(source: str) -> bool:
    """A Message-ID or an address, and no file of that name."""
    return source.startswith(("http://", "https://", "<", "mid:")) or ("@" in source and not Path(source).exists())


def _read_local(source: str, limits: Limits) -> MailInput:
    from reviewbot.mail.mailbox import read_mailbox

    return read_mailbox(source, limits=limits)


def _fetch(source: str, wish: Wish, limits: Limits) -> MailInput:
    """The thread of a mail, from the archive that the user named or configured."""
    from reviewbot.delivery.clock import SystemClock
    from reviewbot.frontends.bot_setup import archive, bot_settings
    from reviewbot.mail.archive import to_mailed
    from reviewbot.mail.mailbox import read_mail_bytes

    mailed = to_mailed(source)
    if mailed is None:
        if source.startswith("http"):
            raise click.UsageError(f"{source} is no mail in an archive; for patchwork: reviewbot patchwork review URL.")
        return _read_local(source, limits)
    store = archive(bot_settings(wish.config), SystemClock(), mailed.inbox, cached=not wish.no_cache)
    data = store.thread(mailed.message_id)
    return read_mail_bytes(data, f"the thread of {mailed.message_id}", limits=limits)


def _named(found: tuple[Series, ...], sources: tuple[str, ...]) -> Series | None:
    """The very version whose mail the user named; a reply or a file names none."""
    from reviewbot.mail.archive import to_mailed

    ids = {mailed.message_id for source in sources if _is_remote(source) and (mailed := to_mailed(source))}
    for each in found if ids else ():
        mails = {each.cover.message_id if each.cover else "", *(patch.message_id for patch in each.patches)}
        if each.patches and mails & ids:
            return each
    return None


def _review(series: Series, tree: Path | None, base: str | None, ready: Ready) -> Review:
    from reviewbot import pipeline
    from reviewbot.findings.review import Base
    from reviewbot.git import Repository
    from reviewbot.source.folder_tree import FolderTree, is_git

    if tree is None:
        return pipeline.review(series, None, ready.options, ready.book)
    if is_git(tree):
        return pipeline.review_on_tree(series, Repository.open(tree), ready.options, ready.book, base)
    if base:
        raise click.UsageError(f"{tree} is a folder without git, so it has no {base!r}.")
    origin = Base(rev="", how=f"the files in {tree}, without git")
    return pipeline.review(series, FolderTree(tree.resolve()), ready.options, ready.book, origin)


def _with_gaps(made: Review, sentences: tuple[str, ...]) -> Review:
    """What could not be read might have been part of the series, so it is a gap."""
    from reviewbot.findings.finding import Gap

    gaps = tuple(Gap(path="", line=0, function="", reason=sentence) for sentence in sentences)
    return replace(made, gaps=(*made.gaps, *gaps))
