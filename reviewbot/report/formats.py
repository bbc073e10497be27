"""The formats by name; apart from the package, so that whoever needs a phrase does not load all of them."""

from __future__ import annotations

from types import ModuleType

from reviewbot.report import b4, github, html, json, mail, patchwork, rdjson, sarif, terminal, text

FORMATS: dict[str, ModuleType] = {
    "terminal": terminal,
    "text": text,
    "json": json,
    "sarif": sarif,
    "rdjson": rdjson,
    "github": github,
    "b4": b4,
    "html": html,
    "mail": mail,
    "patchwork": patchwork,
}
