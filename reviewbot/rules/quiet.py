"""Whether a call may stand inside a block, told from what the file itself and its headers show; a doubt means no."""

from __future__ import annotations

from reviewbot.csyntax.definition import Definition, DefinitionKind
from reviewbot.csyntax.lexing import blank_comments
from reviewbot.csyntax.macros import Macro, to_macro
from reviewbot.graph.code import FunctionCode
from reviewbot.patterns import regex

MAX_DEPTH = 2
MAX_BODY_BYTES = 4_000

_CALLED = regex(rb"\b([A-Za-z_]\w*)\s*\(")
_INDIRECT = regex(rb"(?:->|\.)\s*\w+\s*\(|\)\s*\(")
_JUMP = regex(rb"\b(?:return|goto|case|default)\b")
_INNER_JUMP = regex(rb"\b(?:break|continue)\b")
_INNER = regex(rb"\b(?:for|while|do|switch)\b")
_KEYWORDS = frozenset(
    b"if while for switch return sizeof typeof __typeof__ do else case asm __asm__ volatile __volatile__".split()
)


def is_harmless(code: FunctionCode, name: str) -> bool | None:
    """As far as the name alone tells; None when it tells nothing."""
    words = code.reader.book.words
    if not name or name in words.sleeping:
        return False
    if (
        name in words.safe_macros
        or name in words.builtins
        or name in words.unevaluated
        or name in words.condition_wrappers
    ):
        return True
    if name.startswith("__builtin_"):
        return True
    policies = code.reader.book.policies_for(code.path)
    return True if policies and all(name in policy.safe_names for policy in policies) else None


def is_quiet(code: FunctionCode, name: str, depth: int = MAX_DEPTH) -> bool:
    """Whether `name` is a macro or an inline function that calls nothing but harmless and quiet things. No search of
    the tree: what lives in another object is a call that a block must not hold."""
    known = is_harmless(code, name)
    if known is not None:
        return known
    if depth < 0 or code.reader.book.primitive(name, code.arch) is not None:
        return False
    declared = code.reader.symbols.declared(name, code.path, code.arch)
    found = declared.definitions
    if any("static" not in each.words for each in declared.prototypes):
        return False  # under another configuration it is a function of another object
    return bool(found) and all(_is_quiet_body(code, each, depth) for each in found)


def may_jump(code: FunctionCode, name: str, depth: int = MAX_DEPTH) -> bool:
    """Whether `name` is a macro that may leave the place where it stands, or begin a case: where the flow goes on from
    there is not known. A break is one of the macro's own loop, where it has one."""
    found = code.reader.symbols.declared(name, code.path, code.arch).definitions
    bodies = [_body_of(each) for each in found if each.kind is DefinitionKind.MACRO]
    for body in bodies:
        if _JUMP.search(body) or (_INNER_JUMP.search(body) and not _INNER.search(body)):
            return True
    called = {match.group(1) for body in bodies for match in _CALLED.finditer(body)} - _KEYWORDS - {name.encode()}
    return depth > 0 and any(may_jump(code, each.decode(), depth - 1) for each in sorted(called))


def is_made_quiet(code: FunctionCode, made: Definition, depth: int = MAX_DEPTH) -> bool:
    """Whether a function that a macro makes, given as the call of that macro, calls nothing but quiet things: told from
    the macro's body, where a parameter in front of `(` is the function's own name."""
    maker = _CALLED.match(made.text.lstrip())
    return maker is not None and _makes_quiet(code, maker.group(1).decode(), made.path, depth)


def _makes_quiet(code: FunctionCode, maker: str, path: str, depth: int) -> bool:
    macros = [to_macro(each) for each in code.reader.symbols.macros(maker, path, code.arch)]
    return bool(macros) and all(each is not None and _is_quiet_making(code, each, path, depth) for each in macros)


def _is_quiet_making(code: FunctionCode, macro: Macro, path: str, depth: int) -> bool:
    body = blank_comments(macro.body, literals=True)
    if depth < 0 or len(body) > MAX_BODY_BYTES or _INDIRECT.search(body):
        return False
    own = {name.encode() for name in macro.parameters or ()}
    called = {match.group(1).decode() for match in _CALLED.finditer(body) if match.group(1) not in _KEYWORDS | own}
    return all(is_quiet(code, each) or _makes_quiet(code, each, path, depth - 1) for each in sorted(called))


def _is_quiet_body(code: FunctionCode, definition: Definition, depth: int) -> bool:
    words = code.reader.book.words
    is_inline = not (words.inline | words.always_inline).isdisjoint(definition.words)
    if definition.kind is not DefinitionKind.MACRO and not (definition.kind is DefinitionKind.FUNCTION and is_inline):
        return False
    if len(definition.text) > MAX_BODY_BYTES:
        return False
    body = _body_of(definition)
    if _INDIRECT.search(body):
        return False
    called = {match.group(1) for match in _CALLED.finditer(body)} - _KEYWORDS - {definition.name.encode()}
    return all(is_quiet(code, each.decode(), depth - 1) for each in sorted(called))


def _body_of(definition: Definition) -> bytes:
    text = blank_comments(definition.text, literals=True)
    if definition.kind is DefinitionKind.MACRO:
        after = text.partition(definition.name.encode())[2]
        return after.partition(b")")[2] if after.startswith(b"(") else after
    return text.partition(b"{")[2]
