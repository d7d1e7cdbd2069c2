"""Layouts of the transport world: generated homes, and files of ThreeDWorld's transport challenge.

A layout file of ThreeDWorld (TDW-MAT) lists commands, among them `add_object` with positions, y up;
its metadata names the room of each object in the same order. Walls, doors and furniture are not in
the files: rooms are rebuilt around the objects.

Where rooms are and what stands where is in `rebuilding.py`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from coterie_core.cooperation import Goal, Spot, SubGoal, Thing, Walkways
from coterie_requests.lexicon import load_lexicon
from research.bench.reveca.homes import Home, generated_home
from research.bench.reveca.rebuilding import rebuilt

Task = Literal["food", "stuff"]
TASKS: tuple[Task, ...] = ("food", "stuff")
FOOD = ("bread", "burger", "loaf bread", "apple", "banana", "orange")
STUFF = ("iphone", "pen", "key", "lighter", "purse", "calculator", "mouse")
CONTAINERS = {"food": ("tea tray", "bowl", "plate"), "stuff": ("plastic basket", "wicker basket")}
GOAL = "bed"
TARGETS = 10
_CARRIERS = ("basket", "tray", "bowl", "plate", "box")
_NAMES = {
    "b03_loafbread": "loaf bread", "b03_burger": "burger", "b04_banana": "banana",
    "b04_orange_00": "orange", "f10_apple_iphone_4": "iphone", "b05_executive_pen": "pen",
    "key_brass": "key", "apple_ipod_touch_yellow_vray": "ipod", "b04_lighter": "lighter",
    "small_purse": "purse", "b05_calculator": "calculator", "pencil_all": "pencil bucket",
    "mouse_02_vray": "mouse", "teatray": "tea tray", "plate06": "plate",
    "b04_bowl_smooth": "bowl", "basket_18inx18inx12iin_plastic_lattice": "plastic basket",
    "basket_18inx18inx12iin_wicker": "wicker basket",
    "basket_18inx18inx12iin_wood_mesh": "wood basket",
}  # fmt: skip


class LayoutError(ValueError):
    """A layout file cannot be used: says which, what was expected, what to do."""


@dataclass(frozen=True, slots=True)
class Layout:
    """An episode's start: home (with the goal's place), things, goal, where agents start."""

    name: str
    home: Home
    items: Mapping[str, Thing]
    goal: Goal
    starts: tuple[Spot, ...]


def generated_layout(seed: int, houses: int = 0) -> Layout:
    """Return a transport episode in a generated home: ten targets, two to five containers.

    Food and stuff take turns; the other kind lies about as well and does not count.

    Args:
        seed: Of the episode.
        houses: Number of different houses; 0: another one for every seed.
    """
    home = generated_home(seed // 2 % houses if houses else seed)
    task = TASKS[seed % 2]
    draw = random.Random(f"transport {seed}")
    beds = sorted(t.id for t in home.fixed.values() if t.label == GOAL)
    others = sorted(t.id for t in home.fixed.values() if t.kind == "surface")
    place = home.fixed[draw.choice(beds or others)]
    rooms = list(home.ways.rooms.values())
    items: dict[str, Thing] = {}

    def lay(label: str, carries: bool) -> None:
        room = draw.choice([r for r in rooms if r.id != place.spot.room] or rooms)
        x0, y0, z = room.center
        xs, ys = [p[0] for p in room.outline], [p[1] for p in room.outline]
        x = x0 + 0.35 * draw.uniform(min(xs) - x0, max(xs) - x0)
        y = y0 + 0.35 * draw.uniform(min(ys) - y0, max(ys) - y0)
        _add(items, label, Spot(room.id, (x, y, z)), carries)

    kinds = draw.sample(FOOD if task == "food" else STUFF, 4)
    for k in range(TARGETS):
        lay(kinds[k % len(kinds)], False)
    for label in draw.sample(STUFF if task == "food" else FOOD, 4):
        lay(label, False)
    for _ in range(draw.randint(2, 5)):
        lay(draw.choice(CONTAINERS[task]), True)
    starts = tuple(draw.choice(rooms).spot for _ in range(10))
    return Layout(f"home {home.name} {task}", home, items, _goal(items, task, place.id), starts)


def tdw_files(folder: Path) -> list[tuple[Path, Task]]:
    """Return the episodes of a folder: layout files with their tasks, as `test_env.json` has them.

    Without that list every layout stands for both tasks.

    Raises:
        LayoutError: The folder has no layouts.
    """
    listed = folder / "test_env.json"
    found: list[tuple[Path, Task]] = []
    if listed.is_file():
        for k, entry in enumerate(_read(listed)):
            try:
                task = entry["task"]
                path = folder / f"{entry['scene']}_{entry['layout']}.json"
            except (KeyError, TypeError):
                raise LayoutError(f"{listed}: entry {k}: expected scene, layout and task") from None
            if task not in TASKS:
                raise LayoutError(f"{listed}: entry {k}: task {task!r}; food or stuff")
            found.append((path, task))
    else:
        for meta in sorted(folder.glob("*_metadata.json")):
            path = meta.with_name(meta.name.replace("_metadata", ""))
            found += [(path, task) for task in TASKS]
    missing = [path.name for path, _ in found if not path.is_file()]
    if missing:
        raise LayoutError(f"{folder}: {missing[0]} is listed and not there")
    if not found:
        raise LayoutError(f"{folder}: no layouts; expected files like 1a_0_0_metadata.json")
    return found


@lru_cache(maxsize=64)
def tdw_layout(file: Path, task: Task) -> Layout:
    """Return the layout of a ThreeDWorld file; see the top of this module for how.

    Args:
        file: The list of commands; its metadata lies beside it.
        task: What counts.

    Raises:
        LayoutError: A file is missing or broken, or has nothing that counts.
    """
    commands, meta = _read(file), _read(file.with_name(f"{file.stem}_metadata.json"))
    if not isinstance(commands, list) or not isinstance(meta, dict):
        raise LayoutError(f"{file}: expected a list of commands, and an object as its metadata")
    objects = [c for c in commands if isinstance(c, dict) and c.get("$type") == "add_object"]
    listed = meta.get("object_room_list") or []
    if not objects or len(objects) != len(listed):
        raise LayoutError(
            f"{file}: {len(objects)} objects, its metadata names the rooms of {len(listed)}"
        )
    holders = {
        c.get("id")
        for c in commands
        if isinstance(c, dict) and str(c.get("$type", "")).endswith("_container")
    }
    try:
        spots = np.array([_point(o["position"]) for o in objects])
        names = [str(entry[1]) for entry in listed]
        starts = [_point(meta[k]) for k in sorted(k for k in meta if k.isdigit())]
        labels = [_label(str(o["name"])) for o in objects]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise LayoutError(f"{file}: an object without name, room or position ({error})") from None
    if not np.isfinite(spots).all():
        raise LayoutError(f"{file}: positions must be finite numbers")
    try:
        plan = rebuilt(spots, names, starts, _room_types(file, meta))
    except ValueError as error:
        raise LayoutError(f"{file}: {error}") from None
    rooms, gates, room_at = plan.rooms, plan.gates, plan.room_at
    middle = plan.bed
    bed = Thing("bed-1", GOAL, "surface", Spot(room_at(middle), (*middle, 0.0)))
    # Files of one floor plan share their rooms: to statistics they are one house.
    house = "_".join(file.stem.split("_")[:2])
    home = Home(house, Walkways(rooms, gates), {bed.id: bed})
    items: dict[str, Thing] = {}
    for one, label, point in zip(objects, labels, spots, strict=True):
        carries = one.get("id") in holders or any(word in label for word in _CARRIERS)
        if carries and ("basket" in label) == (task == "food"):
            continue  # trays, bowls and plates are there for food, baskets for stuff
        spot = Spot(room_at((point[0], point[1])), (float(point[0]), float(point[1]), 0.0))
        _add(items, label, spot, carries)
    goal = _goal(items, task, bed.id)
    begin = [Spot(room_at((p[0], p[1])), (p[0], p[1], 0.0)) for p in starts]
    begin += [room.spot for room in rooms]
    return Layout(f"{file.stem} {task}", home, items, goal, tuple(begin))


def _room_types(file: Path, meta: Mapping[str, Any]) -> list[str] | None:
    """Return the rooms of a floor plan as `room_types.json` beside the layouts lists them.

    Raises:
        LayoutError: The list is there and has no such floor plan.
    """
    listed = file.with_name("room_types.json")
    if not listed.is_file():
        return None
    number = str(meta.get("floorplan_scene_name", file.stem))[:1]
    try:
        rooms = _read(listed)[number][int(meta["floorplan_layout"])]
        return [str(room) for room in rooms]
    except (KeyError, IndexError, TypeError, ValueError):
        raise LayoutError(f"{listed}: no rooms for floor plan {number!r} of {file.name}") from None


def is_food(label: str) -> bool:
    """Whether a thing is food, by the household's classes."""
    lexicon = load_lexicon()
    known = {lexicon.canonical(name) for name in (*FOOD, *lexicon.members("food"))}
    return lexicon.canonical(label) in known or lexicon.canonical(label) in lexicon.members("fruit")


