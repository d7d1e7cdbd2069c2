"""Whether a sub-goal holds in a scene: EMOS's four predicates over geometry and a log of sightings.

The numbers, in metres: a robot is at a thing if its base is within `AT` of the thing's footprint,
sideways and on the same floor, or if its hand reaches the thing from where it stands. A thing is at
a receptacle if it stands on or in it, as the scene says, or if its middle lies over one of its
surfaces and its bottom within `ON` of that. What a robot holds is nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np

from coterie_core.geometry import Box
from coterie_core.resume import Resume
from coterie_core.tasks import Predicate, Thing
from coterie_execution.geometry.grasp import gap_to
from coterie_execution.geometry.things import Catalog, ResolvedObject
from coterie_world.scene import AgentState, SceneGraph, SceneObject

AT = 1.5
"""How near a robot has to be to be at a thing [m]."""
ON = 0.12
"""How far the bottom of a thing may be from a surface that it is on [m]."""
_STOREY = 2.2  # [m] in height beyond which a thing is on another floor

Detections = Mapping[str, Collection[str]]
"""Robot -> ids and labels of what it has detected."""


def holds(
    predicate: Predicate,
    scene: SceneGraph,
    *,
    detections: Detections | None = None,
    resumes: Mapping[str, Resume] | None = None,
    catalog: Catalog | None = None,
) -> bool:
    """Tell whether a sub-goal holds.

    Args:
        predicate: The sub-goal; a robot "" means any, a thing without id any of its label.
        scene: The state of the house, with its agents.
        detections: Who has detected what, for robot_detect_object.
        resumes: Of the robots; with them a reach counts as being there.
        catalog: Of the scene, where several sub-goals are asked about.
    """
    if predicate.name == "robot_detect_object":
        return _detected(predicate, scene, detections or {})
    catalog = catalog or Catalog(scene)
    if predicate.name == "object_at_receptacle":
        assert predicate.object is not None and predicate.receptacle is not None
        return _rests(scene, catalog, predicate.object, predicate.receptacle)
    thing = predicate.receptacle if predicate.name == "robot_at_receptacle" else predicate.object
    assert thing is not None
    agents = [a for a in scene.agents.values() if predicate.robot in ("", a.name)]
    return any(
        robot_at(agent, meant, (resumes or {}).get(agent.name))
        for meant in catalog.meant_by(thing)
        for agent in agents
    )


def robot_at(agent: AgentState, meant: ResolvedObject, resume: Resume | None = None) -> bool:
    """Tell whether a robot is at a thing."""
    if meant.object is not None and meant.object.id == agent.holding:
        return True
    x, y, z = agent.pose.position
    flight = resume.mobility.flight_height if resume and resume.mobility.kind == "air" else 0.0
    above = meant.box.bottom - (z - flight)
    if not -0.3 < above < _STOREY:
        return False
    gap = float(gap_to(meant.box, np.array([x]), np.array([y]))[0])
    if gap <= AT:
        return True
    if resume is None:
        return False
    height = meant.box.center[2] - z
    return any(arm.workspace.contains(gap, height) for arm in resume.manipulation.arms)


def _detected(predicate: Predicate, scene: SceneGraph, detections: Detections) -> bool:
    thing = predicate.object
    assert thing is not None
    wanted = {thing.id} if thing.id else {thing.label}
    if not thing.id:
        wanted |= {o.id for o in scene.objects.values() if o.label.top == thing.label}
    return any(
        wanted & set(seen) for robot, seen in detections.items() if predicate.robot in ("", robot)
    )


def _rests(scene: SceneGraph, catalog: Catalog, thing: Thing, receptacle: Thing) -> bool:
    held = {agent.holding for agent in scene.agents.values() if agent.holding}
    things = [m.object for m in catalog.meant_by(thing) if m.object and m.object.id not in held]
    places = [m.object for m in catalog.meant_by(receptacle) if m.object is not None]
    return any(rests_on(scene, item, place) for item in things for place in places)


def rests_on(scene: SceneGraph, item: SceneObject, place: SceneObject) -> bool:
    """Tell whether a thing stands on or in another, directly or on something that does."""
    below: SceneObject | None = item
    for _ in range(8):
        if below is None:
            break
        if place.id in (below.support, below.container):
            return True
        below = scene.objects.get(below.container or below.support)
    if item.support or item.container or item.id == place.id:
        return False
    surfaces = [r.surface for r in place.receptacles]
    if not surfaces and place.box.volume > 0.0:
        x, y, _ = place.box.center
        top = Box((x, y, place.box.top), (*place.box.size[:2], 0.0), place.box.yaw)
        surfaces = [top]
    return any(_over(item.box, surface) for surface in surfaces)


def _over(box: Box, surface: Box) -> bool:
    gap = gap_to(surface, np.array([box.center[0]]), np.array([box.center[1]]))
    return bool(gap[0] <= 0.02) and math.isclose(box.bottom, surface.center[2], abs_tol=ON)
