"""Bodies in a house: who gets where, why not, and that nobody walks through anything."""

from __future__ import annotations

import math

import networkx as nx
import pytest
import shapely

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Box, Pose
from coterie_core.skills import NavigateTo, Outcome, SkillRefused, Wait
from coterie_fixtures.tiny_house import UPPER, thing, tiny_house
from habitat_bridge.embedded.body import Walk, YieldManeuver
from habitat_bridge.embedded.deadlock_avoidance import make_way
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.house.house import House
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import Start, WorldError, run_skill

WIDE = Embodiment(name="wide", mobility="wheels", radius=0.28)
SLIM = Embodiment(name="slim", mobility="wheels", radius=0.2)
LEGS = Embodiment(name="legs", mobility="legs", radius=0.25, height=0.8, step_height=0.2)
SHORT = Embodiment(name="short", mobility="legs", radius=0.25, height=0.8, step_height=0.1)
DRONE = Embodiment(
    name="drone", mobility="air", radius=0.2, height=0.2, flight_height=1.2, linear_speed=1.5
)
HIGH = DRONE.model_copy(update={"name": "high", "flight_height": 1.9})

KITCHEN, LIVING = (2.0, 2.0, 0.0), (5.5, 2.0, 0.0)
BATH, BEDROOM = (2.0, 5.5, 0.0), (6.5, 2.0, UPPER)


def world(house: House | None = None, **options: object) -> EmbeddedWorld:
    options.setdefault("look_on_arrival", False)
    return EmbeddedWorld(house or tiny_house(), noise=DetectorNoise.none(), **options)  # type: ignore[arg-type]


def at(position: tuple[float, float, float], yaw: float = 0.0) -> Start:
    return Start(pose=Pose(position, yaw))


@pytest.mark.parametrize(
    ("body", "goal", "outcome", "reason"),
    [
        (WIDE, LIVING, Outcome.SUCCEEDED, ""),
        (WIDE, BATH, Outcome.UNREACHABLE, "door d_kb (0.60 m) is too narrow for radius 0.28 m"),
        (WIDE, BEDROOM, Outcome.UNREACHABLE, "stairs s1: risers 0.175 m, wheels"),
        (SLIM, BATH, Outcome.SUCCEEDED, ""),
        (SLIM, BEDROOM, Outcome.UNREACHABLE, "stairs s1"),
        (LEGS, BATH, Outcome.SUCCEEDED, ""),
        (LEGS, BEDROOM, Outcome.SUCCEEDED, ""),
        (SHORT, BEDROOM, Outcome.UNREACHABLE, "stairs s1: risers 0.175 m, step height 0.10 m"),
        (DRONE, BEDROOM, Outcome.SUCCEEDED, ""),
        (HIGH, LIVING, Outcome.UNREACHABLE, "door d_kl (2.05 m high) is too low"),
    ],
    ids=lambda v: v.name if isinstance(v, Embodiment) else None,
)
def test_who_gets_where(
    body: Embodiment, goal: tuple[float, float, float], outcome: Outcome, reason: str
) -> None:
    sim = world()
    sim.add_robot("r", body, at(KITCHEN))
    result = run_skill(sim, "r", NavigateTo(position=goal))
    assert result.outcome is outcome
    assert reason in result.reason
    if outcome is Outcome.SUCCEEDED:
        assert math.dist(sim.state("r").pose.position[:2], goal[:2]) < 0.1
        assert sim.state("r").pose.position[2] == pytest.approx(
            goal[2] + (body.flight_height if body.mobility == "air" else 0.0)
        )
        assert result.distance == pytest.approx(sim.state("r").travelled)
        assert result.duration >= result.distance / body.linear_speed - 0.2


def test_low_things_and_high_things_do_not_block() -> None:
    # The rug lies under the way, the wall shelf hangs at 1.7 m.
    sim = world()
    sim.add_robot("r", WIDE.model_copy(update={"height": 1.2}), at((9.9, 1.0, 0.0)))
    assert run_skill(sim, "r", NavigateTo(position=(10.6, 1.0, 0.0))).details == {}
    tall = world()
    tall.add_robot("r", WIDE.model_copy(update={"height": 1.9}), at((9.9, 1.0, 0.0)))
    result = run_skill(tall, "r", NavigateTo(position=(10.6, 1.0, 0.0)))
    assert float(result.details["goal_offset"]) > 0.15
    assert run_skill(sim, "r", NavigateTo(position=(7.5, 2.4, 0.0))).ok  # on the rug


