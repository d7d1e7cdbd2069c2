"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: str | Path, content: str | bytes, *, durable: bool = False) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part.

    Args:
        path: The file.
        content: What it is to hold.
        durable: Whether it has to outlast a loss of power from now on.

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
        # mkstemp makes private files; these are meant for whoever may read the folder.
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
