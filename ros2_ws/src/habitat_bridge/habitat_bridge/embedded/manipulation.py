"""Hands: pick, place, open and close, kinematic, within reach and in sight, saying why not."""

from __future__ import annotations

import math

import numpy as np
import shapely
import shapely.affinity

from coterie_core.geometry import Box, Vec3, grounds_meet
from coterie_core.skill_registry import spec_of
from coterie_core.skills import Outcome, Skill, SkillRefused, Target
from coterie_world.scene import Receptacle, SceneObject
from habitat_bridge.embedded.body import Body, SkillFailed
from habitat_bridge.embedded.occupancy import Occupancy
from habitat_bridge.embedded.sensors import Sensors
from habitat_bridge.embedded.things import Things
from habitat_bridge.render.views import View

PICK_SNAP = 0.3
"""How far [m] a thing may be from where a robot believes it, for Pick."""
OWNER_SNAP = 0.5
"""The same for furniture, for Place, Open and Close."""
_LARGEST = 0.6  # [m] longest edge of what a hand can hold
_SLACK = 0.02  # [m] of heights and distances at the edge of the reach
_GRID = 0.05  # [m] between spots tried on a surface
_GAP = 0.01  # [m] between things on a surface


class Hands:
    """What robots' hands do to the contents of a house."""

    def __init__(self, contents: Things, sensors: Sensors, occupancy: Occupancy) -> None:
        self._things = contents
        self._sensors = sensors
        self._occ = occupancy

    def refuse_hopeless(self, body: Body, position: Vec3, hand: str) -> None:
        """Refuse at once what the robot itself can know to fail.

        Args:
            body: The robot.
            position: Where its hand shall be [m].
            hand: "empty" or "full" if the hand has to be, "" if it does not matter.

        Raises:
            SkillRefused: HAND_FULL, HAND_EMPTY or OUT_OF_REACH.
        """
        if hand == "empty" and body.holding:
            held = self._things.things[body.holding].label.top
            raise SkillRefused(Outcome.HAND_FULL, f"the hand holds a {held}; place it first")
        if hand == "full" and not body.holding:
            raise SkillRefused(Outcome.HAND_EMPTY, "the hand holds nothing; pick something first")
        arm = body.embodiment.arm
        if arm is None:
            raise SkillRefused(Outcome.UNSUPPORTED, f"{body.embodiment.name} has no arm")
        away = math.dist(body.pose.position[:2], position[:2])
        if away > arm.reach + 2.0:
            raise SkillRefused(
                Outcome.OUT_OF_REACH,
                f"the target is {away:.2f} m away, reach {arm.reach:.2f} m: go nearer",
            )

    def pick(self, body: Body, target: Target) -> SceneObject:
        """Take a thing.

        Raises:
            SkillFailed: UNKNOWN_TARGET, CLOSED, NOT_VISIBLE, OUT_OF_REACH, HAND_FULL or REFUSED.
        """
        if body.holding:
            held = self._things.things[body.holding].label.top
            raise SkillFailed(Outcome.HAND_FULL, f"the hand holds a {held}; place it first")
        thing = self._match(target, PICK_SNAP)
        if thing.kind != "item" or max(thing.box.size) > _LARGEST:
            raise SkillFailed(
                Outcome.REFUSED,
                f"a {target.label} is fixed or too large: hands hold things up to {_LARGEST:.1f} m",
            )
        self._in_reach(body, thing.box, thing.box.center[2], target.label)
        self._in_sight(body, thing, target.label)
        self._things.take(thing.id, body.name)
        body.holding = thing.id
        return thing

    def place(self, body: Body, target: Target) -> SceneObject:
        """Put what the hand holds onto or into the target, at the free spot nearest its position.

        Raises:
            SkillFailed: HAND_EMPTY, UNKNOWN_TARGET, CLOSED, OUT_OF_REACH, REFUSED, or BLOCKED when
                there is no free spot.
        """
        if not body.holding:
            raise SkillFailed(Outcome.HAND_EMPTY, "the hand holds nothing; pick something first")
        item = self._things.things[body.holding]
        if target.label == "floor":
            box = self._floor_spot(body, item, target.position)
            self._things.put(item.id, box, self._occ.room_id(box.center))
        else:
            riders = {item.id, *(t.id for t in self._things.upon(item.id))}
            owner = self._match(target, OWNER_SNAP)
            if not owner.receptacles or owner.id in riders:
                raise SkillFailed(Outcome.REFUSED, f"a {target.label} has nothing to put things on")
            box, receptacle = self._surface_spot(body, item, owner, target)
            inside = owner.id if receptacle.inside else ""
            self._things.put(item.id, box, owner.room, owner.id, inside)
            item.properties["receptacle"] = receptacle.id
        body.holding = ""
        return item

    def swing(self, body: Body, target: Target, is_open: bool) -> SceneObject:
        """Open or close a container; one that is so already stays so.

        Raises:
            SkillFailed: UNKNOWN_TARGET, UNSUPPORTED (nothing to open), NOT_VISIBLE, OUT_OF_REACH.
        """
        if target.label == "door":
            raise SkillFailed(
                Outcome.UNSUPPORTED, "the doors between rooms stand open in this world"
            )
        thing = self._match(target, OWNER_SNAP)
        if thing.is_open is None:
            raise SkillFailed(Outcome.UNSUPPORTED, f"a {target.label} cannot be opened or closed")
        self._at_front(body, thing, target.label)
        if thing.is_open is not is_open:
            self._things.set_open(thing.id, is_open)
        return thing

    def own(self, body: Body, skill: Skill) -> SceneObject:
        """Do a skill of another package to a thing, as its row says.

        Raises:
            SkillFailed: UNKNOWN_TARGET, UNSUPPORTED, NOT_VISIBLE, OUT_OF_REACH, or as the row says.
        """
        spec = spec_of(skill)
        target = spec.target(skill)
        assert target is not None and spec.in_house is not None, "skills of packages have both"
        thing = self._match(target, OWNER_SNAP)
        self._at_front(body, thing, target.label)
        try:
            properties = spec.in_house(thing.label.top)
        except SkillRefused as refused:
            raise SkillFailed(refused.result.outcome, refused.result.reason) from None
        self._things.change(thing.id, properties)
        return thing

    def _at_front(self, body: Body, thing: SceneObject, label: str) -> None:
        """Check that the hand gets to some height of a thing, which the robot sees."""
        arm = body.embodiment.arm
        floor = self._elevation(body)
        middle = thing.box.center[2] - floor
        lowest, highest = thing.box.bottom - floor, thing.box.top - floor
        if arm is not None:  # a handle is at a height within reach if any of the front is
            middle = min(max(middle, arm.min_height), arm.max_height)
            middle = min(max(middle, lowest), highest)
        self._in_reach(body, thing.box, floor + middle, label)
        self._in_sight(body, thing, label)

    def drop(self, body: Body) -> None:
        """Put what the hand holds down at the robot's feet (when the robot leaves the world)."""
        if body.holding:
            item = self._things.things[body.holding]
            x, y, _ = body.pose.position
            z = self._elevation(body) + item.box.size[2] / 2.0
            box = Box((x, y, z), item.box.size, body.pose.yaw)
            self._things.put(item.id, box, self._occ.room_id(box.center))
            body.holding = ""

    def reach_point(self, body: Body, point: Vec3) -> None:
        """Check that the hand can be at a point [m].

        Raises:
            SkillFailed: OUT_OF_REACH.
        """
        self._in_reach(body, Box(point, (0.0, 0.0, 0.0)), point[2], "point")

    def _match(self, target: Target, snap: float) -> SceneObject:
        """Return the thing that a robot means: its label, nearest to where it believes it to be."""
        ranked = sorted(
            (t.box.distance(target.position), t.id != target.instance, t.id)
            for t in self._things
            if t.label.top == target.label and t.id not in self._things.held
        )
        near = [(gap, name) for gap, _, name in ranked if gap <= snap]
        wanted = [name for _, name in near if name == target.instance]
        found = [self._things.things[name] for name in wanted or [name for _, name in near]]
        for thing in found:
            if self._things.closed_around(thing) is None:
                return thing
        for thing in self._things:
            if thing.is_open is False and thing.box.distance(target.position) <= 0.05:
                raise SkillFailed(
                    Outcome.CLOSED,
                    f"the {thing.label.top} at that position is closed; open it first",
                )
        where = ", ".join(f"{p:.2f}" for p in target.position)
        raise SkillFailed(
            Outcome.UNKNOWN_TARGET,
            f"no {target.label} within {snap:.1f} m of ({where}); look again",
        )

    def _in_reach(self, body: Body, box: Box, height: float, label: str) -> None:
        arm = body.embodiment.arm
        if arm is None:
            raise SkillFailed(Outcome.UNSUPPORTED, f"{body.embodiment.name} has no arm")
        x, y, _ = body.pose.position
        away = Box((*box.center[:2], 0.0), (*box.size[:2], 0.0), box.yaw).distance((x, y, 0.0))
        if away > arm.reach:
            raise SkillFailed(
                Outcome.OUT_OF_REACH,
                f"the {label} is {away:.2f} m away, reach {arm.reach:.2f} m: go nearer",
            )
        above = height - self._elevation(body)
        if not arm.min_height - _SLACK <= above <= arm.max_height + _SLACK:
            raise SkillFailed(
                Outcome.OUT_OF_REACH,
                f"the {label} is {above:.2f} m above the floor; this arm reaches "
                f"{arm.min_height:.2f} to {arm.max_height:.2f} m",
            )
        trouble = arm.workspace_trouble(away, above, _SLACK)
        if trouble:
            raise SkillFailed(Outcome.OUT_OF_REACH, f"the {label} is {trouble}")
        if _away_ahead(body, box, 2.0 * arm.reach) > arm.reach:
            raise SkillFailed(Outcome.OUT_OF_REACH, f"the {label} is behind the robot: turn to it")

    def _in_sight(self, body: Body, thing: SceneObject, label: str) -> None:
        if not body.embodiment.cameras:
            raise SkillFailed(Outcome.NOT_VISIBLE, f"{body.embodiment.name} has no camera")
        for camera in body.embodiment.cameras:
            x, y, z = View.of(body.pose, camera).eye
            # To grasp, a robot looks closely: torso, mast or arm lift the camera.
            for share in (0.0, 0.5, 1.0) if camera.lift > 0.0 else (0.0,):
                if self._sensors.sees((x, y, z + share * camera.lift), thing.id):
                    return
        raise SkillFailed(
            Outcome.NOT_VISIBLE, f"the {label} is hidden from here; go where it can be seen"
        )

    def _elevation(self, body: Body) -> float:
        return self._occ.elevation(self._occ.floor_index(body.pose.position[2]))

    def _surface_spot(
        self, body: Body, item: SceneObject, owner: SceneObject, target: Target
    ) -> tuple[Box, Receptacle]:
        surfaces = [r for r in owner.receptacles if not (r.inside and owner.is_open is False)]
        if not surfaces:
            raise SkillFailed(Outcome.CLOSED, f"the {target.label} is closed; open it first")
        surfaces.sort(key=lambda r: (abs(r.surface.center[2] - target.position[2]), r.id))
        trouble: SkillFailed | None = None
        for receptacle in surfaces:
            try:
                box = self._spot(body, item, owner, receptacle, target)
            except SkillFailed as failed:
                trouble = trouble or failed
                continue
            return box, receptacle
        assert trouble is not None
        raise trouble

    def _spot(
        self,
        body: Body,
        item: SceneObject,
        owner: SceneObject,
        receptacle: Receptacle,
        target: Target,
    ) -> Box:
        """Return the free spot on a surface that is nearest to the target's position."""
        surface = receptacle.surface
        above = [r.surface.center[2] for r in owner.receptacles if r.inside or receptacle.inside]
        room = min(
            (z - surface.center[2] for z in above if z > surface.center[2] + 0.02),
            default=owner.box.top - surface.center[2] if receptacle.inside else math.inf,
        )
        width, depth, height = item.box.size
        spare = (surface.size[0] - width, surface.size[1] - depth)
        if min(spare) < 0.0 or height > room:
            raise SkillFailed(
                Outcome.BLOCKED, f"a {item.label.top} does not fit on the {target.label}"
            )
        others = self._things.boxes_on(owner.id, surface.center[2], besides=item.id)
        spots = []
        for dx in _steps(spare[0]):
            for dy in _steps(spare[1]):
                x, y = _turned(surface, dx, dy)
                center = (x, y, surface.center[2] + height / 2.0)
                box = Box(center, item.box.size, surface.yaw)
                if not any(grounds_meet(box, other, _GAP) for other in others):
                    spots.append((math.dist(center, target.position), box))
        if not spots:
            raise SkillFailed(Outcome.BLOCKED, f"there is no free spot on the {target.label}")
        label = f"free spot on the {target.label}"
        return self._reachable_spot(body, spots, surface.center[2], label)

    def _floor_spot(self, body: Body, item: SceneObject, position: Vec3) -> Box:
        z = self._elevation(body)
        blockers = [
            t.box
            for t in self._things
            if t.id not in self._things.held and t.box.bottom < z + 0.5 and t.box.top > z + 0.02
        ]
        spots = []
        for dx in _steps(1.0):
            for dy in _steps(1.0):
                center = (position[0] + dx, position[1] + dy, z + item.box.size[2] / 2.0)
                box = Box(center, item.box.size, item.box.yaw)
                if body.places.space.is_free((*center[:2], z)) and not any(
                    grounds_meet(box, other, _GAP) for other in blockers
                ):
                    spots.append((math.hypot(dx, dy), box))
        if not spots:
            raise SkillFailed(Outcome.BLOCKED, "there is no free floor at that position")
        return self._reachable_spot(body, spots, z, "floor")

    def _reachable_spot(
        self, body: Body, spots: list[tuple[float, Box]], height: float, label: str
    ) -> Box:
        trouble: SkillFailed | None = None
        for _, box in sorted(spots, key=lambda s: s[0]):
            try:
                self._in_reach(body, box, height, label)
            except SkillFailed as failed:
                trouble = trouble or failed
                continue
            return box
        assert trouble is not None
        raise trouble


def _away_ahead(body: Body, box: Box, far: float) -> float:
    """Return how far the nearest part of a box before a robot is [m]; nothing beyond `far` counts.

    An arm reaches ahead and to both sides; that of a robot that cannot turn reaches all around.
    """
    x, y, _ = body.pose.position
    part: shapely.Geometry = shapely.MultiPoint(box.footprint()).convex_hull
    if body.embodiment.mobility != "fixed":
        before = shapely.box(x - _SLACK, y - far, x + far, y + far)
        part &= shapely.affinity.rotate(before, body.pose.yaw, origin=(x, y), use_radians=True)
    return math.inf if part.is_empty else float(part.distance(shapely.Point(x, y)))


def _steps(spare: float) -> list[float]:
    """Return offsets from the middle that cover `spare` [m] in steps, the middle included."""
    half = int(spare / 2.0 / _GRID)
    return [float(k) * _GRID for k in np.arange(-half, half + 1)]


def _turned(surface: Box, dx: float, dy: float) -> tuple[float, float]:
    c, s = math.cos(surface.yaw), math.sin(surface.yaw)
    return surface.center[0] + c * dx - s * dy, surface.center[1] + s * dx + c * dy
