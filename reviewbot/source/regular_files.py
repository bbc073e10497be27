"""Files below one folder, read without following a link to a file or to a folder on the way."""

from __future__ import annotations

import errno
import os
import stat
import weakref
from collections import OrderedDict
from pathlib import Path

MAX_FILE_BYTES = 32 << 20
_FOLDERS_OPEN = 32  # those last used: most files that are read one after the other lie in few folders
_SHORT = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))  # says nothing of the file: it is there another time
_NOT_A_FOLDER = frozenset(("", ".", "..", ".git"))


class RegularFiles:
    """The regular files below `root`. A folder is opened once for the files in it, and stays the same folder for them
    if something is put in its place."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._open: OrderedDict[str, int] = OrderedDict()  # folder -> its descriptor, the last used at the end
        weakref.finalize(self, _close_all, self._open)

    def read(self, path: str, limit_bytes: int = MAX_FILE_BYTES) -> bytes | None:
        """The bytes of `path`; None if it is no regular file, too large, or reached through a link. Raises OSError
        where the process or the system has no descriptor or memory left."""
        folder, _, name = path.rpartition("/")
        if name in _NOT_A_FOLDER or (not folder and path != name):
            return None
        try:
            try:
                descriptor = self._file(folder, name)
            except OSError as error:
                if error.errno != errno.EMFILE or not self._open:
                    raise
                _close_all(self._open)
                descriptor = self._file(folder, name)
            try:
                return _read(descriptor, limit_bytes)
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno in _SHORT:
                raise
            return None

    def _file(self, folder: str, name: str) -> int:
        # O_NONBLOCK: a pipe in the place of a file must not stop us
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(name, flags, dir_fd=self._folder(folder))

    def _folder(self, path: str) -> int:
        """A descriptor of the folder. Raises OSError where there is none, or a link is on the way."""
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        if not path:
            opened = os.open(self._root, flags)
        else:
            parent, _, name = path.rpartition("/")
            if name in _NOT_A_FOLDER or (not parent and path != name):
                raise NotADirectoryError(path)
            opened = os.open(name, flags | os.O_NOFOLLOW, dir_fd=self._folder(parent))
        self._open[path] = opened
        while len(self._open) > _FOLDERS_OPEN:
            os.close(self._open.popitem(last=False)[1])
        return opened


def _read(descriptor: int, limit_bytes: int) -> bytes | None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size > limit_bytes:
        return None
    content = os.read(descriptor, status.st_size + 1)
    if len(content) == status.st_size:
        return content
    pieces = [content]  # it grows while it is read, or a file system gives it in pieces
    while pieces[-1] and sum(map(len, pieces)) < limit_bytes:
        pieces.append(os.read(descriptor, 1 << 20))
    return b"".join(pieces)[:limit_bytes]


def _close_all(opened: dict[str, int]) -> None:
    while opened:
        os.close(opened.popitem()[1])
