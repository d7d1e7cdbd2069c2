"""Numbers a robot can trust: reach, sight, ways and sub-tasks in a house of three rooms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from coterie_core.embodiment import Arm, Camera, Embodiment
from coterie_core.geometry import Box, Pose, Vec3
from coterie_core.resume import Resume
from coterie_core.tasks import Obstacle, SubTask, Thing
from coterie_execution.geometry.bodies import UnknownRobot
from coterie_execution.geometry.floorplan import Driven
from coterie_execution.geometry.grasp import grips, reach_of
from coterie_execution.geometry.path_cost import UNCERTAIN_PATH_PENALTY_S
from coterie_execution.geometry.things import ResolvedObject, surfaces_of
from coterie_execution.geometry.toolbox import Toolbox
from coterie_world.scene import (
    AgentState,
    Connection,
    Floor,
    LabelBelief,
    Place,
    PlaceLink,
    Receptacle,
    Room,
    SceneGraph,
    SceneObject,
    Sighting,
)

EYE = Camera(name="eye", mount_height=1.2, pitch=0.3, hfov=1.4)
BODIES = {
    "wheels": Embodiment(name="wheels", radius=0.25, cameras=(EYE,), arm=Arm(max_height=1.2)),
    "wide": Embodiment(name="wide", radius=0.5, cameras=(EYE,), arm=Arm(max_height=1.2)),
    "legs": Embodiment(
        name="legs", mobility="legs", radius=0.25, step_height=0.2, height=0.7,
        cameras=(Camera(name="jaw", mount_height=0.6, pitch=0.0, hfov=0.8),),
        arm=Arm(max_height=1.6, reach=0.9, payload=2.0),
    ),
    "drone": Embodiment(
        name="drone", mobility="air", radius=0.2, height=0.2, flight_height=1.4,
        cameras=(Camera(name="front", mount_height=0.0, pitch=0.4, hfov=1.5),), linear_speed=1.5,
    ),
    "blind": Embodiment(name="blind", cameras=(), arm=Arm()),
    "bolted": Embodiment(name="bolted", mobility="fixed", cameras=(EYE,), arm=Arm()),
}  # fmt: skip


def box(x: float, y: float, bottom: float, *size: float, yaw: float = 0.0) -> Box:
    return Box((x, y, bottom + size[2] / 2.0), (size[0], size[1], size[2]), yaw)


def item(name: str, where: Box, room: str = "hall", **more: object) -> SceneObject:
    label = name.rsplit("-", 1)[0]
    return SceneObject(name, LabelBelief.of(label), where, room, **more)  # type: ignore[arg-type]


def furniture(name: str, where: Box, *heights: float, room: str = "hall", **more) -> SceneObject:
    """Furniture with surfaces at heights [m] above its bottom."""
    thing = item(name, where, room, kind="furniture", **more)
    x, y, _ = where.center
    thing.receptacles = [
        Receptacle(
            f"{name}/{k}",
            Box((x, y, where.bottom + h), (where.size[0] - 0.04, where.size[1] - 0.04, 0.0)),
            inside=thing.is_open is not None,
        )
        for k, h in enumerate(heights)
    ]
    return thing


def house() -> SceneGraph:
    """Hall (0..6, 0..4), kitchen (6..10, 0..4) by a door 0.8 m wide, loft above up stairs."""
    scene = SceneGraph()
    scene.add_floor(Floor("f0", 0, 0.0))
    scene.add_floor(Floor("f1", 1, 2.8))
    for name, floor, x0, x1 in (
        ("hall", "f0", 0, 6),
        ("kitchen", "f0", 6, 10),
        ("loft", "f1", 0, 6),
    ):
        outline = [(x0, 0.0), (x1, 0.0), (x1, 4.0), (x0, 4.0)]
        scene.add_room(Room(name, name, name, floor, [(float(x), y) for x, y in outline]))
    scene.add_connection(Connection("door", "hall", "kitchen", "door", (6.0, 2.0, 0.0), width=0.8))
    scene.add_connection(
        Connection("stairs", "hall", "loft", "stairs", (1.0, 3.4, 0.0), width=0.9, riser=0.175)
    )
    places: dict[str, tuple[Vec3, str]] = {
        "h1": ((2.0, 2.0, 0.0), "hall"), "h2": ((5.3, 2.0, 0.0), "hall"),
        "k1": ((6.7, 2.0, 0.0), "kitchen"), "s0": ((1.0, 3.4, 0.0), "hall"),
        "s1": ((5.2, 3.4, 2.8), "loft"), "l1": ((3.0, 1.5, 2.8), "loft"),
    }  # fmt: skip
    for name, (position, room) in places.items():
        scene.add_place(Place(name, position, room))
    for a, b, riser in (
        ("h1", "h2", 0.0), ("h2", "k1", 0.0), ("h1", "s0", 0.0), ("s0", "s1", 0.175),
        ("s1", "l1", 0.0),
    ):  # fmt: skip
        length = math.dist(places[a][0], places[b][0])
        scene.add_link(PlaceLink(a, b, length, 0.8, riser))
    scene.extend(
        [
            furniture("table-1", box(4.0, 0.8, 0.0, 0.8, 0.8, 0.7), 0.7),
            furniture("bed-1", box(9.0, 1.1, 0.0, 2.0, 2.0, 0.5), 0.5, room="kitchen"),
            furniture("tall-1", box(0.4, 0.4, 0.0, 0.6, 0.6, 1.4), 1.4),
            furniture(
                "cupboard-1", box(7.0, 3.7, 0.0, 0.6, 0.4, 1.0, yaw=0.0), 0.2, 0.6,
                room="kitchen", is_open=False,
            ),
            item("mug-1", box(4.0, 0.6, 0.7, 0.08, 0.08, 0.1), support="table-1"),
            item("vase-1", box(0.4, 0.4, 1.4, 0.1, 0.1, 0.2), support="tall-1"),
            item("book-1", box(9.4, 0.6, 0.5, 0.2, 0.15, 0.04), "kitchen", support="bed-1"),
            item("pillow-1", box(9.0, 1.2, 0.5, 0.3, 0.3, 0.1), "kitchen", support="bed-1"),
            item("plate-1", box(7.0, 3.7, 0.2, 0.2, 0.2, 0.05), "kitchen", container="cupboard-1"),
            item("lamp-1", box(3.0, 1.5, 2.8, 0.2, 0.2, 0.4), "loft"),
            item("anvil-1", box(2.5, 1.0, 0.0, 0.3, 0.2, 0.2), properties={"mass": "30"}),
            item("sofa-1", box(2.5, 3.0, 0.0, 0.9, 0.9, 0.5)),
        ]
    )  # fmt: skip
    return scene


@pytest.fixture(scope="module")
def tools() -> Toolbox:
    resumes = {name: Resume.of_embodiment(body) for name, body in BODIES.items()}
    return Toolbox(house(), resumes)


START: Vec3 = (2.0, 2.0, 0.0)


def task(kind: str, name: str = "", on: str = "", **more) -> SubTask:
    def thing(known: str) -> Thing | None:
        return Thing(label=known.rsplit("-", 1)[0], id=known) if known else None

    return SubTask(id="t", kind=kind, object=thing(name), receptacle=thing(on), **more)


@pytest.mark.parametrize(
    ("robot", "kind", "name", "obstacle"),
    [
        ("wheels", "pick", "mug-1", None),
        ("drone", "pick", "mug-1", Obstacle.NO_ARM),
        ("wheels", "pick", "vase-1", Obstacle.TOO_HIGH),
        ("legs", "pick", "lamp-1", None),
        ("wheels", "pick", "lamp-1", Obstacle.NO_PATH),
        ("wheels", "pick", "pillow-1", Obstacle.TOO_FAR_IN),
        ("legs", "pick", "anvil-1", Obstacle.TOO_HEAVY),
        ("legs", "pick", "sofa-1", Obstacle.TOO_HEAVY),
        ("wide", "pick", "plate-1", Obstacle.NO_PATH),
        ("blind", "pick", "mug-1", Obstacle.NO_CAMERA),
        ("wheels", "pick", "plate-1", None),
        ("drone", "detect", "plate-1", Obstacle.CLOSED),
        ("wheels", "detect", "mug-1", None),
        ("blind", "detect", "mug-1", Obstacle.NO_CAMERA),
        ("legs", "detect", "vase-1", None),
        ("drone", "detect", "lamp-1", None),
        ("wheels", "detect", "lamp-1", Obstacle.NO_PATH),
        ("wheels", "go_to", "pillow-1", None),
        ("wide", "go_to", "cupboard-1", Obstacle.NO_PATH),
        ("wheels", "open", "cupboard-1", None),
        ("wheels", "open", "table-1", Obstacle.OTHER),
        ("drone", "open", "cupboard-1", Obstacle.NO_ARM),
    ],
)
def test_what_bodies_can_do(tools, robot, kind, name, obstacle):
    answer = tools.estimate(robot, task(kind, name), START)
    assert (answer.obstacle, answer.feasible) == (obstacle, obstacle is None), answer.reason
    assert answer.reason
    if answer.feasible:
        assert answer.time > 0.0 and answer.spot is not None
        assert tools.path(robot, START, answer.spot).feasible


def test_reasons_name_the_numbers(tools):
    assert (
        "1.50 m above the floor" in tools.estimate("wheels", task("pick", "vase-1"), START).reason
    )
    stairs = tools.estimate("wheels", task("pick", "lamp-1"), START).reason
    assert "risers of 0.17 m" in stairs or "risers of 0.18 m" in stairs
    door = tools.estimate("wide", task("go_to", "cupboard-1"), START).reason
    assert "0.80 m wide" in door and "1.06 m" in door


def test_place_needs_reach_and_room(tools):
    assert tools.estimate("wheels", task("place", "mug-1", on="table-1"), START).feasible
    high = tools.estimate("wheels", task("place", "mug-1", on="tall-1"), START)
    assert high.obstacle is Obstacle.TOO_HIGH
    inside = tools.estimate("wheels", task("place", "mug-1", on="cupboard-1"), START)
    assert inside.feasible and inside.opens == "cupboard-1"
    opened = tools.estimate(
        "wheels", task("place", "mug-1", on="cupboard-1"), START, opened=["cupboard-1"]
    )
    assert opened.feasible and not opened.opens and opened.time < inside.time
    assert tools.estimate("drone", task("place", "mug-1", on="table-1"), START).feasible is False


@pytest.mark.parametrize("kind", ["pick", "place"])
def test_hands_reach_the_middle_of_long_things(kind):
    """A board half a meter long was to be held by its rim, and the hand was 0.2 m too short."""
    scene = house()
    for name in ("mug-1", "vase-1"):
        del scene.objects[name]
    scene.add_object(item("board-1", box(4.0, 0.8, 0.7, 0.5, 0.5, 0.05), support="table-1"))
    tools = Toolbox(scene, {"wheels": Resume.of_embodiment(BODIES["wheels"])})
    if kind == "place":
        answer = tools.estimate("wheels", task("place", "board-1", on="table-1"), START)
    else:
        answer = tools.estimate("wheels", task("pick", "board-1"), START)
    (hand,) = tools.kind("wheels").body.hands
    assert answer.feasible, answer.reason
    row = hand.row(answer.target[2])
    gap = np.array([math.dist(answer.spot[:2], answer.target[:2])])
    assert hand.reaches(row, gap).all(), (answer.spot, answer.target)


def test_a_full_surface_takes_no_more():
    scene = house()
    scene.add_object(item("slab-1", box(4.0, 0.8, 0.7, 0.76, 0.76, 0.1), support="table-1"))
    full = Toolbox(scene, {"wheels": Resume.of_embodiment(BODIES["wheels"])})
    answer = full.estimate("wheels", task("place", "vase-1", on="table-1"), START)
    assert not answer.feasible and "no room left" in answer.reason


def test_whether_there_is_room_on_furniture_found_on_the_way_is_tried():
    """Its measures are a guess: only where the map has them is a surface said to be full."""
    scene = house()
    scene.add_object(item("slab-1", box(4.0, 0.8, 0.7, 0.76, 0.76, 0.1), support="table-1"))
    scene.objects["table-1"].receptacles = []
    tools = Toolbox(scene, {"wheels": Resume.of_embodiment(BODIES["wheels"])})
    answer = tools.estimate("wheels", task("place", "vase-1", on="table-1"), START)
    assert answer.feasible and answer.target is not None, answer.reason


def test_what_fits_on_a_seat_turned_only_is_tried_where_its_measures_are_a_guess():
    scene = house()
    stool = furniture("stool-1", box(4.6, 2.6, 0.0, 0.34, 0.42, 0.47), 0.47)
    stool.label = LabelBelief.of("stool")
    stool.receptacles = []
    scene.add_object(stool)
    scene.add_object(item("magazine-1", box(4.0, 0.8, 0.7, 0.4, 0.3, 0.02), support="table-1"))
    tools = Toolbox(scene, {"wheels": Resume.of_embodiment(BODIES["wheels"])})
    answer = tools.estimate("wheels", task("place", "magazine-1", on="stool-1"), START)
    assert answer.feasible, answer.reason
    assert answer.target[:2] == pytest.approx((4.6, 2.6))


@pytest.mark.parametrize("bent", [False, True])
@pytest.mark.parametrize(("robot", "passes"), [("wheels", True), ("wide", False)])
def test_boxes_that_a_detector_saw_do_not_close_ways_that_robots_know(robot, passes, bent):
    """Two counters leave a way 0.8 m wide; their boxes were seen 0.3 m too large and close it."""
    scene = house()
    for name, y in (("counter-1", 0.9), ("counter-2", 3.1)):
        rough = box(3.5, y, 0.0, 0.8, 2.3, 0.9)
        scene.add_object(furniture(name, rough, 0.9, last_seen=Sighting(1.0, "rover")))
    if bent:  # the straight line is not free, a way round something is
        scene.add_link(replace(scene.links["h1"]["h2"], length=4.6, width=0.6))
    there = (5.3, 2.0, 0.0)
    resumes = {robot: Resume.of_embodiment(BODIES[robot])}
    assert Toolbox(scene, resumes).path(robot, START, there).feasible is passes
    for thing in scene.objects.values():  # on a map that somebody made they are where they are
        thing.last_seen = None
    closed = Toolbox(scene, resumes).path(robot, START, there)
    assert bent or closed.obstacle is Obstacle.NO_PATH


def parted():
    """Return the house with a sofa that is none across a room, whose ways nobody has measured."""
    scene = house()
    phantom = furniture("sofa-9", box(3.5, 2.0, 0.0, 0.8, 3.9, 0.9), 0.9)
    phantom.last_seen = Sighting(1.0, "wheels")
    scene.add_object(phantom)
    scene.links.clear()
    return scene


def test_where_a_robot_has_driven_boxes_that_were_seen_leave_a_way():
    """A sofa that is none closes the way that the robot came by."""
    scene = parted()
    resumes, there = {"wheels": Resume.of_embodiment(BODIES["wheels"])}, (5.3, 2.0, 0.0)
    tools = Toolbox(scene, resumes)
    assert "trying tells" in tools.path("wheels", START, there).reason
    way = tuple(((x / 2.0, 2.0, 0.0), ((x + 1) / 2.0, 2.0, 0.0)) for x in range(4, 10))
    radius = BODIES["wheels"].radius
    driven = tools.with_scene(scene, resumes, Driven(way, radius))
    assert driven is not tools
    known = driven.path("wheels", START, there)
    assert known.feasible and "trying tells" not in known.reason
    again = driven.with_scene(scene, resumes, Driven((*way, (START, START)), radius))
    assert again.plan is driven.plan, "nothing new was driven through"
    for thing in scene.objects.values():  # on a map that somebody made it is where it is
        thing.last_seen = None
    assert not Toolbox(scene, resumes, Driven(way, radius)).path("wheels", START, there).feasible


def test_what_furniture_that_was_seen_only_closes_is_tried_and_comes_last():
    scene = parted()
    phantom = scene.objects["sofa-9"]
    beyond = item("vase-8", box(5.3, 1.0, 0.0, 0.1, 0.1, 0.2))
    scene.add_object(beyond)
    resumes = {"wheels": Resume.of_embodiment(BODIES["wheels"])}
    tools = Toolbox(scene, resumes)
    answer = tools.estimate("wheels", task("go_to", "vase-8"), START)
    assert answer.feasible and "trying tells" in answer.reason
    phantom.box = box(3.5, 2.0, 2.2, 0.8, 3.9, 0.2)  # above the robot's head: nothing is closed
    free = Toolbox(scene, resumes).estimate("wheels", task("go_to", "vase-8"), START)
    assert free.feasible and "trying" not in free.reason
    assert answer.time == pytest.approx(free.time + UNCERTAIN_PATH_PENALTY_S, abs=15.0)
    phantom.box, phantom.last_seen = box(3.5, 2.0, 0.0, 0.8, 3.9, 0.9), None
    shut = Toolbox(scene, resumes).estimate("wheels", task("go_to", "vase-8"), START)
    assert shut.obstacle is Obstacle.NO_PATH and "no way" in shut.reason


def test_what_seen_furniture_surrounds_is_gone_near_to_and_comes_last():
    """A sofa whose box takes in all floor around the table: no spot is left to stand on."""
    scene = house()
    spot = scene.objects["mug-1"].box.center
    wide = furniture("sofa-9", box(spot[0], spot[1], 0.0, 3.6, 3.6, 0.7), 0.7)
    wide.receptacles, wide.last_seen = [], Sighting(1.0, "wheels")
    scene.add_object(wide)
    resumes = {"wheels": Resume.of_embodiment(BODIES["wheels"])}
    tools = Toolbox(scene, resumes)
    answer = tools.estimate("wheels", task("pick", "mug-1"), START)
    assert answer.feasible and "trying tells" in answer.reason, answer.reason
    plain = Toolbox(house(), resumes).estimate("wheels", task("pick", "mug-1"), START)
    assert (
        "trying" not in plain.reason and answer.time > plain.time + UNCERTAIN_PATH_PENALTY_S / 2.0
    )
    again = tools.with_scene(scene, resumes).estimate("wheels", task("pick", "mug-1"), START)
    assert again == answer
    wide.last_seen = None  # on a map that somebody made there is no floor there
    shut = Toolbox(scene, resumes).estimate("wheels", task("pick", "mug-1"), START)
    assert not shut.feasible


def test_shelves_found_on_the_way_have_boards_below_their_top():
    scene = house()
    shelf = furniture("shelf-1", box(3.0, 3.0, 0.0, 0.8, 0.3, 1.8), 1.8)
    shelf.receptacles, shelf.label = [], LabelBelief.of("bookshelf")
    scene.add_object(shelf)
    tools = Toolbox(scene, {"wheels": Resume.of_embodiment(BODIES["wheels"])})
    answer = tools.estimate("wheels", task("place", "vase-1", on="shelf-1"), START)
    assert answer.feasible and answer.target is not None, answer.reason
    assert 0.0 < answer.target[2] < 1.5, "the hand does not get to the top"


def test_what_was_seen_far_too_large_for_its_kind_is_no_load_for_a_giant():
    """Two looks made one bottle of 0.8 m: nobody would ever take it."""
    scene = house()
    bottle = scene.objects["mug-1"]
    x, y, z = bottle.box.center
    bottle.label, bottle.box = LabelBelief.of("water bottle"), Box((x, y, z), (0.82, 0.1, 0.22))
    resumes = {"wheels": Resume.of_embodiment(BODIES["wheels"])}
    given = Toolbox(scene, resumes).estimate("wheels", task("pick", "mug-1"), START)
    assert given.obstacle is Obstacle.TOO_HEAVY, "a map that was given has it so large"
    bottle.last_seen = Sighting(1.0, "wheels")
    seen = Toolbox(scene, resumes).estimate("wheels", task("pick", "mug-1"), START)
    assert seen.feasible and seen.target[:2] == pytest.approx((x, y)), seen.reason


def test_what_a_robot_has_seen_is_in_view_from_somewhere_whatever_rough_boxes_say():
    """A brush in a corner between a shelf and a toilet, whose boxes were seen too wide."""
    scene = house()
    for name, left in (("shelf-1", 2.1), ("toilet-1", 2.95)):
        rough = box(left + 0.475, 3.56, 0.0, 0.95, 0.72, 1.2)
        scene.add_object(furniture(name, rough, 1.2, last_seen=Sighting(1.0, "wheels")))
    brush = item("brush-1", box(3.0, 3.96, 0.0, 0.06, 0.06, 0.38))
    scene.add_object(brush)
    resumes = {"wheels": Resume.of_embodiment(BODIES["wheels"])}

    def look(at="brush-1"):
        return Toolbox(scene, resumes).estimate("wheels", task("detect", at), START)

    given = look()
    assert given.obstacle is Obstacle.OCCLUDED, "on a map that somebody made it may be hidden"
    brush.last_seen = Sighting(1.0, "wheels")
    seen = look()
    assert seen.feasible and seen.spot is not None, seen.reason
    for name in ("shelf-1", "toilet-1"):
        scene.objects[name].last_seen = None
    assert look().obstacle is Obstacle.OCCLUDED, "furniture of such a map is where it is"


def test_a_box_much_higher_than_its_kind_takes_in_what_stands_on_it():
    """A counter 1.6 m high: with what hangs above it, so that a hand gets on it all the same."""
    scene = house()
    high = furniture("counter-9", box(3.0, 3.0, 0.0, 0.6, 0.6, 1.6), 1.6)
    high.receptacles, high.label = [], LabelBelief.of("counter")
    scene.add_object(high)
    resumes = {"wheels": Resume.of_embodiment(BODIES["wheels"])}
    answer = Toolbox(scene, resumes).estimate(
        "wheels", task("place", "vase-1", on="counter-9"), START
    )
    assert answer.feasible and answer.target is not None, answer.reason
    assert answer.target[2] == pytest.approx(0.9, abs=0.1)
    high.label = LabelBelief.of("gizmo")  # a kind of which nobody knows how high it gets
    other = Toolbox(scene, resumes).estimate(
        "wheels", task("place", "vase-1", on="counter-9"), START
    )
    assert other.obstacle is Obstacle.TOO_HIGH


def test_what_fills_the_very_place_of_a_thing_or_is_in_a_hand_does_not_hide_it():
    """A detector's second name for the mug, as large as what stands there, and a thing taken up."""
    scene = house()
    mug = scene.objects["mug-1"].box
    round_it = Box(mug.center, (0.3, 0.3, 0.3))
    scene.add_object(item("vase-9", round_it, support="table-1"))
    for k in range(4):
        x, y = 0.25 * math.cos(k * math.pi / 2.0), 0.25 * math.sin(k * math.pi / 2.0)
        held = Box((mug.center[0] + x, mug.center[1] + y, mug.center[2]), (0.4, 0.4, 0.6))
        scene.add_object(item(f"box-{k}", held))
    tools = Toolbox(scene, {"wheels": Resume.of_embodiment(BODIES["wheels"])})
    answer = tools.estimate("wheels", task("pick", "mug-1"), START)
    assert answer.feasible, answer.reason


