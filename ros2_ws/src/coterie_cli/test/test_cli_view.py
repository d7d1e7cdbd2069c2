"""`./coterie view`: the configuration that it writes, and what it says without RViz."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from coterie_bringup.errors import CommandError
from coterie_cli.view import view

REPOSITORY = Path(__file__).parents[4]


def test_the_file_for_the_home_team_is_up_to_date(tmp_path: Path) -> None:
    """What config/rviz holds is what the command writes today."""
    out = tmp_path / "new" / "home.rviz"
    assert view(REPOSITORY / "config/teams/home.yaml", out=out) == 0
    assert out.read_text() == (REPOSITORY / "config/rviz/coterie.rviz").read_text()
    config = yaml.safe_load(out.read_text())
    assert config["Visualization Manager"]["Global Options"]["Fixed Frame"] == "map"
    groups = [d["Name"] for d in config["Visualization Manager"]["Displays"]]
    assert groups[2:] == ["Semantic map", "rover", "walker", "drone"]


def test_without_rviz_it_says_what_to_do(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, match="--out"):
        view(REPOSITORY / "config/teams/home.yaml", out=None)
