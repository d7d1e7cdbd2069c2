"""Maps in files: every format written, read back, and refused with the reason."""

import json
import math

import pytest

from coterie_core.geometry import Box
from coterie_world.scene import (
    Connection,
    Floor,
    LabelBelief,
    Place,
    PlaceLink,
    Room,
    SceneError,
    SceneGraph,
    SceneObject,
)
from semantic_mapper.files import FORMATS, color_of, load_map, save_map


@pytest.fixture
def home():
    graph = SceneGraph()
    graph.add_floor(Floor("f0", 0, 0.0))
    square = [(0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 3.0)]
    graph.add_room(Room("r1", "kitchen", "kitchen", "f0", square))
    graph.add_room(Room("r2", "hall", "hallway", "f0", [(x + 4.0, y) for x, y in square]))
    graph.add_connection(Connection("d1", "r1", "r2", "door", (4.0, 1.5, 0.0), 0.8))
    graph.add_place(Place("p1", (1.0, 1.0, 0.0), "r1", "f0"))
    graph.add_place(Place("p2", (5.0, 1.0, 0.0), "r2", "f0"))
    graph.add_link(PlaceLink("p1", "p2", 4.1, 0.8))
    graph.add_object(
        SceneObject(
            "o1",
            LabelBelief({"mug": 3.0, "bowl": 1.5}),
            Box((1.0, 1.0, 0.9), (0.1, 0.08, 0.1), 0.5),
            room="r1",
            observations=4,
            properties={"colour": "red"},
        )
    )
    return graph


@pytest.mark.parametrize("form", ["scene", "spark-dsg"])
def test_nothing_is_lost(home, tmp_path, form):
    save_map(home, tmp_path / "deep" / "map.json", form)
    back = load_map(tmp_path / "deep" / "map.json")
    assert (back.rooms, back.floors, back.places) == (home.rooms, home.floors, home.places)
    assert back.connections == home.connections
    assert back.links["p2"]["p1"].length == pytest.approx(4.1)
    thing, other = back.objects["o1"], home.objects["o1"]
    assert (thing.label, thing.room, thing.properties) == (
        other.label,
        other.room,
        other.properties,
    )
    assert math.dist(thing.box.center, other.box.center) < 1e-6
    assert math.dist(thing.box.size, other.box.size) < 1e-6
    assert thing.box.yaw == pytest.approx(0.5, abs=1e-6)


def test_voxeland_keeps_objects_and_evidence(home, tmp_path):
    save_map(home, tmp_path / "map.json", "voxeland")
    back = load_map(tmp_path / "map.json")
    assert back.objects["o1"].label.weights == {"mug": 3.0, "bowl": 1.5}
    assert back.objects["o1"].observations == 4


def test_a_voxeland_map_that_names_no_kinds_has_furniture(tmp_path):
    home = SceneGraph()
    for label in ("sofa", "mug"):
        home.add_object(SceneObject(label, LabelBelief.of(label), Box((0, 0, 0), (1, 1, 1))))
    save_map(home, tmp_path / "map.json", "voxeland")
    back = load_map(tmp_path / "map.json")
    assert {thing.label.top: thing.kind for thing in back.objects.values()} == {
        "sofa": "furniture",
        "mug": "item",
    }


def test_ply_holds_boxes_to_look_at(home, tmp_path):
    import trimesh

    save_map(home, tmp_path / "map.ply", "ply")
    cloud = trimesh.load(tmp_path / "map.ply")
    assert len(cloud.vertices) > 20
    assert tuple(cloud.colors[0][:3]) == color_of("mug")
    save_map(SceneGraph(), tmp_path / "empty.ply", "ply")


def test_a_graph_of_hydra_without_our_metadata(tmp_path):
    import numpy as np
    import spark_dsg as dsg

    out = dsg.DynamicSceneGraph()
    room, place, thing = (
        dsg.RoomNodeAttributes(),
        dsg.PlaceNodeAttributes(),
        dsg.ObjectNodeAttributes(),
    )
    room.name, thing.name = "bedroom", "lamp"
    for attributes, x in ((room, 0.0), (place, 1.0), (thing, 1.5)):
        attributes.position = np.array([x, 0.0, 0.5])
    thing.bounding_box = dsg.BoundingBox(
        np.array([0.2, 0.2, 0.4], np.float32), np.array([1.5, 0, 0.5], np.float32)
    )
    out.add_node(dsg.DsgLayers.ROOMS, dsg.NodeSymbol("R", 3), room)
    out.add_node(dsg.DsgLayers.PLACES, dsg.NodeSymbol("p", 8), place)
    out.add_node(dsg.DsgLayers.OBJECTS, dsg.NodeSymbol("O", 5), thing)
    out.insert_edge(dsg.NodeSymbol("R", 3), dsg.NodeSymbol("p", 8))
    out.insert_edge(dsg.NodeSymbol("p", 8), dsg.NodeSymbol("O", 5))
    out.save(str(tmp_path / "dsg.json"), False)
    graph = load_map(tmp_path / "dsg.json")
    (one,) = graph.objects.values()
    assert (one.label.top, graph.rooms[one.room].type) == ("lamp", "bedroom")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not JSON"),
        ('{"instances": 3}', "instances"),
        ('{"instances": {"a": {"bbox": {"center": [1], "size": [1, 1, 1]}}}}', "a.bbox.center"),
        ('{"instances": {"a": {"bbox": {"center": [0, 0, NaN], "size": [1, 1, 1]}}}}', "finite"),
        ('{"nodes": 3, "edges": []}', "spark-dsg"),
        ('{"what": 1}', "scene graph"),
    ],
)  # fmt: skip
def test_broken_files_are_refused_with_the_reason(tmp_path, content, says):
    path = tmp_path / "map.json"
    path.write_text(content)
    with pytest.raises(SceneError, match=says) as error:
        load_map(path)
    assert "map.json" in str(error.value)