def test_a_thing_that_was_seen_a_little_too_low_lies_on_the_floor():
    scene = house()
    spot = scene.objects["mug-1"].box
    scene.objects["mug-1"].box = Box((2.0, 3.0, -0.04), spot.size)
    scene.objects["mug-1"].support = ""
    low = Embodiment(
        name="low", radius=0.25, cameras=(EYE,), arm=Arm(min_height=0.0, max_height=1.2)
    )
    tools = Toolbox(scene, {"low": Resume.of_embodiment(low)})
    answer = tools.estimate("low", task("pick", "mug-1"), START)
    assert answer.feasible, answer.reason


def test_no_room_is_not_said_of_boards_that_another_arm_may_reach():
    scene = house()
    scene.add_object(furniture("rack-1", box(3.0, 3.0, 0.0, 0.8, 0.3, 1.8), 0.7, 1.7))
    full = box(3.0, 3.0, 0.7, 0.76, 0.26, 0.1)
    scene.add_object(item("slab-1", full, support="rack-1"))
    tools = Toolbox(scene, {"wheels": Resume.of_embodiment(BODIES["wheels"])})
    answer = tools.estimate("wheels", task("place", "vase-1", on="rack-1"), START)
    assert answer.obstacle is Obstacle.TOO_HIGH, answer.reason


