"""The only door to git: a Repository gives objects, the index, diffs and history, and runs nothing it configures."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reviewbot.git.objects import Commit, TreeEntry
    from reviewbot.git.repository import Repository

__all__ = ["Commit", "Repository", "TreeEntry"]


def __getattr__(name: str) -> object:
    """Imported when first used: the commit hook asks git one question and is done before all this would be loaded."""
    if name == "Repository":
        from reviewbot.git.repository import Repository

        return Repository
    if name in __all__:
        from reviewbot.git import objects

        return getattr(objects, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
