"""The embedded world and habitat-sim side by side: frames/s, overhead per tick, start-up, memory.

    COTERIE_HABITAT_PYTHON=... python research/perf/bench_habitat.py [--quick]

Both worlds render the same house from the same poses in one run, one after another in turns, so
that other load on the machine hits both alike. Cameras move before every frame. "bare" is
habitat-sim alone in its own process, timed there: the difference is what the two-process bridge
costs. "by rays" is the embedded world without its rasteriser.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from coterie_core.embodiment import Camera, Embodiment
from coterie_core.geometry import Pose
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.habitat.world import HabitatWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.simulator import FrameRequest, Start

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "fixtures"))

from coterie_fixtures.habitat_python import find_habitat  # noqa: E402

CHANNELS = {"RGB-D": ("color", "depth"), "RGB-D-semantic": ("color", "depth", "semantic")}
SIZES = ((256, 256), (640, 480))


def body(width: int, height: int) -> Embodiment:
    return Embodiment(
        name="eye", mobility="legs", radius=0.25, height=0.8, step_height=0.2,
        cameras=(Camera(width=width, height=height),),
    )  # fmt: skip


def spots(world: EmbeddedWorld, robots: int) -> list[list[Pose]]:
    """Poses of the robots for each frame; nobody stands in another's eye."""
    places = list(world.place_map.places.values())
    step = len(places) // robots
    return [
        [Pose(places[(n * step + k) % len(places)].position, 0.7 * k) for n in range(robots)]
        for k in range(12)
    ]


def frames(
    worlds: dict[str, EmbeddedWorld], size: tuple[int, int], kind: str, robots: int, rounds: int
) -> dict[str, float]:
    """Frames per second of each world, all robots in one batch; `bare` is inside habitat."""
    times: dict[str, list[float]] = {name: [] for name in (*worlds, "bare")}
    names = [f"r{k}" for k in range(robots)]
    requests = [FrameRequest(name, "camera", CHANNELS[kind]) for name in names]
    poses = {}
    for label, world in worlds.items():
        for name in names:
            world.add_robot(name, body(*size))
        poses[label] = spots(world, robots)
    for turn in range(rounds + 1):
        for label, world in worlds.items():
            for at in poses[label]:
                for robot, pose in zip(world.bodies, at, strict=True):
                    robot.pose = pose
                start = time.perf_counter()
                world.render(requests)
                spent = time.perf_counter() - start
                if turn:  # the first round warms up
                    times[label].append(spent)
                    if isinstance(world, HabitatWorld):
                        times["bare"].append(world.backend.seconds)
    for world in worlds.values():
        for name in names:
            world.remove_robot(name)
    return {name: robots / statistics.median(t) for name, t in times.items() if t}