def test_the_target_of_a_place_is_free_and_on_the_surface(tools):
    answer = tools.estimate("wheels", task("place", "vase-1", on="table-1"), START)
    assert answer.target is not None
    surface = Box((4.0, 0.8, 0.7), (0.76, 0.76, 0.0))
    assert surface.contains(answer.target, 1e-6)
    assert math.dist(answer.target[:2], (4.0, 0.6)) > 0.08


def test_what_is_put_down_can_be_seen_from_there():
    """A screen on each side of the table but one: the hand gets over it, the eye does not."""
    scene = house()
    for k, (x, y, w, d) in enumerate(
        [(3.57, 0.8, 0.02, 0.8), (4.43, 0.8, 0.02, 0.8), (4.0, 0.37, 0.8, 0.02)]
    ):
        scene.add_object(item(f"screen-{k}", box(x, y, 0.0, w, d, 1.7), kind="furniture"))
    low = BODIES["wheels"].model_copy(update={"cameras": (EYE.model_copy(update={"pitch": 0.5}),)})
    tools = Toolbox(scene, {"wheels": Resume.of_embodiment(low)})
    answer = tools.estimate("wheels", task("place", "vase-1", on="table-1"), START)
    assert answer.feasible and answer.spot is not None and answer.target is not None
    x, y, _ = answer.spot
    eye, point = (x, y, 1.2), (*answer.target[:2], answer.target[2] + 0.1)
    assert tools.lines.clear(np.array([eye]), np.array([point]), 0)[0, 0]


