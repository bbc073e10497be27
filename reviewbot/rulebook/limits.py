"""How much of the reviewed source is read, and for how long: strangers write it."""

from __future__ import annotations

from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLimits:
    """[limits.code]. Bounds on the source that is reviewed; what is beyond one is said, and not reviewed. `file_s`:
    seconds for one file; `stage_s`: for one stage of the review of a patch, such as all its files together or the users
    of what it changes. `function_bytes`: the body of one function."""

    file_s: float = 60.0
    stage_s: float = 300.0
    function_bytes: int = 400_000

    def __post_init__(self) -> None:
        if min(self.file_s, self.stage_s) <= 0:
            raise ValueError("seconds must be above 0")
        if self.function_bytes < 1000:
            raise ValueError("function_bytes must be at least 1000")

    def __str__(self) -> str:
        return f"{self.file_s} {self.stage_s} {self.function_bytes}"


DEFAULT_CODE_LIMITS = CodeLimits()
