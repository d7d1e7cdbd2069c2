"""What a gripper does to the things of a house: it closes on one, opens, pulls doors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from coterie_core.geometry import Box, Vec3, grounds_meet
from coterie_world.scene import Receptacle, SceneObject
from habitat_bridge.embedded.body import Body
from habitat_bridge.embedded.things import Things
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.surfaces import is_hollow

GRASP_GAP = 0.04
"""Farthest that a thing may be from the point between the fingers, to be grasped [m]."""
HANDLE_GAP = 0.06
"""The same for the front of a container, whose handle is anywhere on it [m]."""
PULL = 0.1
"""How far a held handle must be moved to open or close its container [m]."""
_SHIFT = 0.25  # [m] how far from the hand a thing comes to stand where others are in the way
_STEP = 0.025
_FLAT = 0.03
"""What is no higher than this carries a part of what comes to lie over it [m]."""
_AS_WIDE = 0.8
"""A thing of at least this share of another one's width carries that."""


@dataclass(slots=True)
class Grip:
    """What a robot's gripper is about.

    Attributes:
        gap: Between its fingers [m].
        thing: Id of what it holds ("": nothing).
        handle: Id of the container whose handle it holds.
        handle_at: Where the hand took the handle, in the house [m].
    """

    gap: float
    thing: str = ""
    handle: str = ""
    handle_at: Vec3 = (0.0, 0.0, 0.0)


