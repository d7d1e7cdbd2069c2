"""The tree of each kind of sub-task: what a robot does next by rule (EMOS, stage 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from py_trees.behaviour import Behaviour

from coterie_core.geometry import Vec3
from coterie_core.skill_registry import ON_TARGET, SKILLS
from coterie_core.skills import (
    Close,
    Detect,
    LookAround,
    NavigateTo,
    Open,
    Outcome,
    Pick,
    Place,
    Skill,
    SkillResult,
    Target,
    Wait,
)
from coterie_core.tasks import BY_HAND, Obstacle
from coterie_execution.behavior_tree import Act, Tree, fallback, when
from coterie_execution.geometry.viewpoints import CLEAR_SHARE
from coterie_execution.options import Attempt, Option, Purpose, Step
from coterie_execution.search_steps import TRIES, search
from coterie_execution.situation import Situation
from coterie_execution.standpoints import (
    APART,
    facing,
    floor_before,
    from_afar,
    in_view,
    other_sides,
    other_views,
    put_here,
    view_of,
)
from coterie_safety.permits.gate import is_no_permit
from coterie_world.scene import SceneObject
from coterie_world.sightings import inside_only

THERE = 0.1
"""A robot this near to a spot stands on it [m]."""
ANOTHER_SPOT = 0.5
"""A spot this far from where a robot went is another one [m]."""
GO_TRIES = 3
"""How often a way may fail until the robot goes nowhere any more for a sub-task."""
MOST_FAILURES = 4
"""How often a skill may fail until it is tried no more for a sub-task."""
NEAR_ENOUGH = 1.0
"""Beyond its reach a thing may be so far away for the hand to be tried all the same [m]."""
LOOKS = 4
"""How often a thing is looked at before it is said not to be there."""
GIVE_UP = "give the sub-task back to the leader, for another robot or for nobody"
_PATIENCE = 6
"""How often a robot waits for others to go out of its way."""
_NO_REMEDY = (Outcome.REFUSED, Outcome.UNSUPPORTED, Outcome.HAND_FULL)
"""Failures that another try from here does not mend."""

_OBSTACLES: Mapping[Outcome, Obstacle] = {
    Outcome.UNREACHABLE: Obstacle.NO_PATH,
    Outcome.BLOCKED: Obstacle.NO_PATH,
    Outcome.OUT_OF_REACH: Obstacle.TOO_FAR_IN,
    Outcome.NOT_VISIBLE: Obstacle.OUT_OF_VIEW,
    Outcome.UNKNOWN_TARGET: Obstacle.UNKNOWN_THING,
    Outcome.HAND_FULL: Obstacle.HANDS_FULL,
    Outcome.CLOSED: Obstacle.CLOSED,
    Outcome.UNSUPPORTED: Obstacle.NO_ARM,
}


# -- the trees ----------------------------------------------------------------------------------


def trees() -> dict[str, Tree]:
    """Return a tree for each kind of sub-task, made anew.

    It is the rule where no model chooses (`skill_calls`). What it cannot do it gives back with the
    typed reason.
    """
    makers: Mapping[str, Callable[[], Behaviour]] = {
        "go_to": _go_to,
        "search": lambda: Act("look for it", search),
        "detect": _detect,
        "pick": _pick,
        "place": _place,
        "open": _open_or_close,
        "close": _open_or_close,
        "use": _use,
    }
    return {kind: Tree(_whole(kind, make())) for kind, make in makers.items()}


def _whole(kind: str, work: Behaviour) -> Behaviour:
    """Return the tree of a kind of sub-task: its own work, and what goes for all of them."""
    if kind != "search":  # who stands in the way of a search does not keep it from another view
        work = fallback("without waiting", Act("wait for the way", _waits), work)
    return fallback(
        kind.replace("_", " "),
        when(
            "tries are used up",
            lambda now: now.tries_left <= 0,
            fallback(
                "end",
                when("was put down", _was_put, Act("leave it there", _put_down)),  # others see
                Act("give back", lambda now: [_spent(now, "tried often enough")]),
            ),
        ),
        when(
            "nobody permits it",
            lambda now: now.sub_task.kind != "search" and _not_permitted(now),
            Act("give back what is not permitted", lambda now: [_spent(now)]),
        ),
        work,
        Act("give back what cannot be done", lambda now: [give_up(now)]),
    )


def _go_to() -> Behaviour:
    return fallback(
        "go there",
        when("arrived", _arrived, Act("be there", lambda now: [done("it is there")])),
        when("there is a way", _feasible, Act("go", _way_there)),
    )


def _pick() -> Behaviour:
    return fallback(
        "fetch",
        when("holds it", _holds_it, Act("keep it", lambda now: [done("it holds it")])),
        when("can be taken", lambda now: now.thing and _feasible(now), _by_hand()),
    )


def _place() -> Behaviour:
    return fallback(
        "put down",
        when("was put down", lambda now: now.did(Place), _see_it()),
        when("can be put there", _can_be_put, _by_hand()),
    )


def _open_or_close() -> Behaviour:
    return fallback(
        "move the door",
        when("stands so", _stands_so, Act("leave it so", _leave_so)),
        when("can be moved", lambda now: now.thing and _feasible(now), _by_hand()),
    )


def _use() -> Behaviour:
    return when(
        "can be done",
        lambda now: now.thing and _feasible(now),
        fallback(
            "use",
            when(
                "was done",
                lambda now: now.did(_hand_of(now)),
                Act(
                    "be done",
                    lambda now: [done("its hand did it; nobody looked at what came of it")],
                ),
            ),
            _by_hand(),
        ),
    )


def _by_hand() -> Behaviour:
    """Return how the hand does something: go there, open what is closed, do it, and try again."""
    return fallback(
        "by hand",
        when(
            "closed",
            door,
            fallback(
                "open first",
                Act("go to the door", _go_to_door),
                Act("open", _open_first),
            ),
        ),
        Act("go to base pose", _go_to_work),
        when(
            "hand may get there",
            _may_get_there,
            fallback(
                "do",
                when("not tried yet", lambda now: not _failures(now), Act("do it", _do)),
                when("few failures", lambda now: _failures(now) <= MOST_FAILURES, _remedies()),
            ),
        ),
    )


def _remedies() -> Behaviour:
    """Return what may help after a failure, best first: another try comes last."""
    return fallback(
        "remedies",
        Act("empty the hand", _empty_hand),
        Act("view again", _view_again),
        Act("other side", _other_side),
        Act("as near as it gets", _nearer),
        Act("before the robot", _on_floor_here),
        Act("look around", _look_around),
        Act("wait for room", _wait_for_room),
        when("may help", _may_help, Act("once more", lambda now: _do(now, ", once more"))),
    )


def _see_it() -> Behaviour:
    """Return how to see whether what was put down is there: a look tells."""
    return fallback(
        "see it there",
        when("seen there", lambda now: _put_looks(now) and now.seen_placed, Act("seen", _seen)),
        when(
            "looked often",
            lambda now: now.thing is None or len(_put_looks(now)) >= LOOKS,
            Act("unseen", _put_down),
        ),
        fallback(
            "look at it",
            when("looked from here", _looked_just_now, Act("another view", _another_view)),
            Act("look", _look_at_it),
        ),
    )


def _detect() -> Behaviour:
    return fallback(
        "see",
        when("holds it", _has_it_in_hand, Act("keep it", lambda now: [done("it holds it")])),
        when(
            "may be seen",
            lambda now: now.thing and _feasible(now),
            fallback(
                "look",
                when("in view", _in_view, Act("seen", _seen_there)),
                when("looked often", lambda now: len(_looks(now)) >= LOOKS, Act("absent", _absent)),
                when(
                    "cannot look",
                    _cannot_look,
                    Act("give back", lambda now: [give_up(now, "it cannot look")]),
                ),
                fallback(
                    "views",
                    when("not looked yet", lambda now: not _looks(now), Act("go", _go_to_see)),
                    when(
                        "looked from here",
                        lambda now: now.last and now.last.looked,
                        Act("another view", _another_view),
                    ),
                    Act("look from here", _look_from_here),
                ),
            ),
        ),
    )


# -- what goes for all of them ------------------------------------------------------------------


def _feasible(now: Situation) -> bool:
    return now.estimate.feasible


def _was_put(now: Situation) -> bool:
    return now.sub_task.kind == "place" and now.did(Place)


def _put_down(now: Situation) -> Iterator[Option]:
    yield done("it was put down")


def _not_permitted(now: Situation) -> bool:
    """Whether the last skill lacked a permit: nobody is asked for it once more."""
    last = now.last
    return last is not None and is_no_permit(SkillResult(last.outcome, last.reason))


def hand_range(now: Situation) -> float:
    """Return how far hands get from the middle of the robot at most [m]."""
    return max((hand.reach for hand in now.tools.kind(now.robot).body.hands), default=0.0)


def _aim(now: Situation) -> Vec3 | None:
    """Return what the hand, or the camera, has to get to [m]."""
    return now.estimate.target or (now.goal.box.center if now.goal is not None else None)


def _drives(now: Situation) -> list[Attempt]:
    goes = (a for a in now.attempts if a.step.purpose is not Purpose.TURN)
    return [a for a in goes if isinstance(a.skill, NavigateTo)]


def _waits(now: Situation) -> Iterator[Option]:
    """Another robot in the way goes away by itself: waiting comes first, for a while."""
    last = now.last
    blocked = sum(a.outcome is Outcome.BLOCKED for a in _drives(now))
    if last is not None and last.outcome is Outcome.BLOCKED and isinstance(last.skill, NavigateTo):
        if blocked <= _PATIENCE:
            words = "wait for the way to become free"
            yield Option(words, skill=Wait(1.0 + blocked), step=Step(Purpose.WAIT))


def obstacle_of(outcome: Outcome) -> Obstacle:
    """Return what stands against a sub-task by how a skill for it has failed."""
    return _OBSTACLES.get(outcome, Obstacle.OTHER)


def give_up(now: Situation, why: str = "") -> Option:
    """Give the sub-task back: with what stands against it, or with what went wrong last."""
    failed = [a for a in now.attempts if not a.ok]
    if not now.estimate.feasible:
        obstacle, reason = now.estimate.obstacle or Obstacle.OTHER, now.estimate.reason
    elif failed:
        obstacle = obstacle_of(failed[-1].outcome)
        if isinstance(failed[-1].skill, Place) and failed[-1].outcome is Outcome.BLOCKED:
            obstacle = Obstacle.NO_ROOM
        reason = f"{type(failed[-1].skill).__name__}: {failed[-1].reason}"
    else:
        obstacle, reason = Obstacle.OTHER, "there is nothing more that it can try"
    return _given_up(obstacle, f"{why}: {reason}" if why else reason)


def _spent(now: Situation, why: str = "") -> Option:
    """Give it back for good: nobody is asked whether to go on."""
    return replace(give_up(now, why), step=Step(Purpose.SPENT))


def _given_up(obstacle: Obstacle, reason: str) -> Option:
    return Option(GIVE_UP, "give up", None, obstacle, reason, step=Step(Purpose.END))


def done(words: str) -> Option:
    """End the sub-task: what was to be so is so."""
    return Option(words, "done", step=Step(Purpose.END))


# -- going --------------------------------------------------------------------------------------


def go(now: Situation, spot: Vec3 | None, towards: Vec3 | None, words: str) -> Iterator[Option]:
    """Go to a spot, looking at what is to be done there; nothing if the robot stands there."""
    if spot is None:
        return
    failures = now.failures(NavigateTo)
    if _stands_at(now, spot) or failures >= GO_TRIES:
        return
    last = now.last if now.last is not None and isinstance(now.last.skill, NavigateTo) else None
    if last is not None and last.outcome is Outcome.UNREACHABLE and now.goal is not None:
        # No way leads to that spot, now or later: one to another spot may.
        for side in other_sides(now, now.goal) if now.sub_task.kind in BY_HAND else []:
            other = f"{words}, to another spot"
            yield Option(other, skill=side, step=Step(Purpose.OTHER_SIDE))
    skill = NavigateTo.facing(spot, towards if towards is not None else spot)
    yield Option(words, skill=skill, step=Step(Purpose.GO))


_NEAR = Step(Purpose.GO_NEAR)


def _stands_at(now: Situation, spot: Vec3) -> bool:
    here = now.position
    if here is None:
        return False
    went = _drives(now)
    # Where the way ended after a successful hop is where this spot is, whatever the map says,
    # unless what was seen since says that another spot is better.
    arrived = bool(went) and went[-1].ok and went[-1].step.purpose is not Purpose.VIEW
    if arrived and went[-1].step.purpose is Purpose.GO and went[-1].goal is not None:
        arrived = math.dist(went[-1].goal, spot) <= ANOTHER_SPOT
    return arrived or (math.dist(here[:2], spot[:2]) <= THERE and abs(here[2] - spot[2]) < 1.0)


def _arrived(now: Situation) -> bool:
    return any(a.ok for a in _drives(now))


def _way_there(now: Situation) -> Iterator[Option]:
    target = now.thing or now.receptacle
    name = target.label.top if target is not None else "the room"
    yield from go(now, now.estimate.spot, now.estimate.target, f"go to {name}")
    if now.estimate.spot is not None and _stands_at(now, now.estimate.spot):
        yield done("it is there already")


def _go_to_work(now: Situation) -> Iterator[Option]:
    """Go to the base pose from which the hand gets to it."""
    goal = now.goal
    towards = now.estimate.target
    if goal is not None and now.sub_task.kind != "place":
        towards = goal.box.center
    name = goal.label.top if goal is not None else "floor"
    yield from go(now, now.estimate.spot, towards, f"go to the {name}")


# -- what the hand does -------------------------------------------------------------------------


def _failures(now: Situation) -> int:
    """Return how often what the sub-task is about has failed."""
    return now.failures(_hand_of(now))


def _failed(now: Situation) -> Outcome | None:
    """Return how what the sub-task is about has failed just now; None: it has not."""
    last = now.last
    mine = last is not None and isinstance(last.skill, _hand_of(now))
    return last.outcome if mine and last is not None and not last.ok else None


def _name(now: Situation) -> str:
    return now.goal.label.top if now.goal is not None else "floor"


def _hand_of(now: Situation) -> type[Any]:
    """Return the skill that the hand does for a sub-task."""
    return ON_TARGET[now.sub_task.skill or now.sub_task.kind]


def _words(now: Situation) -> str:
    """Return what the hand does, in words."""
    kind, name = now.sub_task.kind, _name(now)
    if kind == "use":
        return SKILLS[now.sub_task.skill].words.format(thing=f"the {name}", held="", at="")
    return {"pick": f"take the {name}", "place": f"put it on the {name}"}.get(
        kind, f"{kind} the {name}"
    )


def hand_skill(now: Situation) -> Skill | None:
    """Return the skill of the hand from here; None: there is nowhere to put a thing down."""
    goal, spot, kind = now.goal, now.estimate.spot, now.sub_task.kind
    if kind != "place":
        return _hand_of(now)(target_of(goal)) if goal is not None else None
    where = now.estimate.target or (goal.box.center if goal is not None else spot)
    if goal is not None and spot is not None and now.position is not None:
        if now.bears_at is not None or math.dist(now.position[:2], spot[:2]) > THERE:
            where = put_here(now, now.position) or where  # what was meant is for the other spot
    if where is None:
        return None
    return Place(Target(_name(now), where, goal.id if goal is not None else ""))


def _do(now: Situation, more: str = "") -> Iterator[Option]:
    skill = hand_skill(now)
    if skill is not None:
        yield Option(f"{_words(now)}{more}", skill=skill)


def _holds_it(now: Situation) -> bool:
    return now.did(Pick) or (now.thing is not None and now.holding == now.thing.id)


def _can_be_put(now: Situation) -> bool:
    receptacle = now.sub_task.receptacle
    floor = receptacle is not None and receptacle.label == "floor"
    return bool(now.holding) and (now.goal is not None or floor) and now.estimate.feasible


def _stands_so(now: Situation) -> bool:
    """Whether it was opened, or closed, or stands so in any case."""
    opening = now.sub_task.kind == "open"
    if now.did(Open if opening else Close):
        return True
    return now.thing is not None and now.estimate.feasible and now.thing.is_open is opening


def _leave_so(now: Situation) -> Iterator[Option]:
    opening = now.sub_task.kind == "open"
    state = "open" if opening else "closed"
    if now.did(Open if opening else Close) or now.thing is None:
        yield done(f"it is {state}")
    else:
        yield done(f"the {now.thing.label.top} is {state} already")


def door(now: Situation) -> SceneObject | None:
    """Return what is to be opened before the hand gets to it; None: nothing."""
    if now.sub_task.kind == "pick" and now.thing is not None:
        holder = now.scene.objects.get(now.estimate.opens or now.thing.container)
        return holder if holder is not None and holder.is_open is False else None
    goal = now.goal if now.sub_task.kind == "place" else None
    if goal is None or goal.is_open is not False:
        return None
    return goal if now.estimate.opens or inside_only(goal) else None


def _go_to_door(now: Situation) -> Iterator[Option]:
    shut = door(now)
    if shut is not None:
        words = f"go to the {shut.label.top}"
        yield from go(now, now.estimate.spot, shut.box.center, words)


def _open_first(now: Situation) -> Iterator[Option]:
    """Open what it is in, or goes into: a full hand can still pull a door, or says so."""
    shut = door(now)
    if shut is not None and now.failures(Open) < TRIES:
        words, step = f"open the {shut.label.top}", Step(Purpose.OPEN_FIRST, shut.id)
        yield Option(words, skill=Open(target_of(shut)), step=step)


def _may_get_there(now: Situation) -> bool:
    """Whether no way has led to it so often that no hand gets to it from here."""
    at = _aim(now)
    no_way = sum(a.outcome is Outcome.UNREACHABLE for a in _drives(now))
    if at is None or now.position is None or no_way < GO_TRIES:
        return True
    return math.dist(now.position[:2], at[:2]) <= hand_range(now) + NEAR_ENOUGH


# -- what may help after a failure --------------------------------------------------------------


def _grasped_nothing(now: Situation) -> bool:
    """Whether a hand closed on nothing: it reached for where the thing is not."""
    return now.sub_task.kind == "pick" and _failed(now) is Outcome.HAND_EMPTY


def _empty_hand(now: Situation) -> Iterator[Option]:
    """From before, or the fingers have closed on something beside: that goes down first."""
    if _failed(now) is Outcome.HAND_FULL and not now.holding and now.position is not None:
        down = Place(floor_before(now.tools, now.robot, now.position, now.heading))
        words = "put down what the hand holds already"
        yield Option(words, skill=down, step=Step(Purpose.EMPTY_HAND))


def _view_again(now: Situation) -> Iterator[Option]:
    """Seen anew it is known; where a hand gets to furniture, cameras see over it or beside it."""
    unseen = now.sub_task.kind == "place" and _failed(now) is Outcome.NOT_VISIBLE
    failures, goal = _failures(now), now.goal
    if (_grasped_nothing(now) or unseen) and failures % 2 and goal is not None:
        spot = in_view(now, goal)
        if spot is not None:
            see = f"look where the {goal.label.top} is from where it is in view"
            yield Option(see, skill=spot, step=Step(Purpose.VIEW))


def _other_side(now: Situation) -> Iterator[Option]:
    elsewhere = _failed(now) in (Outcome.OUT_OF_REACH, Outcome.NOT_VISIBLE)
    if (elsewhere or _grasped_nothing(now)) and now.goal is not None:
        other = f"go to another side of the {now.goal.label.top}"
        for side in other_sides(now, now.goal):
            yield Option(other, skill=side, step=Step(Purpose.OTHER_SIDE))


def _nearer(now: Situation) -> Iterator[Option]:
    goal, at = now.goal, _aim(now)
    if _failed(now) is not Outcome.OUT_OF_REACH or goal is None or at is None:
        return
    if _failures(now) == 1 and not other_sides(now, goal):
        nearer = f"go as near to the {goal.label.top} as it gets"
        yield Option(nearer, skill=NavigateTo.near(at), step=_NEAR)


def _on_floor_here(now: Situation) -> Iterator[Option]:
    """On the floor one spot is as good as another one."""
    if now.goal is None and _failed(now) is Outcome.OUT_OF_REACH and now.position is not None:
        floor = floor_before(now.tools, now.robot, now.position, now.heading, _aim(now))
        yield Option(f"{_words(now)}, before it", skill=Place(floor))


def _look_around(now: Situation) -> Iterator[Option]:
    if _failed(now) in (Outcome.NOT_VISIBLE, Outcome.UNKNOWN_TARGET):
        words = "look around, it may lie elsewhere"
        yield Option(words, skill=LookAround(), step=Step(Purpose.LOOK))


def _wait_for_room(now: Situation) -> Iterator[Option]:
    if _failed(now) is Outcome.BLOCKED:
        words = "wait until there is room"
        yield Option(words, skill=Wait(2.0), step=Step(Purpose.WAIT))


def _may_help(now: Situation) -> bool:
    """Whether the same may do another time: not where the hand was too short from here."""
    outcome = _failed(now)
    here = outcome is Outcome.OUT_OF_REACH and (now.goal is not None or now.position is not None)
    return outcome not in _NO_REMEDY and not here


# -- looking ------------------------------------------------------------------------------------


def _looks(now: Situation) -> list[Attempt]:
    return [a for a in now.attempts if a.looked]


def _put_looks(now: Situation) -> list[Attempt]:
    """Return the looks since the thing was put down."""
    puts = [k for k, a in enumerate(now.attempts) if isinstance(a.skill, Place) and a.ok]
    return [a for a in now.attempts[next(iter(puts), 0) :] if isinstance(a.skill, Detect)]


def _looked_just_now(now: Situation) -> bool:
    return bool(_put_looks(now)) and now.last is not None and isinstance(now.last.skill, Detect)


def _seen(now: Situation) -> Iterator[Option]:
    words = "it is where it should be, and was seen there"
    yield Option(words, "done", step=Step(Purpose.CONFIRMED))


def _look_at_it(now: Situation) -> Iterator[Option]:
    if now.thing is not None:
        look = Detect(now.thing.label.top)
        yield Option("look at what was put down", skill=look, step=Step(Purpose.LOOK))


def _has_it_in_hand(now: Situation) -> bool:
    held = now.thing is not None and now.holding == now.thing.id
    return held and now.sub_task.receptacle is None


def _in_view(now: Situation) -> bool:
    if now.sub_task.receptacle is not None:
        return now.seen_placed
    looked = any(isinstance(a.skill, (Detect, LookAround)) for a in now.attempts)
    return looked and now.thing is not None and now.thing.id in now.seen_now


def _seen_there(now: Situation) -> Iterator[Option]:
    yield done("it was seen there" if now.sub_task.receptacle is not None else "it is in view")


def _cannot_look(now: Situation) -> bool:
    blind = [a for a in now.attempts if isinstance(a.skill, Detect) and not a.looked]
    return len(blind) >= LOOKS


def _go_to_see(now: Situation) -> Iterator[Option]:
    if now.thing is not None:
        at = now.estimate.target or now.thing.box.center
        words = f"go where the {now.thing.label.top} is in view"
        yield from go(now, now.estimate.spot, at, words)


def _look_from_here(now: Situation) -> Iterator[Option]:
    if now.thing is not None:
        label = now.thing.label.top
        words = f"look for the {label} from here"
        yield Option(words, skill=Detect(label), step=Step(Purpose.LOOK))


def _another_view(now: Situation) -> Iterator[Option]:
    """Go where a thing is looked at from another side, after every other look.

    Where on furniture it lies is not known for sure: all of that is looked over.
    """
    thing = now.thing
    if thing is None:
        return
    looks = len(_put_looks(now) if now.sub_task.kind == "place" else _looks(now))
    words, view = f"look at the {thing.label.top} from another side", Step(Purpose.VIEW)
    for spot, part in other_views(now, thing):
        yield Option(words, skill=NavigateTo.facing(spot, part), step=view)
    if looks == 1:
        near = f"go nearer to the {thing.label.top}"
        yield Option(near, skill=facing(now, thing), step=_NEAR)
        return
    if looks == 2 and (far := from_afar(now, thing)) is not None:
        afar = f"look at the {thing.label.top} from farther away"
        yield Option(afar, skill=far, step=view)
    for side in other_sides(now, thing):
        yield Option(words, skill=side, step=view)


def _absent(now: Situation) -> Iterator[Option]:
    """Give back what was looked for from several sides: it is not there, or hidden there."""
    looks = len(_looks(now))
    spots: list[Vec3] = []
    for spot in now.stood:
        if all(math.dist(spot, other) > APART for other in spots):
            spots.append(spot)
    name = now.thing.label.top if now.thing is not None else "it"
    text = f"looked {looks} times from {max(len(spots), 1)} spots and saw no {name} there"
    if now.sub_task.receptacle is not None and now.thing is not None:
        sight = view_of(now, now.thing)
        if not sight.feasible or sight.share <= CLEAR_SHARE:
            hidden = f"{text}, but where it was put is nowhere in clear view"
            yield _given_up(Obstacle.OCCLUDED, hidden)
            return
    yield _given_up(Obstacle.NOT_THERE, text)


def target_of(thing: SceneObject) -> Target:
    """Return a thing as skills act on it."""
    return Target(thing.label.top, thing.box.center, thing.id)
