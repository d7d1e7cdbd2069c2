"""Every reader of files refuses what it cannot use: its own error, one text of bounded length."""

from __future__ import annotations

import asyncio
import copy
import io
import json
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coterie_bringup.team import Team, load_team, parse_team
from coterie_core.cooperation.goals import GoalError, SubGoal
from coterie_core.embodiment import Arm, Embodiment
from coterie_core.geometry import Box
from coterie_core.plain_data import shorten
from coterie_core.resume import Resume
from coterie_core.yaml_marks import FileProblem
from coterie_fixtures.fuzzing.inputs import broken_text, mutated, paths_of
from coterie_llm import LanguageError, Message, ModelRequest
from coterie_llm.cassette import Recording, ReplayModel
from coterie_llm.types import LanguageModel, Reply
from coterie_recordings import RecordingError, open_recording
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
    Sighting,
    from_json,
    rooms_text,
    to_json,
)
from habitat_bridge.embedded.occupancy import Occupancy
from habitat_bridge.house.export import house_from_json, house_to_json
from habitat_bridge.house.generator import generate_house
from habitat_bridge.render.mesh import structure_meshes
from semantic_mapper.files import load_map, save_spark
from semantic_mapper.grid import FloorGrids
from semantic_mapper.instances import Instance
from semantic_mapper.mapper import SemanticMapper
from semantic_mapper.state import StateError, load_state, restore, state_bytes
from semantic_mapper.voxeland import from_voxeland, to_voxeland

LONGEST = 2000
FUZZ = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),  # a loaded machine is slow
)

EXTREME = [
    10**4000,
    -1e308,
    1e308,
    1e16,
    float("nan"),
    float("inf"),
    "\0",
    "a\ud800b",
    "x" * 9000,
    None,
    [],
]


def with_extremes(valid: Any) -> Iterator[Any]:
    """A valid document with each of its values replaced by each of the extreme ones, in turn."""
    for *way, last in paths_of(valid)[1:]:
        for value in EXTREME:
            data = copy.deepcopy(valid)
            inner = data
            for part in way:
                inner = inner[part]
            inner[last] = value
            yield data


def refused_or_fine(read: Callable[[], object], *errors: type[Exception]) -> None:
    """Run a reader; only its own errors may come out, with short printable texts."""
    try:
        read()
    except errors as error:
        text = str(error)
        assert len(text) <= LONGEST * (10 if isinstance(error, FileProblem) else 1), len(text)
        for line in text.splitlines():
            assert len(line) <= LONGEST
        text.encode()  # no half characters


TEAM = """
name: trio
world: {kind: embedded, seed: 7, floors: 1}
models:
  local: {kind: openai, base_url: "http://localhost:1/v1", model: m, record_to: out.jsonl}
robots:
  - {name: rover, embodiment: wheels, model: local, start: {pose: {x: 1.0, y: 2.0}}}
  - {name: "scout_{n}", count: 2, embodiment: air, role: explorer}
  - {name: pal, role: cooperator, urdf: robot.urdf, overrides: more.yaml}
cooperation: {goal: ["ON(plate, table): 2"]}
mapper: {cameras: [camera, rover/camera]}
open_questions: {robot: rover}
"""


def use_team(team: Team) -> None:
    team.world_spec()
    for robot in team.robots:
        team.profile(robot.model)
        if robot.urdf:
            team.resolve(robot.urdf)


@FUZZ
@given(broken_text(TEAM))
def test_team_text(text: str) -> None:
    refused_or_fine(lambda: use_team(parse_team(text)), FileProblem)


@FUZZ
@given(mutated(parse_team(TEAM).model_dump(mode="json", exclude_defaults=True)))
def test_team_values(data: Any) -> None:
    text = json.dumps(data)  # JSON is YAML, and writes NUL and half characters as escapes
    refused_or_fine(lambda: use_team(parse_team(text)), FileProblem)


def test_a_thousand_mistakes_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "team.yaml"
    file.write_text("world: {kind: embedded}\nrobots:\n" + "  - {nme: x}\n" * 1000)
    with pytest.raises(FileProblem, match=r"and \d+ more problems") as error:
        load_team(file)
    assert len(str(error.value)) < 10_000


