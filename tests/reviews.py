"""Reviews made by hand, for the tests of reports: one of each kind, and one that is hostile."""

from __future__ import annotations

from dataclasses import replace

from reviewbot.findings.edit import Edit, Replacement
from reviewbot.findings.finding import (
    Access,
    Confidence,
    Cost,
    Cycles,
    Finding,
    Gap,
    HeldBack,
    Link,
    Observation,
    Per,
    Place,
    Severity,
    Status,
)
from reviewbot.findings.review import Base, Count, Outcome, PatchResult, Review, SourceExcerpt, SwitchBudget
from reviewbot.graph.block_graph import BlockGraph, GraphEdge, GraphNode, NodeKind
from reviewbot.mail.message import Address
from reviewbot.series.patch import Patch, Series

SOURCE = "arch/powerpc/kernel/frame.c"
AUTHOR = Address(name="Ada Example", email="ada@example.org")
SUBJECTS = (
    "powerpc/frame: Add an unsafe helper for the register area",
    "powerpc/frame: Write the frame in one block",
    "powerpc/frame: Flush the FPU before the block is opened",
    "fs: Rename a local variable",
)
HOSTILE = "\x1b[31m\u202e<script>alert(1)</script>[bold]x[/bold]::error::%0A\udcff\x07"


def cost(typ: float = 260, *, per: Per = Per.EXECUTION, note: str = "") -> Cost:
    return Cost(
        cpu="power9",
        cycles=Cycles(low=typ * 0.8, typ=typ, high=typ * 1.15),
        per=per,
        confidence=Confidence.MEDIUM,
        basis="2 switches of 130 cycles",
        facts=("power9-switch",),
        ns=Cycles(low=54, typ=68, high=79),
        note=note,
    )


