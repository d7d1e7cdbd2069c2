"""Searching: which viewpoint or closed container of the rooms to look at next, best first."""

from __future__ import annotations

import math
from collections.abc import Iterator

from coterie_core.geometry import Vec3
from coterie_core.skills import LookAround, NavigateTo, Open, Outcome, Target, Wait
from coterie_core.tasks import SubTask, Thing
from coterie_execution.options import Option, Purpose, Step
from coterie_execution.situation import Situation
from coterie_world.search_belief import MIN_FRACTION_LEFT

LOOKED_OVER = 0.55
"""Share of a room that may stay unseen however unlikely a thing is there (0..1)."""
LOOK_TIME = 8.0
"""What a look costs besides the way: stopping, turning once, looking [s]."""
OPEN_TIME = 12.0
"""What opening a container and looking into it costs besides the way [s]."""
WORTH = 0.03
"""A look that would show less than this share of what may be left in a room is not worth it."""
VIEWS = 4
"""Viewpoints of a room that ways are worked out for."""
TRIES = 2
"""How often a viewpoint or a container is tried that cannot be got at."""
BLOCKED_WAIT = 3.0
"""How long a search waits for a way to become free [s]: who stands there was asked for it."""


def search(now: Situation) -> Iterator[Option]:
    """Yield what a search can do next; "done" where enough is seen, or no look helps any more."""
    cover = now.coverage
    if not now.estimate.feasible or cover is None:
        return
    last = now.last
    moved = last is not None and last.ok and isinstance(last.skill, (NavigateTo, Open))
    if moved and last is not None and last.step.purpose is not Purpose.GO:
        words = "look around here"
        yield Option(words, skill=LookAround(), step=Step(Purpose.ARRIVED))
        return
    if now.glimpsed:
        words = f"look again at what one look shows ({', '.join(now.glimpsed[:3])})"
        yield Option(words, skill=LookAround(), step=Step(Purpose.LOOK_AGAIN))
        return
    left = now.unseen
    over = {room: left[room] <= LOOKED_OVER * cover.whole(now.tools, room) for room in left}
    if sum(left.values()) <= now.sub_task.enough and all(over.values()):
        yield Option("what may be left unseen is little enough", "done", step=_END)
        return
    ranked: list[Ranked] = []
    for room in left:
        if not over[room] or left[room] > MIN_FRACTION_LEFT * now.sub_task.enough / len(left):
            ranked += views(now, room) + containers(now, room)
    # Who stands in the way was asked to go aside. Where it stays another view is as good.
    blocked = last.step if last is not None and last.outcome is Outcome.BLOCKED else None
    ranked.sort(key=lambda one: (one[2].step == blocked, -one[0], one[1]))
    if blocked and (_just_blocked(now) or [one.step for _, _, one in ranked] == [blocked]):
        words = "wait for the way to become free"
        yield Option(words, skill=Wait(BLOCKED_WAIT), step=Step(Purpose.WAIT))
    for _, _, option in ranked[:1]:
        yield option
    if not ranked:
        yield Option("no look from where it gets to would show more", "done", step=_END)


_END = Step(Purpose.END)
Ranked = tuple[float, str, Option]
"""What a look shows a second, the name that breaks ties, and the step."""


def _just_blocked(now: Situation) -> bool:
    """Whether its last drive is the first one since one went well in which it was blocked."""
    drives = [a.outcome is Outcome.BLOCKED for a in now.attempts if isinstance(a.skill, NavigateTo)]
    return drives[-1:] == [True] and not any(drives[-2:-1])