def _goal(items: Mapping[str, Thing], task: Task, target: str) -> Goal:
    counts: dict[str, int] = {}
    for thing in items.values():
        if thing.kind == "item" and is_food(thing.label) == (task == "food"):
            counts[thing.label] = counts.get(thing.label, 0) + 1
    if not counts:
        raise LayoutError(f"no {task} to transport in this layout")
    subgoals = tuple(SubGoal("on", k, target, n, task) for k, n in sorted(counts.items()))
    return Goal(f"transport {task}", subgoals, "transport")


def _add(items: dict[str, Thing], label: str, spot: Spot, carries: bool) -> None:
    number = 1 + sum(thing.label == label for thing in items.values())
    id_ = f"{label.replace(' ', '-')}-{number}"
    items[id_] = Thing(id_, label, "container" if carries else "item", spot, portable=True)


def _label(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    words = [w for w in name.lower().replace("-", "_").split("_") if w and not w[0].isdigit()]
    words = [w for w in words if w not in ("vray", "all") and not w[-1].isdigit()]
    return " ".join(words) or "thing"


def _point(position: Mapping[str, Any]) -> tuple[float, float]:
    """Ground position (x, y) [m] of one with y up and z into the scene: the map's y is -z."""
    return (float(position["x"]), -float(position["z"]))


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise LayoutError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise LayoutError(f"{path}: no JSON ({error})") from None
