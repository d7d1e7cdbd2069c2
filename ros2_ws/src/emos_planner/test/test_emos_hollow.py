"""Tubs and baskets of which only the box is known: seen into from above, filled where it shows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from coterie_core.embodiment import Camera, Embodiment
from coterie_core.geometry import Box
from coterie_core.resume import Resume
from coterie_core.tasks import Obstacle, RobotReport, SubTask, SubTaskState, Thing
from coterie_execution.geometry.things import ResolvedObject, surfaces_of
from coterie_execution.geometry.toolbox import Toolbox
from coterie_execution.geometry.viewpoints import CLEAR_SHARE, eyes_toward
from coterie_fixtures.two_floor_home import STARTS, small_house, small_team
from coterie_world.scene import LabelBelief, SceneObject
from coterie_world.surfaces import hollow_bottom
from emos_planner.leader.leader import Leader, rules_decider
from emos_planner.leader.outcome import TaskState

DONE, FAILED, PENDING = SubTaskState.DONE, SubTaskState.FAILED, SubTaskState.PENDING
TUB = Box((2.0, 2.2, 0.28), (1.6, 0.75, 0.56))


def with_tub(label: str = "bathtub", box: Box = TUB, **toy: float):
    """Return the house with a tub in the kitchen, a toy in it (`x`, `y` [m]) or on the floor."""
    house = small_house(items=False)
    house.add_object(SceneObject("tub-1", LabelBelief.of(label), box, "kitchen", "fixture"))
    bottom = hollow_bottom(label, box)
    assert bottom is not None
    at = (toy["x"], toy["y"], bottom + 0.05) if toy else (3.5, 0.5, 0.05)
    made = SceneObject("toy-1", LabelBelief.of("toy"), Box(at, (0.1, 0.1, 0.1)), "kitchen")
    made.support = "tub-1" if toy else ""
    house.add_object(made)
    return house


def from_one_side(house):
    """Put something at the tub's other three sides: one gets to it from the south alone."""
    for k, (x, y, wide, deep) in enumerate(
        [(1.05, 2.2, 0.2, 0.8), (2.95, 2.2, 0.2, 0.8), (2.0, 2.7, 2.1, 0.2)]
    ):
        box = Box((x, y, 1.0), (wide, deep, 2.0))
        label = LabelBelief.of("wardrobe")
        house.add_object(SceneObject(f"screen-{k}", label, box, "kitchen", "furniture"))
    return house


def tools_of(house) -> Toolbox:
    return Toolbox(house, small_team())


def see(on: bool = True) -> SubTask:
    tub = Thing(label="bathtub", id="tub-1") if on else None
    return SubTask(id="see", kind="detect", object=Thing(label="toy", id="toy-1"), receptacle=tub)


@pytest.mark.parametrize(
    ("eye", "clear"),
    [
        ((2.0, 1.2, 1.2), False),  # the rim is before it
        ((2.0, 1.7, 1.2), True),  # over the rim, from near by
        ((0.6, 2.2, 1.2), True),  # along the tub
        ((2.0, 1.2, 2.2), True),  # from high up
    ],
)
def test_a_tub_hides_what_lies_in_it_up_to_its_rim(eye, clear) -> None:
    lines = tools_of(with_tub(x=2.0, y=2.1)).lines
    point = np.array([[2.0, 2.1, 0.16]])
    assert lines.clear(np.array([eye]), point, 0, ("toy-1", "tub-1"), "toy-1")[0, 0] == clear


@pytest.mark.parametrize(("bottom", "hides"), [(0.01, True), (0.8, False)])
def test_a_basket_on_the_floor_hides_what_lies_beside_and_in_it(bottom, hides) -> None:
    """Baskets are no furniture; one in a hand is gone before anybody gets there."""
    house = small_house(items=False)
    basket = Box((2.0, 2.2, bottom + 0.24), (0.43, 0.37, 0.48))
    house.add_object(SceneObject("tub-1", LabelBelief.of("laundry basket"), basket, "kitchen"))
    lines = tools_of(house).lines
    low, behind = (2.0, 2.2, bottom + 0.08), (2.0, 2.5, bottom + 0.1)
    from_aside = np.array([[2.0, 1.0, bottom + 0.7]])
    seen = lines.clear(from_aside, np.array([low]), 0, ("toy-1", "tub-1"), "toy-1")
    assert bool(seen[0, 0]) is not hides
    assert bool(lines.clear(from_aside, np.array([behind]), 0)[0, 0]) is not hides
    above = np.array([[2.0, 2.2, bottom + 1.2]])
    assert lines.clear(above, np.array([low]), 0, ("toy-1", "tub-1"), "toy-1")[0, 0]


