"""Posted figures beside the model: for each change the CPU it is for, what the model predicts, and the verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from reviewbot.cost.budget import saved_by
from reviewbot.cost.changes import Change, find_changes
from reviewbot.cost.comparison import Comparison, Verdict, compare
from reviewbot.cost.environment import CpuChoice
from reviewbot.cost.evidence import Evidence
from reviewbot.findings.finding import Cost
from reviewbot.rulebook.book import Rulebook
from reviewbot.rulebook.cpu_models import CpuModel
from reviewbot.rulebook.primitives import Direction
from reviewbot.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Pairs of one operation before and after, and `how` they are known. Without pairs `how` says why there are
    none."""

    how: str
    before: Mapping[Direction, int] | None = None
    after: Mapping[Direction, int] | None = None

    @property
    def is_change(self) -> bool:
        return self.before is not None and self.before != self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """`cost` is what the model predicts to be saved per operation, with its arithmetic; None where it predicts nothing.
    `clock_ghz` is the clock used, `clock_source` where it is from."""

    change: Change
    comparison: Comparison
    cpu: str
    cost: Cost | None
    clock_ghz: float | None
    clock_source: str


def weigh(
    evidence: Sequence[Evidence],
    prediction: Prediction,
    book: Rulebook,
    choice: CpuChoice,
    *,
    clock_ghz: float | None = None,
    operations: float | None = None,
) -> tuple[Weighed, ...]:
    """Every change that the evidence states. `clock_ghz` and `operations` (of one measured time) are what the user
    knows beside the mails."""
    return tuple(_weigh(change, prediction, book, choice, clock_ghz, operations) for change in find_changes(evidence))


def _weigh(
    change: Change,
    prediction: Prediction,
    book: Rulebook,
    choice: CpuChoice,
    clock_ghz: float | None,
    operations: float | None,
) -> Weighed:
    model, why_not = _model_of(change, book, choice)
    stated = next((item.clock_ghz for item in change.sources if item.clock_ghz), None)
    clock, source = _clock(model, clock_ghz, stated)
    cost = None
    if prediction.before is None or prediction.after is None or not prediction.is_change:
        found = _nothing(prediction.how)
    elif model is None:
        found = _nothing(why_not)
    else:
        environment = replace(choice.environment, clock_ghz=clock)
        cost = saved_by(prediction.before, prediction.after, model, environment)
        found = compare(
            change.before,
            change.after,
            cost.cycles,
            clock_ghz=clock,
            operations=operations,
            noise_percent=model.noise_percent,
        )
    return Weighed(
        change=change,
        comparison=found,
        cpu=model.name if model is not None else "",
        cost=cost,
        clock_ghz=clock,
        clock_source=source,
    )


def _nothing(why: str) -> Comparison:
    return Comparison(verdict=Verdict.SAYS_NOTHING, reason=f"The model says nothing: {why}.")


def _clock(model: CpuModel | None, given: float | None, stated: float | None) -> tuple[float | None, str]:
    if given is not None:
        return given, "given"
    if stated is not None:
        return stated, "stated in the message"
    if model is not None and model.clock_ghz is not None:
        return model.clock_ghz, f"not stated; that of the model, {model.clock_source}"
    return None, "not known"


def _model_of(change: Change, book: Rulebook, choice: CpuChoice) -> tuple[CpuModel | None, str]:
    """The CPU that the user names, or the message; a word such as a column's name may tell its variants apart."""
    if choice.model is not None:
        return choice.model, ""
    names = list(dict.fromkeys(name for item in change.sources for name in item.cpus))
    if len(names) != 1:
        told = f"the message speaks of several CPUs ({', '.join(names)})" if names else "no CPU is stated"
        return None, f"{told}; name one with --cpu"
    family = [
        (model, label)
        for model in book.cpu_models.values()
        for label in (model.name, *model.aliases)
        if label == names[0] or label.startswith(f"{names[0]}-")
    ]
    words = {word.lower() for word in re.findall(r"\w+", change.what)}
    variants = [model for model, label in family if label.rpartition("-")[2].lower() in words]
    return (variants[0] if variants else book.cpu_models[names[0]]), ""
