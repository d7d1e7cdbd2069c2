"""Takes views of robots into a team's memory: what they see, and what they do not see."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from coterie_core.geometry import Box, Pose, Vec3, crosses, distance, wrap_angle
from coterie_core.household import load_household
from coterie_core.observation import Detection, Observation
from coterie_world.association import MEMORY
from coterie_world.scene import AgentState, LabelBelief, SceneObject, Sighting, absorb, associate
from coterie_world.sightings import resting_on, room_at
from coterie_world.team_memory.store import MOST_LOOKS, Belief, Look, Store, alike

LOOKED_AT_FRACTION = 0.6
"""Fraction of a place from which it counts as looked at (0..1)."""
CLEAR_VIEW_M = 3.0
"""Farther from a robot than this a small thing that is not reported was not looked for [m]."""
PLACED_RADIUS_M = 1.5
"""Largest distance from where it was put down at which a thing is that one [m]."""
REACH_MARGIN_M = 0.5
"""Distance beyond the farthest report of a thing at which it should still be reported [m]."""
EYE_HEIGHT_M = 1.0
"""Height of a robot's eyes above its base, where nothing more is known of it [m]."""
_STEP, _TURN = 0.5, math.radians(30)  # from here on a robot's view is a new one


def observe(store: Store, observation: Observation) -> None:
    """Take in what a robot perceives: what it sees, and what it should see and does not."""
    robot, pose = observation.robot, observation.pose
    last = store.views.get(robot)
    if last is not None and observation.step <= last[0]:
        if observation.time >= last[1]:
            return  # a repeat, for nodes that came late
        store.restart(observation.time)
    old = last[2] if last is not None and not _differs(pose, last[2]) else None
    new_view = old is None
    store.views[robot] = (observation.step, observation.time, old or pose)
    store.time = max(store.time, observation.time)
    store.graph.agents[robot] = AgentState(
        robot,
        pose,
        store.room_of(observation.room),
        next((id_ for id_, belief in store.beliefs.items() if belief.held_by == robot), ""),
        Sighting(observation.time, robot),
    )
    guests = [
        guest
        for one in observation.detections
        if (guest := _guest(store, one, observation)) is not None
    ]
    here = [t for id_, t in store.graph.objects.items() if not store.beliefs[id_].held_by]
    pairs = associate(here, guests, MEMORY)
    seen = {mine.id for mine, _ in pairs}
    pairs += _put_there(store, [g for g in guests if all(g is not one for _, one in pairs)], seen)
    matched = {id(guest) for _, guest in pairs}
    for mine, guest in pairs:
        _see(store, mine, guest, new_view)
    for guest in guests:
        if id(guest) not in matched and not _in_a_hand(store, guest):
            _add(store, guest)
            seen.add(guest.id)
    if new_view:
        look = Look(observation.time, robot, pose.position)
        for id_ in seen:
            store.beliefs[id_].looks = [*store.beliefs[id_].looks[1 - MOST_LOOKS :], look]
        _miss(store, observation, seen)
    store.bound()


def _guest(store: Store, one: Detection, observation: Observation) -> SceneObject | None:
    if one.box is None or not one.label:
        return None
    scores = dict(one.scores) or {one.label: max(one.score, 0.05)}
    return SceneObject(
        "",
        LabelBelief(scores),
        one.box,
        store.room_of(one.room) or room_at(store.graph, one.box.center),
        kind=load_household().kind(one.label),
        observations=1,
        last_seen=Sighting(observation.time, observation.robot),
        embeddings=one.embeddings,
    )


def _put_there(
    store: Store, guests: Sequence[SceneObject], seen: set[str]
) -> list[tuple[SceneObject, SceneObject]]:
    """Pair what is seen for the first time with what was put down there and not seen since.

    A robot says which table it put a thing on; where on it the thing stands, a look tells.
    """
    put = [
        thing
        for id_, thing in store.graph.objects.items()
        if id_ not in seen and store.beliefs[id_].since == store.beliefs[id_].moved
    ]
    pairs = []
    for guest in guests:
        support, _ = resting_on(store.graph, guest)
        near = [
            (distance(thing.box.center, guest.box.center), thing.id)
            for thing in put
            if thing.id not in seen
            and not store.beliefs[thing.id].held_by
            and alike(thing.label.top, guest.label.top)
            and support in ("", thing.support, thing.container)
        ]
        if near and min(near)[0] <= PLACED_RADIUS_M:
            pairs.append((store.graph.objects[min(near)[1]], guest))
            seen.add(min(near)[1])
    return pairs


