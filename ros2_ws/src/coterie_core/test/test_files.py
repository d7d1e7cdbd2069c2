"""Files that are written whole or not at all, and outlast a loss of power where they have to."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from coterie_core.files import write_atomically


def test_what_is_durable_has_its_name_on_the_disk_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the folder on the disk, the file of before may be there after a loss of power."""
    done: list[str] = []
    replace, fsync = os.replace, os.fsync

    def named(handle: int) -> None:
        folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        done.append("folder" if folder else "content")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", named)
    monkeypatch.setattr(os, "replace", lambda *names: done.append("name") or replace(*names))
    write_atomically(tmp_path / "latch", "stopped", durable=True)
    assert done == ["content", "name", "folder"]
    assert (tmp_path / "latch").read_text() == "stopped"


@pytest.mark.parametrize("mode", [0o644, 0o600])
def test_who_may_read_it_is_said(tmp_path: Path, mode: int) -> None:
    write_atomically(tmp_path / "key", b"x", mode=mode)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == mode
