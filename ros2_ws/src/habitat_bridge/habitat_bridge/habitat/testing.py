"""Where tests find habitat-sim, or why they have to do without; what it left behind."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import pytest

VARIABLE = "COTERIE_HABITAT_PYTHON"


def find_habitat(repository: Path) -> tuple[str, str]:
    """Return the Python that runs habitat-sim and "", or "" and why there is none.

    It is what the environment variable COTERIE_HABITAT_PYTHON names, else the harness in
    `../shared/habitat` beside the repository, where that is set up.
    """
    named = os.environ.get(VARIABLE, "")
    if named:
        return named, ""
    harness = repository.parent / "shared" / "habitat"
    if not (harness / "python").exists():
        return "", f"habitat-sim: {VARIABLE} is not set and there is no ../shared/habitat"
    root = Path(os.environ.get("HABITAT_ROOT") or "/opt/habitat-sim")
    if not (root / ".complete").exists():
        return "", f"habitat-sim: not installed at {root}; run ../shared/habitat/setup"
    return str(harness / "python"), ""


def habitat_python(test_file: str) -> str:
    """Return the Python that runs habitat-sim, or skip the test and say why."""
    for folder in Path(test_file).resolve().parents:
        if (folder / "pyproject.toml").exists():
            python, trouble = find_habitat(folder)
            if trouble:
                pytest.skip(trouble)
            return python
    pytest.skip(f"habitat-sim: {test_file} lies in no repository")


def left_in_memory(before: Collection[str]) -> set[str]:
    """Return what is in /dev/shm and was not there before, without what other programs do there."""
    others = ("fastrtps", "sem.", "joblib_", "lttng")  # each cleans up by itself
    return {
        name
        for name in os.listdir("/dev/shm")
        if name not in before and not name.startswith(others)
    }
