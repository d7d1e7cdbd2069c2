"""Synthetic data sets: houses of this project, HSSD's layout, ReplicaCAD's layout."""

import json
import math

import numpy as np
import pytest
import trimesh

from coterie_core.frames import yup_to_zup
from habitat_bridge.habitat.scenes import load_scene
from habitat_bridge.house.export import save_habitat
from habitat_bridge.house.generator import generate_house


def write_json(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")


def write_box(path, size, center=(0.0, 0.0, 0.0)):
    """A GLB of one box, y up."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mesh = trimesh.creation.box(extents=size)
    mesh.apply_translation(center)
    path.write_bytes(trimesh.Scene(mesh).export(file_type="glb"))


@pytest.fixture(scope="module")
def house():
    return generate_house(3, floors=2, rooms=8)


@pytest.fixture(scope="module")
def exported(house, tmp_path_factory):
    return save_habitat(house, tmp_path_factory.mktemp("house"), "home")


def test_an_exported_house_comes_back_as_its_truth(house, exported):
    scene = load_scene(exported, "home")
    truth = house.truth()
    assert scene.graph.rooms == truth.rooms
    assert scene.graph.connections == truth.connections
    assert scene.graph.objects == truth.objects
    assert scene.regions == "annotated" and not scene.notes
    assert scene.stage is not None and scene.stage.name == "home-stage.glb"
    assert scene.stage_up == (0.0, 1.0, 0.0) and scene.stage_front == (0.0, 0.0, -1.0)
    handles = {thing.handle: thing for thing in scene.objects}
    for thing in house.objects:
        entry = handles[thing.id]
        assert entry.origin_at_com and not entry.articulated
        assert scene.classes[entry.semantic_id] == thing.label.top
        assert np.allclose(yup_to_zup(entry.translation), thing.box.center, atol=1e-5)


def test_without_its_truth_a_house_is_read_as_any_data_set(house, exported):
    side = exported.parent / "home.truth.json"
    text = side.read_text()
    side.unlink()
    try:
        scene = load_scene(exported, "home")
    finally:
        side.write_text(text)
    assert any("coterie_scene_graph" in note for note in scene.notes)
    assert scene.graph.rooms == house.truth().rooms
    assert [f.elevation for f in scene.graph.floors.values()] == [f.elevation for f in house.floors]
    for thing in house.objects:
        found = scene.graph.objects[thing.id]
        assert math.dist(found.box.center, thing.box.center) < 0.05
        # Its mesh may fill its box a little less.
        assert sorted(found.box.size) == pytest.approx(sorted(thing.box.size), abs=0.08)
        assert (found.label.top, found.kind, found.room) == (
            thing.label.top,
            thing.kind,
            thing.room,
        )


@pytest.fixture
def hssd(tmp_path):
    """HSSD: hashes for names, a lexicon for labels, region annotations with outlines."""
    root = tmp_path / "hssd"
    sofa, cup = "a" * 40, "b" * 40
    write_json(
        root / "hssd.scene_dataset_config.json",
        {
            "stages": {"paths": {".json": ["stages"]}},
            "objects": {"paths": {".json": ["objects/*", "objects/decomposed/*"]}},
            "scene_instances": {
                "default_attributes": {
                    "default_lighting": "",
                    "semantic_scene_instance": (
                        "%%CONFIG_NAME_AS_ASSET_FILENAME%%.semantic_config.json"
                    ),
                },
                "paths": {".json": ["scenes"]},
            },
            "semantic_scene_descriptor_instances": {
                "default_attributes": {"semantic_descriptor_filename": "../lexicon.json"},
                "paths": {".json": ["semantics/scenes/*"]},
            },
        },
    )
    write_box(root / "stages/1234.glb", (10, 3, 8))
    write_json(
        root / "stages/1234.stage_config.json",
        {"render_asset": "1234.glb", "up": [0, 1, 0], "front": [0, 0, -1]},
    )
    for name, size, number in ((sofa, (2.0, 0.8, 1.0), 27), (cup, (0.1, 0.12, 0.1), 8)):
        folder = root / "objects" / name[0]
        write_box(folder / f"{name}.glb", size, (0.0, size[1] / 2.0, 0.0))
        write_json(
            folder / f"{name}.object_config.json",
            {
                "render_asset": f"{name}.glb",
                "up": [0, 1, 0],
                "front": [0, 0, -1],
                "semantic_id": number,
            },
        )
    half = math.sqrt(0.5)
    write_json(
        root / "scenes/1234.scene_instance.json",
        {
            "stage_instance": {"template_name": "stages/1234"},
            "translation_origin": "asset_local",
            "object_instances": [
                {
                    "template_name": sofa,
                    "translation": [1.0, 0.0, -2.0],
                    "rotation": [half, 0.0, half, 0.0],
                    "non_uniform_scale": [1.5, 1.0, 1.0],
                    "motion_type": "STATIC",
                },
                {"template_name": sofa, "translation": [4.0, 0.0, -2.0], "motion_type": "STATIC"},
                {"template_name": cup, "translation": [7.0, 0.9, -1.0], "motion_type": "DYNAMIC"},
            ],
        },
    )
    write_json(
        root / "semantics/lexicon.json",
        {"classes": [{"id": 27, "name": "couch"}, {"id": 8, "name": "cup"}]},
    )

    def region(name, label, x0, x1):
        return {
            "name": name,
            "label": label,
            "poly_loop": [[x0, 0.1, 0], [x0, 0.1, -4], [x1, 0.1, -4], [x1, 0.1, 0]],
            "floor_height": 0.1,
            "extrusion_height": 2.7,
        }

    write_json(
        root / "semantics/scenes/1234.semantic_config.json",
        {"region_annotations": [region("lr", "living room", 0, 5), region("k", "kitchen", 5, 9)]},
    )
    return root


def test_hssd_regions_labels_scales_and_rotations(hssd):
    scene = load_scene(hssd / "hssd.scene_dataset_config.json", "1234")
    rooms = {room.name: room for room in scene.graph.rooms.values()}
    assert set(rooms) == {"living room 1", "kitchen 1"}
    kitchen = rooms["kitchen 1"]
    assert set(kitchen.polygon) == {(5.0, 0.0), (5.0, 4.0), (9.0, 4.0), (9.0, 0.0)}
    (floor,) = scene.graph.floors.values()
    assert (floor.elevation, floor.ceiling_height) == (0.1, 2.7)
    sofa, second, cup = scene.graph.objects.values()
    assert second.id != sofa.id
    assert sofa.label.top == "sofa" and sofa.properties["label"] == "couch"
    assert sofa.kind == "furniture" and cup.kind == "item"
    assert sofa.room == rooms["living room 1"].id and cup.room == kitchen.id
    # 3 m long once scaled, turned by a quarter: it lies along y of the map.
    assert sofa.box.center == pytest.approx((1.0, 2.0, 0.4))
    low, high = sofa.box.axis_aligned()
    assert np.subtract(high, low) == pytest.approx((1.0, 3.0, 0.8))
    assert cup.box.center == pytest.approx((7.0, 1.0, 0.96))
    assert [t.motion_type for t in scene.objects] == ["STATIC", "STATIC", "DYNAMIC"]
    assert scene.objects[0].scale == (1.5, 1.0, 1.0)
    assert any("tells no connections" in note for note in scene.notes)


def test_a_scene_is_found_by_its_file_too(hssd):
    by_path = load_scene(None, str(hssd / "scenes/1234.scene_instance.json"))
    assert by_path.name == "1234" and len(by_path.objects) == 3


@pytest.fixture
def replica_cad(tmp_path):
    """ReplicaCAD: names that tell, articulated furniture, a neighbour's objects, mapped aliases."""
    root = tmp_path / "data" / "replica_cad"
    write_json(
        root / "cad.scene_dataset_config.json",
        {
            "stages": {"paths": {".json": ["configs/stages"]}},
            "objects": {
                "default_attributes": {"units_to_meters": 0.5},
                "paths": {".json": ["configs/objects/*", "../ycb/configs"]},
                "configs": [
                    {
                        "original_file": "configs/objects/apt_basket.object_config.json",
                        "template_handle": "big_basket",
                        "attributes": {"scale": [3, 3, 3]},
                    }
                ],
            },
            "articulated_objects": {"paths": {".urdf": ["urdf/*"]}},
            "scene_instances": {"paths": {".json": ["configs/scenes"]}},
            "navmesh_instances": {"apt_navmesh": "navmeshes/apt.navmesh"},
            "semantic_scene_descriptor_instances": {"cad_map": "configs/ssd/lexicon.json"},
        },
    )
    (root / "navmeshes").mkdir()
    (root / "navmeshes/apt.navmesh").write_bytes(b"TESM")
    write_json(root / "configs/ssd/lexicon.json", {"classes": [{"id": 4, "name": "basket"}]})
    write_box(root / "stages/apt.glb", (6, 3, 6))
    write_json(
        root / "configs/stages/apt.stage_config.json",
        {"render_asset": "../../stages/apt.glb", "up": [0, 1, 0], "front": [0, 0, -1]},
    )
    write_box(root / "objects/apt_basket.glb", (0.4, 0.4, 0.4))
    write_json(
        root / "configs/objects/apt_basket.object_config.json",
        {"render_asset": "../../objects/apt_basket.glb", "semantic_id": 4},
    )
    write_box(root / "../ycb/meshes/024_bowl.glb", (0.2, 0.1, 0.2))
    write_json(
        root / "../ycb/configs/024_bowl.object_config.json",
        {"render_asset": "../meshes/024_bowl.glb", "units_to_meters": 1.0},
    )
    write_box(root / "urdf/fridge/door.glb", (0.6, 1.0, 0.05), (0.3, 0.0, 0.0))
    (root / "urdf/fridge/fridge.urdf").write_text(
        """<robot name="fridge">
        <link name="root"><visual><origin xyz="0 0.5 0"/>
          <geometry><box size="0.6 1 0.6"/></geometry></visual></link>
        <link name="door"><visual><geometry><mesh filename="door.glb"/></geometry></visual></link>
        <joint name="hinge" type="revolute"><parent link="root"/><child link="door"/>
          <origin xyz="-0.3 0.5 0.325"/></joint></robot>"""
    )
    write_json(
        root / "configs/scenes/apt_0.scene_instance.json",
        {
            "stage_instance": {"template_name": "stages/apt"},
            "semantic_scene_instance": "cad_map",
            "navmesh_instance": "apt_navmesh",
            "object_instances": [
                {"template_name": "apt_basket", "translation": [1, 0, 1]},
                {"template_name": "big_basket", "translation": [2, 0, 1]},
                {"template_name": "024_bowl", "translation": [0, 0.5, 1], "uniform_scale": 2.0},
            ],
            "articulated_object_instances": [
                {
                    "template_name": "fridge",
                    "translation": [-1, 0, -1],
                    "fixed_base": True,
                    "motion_type": "DYNAMIC",
                }
            ],
        },
    )
    return root


def test_replica_cad_scenes_with_articulated_furniture(replica_cad):
    scene = load_scene(replica_cad / "cad.scene_dataset_config.json", "apt_0")
    basket, big, bowl, fridge = scene.objects
    assert basket.label == "basket" and basket.box.size == pytest.approx((0.2, 0.2, 0.2))
    assert big.box.size == pytest.approx((0.6, 0.6, 0.6))
    assert bowl.box.size == pytest.approx((0.4, 0.4, 0.2))
    assert scene.graph.objects[bowl.handle].label.top == "bowl"
    assert fridge.articulated and fridge.moving_joints == 1
    assert fridge.asset.name == "fridge.urdf"
    thing = scene.graph.objects["fridge"]
    assert thing.is_open is False and thing.kind == "furniture"
    assert thing.label.top == "refrigerator" or thing.label.top == "fridge"
    # A body of 0.6 m and a door of 0.05 m in front, which is towards -y of the map.
    low, high = thing.box.axis_aligned()
    assert low == pytest.approx((-1.3, 0.65, 0.0))
    assert high == pytest.approx((-0.7, 1.3, 1.0))
    assert scene.navmesh.name == "apt.navmesh"
    assert scene.regions == "none" and not scene.graph.rooms
    assert any("with_regions" in note for note in scene.notes)
    (floor,) = scene.graph.floors.values()
    assert floor.elevation == pytest.approx(-1.5)


def test_a_stage_alone_is_a_scene(replica_cad):
    scene = load_scene(replica_cad / "cad.scene_dataset_config.json", "apt")
    # A piece of "apt_0" too, but whole names come first.
    assert scene.scene_path is None and not scene.objects
    assert scene.stage.name == "apt.glb" and scene.stage_up == (0.0, 1.0, 0.0)
