"""Edits that mend findings: suggested only where they surely fit; the patch applies, and the finding is gone then."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from reviewbot.findings.edit import Edit, Replacement, Span, apply_spans, to_edit
from reviewbot.findings.finding import Finding, Observation
from reviewbot.report import fix_patch
from reviewbot.rulebook.book import Rulebook, load_rulebook
from reviewbot.rules.edits import Editor
from reviewbot.rules.inspection import inspect
from reviewbot.rules.result_use import is_only_tested, returned_status
from tests.expectations import Fixture, all_fixtures, small_tree
from tests.reviews import empty_review, finding
from tests.trees import MemoryTree

POWERPC, GENERIC = "arch/powerpc/kernel/edited.c", "drivers/demo/edited.c"
INCLUDES = "#include <linux/uaccess.h>\n#include <linux/types.h>\n#include <linux/errno.h>\n"


@cache
def _book() -> Rulebook:
    return load_rulebook()


def _tree(path: str, source: str) -> MemoryTree:
    return MemoryTree({**small_tree(), path: source})


def _edits(path: str, source: str, rule: str) -> list[tuple[Observation, Edit | None]]:
    tree, editor = _tree(path, source), Editor(_book())
    seen = [each for each in inspect(tree, [path], _book()).observations if each.rule == rule]
    assert seen, f"the case has no {rule}"
    return [(each, editor.edit_for(each, tree)) for each in seen]


def _changed(source: str, edit: Edit) -> str:
    """The lines that the edit makes anew, stripped."""
    lines = source.split("\n")
    [only] = edit.replacements
    before, after = lines[only.line - 1][: only.column - 1], lines[only.end_line - 1][only.end_column - 1 :]
    return (before + only.text + after).strip()


def _copy(declared: str, statement: str) -> str:
    return f"{INCLUDES}\nint edited({declared})\n{{\n\tint err = 0;\n\tu32 x = 1;\n\t{statement}\n\treturn err;\n}}\n"


SUGGESTED = {
    "copy_in_test": (
        "u32 __user *p",
        "if (copy_from_user(&x, p, sizeof(x))) return -EFAULT;",
        "if (get_user(x, p)) return -EFAULT;",
    ),
    "copy_out": (
        "u32 __user *p",
        "if (copy_to_user(p, &x, sizeof(x))) return -EFAULT;",
        "if (put_user(x, p)) return -EFAULT;",
    ),
    "without_check": (
        "u32 __user *p",
        "if (__copy_to_user(p, &x, 4)) return -EFAULT;",
        "if (__put_user(x, p)) return -EFAULT;",
    ),
    "same_type_by_another_name": (
        "__u32 __user *p",
        "if (copy_from_user(&x, p, sizeof(x))) return -EFAULT;",
        "if (get_user(x, p)) return -EFAULT;",
    ),
    "untyped_pointer": (
        "void __user *p",
        "if (copy_from_user(&x, p, sizeof(x))) return -EFAULT;",
        "if (get_user(x, (u32 __user *)p)) return -EFAULT;",
    ),
    "untyped_sum": (
        "void __user *p",
        "if (copy_from_user(&x, p + 4, sizeof(x))) return -EFAULT;",
        "if (get_user(x, (u32 __user *)(p + 4))) return -EFAULT;",
    ),
    "untyped_cast": (
        "unsigned long arg",
        "if (copy_to_user((void __user *)arg, &x, sizeof(x))) return -EFAULT;",
        "if (put_user(x, (u32 __user *)arg)) return -EFAULT;",
    ),
    "unlikely": (
        "u32 __user *p",
        "if (unlikely(copy_from_user(&x, p, sizeof(x)))) return -EFAULT;",
        "if (unlikely(get_user(x, p))) return -EFAULT;",
    ),
    "or": (
        "u32 __user *p",
        "if (err || copy_from_user(&x, p, sizeof(x))) return -EFAULT;",
        "if (err || get_user(x, p)) return -EFAULT;",
    ),
    "chosen": (
        "u32 __user *p",
        "err = copy_from_user(&x, p, sizeof(x)) ? -EFAULT : 0;",
        "err = get_user(x, p) ? -EFAULT : 0;",
    ),
    "returned_status": (
        "u32 __user *p",
        "return copy_to_user(p, &x, sizeof(x)) ? -EFAULT : 0;",
        "return put_user(x, p);",
    ),
}

NOT_SUGGESTED = {
    "result_stored": (POWERPC, "u32 __user *p", "err = copy_from_user(&x, p, sizeof(x));"),
    "result_returned": (POWERPC, "u32 __user *p", "return copy_to_user(p, &x, sizeof(x));"),
    "result_added": (POWERPC, "u32 __user *p", "if (err + copy_to_user(p, &x, sizeof(x))) return -EFAULT;"),
    "result_compared": (POWERPC, "u32 __user *p", "if (copy_to_user(p, &x, sizeof(x)) > 0) return -EFAULT;"),
    "result_dropped": (POWERPC, "u32 __user *p", "copy_to_user(p, &x, sizeof(x));"),
    "pointer_to_bytes": (POWERPC, "char __user *p", "if (copy_from_user(&x, p, sizeof(x))) return -EFAULT;"),
    "pointer_to_other_width": (POWERPC, "u64 __user *p", "if (copy_from_user(&x, p, sizeof(x))) return -EFAULT;"),
    "pointer_to_other_sign": (POWERPC, "s32 __user *p", "if (copy_from_user(&x, p, sizeof(x))) return -EFAULT;"),
    "other_width_by_word_size": (
        GENERIC,
        "unsigned long __user *p",
        "unsigned long y; if (copy_from_user(&y, p, sizeof(y))) return -EFAULT;",
    ),
    "eight_bytes_in_generic_code": (
        GENERIC,
        "u64 __user *p",
        "u64 y; if (copy_from_user(&y, p, sizeof(y))) return -EFAULT;",
    ),
    "only_part_of_object": (POWERPC, "u16 __user *p", "if (copy_from_user(&x, p, 2)) return -EFAULT;"),
}


@pytest.mark.parametrize("case", SUGGESTED)
def test_the_scalar_form_takes_the_place_of_a_copy(case: str) -> None:
    """The edited line is what a maintainer would have written."""
    declared, statement, wanted = SUGGESTED[case]
    source = _copy(declared, statement)
    [(_, edit)] = _edits(POWERPC, source, "small_copy")
    assert edit is not None
    assert _changed(source, edit) == wanted


def test_eight_bytes_are_read_as_one_where_the_architecture_can() -> None:
    source = _copy("u64 __user *p", "u64 y; if (copy_from_user(&y, p, sizeof(y))) return -EFAULT;")
    [(_, edit)] = _edits(POWERPC, source, "small_copy")
    assert edit is not None
    assert _changed(source, edit) == "u64 y; if (get_user(y, p)) return -EFAULT;"


@pytest.mark.parametrize("case", NOT_SUGGESTED)
def test_nothing_is_suggested_where_it_would_not_do_the_same(case: str) -> None:
    path, declared, statement = NOT_SUGGESTED[case]
    assert [edit for _, edit in _edits(path, _copy(declared, statement), "small_copy")] == [None]


def test_nothing_is_suggested_without_the_tree() -> None:
    source = _copy("u32 __user *p", "if (copy_from_user(&x, p, sizeof(x))) return -EFAULT;")
    [(seen, _)] = _edits(POWERPC, source, "small_copy")
    assert Editor(_book()).edit_for(seen, MemoryTree({POWERPC: source}, is_complete=False)) is None


def _block(helper: str, call: str = "width(1)", more: str = "") -> str:
    return (
        f"{INCLUDES}\n{helper}\n\nint edited(u32 __user *p)\n{{\n\tu32 x;\n\n\tif (!user_write_access_begin(p, 4))\n"
        f"\t\treturn -EFAULT;\n\tx = {call};\n\tunsafe_put_user(x, p, failed);\n\tuser_write_access_end();\n"
        f"\treturn 0;\nfailed:\n\tuser_write_access_end();\n\treturn -EFAULT;\n}}\n{more}"
    )


def test_a_small_static_callee_becomes_always_inline() -> None:
    source = _block("static u32 width(u32 a)\n{\n\treturn a + 1;\n}")
    [(_, edit)] = _edits(POWERPC, source, "traced_call")
    assert edit is not None
    assert _changed(source, edit) == "static __always_inline u32 width(u32 a)"


@pytest.mark.parametrize(
    ("helper", "more"),
    [
        pytest.param("u32 width(u32 a)\n{\n\treturn a + 1;\n}", "", id="not_static"),
        pytest.param("static u32 width(u32 a)\n{\n\treturn a ? width(a - 1) : 0;\n}", "", id="recursive"),
        pytest.param("static noinline u32 width(u32 a)\n{\n\treturn a + 1;\n}", "", id="kept_out_of_line"),
        pytest.param("static u32 width(u32 a)\n{\n" + "\ta++;\n" * 40 + "\treturn a;\n}", "", id="long"),
        pytest.param(
            "static u32 width(u32 a)\n{\n\treturn a + 1;\n}", "u32 (*const hook)(u32) = width;\n", id="address_taken"
        ),
        pytest.param(
            "static u32 width(u32 a);\nstatic u32 width(u32 a)\n{\n\treturn a + 1;\n}", "", id="declared_before"
        ),
        pytest.param(
            "int far(u32 a);\nint far(u32 a)\n{\n\treturn 1;\n}\nstatic u32 width(u32 a)\n{\n\treturn far(a);\n}",
            "",
            id="calls_traceable",
        ),
    ],
)
def test_no_other_callee_becomes_always_inline(helper: str, more: str) -> None:
    assert {edit for _, edit in _edits(POWERPC, _block(helper, more=more), "traced_call")} == {None}


def test_the_matching_end_takes_the_place_of_another() -> None:
    source = _block("static inline u32 width(u32 a)\n{\n\treturn a + 1;\n}").replace(
        "failed:\n\tuser_write_access_end", "failed:\n\tuser_access_end"
    )
    [(_, edit)] = _edits(POWERPC, source, "mismatched_end")
    assert edit is not None
    assert _changed(source, edit) == "user_write_access_end();"


def _with_edits() -> list[Fixture]:
    return [
        each for each in all_fixtures() if each.name.split("/")[0] in ("small_copy", "traced_call", "mismatched_end")
    ]


def test_every_edit_of_the_fixtures_applies_and_mends(tmp_path: Path) -> None:
    """All edits of a file in one patch: git takes it, their findings are gone, and no other appears."""
    edited = 0
    for number, fixture in enumerate(_with_edits()):
        tree, editor = fixture.tree(), Editor(_book())
        before = inspect(tree, [fixture.path], _book()).observations
        found = [finding(edit=edit) for seen in before if (edit := editor.edit_for(seen, tree)) is not None]
        if not found:
            continue
        edited += 1
        content = _applied(tmp_path / str(number), fixture.path, tree.read(fixture.path) or b"", found)
        files = {path: tree.read(path) or b"" for path in tree.paths()}
        after = inspect(MemoryTree({**files, fixture.path: content}), [fixture.path], _book()).observations
        kinds = [(seen.rule, seen.place.function) for seen in after]
        assert len(kinds) < len(before), fixture.name
        assert {*kinds} <= {(seen.rule, seen.place.function) for seen in before}, fixture.name
    assert edited >= 5


def _applied(root: Path, path: str, content: bytes, found: Sequence[Finding]) -> bytes:
    """The file after `git apply` of the findings' edits."""
    (root / path).parent.mkdir(parents=True)
    (root / path).write_bytes(content)
    patch = fix_patch.render(replace(empty_review(), findings=tuple(found)))
    (root / "fix.patch").write_bytes(patch.encode("utf-8", "surrogateescape"))
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "apply", "fix.patch"], cwd=root, check=True)
    return (root / path).read_bytes()


