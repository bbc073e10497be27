"""Bytes of a header or a body -> text, for any charset label, also a wrong or unknown one."""

from __future__ import annotations

# Codecs that Python knows but that are no mail charsets: they transform, fail always, or take quadratic time.
_NOT_FOR_MAIL = frozenset({"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"})
_UTF8_LABELS = frozenset({"", "utf-8", "utf8", "us-ascii", "ascii"})
# A text labelled with one of these that is valid UTF-8 is UTF-8: the label is a mailer's default, and git keeps the
# bytes.
_WESTERN_LABELS = frozenset({"iso-8859-1", "iso-8859-15", "latin1", "latin-1", "windows-1252", "cp1252"})


def decode_text(data: bytes, charset: str) -> str:
    """`data` as text that `to_bytes` can turn back into bytes; never raises.

    No label, UTF-8 and ASCII: UTF-8 with bad bytes kept as surrogate escapes. An unknown label (`charset=y` is real):
    UTF-8 if that fits, else Latin-1.
    """
    label = charset.strip().strip("'\"").lower()
    if label in _UTF8_LABELS:
        return data.decode("utf-8", "surrogateescape")
    if label in _WESTERN_LABELS:
        return _decode_western(data, label)
    if label.replace("-", "_") in _NOT_FOR_MAIL:
        return _decode_western(data, "latin-1")
    try:
        text = data.decode(label, "surrogateescape")
        text.encode(
            "utf-8", "surrogateescape"
        )  # utf-7 and utf-16 can yield lone surrogates, which no UTF-8 text may hold
    except (LookupError, ValueError):
        return _decode_western(data, "latin-1")
    return text


def to_bytes(text: str) -> bytes:
    """The UTF-8 bytes of a decoded text; surrogate escapes become the bytes that they were."""
    return text.encode("utf-8", "surrogateescape")


def _decode_western(data: bytes, label: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode(label, "surrogateescape")
