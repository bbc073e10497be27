"""Text from a mail or a tree, made safe to show: no control, bidi or invisible character gets out raw."""

from __future__ import annotations

_KEPT_SPACES = frozenset("\u00a0\u2003\u2009\u202f\u3000")  # spaces with no effect but their width


def visible(text: str, keep: str = "\t") -> str:
    """The text with every character that is not plainly printable written out as `<U+202E>`, an undecodable byte as
    `<0xFF>`. Characters in `keep` stay (tab by default; a line end does not, so the result is one line)."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep or char in _KEPT_SPACES else _name(char) for char in text)


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