def test_of_two_boards_the_one_counts_first_where_it_sees_what_it_puts_down():
    """From where the hand gets to the lower one, the camera looks over it."""
    scene = house()
    scene.add_object(furniture("rack-1", box(3.0, 3.0, 0.0, 0.8, 0.3, 0.9), 0.3, 0.8))
    tools = Toolbox(scene, {"wheels": Resume.of_embodiment(BODIES["wheels"])})
    lower, upper = (r.surface.center[2] for r in scene.objects["rack-1"].receptacles)
    assert lower < upper
    answer = tools.estimate("wheels", task("place", "vase-1", on="rack-1"), START)
    assert answer.feasible and answer.target is not None
    assert answer.target[2] == pytest.approx(upper)


def test_what_lies_somewhere_on_a_table_is_looked_for_all_over_it(tools):
    scene = house()
    for x, y, w, d in ((4.0, 0.62, 0.4, 0.02), (4.0, 0.98, 0.4, 0.02), (3.82, 0.8, 0.02, 0.4),
                       (4.18, 0.8, 0.02, 0.4)):  # fmt: skip
        name = f"panel-{x:.2f}{y:.2f}"
        scene.add_object(item(name, box(x, y, 0.7, w, d, 0.9), support="table-1", kind="furniture"))
    scene.objects["mug-1"].box = box(4.0, 0.8, 0.7, 0.08, 0.08, 0.1)  # where it is taken to be
    tools = tools.with_scene(scene)
    assert not tools.estimate("wheels", task("detect", "mug-1"), START).feasible
    somewhere = tools.estimate("wheels", task("detect", "mug-1", on="table-1"), START)
    assert somewhere.feasible and somewhere.target != scene.objects["mug-1"].box.center