TEXTS = {
    "plain": (b"a\nb\nc\nd\ne\nf\ng\nh\n", [(2, 3, b"B1\nB2")]),
    "first_line": (b"a\nb\nc\nd\ne\n", [(0, 1, b"A")]),
    "last_line_without_end": (b"a\nb\nc\nd\ne", [(8, 9, b"E")]),
    "two_near": (b"a\nb\nc\nd\ne\nf\ng\nh\n", [(2, 3, b"B"), (8, 9, b"E")]),
    "two_far": (b"x\n" * 30, [(2, 3, b"1\n2"), (40, 41, b"3")]),
    "two_on_one_line": (b"a\nb c d\ne\n", [(2, 3, b"B"), (6, 7, b"D")]),
    "over_lines": (b"a\nb(\n c,\n d)\ne\n", [(2, 12, b"f(c)")]),
    "insertion": (b"static int f\n", [(6, 6, b" inline")]),
    "carriage_returns": (b"a\r\nb\r\nc\r\n", [(3, 4, b"B")]),
    "latin_1": (b"/* \xe9 */ a\nb\n", [(8, 9, b"A")]),
    "vertical_tab": (b"a\x0bb\nc\n", [(2, 3, b"B")]),
}


@pytest.mark.parametrize("path", ["a/plain.c", "a/with blank.c", "a/naïve.c", 'a/quo"te\\.c', "a/tab\there.c"])
@pytest.mark.parametrize("name", TEXTS)
def test_git_applies_the_patch_to_any_text(name: str, path: str, tmp_path: Path) -> None:
    """What git makes of the file is what the spans say."""
    data, rows = TEXTS[name]
    spans = [Span(start=start, end=end, text=text) for start, end, text in rows]
    found = [finding(edit=to_edit(path, data, [span])) for span in spans]
    assert _applied(tmp_path, path, data, found) == apply_spans(data, spans)


