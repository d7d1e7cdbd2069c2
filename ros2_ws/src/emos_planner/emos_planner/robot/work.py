"""The next step of a robot for its sub-task by rule (EMOS, stage 2): where no model chooses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from coterie_core.geometry import Vec3
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
from coterie_core.tasks import Obstacle
from coterie_safety.permits.gate import is_no_permit
from coterie_world.scene import SceneObject
from coterie_world.sightings import inside_only
from emos_planner.geometry.things import FLOOR, ResolvedObject
from emos_planner.geometry.viewpoints import CLEAR_SHARE
from emos_planner.robot.choose import Option
from emos_planner.robot.searching import search
from emos_planner.robot.situation import Situation
from emos_planner.robot.standpoints import (
    APART,
    facing,
    floor_before,
    from_afar,
    in_view,
    other_sides,
    other_views,
    put_here,
)

THERE = 0.1
"""A robot this near to a spot stands on it [m]."""
ANOTHER_SPOT = 0.5
"""A spot this far from where a robot went is another one [m]."""
SAME_SPOT_TRIES = 2
"""How often the same thing is tried from the same spot."""
GO_TRIES = 3
"""How often a way may fail until the robot goes nowhere any more for a sub-task."""
NEAR_ENOUGH = 1.0
"""Beyond its reach a thing may be so far away for the hand to be tried all the same [m]."""
LOOKS = 4
"""How often a thing is looked at before it is said not to be there."""
GIVE_UP = "give the sub-task back to the leader, for another robot or for nobody"
ARM_KINDS = ("pick", "place", "open", "close")
_PATIENCE = 6
"""How often a robot waits for others to go out of its way."""

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


def rule_step(now: Situation) -> Option:
    """Return the next step for a sub-task, by the rule.

    It is `settled` where nothing is to be chosen: what is so ends the sub-task, or patience or a
    permit has.
    """
    if now.tries_left <= 0:
        if now.sub_task.kind == "place" and now.did("Place"):
            return done("it was put down")  # whether it is there, others may see
        return give_up(now, "tried often enough", settled=True)
    if now.sub_task.kind != "search" and _not_permitted(now):
        return give_up(now, settled=True)  # nobody is asked for it once more
    plans: Mapping[str, Callable[[Situation], Iterator[Option]]] = {
        "go_to": _go_to,
        "search": search,
        "detect": _detect,
        "pick": _pick,
        "place": _place,
        "open": _open_or_close,
        "close": _open_or_close,
    }
    waits = iter(()) if now.sub_task.kind == "search" else _waits(now)
    return next(chain(waits, plans[now.sub_task.kind](now)), None) or give_up(now)


def _not_permitted(now: Situation) -> bool:
    last = now.last
    return last is not None and is_no_permit(SkillResult(last.outcome, last.reason))


def hand_range(now: Situation) -> float:
    """Return how far hands get from the middle of the robot at most [m]."""
    return max((hand.reach for hand in now.tools.kind(now.robot).body.hands), default=0.0)


def _waits(now: Situation) -> Iterator[Option]:
    """Another robot in the way goes away by itself: waiting comes first, for a while."""
    last = now.last
    blocked = sum(a.outcome is Outcome.BLOCKED and a.skill == "NavigateTo" for a in now.attempts)
    if last is not None and last.outcome is Outcome.BLOCKED and last.skill == "NavigateTo":
        if blocked <= _PATIENCE:
            yield Option("wait", "wait for the way to become free", skill=Wait(1.0 + blocked))


def give_up(now: Situation, why: str = "", *, settled: bool = False) -> Option:
    """Give the sub-task back: with what stands against it, or with what went wrong last."""
    failed = [a for a in now.attempts if not a.ok]
    if not now.estimate.feasible:
        obstacle, reason = now.estimate.obstacle or Obstacle.OTHER, now.estimate.reason
    elif failed:
        obstacle = _OBSTACLES.get(failed[-1].outcome, Obstacle.OTHER)
        if failed[-1].skill == "Place" and failed[-1].outcome is Outcome.BLOCKED:
            obstacle = Obstacle.NO_ROOM
        reason = f"{failed[-1].skill}: {failed[-1].reason}"
    else:
        obstacle, reason = Obstacle.OTHER, "there is nothing more that it can try"
    text = f"{why}: {reason}" if why else reason
    return Option("give up", GIVE_UP, "give up", None, obstacle, text, settled=settled)


def done(words: str, id: str = "done") -> Option:
    """End the sub-task: what was to be so is so."""
    return Option(id, words, "done", settled=True)


def go(now: Situation, spot: Vec3 | None, towards: Vec3 | None, words: str) -> Iterator[Option]:
    """Go to a spot, looking at what is to be done there; nothing if the robot stands there."""
    if spot is None:
        return
    failures = now.failures("NavigateTo")
    if _stands_at(now, spot) or failures >= GO_TRIES:
        return
    yaw = None
    if towards is not None and math.dist(spot[:2], towards[:2]) > 0.05:
        yaw = math.atan2(towards[1] - spot[1], towards[0] - spot[0])
    goal = now.receptacle if now.sub_task.kind == "place" else now.thing
    last = now.last if now.last is not None and now.last.skill == "NavigateTo" else None
    if last is not None and last.outcome is Outcome.UNREACHABLE and goal is not None:
        # No way leads to that spot, now or later: one to another spot may.
        for side in other_sides(now, goal)[:1] if now.sub_task.kind in ARM_KINDS else ():
            yield Option(f"go {failures}.0", f"{words}, to another spot", skill=side)
    yield Option("go", words, skill=NavigateTo.near(spot, yaw=yaw))


def _stands_at(now: Situation, spot: Vec3) -> bool:
    here = now.position
    if here is None:
        return False
    went = [a for a in now.attempts if a.skill == "NavigateTo"]
    # Where the way ended after a successful hop is where this spot is, whatever the map says,
    # unless what was seen since says that another spot is better.
    looking = ("room ", "view ")  # where one sees and does not reach
    arrived = bool(went) and went[-1].ok and not went[-1].option.startswith(looking)
    if arrived and went[-1].option == "go" and went[-1].goal is not None:
        arrived = math.dist(went[-1].goal, spot) <= ANOTHER_SPOT
    return arrived or (math.dist(here[:2], spot[:2]) <= THERE and abs(here[2] - spot[2]) < 1.0)


def _go_to(now: Situation) -> Iterator[Option]:
    arrived = any(a.ok and a.skill == "NavigateTo" for a in now.attempts)
    if arrived:
        yield done("it is there")
        return
    if now.estimate.feasible:
        target = now.thing or now.receptacle
        name = target.label.top if target is not None else "the room"
        yield from go(now, now.estimate.spot, now.estimate.target, f"go to {name}")
        if now.estimate.spot is not None and _stands_at(now, now.estimate.spot):
            yield done("it is there already")


def _detect(now: Situation) -> Iterator[Option]:
    """Look at a known thing, from several sides before it is said not to be there."""
    thing, last = now.thing, now.last
    if thing is not None and now.holding == thing.id and now.sub_task.receptacle is None:
        yield done("it holds it")
        return
    if thing is None or not now.estimate.feasible:
        return
    if now.sub_task.receptacle is not None:
        if now.seen_placed:
            yield done("it was seen there")
            return
    elif thing.id in now.seen_now and any(
        a.skill in ("Detect", "LookAround") for a in now.attempts
    ):
        yield done("it is in view")
        return
    label = thing.label.top
    looks = [a for a in now.attempts if a.looked]
    if len(looks) >= LOOKS:
        yield _not_there(now, len(looks))
        return
    if sum(a.skill == "Detect" and not a.looked for a in now.attempts) >= LOOKS:
        yield give_up(now, "it cannot look")
        return
    if not looks:
        at = now.estimate.target or thing.box.center
        yield from go(now, now.estimate.spot, at, f"go where the {label} is in view")
    elif last is not None and last.looked:
        yield from _another_view(now, thing, len(looks))
    yield Option("detect", f"look for the {label} from here", skill=Detect(label))


def _another_view(now: Situation, thing: SceneObject, looks: int) -> Iterator[Option]:
    """Go where a thing is looked at from another side, after every other look.

    Where on furniture it lies is not known for sure: all of that is looked over.
    """
    words = f"look at the {thing.label.top} from another side"
    for spot, (on_x, on_y, _) in other_views(now, thing)[:1]:
        yaw = math.atan2(on_y - spot[1], on_x - spot[0])
        yield Option(f"view {looks}.on.0", words, skill=NavigateTo.near(spot, yaw=yaw))
    if looks == 1:
        yield Option("near", f"go nearer to the {thing.label.top}", skill=facing(now, thing))
        return
    if looks == 2 and (far := from_afar(now, thing)) is not None:
        words = f"look at the {thing.label.top} from farther away"
        yield Option("view from afar", words, skill=far)
    for side in other_sides(now, thing)[:1]:
        yield Option(f"view {looks}.0", words, skill=side)


def _not_there(now: Situation, looks: int) -> Option:
    spots: list[Vec3] = []
    for spot in now.stood:
        if all(math.dist(spot, other) > APART for other in spots):
            spots.append(spot)
    name = now.thing.label.top if now.thing is not None else "it"
    text = f"looked {looks} times from {max(len(spots), 1)} spots and saw no {name} there"
    if now.sub_task.receptacle is not None and now.thing is not None:
        parts = now.tools.components_of(now.robot, now.position)
        sight = now.tools.view(now.robot, ResolvedObject(name, now.thing.box, now.thing), parts)
        if not sight.feasible or sight.share <= CLEAR_SHARE:
            text += ", but where it was put is nowhere in clear view"
            return Option("give up", GIVE_UP, "give up", None, Obstacle.OCCLUDED, text)
    return Option("give up", GIVE_UP, "give up", None, Obstacle.NOT_THERE, text)


def _pick(now: Situation) -> Iterator[Option]:
    thing = now.thing
    if now.did("Pick") or (thing is not None and now.holding == thing.id):
        yield done("it holds it")
        return
    if thing is None or not now.estimate.feasible:
        return
    label = thing.label.top
    holder = now.scene.objects.get(now.estimate.opens or thing.container)
    if holder is not None and holder.is_open is False:
        yield from go(now, now.estimate.spot, holder.box.center, f"go to the {holder.label.top}")
        if now.failures("Open") < SAME_SPOT_TRIES:
            words = f"open the {holder.label.top}"
            yield Option("open", words, skill=Open(target_of(holder)), about=holder.id)
    yield from go(now, now.estimate.spot, thing.box.center, f"go to the {label}")
    yield from _retry(now, "Pick", f"take the {label}", Pick(target_of(thing)), thing)


def _place(now: Situation) -> Iterator[Option]:
    goal = now.receptacle
    if now.did("Place"):
        yield from _look_at_it(now)
        return
    if not now.holding or not now.estimate.feasible or (goal is None and not on_floor(now)):
        return
    name = goal.label.top if goal is not None else FLOOR
    spot = now.estimate.spot
    if goal is not None and goal.is_open is False and (now.estimate.opens or inside_only(goal)):
        yield from go(now, spot, goal.box.center, f"go to the {name}")
        # A full hand can still pull a door: worlds and robots say so if theirs cannot.
        if now.failures("Open") < SAME_SPOT_TRIES:
            yield Option("open", f"open the {name}", skill=Open(target_of(goal)), about=goal.id)
    yield from go(now, spot, now.estimate.target, f"go to the {name}")
    put = put_down(now)
    if put is not None:
        yield from _retry(now, "Place", f"put it on the {name}", put, goal)


def on_floor(now: Situation) -> bool:
    """Whether the sub-task puts its thing on the floor."""
    return now.sub_task.receptacle is not None and now.sub_task.receptacle.label == FLOOR


def put_down(now: Situation) -> Place | None:
    """Return how the hand puts down what it holds, from where the robot stands; None: nowhere."""
    goal, spot = now.receptacle, now.estimate.spot
    if goal is None and not on_floor(now):
        return None
    where = now.estimate.target or (goal.box.center if goal is not None else spot)
    if goal is not None and spot is not None and now.position is not None:
        if now.bears_at is not None or math.dist(now.position[:2], spot[:2]) > THERE:
            where = put_here(now, now.position) or where  # what was meant is for the other spot
    if where is None:
        return None
    return Place(Target(goal.label.top if goal else FLOOR, where, goal.id if goal else ""))


def _look_at_it(now: Situation) -> Iterator[Option]:
    """After placing: a look tells whether the thing really is there."""
    thing = now.thing
    since = next((k for k, a in enumerate(now.attempts) if a.skill == "Place" and a.ok), 0)
    looks = [a for a in now.attempts[since:] if a.skill == "Detect"]
    if looks and now.seen_placed:
        yield done("it is where it should be, and was seen there", "seen")
        return
    if thing is None or len(looks) >= LOOKS:
        yield done("it was put down")
        return
    last = now.last
    if looks and last is not None and last.skill == "Detect":
        yield from _another_view(now, thing, len(looks))
    yield Option("see", "look at what was put down", skill=Detect(thing.label.top))


def _open_or_close(now: Situation) -> Iterator[Option]:
    thing, opening = now.thing, now.sub_task.kind == "open"
    if now.did("Open" if opening else "Close"):
        yield done("it is open" if opening else "it is closed")
        return
    if thing is None or not now.estimate.feasible:
        return
    label = thing.label.top
    if thing.is_open is opening:
        yield done(f"the {label} is {'open' if opening else 'closed'} already")
        return
    yield from go(now, now.estimate.spot, thing.box.center, f"go to the {label}")
    skill: Skill = Open(target_of(thing)) if opening else Close(target_of(thing))
    name = type(skill).__name__
    yield from _retry(now, name, f"{now.sub_task.kind} the {label}", skill, thing)


def _no_way(now: Situation) -> int:
    """Return to how many spots no way has led."""
    return sum(a.outcome is Outcome.UNREACHABLE for a in now.attempts if a.skill == "NavigateTo")


def _retry(
    now: Situation, name: str, words: str, skill: Skill, thing: SceneObject | None
) -> Iterator[Option]:
    """Do it; after a failure do what may help: another spot, look again, wait; and once more."""
    last, failures = now.last, now.failures(name)
    at = now.estimate.target or (thing.box.center if thing is not None else None)
    if at is not None and now.position is not None and _no_way(now) >= GO_TRIES:
        if math.dist(now.position[:2], at[:2]) > hand_range(now) + NEAR_ENOUGH:
            return  # no hand gets to it from here
    if failures == 0:
        yield Option("do", words, skill=skill)
        return
    if failures > 4:
        return
    if last is not None and last.skill == name and not last.ok:
        if last.outcome is Outcome.HAND_FULL and not now.holding and now.position is not None:
            # From before, or the fingers have closed on something beside: that goes down first.
            down = Place(floor_before(now.tools, now.robot, now.position, now.heading))
            clear = "put down what the hand holds already"
            yield Option("empty hand", clear, skill=down, about=FLOOR)
        if last.outcome in (Outcome.REFUSED, Outcome.UNSUPPORTED, Outcome.HAND_FULL):
            return
        # A hand that closed on nothing reached for where the thing is not: seen anew, it is known.
        closed = name == "Pick" and last.outcome is Outcome.HAND_EMPTY
        # Where a hand gets to furniture, cameras often see over it or beside it.
        unseen = name == "Place" and last.outcome is Outcome.NOT_VISIBLE
        if (closed or unseen) and failures % 2 and thing is not None:
            spot = in_view(now, thing)
            if spot is not None:
                see = f"look where the {thing.label.top} is from where it is in view"
                yield Option(f"view again {failures}", see, skill=spot)
        elsewhere = last.outcome in (Outcome.OUT_OF_REACH, Outcome.NOT_VISIBLE) or closed
        if elsewhere and thing is not None:
            other = f"go to another side of the {thing.label.top}"
            sides = other_sides(now, thing)
            for side in sides[:1]:
                yield Option(f"side {failures}.0", other, skill=side)
            if last.outcome is Outcome.OUT_OF_REACH:
                if not sides and at is not None and now.failures(name) == 1:
                    nearer = f"go as near to the {thing.label.top} as it gets"
                    yield Option("nearer", nearer, skill=NavigateTo.near(at))
                return  # from here the hand does not get there another time either
        if thing is None and last.outcome is Outcome.OUT_OF_REACH and now.position is not None:
            # On the floor one spot is as good as another one.
            floor = floor_before(now.tools, now.robot, now.position, now.heading, at)
            yield Option("here", f"{words}, before it", skill=Place(floor))
            return
        if last.outcome in (Outcome.NOT_VISIBLE, Outcome.UNKNOWN_TARGET):
            yield Option("look", "look around, it may lie elsewhere", skill=LookAround())
        if last.outcome is Outcome.BLOCKED:
            yield Option("wait", "wait until there is room", skill=Wait(2.0))
    yield Option(f"again {failures}", f"{words}, once more", skill=skill)


def target_of(thing: SceneObject) -> Target:
    """Return a thing as skills act on it."""
    return Target(thing.label.top, thing.box.center, thing.id)