def test_hands_hold_one_thing(tools):
    answer = tools.estimate("wheels", task("pick", "mug-1"), START, holding="book-1")
    assert answer.obstacle is Obstacle.HANDS_FULL
    assert tools.estimate("wheels", task("pick", "mug-1"), START, holding="mug-1").time == 0.0
    scene = house()
    scene.agents["wheels"] = AgentState("wheels", Pose(START), "hall", holding="book-1")
    holding = tools.with_scene(scene)
    assert holding.estimate("wheels", task("pick", "mug-1")).obstacle is Obstacle.HANDS_FULL


def reach(tools, point, *, radius=0.0, start=None):
    """Return how the hand of a robot on wheels gets to a point [m]."""
    kind, floor = tools.kind("wheels"), tools.plan.floor_index(point[2])
    around = Box(point, (2.0 * radius, 2.0 * radius, 0.0))
    components = None if start is None else tools.components_of("wheels", start)
    found, trouble = grips(kind.space, kind.body, around, point[2], floor, components)
    return reach_of(found[0], 0, tools.plan.elevation(floor), "it") if found else trouble


def sight(tools, robot, point, start):
    """Return how a robot gets a point [m] into view from where it starts [m]."""
    meant = ResolvedObject("", Box(point, (0.0, 0.0, 0.0)))
    return tools.view(robot, meant, tools.components_of(robot, start))


