"""Plain data that a text makes, kept beside Python's bytecode from one process to the next."""

from __future__ import annotations

import contextlib
import importlib.util
import marshal
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def kept(name: str, text: str, make: Callable[[], Any]) -> Any:
    """Return the plain data that a text makes, as an earlier process kept them.

    Where Python writes no bytecode, they are made each time. Who can change what is kept can change
    the bytecode, too.

    Args:
        name: Name of the data.
        text: All that they depend on.
        make: Function that makes the data, of types that `marshal` writes.
    """
    state = importlib.util.source_hash(text.encode())
    file = Path(importlib.util.cache_from_source(__file__)).with_suffix(f".{name}")
    with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
        made_of, data = marshal.loads(file.read_bytes())
        if made_of == state:
            return data
    data = make()
    if not sys.dont_write_bytecode:
        with contextlib.suppress(OSError):
            part = file.with_name(f"{file.name}.{os.getpid()}")
            part.write_bytes(marshal.dumps((state, data)))
            part.replace(file)
    return data
