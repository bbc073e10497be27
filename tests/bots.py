"""What the tests of both bots share: mails of made-up series, a reviewer that finds what it is told to, and a desk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import reviews
from test_ledger import Clock

from reviewbot.delivery.hygiene import identity_of
from reviewbot.delivery.ledger import Ledger
from reviewbot.delivery.log import Log
from reviewbot.delivery.metrics import Pulse
from reviewbot.delivery.outbox import Outbox, Sender
from reviewbot.delivery.settings import BotSection, ListSettings, MailSection
from reviewbot.delivery.verdicts import Voice
from reviewbot.findings.finding import Finding
from reviewbot.findings.review import Base, Outcome, PatchResult, Review
from reviewbot.frontends.watching import Desk
from reviewbot.report.view import View
from reviewbot.series.patch import Series

LIST = "demo@lists.example.org"
ROBOT = "robot@example.net"
JANE = "Jane Roe <jane@example.org>"

DIFF = """---
 arch/powerpc/kernel/frame.c | 1 +
 1 file changed, 1 insertion(+)

diff --git a/arch/powerpc/kernel/frame.c b/arch/powerpc/kernel/frame.c
index 1111111..2222222 100644
--- a/arch/powerpc/kernel/frame.c
+++ b/arch/powerpc/kernel/frame.c
@@ -10,2 +10,3 @@ int write_frame(struct frame __user *frame)
 {tab}first();
+{tab}flush_it(current);
 {tab}second();
-- 
2.40.0
""".replace("{tab}", "\t")


def mail(
    subject: str,
    message_id: str,
    *,
    author: str = JANE,
    to: str = LIST,
    answers: str = "",
    references: str = "",
    body: str = "Why this is good.\n\nSigned-off-by: Jane Roe <jane@example.org>\n" + DIFF,
    headers: Sequence[str] = (),
) -> bytes:
    """One mail as it lies in a maildir."""
    lines = [
        f"From: {author}",
        f"To: {to}",
        "Cc: Bob Maintainer <bob@example.com>",
        f"Subject: {subject}",
        f"Message-ID: <{message_id}>",
        "Date: Mon, 05 Jan 2026 10:00:00 +0000",
        *([f"In-Reply-To: <{answers}>"] if answers else []),
        *([f"References: {references or f'<{answers}>'}"] if answers else []),
        *headers,
        "Content-Type: text/plain; charset=utf-8",
    ]
    return ("\n".join(lines) + "\n\n" + body).encode()


def series_mails(
    count: int = 2, version: int = 1, *, with_cover: bool = True, author: str = JANE
) -> list[tuple[str, str, bytes]]:
    """(Message-ID, subject, raw) of a threaded series, the cover first."""
    tag = f" v{version}" if version > 1 else ""
    root = f"v{version}-0@example.org"
    made = []
    if with_cover:
        subject = f"[PATCH{tag} 0/{count}] Write the frame in one block"
        made.append(
            (root, subject, mail(subject, root, author=author, body="What this does.\n\nJane Roe (2):\n  one\n  two\n"))
        )
    for at in range(1, count + 1):
        subject = f"[PATCH{tag} {at}/{count}] powerpc/frame: Step {at}"
        message_id = f"v{version}-{at}@example.org"
        made.append((message_id, subject, mail(subject, message_id, author=author, answers=root if with_cover else "")))
    return made


@dataclass
class FakeReviewer:
    """Gives every patch of `guilty` (index -> fingerprints) a finding; `trouble` is raised first."""

    guilty: dict[int, tuple[str, ...]] = field(default_factory=dict)
    trouble: list[BaseException] = field(default_factory=list)
    outcome: Outcome = Outcome.REVIEWED
    reason: str = ""
    seen: list[Series] = field(default_factory=list)
    places: list[ListSettings] = field(default_factory=list)

    def __call__(self, series: Series, where: ListSettings) -> Review:
        self.seen.append(series)
        self.places.append(where)
        if self.trouble:
            raise self.trouble.pop(0)
        return to_review(series, self.guilty, self.outcome, self.reason)


def to_review(
    series: Series, guilty: dict[int, tuple[str, ...]], outcome: Outcome = Outcome.REVIEWED, reason: str = ""
) -> Review:
    findings = tuple(
        replace(finding_of(fingerprint), patch=index) for index, found in guilty.items() for fingerprint in found
    )
    results = tuple(
        PatchResult(
            index=each.index,
            subject=each.subject,
            message_id=each.message_id,
            commit=None,
            outcome=outcome,
            reason=reason,
        )
        for each in series.patches
    )
    return Review(
        series=series, subject=series.subject, base=Base(rev="", how="made up"), patches=results, findings=findings,
        held_back=(), gaps=(), switches=(), excerpts=tuple((each.fingerprint, reviews.excerpt()) for each in findings),
        notes=(), cpu=("power9",),
    )  # fmt: skip


def finding_of(fingerprint: str) -> Finding:
    return replace(reviews.finding(), fingerprint=fingerprint)


def make_voice() -> Voice:
    section = MailSection(
        name="reviewbot",
        address=ROBOT,
        envelope_from="bounces@example.net",
        opt_out="stop@example.net",
        smtp_host="127.0.0.1",
    )
    return Voice(mail=section, own=identity_of(ROBOT), view=View(opt_out="stop@example.net"), rules_version="r1")


def make_desk(
    directory: Path,
    senders: dict[str, Sender] | None = None,
    bot: BotSection | None = None,
    ledger: Ledger | None = None,
) -> Desk:
    import io

    clock = Clock()
    ledger = ledger or Ledger(directory)
    return Desk(
        ledger=ledger,
        outbox=Outbox(ledger, clock, senders or {}),
        clock=clock,
        log=Log(clock, io.StringIO()),
        pulse=Pulse(started_at=clock.now()),
        bot=bot or BotSection(),
    )


def log_text(desk: Desk) -> str:
    return desk.log._stream.getvalue()  # type: ignore[union-attr]