@pytest.mark.parametrize("tolerance", [0.1, 0.25, 0.6, 1.2])
def test_success_is_within_the_tolerance(tolerance: float) -> None:
    sim = world()
    sim.add_robot("w", SLIM, at((5.0, 1.0, 0.0)))
    ends = set()
    for k in range(12):  # beside the sofa, and into it
        goal = (5.75 + 0.15 * k, 0.5, 0.0)
        skill = NavigateTo(position=goal, yaw=1.0, tolerance=tolerance)
        result = run_skill(sim, "w", skill)
        ends.add(result.outcome)
        off, angle = skill.left(sim.state("w").pose)
        if result.ok:
            assert off <= tolerance + 1e-6 and abs(angle) <= skill.yaw_tolerance
        else:
            assert result.outcome is Outcome.UNREACHABLE
            assert result.reason
    assert Outcome.SUCCEEDED in ends
    assert (Outcome.UNREACHABLE in ends) == (tolerance < 1.0)


def test_a_drone_flies_over_the_sofa() -> None:
    sim = world()
    sim.add_robot("d", DRONE, at((7.5, 2.5, 0.0)))
    sim.add_robot("w", SLIM, at((5.0, 1.0, 0.0)))
    assert run_skill(sim, "d", NavigateTo(position=(7.5, 0.5, 0.0))).details == {}
    walked = run_skill(sim, "w", NavigateTo.near((7.5, 0.5, 0.0)))
    assert walked.ok and float(walked.details["goal_offset"]) > 0.5


def test_places_are_the_same_for_all_and_links_are_not() -> None:
    sim = world()
    for name, body in (("wide", WIDE), ("legs", LEGS)):
        sim.add_robot(name, body, Start(room="kitchen" if name == "wide" else "bedroom"))
    scene = sim.truth()
    assert {place.room for place in scene.places.values()} == set(scene.rooms)
    wide, legs = (body.places for body in sim.bodies)
    assert wide.ids == legs.ids == list(scene.places)
    doors = [
        (a, b)
        for a, b in sim.place_map.links
        if {scene.places[a].room, scene.places[b].room} == {"r_kitchen", "r_bath"}
    ]
    assert doors
    for a, b in doors:
        assert b in legs.ways(a)
        assert b not in wide.ways(a)
        assert scene.links[a][b].width <= 0.6
    ((low, high),) = sim.place_map.stairs
    assert high in legs.ways(low)
    assert high not in wide.ways(low)
    assert scene.links[low][high].riser == pytest.approx(0.175)
    assert nx.is_connected(nx.Graph(list(sim.place_map.links)))


def test_one_hop_leads_to_every_neighbour() -> None:
    house = generate_house(5, floors=2, rooms=8)
    for name in ("legs", "wheels"):
        sim = world(house)
        sim.add_robot("r", EMBODIMENTS[name])
        for _ in range(12):
            seen = sim.observe("r")
            assert seen.neighbours
            hop = seen.neighbours[sim.steps % len(seen.neighbours)]
            result = run_skill(sim, "r", NavigateTo(place=hop.id))
            assert result.ok, result.reason
            assert sim.state("r").place == hop.id
            # The robot turns corners and starts where it stopped, so a little is allowed.
            assert result.distance <= hop.distance * 1.3 + 0.9


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("name", ["wheels", "legs", "air"])
def test_nobody_walks_through_anything(seed: int, name: str) -> None:
    house = generate_house(seed, rooms=8, floors=1)
    body = EMBODIMENTS[name]
    sim = world(house)
    sim.add_robot("r", body)
    base = body.flight_height if body.mobility == "air" else 0.0
    low = base if body.mobility == "air" else max(0.03, body.step_height)
    solid = [
        shapely.Polygon(thing.box.footprint())
        for thing in house.objects
        if thing.kind != "item" and thing.box.bottom < base + body.height and thing.box.top > low
    ]
    for wall in house.walls:
        if wall.base < base + body.height and wall.base + wall.height > low:
            solid.append(shapely.LineString([wall.start, wall.end]).buffer(0.05, cap_style="flat"))
    everything = shapely.union_all(solid)
    shapely.prepare(everything)
    goals = [place for place in sim.truth().places if sim.bodies[0].places.stand(place)]
    moved = 0
    for goal in goals[::3]:
        try:
            sim.start_skill("r", NavigateTo(place=goal))
        except SkillRefused as refused:
            assert refused.result.outcome is Outcome.UNREACHABLE
            continue
        for _ in range(2000):
            results = sim.tick(0.25)
            x, y, _ = sim.state("r").pose.position
            # One cell of the raster is what a body may be nearer than its radius.
            assert everything.distance(shapely.Point(x, y)) > body.radius - 0.05
            if results:
                break
        assert results["r"].ok
        moved += 1
    assert moved >= 3