def test_reach_takes_the_arm_from_a_spot_to_a_point(tools):
    near = reach(tools, (4.0, 0.8, 0.75))
    assert near.feasible and near.spot is not None
    assert math.dist(near.spot[:2], (4.0, 0.8)) <= 0.8 and near.margin >= 0.0
    assert reach(tools, (9.0, 1.1, 0.55)).obstacle is Obstacle.TOO_FAR_IN, "in the middle of a bed"
    assert reach(tools, (9.0, 1.1, 0.55), radius=0.8).feasible
    assert reach(tools, (3.0, 1.5, 3.3)).feasible  # from a spot upstairs
    assert reach(tools, (3.0, 1.5, 3.3), start=START).obstacle is Obstacle.TOO_FAR_IN
    assert reach(tools, (3.0, 3.0, 2.3)).obstacle is Obstacle.TOO_HIGH


def test_sight_needs_field_range_and_a_clear_line(tools):
    assert sight(tools, "wheels", (4.0, 2.0, 0.8), START).feasible
    assert sight(tools, "drone", (5.0, 1.0, 0.1), START).feasible
    assert sight(tools, "wheels", (2.0, 2.0, 2.45), START).feasible  # from far enough
    assert not sight(tools, "legs", (6.9, 3.8, 2.45), (6.7, 2.0, 0.0)).feasible
    # A level camera low down sees nothing under the ceiling; from far enough away it would.
    narrow = Resume.of_embodiment(
        BODIES["legs"].model_copy(
            update={"cameras": (Camera(name="n", mount_height=0.5, pitch=0.0, hfov=0.3),)}
        )
    )
    low = Toolbox(house(), {"low": narrow})
    assert sight(low, "low", (4.0, 0.8, 2.6), START).obstacle is Obstacle.OUT_OF_VIEW
    boxed = house()
    for k, (x, y) in enumerate(((3.0, 2.0), (5.0, 2.0), (4.0, 1.0), (4.0, 3.0))):
        size = (0.2, 2.2, 2.4) if k < 2 else (2.2, 0.2, 2.4)
        boxed.add_object(furniture(f"screen-{k}", box(x, y, 0.0, *size)))
    hidden = Toolbox(boxed, {"wheels": Resume.of_embodiment(BODIES["wheels"])})
    answer = sight(hidden, "wheels", (4.0, 2.0, 0.3), (1.0, 1.0, 0.0))
    assert not answer.feasible and answer.obstacle in (Obstacle.OCCLUDED, Obstacle.OUT_OF_VIEW)


