"""Hands: what they can take, put, open and close, and why they cannot."""

from __future__ import annotations

import math

import pytest

from coterie_core.embodiment import Arm, Camera, Embodiment
from coterie_core.geometry import Pose, Vec3
from coterie_core.skills import (
    Ask,
    Close,
    LookAround,
    MoveArmTo,
    NavigateTo,
    Open,
    Outcome,
    Pick,
    Place,
    SkillRefused,
    Target,
    Wait,
)
from coterie_fixtures.tiny_house import thing, tiny_house
from coterie_world.scene import SceneObject
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import Start, run_skill

EYE = Camera(name="eye", mount_height=1.3, pitch=0.2)
ARMED = Embodiment(
    name="armed", radius=0.25, height=1.4, cameras=(EYE,), arm=Arm(reach=0.9, max_height=1.5)
)

MUG = Target("mug", (0.5, 1.2, 0.95))
COUNTER = Target("kitchen counter", (0.4, 1.6, 0.9))
FRIDGE = Target("refrigerator", (3.5, 3.55, 0.9))
MILK = Target("milk", (3.5, 3.5, 1.1))
AT_COUNTER: Vec3 = (1.0, 1.4, 0.0)
AT_FRIDGE: Vec3 = (3.3, 2.85, 0.0)


WEST, NORTH = math.pi, math.pi / 2.0


def world(
    position: Vec3 = AT_COUNTER, body: Embodiment = ARMED, *extra: SceneObject, yaw: float = WEST
) -> EmbeddedWorld:
    sim = EmbeddedWorld(tiny_house(list(extra)), noise=DetectorNoise.none(), look_on_arrival=False)
    sim.add_robot("r", body, Start(pose=Pose(position, yaw)))
    return sim


def go(sim: EmbeddedWorld, position: Vec3, yaw: float) -> None:
    assert run_skill(sim, "r", NavigateTo(position=position, yaw=yaw)).ok


def test_a_skill_of_another_package_is_done_and_changes_the_house(own_skills) -> None:
    sim = world()
    result = run_skill(sim, "r", own_skills.Wipe(COUNTER))
    assert result.ok and result.duration == pytest.approx(own_skills.WIPE.seconds)
    assert sim.truth().objects["o_counter"].properties["state"] == "clean"
    refused = run_skill(sim, "r", own_skills.Press(COUNTER))
    assert (refused.outcome, refused.reason) == (
        Outcome.UNSUPPORTED,
        "a kitchen counter has no switch",
    )
    far = run_skill(world(AT_FRIDGE), "r", own_skills.Wipe(COUNTER))
    assert far.outcome is Outcome.OUT_OF_REACH


def test_pick_and_place_in_the_fridge_and_out_again() -> None:
    sim = world()
    result = run_skill(sim, "r", Pick(MUG))
    assert result.ok
    assert result.details == {"label": "mug"}
    assert sim.state("r").holding == "o_mug"
    assert sim.truth().agents["r"].holding == "o_mug"
    go(sim, AT_FRIDGE, NORTH)
    held = sim.truth().objects["o_mug"].box.center
    assert math.dist(held[:2], sim.state("r").pose.position[:2]) < 0.5
    closed = run_skill(sim, "r", Place(FRIDGE))
    assert closed.outcome is Outcome.CLOSED
    assert "open it first" in closed.reason
    assert run_skill(sim, "r", Open(FRIDGE)).ok
    assert run_skill(sim, "r", Place(FRIDGE)).ok
    mug = sim.truth().objects["o_mug"]
    assert (mug.support, mug.container, mug.room) == ("o_fridge", "o_fridge", "r_kitchen")
    assert mug.box.bottom == pytest.approx(1.0)
    assert run_skill(sim, "r", Close(FRIDGE)).ok
    where = Target("mug", mug.box.center)
    assert run_skill(sim, "r", Pick(where)).outcome is Outcome.CLOSED
    assert run_skill(sim, "r", Open(FRIDGE)).ok
    assert run_skill(sim, "r", Pick(where)).ok
    assert sim.truth().objects["o_mug"].container == ""


def test_a_hand_does_only_what_lies_before_the_robot() -> None:
    """The base turns by its own goals: no arm turns it."""
    sim = world(yaw=0.0)
    behind = run_skill(sim, "r", Pick(MUG))
    assert behind.outcome is Outcome.OUT_OF_REACH and "turn to it" in behind.reason
    assert sim.state("r").pose.yaw == 0.0
    go(sim, AT_COUNTER, WEST)
    assert run_skill(sim, "r", Pick(MUG)).ok


