"""Broken, hostile and odd data sets: a clear error that names file and field, or a note."""

import json
import random
import struct

import pytest
import trimesh

from habitat_bridge.habitat import data_files
from habitat_bridge.habitat.assets import bounds, gltf_header, urdf_bounds
from habitat_bridge.habitat.data_files import Refused, confined
from habitat_bridge.habitat.scenes import load_scene
from habitat_bridge.habitat.transforms import frame_to_world, upright_box
from habitat_bridge.simulator import WorldError


def write_json(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")


def glb(path, size=(1, 1, 1)):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(trimesh.Scene(trimesh.creation.box(extents=size)).export(file_type="glb"))


@pytest.fixture
def home(tmp_path):
    """A sound data set with one object; returns its folder."""
    root = tmp_path / "sets" / "home"
    write_json(
        root / "home.scene_dataset_config.json",
        {
            "stages": {"paths": {".json": ["stages"]}},
            "objects": {"paths": {".json": ["objects"]}},
            "articulated_objects": {"paths": {".urdf": ["urdf"]}},
            "scene_instances": {"paths": {".json": ["scenes"]}},
        },
    )
    glb(root / "stages/s.glb", (8, 3, 8))
    write_json(
        root / "stages/s.stage_config.json",
        {"render_asset": "s.glb", "up": [0, 1, 0], "front": [0, 0, -1]},
    )
    glb(root / "objects/mug.glb")
    write_json(root / "objects/mug.object_config.json", {"render_asset": "mug.glb"})
    scene(root)
    return root


def scene(root, *entries, **more):
    data = {"stage_instance": {"template_name": "s"}, "object_instances": list(entries), **more}
    write_json(root / "scenes/a.scene_instance.json", data)


def load(root):
    return load_scene(root / "home.scene_dataset_config.json", "a")


MUG = {"template_name": "mug", "translation": [1, 2, 3], "motion_type": "STATIC"}


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"template_name": "vase"}, "no template 'vase'"),
        ({"template_name": "../../../../etc/passwd"}, "no template"),
        ({"template_name": 5}, "template_name: expected a text, got 5"),
        ({}, "no template ''"),
        ({**MUG, "translation": [1, 2]}, "translation: expected 3 numbers, got [1, 2]"),
        ({**MUG, "translation": [1, 2, None]}, "translation: expected 3 numbers"),
        ({**MUG, "translation": [1e9, 0, 0]}, "absurdly far"),
        ({**MUG, "rotation": [0, 0, 0, 0]}, "rotation: expected a quaternion"),
        ({**MUG, "uniform_scale": 1e9}, "absurd"),
        ({**MUG, "non_uniform_scale": [1, 0, 1]}, "absurd"),
        ({**MUG, "uniform_scale": "big"}, "uniform_scale: expected a number, got 'big'"),
        ("mug", "expected an object, got str"),
    ],
)
def test_a_bad_entry_is_left_out_and_noted(home, entry, says):
    scene(home, MUG, entry)
    result = load(home)
    assert [t.template for t in result.objects] == ["mug"]
    (note,) = [n for n in result.notes if "object_instances[1]" in n]
    assert says in note and "left out" in note and "a.scene_instance.json" in note


def test_an_unknown_motion_type_stands_still(home):
    scene(home, {**MUG, "motion_type": "FLOATING"}, {**MUG, "motion_type": "kinematic"})
    result = load(home)
    assert [t.motion_type for t in result.objects] == ["STATIC", "KINEMATIC"]
    assert any("motion_type" in n and "'FLOATING'" in n for n in result.notes)


def test_assets_that_lead_out_are_missing_or_broken_leave_no_box(home):
    assets = {
        "out": "../../../../../etc/passwd",
        "absolute": "/etc/passwd",
        "gone": "gone.glb",
        "broken": "broken.glb",
        "huge": "huge.glb",
    }
    (home / "objects/broken.glb").write_bytes(b"glTF" + bytes(40))
    glb(home / "objects/huge.glb", (1e6, 1, 1))
    for name, asset in assets.items():
        write_json(home / f"objects/{name}.object_config.json", {"render_asset": asset})
    scene(home, *({**MUG, "template_name": name} for name in assets))
    result = load(home)
    assert len(result.objects) == 5 and all(t.box is None for t in result.objects)
    assert [t.asset is None for t in result.objects] == [True, True, True, False, False]
    text = "\n".join(result.notes)
    for words in ("leads out", "no file", "broken.glb", "absurd"):
        assert words in text
    # Things without a box stand where they are put, with y up turned to z up.
    assert result.graph.objects["gone"].box.center == (1.0, -3.0, 2.0)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("{", "expected a scene data set config in JSON"),
        ("[]", "a JSON object"),
        ('{"stages": 3}', "stages: expected an object, got int"),
        ('{"stages": {"paths": 3}}', "stages: paths: expected an object"),
        ('{"stages": {"paths": {".json": "x"}}}', "stages: paths..json: expected a list"),
        ('{"objects": {"paths": {".json": [1]}}}', "objects: paths..json: expected names"),
        ('{"objects": {"configs": [1]}}', "objects: configs: expected objects"),
        ('{"stages": {"default_attributes": []}}', "default_attributes"),
        ("\xff\xfe", "no scene 'a'|in JSON|UTF-8"),
        ("[" * 100_000, "in JSON"),
    ],
)
def test_a_broken_config_is_an_error(tmp_path, config, says):
    path = tmp_path / "x.scene_dataset_config.json"
    path.write_text(config, encoding="latin-1")
    with pytest.raises(WorldError, match=says.replace("..json", r"\.\.json")) as error:
        load_scene(path, "a")
    assert "x.scene_dataset_config.json" in str(error.value)