def test_ways_by_embodiment(tools):
    kitchen, loft = (7.0, 2.0, 0.0), (3.0, 1.5, 2.8)
    way = tools.path("wheels", START, kitchen)
    assert way.feasible and way.length == pytest.approx(5.0, abs=0.3)
    assert way.rooms == ("hall", "kitchen")
    assert tools.path("wheels", START, loft).obstacle is Obstacle.NO_PATH
    assert tools.path("legs", START, loft).feasible
    assert tools.path("wide", START, kitchen).obstacle is Obstacle.NO_PATH
    assert tools.path("drone", START, kitchen).time < way.time  # it is faster
    assert tools.path("bolted", START, kitchen).obstacle is Obstacle.NO_PATH
    assert tools.path("wheels", START, (40.0, 40.0, 0.0)).obstacle is Obstacle.NO_PATH


def test_search_tours_the_rooms_it_gets_to(tools):
    everywhere = tools.estimate("wheels", task("search", "mug"), START)
    assert everywhere.feasible and "2 rooms" in everywhere.reason and "1 rooms" in everywhere.reason
    named = tools.estimate("wheels", task("search", "mug", rooms=("loft",)), START)
    assert named.obstacle is Obstacle.NO_PATH
    assert tools.estimate("legs", task("search", "mug", rooms=("loft",)), START).feasible
    gone = tools.estimate("legs", task("search", "mug", rooms=("attic",)), START)
    assert gone.obstacle is Obstacle.UNKNOWN_THING
    assert tools.estimate("blind", task("search", "mug"), START).obstacle is Obstacle.NO_CAMERA


def test_what_nobody_has_found_yet(tools):
    fork = Thing(label="fork")
    lost = tools.estimate("wheels", SubTask(id="a", kind="pick", object=fork), START)
    assert lost.obstacle is Obstacle.UNKNOWN_THING
    later = SubTask(id="a", kind="pick", object=fork, depends_on=("find",))
    answer = tools.estimate("wheels", later, START)
    assert answer.feasible
    assert tools.estimate("drone", later, START).obstacle is Obstacle.NO_ARM


def test_labels_positions_and_rooms_are_understood(tools):
    by_label = SubTask(id="a", kind="pick", object=Thing(label="mug"))
    mug = tools.scene.objects["mug-1"].box
    assert tools.estimate("wheels", by_label, START).target == mug.center
    point = Thing(label="cup", position=(5.0, 3.0, 0.4))
    assert tools.estimate("wheels", SubTask(id="a", kind="pick", object=point), START).feasible
    room = SubTask(id="a", kind="go_to", rooms=("kitchen",))
    assert tools.estimate("wheels", room, START).feasible
    assert tools.estimate("wide", room, START).obstacle is Obstacle.NO_PATH
    attic = SubTask(id="a", kind="go_to", rooms=("attic",))
    assert tools.estimate("wheels", attic, START).obstacle is Obstacle.UNKNOWN_THING
    floor = SubTask(
        id="a", kind="place", object=Thing(label="mug"),
        receptacle=Thing(label="floor", position=(7.5, 2.5, 0.0)),
    )  # fmt: skip
    assert tools.estimate("wheels", floor, START).feasible


