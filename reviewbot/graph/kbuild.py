"""What the Makefile of a directory says about the object of one C file: whether it is traced, and where it finds
headers.

Sources: Documentation/kbuild/makefiles.rst (ccflags-y, ccflags-remove-y, subdir-ccflags-y, CFLAGS_$@,
CFLAGS_REMOVE_$@) and scripts/Makefile.lib, which puts them together: flags of a directory hold for its own objects,
subdir- flags also below it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache

from reviewbot.patterns import regex
from reviewbot.source.tree import SourceTree
from reviewbot.values import dataclass

_TRACING = regex(r"\$[({]CC_FLAGS_FTRACE[)}]|(?<![\w-])-pg(?![\w-])")
_ASSIGNMENT = regex(r"^(?:override\s+|export\s+)?([^\s:+?=#][^:+?=#]*?)\s*(:{1,3}=|\+=|\?=|=)\s*(.*)$")
_CONDITIONAL = regex(r"^(ifdef|ifndef|ifeq|ifneq|else|endif)\b\s*(.*)$")
_BUILT_IF = regex(r"(?:obj|lib)-\$\((CONFIG_\w+)\)")
_INCLUDE_FLAG = regex(r"-I\s*(\S+)")
_VARIABLE = regex(r"\$[({]([\w.-]+)[)}]")
# Without these there is no function tracer at all, so they limit nothing (kernel/trace/Kconfig, arch/sh/Kconfig).
_TRACER = frozenset(("CONFIG_FUNCTION_TRACER", "CONFIG_FTRACE", "CONFIG_TRACING", "CONFIG_MCOUNT"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One assignment of a Makefile: variable, operator and value as written, the 1-based line, the conditions around
    it.
    """

    name: str
    operator: str
    value: str
    line: int
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Untraced:
    """Why an object is built without tracing: `reason` for people, and the conditions it depends on ("" if on none)."""

    reason: str
    condition: str


def is_untraced(tree: SourceTree, path: str) -> Untraced | None:
    """Why the compiler adds no tracing call to the functions of a C file, or None if it does.

    A condition on the tracer itself is none: without the tracer nothing is traced.
    """
    found: Untraced | None = None
    for makefile, is_own in _makefiles(tree, path):
        written = assignments(tree.read(makefile) or b"")
        target = _object_of(makefile, path)
        is_added_back = is_own and any(
            _is_own_flag(each.name, "CFLAGS_", target) and _adds(each, written) for each in written
        )
        for assignment in written:
            condition = _removal_condition(assignment, written, makefile, target, is_own=is_own)
            if condition is None or (is_added_back and not assignment.name.startswith("CFLAGS_REMOVE_")):
                continue
            why = f"{makefile}:{assignment.line} takes the tracing flags away ({assignment.name})"
            if not condition:
                return Untraced(reason=why, condition="")
            found = found or Untraced(reason=f"{why}, conditional on {condition}", condition=condition)
    return found


def _removal_condition(
    assignment: Assignment, written: tuple[Assignment, ...], makefile: str, target: str, *, is_own: bool
) -> str | None:
    """The condition under which this assignment takes the tracing flags from the object, "" for always, None for
    never.
    """
    name, conditions = assignment.name, list(assignment.conditions)
    if is_own and _is_own_flag(name, "CFLAGS_REMOVE_", target):
        takes = _adds(assignment, written)
    elif name.startswith("subdir-ccflags-remove-") or (is_own and name.startswith("ccflags-remove-")):
        takes = _adds(assignment, written)
        conditions += _VARIABLE.findall(name.rpartition("-")[2])
    elif name == "KBUILD_CFLAGS" and not _is_configuration(makefile):
        takes = _replaces_flags(assignment, written)
    else:
        return None
    return " && ".join(each for each in conditions if each not in _TRACER) if takes else None


def _is_own_flag(name: str, prefix: str, target: str) -> bool:
    """Whether a variable such as CFLAGS_REMOVE_time_$(BITS).o belongs to the object."""
    if not name.startswith(prefix) or not name.endswith(".o"):
        return False
    return _is_named(name[len(prefix) :], target)


def _adds(assignment: Assignment, written: tuple[Assignment, ...]) -> bool:
    return _TRACING.search(_expand(assignment.value, written)) is not None


def _replaces_flags(assignment: Assignment, written: tuple[Assignment, ...]) -> bool:
    """Whether KBUILD_CFLAGS is made anew without the tracing flags (arch/x86/boot) or filtered (vdso)."""
    if assignment.operator == "+=":
        return False
    value = _expand(assignment.value, written)
    if re.search(r"\$[({](filter-out|subst|patsubst)\b", value):
        return _TRACING.search(value) is not None
    return "$(KBUILD_CFLAGS)" not in value and "${KBUILD_CFLAGS}" not in value and _TRACING.search(value) is None


def _expand(value: str, written: tuple[Assignment, ...], depth: int = 3) -> str:
    """The value with the variables of the same Makefile replaced by all that is ever assigned to them."""
    if depth == 0 or "$" not in value:
        return value

    def replace(match: re.Match[str]) -> str:
        if match[1] in ("CC_FLAGS_FTRACE", "KBUILD_CFLAGS"):
            return match[0]
        values = [each.value for each in written if each.name == match[1]]
        return _expand(" ".join(values), written, depth - 1) if values else match[0]

    return _VARIABLE.sub(replace, value)


def _is_configuration(makefile: str) -> bool:
    """Whether a Makefile makes the flags for everything (the top one, and that of an architecture) and builds no
    object.
    """
    return makefile == "Makefile" or re.fullmatch(r"arch/\w+/Makefile", makefile) is not None


