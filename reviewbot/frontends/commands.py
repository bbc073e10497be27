"""Every command: its name, where its code is, and what it does in one line. Nothing is imported until it is called."""

from __future__ import annotations

from reviewbot import __version__

# name -> (`module:function` below reviewbot.frontends, a click command; what it does in one line). Plain tuples, for
# importing `typing` and `enum` alone would double the time until --help is there.
COMMANDS: dict[str, tuple[str, str]] = {
    "review": ("review:review", "Review a patch series from an mbox, a maildir, a folder of patches or stdin"),
    "range": ("range:range_", "Review the commits of a git range"),
    "scan": ("scan:scan", "Review a whole tree, or parts of it, ranked by cost"),
    "hook": ("hook:hook", "Review what is staged, or what is about to be pushed"),
    "patchwork": ("patchwork_bot:patchwork", "Review a series of a patchwork server, or watch its projects"),
    "mail": ("mail_bot:mail", "Answer a patch mail from stdin, or watch a folder of list mail"),
    "backfill": ("backfill:backfill", "Review every series of a mail archive"),
    "ledger": ("ledger:ledger", "Show what was said, to whom and when, and what is pending"),
    "explain": ("explain:explain", "Tell what a rule finds, why it matters, and how to mend it"),
    "budget": ("budget:budget", "Count how often a call of a function opens user access, place by place"),
    "evidence": ("evidence:evidence", "Set the benchmark figures that people posted beside the cost model"),
    "models": ("models:models", "List the CPU models that costs are estimated for"),
    "cache": ("cache:cache", "Show what is kept from run to run, or clear it"),
    "config": ("show_config:show_config", "Print the settings in force, and where each comes from"),
    "man": ("man:man", "Print the manual page"),
    "completion": ("completion:completion", "Print the completion script for a shell"),
}

EXAMPLES = """\
Examples:
  reviewbot review series.mbox --tree ~/linux  review a mailed series
  reviewbot range origin/master..              review what you will send
  reviewbot hook --install                     review every commit
  reviewbot explain traced_call                what a rule is about

Exit codes:
  0 reviewed in full, nothing found   1 findings   2 called wrongly
  3 not fully reviewed   4 reviewed, not delivered
  70 a bug   130 interrupted
"""


def overview() -> str:
    """The text of `reviewbot --help`. It is made here, without click, so that it is there at once."""
    width = max(len(name) for name in COMMANDS)
    rows = [f"  {name:<{width}}  {summary}" for name, (_, summary) in COMMANDS.items()]
    return (
        "Usage: reviewbot COMMAND [OPTIONS] [ARGUMENTS]\n\n"
        "Reviews Linux kernel patch series for the way they touch user memory.\n\n"
        "Commands:\n" + "\n".join(rows) + "\n\n`reviewbot COMMAND --help` tells more.\n\n" + EXAMPLES
    )


def version() -> str:
    """The text of `reviewbot --version`."""
    return f"reviewbot {__version__}\n"