@pytest.mark.parametrize(
    "text", ["ON(a, b): " + "9" * 5000, "ON(a, b): 0", "ON(a, b): ²", "x" * 100_000, "IN(, )", "\0"]
)
def test_sub_goals(text: str) -> None:
    with pytest.raises(GoalError) as error:
        SubGoal.parse(text)
    assert len(str(error.value)) < 500


def scene() -> SceneGraph:
    graph = SceneGraph()
    graph.add_floor(Floor("f0", 0, 0.0))
    outline = [(0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 3.0)]
    graph.add_room(Room("r0", "kitchen", "kitchen", "f0", outline))
    graph.add_room(Room("r1", "hall", "hallway", "f0", []))
    graph.add_connection(Connection("c0", "r0", "r1", "door", (4.0, 1.0, 0.0), 0.9))
    graph.add_place(Place("p0", (1.0, 1.0, 0.0), "r0", "f0"))
    graph.add_place(Place("p1", (5.0, 1.0, 0.0), "r1", "f0"))
    graph.add_link(PlaceLink("p0", "p1", 4.0))
    box = Box((1.0, 2.0, 0.4), (0.8, 0.8, 0.8), 0.2)
    graph.add_object(SceneObject("t0", LabelBelief({"table": 3.0}), box, "r0", "furniture"))
    cup = Box((1.0, 2.0, 0.85), (0.1, 0.1, 0.1))
    graph.add_object(
        SceneObject(
            "o0", LabelBelief({"cup": 2.0, "mug": 1.0}), cup, "r0", support="t0", observations=3,
            last_seen=Sighting(4.0, "rover"), properties={"color": "red"},
        )
    )  # fmt: skip
    return graph


def use_scene(graph: SceneGraph) -> None:
    """What the rest of the project does with a map."""
    from coterie_console.map_shapes import map_shapes

    rooms_text(graph)
    map_shapes(graph)
    to_json(graph).encode()


def read_and_use(read: Callable[[str], SceneGraph], text: str) -> None:
    use_scene(read(text))


@FUZZ
@given(mutated(json.loads(to_json(scene()))))
def test_scene_graphs(data: Any) -> None:
    refused_or_fine(lambda: use_scene(from_json(json.dumps(data))), SceneError)


@FUZZ
@given(mutated(json.loads(to_voxeland(scene()))))
def test_voxeland_maps(data: Any) -> None:
    refused_or_fine(lambda: use_scene(from_voxeland(json.dumps(data))), SceneError)


@pytest.mark.parametrize("form", ["scene", "voxeland"])
def test_no_extreme_value_of_a_map_gets_in(form: str) -> None:
    read = from_json if form == "scene" else from_voxeland
    write = to_json if form == "scene" else to_voxeland
    for data in with_extremes(json.loads(write(scene()))):
        refused_or_fine(partial(read_and_use, read, json.dumps(data)), SceneError)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("spark_dsg")
    path = tmp_path_factory.mktemp("spark") / "map.json"
    save_spark(scene(), path)
    return json.loads(path.read_text())


