"""Replies as a reviewer writes them: the diff in question quoted, the remark under the line, 78 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from reviewbot import __version__
from reviewbot.findings.finding import Finding, Status
from reviewbot.findings.review import PatchResult, Review
from reviewbot.grammar import plural
from reviewbot.report import phrases
from reviewbot.report.escape import visible
from reviewbot.report.excerpt import excerpt_of, is_offending
from reviewbot.report.templating import template
from reviewbot.report.view import View
from reviewbot.values import dataclass

WIDTH = 76  # leaves room for a quote or two below the customary 78
CONTEXT_LINES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One mail to send: `patch` is the index it answers (None: the whole series), `in_reply_to` that mail's Message-ID
    without brackets. `subject` is one line and begins with `Re: `; `body` has no unquoted diff, so that no list server
    takes it for a patch."""

    patch: int | None
    in_reply_to: str
    subject: str
    body: str


def render(review: Review, view: View) -> str:
    """Every reply, and the summary of the series, one after the other, each under the headers that would matter."""
    pieces = [*replies(review, view), summary(review, view)]
    return ("-" * 78 + "\n").join(
        f"Subject: {reply.subject}\nIn-Reply-To: <{visible(reply.in_reply_to)}>\n\n{reply.body}" for reply in pieces
    )


def replies(review: Review, view: View) -> tuple[Reply, ...]:
    """One reply for each patch that brings a finding which still stands at the end; nothing for the others."""
    made = (reply_to_patch(review, patch, view) for patch in review.patches)
    return tuple(reply for reply in made if reply is not None)


def reply_to_patch(review: Review, patch: PatchResult, view: View) -> Reply | None:
    """The reply to one patch, or None where there is nothing to ask its author."""
    remarks = [each for each in _worth_a_mail(review) if each.patch == patch.index]
    if not remarks:
        return None
    body = template("reply.txt").render(
        remarks=[_remark(finding, review) for finding in remarks],
        gaps=[_wrap(_gap_line(review, patch.index))] if _gap_line(review, patch.index) else [],
        **_frame(view),
    )
    subject = _subject(patch.subject, review, patch)
    return Reply(patch=patch.index, in_reply_to=patch.message_id, subject=subject, body=body)


def summary(review: Review, view: View) -> Reply:
    """One reply to the cover letter (or the first patch) that says what became of every patch and every finding."""
    answered = _message_id_of_series(review)
    body = template("summary.txt").render(
        verdict=_wrap(visible(phrases.verdict(review))),
        patches=[_patch_line(patch, review) for patch in review.patches],
        findings=[_wrap(_finding_line(finding, review), "  ") for finding in review.findings],
        switches=[
            _wrap(
                f"{visible(phrases.called(each.function))} on {each.arch}: "
                f"{visible(phrases.pairs(each.before))} before, {visible(phrases.pairs(each.after))} after",
                "  ",
            )
            for each in review.switches
            if each.before != each.after
        ],
        gaps=[
            _wrap(visible(f"{phrases.gap_place(gap, review)}: {gap.reason}".removeprefix(": ")), "  ")
            for gap in review.gaps
        ],
        notes=[_wrap(visible(note)) for note in review.notes],
        **_frame(view),
    )
    return Reply(patch=None, in_reply_to=answered, subject=_subject(review.subject, review, None), body=body)


def _worth_a_mail(review: Review) -> list[Finding]:
    """What the series brings and leaves: nobody is asked about old code or about what a later patch mends."""
    return [each for each in phrases.open_findings(review.findings) if each.status is Status.INTRODUCED]


def _remark(finding: Finding, review: Review) -> str:
    """The quoted diff up to the line in question, and the remark straight under it."""
    return "\n".join([*_quoted(finding, review), "", *_remark_lines(finding)])


def _quoted(finding: Finding, review: Review) -> Iterator[str]:
    """The place, then the lines of the diff that lead to the finding."""
    place = finding.place
    yield f"> {visible(place.path)}:{place.line}" + (f", {visible(place.function)}()" if place.function else "")
    excerpt = excerpt_of(review, finding)
    lines = excerpt.lines if excerpt else ()
    own = next((at for at, (number, mark, _) in enumerate(lines) if is_offending(finding, number, mark)), -1)
    for _, mark, text in lines[max(0, own - CONTEXT_LINES) : own + 1]:
        yield f"> {mark}{visible(text)}".rstrip()


def _remark_lines(finding: Finding) -> Iterator[str]:
    where = phrases.conditions(finding)
    yield _wrap(visible(f"{finding.message} This holds {where}." if where else finding.message))
    yield ""
    chain = finding.observation.chain
    if chain:
        yield "How it gets there:"
        for link in chain:
            yield _wrap(visible(f"{phrases.step_place(link, finding)}: {phrases.step(link)}"), "  ")
        yield ""
    cost = finding.cost
    basis = f" ({cost.basis.rstrip('.')})" if cost.basis else ""
    yield _wrap(visible(f"Cost: about {phrases.cost(cost)}{basis}."))
    if cost.note:
        yield _wrap(visible(cost.note))
    yield ""
    if finding.suggestion:
        yield _wrap(visible(finding.suggestion))
    yield _wrap(f"[{finding.rule}, {finding.fingerprint}]")


def _gap_line(review: Review, patch: int) -> str:
    count = sum(1 for gap in review.gaps if gap.patch in (None, patch))
    return f"{plural(count, 'place')} could not be reviewed, so there may be more." if count else ""


def _patch_line(patch: PatchResult, review: Review) -> str:
    found = len(phrases.open_findings(phrases.patch_findings(review, patch)))
    words = plural(found, "finding") if found else phrases.OUTCOMES[patch.outcome]
    reason = f": {patch.reason}" if patch.reason and patch.outcome not in phrases.COMPLETE else ""
    return _wrap(visible(f"{phrases.number_of(patch.index, review)} {words}{reason}"), "  ")


def _finding_line(finding: Finding, review: Review) -> str:
    words = f"{finding.place.path}:{finding.place.line}: {finding.rule}, {phrases.history(finding, review)}, "
    return visible(f"{words}{phrases.interval(finding.cost.cycles)}. {finding.message}")


def _message_id_of_series(review: Review) -> str:
    series = review.series
    if series is not None and series.cover is not None:
        return series.cover.message_id
    first = next((patch.message_id for patch in review.patches if patch.message_id), "")
    return (series.message_id if series else "") or first


def _subject(subject: str, review: Review, patch: PatchResult | None) -> str:
    """`Re: ` and the subject as it was sent, where the mail is known."""
    series = review.series
    messages = {each.index: each.message for each in series.patches} if series else {}
    sent = messages.get(patch.index) if patch else (series.cover if series else None)
    words = visible(sent.subject if sent else subject, keep="").replace("\t", " ")
    return words if words[:3].lower() == "re:" else f"Re: {words}"


def _frame(view: View) -> dict[str, str]:
    links = {"opt_out": visible(view.opt_out, keep=""), "report_url": visible(view.report_url, keep="")}
    return {"version": __version__, **links}


def _wrap(text: str, indent: str = "") -> str:
    wrapped = textwrap.wrap(
        text,
        width=WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + ("  " if indent else ""),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(wrapped)
