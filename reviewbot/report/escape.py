"""Text from a mail or a tree, made safe to show: no control, bidi or invisible character gets out raw, and no name,
path, subject or line of source is endless."""

from __future__ import annotations

import re

MAX_WORD = 400
"""Characters of a name, a path or anything else without a blank in it; what is longer is cut and ends in `…`."""
MAX_LINE = 2_000
"""The same of a whole line. Both lie far above what people write, so no report on a kernel is cut."""

_LONG_WORD = re.compile(rf"(\S{{{MAX_WORD - 1}}})\S{{2,}}")
_KEPT_SPACES = frozenset("\u00a0\u2003\u2009\u202f\u3000")  # spaces with no effect but their width


def visible(text: str, keep: str = "\t") -> str:
    """The text with every character that is not plainly printable written out as `<U+202E>`, an undecodable byte as
    `<0xFF>`. Characters in `keep` stay (tab by default; a line end does not, so the result is one line). What is longer
    than MAX_WORD or MAX_LINE ends in an ellipsis."""
    if len(text) <= MAX_WORD and text.isprintable():
        return text
    if "\n" in keep and "\n" in text:
        return "\n".join(_bounded(line, keep) for line in text.split("\n"))
    return _bounded(text, keep)


def shortened(text: str) -> str:
    """The text as it is, cut like `visible`: for a form that has escapes of its own."""
    words = _LONG_WORD.sub(r"\1…", text)
    return words if len(words) <= MAX_LINE else f"{words[: MAX_LINE - 1]}…"


def _bounded(line: str, keep: str) -> str:
    cut = shortened(line)
    if not cut.isprintable():
        cut = "".join(
            char if char.isprintable() or char in keep or char in _KEPT_SPACES else _name(char) for char in cut
        )
    return shortened(cut)  # what is written out is longer


def lines(text: str) -> list[str]:
    """The text as safe lines, split on line feeds only."""
    return [visible(line) for line in text.split("\n")]


def expand(text: str, tab_width: int = 8) -> str:
    """A safe line with tabs expanded, for output where the width counts."""
    return visible(text).expandtabs(tab_width)


def _name(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # surrogateescape: a byte that was not UTF-8
        return f"<0x{code - 0xDC00:02X}>"
    return f"<U+{code:04X}>"