def test_unknown_scenes_and_missing_files_are_errors(home, tmp_path):
    with pytest.raises(WorldError, match="no scene 'castle'; it has a"):
        load_scene(home / "home.scene_dataset_config.json", "castle")
    with pytest.raises(WorldError, match="cannot be read"):
        load_scene(tmp_path / "gone.json", "a")
    with pytest.raises(WorldError, match="no such scene"):
        load_scene(None, str(tmp_path / "gone.glb"))
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(WorldError, match="expected a stage"):
        load_scene(None, str(tmp_path / "notes.txt"))


def test_patterns_that_lead_out_are_left_out(home):
    config = home / "home.scene_dataset_config.json"
    data = json.loads(config.read_text())
    data["objects"]["paths"][".json"] += ["../../..", "/etc", "nowhere/*"]
    write_json(config, data)
    result = load(home)
    text = "\n".join(result.notes)
    assert text.count("leads out") == 2 and "nothing matches 'nowhere/*'" in text


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        ({"render_asset": "../../../../x.glb"}, "render_asset: .*leads out"),
        ({"render_asset": "s.glb", "up": [0, 1, 0], "front": [0, 1, 0]}, "orthogonal"),
        ({"render_asset": "s.glb", "up": "y"}, "up: expected 3 numbers, got 'y'"),
        ({"render_asset": 3}, "render_asset: expected a text"),
    ],
)
def test_a_stage_that_cannot_be_placed_is_an_error(home, stage, says):
    write_json(home / "stages/s.stage_config.json", stage)
    with pytest.raises(WorldError, match=says) as error:
        load(home)
    assert "render_asset: expected" in says or "s.stage_config.json" in str(error.value)


def test_a_large_file_is_not_read(home, monkeypatch):
    monkeypatch.setattr(data_files, "JSON_LIMIT", 100)
    with pytest.raises(WorldError, match="too large"):
        load(home)


def test_broken_descriptors_are_errors(home):
    scene(home, semantic_scene_instance="words")
    config = home / "home.scene_dataset_config.json"
    data = json.loads(config.read_text())
    data["semantic_scene_descriptor_instances"] = {"words": "w.json"}
    write_json(config, data)
    assert any("the data set has no 'words'" in n for n in load(home).notes)
    for text, says in (
        ("{}", "expected region_annotations, classes or objects"),
        ('{"classes": [3]}', r"classes\[0\]: expected an object"),
        ('{"classes": [{"id": "x"}]}', r"classes\[0\].id: expected a number"),
        ('{"region_annotations": {}}', "region_annotations: expected a list"),
    ):
        (home / "w.json").write_text(text)
        with pytest.raises(WorldError, match=says) as error:
            load(home)
        assert "a" in str(error.value)
    write_json(home / "w.json", {"region_annotations": [3, {"poly_loop": [[0, 0]]}, {}]})
    notes = "\n".join(load(home).notes)
    assert "region_annotations[0]" in notes and "region_annotations[1].poly_loop" in notes


def test_paths_stay_within_the_root(tmp_path):
    assert confined(tmp_path, tmp_path / "a" / "b", "../c.glb") == tmp_path / "a" / "c.glb"
    for name in ("../../../x", "/etc/passwd", "", "a\0b", "..\\..\\..\\x"):
        with pytest.raises(Refused):
            confined(tmp_path, tmp_path / "a" / "b", name)


def broken_glb(path, header):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    data = struct.pack("<4sII", b"glTF", 2, 20 + len(text))
    path.write_bytes(data + struct.pack("<I4s", len(text), b"JSON") + text)


def test_gltf_headers_that_lie(tmp_path):
    path = tmp_path / "x.glb"
    nodes = {"scenes": [{"nodes": [0]}], "nodes": [{"children": [0]}]}
    for header, says in (
        ([], "no JSON object"),
        ({}, "no geometry"),
        (nodes, "contain one another"),
        ({**nodes, "nodes": [{"mesh": 4}]}, "broken glTF"),
        ({**nodes, "nodes": [{"mesh": 0}], "meshes": [{"primitives": [3]}]}, "broken glTF"),
    ):
        broken_glb(path, header)
        with pytest.raises(Refused, match=says):
            bounds(path)
    path.write_bytes(struct.pack("<4sIII4s", b"glTF", 2, 20, 2**31, b"JSON"))
    with pytest.raises(Refused, match="too large"):
        gltf_header(path)
    with pytest.raises(Refused, match="expected a mesh"):
        bounds(tmp_path / "x.exe")


