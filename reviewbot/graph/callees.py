"""What a call inside a block reaches: the definition that the asker sees, its form, and whether the policies allow
it."""

from __future__ import annotations

import re
from functools import lru_cache

from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.flow import Call
from reviewbot.csyntax.macros import to_macro
from reviewbot.graph.kbuild import is_untraced, object_condition
from reviewbot.graph.meaning import policies_of
from reviewbot.graph.symbols import Symbols
from reviewbot.patterns import regex
from reviewbot.rulebook.book import Rulebook, arch_of
from reviewbot.rulebook.policy import CalleeForm, Policy, SafeName
from reviewbot.source.tree import SourceTree
from reviewbot.values import dataclass

_STORAGE = frozenset(
    {"static", "extern", "const", "volatile", "register", "unsigned", "signed", "struct", "union", "enum"}
)
_POINTER = regex(rb"\(\s*\*\s*(?:const\s+)?(\w+)\s*\)\s*\(")
_DECLARED = regex(rb"(?<=[\s*])([A-Za-z_]\w*+)\s*+[=;,)]")
_TYPE_BEFORE = regex(rb"(?<!\w)(\w++)\s*[\s*]\Z")
_CALL_OF_RESULT = regex(r"\s*([A-Za-z_]\w*)\s*\(")
_DEEPEST_MACRO = 4
_WIDEST_GAP = 200
_CONSTANT_SIZE = regex(rb"\s*(?:\(\s*)*(?:sizeof\b.*|0[xX][0-9a-fA-F]+\w*|\d+\w*)\s*\)*\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Callee:
    """One thing that a call may reach. `form` is None when it could not be resolved; `reason` then says why, and else
    why the form was taken. `violates` are the policies that do not allow it. `condition` is the #if under which this
    definition counts.
    """

    name: str
    form: CalleeForm | None
    definition: Definition | None
    violates: tuple[str, ...]
    reason: str
    condition: str = ""

    @property
    def is_body_run(self) -> bool:
        """Whether the callee's own code counts as code in the block (C that is allowed there, or assembler)."""
        return self.definition is not None and not self.violates and self.form is not None


class CalleeResolver:
    """Resolves calls of one tree; asks the tree for symbols only when a call in a block needs it."""

    def __init__(self, tree: SourceTree, book: Rulebook, symbols: Symbols) -> None:
        self._tree = tree
        self._book = book
        self._symbols = symbols
        self._untraced: dict[str, str | None] = {}
        self._objects: dict[str, str | None] = {}

    def resolve(self, call: Call, path: str, arch: str | None, function_text: bytes) -> tuple[Callee, ...]:
        """What the call reaches: several callees where #if or the architecture decides. Safe names come back as
        nothing."""
        policies = policies_of(self._book, path, arch)
        if not call.name and (made := self._made_by_macro(call, path, arch)) is not None:
            return made
        if not call.name or _is_pointer(call.name, function_text):
            return (self._indirect(call, policies),)
        words = self._book.words
        if call.name in words.builtins or call.name in words.safe_macros or call.name.startswith("__builtin_"):
            return ()
        policies = tuple(p for p in policies if not _is_safe_name(call, p))
        if not policies:
            return ()
        resolution = self._symbols.resolve(call.name, path, arch)
        found = [
            callee
            for definition in resolution.definitions
            if (callee := self._classify(call, definition, resolution.prototypes, policies, arch)) is not None
        ]
        if not found and _is_local(call.name, function_text):
            return (self._indirect(call, policies),)
        if not found and resolution.prototypes and self._is_linker_error(call.name):
            return ()
        if not found:
            return (self._from_prototypes(call.name, resolution.prototypes, policies, resolution.reason),)
        return _distinct(found)

    def _made_by_macro(self, call: Call, path: str, arch: str | None) -> tuple[Callee, ...] | None:
        """`name(…)(…)` calls what the function `name` gives back (None), but a macro of that name may make anything of
        it. What `name` is, if nobody knows, is said of the call of `name`."""
        inner = _CALL_OF_RESULT.match(call.text)
        if inner is None or self._gives_value(inner[1], path, arch):
            return None
        if not self._symbols.macros(inner[1], path, arch):
            return ()
        reason = f"what it stands for is up to the macro {inner[1]}()"
        return (Callee(name=call.text, form=None, definition=None, violates=(), reason=reason),)

    def _is_linker_error(self, name: str) -> bool:
        """Whether no code that reaches a call of the name can be linked."""
        return any(re.fullmatch(pattern, name) for pattern in self._book.words.linker_errors)

    def _gives_value(self, name: str, path: str, arch: str | None, depth: int = _DEEPEST_MACRO) -> bool:
        """Whether `name(…)` is the call of a function or an expression, whose value is then called."""
        macros = self._symbols.macros(name, path, arch)
        if not macros:
            resolution = self._symbols.resolve(name, path, arch)
            kinds = {definition.kind for definition in (*resolution.definitions, *resolution.prototypes)}
            return bool(kinds & {DefinitionKind.FUNCTION, DefinitionKind.PROTOTYPE})
        bodies = [macro.body.lstrip() for macro in map(to_macro, macros) if macro is not None]
        inner = [_CALL_OF_RESULT.match(body.decode("utf-8", "replace")) for body in bodies]
        return bool(bodies) and all(
            body[:1] in (b"(", b"*", b"&")
            or (match is not None and depth > 0 and self._gives_value(match[1], path, arch, depth - 1))
            for body, match in zip(bodies, inner, strict=True)
        )

    def _indirect(self, call: Call, policies: tuple[Policy, ...]) -> Callee:
        form = CalleeForm.INDIRECT
        return Callee(
            name=call.name or call.text,
            form=form,
            definition=None,
            violates=_violated(form, policies),
            reason="the callee is a function pointer",
        )

    def _classify(
        self,
        call: Call,
        definition: Definition,
        prototypes: tuple[Definition, ...],
        policies: tuple[Policy, ...],
        asker_arch: str | None,
    ) -> Callee | None:
        if definition.kind is DefinitionKind.VARIABLE:
            form, reason = CalleeForm.INDIRECT, "the callee is a variable that holds a function"
        elif definition.kind is DefinitionKind.ASM:
            form, reason = CalleeForm.ASM, "assembler"
        elif definition.kind is DefinitionKind.FUNCTION:
            form, reason = self._form_of(definition, prototypes)
        else:
            return None
        if asker_arch is None and arch_of(definition.path) is not None:
            # Generic code reaches this one on its own architecture only.
            there = self._book.policies_for(definition.path)
            policies = tuple(policy for policy in there if not _is_safe_name(call, policy))
        return Callee(
            name=call.name,
            form=form,
            definition=definition,
            violates=_violated(form, policies),
            reason=reason,
            condition=" && ".join((*definition.conditions, *self._object_conditions(definition))),
        )

    def _object_conditions(self, definition: Definition) -> tuple[str, ...]:
        """The configuration under which a .c file is built at all, where its Makefile says so on one line."""
        if definition.kind is not DefinitionKind.FUNCTION or not definition.path.endswith(".c"):
            return ()
        if definition.path not in self._objects:
            self._objects[definition.path] = object_condition(self._tree, definition.path)
        condition = self._objects[definition.path]
        return (f"defined({condition})",) if condition else ()

    def _form_of(self, definition: Definition, prototypes: tuple[Definition, ...]) -> tuple[CalleeForm, str]:
        words = self._book.words
        own = set(definition.words)
        for prototype in prototypes:
            own.update(prototype.words)
        own |= self._spelled_by_macros(definition, own)
        for form, names in (
            (CalleeForm.ALWAYS_INLINE, words.always_inline),
            (CalleeForm.INLINE, words.inline),
            (CalleeForm.NOINSTR, words.noinstr),
            (CalleeForm.NOTRACE, words.notrace),
        ):
            said = sorted(own & names)
            if said:
                return form, f"declared {said[0]}"
        untraced = self._untraced_reason(definition.path)
        if untraced is not None:
            return CalleeForm.UNTRACED_OBJECT, untraced
        if "static" in definition.words:
            return CalleeForm.STATIC, "static, neither inline nor notrace"
        return CalleeForm.EXTERN, "an ordinary function"

    def _spelled_by_macros(self, definition: Definition, own: set[str]) -> set[str]:
        """The words that stand behind words of the definition which are macros (`#define fast_path
        __always_inline`)."""
        words = self._book.words
        known = words.annotations | words.inline | words.always_inline | words.notrace | words.noinstr | _STORAGE
        return {
            spelled
            for word in sorted(own - known)
            for macro in self._symbols.macros(word, definition.path, arch_of(definition.path))
            for spelled in re.findall(r"\w+", macro.text.partition(word.encode())[2].decode("utf-8", "replace"))
        }

    def _untraced_reason(self, path: str) -> str | None:
        if not path.endswith(".c"):
            return None
        if path not in self._untraced:
            found = is_untraced(self._tree, path)
            self._untraced[path] = found.reason if found is not None and not found.condition else None
        return self._untraced[path]

    def _from_prototypes(
        self, name: str, prototypes: tuple[Definition, ...], policies: tuple[Policy, ...], why: str
    ) -> Callee:
        """Only declared: a notrace (or noinstr) on the prototype still tells; anything else is not known."""
        words = self._book.words
        said = {word for prototype in prototypes for word in prototype.words}
        for form, names in ((CalleeForm.NOINSTR, words.noinstr), (CalleeForm.NOTRACE, words.notrace)):
            if said & names:
                return Callee(
                    name=name,
                    form=form,
                    definition=None,
                    violates=_violated(form, policies),
                    reason="so declared; its definition was not found",
                )
        return Callee(name=name, form=None, definition=None, violates=(), reason=why or "no definition was found")


def _is_pointer(name: str, function_text: bytes) -> bool:
    """The function declares `(*name)(…)`, a pointer to a function."""
    return name.encode() in _pointers_in(function_text)


def _is_local(name: str, function_text: bytes) -> bool:
    """Something in the function's head or body declares the name, of a type that is a pointer to a function."""
    return name.encode() in _declared_in(function_text)


# Once for a function, which may call ten thousand others.
@lru_cache(maxsize=32)
def _pointers_in(function_text: bytes) -> frozenset[bytes]:
    return frozenset(_POINTER.findall(function_text))


@lru_cache(maxsize=32)
def _declared_in(function_text: bytes) -> frozenset[bytes]:
    found = set()
    for match in _DECLARED.finditer(function_text):
        before = _TYPE_BEFORE.search(function_text, max(0, match.start() - _WIDEST_GAP), match.start())
        if before is not None and before[1] not in (b"return", b"goto", b"else"):
            found.add(match[1])
    return frozenset(found)


def _is_safe_name(call: Call, policy: Policy) -> bool:
    return any(_allows(call, safe) for safe in policy.safe if safe.name == call.name)


def _allows(call: Call, safe: SafeName) -> bool:
    index = safe.constant_size_arg
    if index is None:
        return True
    return index < len(call.arguments) and _CONSTANT_SIZE.fullmatch(call.arguments[index].text) is not None


def _violated(form: CalleeForm, policies: tuple[Policy, ...]) -> tuple[str, ...]:
    return tuple(sorted(policy.name for policy in policies if form not in policy.safe_forms))


def _distinct(found: list[Callee]) -> tuple[Callee, ...]:
    seen: dict[tuple[str, int], Callee] = {}
    for callee in found:
        assert callee.definition is not None
        seen.setdefault((callee.definition.path, callee.definition.start), callee)
    return tuple(seen.values())