def test_nearest_places_stay_within_the_room() -> None:
    sim = world()
    sim.add_robot("r", SLIM, at((3.6, 2.9, 0.0)))
    place = sim.state("r").place
    assert sim.truth().places[place].room == "r_kitchen"


def test_an_idle_robot_makes_way_and_comes_back() -> None:
    sim = world()
    sim.add_robot("idle", LEGS, at((3.4, 2.0, 0.0), 1.0))
    sim.add_robot("goer", WIDE, at((5.5, 2.0, 0.0)))
    home = sim.state("idle").pose
    result = run_skill(sim, "goer", NavigateTo(position=(1.2, 2.6, 0.0)))
    assert result.ok, result.reason
    for _ in range(200):
        sim.tick(0.1)
    assert math.dist(sim.state("idle").pose.position, home.position) < 0.01
    assert sim.state("idle").pose.yaw == pytest.approx(home.yaw)
    assert sim.state("idle").busy == ""


@pytest.mark.parametrize("coming_back", [False, True])
def test_a_robot_that_is_touched_is_asked_even_where_a_way_leads_past_it(coming_back) -> None:
    """The way around it begins a little nearer to it than the robots stand."""
    sim = world()
    sim.add_robot("idle", SLIM, at((1.625, 0.925, 0.0)))
    sim.add_robot("goer", SLIM, at((2.5, 2.5, 0.0)))
    idle, goer = sim.bodies
    goer.pose = Pose((1.3104, 1.1104, 0.0), 0.93)
    sim.start_skill("goer", NavigateTo(position=(6.525, 1.375, 0.0)))
    home = idle.pose
    if coming_back:
        home = Pose((1.075, 1.175, 0.0), 1.0)
        walk = Walk(
            idle.places.space.plan(idle.pose.position, home.position),
            goer.walk.blocker,
            goer.walk.replan,
            goer.walk.ask,
        )
        idle.aside = YieldManeuver(goer, walk, home, None, returning=True)
    ended = {}
    for _ in range(600):
        ended |= sim.tick(0.1)
    assert ended["goer"].ok, ended["goer"].reason
    assert math.dist(idle.pose.position, home.position) < 0.01


def test_an_idle_robot_leaves_a_narrow_hallway_to_make_way() -> None:
    rows = [
        thing(f"row-{k}", "shelf", "r_living", (6.2, y), 0.0, (3.6, 0.1, 1.0), kind="furniture")
        for k, y in enumerate((1.4, 2.6))
    ]
    sim = world(tiny_house(rows))
    sim.add_robot("idle", LEGS, at((6.6, 2.0, 0.0)))
    sim.add_robot("goer", WIDE, at((10.2, 2.6, 0.0)))
    result = run_skill(sim, "goer", NavigateTo(position=(1.2, 2.6, 0.0)))
    assert result.ok, result.reason


@pytest.mark.parametrize(
    ("home", "goal", "start"), [(3.6, 3.4, (2.5, 1.6, 0.0)), (3.6, 3.5, (2.9, 3.0, 0.0))]
)
def test_a_robot_that_makes_way_does_not_let_the_other_shut_it_in(home, goal, start) -> None:
    """The bathroom's doorway is nearest, and the other is about to stand before it."""
    sim = world()
    sim.add_robot("idle", SLIM, at((1.2, home, 0.0)))
    sim.add_robot("goer", WIDE, at(start))
    sim.start_skill("goer", NavigateTo(position=(1.2, goal, 0.0)))
    idle, goer = sim.bodies
    assert make_way(goer, idle, sim.bodies)
    assert idle.aside is not None
    x, y, _ = idle.aside.walk.route.points[-1]
    assert y < goal and math.dist((x, y), (1.2, goal)) > 0.48


