"""One suite for the embedded world and habitat-sim: the same house, the same behaviour."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from coterie_core.embodiment import Arm, Camera, Embodiment
from coterie_core.geometry import Pose, Vec3
from coterie_core.skill_registry import spec_of
from coterie_core.skills import (
    Close,
    Detect,
    LookAround,
    MoveArmTo,
    NavigateTo,
    Open,
    Outcome,
    Pick,
    Place,
    Skill,
    SkillRefused,
    Target,
    Wait,
)
from coterie_fixtures.habitat_python import habitat_python
from coterie_fixtures.tiny_house import UPPER, tiny_house
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.habitat.world import HabitatWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.house.house import House
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import FrameRequest, Start, run_skill

pytestmark = pytest.mark.quick

KINDS = [
    pytest.param("embedded"),
    pytest.param("habitat", marks=pytest.mark.habitat),
]
SEEDS = [2, 5]
Maker = Callable[..., EmbeddedWorld]

WIDE = Embodiment(name="wide", mobility="wheels", radius=0.28)
SLIM = Embodiment(name="slim", mobility="wheels", radius=0.2)
LEGS = Embodiment(name="legs", mobility="legs", radius=0.25, height=0.8, step_height=0.2)
SHORT = Embodiment(name="short", mobility="legs", radius=0.25, height=0.8, step_height=0.1)
DRONE = Embodiment(
    name="drone", mobility="air", radius=0.2, height=0.2, flight_height=1.2, linear_speed=1.5
)
EYE = Camera(name="eye", mount_height=1.3, pitch=0.2)
ARMED = Embodiment(
    name="armed", radius=0.25, height=1.4, cameras=(EYE,), arm=Arm(reach=0.9, max_height=1.5)
)
KITCHEN, LIVING = (2.0, 2.0, 0.0), (5.5, 2.0, 0.0)
BATH, BEDROOM = (2.0, 5.5, 0.0), (6.5, 2.0, UPPER)
AT_COUNTER, AT_FRIDGE = (1.0, 1.4, 0.0), (3.3, 2.85, 0.0)
MUG = Target("mug", (0.5, 1.2, 0.95))
COUNTER = Target("kitchen counter", (0.4, 1.6, 0.9))
FRIDGE = Target("refrigerator", (3.5, 3.55, 0.9))
MILK = Target("milk", (3.5, 3.5, 1.1))


def at(position: Vec3, yaw: float = 0.0) -> Start:
    return Start(pose=Pose(position, yaw))


def make(kind: str, house: House, cache: Path) -> EmbeddedWorld:
    options = {"noise": DetectorNoise.none(), "look_on_arrival": False}
    if kind == "embedded":
        return EmbeddedWorld(house, **options)  # type: ignore[arg-type]
    return HabitatWorld(house, habitat_python(__file__), cache=cache, **options)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("houses")


@pytest.fixture(scope="module", params=KINDS)
def shared(request: pytest.FixtureRequest, cache: Path) -> Iterator[EmbeddedWorld]:
    """The tiny house, for tests that change nothing in it but the robots."""
    made = make(request.param, tiny_house(), cache)
    yield made
    made.close()


@pytest.fixture
def tiny(shared: EmbeddedWorld) -> Iterator[EmbeddedWorld]:
    yield shared
    for name in shared.robots:
        shared.remove_robot(name)


@pytest.fixture(params=KINDS)
def own(request: pytest.FixtureRequest, cache: Path) -> Iterator[EmbeddedWorld]:
    """A tiny house of one's own, for tests that move things."""
    made = make(request.param, tiny_house(), cache)
    yield made
    made.close()


@pytest.fixture(scope="module", params=SEEDS)
def pair(
    request: pytest.FixtureRequest, cache: Path
) -> Iterator[tuple[EmbeddedWorld, EmbeddedWorld]]:
    """A generated house in both worlds."""
    house = generate_house(request.param)
    both = make("embedded", house, cache), make("habitat", house, cache)
    yield both
    for made in both:
        made.close()


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
    ],
    ids=lambda v: v.name if isinstance(v, Embodiment) else None,
)
def test_who_gets_where(
    tiny: EmbeddedWorld, body: Embodiment, goal: Vec3, outcome: Outcome, reason: str
) -> None:
    tiny.add_robot("r", body, at(KITCHEN))
    result = run_skill(tiny, "r", NavigateTo(position=goal))
    assert result.outcome is outcome
    assert reason in result.reason
    there = tiny.state("r").pose.position
    if result.ok:
        assert math.dist(there[:2], goal[:2]) < 0.3
        assert abs(there[2] - goal[2] - body.flight_height) < 0.05
        assert result.distance <= result.duration * body.linear_speed + 1e-6
    else:
        assert math.dist(there[:2], KITCHEN[:2]) < 0.1


