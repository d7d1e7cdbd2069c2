"""`./coterie read`: what words are read as, by the grammar and by a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coterie_bringup.errors import CommandError
from coterie_cli.exit_codes import Exit
from coterie_cli.read import read
from coterie_fixtures.endpoint import Endpoint

pytestmark = pytest.mark.quick


def test_what_is_read_is_said_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert read(["rover, bring all mugs to the kitchen"], robot=["rover"]) == 0
    assert capsys.readouterr().out == (
        "I read: rover: bring, all mugs, to the kitchen\nread by: grammar\n"
    )


def test_what_is_not_understood_is_asked_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert read(["bring it to the kitchen"], as_json=True) == Exit.NOT_CLEAR
    data = json.loads(capsys.readouterr().out)
    assert data["request"] is None and "'it'" in data["problem"]


def test_names_of_a_map_are_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    box = {"center": [0, 0, 0.4], "size": [0.5, 0.5, 0.8]}
    things = {"c1": {"bbox": box, "n_observations": 4, "results": {"theremin": 3.0}}}
    file = tmp_path / "map.json"
    file.write_text(json.dumps({"instances": things}))
    assert read(["where is the theremin?"], door="ask") == Exit.NOT_CLEAR
    assert read(["where is the theremin?"], door="ask", file=file) == 0
    assert "I read: where, the theremin" in capsys.readouterr().out
    with pytest.raises(CommandError, match=r"no\.json"):
        read(["where is the theremin?"], file=tmp_path / "no.json")


def test_a_model_reads_other_languages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = {"reason": "two cups", "kind": "clear", "say": ["Bring two cups to the kitchen."]}
    with Endpoint(lambda body: plain, model="m", usage=None) as endpoint:
        profile = tmp_path / "m.yaml"
        profile.write_text(f"{{kind: openai, model: m, base_url: '{endpoint.url}'}}")
        assert read(["把两个杯子拿到厨房"], model=str(profile), as_json=True) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["read_by"] == "m" and data["request"]["words"] == "把两个杯子拿到厨房"
    assert data["request"]["steps"][0]["things"][0]["amount"] == 2