@pytest.mark.parametrize(("rows", "farther"), [(640, False), (300, True)])
def test_what_goes_beyond_the_image_is_not_in_view(rows, farther) -> None:
    """A flat image has all of a wardrobe in it from farther away only."""
    house = small_house(items=False)
    box = Box((1.0, 2.6, 1.0), (0.8, 0.4, 2.0))
    high = SceneObject("w-1", LabelBelief.of("wardrobe"), box, "kitchen", "furniture")
    house.add_object(high)
    eye = Camera(width=640, height=rows, hfov=math.radians(60), mount_height=1.0, pitch=0.0)
    body = Resume.of_embodiment(Embodiment(name="tall", radius=0.2, cameras=(eye,)))
    sight = Toolbox(house, {"tall": body}).view("tall", ResolvedObject("wardrobe", box, high), None)
    assert sight.feasible and sight.share > CLEAR_SHARE
    assert (math.dist(sight.spot[:2], box.center[:2]) > 2.0) is farther


def test_what_is_let_go_over_a_tub_comes_to_lie_in_it() -> None:
    tub = SceneObject("tub-1", LabelBelief.of("bathtub"), TUB, kind="fixture")
    (surface,) = surfaces_of(ResolvedObject("bathtub", TUB, tub), None)
    assert surface.box.center[2] == pytest.approx(TUB.top)
    assert surface.rest.center[2] == pytest.approx(TUB.top - 0.45)
    desk = SceneObject("d", LabelBelief.of("desk"), Box((0, 0, 0.4), (1.2, 0.6, 0.8)))
    (top,) = surfaces_of(ResolvedObject("desk", desk.box, desk), None)
    assert top.rest == top.box


@pytest.mark.parametrize("robot", ["rover", "walker"])
def test_things_are_put_into_a_tub_where_the_robot_sees_them_from_there(robot) -> None:
    tools = tools_of(from_one_side(with_tub()))
    toy = Thing(label="toy", id="toy-1")
    bring = SubTask(id="put", kind="place", object=toy, receptacle=see().receptacle)
    answer = tools.estimate(robot, bring, STARTS[robot], holding="toy-1")
    assert answer.feasible and answer.target is not None and answer.spot is not None, answer.reason
    x, y, _ = answer.target
    (camera, *_) = tools.kind(robot).body.cameras
    here = np.array([answer.spot[:2]])
    eye = eyes_toward(camera, here[:, 0], here[:, 1], answer.target, camera.height)
    bottom = np.array([[x, y, TUB.top - 0.45 + 0.05]])
    assert tools.lines.clear(eye, bottom, 0, ("tub-1",))[0, 0]


def test_it_is_looked_for_at_the_bottom_all_over_the_tub() -> None:
    """Who put it there knows where; that spot is hidden from everywhere, others are not."""
    tools = tools_of(with_tub(x=2.0, y=2.5))
    answer = tools.estimate("rover", see(), STARTS["rover"])
    assert answer.feasible and answer.target is not None
    assert answer.target[2] == pytest.approx(TUB.top - 0.45 + 0.05)


HERE = {name: STARTS[name] for name in ("rover", "walker")}


def leader_of(house) -> Leader:
    team = {name: resume for name, resume in small_team().items() if name in HERE}
    tools = tools_of(house)
    return Leader(rules_decider(), house, team, toolbox_factory=lambda s, r: tools.with_scene(s, r))


@pytest.mark.parametrize(
    ("reason", "again"),
    [("occluded: it is nowhere in clear view", False), ("not_there: looked 4 times", True)],
)
async def test_what_was_put_where_nobody_can_look_is_told_and_not_fetched_again(
    reason, again
) -> None:
    house = with_tub()
    box = Box((3.4, 3.5, 0.05), (0.1, 0.1, 0.1))
    house.add_object(SceneObject("toy-2", LabelBelief.of("toy"), box, "kitchen"))
    leader = leader_of(house)
    await leader.discuss("t", "bring a toy to the bathtub", HERE)
    for _ in range(12):
        open_ = [o for o in leader.assignment if o.state is PENDING and o.robot]
        for one in open_:
            hidden = one.description.startswith("see that")
            update = {"state": FAILED, "reason": reason} if hidden else {"state": DONE}
            told = one.model_copy(update=update)
            leader.update(RobotReport(robot=one.robot, task="t", sub_tasks=(told,)))
        if leader.must_replan:
            await leader.replan(HERE)
        elif not open_ and leader.progress.finished:
            break
    things = {o.object.id for o in leader.assignment if o.kind == "place" and o.object}
    assert (len(things) > 1) is again, things
    outcome = leader.progress.outcome()
    assert not outcome.success, "nobody has seen it there"
    if not again:
        assert outcome.state is TaskState.PARTIAL
        assert "put there, and not seen since: toy-" in outcome.message
        assert Obstacle.NOT_THERE.value not in outcome.message
