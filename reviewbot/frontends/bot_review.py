"""How the bot reviews a series: on the tree of its list, trying the list's bases where the series does not apply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from reviewbot import pipeline
from reviewbot.config import Layer
from reviewbot.delivery.clock import Clock
from reviewbot.delivery.settings import BotSection, ListSettings, MailSection
from reviewbot.delivery.verdicts import Voice
from reviewbot.findings.review import Base, Outcome, Review
from reviewbot.findings.waivers import hold_back, read_waivers
from reviewbot.frontends.bot_setup import identity
from reviewbot.frontends.exits import FailOn
from reviewbot.frontends.isolation import review_apart
from reviewbot.frontends.progress import progress
from reviewbot.frontends.reviewing import Ready, prepare
from reviewbot.frontends.wish import Wish
from reviewbot.git import Repository
from reviewbot.report.escape import visible
from reviewbot.report.view import View
from reviewbot.series.patch import Series
from reviewbot.source.folder_tree import FolderTree, is_git
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BotReviewer:
    """Reviews series for the watchers, each in a process of its own."""

    ready: Ready
    layers: Sequence[Layer]
    bot: BotSection
    clock: Clock

    def __call__(self, series: Series, where: ListSettings) -> Review:
        """The Review. Raises InputError, GitError, ReviewFailedError, or StopAsked."""
        with progress(quiet=False, forks=True) as tell:
            tell.start(f"reviewing {visible(series.subject)}")
            return review_apart(
                lambda: self.review(series, where.tree or self.ready.section.tree, where.bases),
                self.clock,
                timeout_s=self.bot.review_timeout_s,
                memory_mb=self.bot.review_memory_mb,
                tick=tell.tick,
            )

    def review(self, series: Series, tree: Path | None, bases: Sequence[str]) -> Review:
        """The Review in this process, with the user's waivers held back."""
        return hold_back(self._plain(series, tree, bases), read_waivers(self.layers), {}, date.today())

    def _plain(self, series: Series, tree: Path | None, bases: Sequence[str]) -> Review:
        options, book = self.ready.options, self.ready.book
        if tree is None:
            return pipeline.review(series, None, options, book)
        if not is_git(tree):
            origin = Base(rev="", how="a folder of sources without git")
            return pipeline.review(series, FolderTree(tree.resolve()), options, book, origin)
        repository = Repository.open(tree)
        return _first_that_applies(lambda base: pipeline.review_on_tree(series, repository, options, book, base), bases)


def bot_reviewer(layers: Sequence[Layer], bot: BotSection, clock: Clock) -> BotReviewer:
    """A reviewer with the rules and the [review] settings in force."""
    return BotReviewer(ready=prepare(NO_WISH, layers), layers=layers, bot=bot, clock=clock)


def voice(ready: Ready, mail: MailSection) -> Voice:
    """How we speak in mails."""
    view = View(cpu=ready.section.cpu or "", opt_out=mail.opt_out or mail.address)
    return Voice(mail=mail, own=identity(mail), view=view, rules_version=ready.book.version[:12])


def _first_that_applies(review_on: Callable[[str | None], Review], bases: Sequence[str]) -> Review:
    """The base that the series itself tells of comes first; then the list's. The best one where it applies to none."""
    best: tuple[int, Review] | None = None
    for base in (None, *bases):
        made = review_on(base)
        failed = sum(1 for patch in made.patches if patch.outcome is Outcome.NOT_APPLIED)
        if not failed:
            return made
        if best is None or failed < best[0]:
            best = (failed, made)
    assert best is not None
    return best[1]


NO_WISH = Wish(fail_on=FailOn.WARNING)