def test_unknown_formats_and_missing_files(home, tmp_path):
    with pytest.raises(ValueError, match="spark-dsg"):
        save_map(home, tmp_path / "x", "xml")
    with pytest.raises(SceneError, match="nowhere"):
        load_map(tmp_path / "nowhere.json")
    assert json.dumps(FORMATS)


# -- what Hydra and Spark-DSG write -------------------------------------------------------------


def spark(path, objects, rooms, spaces, place="p"):
    """A graph as Hydra writes it: objects {semantic label: x} in rooms, which have 10 m each."""
    import numpy as np
    import spark_dsg as dsg

    out = dsg.DynamicSceneGraph()
    flat = place == "P"
    layer = dsg.DsgLayers.MESH_PLACES if flat else dsg.DsgLayers.PLACES
    if flat:
        out.add_layer(3, 1, layer)
    for k, room in enumerate(rooms):
        attributes = dsg.RoomNodeAttributes()
        attributes.position = np.array([10.0 * k, 0.0, 0.0])
        if isinstance(room, int):
            attributes.semantic_label = room
        attributes.name = room if isinstance(room, str) else f"R({k})"
        out.add_node(dsg.DsgLayers.ROOMS, dsg.NodeSymbol("R", k), attributes)
        spot = dsg.Place2dNodeAttributes() if flat else dsg.PlaceNodeAttributes()
        spot.position = attributes.position
        out.add_node(layer, dsg.NodeSymbol(place, k), spot)
        out.insert_edge(dsg.NodeSymbol("R", k), dsg.NodeSymbol(place, k))
    for k, (label, x) in enumerate(objects.items()):
        thing, at = dsg.ObjectNodeAttributes(), np.array([x, 0.0, 0.4])
        thing.position, thing.semantic_label, thing.name = at, label, f"O({k})"
        thing.bounding_box = dsg.BoundingBox(
            np.array([0.5, 0.5, 0.8], np.float32), at.astype(np.float32)
        )
        out.add_node(dsg.DsgLayers.OBJECTS, dsg.NodeSymbol("O", k), thing)
        out.insert_edge(dsg.NodeSymbol(place, int(x // 10)), dsg.NodeSymbol("O", k))
    if spaces:
        named = {name: [[k, v] for k, v in space.items()] for name, space in spaces.items()}
        out.metadata.add({"labelspaces": named})
    out.save(str(path), False)
    return load_map(path)


def things(graph):
    return [
        (one.label.top, graph.rooms[one.room].name if one.room else "")
        for one in graph.objects.values()
    ]


@pytest.mark.parametrize("place", ["p", "P"], ids=["3D places", "2D places"])
def test_each_layer_of_hydra_has_its_own_labels(tmp_path, place):
    """Numbers of objects and of rooms overlap; objects hang on places of either kind."""
    spaces = {
        "_l2p0": {0: "unknown", 1: "chair", 2: "table", 40: "lamp"},
        "_l4p0": {0: "lounge", 1: "hallway", 2: "kitchen"},
    }
    graph = spark(tmp_path / "dsg.json", {1: 1.0, 2: 2.0, 40: 11.0}, [0, 2], spaces, place)
    assert things(graph) == [("chair", "lounge"), ("table", "lounge"), ("lamp", "kitchen")]
    assert graph.rooms["R1"].type == "kitchen"


def test_labels_without_a_label_space_are_their_numbers(tmp_path):
    graph = spark(tmp_path / "dsg.json", {5: 1.0, 2**32 - 1: 2.0}, ["kitchen"], {})
    assert things(graph) == [("5", "kitchen"), ("unknown", "kitchen")]


@pytest.mark.parametrize(
    "content",
    [
        '{"rooms": [{"id": "room|1", "roomType": "Kitchen"}], "objects": [{"id": "Mug|1"}]}',
        '{"nodes": [{"id": 1, "class_name": "mug"}], "edges": [{"from_id": 1, "to_id": 1}]}',
        '{"nodes": [{"id": "mug"}], "links": [{"source": "mug", "target": "mug"}]}',
    ],
    ids=["ProcTHOR", "VirtualHome or networkx", "networkx"],
)
def test_maps_of_others_are_refused_in_plain_words(tmp_path, content):
    path = tmp_path / "map.json"
    path.write_text(content)
    with pytest.raises(SceneError) as error:
        load_map(path)
    told = str(error.value)
    assert all(word in told for word in ("map.json", "scene graph", "Voxeland", "spark-dsg"))
    assert "Input should" not in told and "key " not in told
