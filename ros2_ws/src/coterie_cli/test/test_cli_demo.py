"""`./coterie demo`: what is asked, what comes back, what is shown and left, and the pictures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("coterie_msgs")

from std_msgs.msg import Header

from coterie.floor_plan import legs
from coterie_bringup.errors import CommandError
from coterie_bringup.resources import shipped_team
from coterie_bringup.team_client import FoundObjects, TeamAnswer
from coterie_cli.demo import telling
from coterie_cli.demo.command import DemoOptions, demo_team
from coterie_cli.demo.map_watch import MapWatch, Shown
from coterie_cli.demo.questions import Asked, questions_of_house, told_by
from coterie_cli.demo.record import DemoRecord, MethodScore, Track
from coterie_cli.figures.team_map import cloud_points, draw
from coterie_core.questions import Answer, Evidence, FinalAnswer, OpenAnswer
from coterie_requests.grammar import read
from coterie_requests.presence import presence_of
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_ros import conversions
from coterie_world.scene import SceneGraph
from habitat_bridge.factory import WorldSpec, make_world


@pytest.fixture(scope="module")
def house() -> SceneGraph:
    world = make_world(WorldSpec(kind="embedded", seed=11, floors=1, rooms=4))
    try:
        return world.truth()
    finally:
        world.close()


def _shown(scene: SceneGraph) -> Shown:
    """What a mapper publishes of a scene."""
    head = Header(frame_id="map")
    things = list(scene.objects.values())
    rng = np.random.default_rng(0)
    points = [
        (np.asarray(t.box.center) + 0.2 * rng.standard_normal((20, 3))).astype(np.float32)
        for t in things
    ]
    values = np.zeros((60, 40), np.int8)
    values[0], values[:, 0] = 100, -1
    return Shown(
        scene,
        conversions.instances_to_cloud(points, [(255, 128, 0)] * len(things), head),
        {"floor_0": conversions.grid_to_msg(values, 0.2, (0.0, 0.0, 0.0), head)},
    )


def test_questions_have_their_truth_and_go_to_different_parts_of_the_team(house) -> None:
    asked = questions_of_house(house, 3)
    assert asked == questions_of_house(house, 3)
    assert [a.truth for a in asked[:2]] == ["yes", "no"]
    names = Vocabulary.of(house)
    texts = [a.text for a in asked if not a.find]
    explorers = [presence_of(read(text, names, "ask"), names) is not None for text in texts]
    assert explorers == [True, True, *(False for _ in texts[2:])]
    assert asked[-1].find
    where = next(a for a in asked if a.text.startswith("Where is the "))
    label = where.text.removeprefix("Where is the ").removesuffix("?")
    (thing,) = [t for t in house.objects.values() if t.label.top == label]
    assert house.rooms[thing.room].name == where.truth


def test_what_may_be_understood_in_two_ways_is_not_asked() -> None:
    house = {"kind": "embedded", "seed": 51041, "floors": 1, "rooms": 4}
    truth = make_world(house).truth()
    asked = {one.text for seed in range(100) for one in questions_of_house(truth, seed)}
    labels = {thing.label.top for thing in truth.objects.values()}
    assert {"bed", "cabinet", "wall cabinet", "table", "coffee table"} <= labels
    assert "What color is the bed?" not in asked  # its linen is white, its frame is not
    assert not asked & {"How many cabinets are there?", "Where is the table?"}
    assert "What color is the table?" not in asked
    assert {"What color is the sofa?", "How many wall cabinets are there?"} <= asked


def test_every_kind_of_answer_is_kept_shown_and_saved(house, tmp_path: Path, capsys) -> None:
    from rich.console import Console

    sofa = next(t for t in house.objects.values() if t.kind == "furniture")
    record = DemoRecord("home", "house_11", 11, "majority_vote")
    record.asked = [Asked("Is there a mug?", truth="yes"), Asked("What?"), Asked("sit", find=True)]
    record.asked += [Asked("Which?")]
    final = FinalAnswer("q", True, 0.9, "majority_vote", missing=("cid",))
    answer = Answer("q", "ann", True, 0.8, Evidence("seen", objects=("ann-mug-1",)))
    record.asked[0].take(TeamAnswer(final, (answer,)))
    record.asked[1].take(
        OpenAnswer("q", "grey\x1b[2J", confidence=0.4, guessed=True, objects=(sofa.id, "gone"),
                   frames=("f1",), path=((0.0, 0.0, 0.0), (3.0, 4.0, 0.0)))
    )  # fmt: skip
    record.asked[2].take(FoundObjects((sofa.id,), "to sit on"))
    record.asked[3].take("nobody answers those")
    telling.show_answers(record, house, Console(width=140))
    text = capsys.readouterr().out
    room = house.rooms[sofa.room].name
    thing = f"the {sofa.label.top} in the {room}"
    for words in ("ann saw one; cid gave no answer", "a guess", f"on the map: {thing}", "5.0 m"):
        assert words in text
    assert "\x1b[2J" not in text and "nobody answers" in text
    # People know rooms and things, not ids.
    assert not [id_ for id_ in (sofa.id, "gone", "ann-mug-1") if id_ in text]
    record.save(tmp_path / "demo.json", house)
    data = json.loads((tmp_path / "demo.json").read_text())
    assert [a["kind"] for a in data["asked"]] == ["presence", "open", "find", "none"]
    assert data["asked"][1]["evidence"][0]["room"] == room
    assert telling.marked(record) == {sofa.id: "2,3", "gone": "2"}


def test_who_says_what_is_told_in_one_line() -> None:
    answers = [Answer("q", name, True, 0.8, Evidence("seen")) for name in ("a", "b")]
    answers += [Answer("q", "c", False, 0.8, Evidence("not_there"))]
    answers += [Answer("q", "liar", False, 0.8, Evidence("seen"), "no, it is gone")]
    assert told_by(answers, ["d"]) == (
        "a and b saw one; c looked there in vain; liar said no: no, it is gone; d gave no answer"
    )


def test_the_terminal_shows_the_house_and_where_robots_went(house, capsys) -> None:
    from rich.console import Console

    console = Console(width=100)
    telling.show_house(house, console)
    rooms = list(house.rooms.values())
    drawn = capsys.readouterr().out
    assert all(room.name in drawn for room in rooms) and "┌" in drawn and "┘" in drawn
    middles = [tuple(np.mean(room.polygon, axis=0)) for room in rooms[:2]]
    record = DemoRecord("home", "house_11", 11, "majority_vote")
    record.tracks = [Track("rover", "wheels", way=[(*xy, 0.0) for xy in middles], distance=5.2)]
    record.scores = [MethodScore("majority_vote", "Majority vote", 0.875)]
    telling.show_ways(record, house, console)
    telling.show_things(house, console)
    telling.show_voting(record, console)
    text = capsys.readouterr().out
    assert "R" in text and "•" in text and "5 m" in text
    assert f"{rooms[0].name} and {rooms[1].name}" in text
    assert f"What they found: {len(house.objects)} things" in text
    assert "88% right" in text and "(this team's)" in text


def test_the_picture_is_made_of_what_the_mapper_publishes(house, tmp_path: Path) -> None:
    from PIL import Image

    shown = _shown(house)
    points, colors = cloud_points(shown.points)
    assert points.shape == colors.shape == (20 * len(house.objects), 3)
    assert np.allclose(colors, (1.0, 128 / 255, 0.0))
    id_ = next(iter(house.objects))
    ways = {"rover": [(1.0, 1.0, 0.0), (2.0, 1.0, 0.0)], "drone": []}
    draw(shown, ways, {id_: "1", "gone": "2"}, tmp_path / "map.png", dpi=40)
    pixels = np.asarray(Image.open(tmp_path / "map.png").convert("RGB")).reshape(-1, 3)
    colors = {tuple(c) for c in np.unique(pixels, axis=0).tolist()}
    assert (0xFF, 0xD2, 0x1F) in colors  # a thing that an answer rests on
    # A team that has mapped nothing yet.
    draw(Shown(), {}, {}, tmp_path / "empty.png", dpi=20)
    assert (tmp_path / "empty.png").stat().st_size > 0


def test_a_team_that_cannot_show_anything_is_told_what_it_lacks(tmp_path: Path) -> None:
    file = tmp_path / "team.yaml"
    file.write_text("world: {kind: embedded}\nrobots: [{name: rover, role: cooperator}]\n")
    with pytest.raises(CommandError, match="role: explorer"):
        demo_team(DemoOptions(team=file))
    file.write_text("world: {kind: embedded}\nrobots: [{name: rover}]\nmapper: {}\n")
    team = demo_team(DemoOptions(team=file, seed=5, steps=7))
    assert (team.seed, team.world.seed, team.exploration.steps) == (5, 5, 7)
    # In a real house nobody knows what there is to be asked about.
    lab = shipped_team("lab")
    with pytest.raises(CommandError, match="--ask"):
        demo_team(DemoOptions(team=lab))
    assert demo_team(DemoOptions(team=lab, ask=("Is there a mug?",))).real
    with pytest.raises(CommandError, match="--voting"):
        demo_team(DemoOptions(team=lab, ask=("Is there a mug?",), voting=True))


def test_without_a_map_only_presence_is_asked_for(house) -> None:
    assert questions_of_house(house, 3, mapped=False) == questions_of_house(house, 3)[:2]


@pytest.mark.ros
def test_the_map_is_waited_for(ros, house) -> None:
    """What was published before is heard, floors are found; the wait ends when all is mapped."""
    from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
    from nav_msgs.msg import OccupancyGrid
    from sensor_msgs.msg import PointCloud2

    from coterie_bringup.team_client import Operator
    from coterie_msgs.msg import SemanticMap
    from coterie_ros.qos import profile

    shown = _shown(house)
    node = ros.node("mapper", "home")
    for kind, topic, message in (
        (SemanticMap, "semantic_map", conversions.scene_to_msg(house)),
        (PointCloud2, "semantic_map/points", shown.points),
        (OccupancyGrid, "semantic_map/grid/floor_0", shown.grids["floor_0"]),
    ):
        node.create_publisher(kind, topic, profile("latched")).publish(message)
    operator = ros.add(Operator(["rover"], namespace="home", context=ros.context))
    ros.wait_active(operator)
    reports = node.create_publisher(DiagnosticArray, "/diagnostics", profile("diagnostics"))
    ros.wait_for_matched(reports)

    def report(frames: int, waiting: int) -> None:
        values = [KeyValue(key="map.frames", value=str(frames))]
        values += [KeyValue(key="map.frames_waiting", value=str(waiting))]
        status = DiagnosticStatus(name="home/mapper", values=values)
        reports.publish(DiagnosticArray(status=[status]))

    watch = MapWatch(operator)
    report(7, 3)
    ros.spin_until(lambda: bool(operator.diagnostics_of), what="figures")
    operator.run(watch.start())
    waiting = operator.run(watch.settled(30.0, quiet=0.3))
    ros.spin_until(lambda: bool(watch.shown.grids), what="the floor plan")
    assert not waiting.done()  # three frames are still to be mapped
    # A mapper that says once that all is done may be about to take more.
    ros.spin_until(lambda: (report(10, 0), waiting.done())[1], what="the end of the wait")
    assert waiting.result()["frames"] == 10
    assert watch.shown.scene is not None and len(watch.shown.scene.objects) == len(house.objects)
    heard = watch.shown
    assert bytes(heard.points.data) == bytes(shown.points.data)


def test_no_line_leads_where_nobody_was_seen_to_go():
    way = [(0.0, 0.0, 0.0), (1.5, 0.0, 0.0), (2.5, 1.0, 0.0), (9.0, 6.0, 0.0), (9.0, 7.0, 0.0)]
    assert list(legs(way, 3.0)) == [way[:3], way[3:]]
    assert list(legs(way[:1], 3.0)) == [way[:1]] and not list(legs([], 3.0))
