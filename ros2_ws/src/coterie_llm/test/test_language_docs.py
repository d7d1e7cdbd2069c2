"""The examples of docs/language.md run as they stand."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from coterie_llm import ModelProfile

GUIDE = Path(__file__).parents[4] / "docs" / "language.md"


def blocks(language: str) -> list[str]:
    if not GUIDE.exists():
        pytest.skip(f"{GUIDE.name} is not here: the package was copied out of the repository")
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_python_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("language_guide")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    found = blocks("python")
    assert len(found) == 1
    monkeypatch.syspath_prepend(str(GUIDE.parents[1] / "examples"))
    for code in found:
        exec(compile(code, str(GUIDE), "exec"), vars(module))  # noqa: S102  (our own guide)


def test_the_profiles_are_valid() -> None:
    profiles = {}
    for text in blocks("yaml"):
        profiles |= yaml.safe_load(text)["models"]
    named = {"careful", "local", "mine", "monday", "offline", "reader", "smart", "tiny"}
    assert set(profiles) == named
    for profile in profiles.values():
        ModelProfile.model_validate(profile)


def test_the_table_of_fields_is_complete() -> None:
    blocks("python")
    text = GUIDE.read_text(encoding="utf-8")
    for name, field in ModelProfile.model_fields.items():
        (row,) = [
            r for r in text.splitlines() if r.startswith("| `") and f"`{name}`" in r.split("|")[1]
        ]
        if isinstance(field.default, (int, float)) and name.startswith(("timeout", "max")):
            assert f"| {field.default:g} |" in row