@pytest.mark.parametrize(("mouth", "end", "start"), [(8.6, 11.4, 8.9), (4.6, 7.0, 4.9)])
def test_of_two_in_a_dead_end_the_one_at_its_mouth_backs_out(mouth, end, start) -> None:
    """The one that would have to make way, being added later, has nowhere to go."""
    middle, long = (mouth + end) / 2.0, end - mouth
    walls = [((middle, 1.55), (long, 0.1, 1.0)), ((middle, 2.45), (long, 0.1, 1.0)),
             ((end, 2.0), (0.1, 0.9, 1.0))]  # fmt: skip
    rows = [
        thing(f"row-{k}", "shelf", "r_living", at, 0.0, size, kind="furniture")
        for k, (at, size) in enumerate(walls)
    ]
    sim = world(tiny_house(rows))
    sim.add_robot("in", WIDE, at((start, 2.0, 0.0)))
    sim.add_robot("out", LEGS, at((end - 0.5, 2.0, 0.0), math.pi))
    sim.start_skill("in", NavigateTo(position=(end - 0.5, 2.0, 0.0)))
    sim.start_skill("out", NavigateTo(position=(mouth - 3.4, 2.6, 0.0)))
    results = {}
    for _ in range(600):
        results.update(sim.tick(0.1))
        if len(results) == 2:
            break
    assert all(result.ok for result in results.values()), results


def test_two_robots_pass_each_other_through_one_door() -> None:
    sim = world()
    sim.add_robot("a", WIDE, at((1.5, 2.0, 0.0)))
    sim.add_robot("b", LEGS, at((6.5, 2.2, 0.0)))
    sim.start_skill("a", NavigateTo(position=(6.3, 2.6, 0.0)))
    sim.start_skill("b", NavigateTo(position=(1.5, 2.4, 0.0)))
    results = {}
    for _ in range(800):
        results.update(sim.tick(0.1))
        a, b = sim.state("a").pose.position, sim.state("b").pose.position
        assert math.dist(a, b) > 0.45
        if len(results) == 2:
            break
    assert all(result.ok for result in results.values()), results


def test_a_robot_that_cannot_move_blocks() -> None:
    sim = world()
    post = Embodiment(name="post", mobility="fixed", radius=0.3)
    sim.add_robot("post", post, at((3.6, 2.0, 0.0)))
    sim.add_robot("goer", WIDE, at((6.0, 2.0, 0.0)))
    result = run_skill(sim, "goer", NavigateTo(position=(1.2, 2.6, 0.0)))
    assert result.outcome is Outcome.BLOCKED
    assert "post stands in the way" in result.reason


def test_cancel_and_replace() -> None:
    sim = world()
    sim.add_robot("r", SLIM, at(KITCHEN))
    sim.start_skill("r", NavigateTo(position=LIVING))
    for _ in range(20):
        assert sim.tick(0.1) == {}
    state = sim.state("r")
    assert state.busy == "NavigateTo"
    assert 0.0 < state.progress < 1.0
    assert state.remaining > 0.0
    assert math.hypot(*state.linear) == pytest.approx(SLIM.linear_speed, rel=0.01)
    sim.cancel_skill("r")
    result = sim.tick(0.1)["r"]
    assert result.outcome is Outcome.CANCELLED
    assert result.distance == pytest.approx(sim.state("r").travelled)
    sim.start_skill("r", Wait(5.0))
    sim.start_skill("r", NavigateTo(position=KITCHEN, yaw=1.0))
    assert sim.state("r").busy == "NavigateTo"
    for _ in range(300):
        done = sim.tick(0.1)
        if done:
            break
    assert done["r"].ok
    assert sim.state("r").pose.yaw == pytest.approx(1.0)
    assert sim.state("r").linear == (0.0, 0.0, 0.0)


