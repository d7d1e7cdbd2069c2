"""Files that are written whole or not at all, and files that were never fetched."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

LFS_REMEDY = "fetch the file: git lfs pull"


def write_atomically(
    path: str | Path, content: str | bytes, *, durable: bool = False, mode: int = 0o644
) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part.

    Args:
        path: The file.
        content: Content of the new file.
        durable: Whether it has to outlast a loss of power from now on.
        mode: Permission bits; the file is private only where they say so.

    Raises:
        OSError: The folder does not exist or cannot be written.
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        # mkstemp makes private files; most are meant for whoever may read the folder.
        os.chmod(name, mode)
        os.replace(name, path)
        if durable:  # the name, too: it stands in the folder
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def is_lfs_pointer(path: Path) -> bool:
    """Whether a file holds only where git-lfs has the real one."""
    try:
        with path.open("rb") as file:
            return file.read(23) == b"version https://git-lfs"
    except OSError:
        return False