def _object_of(makefile: str, path: str) -> str:
    """The object of a source file as its Makefile, which lies in its directory or above, calls it."""
    directory = posixpath.dirname(makefile)
    return posixpath.splitext(path.removeprefix(f"{directory}/"))[0] + ".o"


def object_condition(tree: SourceTree, path: str) -> str | None:
    """`CONFIG_X` where the file's own Makefile builds its object with `obj-$(CONFIG_X) += name.o` alone; None when it
    is always built, or when more than one line decides."""
    directory, _, name = path.rpartition("/")
    target = f"{name.removesuffix('.c')}.o"
    lines = [
        assignment
        for makefile in (f"{directory}/Kbuild", f"{directory}/Makefile")
        for assignment in assignments(tree.read(makefile) or b"")
        if any(_is_named(word, target) for word in assignment.value.split())
    ]
    built_if = {match.group(1) for each in lines if (match := _BUILT_IF.fullmatch(each.name)) and not each.conditions}
    return built_if.pop() if len(lines) == len(built_if) == 1 else None


def _is_named(word: str, target: str) -> bool:
    """Whether a word of a Makefile, such as signal_$(BITS).o, may be the object."""
    if "$" not in word:
        return word == target
    fixed = _VARIABLE.split(word)[::2]
    return any(fixed) and re.fullmatch(r"\w*".join(re.escape(part) for part in fixed), target) is not None


def include_directories(tree: SourceTree, path: str) -> tuple[str, ...]:
    """The -I directories that Makefiles add for a file, as paths in the tree, in order."""
    found: dict[str, None] = {}
    for makefile, is_own in _makefiles(tree, path):
        directory = posixpath.dirname(makefile)
        for assignment in assignments(tree.read(makefile) or b""):
            if _adds_flags(assignment.name, _object_of(makefile, path), is_own=is_own):
                written = _INCLUDE_FLAG.findall(assignment.value)
                found.update(dict.fromkeys(each for each in (_to_directory(one, directory) for one in written) if each))
    return tuple(found)


def _adds_flags(name: str, target: str, *, is_own: bool) -> bool:
    if name.startswith("subdir-ccflags-") and "remove" not in name:
        return True
    own = name.startswith(("ccflags-", "EXTRA_CFLAGS")) and "remove" not in name
    return is_own and (own or _is_own_flag(name, "CFLAGS_", target))


def _to_directory(written: str, directory: str) -> str | None:
    """A -I argument as a path in the tree, None if it leads elsewhere (build directory, other variables)."""
    text = written.replace("${", "$(").replace("}", ")").strip("\"'")
    text = text.replace("$(srctree)/$(src)", directory).replace("$(src)", directory).replace("$(obj)", directory)
    text = text.replace("$(srctree)/", "").replace("$(srctree)", ".")
    if "$" in text or text.startswith("/"):
        return None
    path = posixpath.normpath(text)
    return None if path.startswith("..") else ("" if path == "." else path)


@lru_cache(maxsize=1024)
def assignments(data: bytes) -> tuple[Assignment, ...]:
    """The assignments of a Makefile in order, continuation lines joined, comments and recipes left out."""
    return tuple(_assignments(data))


def _assignments(data: bytes) -> Iterator[Assignment]:
    conditions: list[str] = []
    for line, text in _logical_lines(data):
        conditional = _CONDITIONAL.match(text.strip())
        if conditional is not None:
            _follow(conditions, conditional[1], conditional[2].strip())
        elif not text.startswith("\t") and (found := _ASSIGNMENT.match(text.strip())) is not None:
            yield Assignment(
                name=found[1].strip(),
                operator=found[2],
                value=found[3].strip(),
                line=line,
                conditions=tuple(each for each in conditions if each),
            )


def _logical_lines(data: bytes) -> Iterator[tuple[int, str]]:
    pending, begin = "", 0
    for number, raw in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        text = re.sub(r"(?<!\\)#.*", "", raw.rstrip("\r"))
        begin = begin or number
        if text.endswith("\\"):
            pending += text[:-1] + " "
            continue
        yield begin, pending + text
        pending, begin = "", 0
    if pending:
        yield begin, pending


def _follow(conditions: list[str], word: str, rest: str) -> None:
    if word == "endif":
        if conditions:
            conditions.pop()
    elif word != "else":
        conditions.append(_to_condition(word, rest))
    elif conditions:
        refused = conditions.pop()
        refused = refused[1:] if refused.startswith("!") else f"!{refused}"
        more = _CONDITIONAL.match(rest)
        conditions.append(f"{refused} && {_to_condition(more[1], more[2].strip())}" if more else refused)


def _to_condition(word: str, rest: str) -> str:
    if word in ("ifdef", "ifndef"):
        return rest if word == "ifdef" else f"!{rest}"
    sides = re.fullmatch(r"\(\s*\$[({](\w+)[)}]\s*,\s*(\w*)\s*\)", rest)
    if sides is None:
        return f"{'!' if word == 'ifneq' else ''}ifeq {rest}"
    is_set = (word == "ifeq") == (sides[2] in ("y", "m"))
    if sides[2] in ("y", "m", ""):
        return sides[1] if is_set else f"!{sides[1]}"
    return f"{sides[1]}{'=' if word == 'ifeq' else '!='}{sides[2]}"


def _makefiles(tree: SourceTree, path: str) -> Iterator[tuple[str, bool]]:
    """The Makefile of the file's directory, then those above it; kbuild prefers the name Kbuild.

    True for the own one.
    """
    directory, is_own = posixpath.dirname(path), True
    while True:
        for name in ("Kbuild", "Makefile"):
            candidate = f"{directory}/{name}" if directory else name
            if tree.read(candidate) is not None:
                yield candidate, is_own
                is_own = False
                break
        if not directory:
            return
        directory = posixpath.dirname(directory)
