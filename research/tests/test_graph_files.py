"""Reading topological houses: what a good house gives, and what is said about a bad one."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from habitat_bridge.factory import make_world
from habitat_bridge.simulator import WorldError
from research.bench.graph_houses import list_scans, load_graph_world
from research.bench.graph_houses.files import load_house
from research.bench.graph_houses.rooms import room_id, room_name


def node(name: str, x: float, y: float, links: list[bool], **changes: Any) -> dict[str, Any]:
    """Return one entry of a connectivity file."""
    pose = [1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, 1.5, 0, 0, 0, 1]
    entry = {
        "image_id": name,
        "pose": pose,
        "included": True,
        "visible": links,
        "unobstructed": links,
        "height": 1.5,
    }
    return {**entry, **changes}


def thing(name: str, views: list[int] | None = None) -> dict[str, Any]:
    """Return one entry of an object file, seen straight ahead in each view."""
    views = [12] if views is None else views
    return {"name": name, "visible_pos": views, "bbox2d": [[300, 200, 40, 40]] * len(views)}


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A house of three nodes in a row: kitchen, hallway, bedroom; a fourth is not included."""
    (tmp_path / "connectivity").mkdir()
    (tmp_path / "objects").mkdir()
    links = [[False, True, False, True], [True, False, True, False], [False, True, False, False]]
    nodes = [node(n, 2.0 * i, 0.0, links[i]) for i, n in enumerate("abc")]
    nodes.append(node("d", 0.0, 2.0, [True, False, False, False], included=False))
    write(tmp_path / "connectivity" / "home_connectivity.json", nodes)
    (tmp_path / "connectivity" / "LICENSE").write_text("not a house")
    things = {"1": thing("table#lamp"), "2": thing("cup", [])}
    write(tmp_path / "objects" / "home_a.json", {"a": things})
    write(tmp_path / "objects" / "home_b.json", {"b": {"3": thing("picture", [15])}})
    write(tmp_path / "objects" / "home_c.json", {"c": {"4": thing("bed")}})
    rooms = {"a": "k,kitchen", "b": "h,hallway", "c": "b,bedroom"}
    write(tmp_path / "rooms.json", {"home": rooms})
    return tmp_path


def write(path: Path, data: object) -> None:
    path.write_text(json.dumps(data))


def edit(path: Path, change: Any) -> None:
    data = json.loads(path.read_text())
    change(data)
    write(path, data)


def test_a_good_house_is_read_without_complaint(house: Path) -> None:
    assert list_scans(house) == ["home"]
    read = load_house(house, "home")
    assert sorted(read.graph.edges) == [("a", "b"), ("b", "c")]
    assert read.report.problems == []
    assert (read.report.nodes, read.report.edges, read.report.objects) == (3, 2, 3)
    assert read.viewpoints["b"].position == (2.0, 0.0, 0.0)
    assert [o.label for o in read.viewpoints["a"].objects] == ["table lamp"]
    assert read.viewpoints["c"].room == "bedroom"


def test_bearings_are_those_of_the_views(house: Path) -> None:
    read = load_house(house, "home")
    # view 12 looks along y (heading 0), view 15 along x (heading 90 degrees clockwise)
    assert read.viewpoints["a"].objects[0].bearing == pytest.approx(math.pi / 2)
    assert read.viewpoints["b"].objects[0].bearing == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("a,bathroom", "bathroom"),
        ("w,workout/gym/exercise", "gym"),
        ("f,familyroom/family room", "family room"),
        ("B,bar", "bar"),
        ("b,bedroom", "bedroom"),
        ("q,observatory/tower", "observatory"),
        ("cellar", "cellar"),
        ("-,no label", None),
        ("Z,junk", None),
        ("", None),
        ("  ,  ", None),
    ],
)
def test_room_labels_become_names(label: str, name: str | None) -> None:
    assert room_name(label) == name


def test_room_ids_keep_different_names_apart() -> None:
    assert room_id("living room") == "living_room"
    assert room_id("küche") != room_id("käche")


def test_directories_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="not a directory"):
        list_scans(tmp_path / "nowhere")
    with pytest.raises(WorldError, match="connectivity"):
        list_scans(tmp_path)
    (tmp_path / "connectivity").mkdir()
    with pytest.raises(WorldError, match="holds no house"):
        list_scans(tmp_path)


def test_an_unknown_house_is_answered_with_those_there_are(house: Path) -> None:
    with pytest.raises(WorldError, match=r"no house named 'hom'.*houses here: home"):
        load_graph_world(house, "hom")


@pytest.mark.parametrize(
    "path", ["connectivity/home_connectivity.json", "rooms.json", "objects/home_b.json"]
)
@pytest.mark.parametrize("text", ["{", "", "[1, 2", "\x00"])
def test_broken_json_names_its_file(house: Path, path: str, text: str) -> None:
    (house / path).write_text(text)
    with pytest.raises(WorldError, match=Path(path).name):
        load_house(house, "home")


