"""The edit that mends a finding, where it is mechanical: derived from the source, tried out on it, and kept only if the
finding is gone then and nothing new appears."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from reviewbot.csyntax.definition import DefinitionKind
from reviewbot.csyntax.items import find_definitions, function_at, macro_at
from reviewbot.csyntax.lexing import code_of
from reviewbot.findings.edit import Edit, Span, apply_spans, to_edit
from reviewbot.findings.finding import Observation
from reviewbot.findings.inspection import Inspection
from reviewbot.graph.code import CodeReader
from reviewbot.patterns import regex
from reviewbot.rulebook.book import Rulebook, arch_of
from reviewbot.rulebook.primitives import Effect
from reviewbot.rules import mismatched_end, small_copy, traced_call
from reviewbot.rules.copies import FunctionText
from reviewbot.rules.copy_edits import scalar_form_of
from reviewbot.rules.inspection import Inspector, inspect
from reviewbot.source.overlay import OverlayTree
from reviewbot.source.tree import SourceTree

Derive = Callable[[Observation, CodeReader], Span | None]
_LONGEST_INLINE_LINES = 25
_LONGEST_TEXT = 400  # characters, as much as a report shows of one word
_SEEN_BY_OTHERS = frozenset((traced_call.SLUG,))  # the edit changes a function for its callers
_NO_ARGUMENTS = regex(rb"\s*\(\s*\)")
_STATIC = regex(rb"\bstatic\b")


class Editor:
    """Finds edits; what it learns of a tree serves every finding of it."""

    def __init__(self, book: Rulebook) -> None:
        self._book = book
        self._inspector: Inspector | None = None
        self._before: dict[tuple[str, frozenset[str]], Inspection] = {}

    def edit_for(self, observation: Observation, tree: SourceTree) -> Edit | None:
        """The edit for something that a rule saw in `tree`, or None: nothing mechanical mends it, or it is not certain
        that it fits. Without a whole tree nothing is certain."""
        derive, path = _DERIVED.get(observation.rule), observation.place.path
        data = tree.read(path)
        if derive is None or data is None or not tree.is_complete:
            return None
        span = derive(observation, self._inspector_of(tree).reader)
        if span is None or not _can_be_shown(span.text):
            return None
        if not self._mends(observation, tree, apply_spans(data, [span])):
            return None
        return to_edit(path, data, [span])

    def _inspector_of(self, tree: SourceTree) -> Inspector:
        if self._inspector is None or self._inspector.reader.tree is not tree:
            self._inspector, self._before = Inspector(tree, self._book), {}
        return self._inspector

    def _mends(self, observation: Observation, tree: SourceTree, changed: bytes) -> bool:
        path, function = observation.place.path, observation.place.function
        focus = {} if observation.rule in _SEEN_BY_OTHERS else {path: frozenset((function,))}
        key = path, focus.get(path, frozenset())
        if key not in self._before:
            self._before[key] = self._inspector_of(tree).inspect([path], focus)
        before = _counted(self._before[key])
        after = _counted(inspect(OverlayTree(tree, {path: changed}), [path], self._book, focus))
        mended = (observation.rule, path, function)
        return after[mended] < before[mended] and all(after[kind] <= before[kind] for kind in after)


def _can_be_shown(text: bytes) -> bool:
    """Whether every format hands it on as it is: no report cuts it or writes a character of it out."""
    try:
        shown = text.decode()
    except UnicodeDecodeError:
        return False
    return len(shown) <= _LONGEST_TEXT and shown.translate(dict.fromkeys(map(ord, "\n\t"))).isprintable()


def _counted(inspection: Inspection) -> Counter[tuple[str, str, str]]:
    """How often each rule speaks of each function, and how many gaps each has."""
    kinds = [(each.rule, each.place.path, each.place.function) for each in inspection.observations]
    return Counter([*kinds, *(("", gap.path, gap.function) for gap in inspection.gaps)])


def _matching_end(observation: Observation, reader: CodeReader) -> Span | None:
    """The end that belongs to the opener, where neither end takes an argument."""
    path, data = observation.place.path, reader.data(observation.place.path)
    start, expected = offset_of(observation, data), dict(observation.facts).get("expected", "")
    name = (observation.callee or "").encode()
    primitive = reader.book.primitive(expected, arch_of(path))
    if start is None or not name or primitive is None or primitive.effect is not Effect.CLOSE:
        return None
    arguments = (primitive.pointer_arg, primitive.value_arg, primitive.size_arg, primitive.direction_arg)
    is_plain = data.startswith(name, start) and _NO_ARGUMENTS.match(data, start + len(name))
    if any(index is not None for index in arguments) or not is_plain:
        return None
    return Span(start=start, end=start + len(name), text=expected.encode())


def _certain_inline(observation: Observation, reader: CodeReader) -> Span | None:
    """The word that makes a small static function of the same file inline for certain."""
    path, data, name = observation.place.path, reader.data(observation.place.path), observation.callee or ""
    if observation.variant != "static" or not dict(observation.facts).get("defined", "").startswith(f"{path}:"):
        return None
    found = find_definitions(data, name, path)
    if len(found) != 1 or found[0].kind is not DefinitionKind.FUNCTION or "static" not in found[0].words:
        return None
    item, words = function_at(data, found[0].start), reader.book.words
    special = words.annotations | words.notrace | words.noinstr | words.inline | words.always_inline
    if item is None or not special.isdisjoint(found[0].words) or item.text.count(b"\n") > _LONGEST_INLINE_LINES:
        return None
    head = _STATIC.search(code_of(data), item.start, item.body)
    if head is None or not _is_only_called(code_of(data), name.encode(), item.start, item.body, item.end):
        return None
    return Span(start=head.end(), end=head.end(), text=b" " + min(words.always_inline).encode())


def _is_only_called(code: bytes, name: bytes, start: int, body: int, end: int) -> bool:
    """Whether every mention outside of the function's own head is a call from another function."""
    for match in re.finditer(rb"(?<![\w.>])" + re.escape(name) + rb"\b(\s*\()?", code):
        is_own_head = start <= match.start() < body
        if not is_own_head and (body <= match.start() < end or match[1] is None):
            return False
    return True


def _scalar_form(observation: Observation, reader: CodeReader) -> Span | None:
    """The scalar access for a copy of one scalar."""
    path, data = observation.place.path, reader.data(observation.place.path)
    start = offset_of(observation, data)
    item = None if start is None else function_at(data, start)
    if observation.variant != "scalar" or item is None:
        return None
    text = FunctionText(reader=reader, path=path, item=item)
    calls = (call for call in text.calls(reader.small_copy_calls) if call.offset == start)
    call = next(calls, None)
    return None if call is None else scalar_form_of(text, call)


def offset_of(observation: Observation, data: bytes) -> int | None:
    """The offset of the observation's place; None in a macro, and where the line is no UTF-8."""
    place = observation.place
    starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]
    if place.line > len(starts):
        return None
    line = data[starts[place.line - 1] :].partition(b"\n")[0]
    try:
        before = line.decode()[: place.column - 1]
    except UnicodeDecodeError:
        return None
    offset = starts[place.line - 1] + len(before.encode())
    return None if macro_at(data, offset) else offset


_DERIVED: dict[str, Derive] = {
    mismatched_end.SLUG: _matching_end,
    small_copy.SLUG: _scalar_form,
    traced_call.SLUG: _certain_inline,
}
