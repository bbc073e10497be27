"""Every rule over the functions of some files of a tree: observations, gaps, and how many blocks were seen."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from reviewbot.csyntax.brace_layout import misplaced_brace
from reviewbot.csyntax.flow import Call
from reviewbot.csyntax.heads import without_directives
from reviewbot.csyntax.items import Item, functions_holding
from reviewbot.csyntax.lexing import DIRECTIVE, blank_comments, code_of, lines_of
from reviewbot.csyntax.variants import condition_of, split_variants
from reviewbot.findings.finding import Gap, Observation, Place
from reviewbot.findings.inspection import Inspection
from reviewbot.graph.callees import Callee
from reviewbot.graph.code import CodeReader, FunctionCode, Variant
from reviewbot.graph.paths import BY_CALLER, Open
from reviewbot.graph.reach import InsideCall, Reach
from reviewbot.graph.uses import Uses
from reviewbot.patterns import regex
from reviewbot.rulebook.book import Rulebook
from reviewbot.rulebook.primitives import Direction, Effect
from reviewbot.rulebook.types import types_with
from reviewbot.rules import BLOCK_RULES, PATH_RULES, TEXT_RULES
from reviewbot.rules.conditions import worth_saying
from reviewbot.rules.context import Context
from reviewbot.rules.copies import FunctionText
from reviewbot.rules.likely_runs import LikelyRuns
from reviewbot.rules.quiet import is_made_quiet, is_quiet
from reviewbot.source.tree import SourceTree
from reviewbot.source.unread import REASON, is_unread

_CALL = regex(rb"\w+\s*\(")

MAX_MACRO_DEPTH = 8
"""Macros that use macros that use … one that holds a block."""

_DEFINE = regex(rb"[ \t]*#[ \t]*define(?:[ \t]|\\\r?\n)+(\w+)")
_CALL_BEFORE = regex(rb"\s+(?:(?:if|while|return|else)\b)?[\s(!]*(?:(?:un)?likely\s*\(\s*!?)?")


def inspect(
    tree: SourceTree, paths: Sequence[str], book: Rulebook, focus: Mapping[str, frozenset[str]] | None = None
) -> Inspection:
    """Look at every function of these files that touches user memory; in a path that is in `focus` only at the
    functions named there. A path that the tree does not have is passed over."""
    return Inspector(tree, book).inspect(paths, focus or {})


class Inspector:
    """Inspects files of one tree; what it learns of the tree serves every file."""

    def __init__(self, tree: SourceTree, book: Rulebook) -> None:
        self.reader = CodeReader(tree, book)

    def inspect(self, paths: Iterable[str], focus: Mapping[str, frozenset[str]] = MappingProxyType({})) -> Inspection:
        observations: dict[tuple[str, Place, str], Observation] = {}
        gaps: dict[tuple[str, int, str], Gap] = {}
        blocks = 0
        for path in sorted(set(paths)):
            if path.endswith(".S"):
                continue
            if is_unread(self.reader.tree, path):
                gaps[(path, 0, REASON)] = Gap(path=path, line=0, function="", reason=REASON)
                continue
            # what was entered from another file must not count: which one that was depends on the order
            found = _File(self.reader, Reach(self.reader), path, focus.get(path))
            for seen in found.observe():
                observations.setdefault((seen.rule, seen.place, seen.callee or ""), seen)
            for gap in found.gaps:
                gaps.setdefault((gap.path, gap.line, gap.reason), gap)
            blocks += found.blocks
        return Inspection(
            observations=tuple(sorted(observations.values(), key=lambda o: (o.place, o.rule, o.callee or ""))),
            gaps=tuple(gaps[key] for key in sorted(gaps)),
            blocks_seen=blocks,
        )


class _File:
    """One file under inspection."""

    def __init__(self, reader: CodeReader, reach: Reach, path: str, focus: frozenset[str] | None) -> None:
        self._reader = reader
        self._reach = reach
        self._path = path
        self._focus = focus
        self.gaps: list[Gap] = []
        self.blocks = 0

    def observe(self) -> Iterator[Observation]:
        every = self._items()
        texts = [
            FunctionText(reader=self._reader, path=self._path, item=each) for each in every if self._is_wanted(each)
        ]
        items = [text.item for text in texts]
        for text in texts:
            for find in TEXT_RULES.values():
                yield from find(text)
        roots = [item for item in items if self._reader.holds_blocks(item)]
        roots += [item for item in self._wrapper_callers(every) if item not in roots]
        roots += [item for item in self._macro_users() if item not in roots]
        codes = [self._reader.function(self._path, item) for item in roots]
        self._reach.prefetch(codes)
        for code in codes:
            yield from self._observe_paths(code)
        for code in codes:
            is_entered = (code.path, code.item.start) in self._reach.entered
            if not is_entered and _needs_caller(code) and "(" not in code.name and not code.is_called_closed:
                opened = Open(node=BY_CALLER, name="", direction=Direction.READ_WRITE)
                yield from self._observe_paths(self._reader.function(self._path, code.item, opened))
        read = {item.start for item in roots}
        likely = LikelyRuns(self._reader, self._path)
        for text in texts:
            if text.item.start not in read and likely.may_run(text):
                yield from self._observe_paths(self._reader.function(self._path, text.item))
        for item in likely.users_of_macros():
            if item.start not in read and self._is_wanted(item):
                yield from self._observe_paths(self._reader.function(self._path, item))

    def _items(self) -> tuple[Item, ...]:
        uses = self._reader.uses(self._path)
        if self._reader.tree.is_complete:  # of a tree from hunks it is said anyway that functions are missing
            self._note_lost_calls(uses)
        return uses.items

    def _note_lost_calls(self, uses: Uses) -> None:
        """Calls that look as if they stood in a function, where none was found: its braces or its head were not
        understood."""
        code = code_of(self._reader.data(self._path))
        starts = [item.start for item in uses.items]
        directives: list[tuple[int, int]] | None = None
        for offset in uses.offsets:
            at = bisect_right(starts, offset) - 1
            if (at >= 0 and uses.items[at].holds(offset)) or not _is_statement_call(code, offset):
                continue
            if not self._reader.holds_block_word(code[offset : offset + 80]):
                continue
            if directives is None:
                directives = [match.span() for match in lines_of(DIRECTIVE, code)]
            before = bisect_right(directives, (offset, len(code))) - 1
            if before < 0 or directives[before][1] <= offset:
                reason = "a call that opens, closes or needs a block stands in no function that could be read"
                line = self._reader.lines(self._path).line(offset)
                self.gaps.append(Gap(path=self._path, line=line, function="", reason=reason))
                return

    def _is_wanted(self, item: Item) -> bool:
        return self._focus is None or item.name in self._focus

    def _wrapper_callers(self, items: tuple[Item, ...]) -> list[Item]:
        """Functions that open or close through a wrapper of the same file."""
        found: dict[int, Item] = {}
        for item in items:
            if not self._reader.holds_blocks(item) or not (callers := self._callers(item)):
                continue
            if self._reader.net_effect(item.name, self._path, None) is not None:
                found |= {caller.start: caller for caller in callers}
        return [found[start] for start in sorted(found)]

    def _macro_users(self) -> list[Item]:
        """Functions that open or close through a macro of the same file, or through a macro that uses one."""
        data = self._reader.data(self._path)
        if self._reader.uses(self._path).names.isdisjoint(self._reader.block_names):
            return []
        code = code_of(data)
        macros = {match[1]: code[slice(*directive)] for directive, match in _macro_definitions(code)}
        macros = {n: text for n, text in macros.items() if not self._reader.any_primitive.fullmatch(n)}
        holders = {n for n, text in macros.items() if self._reader.holds_block_word(text)}
        for _ in range(MAX_MACRO_DEPTH):
            users = {n for n, text in macros.items() if n not in holders and _names_any(text, holders)}
            if not users:
                break
            holders |= users
        if not holders:
            return []
        offsets = [match.start() for match in _any_word(holders).finditer(code)]
        return [item for item in functions_holding(data, offsets) if self._is_wanted(item)]

    def _callers(self, item: Item) -> list[Item]:
        """The wanted functions of the file, but the one itself, with something like a call of the item in them."""
        data = self._reader.data(self._path)
        code = code_of(data)
        ends = ((match.start(), match.end()) for match in self._reader.word(item.name).finditer(code))
        offsets = [start for start, end in ends if code[end : end + 20].lstrip().startswith(b"(")]
        callers = functions_holding(data, offsets)
        return [caller for caller in callers if caller.name != item.name and self._is_wanted(caller)]

    def _observe_paths(self, code: FunctionCode) -> Iterator[Observation]:
        found: dict[tuple[str, Place, str], tuple[Observation, list[Variant]]] = {}
        openers: set[int] = set()
        for variant in code.variants:
            context = Context(code=code, variant=variant, reach=self._reach)
            openers |= {u.call.offset for u in context.uses if u.primitive.effect in (Effect.OPEN, Effect.SCOPED)}
            for find in PATH_RULES.values():
                for seen in find(context):
                    key = (seen.rule, seen.place, seen.callee or "")
                    found.setdefault(key, (seen, []))[1].append(variant)
            self._note_gaps(context)
        self.blocks += len(openers) + (1 if code.entry is not None else 0)
        for unread in code.unread:
            self.gaps.append(Gap(path=code.path, line=unread.line, function=code.name, reason=unread.reason))
        doubt = _doubt_about_braces(code) if any(seen.rule in BLOCK_RULES for seen, _ in found.values()) else None
        if doubt is not None:
            self.gaps.append(doubt)
        for seen, variants in found.values():
            if doubt is None or seen.rule not in BLOCK_RULES:
                yield _with_condition(seen, variants, code)

    def _note_gaps(self, context: Context) -> None:
        for inside in context.inside:
            for callee in inside.callees:
                # A header may use a macro that only its includer sees; where that calls nothing, nothing is missed.
                if callee.form is None and not self._is_quiet(context, callee):
                    self._gap(
                        inside, f"{callee.name}() is called inside a block and could not be resolved: {callee.reason}"
                    )
        code = context.code
        for piece in context.variant.flow.misread:
            # In a block nothing may be missed; elsewhere only statements matter, for the paths go through them.
            is_in_block = bool(context.variant.open_at(piece.node))
            is_opener_lost = self._reader.holds_block_word(self._reader.data(code.path)[piece.start : piece.end])
            if is_in_block or is_opener_lost or (context.has_opener and not piece.is_in_arguments):
                line = code.lines.line(piece.start)
                self.gaps.append(Gap(path=code.path, line=line, function=code.name, reason=piece.reason))

    def _is_quiet(self, context: Context, callee: Callee) -> bool:
        if callee.definition is not None:
            return is_made_quiet(context.code, callee.definition)
        is_macro = bool(self._reader.symbols.macros(callee.name, self._path, context.code.arch))
        return is_macro and is_quiet(context.code, callee.name)

    def _gap(self, inside: InsideCall, reason: str) -> None:
        line = inside.code.lines.line(inside.call.offset)
        self.gaps.append(Gap(path=inside.code.path, line=line, function=inside.code.name, reason=reason))


def _doubt_about_braces(code: FunctionCode) -> Gap | None:
    """A gap in place of what is found in a function whose braces do not fit its indentation."""
    data = code.reader.data(code.path)
    body = data[code.item.body : code.item.end]
    is_at_margin = data[code.item.body - 1 : code.item.body] in (b"", b"\n")
    for variant in split_variants(blank_comments(body, literals=True), code.conditions):
        at = misplaced_brace(without_directives(variant.text), is_at_margin=is_at_margin)
        if at is not None:
            line = code.lines.line(min(code.item.body + at, code.item.end - 1))
            reason = (
                f"the braces do not fit the indentation (line {line}): where its blocks begin and end is not certain"
            )
            return Gap(path=code.path, line=code.line, function=code.name, reason=reason)
    return None


def _macro_definitions(code: bytes) -> Iterator[tuple[tuple[int, int], re.Match[bytes]]]:
    """The extent of every #define, and a match whose group 1 is the macro's name."""
    for directive in lines_of(DIRECTIVE, code):
        if (match := _DEFINE.match(code, directive.start(), directive.end())) is not None:
            yield directive.span(), match


