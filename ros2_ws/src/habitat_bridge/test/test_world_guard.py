"""The guard: what it lets pass, and that it refuses by default."""

from __future__ import annotations

import math

import pytest

from coterie_core.embodiment import Arm, Embodiment
from coterie_core.skills import (
    Ask,
    Detect,
    LookAround,
    MoveArmTo,
    NavigateTo,
    Open,
    Outcome,
    Pick,
    SkillRefused,
    Target,
    Wait,
)
from coterie_fixtures.tiny_house import UPPER, tiny_house
from coterie_safety.guard import Guard, Limits, RobotLimits
from coterie_safety.guard.area import AllowedArea
from coterie_world.scene import Place as ScenePlace
from coterie_world.scene import SceneGraph
from habitat_bridge.embedded.world import EmbeddedWorld

BODY = Embodiment(name="body", arm=Arm())
POST = Embodiment(name="post", mobility="fixed")


@pytest.fixture(scope="module")
def scene() -> SceneGraph:
    return EmbeddedWorld(tiny_house()).truth()


def refusal(guard: Guard, skill: object, body: Embodiment = BODY) -> tuple[Outcome, str]:
    with pytest.raises(SkillRefused) as caught:
        guard.check(skill, body)
    return caught.value.result.outcome, caught.value.result.reason


def test_good_skills_pass(scene: SceneGraph) -> None:
    guard = Guard.of(scene)
    for skill in (
        NavigateTo(place="p1"),
        NavigateTo(position=(2.0, 2.0, 0.0), yaw=1.0),
        LookAround(),
        Detect("mug"),
        Wait(3.0),
        Ask("", "hello"),
        Pick(Target("mug", (0.5, 1.2, 0.9))),
        MoveArmTo((1.0, 1.0, 1.0)),
    ):
        guard.check(skill, BODY)


@pytest.mark.parametrize(
    ("skill", "outcome", "reason"),
    [
        (NavigateTo(place="p1x"), Outcome.UNKNOWN_TARGET, "'p1x'"),
        (NavigateTo(), Outcome.UNKNOWN_TARGET, "neither"),
        (NavigateTo(position=(math.inf, 0.0, 0.0)), Outcome.REFUSED, "finite"),
        (NavigateTo(place="p1", yaw=math.nan), Outcome.REFUSED, "yaw"),
        (NavigateTo(position=(30.0, 0.0, 0.0)), Outcome.REFUSED, "outside the house"),
        (NavigateTo(position=(2.0, 2.0, 40.0)), Outcome.REFUSED, "outside the house"),
        (Pick(Target("", (0.5, 1.2, 0.9))), Outcome.UNKNOWN_TARGET, "no label"),
        (Open(Target("fridge", (0.5, math.nan, 0.9))), Outcome.REFUSED, "finite"),
        (MoveArmTo((0.5, -9.0, 0.9)), Outcome.REFUSED, "outside"),
        (Wait(-1.0), Outcome.REFUSED, "Wait.duration"),
        (Wait(1e9), Outcome.REFUSED, "Wait.duration"),
        (Ask("all", "x" * 501), Outcome.REFUSED, "501 characters"),
        ("rm -rf /", Outcome.REFUSED, "rm -rf / is not in the table of skills"),
        (None, Outcome.REFUSED, "NoneType is not in the table of skills"),
    ],
)
def test_what_is_refused(scene: SceneGraph, skill: object, outcome: Outcome, reason: str) -> None:
    found, text = refusal(Guard.of(scene), skill)
    assert found is outcome
    assert reason in text


def test_what_a_body_cannot_do(scene: SceneGraph) -> None:
    guard = Guard.of(scene)
    for skill in (NavigateTo(place="p1"), LookAround(), Pick(Target("mug", (0.5, 1.2, 0.9)))):
        outcome, reason = refusal(guard, skill, POST)
        assert outcome is Outcome.UNSUPPORTED
        assert "post" in reason


FENCE = ((0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0))


def limited(**limits: object) -> RobotLimits:
    return RobotLimits(team=Limits.model_validate(limits))


def test_fences_floors_and_lists(scene: SceneGraph) -> None:
    kitchen = Guard.of(scene, limited(area=FENCE))
    kitchen.check(NavigateTo(position=(2.0, 2.0, 0.0)), BODY)
    assert "limits.area" in refusal(kitchen, NavigateTo(position=(6.0, 2.0, 0.0)))[1]
    beyond = next(k for k, place in scene.places.items() if place.room == "r_living")
    assert "limits.area" in refusal(kitchen, NavigateTo(place=beyond))[1]
    ground = Guard.of(scene, limited(floors=["f0"]))
    ground.check(NavigateTo(position=(6.0, 2.0, 0.0)), BODY)
    assert "floor" in refusal(ground, NavigateTo(position=(6.0, 2.0, UPPER)))[1]
    with pytest.raises(ValueError, match=r"limits.floors\[0\]: .* no floor 'f7'.*f0, f1"):
        Guard.of(scene, limited(floors=["f7"]))
    looker = Guard(None, {}, limited(skills=["look_around"], area="anywhere"))
    looker.check(LookAround(), BODY)
    assert "not among the allowed" in refusal(looker, Wait(1.0))[1]


def test_no_area_means_nowhere(scene: SceneGraph) -> None:
    places = {place.id: place.position for place in scene.places.values()}
    assert "no area is allowed" in refusal(Guard(None, places), NavigateTo(place="p1"))[1]
    with pytest.raises(ValueError, match="neither rooms"):
        AllowedArea.of(SceneGraph())


def test_topological_houses_have_an_area_too() -> None:
    scene = SceneGraph()
    scene.add_place(ScenePlace("n1", (0.0, 0.0, 1.5)))
    scene.add_place(ScenePlace("n2", (5.0, 2.0, 1.5)))
    guard = Guard.of(scene)
    guard.check(NavigateTo(place="n2"), BODY)
    assert refusal(guard, NavigateTo(position=(9.0, 0.0, 1.5)))[0] is Outcome.REFUSED


def test_a_world_asks_its_guard() -> None:
    scene = EmbeddedWorld(tiny_house()).truth()
    sim = EmbeddedWorld(tiny_house(), guard=Guard.of(scene, limited(area=FENCE)))
    sim.add_robot("r", BODY)
    with pytest.raises(SkillRefused, match=r"limits.area"):
        sim.start_skill("r", NavigateTo(position=(6.0, 2.0, 0.0)))
