"""Is a mail from a machine? Such a mail is never taken for a patch and never answered (RFC 3834)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_ROBOT_HEADERS = ("robot-id", "robot-unsubscribe", "x-robot", "x-bot", "x-autoreply", "x-autorespond", "x-autoresponse")


def is_automatic_mail(fields: Mapping[str, Sequence[str]]) -> bool:
    """True where the headers say so; `fields` maps lower-case header names to values.

    Auto-Submitted other than "no", an empty return path, Precedence bulk or junk together with a header that names a
    robot (lists set Precedence too, so alone it says nothing), or a hint to patchwork to ignore the mail.
    """
    if any(value.split(";")[0].strip().lower() not in ("no", "") for value in fields.get("auto-submitted", ())):
        return True
    if any(value.strip() == "<>" for value in fields.get("return-path", ())[:1]):
        return True
    if any(value.strip().lower() == "ignore" for value in fields.get("x-patchwork-hint", ())):
        return True
    precedence = {value.strip().lower() for value in fields.get("precedence", ())}
    return bool(precedence & {"bulk", "junk", "auto_reply"}) and any(name in fields for name in _ROBOT_HEADERS)