def views(now: Situation, room: str) -> list[Ranked]:
    """Return where a search may look from in a room."""
    cover = now.coverage
    assert cover is not None
    left = cover.left(now.tools, room)
    name = now.scene.rooms[room].name
    parts = now.tools.components_of(now.robot, now.position)
    found: list[Ranked] = []
    for gain, spot in cover.views(now.tools, room, parts):
        if gain < WORTH * left or len(found) == VIEWS:
            break
        key = f"room {room} {spot[0]:.1f},{spot[1]:.1f}"
        step = Step(Purpose.VIEW, room, (round(spot[0], 1), round(spot[1], 1), 0.0))
        if _spent(now, step):
            continue
        words = f"look for it in the {name}{_told(now, spot, gain, cover.whole(now.tools, room))}"
        option = Option(words, skill=NavigateTo.near(spot), step=step)
        if now.position is not None and math.dist(now.position, spot) < 0.1:
            option = Option(words, skill=LookAround(), step=step)
        found.append((gain / (_time(now, spot) + LOOK_TIME), key, option))
    return found


def containers(now: Situation, room: str) -> list[Ranked]:
    """Open what is shut, where the arm can; what cannot be opened stays unseen."""
    cover = now.coverage
    assert cover is not None
    left = cover.left(now.tools, room)
    found: list[Ranked] = []
    if any(isinstance(a.skill, Open) and a.outcome is Outcome.UNSUPPORTED for a in now.attempts):
        return found  # this arm opens nothing, as those of MoveIt
    for gain, name in cover.shut(now.tools, room):
        if gain < WORTH * left or len(found) == VIEWS:
            break
        thing = now.scene.objects[name]
        to_go, to_open = Step(Purpose.GO, name), Step(Purpose.OPEN_FIRST, name)
        mine = [a for a in now.attempts if a.step in (to_go, to_open)]
        went = [a for a in mine if a.step == to_go]
        if len(mine) - len(went) >= TRIES or sum(not a.ok for a in went) >= TRIES:
            continue
        item = Thing(label=thing.label.top, id=name, position=thing.box.center, room=room)
        swing = SubTask(id="open", kind="open", object=item)
        estimate = now.tools.estimate(now.robot, swing, now.position, holding="")
        if not estimate.feasible or estimate.spot is None:
            continue
        spot = estimate.spot
        inside = _told(now, spot, gain, cover.whole(now.tools, room))
        words = f"open the {thing.label.top} to look inside{inside}"
        there = now.last is not None and now.last.ok and now.last.step == to_go
        if not there and len(went) < 2 * TRIES and not _at(now.position, spot):
            skill = NavigateTo.facing(spot, thing.box.center)
            words = f"go to the {thing.label.top}, to open it and look inside{inside}"
            option = Option(words, skill=skill, step=to_go)
        else:
            target = Target(thing.label.top, thing.box.center, name)
            option = Option(words, skill=Open(target), step=to_open)
        found.append((gain / (_time(now, spot) + OPEN_TIME), f"open {name}", option))
    return found


def _told(now: Situation, spot: Vec3, gain: float, whole: float) -> str:
    """Return where a look is from, how far that is, and what it may show, for a choice."""
    x, y, _ = spot
    away = "" if now.position is None else f", {math.dist(now.position, spot):.1f} m away"
    share = 100.0 * gain / whole if whole > 0.0 else 0.0
    return (
        f" from ({x:.1f}, {y:.1f}){away}; shows {share:.0f} % of where it may be in this room; "
        f"in this room about {whole:.2f} of them are expected"
    )


def _spent(now: Situation, view: Step) -> bool:
    """Whether a viewpoint was looked from already, or cannot be got at."""
    mine = [a for a in now.attempts if a.step == view]
    blocked = [a for a in mine if a.outcome is Outcome.BLOCKED]
    return any(a.ok for a in mine) or len(mine) - len(blocked) >= TRIES or len(blocked) > 2 * TRIES


def _at(position: Vec3 | None, spot: Vec3) -> bool:
    return position is not None and math.dist(position[:2], spot[:2]) <= 0.3


def _time(now: Situation, spot: Vec3) -> float:
    if now.position is None:
        return 0.0
    way = now.tools.path(now.robot, now.position, spot)
    return way.time if way.feasible else 1e6
