"""The call graph of what runs inside the blocks of one function, as plain values that travel in a Review."""

from __future__ import annotations

from enum import Enum

from reviewbot.values import dataclass


class NodeKind(Enum):
    """What a node is to the block."""

    OPEN = "opens"
    CLOSE = "closes"
    ACCESS = "accesses user memory"
    SAFE = "allowed"
    UNSAFE = "not allowed"
    UNKNOWN = "not resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """A function, or a primitive, that runs in the block. `id` is unique in its graph. `note` says why it is what it is
    ("declared notrace"). `path` and `line` are where it is defined, "" and 0 for a primitive or what was not found.
    `column` counts the calls from the block to it, along the longest way."""

    id: str
    label: str
    kind: NodeKind
    note: str
    path: str
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEdge:
    """`source` runs `target`, or is closed by it. `lines` are the 1-based lines of the calls in the source's file;
    `via` are the macros that they are written in, outermost first."""

    source: str
    target: str
    lines: tuple[int, ...]
    via: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockGraph:
    """What runs inside the blocks of one function, which begins at `line` of `path`; all #if variants together."""

    path: str
    function: str
    line: int
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