class Hands:
    """The grippers of a world's robots."""

    def __init__(self, world: EmbeddedWorld) -> None:
        self._world = world

    @property
    def _things(self) -> Things:
        return self._world.contents

    def close(self, body: Body, grip: Grip, hand: Vec3, opening: float, target: float) -> bool:
        """Close a gripper to a gap [m]; return whether something between the fingers stops it.

        Args:
            body: The robot.
            grip: Its gripper; changed.
            hand: Where the point between the fingers is, in the house [m].
            opening: The widest gap [m].
            target: The gap asked for [m].
        """
        if grip.thing or grip.handle:
            return True
        thing = self._between(hand, opening)
        if thing is not None:
            width = min(thing.box.size)
            if width <= target:
                grip.gap = target  # not closed far enough to hold it
                return False
            self._things.take(thing.id, body.name)
            body.holding = grip.thing = thing.id
            body.glance = None
            grip.gap = width
            return True
        container = self._front(hand)
        if container is not None:
            grip.handle, grip.handle_at, grip.gap = container.id, hand, max(target, 0.015)
            return True
        grip.gap = target
        return False

    def open(self, body: Body, grip: Grip, hand: Vec3, gap: float) -> SceneObject | None:
        """Open a gripper; what it held comes to lie on what is below, and is returned."""
        grip.gap, grip.handle = gap, ""
        if not grip.thing:
            return None
        item = self._things.things[grip.thing]
        grip.thing = body.holding = ""
        body.glance = None
        self._lay(body, item, hand)
        return item

    def slip(self, body: Body, grip: Grip) -> SceneObject | None:
        """Let what a gripper holds fall to the floor beside the robot."""
        if not grip.thing:
            return None
        item = self._things.things[grip.thing]
        grip.thing = body.holding = ""
        body.glance = None
        self._to_floor(body, item, body.pose.position)
        return item

    def moved(self, grip: Grip, hand: Vec3) -> None:
        """Open or close the container whose handle is held, if the hand has moved far enough."""
        if not grip.handle:
            return
        container = self._things.things[grip.handle]
        went = container.box.distance(hand) - container.box.distance(grip.handle_at)
        if abs(went) < PULL or container.is_open is None:
            return
        if container.is_open is not (went > 0.0):
            self._things.set_open(grip.handle, went > 0.0)
        grip.handle_at = hand

    def _between(self, hand: Vec3, opening: float) -> SceneObject | None:
        """Return the small thing that the fingers close on, the nearest one."""
        things = self._things
        near = [
            (thing.box.distance(hand), math.dist(thing.box.center, hand), thing)
            for thing in things
            if thing.kind == "item"
            and thing.id not in things.held
            and min(thing.box.size) <= opening
            and things.closed_around(thing) is None
        ]
        near = [entry for entry in near if entry[0] <= GRASP_GAP]
        return min(near, key=lambda entry: entry[:2])[2] if near else None

    def _front(self, hand: Vec3) -> SceneObject | None:
        """Return the container whose front the fingers close at."""
        containers = [thing for thing in self._things if thing.is_open is not None]
        # That of an open one has come out as far as it was pulled at least.
        near = [
            (thing.box.distance(hand) - (PULL if thing.is_open else 0.0), thing)
            for thing in containers
        ]
        near = [entry for entry in near if 0.0 < entry[0] <= HANDLE_GAP]
        return min(near, key=lambda entry: entry[0])[1] if near else None

    def _lay(self, body: Body, item: SceneObject, hand: Vec3) -> None:
        """Put a thing onto the highest surface below the hand, or onto the floor."""
        found: list[tuple[float, SceneObject, Receptacle]] = []
        riders = {item.id, *(t.id for t in self._things.upon(item.id))}
        for owner in self._things:
            if owner.id in riders or owner.id in self._things.held:
                continue
            hollow = is_hollow(owner.label.top)
            for receptacle in owner.receptacles:
                surface = receptacle.surface
                if receptacle.inside and owner.is_open is False:
                    continue
                # The hand holds a thing at its middle, which is above what it is put on.
                if surface.center[2] > hand[2] + 0.02:
                    continue
                # What is let go over a rim falls in, beside the bottom as well.
                around = owner.box if hollow else surface
                if around.contains((*hand[:2], around.center[2])):
                    found.append((surface.center[2], owner, receptacle))
        for _, owner, receptacle in sorted(found, key=lambda entry: -entry[0]):
            box, on = self._spot(item, owner, receptacle, hand), owner.id
            if box is None:
                box, on = self._stacked(item, owner, hand)
            if box is None:
                hollow = is_hollow(owner.label.top)
                over = math.inf if hollow else _FLAT  # within a rim things lie in a heap
                box, on = self._spot(item, owner, receptacle, hand, over), owner.id
            if box is not None:
                inside = owner.id if receptacle.inside and on == owner.id else ""
                self._things.put(item.id, box, owner.room, on, inside)
                if on == owner.id:
                    item.properties["receptacle"] = receptacle.id
                return
        self._to_floor(body, item, hand)

    def _spot(
        self,
        item: SceneObject,
        owner: SceneObject,
        receptacle: Receptacle,
        hand: Vec3,
        over: float = 0.0,
    ) -> Box | None:
        """Return where on a surface a thing comes to stand; None where others leave no room.

        What is no higher than `over` [m], such as a remote control, may lie below a part of it.
        """
        surface = receptacle.surface
        lying = self._things.boxes_on(owner.id, surface.center[2], besides=item.id)
        others = [box for box in lying if box.size[2] > over]
        flat = [box for box in lying if box.size[2] <= over]
        height = item.box.size[2]
        c, s = math.cos(surface.yaw), math.sin(surface.yaw)
        dx, dy = hand[0] - surface.center[0], hand[1] - surface.center[1]
        local = (c * dx + s * dy, -s * dx + c * dy)
        offsets = np.arange(-round(_SHIFT / _STEP), round(_SHIFT / _STEP) + 1) * _STEP
        # Along the surface, else across it: a hand turns it the way for which there is room.
        for turn, foot in enumerate((item.box.size[:2], item.box.size[1::-1])):
            half = [max((surface.size[k] - foot[k]) / 2.0, 0.0) for k in range(2)]
            yaw = surface.yaw + turn * math.pi / 2.0
            spots = []
            for ox, oy in product(offsets.tolist(), repeat=2):
                x = min(max(local[0] + ox, -half[0]), half[0])
                y = min(max(local[1] + oy, -half[1]), half[1])
                at = (surface.center[0] + c * x - s * y, surface.center[1] + s * x + c * y)
                box = Box((*at, surface.center[2] + height / 2.0), item.box.size, yaw)
                if not any(grounds_meet(box, other) for other in others):
                    below = (one.top for one in flat if grounds_meet(box, one))
                    z = max(below, default=surface.center[2]) + height / 2.0
                    spots.append((math.dist(at, hand[:2]), replace(box, center=(*at, z))))
            if spots:
                return min(spots, key=lambda spot: spot[0])[1]
        return None

    def _stacked(self, item: SceneObject, owner: SceneObject, hand: Vec3) -> tuple[Box | None, str]:
        """Return where a thing comes to stand on another one, and on which; None: on nothing.

        That lies right below the hand on the owner, at least about as wide as the thing: a bowl
        stands on a cutting board, and not on a candle.
        """
        x, y, _ = hand
        below = [
            thing
            for thing in self._things.upon(owner.id)
            if thing.kind == "item" and thing.id not in (item.id, *self._things.held)
            if thing.box.contains((x, y, thing.box.center[2])) and thing.box.top <= hand[2] + 0.02
            if min(thing.box.size[:2]) >= _AS_WIDE * min(item.box.size[:2])
        ]
        if not below:
            return None, ""
        under = max(below, key=lambda thing: (thing.box.top, thing.id))
        center = (x, y, under.box.top + item.box.size[2] / 2.0)
        return replace(item.box, center=center), under.id

    def _to_floor(self, body: Body, item: SceneObject, near: Vec3) -> None:
        occupancy = self._world.occupancy
        floor = occupancy.elevation(occupancy.floor_index(body.pose.position[2]))
        spot = body.places.space.nearest_free((near[0], near[1], floor), 1.0) or body.pose.position
        center = (spot[0], spot[1], floor + item.box.size[2] / 2.0)
        box = replace(item.box, center=center)
        self._things.put(item.id, box, occupancy.room_id(center))
