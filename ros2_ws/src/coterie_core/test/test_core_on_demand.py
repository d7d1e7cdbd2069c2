"""Names of a package are imported when they are first used, and unknown ones are refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


def test_a_name_is_imported_when_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "late_package"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "from coterie_core.on_demand import on_demand\n"
        "if TYPE_CHECKING:\n"
        "    from late_package.numbers import SEVEN\n"
        "else:\n"
        "    __getattr__, __dir__ = on_demand(__name__)\n"
    )
    (package / "numbers.py").write_text("SEVEN = 7\nEIGHT = 8\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import late_package  # type: ignore[import-not-found]

    assert "SEVEN" in dir(late_package) and "late_package.numbers" not in sys.modules
    assert late_package.SEVEN == 7 and "late_package.numbers" in sys.modules
    assert "SEVEN" in vars(late_package)  # the second time it is there
    with pytest.raises(AttributeError, match=r"late_package.*EIGHT"):
        _ = late_package.EIGHT
