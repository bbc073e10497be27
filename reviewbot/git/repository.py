"""A repository, and the questions that reviewbot asks of it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from reviewbot.errors import GitError
from reviewbot.git.objects import (
    MAX_BLOB_BYTES,
    Commit,
    ObjectReader,
    TreeEntry,
    is_plausible,
    parse_commit,
    parse_entries,
    parse_tree,
)
from reviewbot.git.process import DIFF_OPTIONS, OPENING_TIMEOUT_S, Git, decode
from reviewbot.git.word_pattern import any_of
from reviewbot.patterns import regex

HISTORY_TIMEOUT_S = 20.0

_GREP: tuple[str, ...] = ("grep", "-o", "-a", "-z", "--full-name", "--no-color", "--no-line-number", "--no-column")
_GREP += ("--no-recurse-submodules",)
_GLOB_CHARACTER = regex(r"[*?\[\\]")
_GREP_ROW = regex(rb"([^\0]+)\0([^\n\0]+)\n")
_EMPTY_TREES = {40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}
_EMPTY_TREES[64] = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"


class Repository:
    """A repository: `root` is the top of its work tree, None for a bare one. Use `Repository.open`."""

    def __init__(self, git: Git, root: Path | None, git_directory: Path) -> None:
        self._git = git
        self._objects = ObjectReader(git)
        self._trees: dict[str, Mapping[str, TreeEntry]] = {}
        self.root = root
        self.git_directory = git_directory

    @classmethod
    def open(cls, directory: Path, *, in_hook: bool = False) -> Repository:
        """Open the repository that `directory` lies in: a (linked) work tree, a folder of one, or a bare repository.

        `in_hook`: believe the GIT_* variables that git sets for its hooks. Raises GitError with what to do about it.
        """
        if not directory.is_dir():
            raise GitError(f"{directory} is not a directory")
        git = Git(directory.resolve(), in_hook=in_hook)
        inside, _, rest = os.fsdecode(_discover(git)).partition("\n")
        git_directory, *up = rest.split("\n")
        if inside not in ("true", "false") or not git_directory.startswith("/") or not up:
            raise GitError(f"git rev-parse in {git.directory} gives half an answer")
        root = None
        if inside == "true":
            root = git.directory = (git.directory / up[0]).resolve()
        if root and not in_hook and not (root / ".git").exists():
            # core.worktree may name any folder; only one that this repository lies in is its own
            raise GitError(f"{git_directory} claims {root} as its work tree, where there is no .git")
        git.disarm_filters()
        return cls(git, root, Path(git_directory))

    def __str__(self) -> str:
        return str(self.root or self.git_directory)

    def close(self) -> None:
        """End the git process that serves objects; the next read starts another."""
        self._objects.close()

    # Objects

    def resolve(self, rev: str) -> str:
        """The full id of the commit that `rev` names. Raises GitError that names the rev."""
        if found := self._objects.read(f"{rev}^{{commit}}") if is_plausible(rev) else None:
            return found[0]
        raise GitError(f"{rev!r} names no commit in {self}")

    def has_commit(self, rev: str) -> bool:
        return is_plausible(rev) and self._objects.read(f"{rev}^{{commit}}") is not None

    def blob(self, object_id: str, limit_bytes: int = MAX_BLOB_BYTES) -> bytes | None:
        """The bytes of a blob, by full or abbreviated id; None if it is not there, no blob or larger than the limit."""
        found = self._objects.read(object_id, limit_bytes)
        return found[2] if found and found[1] == "blob" else None

    def commit(self, rev: str) -> Commit:
        """The commit that `rev` names, parsed. Raises GitError that names the rev."""
        found = self._objects.read(f"{rev}^{{commit}}") if is_plausible(rev) else None
        if found is None or found[2] is None:
            raise GitError(f"{rev!r} names no commit in {self}")
        return parse_commit(found[0], found[2])

    def entry(self, tree_id: str, path: str) -> TreeEntry | None:
        """The entry at `path` in the tree (or commit) `tree_id`, or None; reads only the directories on the way."""
        entry = TreeEntry(mode="40000", object_id=tree_id)
        for name in path.split("/"):
            found = self._directory_of(entry.object_id).get(name) if entry.is_directory else None
            if found is None:
                return None
            entry = found
        return entry

    def _directory_of(self, tree_id: str) -> Mapping[str, TreeEntry]:
        if tree_id not in self._trees:
            found = self._objects.read(f"{tree_id}^{{tree}}")
            if len(self._trees) > 20_000:
                self._trees.clear()
            self._trees[tree_id] = dict(parse_tree(found[2], len(found[0]) // 2)) if found and found[2] else {}
        return self._trees[tree_id]

    def tree(self, rev: str) -> dict[str, TreeEntry]:
        """path -> entry of everything (but directories) in a resolved commit or tree, in git's order."""
        return dict(parse_entries(self.tree_rows(rev)))

    def paths(self, rev: str) -> list[str]:
        """The paths of `tree(rev)`, sorted; several times as fast."""
        return _split_paths(self._git.run("ls-tree", "-r", "-z", "--full-tree", "--name-only", rev, ends=b"\0"))

    def tree_rows(self, rev: str) -> bytes:
        """The same as git prints it: `mode type id TAB path NUL`, repeated."""
        return self._git.run("ls-tree", "-r", "-z", "--full-tree", rev, ends=b"\0")

    def index_rows(self) -> bytes:
        """Everything staged, as git prints it: `mode id stage TAB path NUL`, repeated."""
        return self._git.run("ls-files", "-s", "-z", ends=b"\0")

    @cached_property
    def empty_tree(self) -> str:
        """The id of the tree that holds nothing, in the repository's hash."""
        name = decode(self._git.run("rev-parse", "--show-object-format", ends=b"\n")).strip()
        if name not in ("sha1", "sha256"):
            raise GitError(f"{self} names its objects in a way that is not known: {name[:80]!r}")
        return _EMPTY_TREES[64 if name == "sha256" else 40]

    @cached_property
    def id_digits(self) -> int:
        """The length of the names of its objects: 40, or 64 with SHA-256."""
        head = self._objects.read("HEAD")  # which needs no process of its own, as asking for the hash does
        return len(head[0] if head else self.empty_tree)

    # The index and the work tree

    def index(self) -> dict[str, TreeEntry]:
        """path -> entry of everything staged; a path in conflict is given by its first stage."""
        entries: dict[str, TreeEntry] = {}
        for path, entry in parse_entries(self.index_rows()):
            entries.setdefault(path, entry)
        return entries

    def paths_unlike_index(self) -> frozenset[str]:
        """Paths whose work tree file may differ from the index: changed, gone, in conflict, or left unwatched."""
        question = ("diff-files", "--name-only", "-z", "--no-ext-diff", "--ignore-submodules=all")
        changed = self._git.run(*question, ends=b"\0")
        names = {decode(name) for name in changed.split(b"\0") if name}
        # not H: S is not checked out, lower case is assumed unchanged, M is in conflict
        unwatched = re.findall(rb"(?:\A|\0)(?!H )\S ([^\0]+)", self._git.run("ls-files", "-v", "-z", ends=b"\0"))
        return frozenset(names | set(map(decode, unwatched)))

    def paths_unlike_commit(self, rev: str) -> frozenset[str]:
        """Paths that differ between the index and a resolved commit, on either side."""
        question = ("diff-index", "--cached", "--name-only", "--no-renames", "-z", "--no-ext-diff", rev, "--")
        changed = self._git.run(*question, ends=b"\0")
        return frozenset(decode(name) for name in changed.split(b"\0") if name)

    def grep(
        self, words: Collection[str], suffixes: Collection[str], rev: str | None = None, folders: Collection[str] = ()
    ) -> dict[str, set[str]]:
        """word -> paths that hold it as a whole word, in one pass over the tracked files or over a resolved commit, or
        over some folders of it (`lib/`)."""
        found: dict[str, set[str]] = {word: set() for word in words}
        if not found:
            return found
        # A rare word in files is waited for by the disk alone: more threads only take turns, while others work.
        options = [rev] if rev else ["--threads=1"]
        tops = [_GLOB_CHARACTER.sub(r"\\\g<0>", folder) for folder in folders] or [""]
        globs = (f":(top,glob){top}**/*{end}" for top in tops for end in suffixes)
        command = [*_GREP, "-f", "-", *options, "--", *globs]
        try:
            output = self._grep("-P", command, [rf"\b(?:{words})\b" for words in _alternatives(found)])
        except GitError:  # built without Perl expressions, or a line that they give up on
            output = self._grep(
                "-E", [*command[:1], "-w", *command[1:]], [f"({words})" for words in _alternatives(found)]
            )
        prefix, end = len(rev) + 1 if rev else 0, 0
        for row in _GREP_ROW.finditer(output):  # a path may hold a line end
            path, word = decode(row[1][prefix:]), decode(row[2])
            if row.start() != end or word not in found:
                break
            found[word].add(path)
            end = row.end()
        if end != len(output):
            raise GitError(
                f"git grep in {self} answers in a form that is not known: {decode(output[end : end + 80])!r}"
            )
        return found

    def files_holding(self, words: Collection[str], globs: Sequence[str], rev: str | None = None) -> tuple[str, ...]:
        """The paths that match one of the globs (`fs/**/*.c`, from the top) and hold one of the words, sorted."""
        command = ["grep", "-l", "-a", "-z", "--full-name", "--no-color", "--no-recurse-submodules", "-f", "-"]
        command += [*([rev] if rev else []), "--", *(f":(top,glob){glob}" for glob in globs)]
        try:
            output = self._grep("-P", command, [any_of(words)] if words else [])
        except GitError:  # built without Perl expressions
            output = self._grep(
                "-E", [*command[:1], "-w", *command[1:]], [f"({each})" for each in _alternatives(words)]
            )
        prefix = len(rev) + 1 if rev else 0
        return tuple(sorted(decode(path[prefix:]) for path in output.split(b"\0") if path))

    def _grep(self, syntax: str, command: Sequence[str], patterns: Sequence[str]) -> bytes:
        (name, *rest), stdin = command, "\n".join(patterns).encode("utf-8", "surrogateescape")
        ends = b"\0" if "-l" in rest else b"\n"
        return self._git.run("--no-literal-pathspecs", name, syntax, *rest, stdin=stdin, accept=(0, 1), ends=ends)

    # History and diffs

    def commits(self, tip: str, without: Sequence[str] = (), *, remotes: bool = False) -> tuple[tuple[str, ...], int]:
        """Ids of the commits reachable from `tip` and not from `without` (nor, with `remotes`, from a remote branch),
        parents first, and how many merges among them were left out."""
        known = ["--not", *without, *(["--remotes"] if remotes else [])]
        rows = decode(
            self._git.run("rev-list", "--reverse", "--topo-order", "--parents", tip, *known, "--", ends=b"\n")
        ).splitlines()
        single = tuple(row.split(" ", 1)[0] for row in rows if row.count(" ") < 2)
        return single, len(rows) - len(single)

    def recent_commits(self, paths: Sequence[str], limit: int) -> tuple[str, ...]:
        """Ids of at most `limit` commits: HEAD, newest tags and branches, then what touched `paths` lately."""
        newest = ("--sort=-creatordate", f"--count={limit // 2}", "--format=%(objectname)")
        refs = self._git.run("for-each-ref", *newest, ends=b"\n")
        ids = [commit for name in ("HEAD", *decode(refs).split()) if (commit := self._commit_or_none(name))]
        with suppress(GitError):  # a long history may take longer than a guess at the base is worth
            walk = ("rev-list", "--all", f"--max-count={limit // 2}", "--", *paths)
            ids += decode(self._git.run(*walk, timeout_s=HISTORY_TIMEOUT_S, ends=b"\n")).split()
        return tuple(dict.fromkeys(ids))[:limit]

    def _commit_or_none(self, rev: str) -> str | None:
        found = self._objects.read(f"{rev}^{{commit}}")
        return found[0] if found else None

    def changed_entries(self, before: str, after: str) -> dict[str, TreeEntry | None]:
        """path -> entry in `after` (None: gone) of everything that differs between two resolved commits or trees."""
        question = ("diff-tree", "-r", "-z", "--raw", "--no-renames", before, after, "--")
        fields = self._git.run(*question, ends=b"\0").split(b"\0")
        changed: dict[str, TreeEntry | None] = {}
        for head, path in zip(fields[0::2], fields[1::2], strict=False):
            words = decode(head).split(" ")
            if len(words) != 5:
                raise GitError(f"git diff-tree in {self} answers in a form that is not known: {decode(head[:80])!r}")
            _, mode, _, object_id, _ = words
            changed[decode(path)] = TreeEntry(mode=mode, object_id=object_id) if mode.strip("0") else None
        return changed

    def diff_of_commit(self, commit_id: str) -> bytes:
        """The diff of a resolved commit against its first parent, or against nothing for a root commit."""
        return self._git.diff(
            "diff-tree", "-r", "-p", "--root", "--no-commit-id", *DIFF_OPTIONS, "-U3", commit_id, "--"
        )

    def diff_of_index(self, against: str | None = None) -> bytes:
        """What is staged, as a diff against a resolved commit (None: against nothing, before the first commit)."""
        return self._git.diff("diff-index", "--cached", "-p", *DIFF_OPTIONS, "-U3", against or self.empty_tree, "--")


def _split_paths(listing: bytes) -> list[str]:
    return sorted(decode(listing).rstrip("\0").split("\0")) if listing else []


def _discover(git: Git) -> bytes:
    question = ("rev-parse", "--is-inside-work-tree", "--absolute-git-dir", "--show-cdup")
    try:
        return git.run(*question, timeout_s=OPENING_TIMEOUT_S)
    except GitError as error:
        if "dubious ownership" in str(error) and git.trust_as_the_user_does():
            return git.run(*question, timeout_s=OPENING_TIMEOUT_S)
        if "dubious ownership" in str(error):
            advice = f"git config --global --add safe.directory {git.directory}"
            raise GitError(f"{git.directory} belongs to another user; if you trust it: {advice}") from None
        if "not a git repository" in str(error):
            raise GitError(f"{git.directory} is not in a git repository") from None
        raise


def _alternatives(words: Collection[str]) -> list[str]:
    """`a|b|c`, cut into pieces: one pattern costs the same for 2 words as for 500, while each -e costs a pass."""
    ordered = [re.escape(word) for word in sorted(words)]
    return ["|".join(ordered[at : at + 500]) for at in range(0, len(ordered), 500)]
