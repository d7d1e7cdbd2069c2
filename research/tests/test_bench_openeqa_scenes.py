"""OpenEQA's active split: start poses, scenes in habitat-sim, detectors, its own judge prompt."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from coterie_fixtures.endpoint import Endpoint
from coterie_fixtures.faults import server_error
from coterie_fixtures.habitat_python import habitat_python
from coterie_fixtures.tiny_house import tiny_house
from coterie_llm import ModelProfile, build_model
from habitat_bridge.house.export import save_habitat
from research.bench.openeqa.bench import main
from research.bench.openeqa.data import DataError
from research.bench.openeqa.judge_official import (
    OfficialPrompts,
    PromptError,
    mark_in,
    official_mark,
)
from research.bench.openeqa.scenes import find_scene, load_starts
from research.bench.openeqa.world import Home, Seeker

STARTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "open_eqa"
ENTRY = {
    "question": "Is there a table?",
    "answer": "Yes",
    "category": "object recognition",
    "question_id": "q1",
    "episode_history": "00826-BFRyYbPCCPE",
    "position": [1.0, 0.5, -2.0],
    "rotation": [1.0, 0.0, 0.0, 0.0],
}


def _write(folder: Path, *entries: dict[str, object]) -> Path:
    file = folder / "starts.json"
    file.write_text(json.dumps(entries))
    return file


def test_start_poses_come_into_the_map_frame(tmp_path):
    half = math.sqrt(0.5)
    turned = {**ENTRY, "rotation": [half, 0.0, half, 0.0]}  # a quarter to the left, about y
    first, second = load_starts(_write(tmp_path, ENTRY, turned))
    assert first.position == pytest.approx((1.0, 2.0, 0.5))
    assert first.yaw == pytest.approx(math.pi / 2)  # Habitat's -z is the map's y
    assert second.yaw % math.tau == pytest.approx(math.pi)


def test_the_published_start_poses_are_read():
    file = STARTS / "aeqa_start_poses-184.json"
    if not file.is_file():
        pytest.skip("../shared/data/open_eqa is not here")
    starts = load_starts(file)
    assert len(starts) == 184 and len({s.question.episode for s in starts}) > 30
    assert all(abs(s.position[2]) < 20.0 for s in starts)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"position": [0, 0]}, "entry 0: position: expected 3 numbers"),
        ({"rotation": [0, 0, 0, 0]}, "entry 0: rotation: .* length 0"),
        ({"rotation": "up"}, "entry 0: rotation: expected 4 numbers"),
        ({"position": [0, 1e99, 0]}, "position"),
        ({"category": "taste"}, "entry 0"),
    ],
)
def test_bad_start_poses_are_named(tmp_path, change, told):
    with pytest.raises(DataError, match=told):
        load_starts(_write(tmp_path, {**ENTRY, **change}))


def test_scenes_are_found_as_data_sets_lay_them_out_and_nowhere_else(tmp_path):
    inside = tmp_path / "val" / "00826-BFRyYbPCCPE"
    inside.mkdir(parents=True)
    (inside / "BFRyYbPCCPE.basis.glb").write_bytes(b"")
    assert find_scene(tmp_path, "hm3d-v0/00826-BFRyYbPCCPE") == inside / "BFRyYbPCCPE.basis.glb"
    assert find_scene(tmp_path, "00001-Unknown") is None
    for bad in ("..", "", "../../etc", "a*"):
        assert find_scene(tmp_path, bad) is None


def test_what_is_missing_is_told_and_nothing_gets_a_mark(tmp_path, capsys):
    out = tmp_path / "out"
    words = ["--data", str(_write(tmp_path, ENTRY)), "--scenes", str(tmp_path), "--jobs", "1"]
    assert main([*words, "--out", str(out)]) == 0
    records = json.loads((out / "records.json").read_text())
    assert {r["mark"] for r in records} == {None} and "no scene of" in records[0]["missing"]
    assert main(["--data", str(_write(tmp_path, ENTRY))]) == 2
    assert "give --scenes" in capsys.readouterr().err


@pytest.mark.habitat
def test_agents_explore_a_scene_of_habitat_from_the_start_pose(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_HABITAT_PYTHON", habitat_python(__file__))
    house = tiny_house()
    save_habitat(house, tmp_path / "data", "home")
    ground = [o for o in house.objects if o.kind == "furniture" and o.box.center[2] < 1.2]
    label = max(ground, key=lambda o: math.prod(o.box.size)).label.top
    place = next(iter(house.rooms))
    x, y = (sum(p[k] for p in place.polygon) / len(place.polygon) for k in (0, 1))
    entry = {
        **ENTRY,
        "question": f"Is there a {label}?",
        "episode_history": "home",
        "position": [x, 0.0, -y],
    }
    out = tmp_path / "out"
    words = ["--data", str(_write(tmp_path, entry)), "--scenes", str(tmp_path / "data")]
    options = ["--noise", "none", "--method", "ours", "--steps", "120", "--jobs", "1"]
    assert main([*words, *options, "--out", str(out)]) == 0
    (record,) = json.loads((out / "records.json").read_text())
    assert record["missing"] == "" and record["steps"] > 0
    assert record["prediction"].lower().startswith("yes") and not record["guessed"], record


def test_hidden_rooms_have_no_names():
    for told in (True, False):
        home = Home(3, width=96, rooms=4, rooms_told=told)
        try:
            seeker = Seeker(home, next(iter(home.stands)), 0.0)
            seeker.look_around()
            scene, seen = seeker.scene(), seeker.observe(around=True)
        finally:
            home.close()
        assert scene.objects and scene.rooms
        assert any(o.room for o in scene.objects.values()) is told
        assert all(bool(room.type) is told for room in scene.rooms.values())
        assert seen.room is not None and bool(seen.room.name) is told


def _prompts(folder: Path) -> Path:
    folder.mkdir()
    (folder / "mmbench.txt").write_text("Q {question} A {answer} R {prediction}\nYour mark: ")
    (folder / "mmbench-extra.txt").write_text(
        "Q {question} A {answer} more {extra_answers} R {prediction}\nYour mark: "
    )
    return folder


async def test_the_official_prompt_marks(tmp_path):
    prompts = OfficialPrompts.load(_prompts(tmp_path / "prompts"))
    replies = iter(["5", "Your mark: 2\n", "no idea", "4 or 5", "Your mark: 3"])
    with Endpoint(lambda request: next(replies)) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="m", max_retries=0)
        model = build_model(profile)
        first = await official_mark(model, prompts, "Where?", "here", (), "{answer} there")
        assert first is not None and first.value == 5
        assert "Q Where? A here R {answer} there" in endpoint.received[0].text
        second = await official_mark(model, prompts, "Where?", "here", ("near",), "there")
        assert second is not None and second.value == 2
        assert "more ['near']" in endpoint.received[1].text
        assert await official_mark(model, prompts, "Where?", "here", (), "there") is None
        assert (await official_mark(model, prompts, "Where?", "here", (), " ")).value == 1  # type: ignore[union-attr]
        endpoint.fail(server_error())
        assert await official_mark(model, prompts, "Where?", "here", (), "there") is None
        await model.aclose()


def test_marks_are_read_and_what_is_none_is_none(tmp_path):
    assert [mark_in(t) for t in ("3", "Your mark: 4", "mark: 9", "", "7", "1 2")] == [
        3, 4, None, None, None, None,
    ]  # fmt: skip
    with pytest.raises(PromptError, match=r"mmbench\.txt"):
        OfficialPrompts.load(tmp_path)
    _prompts(tmp_path / "p")
    (tmp_path / "p" / "mmbench.txt").write_text("nothing to fill in")
    with pytest.raises(PromptError, match="question"):
        OfficialPrompts.load(tmp_path / "p")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--judge", "official", "--profile", "PROFILE"], "--judge-prompts"),
        (["--detector", "no.such:thing"], "--detector: no.such:thing"),
        (["--scenes", "."], "give the questions too"),
    ],
)
def test_mistakes_of_options_are_named(tmp_path, capsys, words, told):
    profile = tmp_path / "m.yaml"
    profile.write_text("{kind: openai, base_url: 'http://localhost:1/v1', model: m}")
    assert main([w.replace("PROFILE", str(profile)) for w in words]) == 2
    assert told in " ".join(capsys.readouterr().err.split())
