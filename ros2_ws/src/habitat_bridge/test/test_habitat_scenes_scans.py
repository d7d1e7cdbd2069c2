"""Scans: the layouts of HM3D, Matterport3D, Gibson and Replica, with content of our own."""

import json

import numpy as np
import pytest
import trimesh

from habitat_bridge.habitat.scenes import load_scene


def write_json(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")


def coloured(boxes):
    """Boxes (colour as RRGGBB, size, centre) as one mesh with colours at its vertices."""
    parts = []
    for color, size, center in boxes:
        mesh = trimesh.creation.box(extents=size)
        mesh.apply_translation(center)
        rgb = bytes.fromhex(color)
        mesh.visual.vertex_colors = np.tile([*rgb, 255], (len(mesh.vertices), 1))
        parts.append(mesh)
    return trimesh.util.concatenate(parts)


# Two rooms below and one above, z up: colour, size, centre, line of the annotations.
HM3D_BOXES = [
    ("112233", (4, 4, 0.1), (2, 2, 0.0), '1,112233,"floor",0'),
    ("445566", (2.0, 1.6, 0.6), (1.5, 1, 0.35), '2,445566,"bed",0'),
    ("778899", (4, 4, 0.1), (6, 2, 0.0), '3,778899,"floor",1'),
    ("AABBCC", (0.7, 0.7, 1.8), (7, 3, 0.95), '4,AABBCC,"refrigerator",1'),
    ("0D0E0F", (0.6, 0.6, 0.9), (6, 3, 0.5), '5,0D0E0F,"oven/stove",1'),
    ("010203", (4, 4, 0.1), (2, 2, 3.0), '6,010203,"floor",2'),
    ("F1F2F3", (0.7, 0.5, 0.8), (1, 3, 3.45), '7,F1F2F3,"toilet",2'),
]


@pytest.fixture
def hm3d(tmp_path):
    root = tmp_path / "hm3d"
    folder = root / "minival" / "00800-AbCdEfGhIjK"
    folder.mkdir(parents=True)
    boxes = [(c, s, p) for c, s, p, _ in HM3D_BOXES]
    data = trimesh.Scene(coloured(boxes)).export(file_type="glb")
    (folder / "AbCdEfGhIjK.basis.glb").write_bytes(data)
    (folder / "AbCdEfGhIjK.semantic.glb").write_bytes(data)
    (folder / "AbCdEfGhIjK.basis.navmesh").write_bytes(b"TESM")
    lines = ["HM3D Semantic Annotations", *(line for *_, line in HM3D_BOXES)]
    lines += ['8,FF00FF,"lamp",1', '9,00FF00,"a chair, folded",-1']
    (folder / "AbCdEfGhIjK.semantic.txt").write_text("\n".join(lines))
    write_json(
        root / "hm3d_annotated_basis.scene_dataset_config.json",
        {
            "stages": {
                "default_attributes": {
                    "shader_type": "flat",
                    "up": [0, 0, 1],
                    "front": [0, 1, 0],
                    "origin": [0, 0, 0],
                    "semantic_descriptor_filename": (
                        "%%CONFIG_NAME_AS_ASSET_FILENAME%%.semantic.txt"
                    ),
                    "semantic_asset": "%%CONFIG_NAME_AS_ASSET_FILENAME%%.semantic.glb",
                    "has_semantic_textures": True,
                },
                "paths": {".glb": ["minival/*/*.basis.glb"]},
            }
        },
    )
    return root


def check_hm3d(scene):
    graph = scene.graph
    assert [f.elevation for f in graph.floors.values()] == pytest.approx([0.05, 3.05])
    kinds = {room.id: room.type for room in graph.rooms.values()}
    assert kinds == {"room_0": "bedroom", "room_1": "kitchen", "room_2": kinds["room_2"]}
    assert kinds["room_2"] in ("toilet", "bathroom")
    assert graph.rooms["room_2"].floor == "floor-1"
    assert graph.rooms["room_0"].name == "bedroom 1"
    bed = graph.objects["bed_2"]
    assert bed.room == "room_0" and bed.box.center == pytest.approx((1.5, 1, 0.35))
    assert bed.box.size == pytest.approx((2.0, 1.6, 0.6))
    assert graph.objects["oven_stove_5"].properties["label"] == "oven/stove"
    # Annotated, but not in the mesh: a thing without a box, in its annotated room.
    assert graph.objects["lamp_8"].box.volume == 0.0
    assert graph.objects["lamp_8"].room == "room_1"
    assert graph.objects["a_chair_folded_9"].label.top == "chair"
    assert not any(t.label.top == "floor" for t in graph.objects.values())
    text = " ".join(scene.notes)
    assert "kinds of 3 rooms are guessed" in text
    assert "rectangles" in text and "2 of 9 annotated objects do not occur" in text
    assert scene.stage_up == (0.0, 0.0, 1.0)
    assert scene.navmesh.name == "AbCdEfGhIjK.basis.navmesh"


def test_hm3d_by_its_config(hm3d):
    config = hm3d / "hm3d_annotated_basis.scene_dataset_config.json"
    for name in ("AbCdEfGhIjK", "minival/00800-AbCdEfGhIjK/AbCdEfGhIjK.basis.glb"):
        check_hm3d(load_scene(config, name))


def test_hm3d_by_the_file_alone(hm3d):
    scene = load_scene(None, str(hm3d / "minival/00800-AbCdEfGhIjK/AbCdEfGhIjK.basis.glb"))
    check_hm3d(scene)
    assert scene.dataset_config is None
    assert any("z is taken as up" in note for note in scene.notes)


def test_colours_of_a_texture_count_where_vertices_have_none(hm3d):
    from PIL import Image

    first = HM3D_BOXES[1]
    mesh = trimesh.creation.box(extents=first[1])
    mesh.apply_translation(first[2])
    image = Image.new("RGB", (4, 4), (0x44, 0x55, 0x66))
    uv = np.full((len(mesh.vertices), 2), 0.5)
    mesh.visual = trimesh.visual.TextureVisuals(
        uv=uv, material=trimesh.visual.material.PBRMaterial(baseColorTexture=image)
    )
    path = hm3d / "minival/00800-AbCdEfGhIjK/AbCdEfGhIjK.semantic.glb"
    path.write_bytes(trimesh.Scene(mesh).export(file_type="glb"))
    scene = load_scene(hm3d / "hm3d_annotated_basis.scene_dataset_config.json", "AbCdEfGhIjK")
    assert scene.graph.objects["bed_2"].box.size == pytest.approx((2.0, 1.6, 0.6), abs=1e-5)


HOUSE = """ASCII 1.1
H tiny tiny 0 1 8 2 0 4 4 3 1 2 0 0 0 0 0 0 0 0 9 4 6 0 0 0 0 0
L 0 2 0 2 2 0 0 0 0 9 4 2.5 0 0 0 0 0
L 1 1 0 2 2 3 0 0 3 4 4 5.5 0 0 0 0 0
R 0 0 0 0 l 2 2 0 0 0 0 4 4 2.5 2.5 0 0 0 0
R 1 0 0 0 k 6 2 0 4 0 0 9 4 2.5 2.5 0 0 0 0
R 2 1 0 0 a 2 2 3 0 0 3 4 4 5.5 2.5 0 0 0 0
R 3 1 0 0 Z 2 2 3 0 0 3 4 4 5.5 2.5 0 0 0 0
P 0 0 1 0 3.9 1.5 0 4.1 2.4 2 0 0 0 0
P 0a1b2c 0 0 0 2 2 1.5 0 0 0 0 0
S 0 0 0 0 2 2 0 0 0 1 0 0 0 4 4 0 0 0 0 0 0
V 0 0 0 0 3 0 0 0 1 0 0 0
V 1 0 0 4 3 0 0 0 1 0 0 0
V 2 0 0 4 0 0 0 0 1 0 0 0
V 3 0 0 0 0 0 0 0 1 0 0 0
C 0 30 dining#table 5 table 0 0 0 0 0
C 1 1 wall 1 wall 0 0 0 0 0
C 2 124 toilet 18 toilet 0 0 0 0 0
O 0 0 0 2 2 0.4 0.6 0.8 0 -0.8 0.6 0 1.0 0.5 0.4 0 0 0 0 0 0 0 0
O 1 0 1 0 2 1.2 1 0 0 0 1 0 0.1 2 1.2 0 0 0 0 0 0 0 0
O 2 2 2 1 1 3.4 1 0 0 0 1 0 0.3 0.3 0.4 0 0 0 0 0 0 0 0
O 3 3 0 1 1 3.4 1 0 0 0 1 0 0.3 0.3 0.4 0 0 0 0 0 0 0 0
O 4 1 0 nonsense
E 0 0 0 1 0 0 0 0 0 0 1 1 1 0 0 0 0 0
"""


@pytest.fixture
def mp3d(tmp_path):
    folder = tmp_path / "mp3d" / "tiny"
    folder.mkdir(parents=True)
    mesh = trimesh.creation.box(extents=(9, 4, 6))
    mesh.apply_translation((4.5, 2, 3))
    (folder / "tiny.glb").write_bytes(trimesh.Scene(mesh).export(file_type="glb"))
    (folder / "tiny_semantic.ply").write_bytes(mesh.export(file_type="ply"))
    (folder / "tiny.house").write_text(HOUSE)
    return folder


def test_matterport_houses_tell_rooms_outlines_ways_and_oriented_boxes(mp3d):
    scene = load_scene(None, str(mp3d / "tiny.glb"))
    graph = scene.graph
    assert {r.name: r.floor for r in graph.rooms.values()} == {
        "living room 1": "floor-0",
        "kitchen 1": "floor-0",
        "bathroom 1": "floor-1",
    }
    # The outline of its vertices, not its extent; they come clockwise in the file.
    assert graph.rooms["room_0"].polygon == [(0.0, 3.0), (4.0, 3.0), (4.0, 0.0), (0.0, 0.0)][::-1]
    assert set(graph.rooms["room_1"].polygon) == {(4, 0), (9, 0), (9, 4), (4, 4)}
    assert [(f.elevation, f.ceiling_height) for f in graph.floors.values()] == [
        (0.0, 2.5),
        (3.0, 2.5),
    ]
    (way,) = graph.connections.values()
    assert {way.room_a, way.room_b} == {"room_0", "room_1"}
    assert way.kind == "door" and way.width == pytest.approx(0.9)
    assert way.position == pytest.approx((4.0, 1.95, 0.0))
    table = graph.objects["dining_table_0"]
    assert table.label.top == "table" and table.room == "room_0"
    assert table.properties["label"] == "dining table"
    assert sorted(table.box.size[:2]) == pytest.approx([1.0, 2.0])
    assert table.box.size[2] == pytest.approx(0.8)
    # Its long side (2 m) lies along (0.6, 0.8).
    long = np.array([0.6, 0.8]) * 0.95
    assert table.box.contains((2 + long[0], 2 + long[1], 0.4))
    assert not table.box.contains((2 - long[1], 2 + long[0], 0.4))
    # The junk region's thing and the broken line's are left out, the wall is no object.
    assert set(graph.objects) == {"dining_table_0", "toilet_2"}
    text = " ".join(scene.notes)
    assert "junk" in text and "tiny.house:23" in text and "walls" in text


def test_matterport_by_a_config_with_its_house_as_descriptor(mp3d):
    config = mp3d.parent / "mp3d.scene_dataset_config.json"
    write_json(
        config,
        {
            "stages": {
                "default_attributes": {
                    "up": [0, 0, 1],
                    "front": [0, 1, 0],
                    "semantic_asset": "%%CONFIG_NAME_AS_ASSET_FILENAME%%_semantic.ply",
                    "semantic_descriptor_filename": "%%CONFIG_NAME_AS_ASSET_FILENAME%%.house",
                },
                "paths": {".glb": ["*/*.glb"]},
            }
        },
    )
    scene = load_scene(config, "tiny")
    assert len(scene.graph.rooms) == 3 and scene.semantic_asset.name == "tiny_semantic.ply"


def test_gibson_objects_without_regions(tmp_path):
    mesh = trimesh.creation.box(extents=(9, 4, 3))
    (tmp_path / "Den.glb").write_bytes(trimesh.Scene(mesh).export(file_type="glb"))
    write_json(
        tmp_path / "Den.scn",
        {
            "objects": [
                {"class_": "oven", "id": 1, "location": [1, 2, 0.5], "size": [0.6, 0.7, 0.9]},
                {"class_": "couch", "id": 2},
                {"class_": 7, "id": 3},
            ]
        },
    )
    scene = load_scene(None, str(tmp_path / "Den.glb"))
    oven = scene.graph.objects["oven_1"]
    assert oven.box.center == pytest.approx((1, 2, 0.5))
    assert oven.box.size == pytest.approx((0.6, 0.7, 0.9))
    assert scene.graph.objects["couch_2"].label.top == "sofa"
    assert len(scene.graph.objects) == 2
    text = " ".join(scene.notes)
    assert "objects[2].class_: expected a text" in text and "no location" in text
    assert scene.regions == "none"


def test_replica_objects_with_oriented_boxes(tmp_path):
    mesh = trimesh.creation.box(extents=(9, 4, 3))
    (tmp_path / "room.glb").write_bytes(trimesh.Scene(mesh).export(file_type="glb"))
    write_json(
        tmp_path / "info_semantic.json",
        {
            "classes": [{"id": 20, "name": "chair"}],
            "objects": [
                {
                    "id": 5,
                    "class_id": 20,
                    "oriented_bbox": {
                        "abb": {"center": [0.1, 0, 0], "sizes": [0.4, 0.6, 1.0]},
                        "orientation": {"rotation": [0, 0, 0, 1], "translation": [2, 1, 0.5]},
                    },
                }
            ],
        },
    )
    scene = load_scene(None, str(tmp_path / "room.glb"))
    chair = scene.graph.objects["chair_5"]
    assert chair.box.center == pytest.approx((2.1, 1, 0.5))
    assert chair.box.size == pytest.approx((0.4, 0.6, 1.0))