def overhead(world: HabitatWorld, robots: int, rounds: int) -> dict[str, float]:
    """Time of a tick with RGB-D of all robots [ms]: through the bridge's backend, and bare."""
    names = [f"r{k}" for k in range(robots)]
    for name in names:
        world.add_robot(name, body(256, 256), Start())
    requests = [FrameRequest(name, "camera", ("color", "depth")) for name in names]
    whole, bare = [], []
    for _ in range(12 * rounds):
        start = time.perf_counter()
        world.tick(0.1)
        for name in names:
            world.state(name)
        world.render(requests)
        whole.append(1e3 * (time.perf_counter() - start))
        bare.append(1e3 * world.backend.seconds)
    for name in names:
        world.remove_robot(name)
    return {"tick": statistics.median(whole), "bare": statistics.median(bare)}


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def growth(world: EmbeddedWorld, count: int) -> dict[str, float]:
    """Memory [MB] after a tenth of many frames and after all; a thing moves before every tenth."""
    world.add_robot("r0", body(256, 256))
    robot = world.bodies[0]
    request = [FrameRequest("r0", "camera", ("color", "depth", "semantic"))]
    at = [poses[0] for poses in spots(world, 1)]
    thing = next(t for t in world.contents if t.kind == "item")
    box, room, support = thing.box, thing.room, thing.support
    container = thing.container
    out: dict[str, float] = {}
    for k in range(1, count + 1):
        robot.pose = at[k % len(at)]
        if k % 10 == 0:
            world.contents.take(thing.id, "r0")
            world.contents.put(thing.id, box, room, support, container)
        world.render(request)
        if k in (count // 10, count):
            out["early" if k < count else "late"] = resident() / 2**20
    world.remove_robot("r0")
    return out


def memory(world: HabitatWorld, ticks: int) -> dict[str, float]:
    """Memory of bridge and worker [MB] after a tenth of the ticks and after all of them."""
    world.add_robot("r0", body(256, 256))
    request = [FrameRequest("r0", "camera", ("color", "depth", "semantic"))]
    out: dict[str, float] = {}
    for k in range(1, ticks + 1):
        world.tick(0.1)
        if k % 10 == 0:
            world.render(request)
        if k in (ticks // 10, ticks):
            when = "early" if k < ticks else "late"
            out[f"bridge {when}"] = resident() / 2**20
            out[f"worker {when}"] = world.backend.usage()["resident"] / 2**20
    world.remove_robot("r0")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--seed", type=int, default=7, help="of the house")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    python, trouble = find_habitat(ROOT)
    if trouble:
        print(trouble, file=sys.stderr)
        return 1
    rounds, ticks = (2, 1000) if options.quick else (6, 10_000)
    house = generate_house(options.seed, floors=2)
    quiet: dict[str, Any] = {"noise": DetectorNoise.none(), "look_on_arrival": False}
    start = time.perf_counter()
    embedded = EmbeddedWorld(house, **quiet)
    figures: dict[str, Any] = {"start-up embedded [s]": time.perf_counter() - start}
    start = time.perf_counter()
    habitat = HabitatWorld(house, python, **quiet)
    figures["start-up habitat [s]"] = time.perf_counter() - start
    rays = EmbeddedWorld(house, **quiet)
    rays.imaging.sensors.by_rays = True
    start = time.perf_counter()
    rays.add_robot("r0", body(256, 256))
    embedded.add_robot("r0", body(256, 256))
    embedded.render([FrameRequest("r0", "camera")])
    figures["first image embedded [s]"] = time.perf_counter() - start
    for world in (rays, embedded):
        world.remove_robot("r0")
    print(f"habitat-sim {habitat.backend.hello['habitat']}, {len(house.rooms)} rooms, "
          f"{len(house.objects)} things, {os.cpu_count()} cores")  # fmt: skip
    for name, value in figures.items():
        print(f"{name}: {value:.2f}")
    worlds = {"embedded": embedded, "by rays": rays, "habitat": habitat}
    print("frames/s (all robots together)     embedded  by rays  habitat     bare   embedded/bare")
    for size in SIZES:
        for kind in CHANNELS:
            for robots in (1, 4):
                found = frames(worlds, size, kind, robots, rounds)
                row = f"{size[0]}x{size[1]} {kind}, {robots} robots"
                figures[row] = found
                ratio = found["embedded"] / found["bare"]
                rates = " ".join(f"{found[name]:8.0f}" for name in (*worlds, "bare"))
                print(f"{row:34} {rates}   {ratio:.2f}", flush=True)
    for robots in (1, 4):
        cost = overhead(habitat, robots, rounds)
        limit = 1.2 * cost["bare"] + 2.0
        figures[f"tick, {robots} robots [ms]"] = cost
        print(f"tick with RGB-D 256x256, {robots} robots: {cost['tick']:.2f} ms, bare simulator "
              f"{cost['bare']:.2f} ms, allowed {limit:.2f} ms: "
              f"{'ok' if cost['tick'] <= limit else 'TOO SLOW'}")  # fmt: skip
    figures["memory embedded [MB]"] = grown = growth(embedded, 2 * ticks)
    print(f"memory of the embedded world after {ticks // 5} and {2 * ticks} frames: "
          f"{grown['early']:.0f} and {grown['late']:.0f} MB")  # fmt: skip
    figures["memory [MB]"] = used = memory(habitat, ticks)
    print(f"memory after {ticks // 10} and {ticks} ticks: bridge {used['bridge early']:.0f} and "
          f"{used['bridge late']:.0f} MB, worker {used['worker early']:.0f} and "
          f"{used['worker late']:.0f} MB")  # fmt: skip
    habitat.close()
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
