"""The kinds of mistakes. Each makes mutants of a function: the new text, the line it concerns, and the rules that must
find it (any of them, for one mistake may be told in two ways)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_BEGIN = r"user_(?:read_|write_)?access_begin"
_END = r"user_(?:read_|write_)?access_end"
_END_LINE = re.compile(rf"^[ \t]+{_END}\(\);[ \t]*\n", re.MULTILINE)
_CHECKED_BEGIN = re.compile(rf"^([ \t]+)if \(!({_BEGIN}\((?:[^()]|\([^()]*\))*\))\)\n[ \t]+[^;{{}}]*;\n", re.MULTILINE)
_ACCESS_LINE = re.compile(r"^([ \t]+)unsafe_(?:put|get)_user\(", re.MULTILINE)
_SINGLE_ACCESS = re.compile(
    r"unsafe_(put|get)_user\(((?:[^(),;]|\([^()]*\))+),((?:[^(),;]|\((?:[^()]|\([^()]*\))*\))+),\s*(\w+)\)"
)
_CLOSING_LABEL = re.compile(rf"^(\w+):[ \t]*\n[ \t]+{_END}\(\);", re.MULTILINE)
_GET = re.compile(r"(?<![\w])get_user\((\w+),\s*((?:[^(),;]|\([^()]*\))+)\)")
_PUT = re.compile(r"(?<![\w])put_user\((\w+),\s*((?:[^(),;]|\([^()]*\))+)\)")
_OTHER_BEGIN = {
    "user_read_access_begin": "user_write_access_begin",
    "user_write_access_begin": "user_read_access_begin",
    "user_access_begin": "user_read_access_begin",
}
_OTHER_END = {
    "user_read_access_end": "user_write_access_end",
    "user_write_access_end": "user_access_end",
    "user_access_end": "user_read_access_end",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A function with one mistake. `offset` is where it is, in the new text; `rules` are those that may say it."""

    text: str
    offset: int
    rules: frozenset[str]
    callee: str = ""


def _put(text: str, at: int, end: int, new: str, *rules: str, callee: str = "") -> Mutant:
    return Mutant(text=text[:at] + new + text[end:], offset=at, rules=frozenset(rules), callee=callee)


def drop_end(text: str) -> Iterator[Mutant]:
    """An end is forgotten: the block leaves the function open."""
    for match in _END_LINE.finditer(text):
        yield _put(text, match.start(), match.end(), "", "unclosed_block", "nested_block")


def call_out(text: str) -> Iterator[Mutant]:
    """A function of another file, which can be traced, is called in the block."""
    for match in _ACCESS_LINE.finditer(text):
        yield _put(text, match.start(), match.start(), f"{match[1]}kfree(NULL);\n", "traced_call", callee="kfree")


def nest(text: str) -> Iterator[Mutant]:
    """An access that opens and closes by itself stands in the block."""
    for match in _ACCESS_LINE.finditer(text):
        yield _put(text, match.start(), match.start(), f"{match[1]}put_user(0, (int __user *)0);\n", "nested_block")


def swap_opener(text: str) -> Iterator[Mutant]:
    """The block is opened for the other direction."""
    for match in re.finditer(rf"\b{_BEGIN}\b", text):
        yield _put(text, *match.span(), _OTHER_BEGIN[match[0]], "mismatched_end", "wrong_direction")


def swap_end(text: str) -> Iterator[Mutant]:
    """The block is closed with the end of another opener."""
    for match in re.finditer(rf"\b{_END}\b(?=\(\))", text):
        yield _put(text, *match.span(), _OTHER_END[match[0]], "mismatched_end")


def ignore_begin(text: str) -> Iterator[Mutant]:
    """Nobody looks at whether the block could be opened."""
    for match in _CHECKED_BEGIN.finditer(text):
        yield _put(text, *match.span(), f"{match[1]}{match[2]};\n", "unchecked_begin")


def jump_to_end(text: str) -> Iterator[Mutant]:
    """An error that comes before the block jumps to the label that closes it."""
    begin = _CHECKED_BEGIN.search(text)
    for label in _CLOSING_LABEL.finditer(text):
        if begin is not None and begin.start() < label.start():
            yield _put(text, begin.start(), begin.start(), f"{begin[1]}if (!current)\n{begin[1]}\tgoto {label[1]};\n", "redundant_end")  # fmt: skip  # noqa: E501


def split_block(text: str) -> Iterator[Mutant]:
    """A block of several accesses becomes single ones."""
    begins = list(_CHECKED_BEGIN.finditer(text))
    accesses = list(_SINGLE_ACCESS.finditer(text))
    if len(begins) != 1 or len(accesses) < 2 or len(accesses) != len(re.findall(r"\bunsafe_\w+\(", text)):
        return
    begin = begins[0]
    new = text[: begin.start()] + text[begin.end() :]
    new = _END_LINE.sub("", new)
    new = _SINGLE_ACCESS.sub(r"if (\1_user(\2,\3)) goto \4", new)
    yield Mutant(text=new, offset=begin.start(), rules=frozenset({"repeated_pair"}))


def widen_get(text: str) -> Iterator[Mutant]:
    """A variable is read with a copy of its size."""
    for match in _GET.finditer(text):
        yield _put(text, *match.span(), f"copy_from_user(&{match[1]}, {match[2]}, sizeof({match[1]}))", "small_copy")


def widen_put(text: str) -> Iterator[Mutant]:
    """A variable is written with a copy of its size."""
    for match in _PUT.finditer(text):
        if not match[1].isdigit() and not match[1].isupper():
            yield _put(text, *match.span(), f"copy_to_user({match[2]}, &{match[1]}, sizeof({match[1]}))", "small_copy")


_CALLED_IN_BLOCK = re.compile(r"\b([a-z_]\w*)\(")
_INLINED = re.compile(
    r"^static[ \t]+(?:__always_inline|inline|notrace)[ \t]+(?P<rest>[^;{}]*?\b(?P<name>\w+)\((?:[^;{}]*)\)\s*\n\{)",
    re.MULTILINE,
)


def untrace(whole: str) -> Iterator[tuple[str, str, int]]:
    """(new text of the file, name, offset of the definition): a function of the file loses `inline` or `notrace`."""
    for match in _INLINED.finditer(whole):
        yield whole[: match.start()] + "static " + match["rest"] + whole[match.end() :], match["name"], match.start()


def calls_between(text: str) -> set[str]:
    """Names that are called between the first opener and the last end of a function."""
    begin = re.search(rf"\b{_BEGIN}\(", text)
    ends = list(re.finditer(rf"\b{_END}\(", text))
    if begin is None or not ends:
        return set()
    return set(_CALLED_IN_BLOCK.findall(text[begin.end() : ends[-1].start()]))


KINDS: dict[str, Callable[[str], Iterator[Mutant]]] = {
    "drop an end": drop_end,
    "call out": call_out,
    "nest an access": nest,
    "swap the opener": swap_opener,
    "swap the end": swap_end,
    "ignore the begin": ignore_begin,
    "jump to the end": jump_to_end,
    "split a block": split_block,
    "widen a get": widen_get,
    "widen a put": widen_put,
}