def test_of_two_edits_of_one_place_the_first_counts() -> None:
    first = to_edit("a.c", b"f(a, b);\n", [Span(start=0, end=7, text=b"g(a)")])
    second = to_edit("a.c", b"f(a, b);\n", [Span(start=2, end=3, text=b"x")])
    patch = fix_patch.render(replace(empty_review(), findings=(finding(edit=first), finding(edit=second))))
    assert "+g(a);" in patch
    assert "x" not in patch.partition("@@")[2]


def test_without_edits_the_patch_is_empty() -> None:
    assert fix_patch.render(empty_review()) == ""


def test_columns_count_code_points() -> None:
    edit = to_edit("a.c", "/* é */ f()\n".encode(), [Span(start=9, end=10, text=b"g")])
    assert edit.replacements == (Replacement(line=1, column=9, end_line=1, end_column=10, text="g"),)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("if (CALL)", True),
        ("while (CALL)", True),
        ("if ((CALL))", True),
        ("if (!CALL)", True),
        ("x = !CALL;", True),
        ("if (unlikely(CALL))", True),
        ("if (a && CALL)", True),
        ("if (CALL || b)", True),
        ("if (CALL != 0)", True),
        ("x = CALL ? 1 : 2;", True),
        ("if ((x = CALL))", False),
        ("if (CALL > 0)", False),
        ("if (f(CALL))", False),
        ("x |= CALL;", False),
        ("x = a - CALL ? 1 : 2;", False),
        ("return CALL;", False),
        ("(void)CALL;", False),
        ("; CALL;", False),
        ("if (0 == CALL)", False),
    ],
)
def test_knows_what_is_only_tested(text: str, answer: bool) -> None:
    code = text.encode()
    start = code.index(b"CALL")
    assert is_only_tested(code, start, start + 4, {b"unlikely"}) is answer


def test_knows_a_status_that_is_returned() -> None:
    code = b"return CALL ? -EFAULT : 0;"
    assert returned_status(code, 7, 11) == len(code) - 1
    assert returned_status(b"return CALL ? -EINVAL : 0;", 7, 11) is None