def test_unknown_robots_are_named(tools):
    with pytest.raises(UnknownRobot, match="no resume of a robot 'ghost'; known are: blind"):
        tools.path("ghost", START, START)


def test_equal_bodies_share_and_another_state_keeps_the_plan(tools):
    twin = Resume.of_embodiment(BODIES["wheels"].model_copy(update={"name": "twin"}))
    more = tools.with_scene(tools.scene, {**tools.resumes, "twin": twin})
    assert more.kind("twin") is more.kind("wheels")
    assert more.plan is tools.plan
    moved = house()
    moved.objects["mug-1"].box = replace(moved.objects["mug-1"].box, center=(2.0, 0.5, 1.3))
    assert tools.with_scene(moved).plan is tools.plan
    assert not tools.with_scene(moved).estimate("wheels", task("pick", "mug-1"), START).feasible
    moved.rooms["hall"].polygon = [(0.0, 0.0), (6.0, 0.0), (6.0, 3.0), (0.0, 3.0)]
    assert tools.with_scene(moved).plan is not tools.plan


def test_houses_without_outlines_go_by_places():
    scene = house()
    for room in scene.rooms.values():
        room.polygon = []
    tools = Toolbox(scene, {n: Resume.of_embodiment(b) for n, b in BODIES.items()})
    assert tools.path("wheels", START, (6.7, 2.0, 0.0)).feasible
    assert tools.path("wheels", START, (3.0, 1.5, 2.8)).obstacle is Obstacle.NO_PATH
    assert tools.path("legs", START, (3.0, 1.5, 2.8)).feasible
    assert tools.path("wide", START, (6.7, 2.0, 0.0)).obstacle is Obstacle.NO_PATH
    room = SubTask(id="a", kind="go_to", rooms=("kitchen",))
    assert tools.estimate("wheels", room, START).feasible


def test_houses_without_places_go_by_rooms():
    scene = house()
    scene.places, scene.links = {}, {}
    tools = Toolbox(scene, {n: Resume.of_embodiment(b) for n, b in BODIES.items()})
    way = tools.path("wheels", START, (7.0, 2.0, 0.0))
    assert way.feasible and 4.5 < way.length < 9.0
    assert tools.path("wheels", START, (3.0, 1.5, 2.8)).obstacle is Obstacle.NO_PATH
    assert tools.path("legs", START, (3.0, 1.5, 2.8)).feasible


def test_nothing_known_is_no_crash():
    tools = Toolbox(SceneGraph(), {n: Resume.of_embodiment(b) for n, b in BODIES.items()})
    for robot in BODIES:
        for kind in ("pick", "detect", "go_to", "open"):
            answer = tools.estimate(robot, task(kind, "mug-1"), START)
            assert not answer.feasible and answer.obstacle is not None
    assert not reach(tools, START).feasible
    assert not sight(tools, "wheels", START, START).feasible
    assert not tools.path("wheels", START, START).feasible


def test_positions_that_are_no_metres_are_refused():
    scene = house()
    scene.rooms["hall"].polygon = [(0.0, 0.0), (6000.0, 0.0), (6000.0, 4000.0), (0.0, 4000.0)]
    with pytest.raises(ValueError, match="expected a house in meters"):
        Toolbox(scene, {})


@pytest.mark.parametrize(
    ("label", "height", "surface", "size"),
    [
        ("armchair", 0.83, 0.45, (0.54, 0.48)),
        ("ottoman", 0.4, 0.4, (0.54, 0.48)),
        ("bed", 1.1, 0.55, (0.54, 0.48)),
        ("table", 0.75, 0.75, (0.74, 0.64)),
    ],
)
def test_of_what_is_known_as_a_box_edges_arms_and_backs_are_no_surface(
    label, height, surface, size
):
    box = Box((1.0, 2.0, height / 2.0), (0.9, 0.8, height))
    thing = SceneObject("t", LabelBelief.of(label), box, kind="furniture")
    (found,) = surfaces_of(ResolvedObject(label, box, thing), None)
    assert found.box.center == pytest.approx((1.0, 2.0, surface))
    assert found.box.size == pytest.approx((*size, 0.0))
    (large,) = surfaces_of(
        ResolvedObject(label, box, thing), Box((0.0, 0.0, 0.0), (0.85, 0.3, 0.1))
    )
    assert large.box.size == pytest.approx((0.9, 0.8, 0.0)), "else there is no room for it"


def test_each_skill_of_a_package_takes_its_own_time_and_one_that_is_not_there_is_told(
    tools: Toolbox, own_skills
) -> None:
    def estimate(skill: str):
        return tools.estimate("wheels", task("use", "table-1", skill=skill), START)

    wipe, press, scrub = map(estimate, ("wipe", "press", "scrub"))
    assert wipe.feasible and press.feasible
    assert (wipe.work, press.work) == (own_skills.WIPE.seconds, own_skills.PRESS.seconds)
    assert not scrub.feasible and "no package that does 'scrub' is installed" in scrub.reason
