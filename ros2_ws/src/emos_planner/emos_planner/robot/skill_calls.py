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
    Skill,
    Wait,
)
from coterie_core.tasks import SubTask
from coterie_llm import CheckFailed, inline_data
from coterie_world.scene import SceneObject
from coterie_world.sightings import as_thing, inside_only
from emos_planner.geometry.things import FLOOR
from emos_planner.robot.choose import Option, SkillChoice
from emos_planner.robot.searching import containers, views
from emos_planner.robot.situation import Situation
from emos_planner.robot.standpoints import APART, facing, other_sides
from emos_planner.robot.work import (
    GO_TRIES,
    NEAR_ENOUGH,
    done,
    give_up,
    go,
    hand_range,
    on_floor,
    put_down,
    target_of,
)

MOST_CHOSEN = 40
"""Skills that a model may choose for one sub-task, before the rule goes on with it."""
_MOST_FAILED = 5
"""How often the hand may fail at the same thing."""
_MOST_SAID = 3
"""How often a robot says something in its own words for one sub-task."""
_WAIT_S = 2.0
_MOST_WAITS = 3


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
        "reach_out": lambda: _reach_out(now, choice.target),
        "say": lambda: _say(now, choice),
        "wait": lambda: _wait(now),
        "done": lambda: _done(now),
        "give_up": lambda: _give_up(now),
    }
    return made[choice.skill]()


def _known(now: Situation, name: str) -> SceneObject:
    found = now.scene.objects.get(name)
    if found is None:
        near = difflib.get_close_matches(name, now.scene.objects, 3)
        hint = f"did you mean {', '.join(near)}?" if near else "give the id of a thing or room"
        raise CheckFailed(f"target: the map has no {inline_data(name)!r}; {hint}")
    return found


def _goal(now: Situation) -> SceneObject | None:
    """Return what the sub-task is done to."""
    return now.receptacle if now.sub_task.kind == "place" else now.thing


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
        thing, goal = _known(now, target), _goal(now)
        if goal is not None and thing.id == goal.id:
            return _go_for(now, thing)
        one, name = SubTask(id="go", kind="go_to", object=as_thing(thing)), thing.label.top
    way = now.tools.estimate(now.robot, one, now.position, holding=now.holding)
    if not way.feasible or way.spot is None:
        raise CheckFailed(f"go_to {target}: {way.reason}")
    if now.position is not None and math.dist(now.position[:2], way.spot[:2]) <= APART:
        raise CheckFailed(f"go_to {target}: you are there already")
    return Option(f"view of {target}", f"go to the {name}", skill=NavigateTo.near(way.spot))


def _go_for(now: Situation, thing: SceneObject) -> Option:
    """Go where the sub-task can be done; who stands there goes to another side."""
    at, label = now.estimate.target or thing.box.center, thing.label.top
    if not now.estimate.feasible:
        raise CheckFailed(f"go_to {thing.id}: {now.estimate.reason}")
    for step in go(now, now.estimate.spot, at, f"go to the {label}"):
        return step
    if now.failures("NavigateTo") >= GO_TRIES and now.last is not None:
        raise CheckFailed(f"{GO_TRIES} drives have failed, the last thing said: {now.last.reason}")
    drives = sum(a.skill == "NavigateTo" for a in now.attempts)
    for side in other_sides(now, thing):
        return Option(f"side {drives}", f"go to another side of the {label}", skill=side)
    if now.position is not None and math.dist(now.position[:2], at[:2]) > hand_range(now):
        return Option("nearer", f"go as near to the {label} as it gets", skill=facing(now, thing))
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
    if last is not None and last.skill == "LookAround" and last.ok and not now.glimpsed:
        raise CheckFailed("you have just looked around here; go elsewhere")
    return Option("look", "look around here", skill=LookAround())


def _look_for(now: Situation, target: str) -> Option:
    thing = _known(now, target)
    if now.last is not None and now.last.looked:
        raise CheckFailed("you have just looked from here; go_to it, to look from another side")
    name = "see" if now.did("Place") else "detect"
    return Option(name, f"look for the {thing.label.top} from here", skill=Detect(thing.label.top))


# -- the hand --------------------------------------------------------------------------------------


def _with_hand(now: Situation, thing: SceneObject | None, words: str, skill: Skill) -> Option:
    """Do something with the hand, or first drive to where it can be done."""
    name = type(skill).__name__
    at = now.estimate.target or (thing.box.center if thing is not None else None)
    if not now.estimate.feasible:
        raise CheckFailed(f"{words}: {now.estimate.reason}")
    for step in go(now, now.estimate.spot, at, f"go there, to {words}"):
        return step
    failed = [a for a in now.attempts if a.skill == name and not a.ok]
    if now.position is not None and at is not None:
        away = math.dist(now.position[:2], at[:2])
        if away > hand_range(now) + NEAR_ENOUGH:
            raise CheckFailed(
                f"{words}: it is {away:.1f} m away, the hand gets {hand_range(now):.2f} m far, and "
                f"{now.failures('NavigateTo')} drives there have failed"
            )
    if len(failed) >= _MOST_FAILED:
        raise CheckFailed(f"{words}: it has failed {len(failed)} times: {failed[-1].reason}")
    if failed and now.last is failed[-1]:
        twice = len(failed) > 1 and now.attempts[-2] is failed[-2]
        if now.last.outcome is Outcome.OUT_OF_REACH or twice:
            raise CheckFailed(
                f"{words}: it has just failed from here ({now.last.reason}); go_to it for another "
                "side, look_around, or ask"
            )
    return Option("do" if not failed else f"again {len(failed)}", words, skill=skill)


