"""Houses in files: read back as they were, y up where it must be, pictures that are not blank."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from coterie_core.frames import yup_to_zup
from coterie_fixtures.house_inspector import validate_house
from coterie_fixtures.house_mesh import build_mesh
from coterie_world.scene import SceneError, load
from habitat_bridge.house.export import (
    house_from_json,
    house_to_json,
    save_glb,
    save_habitat,
    save_house,
)
from habitat_bridge.house.floorplan import draw_floor, floor_plan, save_floor_plan
from habitat_bridge.house.generator import generate_house

HOUSE = generate_house(4, floors=2, rooms=8)


def test_json_there_and_back():
    again = house_from_json(house_to_json(HOUSE))
    assert again == HOUSE
    assert validate_house(again) == []
    assert isinstance(again.objects[0].box.center, tuple)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[]", "got 'list'"),
        ('{"format": "other/1"}', "coterie-house/1"),
        ('{"format": "coterie-house/1", "house": {"seed": 1}}', "floors"),
    ],
)
def test_other_json_is_refused(text, words):
    with pytest.raises(SceneError, match=r"mine\.json") as error:
        house_from_json(text, "mine.json")
    assert words in str(error.value)


def test_glb_is_the_house_with_y_up(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    save_glb(HOUSE, tmp_path / "house.glb")
    scene = trimesh.load(tmp_path / "house.glb")
    names = set(scene.graph.nodes_geometry)
    assert {t.id for t in HOUSE.objects} <= names
    assert {"structure/wall", "structure/floor", "structure/ceiling"} <= names
    mesh = build_mesh(HOUSE)
    corners = yup_to_zup(scene.bounds)
    low, high = corners.min(axis=0), corners.max(axis=0)
    assert np.allclose(low, mesh.vertices.min(axis=0), atol=1e-4)
    assert np.allclose(high, mesh.vertices.max(axis=0), atol=1e-4)
    thing = HOUSE.objects[0]
    box = yup_to_zup(scene.geometry[thing.id].bounds)
    (x0, y0, z0), (x1, y1, z1) = thing.box.axis_aligned()
    assert np.all(box.min(axis=0) > np.array([x0, y0, z0]) - 1e-4)
    assert np.all(box.max(axis=0) < np.array([x1, y1, z1]) + 1e-4)


def test_habitat_data_set_is_complete(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    config = json.loads(save_habitat(HOUSE, tmp_path, "home").read_text())
    stage = json.loads((tmp_path / config["stages"]["paths"][".json"][0]).read_text())
    assert stage["up"] == [0.0, 1.0, 0.0] and stage["front"] == [0.0, 0.0, -1.0]
    assert (tmp_path / "stages" / stage["render_asset"]).exists()
    scene = json.loads((tmp_path / config["scene_instances"]["paths"][".json"][0]).read_text())
    assert scene["stage_instance"]["template_name"] == "home-stage"
    lexicon = json.loads((tmp_path / "semantics" / "home.semantic_lexicon.json").read_text())
    names = {c["id"]: c["name"] for c in lexicon["classes"]}
    assert len(names) == len(lexicon["classes"]) and 0 not in names
    templates = [entry["template_name"] for entry in scene["object_instances"]]
    assert len(templates) == len(HOUSE.objects)
    for name in templates:
        # Habitat looks templates up by a piece of their name: none may be a piece of another.
        assert sum(name in other for other in templates) == 1
    for thing, entry in zip(HOUSE.objects, scene["object_instances"], strict=True):
        folder = tmp_path / "objects"
        template = json.loads((folder / f"{entry['template_name']}.object_config.json").read_text())
        assert names[template["semantic_id"]] == thing.label.top
        assert np.allclose(yup_to_zup(entry["translation"]), thing.box.center, atol=1e-5)
        assert np.linalg.norm(entry["rotation"]) == pytest.approx(1.0, abs=1e-4)
    thing, entry = HOUSE.objects[0], scene["object_instances"][0]
    mesh = trimesh.load(tmp_path / "objects" / f"{entry['template_name']}.glb", force="mesh")
    matrix = trimesh.transformations.quaternion_matrix(entry["rotation"])
    matrix[:3, 3] = entry["translation"]
    mesh.apply_transform(matrix)
    corners = yup_to_zup(mesh.vertices)
    assert all(thing.box.contains(tuple(c), 1e-3) for c in corners)


def test_floor_plans_are_drawn(tmp_path):
    for ending in ("png", "svg"):
        save_floor_plan(HOUSE, tmp_path / f"plan.{ending}")
        assert (tmp_path / f"plan.{ending}").stat().st_size > 10_000
    figure = floor_plan(HOUSE)
    assert len(figure.axes) == 2
    texts = {t.get_text().replace("\n", " ") for axes in figure.axes for t in axes.texts}
    assert {room.name for room in HOUSE.rooms} <= texts
    assert {"up", "down"} <= texts


def test_a_plan_is_drawn_onto_given_axes_in_map_coordinates():
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    draw_floor(axes, HOUSE, HOUSE.floors[0], labels=False)
    xs = [p[0] for room in HOUSE.rooms for p in room.polygon]
    assert axes.get_xlim()[0] < min(xs) and axes.get_xlim()[1] > max(xs)
    with pytest.raises(ValueError, match="Format"):
        save_floor_plan(HOUSE, "plan.unknown")


def test_everything_is_saved_together(tmp_path):
    files = save_house(HOUSE, tmp_path / "new" / "folder")
    assert all(path.exists() for path in files)
    truth = load(next(path for path in files if path.name.endswith(".truth.json")))
    assert set(truth.objects) == {t.id for t in HOUSE.objects}


def test_the_command_line_says_what_is_wrong(tmp_path):
    command = [sys.executable, "-m", "coterie_cli.cli", "house", "--out", str(tmp_path)]
    done = subprocess.run([*command, "--rooms", "40"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "less than or equal to 25" in done.stderr
    done = subprocess.run(
        [*command, "--seed", "3", "--rooms", "5", "--floors", "1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "5 rooms" in done.stdout
    assert (tmp_path / "house_3.glb").exists()