def finding(rule: str = "traced_call", line: int = 14, **changes: object) -> Finding:
    """A finding with every field filled; `changes` replace fields of the finding or of its observation."""
    seen = Observation(
        rule=rule,
        variant="static",
        place=Place(path=SOURCE, line=line, column=9, function="write_frame"),
        chain=(
            Link(
                place=Place(path=SOURCE, line=11, column=7, function="write_frame"),
                what="access opened by",
                name="user_write_access_begin",
            ),
            Link(place=Place(path=SOURCE, line=line, column=9, function="write_frame"), what="calls", name="flush_it"),
            Link(
                place=Place(path="arch/powerpc/kernel/process.c", line=208, column=6, function="flush_it"),
                what="is a function that can be traced:",
                name="flush_it",
            ),
        ),
        callee="flush_it",
        arch=("powerpc",),
        condition="defined(CONFIG_PPC_FPU)",
    )
    own = {name: changes.pop(name) for name in list(changes) if name in Observation.__dataclass_fields__}
    made = Finding(
        observation=replace(seen, **own),  # type: ignore[arg-type]
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        status=Status.INTRODUCED,
        patch=2,
        fixed_by=None,
        message="flush_it() is called while user access is open, and it can be traced: "
        "a probe in it would run with user access open.",
        suggestion="Call flush_it() before the block is opened, or make it __always_inline.",
        cost=cost(),
        fingerprint=f"{rule}-{line:04d}",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def edit() -> Edit:
    """One call for another, behind a character of two bytes."""
    return Edit(
        path=SOURCE,
        replacements=(Replacement(line=31, column=14, end_line=31, end_column=43, text="get_user(set, uset)"),),
        lines=((31, "\t/* ä */ if (copy_from_user(&set, uset, 8))\n"), (32, "\t\treturn -EFAULT;\n")),
    )


def excerpt() -> SourceExcerpt:
    return SourceExcerpt(
        path=SOURCE,
        lines=(
            (11, " ", "\tif (!user_write_access_begin(frame, sizeof(*frame)))"),
            (12, " ", "\t\treturn -EFAULT;"),
            (13, "-", "\tprepare(current);"),
            (13, "+", "\tprepare(current); /* naïve */"),
            (14, "+", "\tflush_it(current);"),
            (15, "+", "\tunsafe_put_user(current->thread.used, &frame->used, efault); /* " + "long " * 12 + "*/"),
            (16, " ", ""),
        ),
    )


def series(total: int = len(SUBJECTS)) -> Series:
    patches = tuple(
        Patch(
            index=at,
            subject=subject,
            author=AUTHOR,
            message_id=f"{at}@example.org",
            commit=None,
            log="",
            trailers=(),
            files=(),
        )
        for at, subject in enumerate(SUBJECTS, start=1)
    )
    return Series(
        subject="Write the frame in one block",
        version=2,
        total=total,
        patches=patches,
        message_id="0@example.org",
    )


def patch_results() -> tuple[PatchResult, ...]:
    outcomes = (
        (Outcome.REVIEWED, ""),
        (Outcome.REVIEWED, ""),
        (Outcome.NOT_APPLIED, f"{SOURCE}: hunk 2 (@@ -40,6 +44,7 @@) does not match the tree."),
        (Outcome.NOTHING_TO_REVIEW, ""),
    )
    return tuple(
        PatchResult(
            index=at,
            subject=SUBJECTS[at - 1],
            message_id=f"{at}@example.org",
            commit=None,
            outcome=outcome,
            reason=reason,
        )
        for at, (outcome, reason) in enumerate(outcomes, start=1)
    )


def empty_review() -> Review:
    """Reviewed in full, and nothing found."""
    results = tuple(replace(each, outcome=Outcome.REVIEWED, reason="") for each in patch_results())
    return Review(
        series=series(),
        subject="[PATCH v2 0/4] Write the frame in one block",
        base=Base(rev="1" * 40, how="the base-commit trailer"),
        patches=results,
        findings=(),
        held_back=(),
        gaps=(),
        switches=(),
        excerpts=(),
        notes=(),
        cpu=("power9",),
    )


def block_graph(callee: str = "log_frame") -> BlockGraph:
    """A block with an access and a call that may not be there."""
    said = (
        ("begin", "user_write_access_begin()", NodeKind.OPEN, "line 28, to write", 0),
        ("put", "unsafe_put_user()", NodeKind.ACCESS, "write", 1),
        ("callee", f"{callee}()", NodeKind.UNSAFE, f"{callee} is an ordinary function", 1),
        ("end", "user_write_access_end()", NodeKind.CLOSE, "", 2),
    )
    nodes = tuple(
        GraphNode(id=id, label=label, kind=kind, note=note, path="", line=0, column=column)
        for id, label, kind, note, column in said
    )
    edges = tuple(GraphEdge(source="begin", target=node.id, lines=(31,)) for node in nodes[1:])
    return BlockGraph(path=SOURCE, function="write_frame", line=26, nodes=nodes, edges=edges)


def full_review() -> Review:
    """One of everything."""
    small = finding(
        "small_copy",
        31,
        severity=Severity.WARNING,
        size_bytes=8,
        direction="read",
        message="8 bytes are copied with copy_from_user(): get_user() is meant.",
        suggestion="Use get_user(set, uset).",
        condition=None,
        chain=(),
        callee="copy_from_user",
        cost=cost(35, note="Below the noise of a system call."),
        edit=edit(),
    )
    merged = finding(
        "repeated_pair",
        52,
        severity=Severity.NOTE,
        status=Status.EXISTING,
        patch=None,
        pairs=3,
        per=Per.ITERATION,
        message="3 pairs could be one block.",
        suggestion="Open one block around them.",
        cost=cost(520, per=Per.ITERATION),
        accesses=(Access(primitive="put_user", direction="write", place=Place(path=SOURCE, line=52), size_bytes=4),),
    )
    fixed = finding("traced_call", 70, status=Status.FIXED, patch=4)
    mended = finding("nested_block", 80, patch=1, fixed_by=4, severity=Severity.WARNING)
    return replace(
        empty_review(),
        patches=patch_results(),
        findings=(finding(), small, merged, fixed, mended),
        held_back=(HeldBack(finding=finding("small_copy", 90), reason="waived: cold path"),),
        gaps=(
            Gap(path=SOURCE, line=44, function="read_frame", reason="The #else branch could not be parsed.", patch=2),
            Gap(path="", line=0, function="", reason="The cover letter is missing."),
        ),
        switches=(
            SwitchBudget(
                path=SOURCE,
                function="write_frame",
                arch="powerpc",
                before=Count(pairs=(4, 6, 8), per_iteration="2·n"),
                after=Count(pairs=(1, 1, 1)),
                saved=cost(1300),
            ),
            SwitchBudget(
                path=SOURCE, function="new_one", arch="powerpc", before=None, after=Count(pairs=(1, 1, 1)), saved=None
            ),
        ),
        excerpts=((finding().fingerprint, excerpt()),),
        notes=("An older version of the series (v1) was left out.",),
        graphs=(block_graph(),),
    )


def hostile_review() -> Review:
    """A review whose every text from the input tries to get out of its place."""
    bad = finding(
        place=Place(path=f"a b/{HOSTILE}.c", line=14, column=3, function=HOSTILE),
        callee=HOSTILE,
        condition=HOSTILE,
        message=HOSTILE,
        suggestion=HOSTILE,
        chain=(Link(place=Place(path=HOSTILE, line=1, function=HOSTILE), what=HOSTILE, name=HOSTILE),),
    )
    shown = SourceExcerpt(path=bad.place.path, lines=((13, "+", HOSTILE), (14, "+", f"é{HOSTILE}")))
    return replace(
        empty_review(),
        subject=HOSTILE,
        base=Base(rev="", how=HOSTILE),
        patches=tuple(replace(each, subject=HOSTILE, reason=HOSTILE, message_id=HOSTILE) for each in patch_results()),
        findings=(bad,),
        held_back=(HeldBack(finding=bad, reason=HOSTILE),),
        gaps=(Gap(path=HOSTILE, line=1, function=HOSTILE, reason=HOSTILE),),
        excerpts=((bad.fingerprint, shown),),
        switches=(
            SwitchBudget(path=HOSTILE, function=HOSTILE, arch="powerpc", before=None, after=None, saved=None),
            SwitchBudget(
                path=HOSTILE, function=HOSTILE, arch="x86", before=None, after=Count(pairs=(1, 1, 1)), saved=None
            ),
        ),
        notes=(HOSTILE,),
        graphs=(block_graph(HOSTILE),),
    )
