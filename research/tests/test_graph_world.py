"""GraphWorld as a Simulator: hops, time, perception, noise, truth; over given and random houses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_core.embodiment import Embodiment
from coterie_core.skills import (
    Detect,
    LookAround,
    NavigateTo,
    Outcome,
    Pick,
    SkillRefused,
    Target,
    Wait,
)
from habitat_bridge.simulator import FrameRequest, Simulator, Start, WorldError, run_skill
from research.bench.graph_houses import WALKER, DetectorNoise, list_scans, load_graph_world
from research.bench.graph_houses.model import GraphHouse, LoadReport, SeenObject, Viewpoint
from research.bench.graph_houses.world import GraphWorld

pytestmark = pytest.mark.quick

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "mp3d_graphs"
WHEELS = Embodiment(name="cart", mobility="wheels", linear_speed=0.5)


def house(
    places: dict[str, tuple[float, float, float]],
    ways: list[tuple[str, str]],
    rooms: dict[str, str],
    objects: dict[str, list[SeenObject]],
) -> GraphHouse:
    """Return a house in which one sees along the ways and nowhere else."""
    graph = nx.Graph()
    graph.add_nodes_from(places)
    for a, b in ways:
        graph.add_edge(a, b, length=max(0.01, math.dist(places[a], places[b])))
    views = {
        name: Viewpoint(name, point, rooms.get(name), tuple(objects.get(name, ())))
        for name, point in places.items()
    }
    visible = {name: frozenset(graph[name]) for name in places}
    return GraphHouse("home", views, graph, visible, LoadReport("home"))


@pytest.fixture
def world() -> GraphWorld:
    """Kitchen a - hallway b - stairs up to bedroom c; d is cut off."""
    return GraphWorld(
        house(
            {"a": (0, 0, 0), "b": (2, 0, 0), "c": (4, 0, 1.5), "d": (9, 9, 0)},
            [("a", "b"), ("b", "c")],
            {"a": "kitchen", "b": "hallway", "c": "bedroom"},
            {
                "a": [SeenObject("1", "oven", 0.1), SeenObject("2", "mug", math.pi)],
                "c": [SeenObject("3", "bed")],
            },
        )
    )


def test_it_speaks_the_protocol_of_all_worlds(world: GraphWorld) -> None:
    simulator: Simulator = world
    assert not simulator.capabilities.pixels
    with pytest.raises(WorldError, match="no images"):
        simulator.render([FrameRequest("r", "camera")])
    simulator.close()


def test_a_hop_takes_length_over_speed(world: GraphWorld) -> None:
    world.add_robot("r", WALKER, Start(place="a"))
    result = run_skill(world, "r", NavigateTo("b"), dt=0.5)
    assert result.ok
    assert result.duration == pytest.approx(2.0)
    assert result.distance == pytest.approx(2.0)
    assert world.time == pytest.approx(2.0)
    state = world.state("r")
    assert (state.place, state.room, state.travelled) == ("b", "hallway", pytest.approx(2.0))


def test_longer_ways_go_along_the_places(world: GraphWorld) -> None:
    world.add_robot("r", WALKER, Start(place="a"))
    world.start_skill("r", NavigateTo("c"))
    world.tick(1.0)
    state = world.state("r")
    assert state.busy == "NavigateTo"
    assert state.pose.position == pytest.approx((1.0, 0.0, 0.0))
    assert state.remaining == pytest.approx(1.0 + 2.5)
    assert state.progress == pytest.approx(1.0 / 4.5)
    world.tick(5.0)
    assert world.state("r").place == "c"
    assert world.state("r").busy == ""


def test_wheels_take_no_stairs_and_hear_why(world: GraphWorld) -> None:
    world.add_robot("cart", WHEELS, Start(place="b"))
    assert [view.id for view in world.observe("cart").neighbours] == ["a"]
    with pytest.raises(SkillRefused, match="no way for cart from b to c") as refused:
        world.start_skill("cart", NavigateTo("c"))
    assert refused.value.result.outcome is Outcome.UNREACHABLE


def test_a_refused_skill_leaves_the_running_one(world: GraphWorld) -> None:
    world.add_robot("r", WALKER, Start(place="a"))
    world.start_skill("r", NavigateTo("b"))
    world.tick(1.5)
    for skill, outcome in (
        (NavigateTo("d"), Outcome.UNREACHABLE),
        (NavigateTo("nowhere"), Outcome.UNKNOWN_TARGET),
        (NavigateTo(position=(2.5, 0.0, 0.0)), Outcome.UNREACHABLE),  # robots stand at places only
        (NavigateTo(), Outcome.UNKNOWN_TARGET),
        (Pick(Target("mug", (0, 0, 0))), Outcome.UNSUPPORTED),
    ):
        with pytest.raises(SkillRefused) as refused:
            world.start_skill("r", skill)
        assert refused.value.result.outcome is outcome
    assert world.state("r").pose.position == pytest.approx((1.5, 0.0, 0.0))
    assert world.tick(1.0)["r"].ok


def test_cancelling_stops_at_the_nearer_place(world: GraphWorld) -> None:
    world.add_robot("r", WALKER, Start(place="a"))
    world.start_skill("r", NavigateTo("b"))
    world.tick(0.5)
    world.cancel_skill("r")
    assert world.tick(0.1)["r"].outcome is Outcome.CANCELLED
    assert world.state("r").place == "a"
    assert world.state("r").travelled == pytest.approx(1.0)
    assert world.tick(0.1) == {}


def test_looking_and_waiting_take_time(world: GraphWorld) -> None:
    world.add_robot("r", WALKER, Start(room="kitchen"))
    assert run_skill(world, "r", Wait(1.0)).duration == pytest.approx(1.0)
    assert run_skill(world, "r", LookAround()).duration == pytest.approx(math.tau / 1.5)
    assert run_skill(world, "r", Detect("mug")).ok
    missing = run_skill(world, "r", Detect("piano"))
    assert missing.outcome is Outcome.NOT_VISIBLE
    assert "piano" in missing.reason


def test_one_sees_the_viewpoint_and_into_what_is_in_view(world: GraphWorld) -> None:
    world.add_robot("r", WALKER, Start(place="a"))
    seen = world.observe("r")
    assert seen.room is not None and seen.room.name == "kitchen"
    assert [(d.label, d.instance) for d in seen.detections] == [("oven", "1"), ("mug", "2")]
    (view,) = seen.neighbours
    assert view.room is not None and view.room.name == "hallway"
    assert view.labels == ("oven",)  # the mug is on the other side
    assert seen.seen == {"a": 1.0, "b": pytest.approx(1 / 3)}


def test_the_room_of_a_place_out_of_view_is_not_told(world: GraphWorld) -> None:
    world.house.visible["a"] = frozenset()
    world.add_robot("r", WALKER, Start(place="a"))
    seen = world.observe("r")
    assert seen.neighbours[0].room is None
    assert seen.seen == {"a": 1.0}


def test_starts_are_different_and_repeat(world: GraphWorld) -> None:
    first = [world.add_robot(f"r{k}", WALKER).place for k in range(3)]
    assert sorted(first) == ["a", "b", "c"]
    again = GraphWorld(world.house)
    assert [again.add_robot(f"r{k}", WALKER).place for k in range(3)] == first
    with pytest.raises(WorldError, match="r0"):
        world.add_robot("r0", WALKER)
    with pytest.raises(WorldError, match="no room 'attic'; rooms here: bedroom, hallway, kitchen"):
        world.add_robot("x", WALKER, Start(room="attic"))
    with pytest.raises(WorldError, match="no place 'z'"):
        world.add_robot("x", WALKER, Start(place="z"))
    world.remove_robot("r0")
    with pytest.raises(WorldError, match="no robot named 'r0'"):
        world.observe("r0")


def test_an_object_seen_from_two_rooms_is_in_both() -> None:
    vase = SeenObject("7", "vase", 0.0)
    home = house(
        {"a": (0, 0, 0), "b": (2, 0, 0)},
        [("a", "b")],
        {"a": "kitchen", "b": "hallway"},
        {"a": [vase], "b": [vase]},
    )
    truth = GraphWorld(home).truth()
    assert {o.id: o.room for o in truth.objects.values()} == {
        "7@kitchen": "kitchen",
        "7@hallway": "hallway",
    }


def test_the_truth_has_floors_connections_and_risers(world: GraphWorld) -> None:
    truth = world.truth()
    assert truth.links["b"]["c"].riser > 0.0
    assert truth.links["a"]["b"].riser == 0.0
    kinds = {c.id: c.kind for c in truth.connections.values()}
    assert kinds == {"hallway--kitchen": "opening", "bedroom--hallway": "stairs"}
    assert len(truth.floors) == 2
    assert truth.places["c"].floor != truth.places["a"].floor


def test_noise_misses_confuses_and_invents_but_repeats() -> None:
    things = [SeenObject(str(k), f"thing {k}") for k in range(200)]
    home = house({"a": (0, 0, 0)}, [], {"a": "kitchen"}, {"a": things})
    noise = DetectorNoise(miss=0.3, wrong_label=0.1, phantom=5.0)

    def look(seed: int) -> list[tuple[str, str]]:
        noisy = GraphWorld(home, seed=seed, noise=noise)
        noisy.add_robot("r", WALKER)
        return [(d.instance, d.label) for d in noisy.observe("r").detections]

    assert look(1) == look(1)
    assert look(1) != look(2)
    seen = [pair for seed in range(20) for pair in look(seed)]
    real = [pair for pair in seen if pair[0].isdigit()]
    assert 0.6 < len(real) / 4000 < 0.8
    assert 0.05 < sum(label != f"thing {key}" for key, label in real) / len(real) < 0.15
    assert 3.0 < (len(seen) - len(real)) / 20 < 7.0
    clean = GraphWorld(home, noise=noise).survey(noisy=False)
    assert len(clean[0].detections) == 200


@pytest.mark.parametrize("bad", [{"miss": 1.5}, {"wrong_label": -0.1}, {"phantom": math.nan}])
def test_noise_must_be_probabilities(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        DetectorNoise(**bad)


@pytest.mark.parametrize("dt", [0.0, -1.0, math.inf, math.nan])
def test_time_only_goes_forward(world: GraphWorld, dt: float) -> None:
    with pytest.raises(WorldError, match="positive"):
        world.tick(dt)


@st.composite
def houses(draw: st.DrawFn) -> GraphHouse:
    """Any house: several parts, places on one spot, rooms and objects here and there."""
    n = draw(st.integers(1, 8))
    names = [f"n{k}" for k in range(n)]
    axis = st.floats(-20, 20, allow_nan=False)
    places = {k: (draw(axis), draw(axis), draw(st.sampled_from([0.0, 0.4, 3.0]))) for k in names}
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names))
    ways = [(a, b) for a, b in draw(st.lists(pairs, max_size=14)) if a != b]
    rooms = draw(st.dictionaries(st.sampled_from(names), st.sampled_from(["kitchen", "office"])))
    seen = st.builds(
        SeenObject,
        st.integers(0, 5).map(str),
        st.sampled_from(["mug", "bed", "lamp"]),
        st.none() | st.floats(-3.1, 3.1),
    )
    objects = draw(st.dictionaries(st.sampled_from(names), st.lists(seen, max_size=4)))
    return house(places, ways, rooms, objects)


@settings(max_examples=60, deadline=None)
@given(houses(), st.integers(0, 3), st.data())
def test_robots_never_teleport_and_are_never_told_too_much(
    home: GraphHouse, seed: int, data: st.DataObject
) -> None:
    world = GraphWorld(home, seed=seed, noise=DetectorNoise(0.1, 0.1, 0.5))
    world.add_robot("r", data.draw(st.sampled_from([WALKER, WHEELS])))
    for _ in range(6):
        seen = world.observe("r")
        assert seen.place in home.viewpoints
        assert {view.id for view in seen.neighbours} <= set(home.graph[seen.place])
        assert set(seen.seen) <= {seen.place} | home.visible[seen.place]
        assert all(d.room == seen.room for d in seen.detections)
        if not seen.neighbours:
            break
        goal = data.draw(st.sampled_from([view.id for view in seen.neighbours]))
        before = world.state("r").travelled
        assert run_skill(world, "r", NavigateTo(goal), dt=0.7).ok
        after = world.state("r")
        assert after.place == goal
        hop = home.graph[seen.place][goal]["length"]
        assert after.travelled - before == pytest.approx(hop, abs=1e-6)


@pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data/mp3d_graphs is not here")
def test_real_houses_load() -> None:
    known = {"8194nk5LbLH": 20, "Z6MFQCViBuw": 58, "TbHJrupSAjP": 114, "2azQ1b91cZZ": 215}
    for scan in list_scans(DATA):
        world = load_graph_world(DATA, scan)
        if scan in known:
            assert world.report.nodes == known[scan]
            assert world.report.problems == []
        assert world.truth().rooms
        assert all(room.type for room in world.truth().rooms.values())


@pytest.mark.ros
def test_the_bridge_serves_a_world_without_images(world: GraphWorld, ros: Any) -> None:
    from rclpy.action import ActionClient

    from coterie_core.skills import Outcome
    from coterie_msgs.action import NavigateTo
    from coterie_msgs.msg import Observation
    from coterie_ros.qos import profile
    from habitat_bridge.node import BridgeNode

    robots = '[{"name": "r1", "embodiment": "legs"}]'
    node = BridgeNode(context=ros.context, world=world, parameters={"robots": robots})
    ros.add(node)
    ros.wait_active(node)
    client = ros.node()
    seen: list[Observation] = []
    client.create_subscription(Observation, "r1/observation", seen.append, profile("observations"))
    navigate = ActionClient(client, NavigateTo, "r1/navigate_to")
    ros.wait_for_matched(navigate)
    ros.spin_until(lambda: seen)
    handle = ros.result(navigate.send_goal_async(NavigateTo.Goal(place=seen[0].neighbours[0].id)))
    assert ros.result(handle.get_result_async()).result.result.outcome == Outcome.SUCCEEDED
    assert not [t for t, _ in client.get_topic_names_and_types() if "camera" in t]