def _see(store: Store, mine: SceneObject, guest: SceneObject, new_view: bool) -> None:
    belief = store.beliefs[mine.id]
    assert guest.last_seen is not None
    if guest.last_seen.time < belief.moved:
        return
    if mine.kind == "item" or not belief.source:
        guest.observations = int(new_view)
        if belief.source:  # what a map has measured stays as large as it is
            guest.box = Box(guest.box.center, mine.box.size, mine.box.yaw)
        is_open = mine.is_open
        absorb(mine, guest)
        mine.is_open = is_open  # a detection does not tell
        store.rest(mine)
    else:  # furniture of a map stays where the map has it
        mine.last_seen = guest.last_seen
        mine.observations += new_view
    belief.since, belief.misses = guest.last_seen.time, 0.0
    belief.sightings += new_view
    belief.reach = max(belief.reach, _reach(store, guest))


def _add(store: Store, guest: SceneObject) -> None:
    stem = "-".join(guest.label.top.lower().split())[:40] or "thing"
    store.made += 1
    guest.id = store.free(f"team-{stem}-{store.made}")
    store.rest(guest)
    store.graph.add_object(guest)
    assert guest.last_seen is not None
    seen = guest.last_seen.time
    store.beliefs[guest.id] = Belief(seen, reach=_reach(store, guest), added=store.time)
    store.version += 1


def _reach(store: Store, guest: SceneObject) -> float:
    """Return how far from its robot's eyes something was seen [m]."""
    assert guest.last_seen is not None
    x, y, z = store.graph.agents[guest.last_seen.robot].pose.position
    return distance((x, y, z + EYE_HEIGHT_M), guest.box.center)


def _in_a_hand(store: Store, guest: SceneObject) -> bool:
    """Whether what is seen may be what a robot carries past."""
    for id_, belief in store.beliefs.items():
        agent = store.graph.agents.get(belief.held_by) if belief.held_by else None
        if agent is not None and alike(store.graph.objects[id_].label.top, guest.label.top):
            x, y, _ = agent.pose.position
            if math.dist((x, y), guest.box.center[:2]) <= 1.2:
                return True
    return False


def _miss(store: Store, observation: Observation, seen: Collection[str]) -> None:
    """Count a look against the things that it should have shown and did not.

    A look should show what was reported from as far away before, what lies in a place of the same
    room that was seen well, and what no furniture hides.
    """
    near = [
        place
        for id_, share in {**observation.seen, observation.place: 1.0}.items()
        if share >= LOOKED_AT_FRACTION and (place := store.graph.places.get(id_)) is not None
    ]
    x, y, z = observation.pose.position
    eye = (x, y, z + EYE_HEIGHT_M)
    for id_, thing in list(store.graph.objects.items()):
        belief, at = store.beliefs[id_], thing.box.center
        if id_ in seen or belief.held_by or thing.container or belief.since >= observation.time:
            continue
        if thing.kind != "item" and belief.source:  # furniture of a map stays
            continue
        if not belief.reach or distance(eye, at) > min(belief.reach + REACH_MARGIN_M, CLEAR_VIEW_M):
            continue
        if not any(
            p.room == thing.room and math.dist(p.position, at) <= CLEAR_VIEW_M for p in near
        ):
            continue
        if _hidden(store, thing, eye):
            continue
        belief.misses, belief.missed_by = belief.misses + 1.0, observation.robot
        store.version += 1


def _hidden(store: Store, thing: SceneObject, eye: Vec3) -> bool:
    """Whether furniture stands between an eye [m] and a thing."""
    top = (*thing.box.center[:2], thing.box.top)
    return any(
        crosses(other.box, eye, top)
        for other in store.graph.objects.values()
        if other.kind != "item"
        and other.id not in (thing.id, thing.support, thing.container)
        and distance(other.box.center, top) <= CLEAR_VIEW_M + max(other.box.size)
    )


def _differs(a: Pose, b: Pose) -> bool:
    return distance(a.position, b.position) >= _STEP or abs(wrap_angle(a.yaw - b.yaw)) >= _TURN