def test_two_robots_pass_each_other(tiny: EmbeddedWorld) -> None:
    tiny.add_robot("a", SLIM, at(KITCHEN))
    tiny.add_robot("b", SLIM, at(LIVING))
    tiny.start_skill("a", NavigateTo(position=LIVING))
    tiny.start_skill("b", NavigateTo(position=KITCHEN))
    results = {}
    nearest = math.inf
    for _ in range(900):
        results.update(tiny.tick(0.1))
        gap = math.dist(tiny.state("a").pose.position, tiny.state("b").pose.position)
        nearest = min(nearest, gap)
        if len(results) == 2:
            break
    assert {name: result.outcome for name, result in results.items()} == {
        "a": Outcome.SUCCEEDED,
        "b": Outcome.SUCCEEDED,
    }
    assert nearest >= 2 * SLIM.radius - 0.06  # each may move once before the other looks


def toward(position: Vec3, skill: Skill) -> float:
    """Return the yaw [rad] of who faces what a hand is to do; 0 of a skill without a hand."""
    target = skill if isinstance(skill, MoveArmTo) else spec_of(skill).target(skill)
    if target is None or not spec_of(skill).arm:
        return 0.0
    return math.atan2(target.position[1] - position[1], target.position[0] - position[0])


@pytest.mark.parametrize(
    ("where", "skill", "outcome"),
    [
        (AT_COUNTER, Pick(MUG), Outcome.SUCCEEDED),
        (AT_COUNTER, Pick(Target("mug", (2.5, 1.2, 0.95))), Outcome.UNKNOWN_TARGET),
        (LIVING, Pick(MUG), Outcome.OUT_OF_REACH),
        (AT_FRIDGE, Pick(MILK), Outcome.CLOSED),
        (AT_FRIDGE, Pick(FRIDGE), Outcome.REFUSED),
        (AT_FRIDGE, Open(FRIDGE), Outcome.SUCCEEDED),
        (AT_COUNTER, Open(COUNTER), Outcome.UNSUPPORTED),
        (AT_COUNTER, Place(COUNTER), Outcome.HAND_EMPTY),
        (AT_COUNTER, MoveArmTo((1.5, 1.4, 1.0)), Outcome.SUCCEEDED),
        (AT_COUNTER, MoveArmTo((1.5, 1.4, 2.2)), Outcome.OUT_OF_REACH),
        (AT_COUNTER, Wait(1.0), Outcome.SUCCEEDED),
        (AT_COUNTER, LookAround(), Outcome.SUCCEEDED),
        (AT_COUNTER, Detect("sofa"), Outcome.NOT_VISIBLE),
        (AT_FRIDGE, Detect("kitchen counter"), Outcome.NOT_VISIBLE),
        (AT_COUNTER, NavigateTo("p999"), Outcome.UNKNOWN_TARGET),
        (AT_COUNTER, NavigateTo(position=(60.0, 0.0, 0.0)), Outcome.REFUSED),
    ],
    ids=lambda v: type(v).__name__ if not isinstance(v, (tuple, Outcome)) else None,
)
def test_skills_end_alike(own: EmbeddedWorld, where: Vec3, skill: Skill, outcome: Outcome) -> None:
    own.add_robot("r", ARMED, at(where, toward(where, skill)))
    result = run_skill(own, "r", skill)
    assert result.outcome is outcome, result.reason
    assert result.ok or result.reason


def test_a_mug_moves_into_the_fridge_and_is_seen_there(own: EmbeddedWorld) -> None:
    own.add_robot("r", ARMED, at(AT_COUNTER, math.pi))
    assert "mug" in {found.label for found in own.observe("r").detections}
    assert run_skill(own, "r", Pick(MUG)).ok
    assert "mug" not in {found.label for found in own.observe("r").detections}
    assert run_skill(own, "r", NavigateTo(position=AT_FRIDGE, yaw=math.pi / 2)).ok
    assert run_skill(own, "r", Place(FRIDGE)).outcome is Outcome.CLOSED
    assert run_skill(own, "r", Open(FRIDGE)).ok
    assert run_skill(own, "r", Place(FRIDGE)).ok
    assert own.truth().objects["o_mug"].container == "o_fridge"
    assert {"mug", "milk"} <= {found.label for found in own.observe("r").detections}
    assert run_skill(own, "r", Close(FRIDGE)).ok
    assert not {"mug", "milk"} & {found.label for found in own.observe("r").detections}


# -- both worlds side by side ----------------------------------------------------------------


@pytest.mark.habitat
def test_the_same_places_can_be_reached(pair: tuple[EmbeddedWorld, EmbeddedWorld]) -> None:
    places = list(pair[0].place_map.places)
    assert places == list(pair[1].place_map.places)
    same = total = 0
    for name, body in EMBODIMENTS.items():
        for world in pair:
            world.add_robot(name, body)
        start = pair[0].state(name).place
        reach = []
        for world in pair:
            spots = next(b for b in world.bodies if b.name == name).places
            here = spots.stand(start)
            stands = [spots.stand(place) for place in places]
            reach.append(
                [s is not None and here is not None and spots.space.connected(here, s)
                 for s in stands]
            )  # fmt: skip
            world.remove_robot(name)
        same += sum(a == b for a, b in zip(*reach, strict=True))
        total += len(places)
    # Gaps between furniture that are as wide as a body, to a voxel, may differ.
    assert same >= 0.98 * total, f"{same} of {total} places"


