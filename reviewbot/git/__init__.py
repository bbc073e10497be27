"""The only door to git: a Repository gives objects, the index, diffs and history, and runs nothing it configures."""

from reviewbot.git.objects import Commit, TreeEntry
from reviewbot.git.repository import Repository

__all__ = ["Commit", "Repository", "TreeEntry"]
