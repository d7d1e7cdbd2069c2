"""A house's map as one body uses it: rooms and ways, where it stands, what it takes things for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from coterie_core.cooperation import Gate, HomeRoom, Spot, Thing, Walkways
from coterie_core.embodiment import Arm, Camera, Embodiment
from coterie_core.geometry import Box, Pose, Vec3, faces_along
from coterie_core.household import load_household
from coterie_core.resume import Resume
from coterie_core.tasks import SubTask
from coterie_execution.geometry.bodies import Asked
from coterie_execution.geometry.estimates import room_spot
from coterie_execution.geometry.toolbox import Toolbox
from coterie_execution.own_tools import OwnTools
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.sightings import (
    as_thing,
    kind_of,
    seen_in_passing,
)
from coterie_world.sizes import known_size
from coterie_world.team_map import TeamMap

TOP = 0.1
"""What lies lower than this below the top of a container is in it [m]."""
THIN = 0.05
"""What is thinner than this in two directions is missed by detectors though it is in view [m]."""
LARGEST = 0.5
"""What is larger in every direction is not carried [m]."""
PAYLOAD = 50.0
"""Taken for what an arm carries of which nobody says it [kg]: its own driver refuses more."""
SETTLED = 0.05
"""By less than this the faces of furniture's box move without any consequence [m]."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the robot's body means for cooperating.

    Attributes:
        radius: Of its footprint [m].
        reach: From how far its hand gets to things, sideways from its middle [m].
        speed: At which it drives [m/s].
        step: How long one step of the agent's is [s].
        low, high: Lowest and highest that the hand gets to above the floor [m].
        cameras: What it sees with; none: it sees all around.
    """

    radius: float = 0.25
    reach: float = 0.8
    speed: float = 0.6
    step: float = 1.0
    low: float = 0.0
    high: float = 1.6
    cameras: tuple[Camera, ...] = ()

    def resume(self, robot: str) -> Resume:
        """Return what a robot of such a body can do, as its tools know it."""
        low = max(0.0, self.low)
        arm = Arm(reach=self.reach, min_height=low, max_height=self.high, payload=PAYLOAD)
        seeing = {"cameras": self.cameras} if self.cameras else {}
        body = Embodiment(
            name=robot, radius=self.radius, linear_speed=self.speed, arm=arm, **seeing
        )
        return Resume.of_embodiment(body)

    def looks_at(self, body: Pose, point: Vec3) -> bool:
        """Tell whether a point [m] is in the image of a camera, unless something hides it."""
        return not self.cameras or any(one.shows(body, point) for one in self.cameras)


class HouseMap(TeamMap):
    """What one robot knows of the house, and where its body stands in it.

    Args:
        scene: What is known of the house: rooms and ways, and what furniture there is.
        robot: Whose map it is.
        shape: Its body.

    Attributes:
        targets: Where things belong by the goal: labels and ids.
        items: What is to be brought there: labels.

    Raises:
        ValueError: The map has no room.
    """

    def __init__(self, scene: SceneGraph, robot: str, shape: Shape) -> None:
        super().__init__(scene, robot)
        self.shape = shape
        self.own = OwnTools(robot, shape.resume(robot), self)
        self.ways = _ways(self.scene, self.tools, robot)
        if not self.ways.rooms:
            raise ValueError(
                "the map known beforehand has no room with an outline or places; "
                "set cooperation: prior_map: rooms or furniture"
            )
        self._told = frozenset(one.id for one in scene.objects.values() if one.told_surfaces)
        self._stands: dict[str, tuple[Box, Vec3]] = {}
        self.furnish(list(self.scene.objects))
        self.targets: frozenset[str] = frozenset()
        self.items: frozenset[str] = frozenset()
        self._inside: set[str] = set()  # what was put into furniture

    @property
    def tools(self) -> Toolbox:
        """What its body reaches, sees and gets to by what it knows now."""
        return self.own.toolbox()

    def furnish(self, new: Sequence[str]) -> None:
        """Take in furniture that no map told of, for what such furniture is for in general.

        Where a map told of furniture, what it lacks is more likely taken for something else.

        Args:
            new: Ids of things seen for the first time.
        """
        objects = self.scene.objects
        found = [
            objects[id_] for id_ in new if objects[id_].kind != "item" and id_ not in self._told
        ]
        if self._told:
            for thing in found:
                thing.is_open = None
        elif found:
            self._stands.clear()
            for id_ in new:
                if objects[id_].kind == "item":
                    self.rest(objects[id_])  # it may stand on what is known since now only

    def reshape(self, thing: SceneObject, box: Box) -> None:
        """Take over what the team's map made of all looks; its top goes with it, and what it bears.

        A change that no plan depends on is left alone.
        """
        if _change(thing.box, box) < SETTLED:
            return
        super().reshape(thing, box)
        self._stands.clear()
        for one in self.scene.objects.values():
            near = one.kind == "item" and one.room == thing.room and not one.container
            if near and one.support in ("", thing.id) and not self.put_on(one.id):
                self.rest(one)

    def take(self, id_: str) -> None:
        """Take down that a thing is in the hand."""
        self._inside.discard(id_)
        super().take(id_)

    def fell(self, id_: str) -> None:
        """Take down that a thing is not on what it was put on: it lies on the floor there."""
        thing = self.thing(id_)
        if thing is not None:
            self.take(id_)
            x, y, _ = thing.box.center
            room = self.scene.rooms.get(thing.room)
            plan = self.tools.plan
            floor = plan.elevation(plan.room_floor(room.id)) if room is not None else 0.0
            middle = (x, y, floor + thing.box.size[2] / 2.0)
            thing.box = Box(middle, thing.box.size, thing.box.yaw)

    def lies_openly(self, one: SceneObject) -> bool:
        """Tell whether what was put on a thing is in plain view: no boards above it, no sides.

        Detectors miss what is thin, such as a toothbrush. A tissue box of which a camera boxed a
        sliver is not.
        """
        owner = self.thing(self.put_on(one.id))
        category = load_household().category(owner.label.top) if owner is not None else None
        if category is None or one.container or one.id in self._inside:
            return False
        size = known_size(one.label.top)
        least = [low for low, _ in size] if size is not None else [0.0] * 3
        if max(sorted(one.box.size)[1], sorted(least)[1]) < THIN:
            return False
        return not category.boards and category.depth == 0.0

    def remove(self, id_: str) -> SceneObject | None:
        """Take a thing off the map; return it, if it was there."""
        self._stands.pop(id_, None)
        self._inside.discard(id_)
        thing = self.scene.objects.pop(id_, None)
        self.version += 1
        if thing is not None and thing.kind != "item":
            for one in self.scene.objects.values():
                if one.support == id_:
                    self.rest(one)
        return thing

    def may_be_gone(self, thing: SceneObject) -> bool:
        """Tell whether a thing that should be in view and is not may be somewhere else, or nowhere.

        Furniture stays, but for what one look alone has shown.
        """
        if thing.kind != "item":
            return thing.id not in self._told and thing.observations == 1
        return not self.is_hidden(thing)

    def is_hidden(self, thing: SceneObject) -> bool:
        """Tell whether a thing is in a container that is closed."""
        holder = self.thing(thing.container)
        return holder is not None and holder.is_open is False

    def as_told(self, one: SceneObject) -> Thing | None:
        """Return a thing as the agent is told of it; None: it is none of the agent's business."""
        if one.room not in self.ways.rooms or self.is_hidden(one):
            return None
        label = load_household().canonical(one.label.top) or one.label.top
        if one.kind == "item":
            if max(one.box.size) > LARGEST and not self._is_target(one):
                return None
            holder = self._bearer(one)
            parent = holder.id if holder is not None else ""
            relation = ""
            if holder is not None:
                relation = "in" if one.container or self._lies_inside(one, holder) else "on"
            spot = Spot(one.room, self.stand(one))
            return Thing(one.id, label, "item", spot, parent, relation, None, True)  # type: ignore[arg-type]
        if one.is_open is None and not self._bears(one) and not self._is_target(one):
            return None
        kind = "surface" if one.is_open is None else "container"
        spot = Spot(one.room, self.stand(one))
        return Thing(one.id, label, kind, spot, is_open=one.is_open)  # type: ignore[arg-type]

    def _bears(self, one: SceneObject) -> bool:
        """Whether things are put on it, by a map or, where none told of furniture, in general."""
        if one.receptacles or self._told:
            return bool(one.receptacles)
        category = load_household().category(one.label.top)
        return category is not None and (category.opens or category.label in _carrying())

    def _lies_inside(self, one: SceneObject, holder: SceneObject) -> bool:
        """Whether an item lies in an open container, and not on it.

        What shows while the doors are closed lies on it: boxes of cameras are too high at times.
        """
        if self.put_on(one.id) == holder.id:
            return one.id in self._inside
        return holder.is_open is True and one.box.bottom < holder.box.top - TOP

    def put_inside(self, id_: str, owner: str) -> None:
        """Take down that what was put down is in a piece of furniture, and not on it."""
        thing = self.thing(id_)
        if thing is not None and owner in self.scene.objects:
            thing.container = owner
            self._inside.add(id_)

    def set_open(self, id_: str, is_open: bool) -> None:
        """Take down that a container stands open or is closed; what lies in it then is hidden."""
        holder = self.thing(id_)
        if holder is not None and not is_open:
            for one in self.scene.objects.values():
                if one.support == id_ and self._lies_inside(one, holder):
                    one.container = id_
        super().set_open(id_, is_open)

    def doubtful(self) -> set[str]:
        """Return ids of what was taken in passing for a place where things belong, or to lie there.

        Where the map has no clearer place of its kind, it counts. A thing that nobody has put there
        counts once a second look shows it.
        """
        kinds: dict[str, list[SceneObject]] = {}
        for one in self.scene.objects.values():
            if (kind := kind_of(one.label.top)) in self.targets:
                kinds.setdefault(kind, []).append(one)
        glimpsed = {
            one.id
            for one in self.scene.objects.values()
            if one.observations == 1
            and kind_of(one.label.top) in self.items
            and not self.put_on(one.id)
            and (holder := self._bearer(one)) is not None
            and self._is_target(holder)
        }
        return glimpsed.union(*(seen_in_passing(alike) for alike in kinds.values()))

    def _bearer(self, one: SceneObject) -> SceneObject | None:
        """Return what an item lies on, as a goal means it; None: on nothing that is known.

        That is furniture, or an item that the goal names: what lies in a basket is in the basket,
        what lies on a cutting board is on the counter below it.
        """
        passed = {one.id}
        while True:
            holder = self.thing(one.container or one.support)
            if holder is None or holder.id in passed:
                return None
            if holder.kind != "item" or self._is_target(holder):
                return holder
            passed.add(holder.id)
            one = holder

    def _is_target(self, one: SceneObject) -> bool:
        return one.id in self.targets or kind_of(one.label.top) in self.targets

    def stand(self, one: SceneObject) -> Vec3:
        """Return a spot beside a thing [m]; where there is none, the thing's own."""
        kept = self._stands.get(one.id)
        if kept is not None and kept[0] == one.box:
            return kept[1]
        there = SubTask(id="stand", kind="go_to", object=as_thing(one))
        found = self.tools.estimate_work(self.robot, there, None).spot
        spot = found if found is not None else (*one.box.center[:2], one.box.bottom)
        self._stands[one.id] = (one.box, spot)
        return spot


def _change(before: Box, now: Box) -> float:
    """Return by how much the face of a box moves at most [m]."""
    was, new = np.array(faces_along(before, now.yaw)), np.array(faces_along(now, now.yaw))
    return float(np.abs(was - new).max())


@cache
def _carrying() -> frozenset[str]:
    """Labels of what things are put on in homes."""
    household = load_household()
    owners = (name for one in household.categories.values() for name in one.on)
    return frozenset(member for name in owners for member in (household.members(name) or (name,)))


def _ways(scene: SceneGraph, tools: Toolbox, robot: str) -> Walkways:
    rooms: dict[str, HomeRoom] = {}
    asked = Asked(tools, robot, tools.components_of(robot, None))
    for room in scene.rooms.values():
        spot, blocked = room_spot(asked, room.id)
        middle = spot or blocked
        if middle is not None:
            rooms[room.id] = HomeRoom(room.id, room.name, room.type, middle, tuple(room.polygon))
    gates = [
        Gate(c.id, c.room_a, c.room_b, c.position, c.position)
        for c in scene.connections.values()
        if c.room_a in rooms and c.room_b in rooms
    ]
    return Walkways(rooms.values(), gates)