def test_an_item_is_put_beside_what_stands_there() -> None:
    sim = world()
    assert run_skill(sim, "r", Pick(MUG)).ok
    go(sim, (1.0, 2.0, 0.0), WEST)
    # Right onto the bowl is not possible: the nearest free spot is taken instead.
    assert run_skill(sim, "r", Place(Target("kitchen counter", (0.45, 2.2, 0.9)))).ok
    mug, bowl = (sim.truth().objects[k].box for k in ("o_mug", "o_bowl"))
    assert mug.bottom == pytest.approx(0.9)
    gap = max(
        abs(mug.center[k] - bowl.center[k]) - (mug.size[k] + bowl.size[k]) / 2 for k in (0, 1)
    )
    assert 0.0 <= gap < 0.15


def test_no_free_spot() -> None:
    crowd = [
        thing(f"o_c{i}{j}", "box", "r_living", (7.12 + 0.15 * i, 1.5 + 0.15 * j), 0.45,
              (0.14, 0.14, 0.1), "item", "o_table")
        for i in range(6) for j in range(4)
    ]  # fmt: skip
    sim = world(AT_COUNTER, ARMED, *crowd)
    assert run_skill(sim, "r", Pick(MUG)).ok
    go(sim, (6.6, 1.7, 0.0), 0.0)
    result = run_skill(sim, "r", Place(Target("coffee table", (7.5, 1.7, 0.45))))
    assert result.outcome is Outcome.BLOCKED
    assert "no free spot" in result.reason
    assert sim.state("r").holding == "o_mug"


def test_what_stands_on_a_thing_goes_with_it() -> None:
    tray = thing(
        "o_tray", "tray", "r_kitchen", (0.5, 0.8), 0.9, (0.3, 0.3, 0.03), "item", "o_counter"
    )
    cup = thing("o_cup", "cup", "r_kitchen", (0.45, 0.8), 0.93, (0.08, 0.08, 0.1), "item", "o_tray")
    sim = world((1.0, 1.0, 0.0), ARMED, tray, cup)
    assert run_skill(sim, "r", Pick(Target("tray", (0.5, 0.8, 0.9)))).ok
    assert "cup" not in {found.label for found in sim.observe("r").detections}
    go(sim, (6.6, 1.7, 0.0), 0.0)
    assert run_skill(sim, "r", Place(Target("coffee table", (7.2, 1.75, 0.45)))).ok
    objects = sim.truth().objects
    assert objects["o_cup"].room == "r_living"
    assert objects["o_cup"].support == "o_tray"
    assert objects["o_cup"].box.bottom == pytest.approx(objects["o_tray"].box.top)
    assert math.dist(objects["o_cup"].box.center[:2], objects["o_tray"].box.center[:2]) < 0.1


def test_the_floor_takes_things_too() -> None:
    sim = world()
    assert run_skill(sim, "r", Pick(MUG)).ok
    go(sim, (2.0, 2.0, 0.0), 0.0)
    assert run_skill(sim, "r", Place(Target("floor", (2.5, 2.0, 0.0)))).ok
    mug = sim.truth().objects["o_mug"]
    assert mug.box.bottom == pytest.approx(0.0)
    assert mug.support == ""
    assert mug.room == "r_kitchen"


@pytest.mark.parametrize(
    ("where", "skill", "outcome", "reason"),
    [
        (AT_COUNTER, Place(COUNTER), Outcome.HAND_EMPTY, "holds nothing"),
        (AT_COUNTER, Pick(Target("yeti", (0.5, 1.2, 0.95))), Outcome.UNKNOWN_TARGET, "no yeti"),
        (AT_COUNTER, Pick(Target("mug", (0.5, 1.9, 0.95))), Outcome.UNKNOWN_TARGET, "look again"),
        (AT_COUNTER, Pick(COUNTER), Outcome.REFUSED, "fixed or too large"),
        ((2.6, 1.2, 0.0), Pick(MUG), Outcome.OUT_OF_REACH, "go nearer"),
        ((8.0, 2.0, 0.0), Pick(MUG), Outcome.OUT_OF_REACH, "reach 0.90 m"),
        ((10.2, 1.0, 0.0), Pick(Target("vase", (10.8, 1.0, 1.89))), Outcome.OUT_OF_REACH, "above"),
        (AT_FRIDGE, Pick(MILK), Outcome.CLOSED, "refrigerator"),
        (AT_COUNTER, Open(COUNTER), Outcome.UNSUPPORTED, "cannot be opened"),
        (AT_FRIDGE, Open(Target("door", (4.0, 2.0, 1.0))), Outcome.UNSUPPORTED, "stand open"),
        (AT_FRIDGE, Close(FRIDGE), Outcome.SUCCEEDED, ""),
        (AT_COUNTER, MoveArmTo((0.6, 1.4, 1.0)), Outcome.SUCCEEDED, ""),
        (AT_COUNTER, MoveArmTo((1.0, 1.9, 2.4)), Outcome.OUT_OF_REACH, "above the floor"),
        (AT_COUNTER, Ask("all", "hello"), Outcome.UNSUPPORTED, "by message"),
        (AT_COUNTER, Wait(1.0), Outcome.SUCCEEDED, ""),
        (AT_COUNTER, Wait(math.inf), Outcome.REFUSED, "Wait.duration"),
        (AT_COUNTER, NavigateTo(), Outcome.UNKNOWN_TARGET, "neither"),
        (AT_COUNTER, NavigateTo(place="p99"), Outcome.UNKNOWN_TARGET, "'p99'"),
        (AT_COUNTER, NavigateTo(position=(math.nan, 0.0, 0.0)), Outcome.REFUSED, "finite"),
        (AT_COUNTER, NavigateTo(position=(50.0, 0.0, 0.0)), Outcome.REFUSED, "outside the house"),
    ],
)  # fmt: skip
def test_results_say_why(where: Vec3, skill: object, outcome: Outcome, reason: str) -> None:
    sim = world(where, yaw=NORTH if where == AT_FRIDGE else WEST)
    result = run_skill(sim, "r", skill)  # type: ignore[arg-type]
    assert result.outcome is outcome, result.reason
    assert reason in result.reason
    assert bool(result.reason) is not result.ok
    assert sim.state("r").holding == ""


