"""What a finding is recognised by, in another revision and in another run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from reviewbot.findings.finding import Observation

Identity = tuple[str, str, str, tuple[str, ...]]


def identity(observation: Observation, path: str | None = None) -> Identity:
    """(rule, path, function, key words), without line numbers, which move, and names of locals, which are changed.
    `path` stands in for the observation's own."""
    place = observation.place
    own = {place.path: "path", place.function: "function"}
    words = tuple(own.get(word, word) for word in observation.key)
    return observation.rule, path or place.path, place.function, words


def as_written(observation: Observation, path: str | None = None) -> tuple[Identity, tuple[str, ...]]:
    """The identity together with the very words of the source, which a change of the names in it changes, too."""
    return identity(observation, path), observation.written


def fingerprint(observation: Observation, ordinal: int) -> str:
    """16 hex digits; `ordinal` (from 0) tells apart what has the same identity, in the order of lines."""
    rule, path, function, words = identity(observation)
    text = "\0".join((rule, path, function, *words, str(ordinal)))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def fingerprints(observations: Sequence[Observation]) -> tuple[str, ...]:
    """The fingerprints of observations that are reported together, in their order. Give what matters more first: where
    several have one identity, the first keep the low ordinals."""
    counted: dict[Identity, int] = {}
    found = []
    for observation in observations:
        who = identity(observation)
        found.append(fingerprint(observation, counted.get(who, 0)))
        counted[who] = counted.get(who, 0) + 1
    return tuple(found)
