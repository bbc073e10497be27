"""The shape of the code: directions of imports, size of modules, and what may stand where."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import reviewbot
from reviewbot.rulebook.book import load_rulebook

PACKAGE = Path(reviewbot.__file__).parent
PROJECT = Path(__file__).parent.parent
LONGEST_MODULE = 350
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "shipped_rules" not in path.parts)
# Words that say what a module is for to nobody.
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "core", "manager", "misc", "tools", "base_classes"}

# Where an error ends: the guard says it to people, and a review in a process of its own hands it to its parent.
MAY_CATCH_ALL = {"frontends/guard.py", "frontends/isolation.py", "backfill/work.py"}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_imports_go_one_way() -> None:
    """The contracts of pyproject.toml, checked by import-linter."""
    program = shutil.which("lint-imports", path=str(Path(sys.executable).parent)) or "lint-imports"
    done = subprocess.run(
        [program, "--no-cache"],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_one_idea(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST_MODULE
    assert not set(path.with_suffix("").relative_to(PACKAGE).parts) & EMPTY_NAMES


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_bytes())), "a module begins with one sentence"


@cache
def kernel_names() -> re.Pattern[str]:
    """Every primitive of rules/, as whole words."""
    names = sorted(load_rulebook().primitive_names, key=len, reverse=True)
    return re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(map(re.escape, names))})(?![A-Za-z0-9_])")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_kernel_function_is_named_in_python(path: Path) -> None:
    """What the kernel calls its primitives is data in rules/; a docstring may give one as an example."""
    found = [
        f"line {line}: {match[0]}"
        for line, text in code_words(path)
        for match in [kernel_names().search(text)]
        if match
    ]
    assert found == []


def code_words(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of every name and string of the code, without docstrings and comments."""
    tree = ast.parse(path.read_bytes())
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings.add(first.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and node not in docstrings:
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            yield node.lineno, text
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id


def test_the_search_for_kernel_names_finds_them() -> None:
    assert kernel_names().search("x = 'copy_from_user'")


def test_every_rule_has_a_module_a_catalogue_entry_and_fixtures() -> None:
    from reviewbot.rules import RULES

    catalogue = set(load_rulebook().catalogue)
    assert set(RULES) == catalogue
    for slug in RULES:
        folder = PROJECT / "fixtures" / "rules" / slug
        assert (PACKAGE / "rules" / f"{slug}.py").is_file()
        assert list(folder.glob("bad_*.c")) and list(folder.glob("good_*.c")), folder


def test_a_rule_decides_no_severity() -> None:
    """A rule file says what it saw; how serious that is stands in its catalogue entry."""
    from reviewbot.rules import RULES

    for slug in RULES:
        assert "Severity" not in (PACKAGE / "rules" / f"{slug}.py").read_text("utf-8"), slug


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_broad_excepts_stand_in_the_guard_alone(path: Path) -> None:
    """Below the guard every error that is caught has a name; tidying up and raising again is no catching."""
    handlers = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.ExceptHandler)]
    broad = [each.lineno for each in handlers if is_broad(each) and not isinstance(each.body[-1], ast.Raise)]
    assert broad == [] or name_of(path) in MAY_CATCH_ALL


def is_broad(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or ast.unparse(handler.type) in ("Exception", "BaseException")


@pytest.mark.skipif(not (PROJECT / ".git").exists(), reason="not a checkout")
def test_the_repository_speaks_of_the_project_alone() -> None:
    """No path of somebody's machine, in any tracked file."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, check=True).stdout
    machine = re.compile(r"(?<![\w./-])/(?:root|home/\w+|work)/\w")
    found = []
    for name in listed.decode().split("\0")[:-1]:
        path = PROJECT / name
        text = path.read_text("utf-8", "replace") if path.is_file() else ""
        found += [f"{name}: {match[0]}" for match in [machine.search(text)] if match and path != Path(__file__)]
    assert found == []


@pytest.mark.skipif(not (PROJECT / ".git").exists(), reason="not a checkout")
def test_the_top_level_holds_what_the_readme_lists() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    top = {line.split("/")[0] for line in listed.splitlines()}
    allowed = {"pyproject.toml", "reviewbot", "rules", "fixtures", "tests"}
    allowed |= {"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"}
    assert {name for name in top if not name.startswith(".")} <= allowed
