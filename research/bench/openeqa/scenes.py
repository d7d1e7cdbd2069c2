"""A-EQA in scenes of habitat-sim: OpenEQA's active split, with its start poses, by our agents.

What is privileged here: rooms and the graph of places come from the scene's annotations or its
navmesh, detections from its semantic annotations with the noise that is asked for. Start poses come
without the length of a sufficient way, so that C is measured and E is not.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie_core.frames import yup_to_zup
from coterie_core.geometry import Vec3, wrap_angle
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.factory import make_world
from research.bench.openeqa.data import (
    DataError,
    DataQuestion,
    data_record,
    entries_of,
    question_of,
    unanswered,
)
from research.bench.openeqa.run import ACTIVE_FRAMES, Asker, Setup, explore_for
from research.bench.openeqa.tour import episode_of
from research.bench.openeqa.world import Home, Seeker

SCENE_FILES = ("*.basis.glb", "*.glb", "*.gltf", "*.scn", "*.scene_instance.json")
FARTHEST_START = 2.0
"""A start pose farther than this from where a body can stand is not of this scene [m]."""


@dataclass(frozen=True, slots=True)
class Start:
    """A question of the active split and where its episode starts, in the map frame.

    `position` [m] and `yaw` [rad] are converted from Habitat's y-up world.
    """

    question: DataQuestion
    position: Vec3
    yaw: float


def load_starts(path: Path) -> list[Start]:
    """Read questions with start poses (aeqa_start_poses-184.json: position, rotation w x y z).

    Raises:
        DataError: Not such a file; names entry and field.
    """
    return [_start(e, f"{path}: entry {k}", k) for k, e in enumerate(entries_of(path))]


def has_starts(path: Path) -> bool:
    """Whether a file of questions comes with start poses."""
    try:
        with path.open("rb") as file:
            return b'"rotation"' in file.read(20_000)
    except OSError:
        return False


def _start(entry: Any, where: str, number: int) -> Start:
    question = question_of(entry, where, number)
    position = _numbers(entry, "position", 3, where)
    w, x, y, z = _numbers(entry, "rotation", 4, where)
    length = math.sqrt(w * w + x * x + y * y + z * z)
    if length < 1e-6:
        raise DataError(f"{where}: rotation: a quaternion (w, x, y, z) of length 0")
    w, x, y, z = w / length, x / length, y / length, z / length
    # Habitat's camera looks along -z; turned by the quaternion, then brought to the map's axes.
    ahead = (-2.0 * (x * z + w * y), -2.0 * (y * z - w * x), -(1.0 - 2.0 * (x * x + y * y)))
    heading = yup_to_zup(np.array(ahead))
    px, py, pz = (float(v) for v in yup_to_zup(np.array(position)))
    return Start(question, (px, py, pz), math.atan2(float(heading[1]), float(heading[0])))


def _numbers(entry: Mapping[str, Any], name: str, count: int, where: str) -> tuple[float, ...]:
    value = entry.get(name)
    good = isinstance(value, list) and len(value) == count
    numbers = [v for v in value if isinstance(v, (int, float)) and math.isfinite(v)] if good else []  # type: ignore[union-attr]
    if len(numbers) != count or max(abs(v) for v in numbers) > 1e4:
        raise DataError(f"{where}: {name}: expected {count} numbers, got {value!r}"[:300])
    return tuple(float(v) for v in numbers)


def find_scene(folder: Path, episode: str) -> Path | None:
    """Return the scene file of an episode below a folder, as HM3D and others lay them out."""
    name = Path(episode).name
    scan = name.split("-")[-1]
    if not name or name in (".", "..") or not scan.replace("_", "").isalnum():
        return None
    for pattern in SCENE_FILES:
        tail = pattern[1:]
        for stem in (f"{name}/{scan}{tail}", f"{name}{tail}", f"{scan}{tail}"):
            found = sorted(folder.glob(f"**/{stem}"))
            if found:
                return found[0]
    return None


async def run_scene(starts: Sequence[Start], folder: Path, setup: Setup) -> list[dict[str, Any]]:
    """Return the records of all questions about one scene: blind, and ours exploring.

    Args:
        starts: All of one scene.
        folder: Where scenes are.
        setup: Who answers and marks.

    Raises:
        WorldError: habitat-sim or the scene cannot be used.
    """
    episode = starts[0].question.episode
    file = find_scene(folder, episode)
    asker = Asker.of(setup)
    try:
        if file is None:
            return [
                {
                    **_record(start, method),
                    **unanswered(f"no scene of {episode} in {folder}"),
                }
                for start in starts
                for method in _methods(setup)
            ]
        # A data set that describes itself lies at the folder's top; HM3D's scenes do without.
        config = next(iter(sorted(folder.glob("*.scene_dataset_config.json"))), None)
        world = make_world(
            {
                "kind": "habitat",
                "scene": str(file),
                "dataset": str(config) if config is not None else None,
                "noise": setup.noise,
                "look_on_arrival": False,
                "habitat_python": os.environ.get("COTERIE_HABITAT_PYTHON") or None,
            }
        )
        assert isinstance(world, EmbeddedWorld)
        home = Home(0, width=setup.width, world=world)
        try:
            return [
                await _answered(home, start, method, asker)
                for start in starts
                for method in _methods(setup)
            ]
        finally:
            home.close()
    finally:
        await asker.close()


def _methods(setup: Setup) -> list[str]:
    return [name for name in ("blind", "ours") if name in setup.methods]


async def _answered(home: Home, start: Start, method: str, asker: Asker) -> dict[str, Any]:
    one = start.question
    if method == "blind":
        (told,) = await asker.ask(method, [one], None, None, ACTIVE_FRAMES)
        return {**_record(start, method), **told}
    place = nearest_stand(home, start.position)
    if place is None:
        return {**_record(start, method), **unanswered("its start pose is not in this scene")}
    seeker = Seeker(home, place, wrap_angle(start.yaw), limit=asker.setup.steps)
    stopped = await explore_for(seeker, one.question, asker.decider)
    seen = episode_of(seeker, one.episode)
    (told,) = await asker.ask(method, [one], seen.map, seen, ACTIVE_FRAMES)
    return {**_record(start, method), **told, "steps": seeker.steps, "stopped": stopped}


def nearest_stand(home: Home, position: Vec3) -> str | None:
    """Return the place nearest to a start where a body can stand; None: all are far off."""
    best = min(home.stands, key=lambda k: (math.dist(home.stands[k], position), k), default=None)
    if best is None or math.dist(home.stands[best], position) > FARTHEST_START:
        return None
    return best


def _record(start: Start, method: str) -> dict[str, Any]:
    exploration = "" if method == "blind" else "question"
    return data_record(start.question, method, "active", exploration)
