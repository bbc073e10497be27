"""A tree comes in; a Review of what is in it goes out: recalled where nothing has changed, inspected where it has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from reviewbot.cost.estimate import estimate
from reviewbot.errors import InputError
from reviewbot.facts.cache import FactCache, Found, Recalled
from reviewbot.facts.candidates import again, find_candidates, is_below, normal
from reviewbot.facts.listing import Listing, list_tree
from reviewbot.facts.validity import included_names
from reviewbot.facts.workers import Job, Tell, inspect_all
from reviewbot.findings.excerpt import make_excerpt
from reviewbot.findings.finding import Finding, Gap, HeldBack, Observation
from reviewbot.findings.history import Life
from reviewbot.findings.inspection import Inspection
from reviewbot.findings.review import Base, Review, SourceExcerpt
from reviewbot.findings.triage import Verdict, judge
from reviewbot.git import Repository
from reviewbot.grammar import plural
from reviewbot.pipeline import ReviewOptions, graphs_of, with_edits
from reviewbot.progress import Progress
from reviewbot.rulebook.book import Rulebook
from reviewbot.source.folder_tree import FolderTree
from reviewbot.source.git_tree import CommitTree, IndexTree, WorkTree
from reviewbot.source.tree import SourceTree
from reviewbot.source.version import kernel_version
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """`paths` (below the top of the tree; none: everything), `jobs` processes; `limit` findings are reported at most,
    the dearest, beside those that `is_accepted` and will be held back; `is_ranked`: in that order, else in the order
    of places."""

    review: ReviewOptions
    paths: tuple[str, ...] = ()
    jobs: int = 2
    limit: int | None = None
    is_ranked: bool = False
    is_accepted: Callable[[Finding], bool] = lambda finding: False


def scan(tree: SourceTree, options: ScanOptions, book: Rulebook, origin: Base, cache: FactCache | None) -> Review:
    """Inspect every file of the tree that touches user memory. Raises InputError for a path that is not in it."""
    wanted = tuple(normal(path) for path in options.paths)
    tell = options.review.tell
    tell.start("looking for files that touch user memory")
    inspections, gaps = _inspect(tree, wanted, options.jobs, book, cache, tell)
    seen = [each for path in sorted(inspections) for each in inspections[path].observations]
    rules = options.review.rules
    lives = [Life(observation=each, tree=tree) for each in _distinct(seen) if rules is None or each.rule in rules]
    cpu = options.review.cpu
    if cpu.environment.kernel is None:
        cpu = replace(cpu, environment=replace(cpu.environment, kernel=kernel_version(tree)))
    verdicts = judge(
        lives,
        book.catalogue,
        lambda observation: estimate(observation, book, cpu),
        show_all=options.review.show_all,
        is_whole_tree=True,
    )
    reported, held = _limited(verdicts, options)
    if options.review.with_edits:
        tell.start("looking for fixes")
        reported = with_edits(reported, book)
    ordered = sorted(reported, key=_by_cost) if options.is_ranked else reported
    findings = tuple(verdict.finding for verdict in ordered)
    return Review(
        series=None,
        subject=_subject(tree, wanted),
        base=origin,
        patches=(),
        findings=findings,
        held_back=tuple(held),
        gaps=tuple(sorted((*gaps, *_gaps_of(inspections)), key=lambda gap: (gap.path, gap.line, gap.reason))),
        switches=(),
        excerpts=tuple(_excerpts(ordered)),
        notes=(_what_was_read(inspections),),
        cpu=tuple(sorted({finding.cost.cpu for finding in findings})),
        graphs=graphs_of(tree, findings, book) if options.review.with_graphs else (),
        below=() if {"", "."} & {*wanted} else wanted,
    )


def _inspect(
    tree: SourceTree, wanted: tuple[str, ...], jobs: int, book: Rulebook, cache: FactCache | None, tell: Progress
) -> tuple[dict[str, Inspection], list[Gap]]:
    """path -> what is in it, for every file worth it, and the files that could not be inspected."""
    listing = list_tree(tree) if cache is not None else None
    recalled = Recalled(results={})
    if cache is not None and listing is not None:
        recalled = cache.recall(
            listing, lambda path, blob: _read(tree, path, blob, listing), lambda names: _includers(tree, names)
        )
    if recalled.differing is None:
        candidates = find_candidates(tree, book)
    else:
        candidates = again(tree, book, recalled.candidates, recalled.differing)
    chosen = sorted(path for path in candidates if is_below(path, wanted))
    _refuse_unknown(tree, wanted, chosen)
    found, gaps = _inspect_new(tree, [path for path in chosen if path not in recalled.results], jobs, book, tell)
    if cache is not None and listing is not None and (found or recalled.differing is None or recalled.differing):
        cache.keep(listing, candidates, recalled, found, _kept_contents(tree, recalled, listing))
    results = {path: recalled.results[path] for path in chosen if path in recalled.results}
    return results | {each.path: each.inspection for each in found}, gaps


def _inspect_new(
    tree: SourceTree, paths: Sequence[str], jobs: int, book: Rulebook, tell: Progress
) -> tuple[list[Found], list[Gap]]:
    if not paths:
        return [], []
    tree.paths()  # read before the processes part, so that it is read once
    sizes = {path: _size_bytes(tree, path) for path in paths}
    tell.start("inspecting files", len(paths))
    advance: Tell = tell.advance
    return inspect_all(Job(tree=tree, book=book), sizes, jobs, advance)


def _size_bytes(tree: SourceTree, path: str) -> int:
    """For sharing out the work alone: that of the file on disk, where there is one."""
    if isinstance(tree, WorkTree | FolderTree):
        with suppress(OSError):
            return (tree.root / path).lstat().st_size
    return 0


def _includers(tree: SourceTree, names: frozenset[str]) -> frozenset[str]:
    """The files that include a file with one of these last parts of its path."""
    words = {max(re.findall(r"\w+", name), key=len, default="") for name in names} - {""}
    holders = {path for paths in tree.search(words).values() for path in paths}
    return frozenset(path for path in holders if included_names(tree.read(path) or b"") & names)


def _read(tree: SourceTree, path: bytes, blob: bytes, listing: Listing) -> bytes | None:
    """The content of a blob: from the tree where it is the one there, else from git's objects."""
    if listing.blobs.get(path) == blob:
        return tree.read(path.decode("utf-8", "surrogateescape"))
    if isinstance(tree, WorkTree | CommitTree | IndexTree):
        return tree.repository.blob(blob.decode())
    return None


