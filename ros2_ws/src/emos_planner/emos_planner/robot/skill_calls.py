"""Steps that parametrised skills come to, or the reasons with numbers why a robot does not do them.

A model chooses what it likes; map and body tell what is possible. Beyond that one rule binds it,
for safety: nothing is taken, put down, opened or closed that the sub-task is not about.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from coterie_core.skills import (
    Ask,
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
    Wait,
)
from coterie_core.tasks import SubTask
from coterie_execution.geometry.things import FLOOR
from coterie_execution.options import Option, Purpose, Step
from coterie_execution.search_steps import containers, views
from coterie_execution.situation import Situation
from coterie_execution.standpoints import APART, facing, other_sides
from coterie_execution.trees import (
    GO_TRIES,
    MOST_FAILURES,
    NEAR_ENOUGH,
    done,
    door,
    give_up,
    go,
    hand_range,
    hand_skill,
    target_of,
)
from coterie_llm import CheckFailed, inline_data
from coterie_world.scene import SceneObject
from coterie_world.sightings import as_thing
from emos_planner.robot.choose import SkillChoice
from emos_planner.robot.helping import ANSWER_WAIT

MOST_CHOSEN = 40
"""Skills that a model may choose for one sub-task, before the rule goes on with it."""
_MOST_TALK = 3
"""How often a robot says something in its own words for one sub-task, or waits in a row."""


def step_of(now: Situation, choice: SkillChoice) -> Option:
    """Return what a choice comes to in a situation.

    Raises:
        CheckFailed: Why the robot does not do that, and what to do instead.
    """
    made: Mapping[str, Callable[[], Option]] = {
        "go_to": lambda: _go_to(now, choice.target),
        "look_around": lambda: _look_around(now),
        "look_for": lambda: _look_for(now, choice.target),
        "pick": lambda: _pick(now, choice.target),
        "place": lambda: _place(now, choice.target),
        "open": lambda: _open(now, choice.target),
        "close": lambda: _close(now, choice.target),
        "use": lambda: _use(now, choice.target),
        "reach_out": lambda: _reach_out(now, choice.target),
        "say": lambda: _say(now, choice),
        "wait": lambda: _wait(now),
        "done": lambda: _done(now),
        "give_up": lambda: _give_up(now),
    }
    return made[choice.skill]()


def _known(now: Situation, name: str) -> SceneObject:
    found = now.scene.objects.get(name)
    if name in now.scene.rooms:
        raise CheckFailed(f"target: {name} is a room; that can be done to things; go_to the room")
    if found is None:
        near = difflib.get_close_matches(name, now.scene.objects, 3)
        hint = f"did you mean {', '.join(near)}?" if near else "give the id of a thing or room"
        raise CheckFailed(f"target: the map has no {inline_data(name)!r}; {hint}")
    return found


def _meant(now: Situation) -> str:
    one = now.sub_task
    return f"the sub-task is: {one.description or one.kind.replace('_', ' ')}"


# -- going and looking -----------------------------------------------------------------------------


def _go_to(now: Situation, target: str) -> Option:
    if target in now.scene.rooms:
        if target in now.unseen:
            return _look_in(now, target)
        one, name = SubTask(id="go", kind="go_to", rooms=(target,)), now.scene.rooms[target].name
    else:
        thing, goal = _known(now, target), now.goal
        if goal is not None and thing.id == goal.id:
            return _go_for(now, thing)
        one, name = SubTask(id="go", kind="go_to", object=as_thing(thing)), thing.label.top
    way = now.tools.estimate(now.robot, one, now.position, holding=now.holding)
    if not way.feasible or way.spot is None:
        raise CheckFailed(f"go_to {target}: {way.reason}")
    if now.position is not None and math.dist(now.position[:2], way.spot[:2]) <= APART:
        raise CheckFailed(f"go_to {target}: you are there already")
    step = Step(Purpose.VIEW, target)
    return Option(f"go to the {name}", skill=NavigateTo.near(way.spot), step=step)


def _go_for(now: Situation, thing: SceneObject) -> Option:
    """Go where the sub-task can be done; who stands there goes to another side."""
    at, label = now.estimate.target or thing.box.center, thing.label.top
    if not now.estimate.feasible:
        raise CheckFailed(f"go_to {thing.id}: {now.estimate.reason}")
    for step in go(now, now.estimate.spot, at, f"go to the {label}"):
        return step
    last = now.last
    if now.estimate.spot is not None and (last is None or (last.ok and last.goal is not None)):
        due = "look_for" if now.sub_task.kind == "detect" else now.sub_task.kind
        raise CheckFailed(f"go_to {thing.id}: you are there; now {due} {thing.id}")
    if now.failures(NavigateTo) >= GO_TRIES and last is not None:
        raise CheckFailed(f"{GO_TRIES} drives have failed, the last thing said: {last.reason}")
    for side in other_sides(now, thing):
        words = f"go to another side of the {label}"
        return Option(words, skill=side, step=Step(Purpose.OTHER_SIDE))
    if now.position is not None and math.dist(now.position[:2], at[:2]) > hand_range(now):
        words, near = f"go as near to the {label} as it gets", Step(Purpose.GO_NEAR)
        return Option(words, skill=facing(now, thing), step=near)
    raise CheckFailed(f"you stand at {thing.id}, and no other spot is known to do it from")


def _look_in(now: Situation, room: str) -> Option:
    """Go where a look shows most of what was not seen of a room."""
    ranked = sorted(views(now, room), key=lambda one: -one[0])
    if not ranked:
        raise CheckFailed(
            f"go_to {room}: no look from where you get to would show more of it; "
            f"{now.unseen[room]:.2f} of the thing may be unseen there"
        )
    return ranked[0][2]


def _look_around(now: Situation) -> Option:
    last = now.last
    if last is not None and isinstance(last.skill, LookAround) and last.ok and not now.glimpsed:
        raise CheckFailed("you have just looked around here; go elsewhere")
    return Option("look around here", skill=LookAround(), step=Step(Purpose.LOOK))


def _look_for(now: Situation, target: str) -> Option:
    if target in now.unseen:  # looking for a thing in a room begins with going there
        return _look_in(now, target)
    label = _known(now, target).label.top
    if now.last is not None and now.last.looked:
        raise CheckFailed("you have just looked from here; go_to it, to look from another side")
    words = f"look for the {label} from here"
    return Option(words, skill=Detect(label), step=Step(Purpose.LOOK))


# -- the hand --------------------------------------------------------------------------------------


def _with_hand(now: Situation, words: str, skill: Skill, step: Step) -> Option:
    """Do something with the hand, or first drive to where it can be done."""
    at = now.estimate.target or (now.goal.box.center if now.goal is not None else None)
    if not now.estimate.feasible:
        raise CheckFailed(f"{words}: {now.estimate.reason}")
    for drive in go(now, now.estimate.spot, at, f"go there, to {words}"):
        return drive
    if now.position is not None and at is not None:
        away = math.dist(now.position[:2], at[:2])
        if away > hand_range(now) + NEAR_ENOUGH:
            raise CheckFailed(
                f"{words}: it is {away:.1f} m away, the hand gets {hand_range(now):.2f} m far, and "
                f"{now.failures(NavigateTo)} drives there have failed"
            )
    failed = [a for a in now.attempts if isinstance(a.skill, type(skill)) and not a.ok]
    if len(failed) > MOST_FAILURES:
        raise CheckFailed(f"{words}: it has failed {len(failed)} times: {failed[-1].reason}")
    if failed and now.last is failed[-1]:
        twice = len(failed) > 1 and now.attempts[-2] is failed[-2]
        if now.last.outcome is Outcome.OUT_OF_REACH or twice:
            raise CheckFailed(
                f"{words}: it has just failed from here ({now.last.reason}); go_to it for another "
                "side, look_around, or ask"
            )
    return Option(words, skill=skill, step=step)


_DO = Step(Purpose.DO)


def _pick(now: Situation, target: str) -> Option:
    thing = _known(now, target)
    if now.sub_task.kind != "pick" or now.thing is None or thing.id != now.thing.id:
        raise CheckFailed(f"pick {target}: nobody asked for that to be taken; {_meant(now)}")
    if now.holding:
        raise CheckFailed(f"pick {target}: your hand holds {inline_data(now.holding)}")
    if (shut := door(now)) is not None:
        raise CheckFailed(f"pick {target}: it is in {shut.id}, which is closed; open that first")
    return _with_hand(now, f"take the {thing.label.top}", Pick(target_of(thing)), _DO)


def _place(now: Situation, target: str) -> Option:
    receptacle = now.sub_task.receptacle
    floor = FLOOR if receptacle is not None and receptacle.label == FLOOR else ""
    wanted = now.receptacle.id if now.receptacle is not None else floor
    if now.sub_task.kind != "place" or not wanted:
        raise CheckFailed(f"place: nothing is to be put down; {_meant(now)}")
    if target != wanted:
        raise CheckFailed(
            f"place {target}: nobody asked for it to go there; it goes to {wanted} ({_meant(now)})"
        )
    if not now.holding:
        raise CheckFailed(f"place {target}: your hand is empty")
    if door(now) is not None:
        raise CheckFailed(f"place {target}: it is closed; open it first")
    put = hand_skill(now)
    if not isinstance(put, Place):
        raise CheckFailed(f"place {target}: {now.estimate.reason}")
    return _with_hand(now, f"put it on the {put.receptacle.label}", put, _DO)


def _open(now: Situation, target: str) -> Option:
    thing = _known(now, target)
    if thing.room in now.unseen:
        found = [one for _, _, one in containers(now, thing.room) if one.step.about == target]
        if not found:
            raise CheckFailed(f"open {target}: it is not shut, was seen into, or is out of reach")
        return found[0]
    around = door(now)
    meant = now.sub_task.kind == "open" and now.thing is not None and now.thing.id == target
    if not meant and (around is None or around.id != target):
        raise CheckFailed(f"open {target}: nobody asked for that to be opened; {_meant(now)}")
    if thing.is_open:
        raise CheckFailed(f"open {target}: it is open already")
    step = _DO if meant else Step(Purpose.OPEN_FIRST, target)
    return _with_hand(now, f"open the {thing.label.top}", Open(target_of(thing)), step)


def _close(now: Situation, target: str) -> Option:
    thing = _known(now, target)
    if now.sub_task.kind != "close" or now.thing is None or thing.id != now.thing.id:
        raise CheckFailed(f"close {target}: nobody asked for that to be closed; {_meant(now)}")
    return _with_hand(now, f"close the {thing.label.top}", Close(target_of(thing)), _DO)


def _use(now: Situation, target: str) -> Option:
    thing, skill = _known(now, target), hand_skill(now)
    if not now.sub_task.skill or now.thing is None or thing.id != now.thing.id or skill is None:
        raise CheckFailed(f"use {target}: nobody asked for that; {_meant(now)}")
    return _with_hand(now, f"{now.sub_task.skill} the {thing.label.top}", skill, _DO)


def _reach_out(now: Situation, target: str) -> Option:
    thing, goal = _known(now, target), now.goal
    if goal is None or thing.id != goal.id:
        raise CheckFailed(f"reach_out {target}: the hand is for {goal.id if goal else 'nothing'}")
    at = now.estimate.target or thing.box.center
    away = math.inf if now.position is None else math.dist(now.position[:2], at[:2])
    if away > hand_range(now):
        raise CheckFailed(
            f"reach_out {target}: it is {away:.1f} m away, the hand gets {hand_range(now):.2f} m"
        )
    if now.last is not None and isinstance(now.last.skill, MoveArmTo):
        raise CheckFailed(f"reach_out {target}: you have just done that")
    words = f"move the hand to the {thing.label.top}, to see whether it gets there from here"
    return Option(words, skill=MoveArmTo(at), step=Step(Purpose.MOVE_ARM))


# -- words, waiting, the end -----------------------------------------------------------------------


def _say(now: Situation, choice: SkillChoice) -> Option:
    if not choice.words.strip():
        raise CheckFailed("words are empty: write what you tell the others")
    if not now.mates or (choice.target and choice.target not in now.mates):
        known = ", ".join(now.mates) or "none"
        raise CheckFailed(
            f"target: there is no robot {inline_data(choice.target)} on this task; robots: {known}"
        )
    if sum(attempt.step.purpose is Purpose.SAY for attempt in now.attempts) >= _MOST_TALK:
        raise CheckFailed(f"you have spoken {_MOST_TALK} times; do something")
    words, step = "say something to the others", Step(Purpose.SAY)
    return Option(words, skill=Ask(choice.target, choice.words), step=step)


def _wait(now: Situation) -> Option:
    if sum(isinstance(a.skill, Wait) for a in now.attempts[-_MOST_TALK:]) == _MOST_TALK:
        raise CheckFailed(f"you have waited {_MOST_TALK} times; do something else")
    words = "wait for the way to become free"
    return Option(words, skill=Wait(ANSWER_WAIT), step=Step(Purpose.WAIT))


def _done(now: Situation) -> Option:
    """Say that it is done; what the robot can see to be so has ended the sub-task before."""
    if now.sub_task.kind == "place" and now.did(Place):
        return done("it was put down")
    unseen = ""
    if now.sub_task.kind == "search":
        left = sum(now.unseen.values())
        unseen = f": {left:.2f} of it may be unseen, {now.sub_task.enough:.2f} is little enough"
    raise CheckFailed(f"done: it is not so yet{unseen}; {_meant(now)}")


def _give_up(now: Situation) -> Option:
    if now.estimate.feasible and not any(a.looked or not a.ok for a in now.attempts):
        raise CheckFailed(
            f"give_up: nothing has failed so far, and your tools say: {now.estimate.reason}"
        )
    return replace(give_up(now), words="give the sub-task back")
