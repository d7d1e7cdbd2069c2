"""Speed of the embedded world: observations, images, ticks, start-up.

Run: python research/perf/bench_world.py [--rooms 15] [--seed 0] [--seconds 2] [--json FILE]
What runs on one core (observations, ticks, start-up) is timed in processor time, so that other
programs do not spoil the figures; images use all cores and are timed by the clock.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path[:0] = [
    str(Path(__file__).resolve().parents[2] / "ros2_ws/src" / package)
    for package in ("coterie_core", "habitat_bridge")
]

from coterie_core.embodiment import Embodiment  # noqa: E402
from coterie_core.geometry import Pose  # noqa: E402
from coterie_core.skills import NavigateTo, SkillRefused  # noqa: E402
from habitat_bridge.embedded.world import EmbeddedWorld  # noqa: E402
from habitat_bridge.house.generator import generate_house  # noqa: E402
from habitat_bridge.robots import EMBODIMENTS  # noqa: E402
from habitat_bridge.simulator import Channel, FrameRequest, Start, WorldError  # noqa: E402


def rate(
    action: Callable[[], object],
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Calls per second, after one call to warm up."""
    action()
    count, start = 0, clock()
    while (spent := clock() - start) < seconds:
        action()
        count += 1
    return count / spent


def make(house: object, robots: int, size: tuple[int, int], threads: int) -> EmbeddedWorld:
    world = EmbeddedWorld(house, look_on_arrival=False, threads=threads)  # type: ignore[arg-type]
    for k, name in zip(range(robots), itertools.cycle(("wheels", "legs", "air", "slim"))):
        world.add_robot(f"r{k}", resized(EMBODIMENTS[name], size))
    return world


def resized(body: Embodiment, size: tuple[int, int]) -> Embodiment:
    camera = body.cameras[0].model_copy(
        update={"name": "eye", "width": size[0], "height": size[1], "hfov": math.radians(90)}
    )
    return body.model_copy(update={"cameras": (camera,)})


def observations(world: EmbeddedWorld, seconds: float) -> dict[str, float]:
    """Object-level observations from ever new poses, one core."""
    spots = [k for k in world.truth().places if world.bodies[0].places.stand(k)]
    turn = itertools.count()
    body = world.bodies[0]

    def move() -> None:
        k = next(turn)
        spot = body.places.stand(spots[k % len(spots)])
        assert spot is not None
        body.pose, body.glance = Pose(spot, 2.4 * k), None

    def ahead() -> None:
        move()
        world.observe(body.name)

    def panorama() -> None:
        move()
        world.look_around(body)
        world.observe(body.name)

    def pixels() -> None:
        move()
        world.observe(body.name)
        world.render([FrameRequest(body.name, "eye")])

    return {
        "observations/s, view ahead": rate(ahead, seconds, time.process_time),
        "observations/s, full turn": rate(panorama, seconds, time.process_time),
        "observations/s with 256x256 RGB-D-semantic": rate(pixels, seconds, time.process_time),
    }


def side_by_side(
    one: Callable[[], object], other: Callable[[], object], seconds: float
) -> tuple[float, float]:
    """Median time of two actions [s] that take turns, so that both meet the same load."""
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + 2.0 * seconds
    while time.perf_counter() < end:
        for action, kept in zip((one, other), times, strict=True):
            start = time.perf_counter()
            action()
            kept.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


class Tour:
    """Renders a batch of requests from ever new poses: no image is kept from before."""

    def __init__(self, world: EmbeddedWorld, batch: list[FrameRequest]) -> None:
        self._world, self._batch = world, batch
        self._spots = [place.position for place in world.place_map.places.values()]
        self._count = 0

    def __call__(self) -> None:
        bodies = self._world.bodies
        for k, body in enumerate(bodies):
            at = self._count + k * len(self._spots) // len(bodies)
            body.pose = Pose(self._spots[at % len(self._spots)], 2.4 * self._count)
        self._count += 1
        self._world.render(self._batch)


def frames(house: object, seconds: float) -> dict[str, float]:
    """Images of moving cameras; by rays too, in turns, and of a camera that stands still."""
    out: dict[str, float] = {}
    kinds: dict[str, tuple[Channel, ...]] = {
        "RGB-D": ("color", "depth"),
        "RGB-D-semantic": ("color", "depth", "semantic"),
    }
    for size in ((256, 256), (640, 480)):
        for robots in (1, 4):
            worlds = [make(house, robots, size, 0) for _ in range(2)]
            worlds[1].imaging.sensors.by_rays = True
            for name, channels in kinds.items():
                batch = [FrameRequest(robot, "eye", channels) for robot in worlds[0].robots]
                drawn, cast = side_by_side(*(Tour(world, batch) for world in worlds), seconds)
                key = f"frames/s {name} {size[0]}x{size[1]}, {robots} robot(s)"
                out[key] = robots / drawn
                out[f"{key}, by rays"] = robots / cast
                if robots == 1:
                    out[f"{key}, standing still"] = rate(partial(worlds[0].render, batch), seconds)
    return out


def ticks(house: object, seconds: float) -> dict[str, float]:
    out: dict[str, float] = {}
    for robots in (1, 4, 10):
        world = EmbeddedWorld(house, look_on_arrival=False, threads=1)  # type: ignore[arg-type]
        try:
            for k in range(robots):
                world.add_robot(f"r{k}", EMBODIMENTS["legs"], Start())
        except WorldError as error:
            print(f"{robots} robots: {error}")
            continue
        rng = world.random("walk")
        spots = [k for k in world.truth().places if world.bodies[0].places.stand(k)]
        spent, count, worst, idle = 0.0, 0, 0.0, 0
        while spent < seconds:
            for robot in world.robots:
                if not world.state(robot).busy:
                    try:
                        world.start_skill(
                            robot, NavigateTo(place=spots[int(rng.integers(len(spots)))])
                        )
                    except SkillRefused:
                        idle += 1
            start = time.process_time()
            world.tick(0.1)
            took = time.process_time() - start
            spent, count, worst = spent + took, count + 1, max(worst, took)
        out[f"tick of 0.1 s, {robots} robot(s) moving [ms]"] = 1000.0 * spent / count
        out[f"tick of 0.1 s, {robots} robot(s), slowest [ms]"] = 1000.0 * worst
    return out


def startup(args: argparse.Namespace) -> dict[str, float]:
    start = time.process_time()
    house = generate_house(args.seed, rooms=args.rooms)
    made = time.process_time()
    world = EmbeddedWorld(house)
    placed = time.process_time()
    for k, name in enumerate(("wheels", "legs", "air")):
        world.add_robot(f"r{k}", EMBODIMENTS[name])
        world.observe(f"r{k}")
    end = time.process_time()
    return {
        "house generated [s]": made - start,
        "house -> world [s]": placed - made,
        "3 robots of different kinds added, first observations [s]": end - placed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rooms", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=2.0, help="per measurement")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    args = parser.parse_args()
    house = generate_house(args.seed, rooms=args.rooms)
    probe = make(house, 1, (256, 256), 1)
    print(
        f"house {args.seed}: {len(house.floors)} floors, {len(house.rooms)} rooms, "
        f"{len(house.objects)} things, {len(probe.place_map.places)} places; "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    figures: dict[str, float] = {}
    parts: list[Callable[[], dict[str, float]]] = [
        partial(startup, args),
        partial(observations, probe, args.seconds),
        partial(ticks, house, args.seconds),
        partial(frames, house, args.seconds),
    ]
    for part in parts:
        found = part()
        for name, value in found.items():
            print(f"  {name:<72} {value:10.2f}", flush=True)
        figures.update(found)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