def _kept_contents(tree: SourceTree, recalled: Recalled, listing: Listing) -> Mapping[str, bytes]:
    """Blobs that stand in the work tree alone: when they change again, git will not know what they were."""
    if not isinstance(tree, WorkTree):
        return {}
    texts = ((tree.blob_id(path), tree.read(path)) for path in sorted(tree.changed_paths()))
    return {blob: text for blob, text in texts if blob and text is not None}


def _refuse_unknown(tree: SourceTree, wanted: Sequence[str], chosen: Sequence[str]) -> None:
    for path in wanted:
        if not any(is_below(each, (path,)) for each in chosen) and not any(
            is_below(each, (path,)) for each in tree.paths()
        ):
            raise InputError(f"{path}: there is no such file or directory in {tree.label}")


def _distinct(seen: Sequence[Observation]) -> Iterator[Observation]:
    """A header that runs in the blocks of several files is reported once."""
    return iter(dict.fromkeys(seen))


def _limited(verdicts: Sequence[Verdict], options: ScanOptions) -> tuple[Sequence[Verdict], list[HeldBack]]:
    reported = [verdict for verdict in verdicts if not verdict.held_back]
    held = [verdict.to_held_back() for verdict in verdicts if verdict.held_back]
    counted = [verdict for verdict in reported if not options.is_accepted(verdict.finding)]
    limit = options.limit
    if limit is None or len(counted) <= limit:
        return reported, held
    left_out = {id(verdict) for verdict in sorted(counted, key=_by_cost)[limit:]}
    beyond = [verdict for verdict in reported if id(verdict) in left_out]
    held += [HeldBack(finding=each.finding, reason=f"not among the {limit} dearest (--limit)") for each in beyond]
    return [verdict for verdict in reported if id(verdict) not in left_out], held


def _by_cost(verdict: Verdict) -> tuple[float, int, str, int, int, str]:
    finding = verdict.finding
    place = finding.place
    return (-finding.cost.cycles.typ, -finding.severity.rank, place.path, place.line, place.column, finding.rule)


def _gaps_of(inspections: Mapping[str, Inspection]) -> Iterator[Gap]:
    yield from dict.fromkeys(gap for path in sorted(inspections) for gap in inspections[path].gaps)


def _excerpts(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, SourceExcerpt]]:
    for verdict in verdicts:
        path = verdict.finding.place.path
        text = verdict.life.tree.read(path)
        if text is not None:
            yield verdict.finding.fingerprint, make_excerpt(path, text, verdict.finding.place.line, text)


def _subject(tree: SourceTree, wanted: Sequence[str]) -> str:
    where = ", ".join(wanted) if wanted else "everything"
    return f"Scan of {where} in {tree.label}"


def _what_was_read(inspections: Mapping[str, Inspection]) -> str:
    blocks = sum(each.blocks_seen for each in inspections.values())
    touching = "1 file touches" if len(inspections) == 1 else f"{plural(len(inspections), 'file')} touch"
    return f"{touching} user memory, with {plural(blocks, 'block')} in {'it' if len(inspections) == 1 else 'them'}"


def tree_of(repository: Repository, rev: str | None) -> tuple[SourceTree, Base]:
    """The work tree, or the commit that `rev` names. Raises GitError, and InputError for a bare repository."""
    if rev is not None:
        commit = repository.resolve(rev)
        return CommitTree(repository, commit, label=rev), Base(rev=commit, how=f"--rev {rev}")
    if repository.root is None:
        raise InputError(f"{repository} has no work tree; say which commit to scan with --rev")
    return WorkTree(repository, repository.root), Base(rev="", how="the tracked files of the work tree, as they are")