@pytest.mark.habitat
def test_the_same_objects_are_seen(pair: tuple[EmbeddedWorld, EmbeddedWorld]) -> None:
    both = either = 0
    for name, body in EMBODIMENTS.items():
        for world in pair:
            world.add_robot(name, body)
        bodies = [next(b for b in world.bodies if b.name == name) for world in pair]
        for place in list(pair[0].place_map.places)[::2]:
            spot = bodies[0].places.stand(place)
            if spot is None:
                continue
            seen = []
            for world, robot in zip(pair, bodies, strict=True):
                robot.pose = Pose(spot, 0.7)
                world.look_around(robot)
                assert robot.glance is not None
                seen.append({sighting.id for sighting in robot.glance.sightings})
            both += len(seen[0] & seen[1])
            either += len(seen[0] | seen[1])
        for world in pair:
            world.remove_robot(name)
    assert either > 500
    assert both >= 0.95 * either, f"{both} of {either} object-view pairs"


@pytest.mark.habitat
def test_the_same_images_are_made(pair: tuple[EmbeddedWorld, EmbeddedWorld]) -> None:
    good = same = total = pixels = 0
    for name, body in EMBODIMENTS.items():
        for world in pair:
            world.add_robot(name, body)
        bodies = [next(b for b in world.bodies if b.name == name) for world in pair]
        for k, place in enumerate(list(pair[0].place_map.places)[::4]):
            spot = bodies[0].places.stand(place)
            if spot is None:
                continue
            frames = []
            for world, robot in zip(pair, bodies, strict=True):
                robot.pose = Pose(spot, 1.3 * k)
                (frame,) = world.render(
                    [FrameRequest(name, body.cameras[0].name, ("depth", "semantic"))]
                )
                frames.append(frame)
            one, two = frames
            assert np.allclose(one.camera_to_map, two.camera_to_map, atol=1e-6)
            assert one.depth is not None and two.depth is not None
            assert one.semantic is not None and two.semantic is not None
            away = _away_from_edges(one.depth)
            good += int((np.abs(one.depth - two.depth)[away] <= 0.02).sum())
            total += int(away.sum())
            same += int((one.semantic == two.semantic)[away].sum())
            pixels += away.size
        for world in pair:
            world.remove_robot(name)
    assert total > 0.6 * pixels
    assert good >= 0.99 * total, f"depth: {good} of {total} pixels"
    assert same >= 0.99 * total, f"semantic: {same} of {total} pixels"


def _away_from_edges(depth: np.ndarray) -> np.ndarray:
    """Pixels in whose 3 x 3 neighbourhood depth [m] changes by less than 5 cm and has a value."""
    high = ndimage.maximum_filter(depth, 3)
    low = ndimage.minimum_filter(depth, 3)
    return (high - low < 0.05) & (low > 0.0)


@pytest.mark.habitat
def test_the_same_hands_succeed(pair: tuple[EmbeddedWorld, EmbeddedWorld]) -> None:
    """From every fourth place, the nearest container and the nearest item are tried."""
    names = []
    for world in pair:
        world.add_robot("r", EMBODIMENTS["legs"])
        names.append(next(b for b in world.bodies if b.name == "r"))
    outcomes: list[list[Outcome]] = [[], []]
    things = list(pair[0].truth().objects.values())
    for place in list(pair[0].place_map.places)[::4]:
        spot = names[0].places.stand(place)
        if spot is None:
            continue
        here = spot

        def far(thing: object, here: Vec3 = here) -> float:
            return math.dist(thing.box.center, here)  # type: ignore[attr-defined]

        skills: list[Skill] = []
        for thing in sorted((t for t in things if t.is_open is not None), key=far)[:1]:
            skills.append(Open(Target(thing.label.top, thing.box.center)))
        for thing in sorted((t for t in things if t.kind == "item"), key=far)[:2]:
            skills.append(Pick(Target(thing.label.top, thing.box.center)))
        for k, world in enumerate(pair):
            for skill in skills:
                names[k].pose = Pose(spot, toward(spot, skill))
                try:
                    world.start_skill("r", skill)
                except SkillRefused as refused:
                    outcomes[k].append(refused.result.outcome)
                    continue
                for _ in range(100):
                    ended = world.tick(0.2)
                    if ended:
                        outcomes[k].append(ended["r"].outcome)
                        break
    same = sum(a is b for a, b in zip(*outcomes, strict=True))
    assert len(outcomes[0]) >= 20
    assert Outcome.SUCCEEDED in outcomes[0]
    assert same >= 0.95 * len(outcomes[0]), list(zip(*outcomes, strict=True))
