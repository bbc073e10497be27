"""The Subject of a patch mail, as people and tools really write it."""

from __future__ import annotations

import re
from functools import lru_cache

from reviewbot.mail.headers import is_reply_subject
from reviewbot.patterns import regex
from reviewbot.values import dataclass

_REPLY = regex(r"\s*[^\s:\[\]]{1,12}(?:\s*\[\d{1,5}\])?\s*[:：]\s*")
_BRACKETS = regex(r"\s*\[((?:[^\[\]]|\[[^\[\]]{0,80}\]){0,300})\]\s*")
_COUNT = regex(r"(\d{1,4})\s*/\s*(\d{1,4})|(\d{1,4})\s+of\s+(\d{1,4})", re.IGNORECASE)
_GLUED = regex(r"(?P<word>PATCH|RFC|RESEND)(?P<rest>[-_.]?[vV]?\d.*|[-_.]?[vV]\d.*)", re.IGNORECASE)
_VERSION = regex(r"[vV](?:ersion)?[-.]?(\d{1,3})(?:\.\d{1,3})?[a-z]?")
_WORDS = frozenset({"patch", "rfc", "rft", "resend", "repost", "pull", "git", "draft", "wip", "request", "test"})
_LONGEST = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A subject in its pieces.

    `prefixes` are the words within the leading brackets, without version and count. `index`/`total` are N and M of
    N/M; both 1 for a patch alone, index 0 for a cover letter. `is_numbered` tells `[PATCH 1/1]` from `[PATCH]`.
    `is_patch`: a prefix says so, or a version or a count stands there. `trees` are the prefixes that name a tree:
    `bpf-next` of `[PATCH bpf-next]`, and also of `[PATCH bpf-next/net]`, where the second is a topic.
    """

    prefixes: tuple[str, ...]
    version: int
    index: int
    total: int
    is_numbered: bool
    is_patch: bool
    is_reply: bool
    is_rfc: bool
    is_pull: bool
    is_resend: bool
    title: str
    trees: tuple[str, ...]


@lru_cache(maxsize=65536)
def parse_subject(text: str) -> Subject:
    """Split `text` (unfolded, decoded); never raises. Prefixes may be apart by blanks or commas, glued, or miss
    altogether."""
    is_reply = is_reply_subject(text)
    inside, title = _cut_brackets(text[:_LONGEST], is_reply=is_reply)
    words, count = _split_words(inside)
    versions = [int(match[1]) for word in words if (match := _VERSION.fullmatch(word))]
    prefixes = tuple(word for word in words if not _VERSION.fullmatch(word))
    lower = {word.lower() for word in prefixes}
    index, total = count if count else (1, 1)
    return Subject(
        prefixes=prefixes,
        version=versions[-1] if versions and versions[-1] > 0 else 1,
        index=index,
        total=max(total, index, 1),
        is_numbered=count is not None,
        is_patch=bool(lower & {"patch", "rfc", "rft", "resend"}) or bool(versions) or count is not None,
        is_reply=is_reply,
        is_rfc="rfc" in lower,
        is_pull="pull" in lower or title.lower().startswith(("pull request", "git pull")),
        is_resend=bool(lower & {"resend", "repost"}),
        title=title,
        trees=_trees(prefixes),
    )


def _cut_brackets(text: str, *, is_reply: bool) -> tuple[list[str], str]:
    """The contents of the leading brackets, and the title; `Re:` may stand before, between and behind them."""
    inside: list[str] = []
    while True:
        match = _BRACKETS.match(text)
        if match:
            inside.append(match[1])
        elif is_reply and is_reply_subject(text):
            match = _REPLY.match(text)
        if match is None or match.end() == 0:
            return inside, text.strip()
        text = text[match.end() :]


def _split_words(inside: list[str]) -> tuple[list[str], tuple[int, int] | None]:
    words: list[str] = []
    count: tuple[int, int] | None = None
    for content in inside:
        found = _find_count(content)
        if found:
            count = (int(found[1] or found[3]), int(found[2] or found[4]))
            content = content[: found.start()] + " " + content[found.end() :]
        for word in re.split(r"[\s,;\[\]]+", content):
            words += _unglue(word.strip(":()-_"))
    return [word for word in words if word], count


def _find_count(content: str) -> re.Match[str] | None:
    """The last N/M that is no part of a name: `5.10/stable` and `x86/64` are trees, `PATCH1/8` and `v2-1/8` are
    counts."""
    for found in reversed(list(_COUNT.finditer(content))):
        before, after = content[: found.start()], content[found.end() :]
        is_glued_word = re.search(r"(?:patch|rfc|resend|[vV]\d{1,3}[-_.:])\Z", before, re.IGNORECASE)
        is_free = not before or before[-1] in " ,;:#(\t" or is_glued_word
        if is_free and (not after or after[0] in " ,;:)\t" or re.match(r"[vV]\d", after)):
            return found
    return None


def _unglue(word: str) -> list[str]:
    """`PATCHv3` -> PATCH, v3; `PATCH-V2` the same; `RFC/PATCH` and `PATCH/RFC` -> both words; anything else as it
    is."""
    glued = _GLUED.fullmatch(word)
    if glued and re.match(r"[-_.]?[vV]\d", glued["rest"]):
        return [glued["word"], glued["rest"].lstrip("-_.")]
    if glued and glued["rest"].isdigit():
        return [glued["word"]]
    parts = re.split(r"[/|+-]", word)
    if len(parts) > 1 and all(part.lower() in _WORDS or _VERSION.fullmatch(part) for part in parts):
        return parts
    return [word]


def _trees(prefixes: tuple[str, ...]) -> tuple[str, ...]:
    names = [word.partition("/")[0] for word in prefixes if word.lower() not in _WORDS]
    return tuple(dict.fromkeys(name for name in names if re.fullmatch(r"[A-Za-z0-9][\w.+-]*", name)))
