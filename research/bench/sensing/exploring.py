"""How a robot explores by its sensors' observations, beside how it does by the simulator's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from coterie_core.geometry import Pose, Vec3
from coterie_core.observation import Observation
from coterie_core.skills import NavigateTo
from coterie_fixtures.sensed_house import BODY, SensedHouse
from coterie_world.free_space.floor_graph import Mask
from mele_explorer.explorer import Explorer, ExplorerLimits
from robot_adapters.sensing.observer import Observer, SensingSettings

Way = Literal["simulator", "map", "growing map"]
_LEG = 10.0  # [s] that a hop takes


@dataclass(frozen=True, slots=True)
class ExploringScore:
    """One exploration by rules: hops until nothing was left, what was seen by then.

    `rooms` and `labels` are fractions of the house's; `stopped` is why it ended.
    """

    house: int
    by: Way
    hops: int
    rooms: float
    labels: float
    stopped: str


def explore(seed: int, by: Way, limit: int = 60) -> ExploringScore:
    """Explore a generated house of one floor until nothing is left, or for `limit` hops.

    Args:
        seed: Of the house.
        by: Who makes the observations: the simulator; sensors with the whole map known; sensors
            with a map that holds what cameras have seen, as in SLAM.
        limit: Most hops.
    """
    house = SensedHouse(seed, floors=1)
    start = house.body.pose.position
    observe = _simulator(house) if by == "simulator" else _sensors(house, by == "growing map")
    explorer = Explorer("r", limits=ExplorerLimits(steps=limit))
    where: dict[str, Vec3] = {}

    def take(observation: Observation) -> None:
        where.update({view.id: view.position for view in observation.neighbours})
        explorer.observe(observation)

    take(observe(start))
    while (skill := asyncio.run(explorer.next_skill())) is not None:
        assert isinstance(skill, NavigateTo)
        take(observe(where[skill.place]))
    truth = house.world.truth()
    rooms = {room.id for room in truth.rooms.values()}
    labels = {thing.label.top for thing in truth.objects.values()}
    memory = explorer.memory
    return ExploringScore(
        seed,
        by,
        explorer.steps,
        len(rooms & memory.looks.keys()) / len(rooms),
        len(labels & set(memory.labels)) / len(labels),
        explorer.stopped,
    )


def _simulator(house: SensedHouse) -> Callable[[Vec3], Observation]:
    step = 0

    def observe(position: Vec3) -> Observation:
        nonlocal step
        place = house.body.places.nearest(position)
        stand = house.body.places.stand(place) or position
        house.body.pose, house.body.glance = Pose(stand, 0.0), None
        house.world.look_around(house.body)
        step += 1
        return replace(house.world.observe("r"), step=step, time=step * _LEG)

    return observe


def _sensors(house: SensedHouse, growing: bool) -> Callable[[Vec3], Observation]:
    observer = Observer(SensingSettings(radius=BODY.radius), house.transforms)
    observer.feed_rooms(house.world.truth().rooms.values())
    whole = house.grid()
    known: Mask = np.zeros(whole.values.shape, dtype=bool)
    step, time = 0, 1.0
    if not growing:
        house.stand(house.body.pose, time)
        observer.feed_grid(whole)

    def observe(position: Vec3) -> Observation:
        nonlocal step, time, known
        time += _LEG
        if growing:
            known |= house.scanned(position)
            house.stand(Pose(position, 0.0), time)
            values = np.where(known, whole.values, -1).astype(np.int8)
            observer.feed_grid(replace(whole, values=values))
        time = house.turn(observer, position, time)
        step += 1
        return observer.observation("r", step, time)

    return observe