def test_a_file_that_is_no_utf8_is_named(house: Path) -> None:
    (house / "rooms.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(WorldError, match=r"rooms\.json cannot be read"):
        load_house(house, "home")


@pytest.mark.parametrize("data", [{}, [], [1, None, "x"], [{"included": True}]])
def test_a_graph_without_usable_nodes_is_refused(house: Path, data: object) -> None:
    write(house / "connectivity" / "home_connectivity.json", data)
    with pytest.raises(WorldError, match=r"home_connectivity\.json"):
        load_house(house, "home")


def test_missing_object_files_and_rooms_are_reported(house: Path) -> None:
    (house / "objects" / "home_b.json").unlink()
    edit(house / "rooms.json", lambda data: data["home"].pop("c"))
    read = load_house(house, "home")
    assert any("1 nodes have no object file: b" in p for p in read.report.problems)
    assert any("1 nodes have no known room: c" in p for p in read.report.problems)
    assert read.viewpoints["c"].room is None
    assert read.viewpoints["b"].objects == ()


@pytest.mark.parametrize("change", ["file", "scan", "odd"])
def test_a_house_without_rooms_still_loads(house: Path, change: str) -> None:
    if change == "file":
        (house / "rooms.json").unlink()
    elif change == "scan":
        write(house / "rooms.json", {"other": {}})
    else:
        write(house / "rooms.json", {"home": {"a": 7, "b": None, "c": "-,no label"}})
    world = load_graph_world(house, "home")
    assert any("rooms are unknown" in problem for problem in world.report.problems)
    assert world.truth().rooms == {}
    assert "home: 3 nodes" in world.report.text()


def test_faults_of_the_graph_are_reported_and_mended(house: Path) -> None:
    path = house / "connectivity" / "home_connectivity.json"

    def spoil(nodes: list[dict[str, Any]]) -> None:
        nodes[1]["unobstructed"][0] = False  # a enters b, b does not enter a
        nodes[2]["unobstructed"][1] = nodes[1]["unobstructed"][2] = False  # c alone
        nodes.append(node("a", 9.0, 9.0, [False] * 3))  # twice
        nodes.append(node("e", 9.0, 9.0, [False] * 3, pose=[0.0] * 3))
        nodes.append(node("f", float("nan"), 9.0, [False] * 3))
        nodes.append(node("g", 9.0, 9.0, [], unobstructed=None))

    edit(path, spoil)
    read = load_house(house, "home")
    problems = "\n".join(read.report.problems)
    assert sorted(read.graph.edges) == [("a", "b")]
    assert read.viewpoints["a"].position == (0.0, 0.0, 0.0)
    assert "1 ways are entered in one direction only" in problems
    assert "repeats image_id a" in problems
    assert "(e) has no usable pose" in problems
    assert "(f) has no usable pose" in problems
    assert "1 nodes have no list 'unobstructed': g" in problems
    assert "the house falls into 3 parts of 2, 1, 1 nodes" in problems
    assert read.report.parts == (2, 1, 1)


def test_odd_objects_are_left_out_and_reported(house: Path) -> None:
    things = {
        "1": thing("  Wall#Clock\n\x07 "),
        "2": {"name": None, "visible_pos": [1]},
        "3": {"name": "cup"},
        "4": "cup",
        "5": thing("x" * 500),
        "6": {"name": "vase", "visible_pos": ["up", 99, True], "bbox2d": "none"},
    }
    write(house / "objects" / "home_a.json", {"a": things})
    write(house / "objects" / "home_b.json", {"somewhere else": {}})
    read = load_house(house, "home")
    labels = {o.id: o.label for o in read.viewpoints["a"].objects}
    assert labels == {"1": "wall clock", "5": "x" * 60, "6": "vase"}
    assert read.viewpoints["a"].objects[2].bearing is None
    problems = "\n".join(read.report.problems)
    assert "'2' has no name" in problems
    assert "'3' has no list 'visible_pos'" in problems
    assert "holds no objects of its viewpoint b" in problems


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = st.sampled_from(
    ["home", "a", "1", "name", "visible_pos", "bbox2d", "image_id", "pose", "included", "height"]
) | st.text(max_size=4)
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from(["connectivity/home_connectivity.json", "rooms.json", "objects/home_b.json"]),
    ANY_JSON,
)
def test_whatever_a_file_holds_it_is_read_or_named(house: Path, path: str, data: object) -> None:
    text = (house / path).read_text()
    write(house / path, data)
    try:
        world = load_graph_world(house, "home")
    except WorldError as error:
        assert Path(path).name in str(error)
    else:
        assert world.report.nodes == len(world.house.viewpoints) > 0
        world.truth()
        assert len(world.survey()) == world.report.nodes
    finally:
        (house / path).write_text(text)


def _graphs(folder: Path) -> None:
    (folder / "connectivity").mkdir()
    pose = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1.5, 0, 0, 0, 1]
    nodes = []
    for k in range(3):
        here = list(pose)
        here[3] = 2.0 * k
        joined = [abs(k - j) == 1 for j in range(3)]
        nodes.append(
            {
                "image_id": f"n{k}",
                "pose": here,
                "included": True,
                "visible": joined,
                "unobstructed": joined,
                "height": 1.5,
            }
        )
    (folder / "connectivity" / "toy_connectivity.json").write_text(json.dumps(nodes))


def test_a_graph_world(tmp_path: Path) -> None:
    _graphs(tmp_path)
    own = {"kind": "own", "maker": "research.bench.graph_houses:make_world", "seed": 1}
    world = make_world({**own, "options": {"directory": str(tmp_path), "scan": "toy"}})
    assert world.name == "toy"
    assert not world.capabilities.pixels
    with pytest.raises(WorldError, match=r"no house 'tot' in .*; did you mean 'toy'\?"):
        make_world({**own, "options": {"directory": str(tmp_path), "scan": "tot"}})