def _any_word(names: Collection[bytes]) -> re.Pattern[bytes]:
    return re.compile(rb"\b(?:" + b"|".join(map(re.escape, sorted(names))) + rb")\b")


def _names_any(text: bytes, names: Collection[bytes]) -> bool:
    return bool(names) and _any_word(names).search(text) is not None


def _is_statement_call(code: bytes, offset: int) -> bool:
    """Called in a condition or as a statement of an indented line, or behind a brace of a function on one line; no
    declaration, no table and no assembler."""
    line = code[code.rfind(b"\n", 0, offset) + 1 : offset]
    if _CALL.match(code, offset) is None:
        return False
    if b"{" in line and b")" in line and b"=" not in line and not line.lstrip().startswith(b"#"):
        return True
    return line[:1] in (b"\t", b" ") and _CALL_BEFORE.fullmatch(line) is not None


def _needs_caller(code: FunctionCode) -> bool:
    """The function works in a block, but opens none: a caller that is not here must have opened it."""
    effects = {
        primitive.effect
        for variant in code.variants
        for node in variant.flow.nodes
        if isinstance(node.action, Call) and (primitive := code.primitive(node.action))
    }
    if effects & {Effect.OPEN, Effect.SCOPED}:
        return False
    return Effect.INSIDE in effects or (Effect.CLOSE in effects and _closes_for_its_caller(code))


def _closes_for_its_caller(code: FunctionCode) -> bool:
    if code.reader.book.primitive(code.name, code.arch) is not None:
        return False
    if code.path.endswith(".c") and b"static" not in code.item.text[: code.item.body - code.item.start].split():
        return False  # its callers are elsewhere, and what is open there is not known
    effect = code.reader.net_effect(code.name, code.path, code.arch)
    return effect is not None and effect.effect is Effect.CLOSE


def _with_condition(seen: Observation, variants: list[Variant], code: FunctionCode) -> Observation:
    """Say under which #if a finding holds: around the function, and where not every variant has it."""
    absent = [v.conditions for v in code.variants if v not in variants]
    own = condition_of([v.conditions for v in variants], absent)
    around = worth_saying(code.conditions, code.arch, types_with(code.reader.book.words))
    parts = [part for part in dict.fromkeys((around, own, seen.condition)) if part]
    return replace(seen, condition=" && ".join(parts) or None)
