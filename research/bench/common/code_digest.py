"""Digest of the code that makes results: kept ones of other code are not taken for new."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib import import_module
from pathlib import Path

_MATTERS = (".py", ".yaml", ".json", ".tsv")


@lru_cache
def code_digest(*names: str, leave_out: frozenset[str] = frozenset()) -> str:
    """Return a digest of all code and data in packages.

    Args:
        names: Of packages or folders of them, with everything below.
        leave_out: Names of files that do not change results, such as those that draw plots.
    """
    digest = hashlib.sha256()
    for name in names:
        folder = Path(next(iter(import_module(name).__path__)))
        for file in sorted(folder.rglob("*")):
            if file.suffix in _MATTERS and file.name not in leave_out:
                path = f"{name}/{file.relative_to(folder)}"
                digest.update(path.encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