@settings(FUZZ, max_examples=150)
@given(st.data())
def test_spark_dsg_files(spark: Any, tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "map.json"
    path.write_text(json.dumps(data.draw(mutated(spark))))
    refused_or_fine(lambda: use_scene(load_map(path)), SceneError)


HOUSE = json.loads(house_to_json(generate_house(5, floors=2, rooms=9)))


def use_house(text: str) -> None:
    house = house_from_json(text)
    Occupancy(house)
    structure_meshes(house)
    house.truth()


@settings(FUZZ, max_examples=40)
@given(mutated(HOUSE))
def test_saved_houses(data: Any) -> None:
    refused_or_fine(lambda: use_house(json.dumps(data)), SceneError)


def test_a_deeply_nested_house() -> None:
    with pytest.raises(SceneError, match="deep"):
        house_from_json("[" * 100_000)


class Echo(LanguageModel):
    """Says back what it is told."""

    name = "echo"

    async def complete(self, request: ModelRequest) -> Reply:
        return Reply(text=request.messages[-1].text)


REQUEST = ModelRequest(messages=(Message.user("good morning"),))


@pytest.fixture(scope="session")
def cassette_line(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("cassette") / "talk.jsonl"
    asyncio.run(Recording(Echo(), path).complete(REQUEST))
    return json.loads(path.read_text())


@FUZZ
@given(st.data())
def test_cassettes(cassette_line: Any, tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "talk.jsonl"
    lines = [data.draw(mutated(cassette_line)), cassette_line]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def replay() -> None:
        model = ReplayModel(path, model="echo")
        asyncio.run(model.complete(REQUEST)).text.strip()
        asyncio.run(model.complete(ModelRequest(messages=(Message.user("something else"),))))

    try:
        replay()
    except LanguageError as error:
        assert len(str(error)) < 40_000  # a miss shows a difference, which may be long


def mapper_state() -> bytes:
    mapper = SemanticMapper()
    points = np.random.default_rng(3).uniform(0.0, 1.0, (40, 3)).astype(np.float32)
    thing = Instance("o1", points, points.min(0).astype(float), points.max(0).astype(float))
    thing.labels = LabelBelief({"cup": 2.0})
    mapper.restore([thing], 2)
    return state_bytes(mapper, FloorGrids(()), "map")


STATE = dict(np.load(io.BytesIO(mapper_state())))


@FUZZ
@given(st.data())
def test_mapper_states(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "state.npz"
    arrays = dict(STATE)
    head = data.draw(mutated(json.loads(bytes(arrays["head"]))))
    arrays["head"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
    if data.draw(st.booleans()):
        arrays["points/0"] = data.draw(
            st.sampled_from(
                [np.zeros((0, 3)), np.full((2, 3), np.nan), np.zeros(3), np.array(["a"])]
            )
        )
    np.savez(path, **arrays)
    raw = path.read_bytes()
    if data.draw(st.booleans()):
        spot = data.draw(st.integers(0, len(raw) - 1))
        path.write_bytes(raw[:spot] + b"\xff" + raw[spot + 1 :])

    def use() -> None:
        state = load_state(path)
        mapper = SemanticMapper()
        restore(mapper, state)
        use_scene(mapper.scene())

    refused_or_fine(use, StateError, ValueError)


BODY = Embodiment(name="rover", arm=Arm())


@FUZZ
@given(mutated(json.loads(Resume.of_embodiment(BODY).to_json())))
def test_resumes(data: Any) -> None:
    def use() -> None:
        resume = Resume.from_json(json.dumps(data))
        for arm in resume.manipulation.arms:
            arm.workspace.grid()
        resume.embodiment()

    try:
        use()
    except ValueError as error:  # pydantic's; whoever shows it names the first field
        assert shorten(error)


def test_no_number_of_a_resume_is_infinite_or_fills_the_memory() -> None:
    valid = json.loads(Resume.of_embodiment(BODY).to_json())
    for data in with_extremes(valid):
        try:
            resume = Resume.from_json(json.dumps(data))
        except ValueError:
            continue
        for arm in resume.manipulation.arms:
            assert arm.workspace.grid().size <= 25_000_000
        resume.embodiment()
        assert "Infinity" not in resume.to_json() and "NaN" not in resume.to_json()


@pytest.mark.parametrize("column", ["name", "type"])
def test_bags_whose_text_is_no_text(tmp_path: Path, column: str) -> None:
    path = tmp_path / "bag.db3"
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE topics (id, name, type, serialization_format)")
    base.execute("CREATE TABLE messages (id, topic_id, timestamp, data)")
    base.execute("INSERT INTO topics VALUES (1, 'a', 'sensor_msgs/msg/Image', 'cdr')")
    base.execute(f"UPDATE topics SET {column} = CAST(x'ff00fe' AS TEXT)")
    base.execute("INSERT INTO messages VALUES (1, 1, 0, x'00')")
    base.commit()
    base.close()
    refused_or_fine(lambda: len(open_recording(path)), RecordingError)


def test_a_bag_whose_schema_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "bag.db3"
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE topics (id, name, type, serialization_format)")
    base.commit()
    base.close()
    raw = path.read_bytes()
    assert b"serialization_format" in raw
    for old in (b"serialization_format", b"CREATE TABLE topics"):
        path.write_bytes(raw.replace(old, b"\xff\xfe" + old[2:]))
        refused_or_fine(lambda: len(open_recording(path)), RecordingError)