def test_a_robot_that_stopped_on_the_stairs_goes_on() -> None:
    sim = world()
    sim.add_robot("r", LEGS, at((5.0, 2.6, 0.0)))
    for goal, room in ((BEDROOM, "r_bed"), (LIVING, "r_living")):
        sim.start_skill("r", NavigateTo(position=BEDROOM))
        while not 1.0 < sim.state("r").pose.position[2] < 2.0:
            assert sim.tick(0.1) == {}
        sim.cancel_skill("r")
        sim.tick(0.1)
        assert sim.observe("r").place
        assert run_skill(sim, "r", NavigateTo(position=goal)).ok
        assert sim.state("r").room == room
        run_skill(sim, "r", NavigateTo(position=LIVING))


def test_one_goes_around_a_robot_in_an_open_room() -> None:
    sim = world()
    sim.add_robot(
        "post", Embodiment(name="post", mobility="fixed", radius=0.2), at((2.2, 2.0, 0.0))
    )
    sim.add_robot("r", SLIM, at((1.2, 2.0, 0.0)))
    assert sim.observe("post").neighbours == ()
    result = run_skill(sim, "r", NavigateTo(position=(3.4, 2.0, 0.0)))
    assert result.ok, result.reason
    assert result.duration < 12.0


def test_a_refused_skill_leaves_the_running_one_alone() -> None:
    sim = world()
    sim.add_robot("r", WIDE, at(KITCHEN))
    sim.start_skill("r", NavigateTo(position=LIVING))
    with pytest.raises(SkillRefused):
        sim.start_skill("r", NavigateTo(position=BATH))
    assert sim.state("r").busy == "NavigateTo"
    assert sim.state("r").remaining > 0.0


def test_starts() -> None:
    sim = world(seed=4)
    sim.add_robot("a", SLIM, Start(place="p2"))
    assert sim.state("a").place == "p2"
    sim.add_robot("b", SLIM, Start(room="bathroom"))
    assert sim.state("b").room == "r_bath"
    with pytest.raises(WorldError, match=r"no room 'kichen'; did you mean 'kitchen'\?"):
        sim.add_robot("c", SLIM, Start(room="kichen"))
    with pytest.raises(WorldError, match="no place 'p999'"):
        sim.add_robot("c", SLIM, Start(place="p999"))
    with pytest.raises(WorldError, match="does not fit"):
        sim.add_robot("c", SLIM, at((7.5, 0.5, 0.0)))  # on the sofa, nothing free around
    with pytest.raises(WorldError, match="in the world already"):
        sim.add_robot("a", SLIM)
    again = world(seed=4)
    for name in ("x", "y", "z"):
        assert again.add_robot(name, SLIM) == world_after(name)


def world_after(last: str) -> object:
    sim = world(seed=4)
    for name in ("x", "y", "z"):
        state = sim.add_robot(name, SLIM)
        if name == last:
            return state
    raise AssertionError(last)


def test_furniture_that_leaves_no_way_is_named() -> None:
    wall_of_boxes = [
        thing(
            f"o_box{k}",
            "cabinet",
            "r_living",
            (6.0, 0.25 + 0.5 * k),
            0.0,
            (0.5, 0.5, 1.0),
            "furniture",
        )
        for k in range(6)
    ]
    sim = world(tiny_house(wall_of_boxes))
    sim.add_robot("r", SLIM, at(KITCHEN))
    result = run_skill(sim, "r", NavigateTo(position=(9.5, 2.0, 0.0)))
    assert result.outcome is Outcome.UNREACHABLE
    assert "furniture leaves no way" in result.reason


def test_unknown_robots_are_named() -> None:
    sim = world()
    sim.add_robot("rover", SLIM)
    with pytest.raises(WorldError, match="no robot named 'dog'; robots here: rover"):
        sim.state("dog")
    sim.remove_robot("rover")
    assert sim.robots == ()
    with pytest.raises(WorldError, match="positive time"):
        sim.tick(0.0)


def test_boxes_of_the_fixture_do_not_overlap_walls() -> None:
    # The fixture is only worth something if it is sound.
    house = tiny_house()
    for item in house.objects:
        if item.kind == "item" or item.room != "r_kitchen":
            continue
        assert not any(
            shapely.LineString([w.start, w.end]).distance(shapely.Polygon(item.box.footprint()))
            < 0.04
            for w in house.walls
            if w.floor == "f0" and w.base == 0.0
        )
    assert isinstance(house.objects[0].box, Box)
