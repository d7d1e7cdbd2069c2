"""Speed of houses: generation, validation, meshes, exports, by number of rooms.

Run: python research/perf/bench_house.py [--houses 20] [--json FILE]
All of it runs on one core and is timed in processor time, so that other programs do not spoil the
figures; the slowest house is reported beside the mean.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [
    str(Path(__file__).resolve().parents[2] / folder)
    for folder in ("ros2_ws/src/coterie_core", "ros2_ws/src/habitat_bridge", "tests/fixtures")
]

from coterie_core.household import load_household  # noqa: E402
from coterie_fixtures.house_inspector import validate_house  # noqa: E402
from coterie_fixtures.house_mesh import build_mesh  # noqa: E402
from habitat_bridge.house.export import house_to_json, save_glb, save_habitat  # noqa: E402
from habitat_bridge.house.floorplan import save_floor_plan  # noqa: E402
from habitat_bridge.house.generator import generate_house  # noqa: E402
from habitat_bridge.house.house import House  # noqa: E402

SIZES = ((1, 5), (1, 10), (2, 15), (3, 25))


def spent(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def measure(floors: int, rooms: int, houses: int) -> dict[str, float]:
    built: list[House] = []

    def build(seed: int) -> None:
        built.append(generate_house(seed, floors=floors, rooms=rooms))

    generation = [spent(lambda seed=seed: build(seed)) for seed in range(houses)]  # type: ignore[misc]
    problems = 0

    def check(house: House) -> None:
        nonlocal problems
        problems += len(validate_house(house))

    validation = [spent(lambda h=h: check(h)) for h in built]  # type: ignore[misc]
    meshes = [spent(lambda h=h: build_mesh(h)) for h in built]  # type: ignore[misc]
    triangles = [len(build_mesh(h).triangles) for h in built[:3]]
    with tempfile.TemporaryDirectory() as name:
        folder, house = Path(name), built[0]
        exports = {
            "json [s]": spent(lambda: house_to_json(house)),
            "glb [s]": spent(lambda: save_glb(house, folder / "house.glb")),
            "habitat [s]": spent(lambda: save_habitat(house, folder / "habitat")),
            "floor plan [s]": spent(lambda: save_floor_plan(house, folder / "plan.png")),
        }
    return {
        "floors": floors,
        "rooms": rooms,
        "houses": houses,
        "objects": sum(len(h.objects) for h in built) / houses,
        "triangles": sum(triangles) / len(triangles),
        "generate, mean [s]": sum(generation) / houses,
        "generate, worst [s]": max(generation),
        "validate [s]": sum(validation) / houses,
        "mesh [s]": sum(meshes) / houses,
        **exports,
        "problems": problems,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--houses", type=int, default=20, help="houses of each size")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    arguments = parser.parse_args()
    print(f"household data: {spent(load_household):.2f} s, once a process")
    generate_house(0, rooms=4)
    rows = [measure(*size, arguments.houses) for size in SIZES]
    for key in rows[0]:
        print(f"{key:22}" + "".join(f"{row[key]:12.2f}" for row in rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