def test_nodes_of_gltf_move_scale_and_turn_what_they_hold(tmp_path):
    scene = trimesh.Scene()
    half = trimesh.transformations.rotation_matrix(1.5707963267948966, [0, 1, 0], [0, 0, 0])
    half[:3, 3] = (5, 0, 0)
    scene.add_geometry(trimesh.creation.box(extents=(2, 1, 4)), transform=half)
    path = tmp_path / "x.glb"
    path.write_bytes(scene.export(file_type="glb"))
    low, high = bounds(path)
    assert low == pytest.approx((3, -0.5, -1)) and high == pytest.approx((7, 0.5, 1))
    data = tmp_path / "x.ply"
    data.write_bytes(trimesh.creation.box(extents=(2, 1, 4)).export(file_type="ply"))
    assert bounds(data)[1] == pytest.approx((1, 0.5, 2))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<robot", "no XML"),
        ("<sdf/>", "element robot"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><robot/>', "entities"),
        ("<robot><link name='a'/></robot>", "no link has a shape"),
        (
            "<robot><link name='a'><visual><geometry><box size='1 x 1'/></geometry></visual></link>"
            "</robot>",
            "box.size: expected 3 numbers",
        ),
        (
            "<robot><link name='a'/><link name='b'/>"
            "<joint><parent link='a'/><child link='b'/></joint>"
            "<joint><parent link='b'/><child link='a'/></joint></robot>",
            "hangs on itself",
        ),
    ],
)
def test_broken_urdfs(tmp_path, text, says):
    path = tmp_path / "x.urdf"
    path.write_text(text)
    with pytest.raises(Refused, match=says):
        urdf_bounds(path, tmp_path)


def test_frames_and_upright_boxes():
    assert (frame_to_world((0, 1, 0), (0, 0, -1)) == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]).all()
    turn = frame_to_world((0, 0, 1), (0, 1, 0))
    assert turn @ [0, 0, 1] == pytest.approx([0, 1, 0])  # up is up
    assert turn @ [0, 1, 0] == pytest.approx([0, 0, -1])  # front is front
    with pytest.raises(Refused):
        frame_to_world((0, 0, 0), (0, 1, 0))
    # A box that lies on its side: its extent, not a false heading.
    box = upright_box((1, 2, 3), [(0, 1, 0), (0.5, 0, 0), (0, 0, 0.25)])
    assert box.center == (1, -3, 2) and box.size == pytest.approx((1.0, 0.5, 2.0))


VALUES = [None, 3, -1, 1e300, "x", "", [], {}, [1, 2], True, "../../../etc", {"a": 1}, [None]]


def spoilt(data, rng):
    """JSON with one value anywhere in it replaced."""
    spots = []

    def walk(part):
        keys = part if isinstance(part, dict) else range(len(part))
        for key in keys if isinstance(part, (dict, list)) else ():
            spots.append((part, key))
            if isinstance(part[key], (dict, list)):
                walk(part[key])

    walk(data)
    part, key = rng.choice(spots)
    part[key] = rng.choice(VALUES)
    return data


def test_whatever_is_spoilt_the_scene_loads_or_the_error_is_a_world_error(home):
    scene(home, MUG, {**MUG, "uniform_scale": 2.0}, semantic_scene_instance="words")
    config = home / "home.scene_dataset_config.json"
    data = json.loads(config.read_text())
    data["semantic_scene_descriptor_instances"] = {"words": "w.semantic_config.json"}
    write_json(config, data)
    loop = [[0, 0, 0], [0, 0, -4], [4, 0, -4], [4, 0, 0]]
    write_json(
        home / "w.semantic_config.json",
        {
            "classes": [{"id": 1, "name": "cup"}],
            "region_annotations": [
                {"name": "k", "label": "kitchen", "poly_loop": loop, "floor_height": 0.0}
            ],
        },
    )
    assert len(load(home).graph.rooms) == 1
    rng = random.Random(4)
    files = sorted(p for p in home.rglob("*") if p.suffix in (".json", ".glb"))
    outcomes = {"loaded": 0, "refused": 0}
    for _ in range(400):
        file = rng.choice(files)
        sound = file.read_bytes()
        if file.suffix == ".json":
            file.write_text(json.dumps(spoilt(json.loads(sound), rng)))
        else:
            broken = bytearray(sound)
            broken[rng.randrange(min(len(broken), 1500))] = rng.randrange(256)
            file.write_bytes(broken)
        try:
            load(home)
            outcomes["loaded"] += 1
        except WorldError:
            outcomes["refused"] += 1
        file.write_bytes(sound)
    assert min(outcomes.values()) > 20