def _shut(now: Situation, thing: SceneObject) -> SceneObject | None:
    """Return what has to be opened first, None: nothing."""
    holder = now.scene.objects.get(now.estimate.opens or thing.container)
    return holder if holder is not None and holder.is_open is False else None


def _pick(now: Situation, target: str) -> Option:
    thing = _known(now, target)
    if now.sub_task.kind != "pick" or now.thing is None or thing.id != now.thing.id:
        raise CheckFailed(f"pick {target}: nobody asked for that to be taken; {_meant(now)}")
    if now.holding:
        raise CheckFailed(f"pick {target}: your hand holds {inline_data(now.holding)}")
    if (holder := _shut(now, thing)) is not None:
        raise CheckFailed(f"pick {target}: it is in {holder.id}, which is closed; open that first")
    return _with_hand(now, thing, f"take the {thing.label.top}", Pick(target_of(thing)))


def _place(now: Situation, target: str) -> Option:
    goal = now.receptacle
    wanted = goal.id if goal is not None else FLOOR if on_floor(now) else ""
    if now.sub_task.kind != "place" or not wanted:
        raise CheckFailed(f"place: nothing is to be put down; {_meant(now)}")
    if target != wanted:
        raise CheckFailed(
            f"place {target}: nobody asked for it to go there; it goes to {wanted} ({_meant(now)})"
        )
    if not now.holding:
        raise CheckFailed(f"place {target}: your hand is empty")
    if goal is not None and goal.is_open is False and (now.estimate.opens or inside_only(goal)):
        raise CheckFailed(f"place {target}: it is closed; open it first")
    put = put_down(now)
    if put is None:
        raise CheckFailed(f"place {target}: {now.estimate.reason}")
    name = goal.label.top if goal is not None else FLOOR
    return _with_hand(now, goal, f"put it on the {name}", put)


def _open(now: Situation, target: str) -> Option:
    thing, goal, kind = _known(now, target), _goal(now), now.sub_task.kind
    if kind == "search" and now.coverage is not None:
        rooms = [room for room in now.unseen if room == thing.room]
        found = [o for room in rooms for _, _, o in containers(now, room) if o.about == target]
        if not found:
            raise CheckFailed(f"open {target}: it is not shut, was seen into, or is out of reach")
        return found[0]
    meant = goal is not None and goal.id == target and kind in ("open", "place")
    around = now.thing is not None and kind == "pick" and _shut(now, now.thing) == thing
    if not (meant or around):
        raise CheckFailed(f"open {target}: nobody asked for that to be opened; {_meant(now)}")
    if thing.is_open:
        raise CheckFailed(f"open {target}: it is open already")
    return _with_hand(now, thing, f"open the {thing.label.top}", Open(target_of(thing)))


def _close(now: Situation, target: str) -> Option:
    thing = _known(now, target)
    if now.sub_task.kind != "close" or now.thing is None or thing.id != now.thing.id:
        raise CheckFailed(f"close {target}: nobody asked for that to be closed; {_meant(now)}")
    return _with_hand(now, thing, f"close the {thing.label.top}", Close(target_of(thing)))


def _reach_out(now: Situation, target: str) -> Option:
    thing, goal = _known(now, target), _goal(now)
    if goal is None or thing.id != goal.id:
        raise CheckFailed(f"reach_out {target}: the hand is for {goal.id if goal else 'nothing'}")
    at = now.estimate.target or thing.box.center
    away = math.inf if now.position is None else math.dist(now.position[:2], at[:2])
    if away > hand_range(now):
        raise CheckFailed(
            f"reach_out {target}: it is {away:.1f} m away, the hand gets {hand_range(now):.2f} m"
        )
    if now.last is not None and now.last.skill == "MoveArmTo":
        raise CheckFailed(f"reach_out {target}: you have just done that")
    words = f"move the hand to the {thing.label.top}, to see whether it gets there from here"
    return Option("arm", words, skill=MoveArmTo(at))


# -- words, waiting, the end -----------------------------------------------------------------------


def _say(now: Situation, choice: SkillChoice) -> Option:
    if not choice.words.strip():
        raise CheckFailed("words are empty: write what you tell the others")
    if not now.mates or (choice.target and choice.target not in now.mates):
        known = ", ".join(now.mates) or "none"
        raise CheckFailed(
            f"target: there is no robot {inline_data(choice.target)} on this task; robots: {known}"
        )
    if sum(attempt.option == "say" for attempt in now.attempts) >= _MOST_SAID:
        raise CheckFailed(f"you have spoken {_MOST_SAID} times; do something")
    return Option("say", "say something to the others", skill=Ask(choice.target, choice.words))


def _wait(now: Situation) -> Option:
    if [a.skill for a in now.attempts[-_MOST_WAITS:]] == ["Wait"] * _MOST_WAITS:
        raise CheckFailed(f"you have waited {_MOST_WAITS} times; do something else")
    return Option("wait", "wait for the way to become free", skill=Wait(_WAIT_S))


def _done(now: Situation) -> Option:
    """Say that it is done; what the robot can see to be so has ended the sub-task before."""
    if now.sub_task.kind == "place" and now.did("Place"):
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
