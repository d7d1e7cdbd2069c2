"""What a task's claims are held against: the true house after it, and what the team could do."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coterie_core.geometry import Box
from coterie_core.household import load_household
from coterie_core.resume import Resume
from coterie_core.tasks import SubTask, Thing
from coterie_execution.geometry.things import surfaces_of
from coterie_execution.geometry.toolbox import Toolbox
from coterie_execution.search_coverage import Coverage, Look
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.sightings import kind_of
from coterie_world.surfaces import free_points
from emos_planner.leader.searches import LOOKED_OVER, Searches
from research.bench.claims.cases import ALL, Case

WORTH = 0.02
"""Share of what may be left in a room without harm that one more look has to show (0..1)."""


@dataclass(frozen=True, slots=True)
class Truth:
    """How a task really stands.

    `met`: what was asked for holds. `there` and `right`: things that fit, and those of them where
    they belong.
    """

    met: bool
    there: int
    right: int


@dataclass(frozen=True, slots=True)
class Possible:
    """What some robot of the team could do, by the tools on the true house.

    `things`: as many things as asked for can be seen (and moved, and have room together where they
    shall be); for a check where there is none, the room asked about can be entered. `search`:
    looks from all over every room asked about, into all that some robot can open, would leave so
    little unseen that the team can know that it has them all.
    """

    things: bool
    search: bool


def truth_of(case: Case, before: SceneGraph, after: SceneGraph) -> Truth:
    """Return how a task stands in the true house.

    Args:
        case: The task.
        before: The house as it was when the task was given.
        after: The house now.
    """
    fitting = matching(case, before)
    if case.kind in ("find_all", "find_one", "check"):
        return Truth(bool(fitting), len(fitting), len(fitting))
    targets = set(case.targets)
    right = [
        t for t in fitting
        if after.objects[t.id].support in targets or after.objects[t.id].container in targets
    ]  # fmt: skip
    need = case.count or len(fitting)
    return Truth(len(right) >= need, len(fitting), len(right))


def matching(case: Case, scene: SceneGraph) -> list[SceneObject]:
    """Return the things that a task is about."""
    canonical = load_household().canonical
    items = [t for t in scene.objects.values() if t.kind == "item"]
    if case.kind == "clear":
        return [t for t in items if t.support in case.source and not t.container]
    return [
        t
        for t in items
        if canonical(t.label.top) == case.label and case.room in ("", t.room)
    ]  # fmt: skip


def possible(case: Case, scene: SceneGraph, resumes: Mapping[str, Resume]) -> Possible:
    """Return what the team could do from where it starts."""
    tools = Toolbox(scene, resumes)
    need = case.count or len(matching(case, scene))
    fit = [t for t in matching(case, scene) if _doable(case, t, tools)]
    rooms = [case.room] if case.room else list(scene.rooms)
    if case.kind == "clear":
        rooms = sorted({scene.objects[i].room for i in case.source})
    entered = all(_enters(room, tools) for room in rooms)
    able = len(fit) >= need and (bool(need) or (case.kind == "check" and entered))
    if case.targets:
        able = able and _with_room(case, fit, tools) >= need
    return Possible(able, entered and _looked_over(case, rooms, tools))


def _with_room(case: Case, things: Sequence[SceneObject], tools: Toolbox) -> int:
    """Return how many things have room on the targets together, packed from the corners.

    Things that stand there already need no room; the others go where they fit, small ones first.
    """
    there = [t for t in things if {t.support, t.container} & set(case.targets)]
    surfaces = [
        (surface, [o.box for o in tools.catalog.upon(target)])
        for target in case.targets
        for surface in surfaces_of(tools.catalog.meant_by(Thing(label="", id=target))[0], None)
    ]
    count = len(there)
    others = [t for t in things if t not in there]
    for thing in sorted(others, key=lambda t: (t.box.size[0] * t.box.size[1], t.id)):
        for surface, boxes in surfaces:
            points = free_points(surface.box, thing.box, boxes)
            if len(points):
                x, y = points[0]
                z = surface.box.center[2] + thing.box.size[2] / 2.0
                boxes.append(Box((float(x), float(y), z), thing.box.size, surface.box.yaw))
                count += 1
                break
    return count


def _doable(case: Case, thing: SceneObject, tools: Toolbox) -> bool:
    item = Thing(label=thing.label.top, id=thing.id)
    if not case.targets:
        return _any(tools, SubTask(id="see", kind="detect", object=item))
    pick = SubTask(id="pick", kind="pick", object=item)
    for robot in tools.robots:
        if not tools.estimate(robot, pick, holding="").feasible:
            continue
        for target in case.targets:
            label = tools.scene.objects[target].label.top
            place = SubTask(
                id="place", kind="place", object=item, receptacle=Thing(label=label, id=target)
            )
            if tools.estimate(robot, place, holding=thing.id).feasible:
                return True
    return False


def _any(tools: Toolbox, sub_task: SubTask) -> bool:
    return any(tools.estimate(r, sub_task, holding="").feasible for r in tools.robots)


def _enters(room: str, tools: Toolbox) -> bool:
    return _any(tools, SubTask(id="go", kind="go_to", rooms=(room,)))


def _looked_over(case: Case, rooms: list[str], tools: Toolbox) -> bool:
    """Whether all looks that the bodies allow, on the true house, make a search enough."""
    label = case.label or next((t.label.top for t in matching(case, tools.scene)), "")
    scene = copy.deepcopy(tools.scene)
    for thing in scene.objects.values():
        swing = SubTask(id="open", kind="open", object=Thing(label=thing.label.top, id=thing.id))
        if thing.is_open is False and _any(tools, swing):
            thing.is_open = True
    opened = tools.with_scene(scene, tools.resumes)
    book = Searches(scene)
    if case.kind == "clear":
        book.owners[kind_of(label)] = set(case.source)
    belief = book.belief(label, rooms)
    for robot in tools.robots:
        cover = Coverage(robot, label, owners=set(case.source))
        cover.hear(book.belief(label).of_robots())
        parts = opened.components_of(robot, None)
        for room in rooms:
            # Best look first, until so little is left that more looks would change nothing.
            little = min(book.enough / (4 * len(rooms)), 0.5 * LOOKED_OVER * belief.whole(room))
            while cover.left(opened, room) > little:
                gain, spot = max(cover.views(opened, room, parts), default=(0.0, (0.0, 0.0, 0.0)))
                if gain < WORTH * little:
                    break
                cover.look(opened, Look(spot), [room])
        book.hear(robot, {label: cover.report()})
    return book.is_enough(label, rooms)


def false_claim(case: Case, state: str, said_yes: bool | None, achieved: int, truth: Truth) -> str:
    """Return what was claimed falsely: "done", "yes", "no", or "" where nothing was.

    Args:
        case: The task.
        state: How the leader says it ended: done, partial, not_done.
        said_yes: What it answers to a check; None where it leaves it open. False for a task about
            all things of a kind: none is there.
        achieved: For how many things it says that the goal is reached.
        truth: How it really stands.
    """
    if case.kind == "check":
        if said_yes is None or said_yes == truth.met:
            return ""
        return "yes" if said_yes else "no"
    if case.kind in ALL and said_yes is False:
        return "no" if truth.there else ""
    if case.kind == "find_all" and state == "done" and achieved < truth.there:
        return "done"
    return "done" if state == "done" and not truth.met else ""