def test_a_full_hand_and_no_hand() -> None:
    sim = world()
    assert run_skill(sim, "r", Pick(MUG)).ok
    full = run_skill(sim, "r", Pick(Target("bowl", (0.45, 2.2, 0.94))))
    assert full.outcome is Outcome.HAND_FULL
    assert "mug" in full.reason
    handless = world(AT_COUNTER, EMBODIMENTS["air"])
    result = run_skill(handless, "r", Pick(MUG))
    assert result.outcome is Outcome.UNSUPPORTED
    assert "no arm" in result.reason


def test_what_cannot_be_seen_cannot_be_taken() -> None:
    screen = thing(
        "o_screen", "screen", "r_kitchen", (0.75, 1.2), 0.0, (0.05, 0.8, 1.7), "furniture"
    )
    sim = world((1.25, 1.2, 0.0), ARMED, screen)
    result = run_skill(sim, "r", Pick(MUG))
    assert result.outcome is Outcome.NOT_VISIBLE
    assert sim.truth().objects["o_mug"].support == "o_counter"


def test_another_robot_may_be_quicker() -> None:
    sim = world()
    sim.add_robot("s", ARMED, Start(pose=Pose((1.0, 0.7, 0.0), WEST)))
    sim.start_skill("r", Pick(MUG))
    sim.start_skill("s", Pick(MUG))
    results = {}
    for _ in range(60):
        results.update(sim.tick(0.1))
    assert sorted(result.outcome for result in results.values()) == [
        Outcome.SUCCEEDED,
        Outcome.UNKNOWN_TARGET,
    ]


def test_who_leaves_puts_down_what_it_holds() -> None:
    sim = world()
    assert run_skill(sim, "r", Pick(MUG)).ok
    sim.remove_robot("r")
    mug = sim.truth().objects["o_mug"]
    assert mug.box.bottom == pytest.approx(0.0)
    assert mug.room == "r_kitchen"


def test_cancelling_a_grasp_takes_nothing() -> None:
    sim = world()
    sim.start_skill("r", Pick(MUG))
    sim.tick(0.1)
    sim.cancel_skill("r")
    assert sim.tick(0.1)["r"].outcome is Outcome.CANCELLED
    assert sim.state("r").holding == ""
    sim.cancel_skill("r")  # nothing to cancel: nothing happens
    assert sim.tick(0.1) == {}


def test_truth_is_a_copy() -> None:
    sim = world()
    scene = sim.truth()
    scene.objects["o_mug"].room = "nowhere"
    scene.objects["o_mug"].label.weights["cup"] = 9.0
    scene.places.clear()
    scene.links["p1"].clear()
    del scene.objects["o_bowl"]
    again = sim.truth()
    assert again.objects["o_mug"].room == "r_kitchen"
    assert again.objects["o_mug"].label.top == "mug"
    assert "o_bowl" in again.objects
    assert again.places
    assert again.links["p1"]


def test_memory_stays_bounded_over_a_quarter_of_an_hour() -> None:
    import tracemalloc

    sim = EmbeddedWorld(generate_house(6, floors=1, rooms=6), look_on_arrival=True)
    for name in ("wheels", "legs", "air"):
        sim.add_robot(name, EMBODIMENTS[name])
    rng = sim.random("walk")

    def live(ticks: int) -> None:
        for _ in range(ticks):
            for name in sim.robots:
                if not sim.state(name).busy:
                    ways = sim.observe(name).neighbours
                    hop = ways[int(rng.integers(len(ways)))].id if ways else ""
                    try:
                        sim.start_skill(name, NavigateTo(place=hop) if hop else LookAround())
                    except SkillRefused:
                        sim.start_skill(name, LookAround())
            sim.tick(0.3)

    tracemalloc.start()
    live(4500)  # as many ways as are kept have been asked for then
    before = tracemalloc.get_traced_memory()[0]
    live(1500)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 2_000_000
