"""A house in files: JSON, the scene graph of its truth, GLB, and a Habitat scene data set."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from coterie_core.frames import quaternion_zup_to_yup, zup_to_yup
from coterie_core.geometry import Box, yaw_to_quaternion
from coterie_core.household import load_household
from coterie_core.plain_data import DataError, check_values, read_json, schema_problems, shorten
from coterie_world.scene import SceneError, save
from habitat_bridge.house.checks import unusable
from habitat_bridge.house.glb import glb_bytes
from habitat_bridge.house.house import House
from habitat_bridge.render.mesh import object_mesh, structure_meshes

FORMAT = "coterie-house/1"
# What a habitat-sim agent may push; the rest stands still.
MOTION = {"item": "DYNAMIC", "furniture": "STATIC", "fixture": "STATIC"}


@cache
def _adapter() -> TypeAdapter[House]:
    return TypeAdapter(House)


def house_to_json(house: House, *, indent: int | None = None) -> str:
    """Return the house as JSON; lengths [m], angles [rad]."""
    body = _adapter().dump_python(house, mode="json")
    return json.dumps({"format": FORMAT, "house": body}, indent=indent)


def house_from_json(text: str | bytes, source: str = "house") -> House:
    """Read a house written by `house_to_json`.

    Raises:
        SceneError: Not JSON, another format, a field is missing or of the wrong type, or no world
            can be made of it.
    """
    try:
        data = read_json(text)
        check_values(data)
    except DataError as error:
        raise SceneError(f"{source}: {error}; generate the house again") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise SceneError(
            f'{source}: expected "format": "{FORMAT}", got {shorten(found)!r}; this is no house '
            "file of this version, generate the house again from its seed"
        )
    try:
        house = _adapter().validate_python(data.get("house"))
    except ValidationError as error:
        raise SceneError(f"{source}: {schema_problems(error, 'house')}") from None
    problem = unusable(house)
    if problem:
        raise SceneError(f"{source}: {problem}")
    return house


def save_glb(house: House, path: str | Path) -> None:
    """Write the house as binary glTF: y up, a node per object (its id) and per part of structure.

    Raises:
        OSError: The file cannot be written.
    """
    nodes = [(f"structure/{name}", mesh) for name, mesh in structure_meshes(house).items()]
    nodes += [(thing.id, object_mesh(thing)) for thing in house.objects]
    Path(path).write_bytes(glb_bytes(nodes))


def save_habitat(house: House, folder: str | Path, name: str | None = None) -> Path:
    """Write the house as a Habitat scene data set and return its config's path.

    A stage with the structure, one object template per thing (they differ in size and colour) and
    a scene instance that puts each where it is. Open containers are exported open. Semantic ids
    are those of the classes in the lexicon; `<name>.instances.json` maps objects to templates.
    Rooms are region annotations; the whole truth lies next to it, and the scene instance names it.

    Raises:
        OSError: The folder cannot be written.
    """
    folder = Path(folder)
    name = name or f"house_{house.seed}"
    for part in ("stages", "objects", "scenes", "semantics"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    classes = {label: k + 1 for k, label in enumerate(sorted(load_household().categories))}
    for thing in house.objects:
        classes.setdefault(thing.label.top, len(classes) + 1)
    _write_stage(house, folder, name)
    instances, index = [], {}
    for number, thing in enumerate(house.objects):
        # Habitat finds templates by any piece of their name: numbers of equal length are unique.
        template = f"{name}-{number:04d}-{thing.id}"
        class_id = classes[thing.label.top]
        center, turn = thing.box.center, thing.box.yaw
        local = object_mesh(thing, box=Box((0.0, 0.0, 0.0), thing.box.size))
        glb = folder / "objects" / f"{template}.glb"
        glb.write_bytes(glb_bytes([(thing.id, local)], linear=False))
        _write_json(
            folder / "objects" / f"{template}.object_config.json",
            {
                "render_asset": f"{template}.glb",
                "up": [0.0, 1.0, 0.0],
                "front": [0.0, 0.0, -1.0],
                "units_to_meters": 1.0,
                # The first is what stages and habitat-sim 0.3 read, the others what 0.2 reads.
                "requires_lighting": False,
                "force_flat_shading": True,
                "shader_type": "flat",
                "is_collidable": True,
                "use_bounding_box_for_collision": thing.kind == "item",
                "COM": [0.0, 0.0, 0.0],
                "mass": _mass(thing.box),
                "semantic_id": class_id,
                "user_defined": {"id": thing.id, "label": thing.label.top, "kind": thing.kind},
            },
        )
        x, y, z, w = quaternion_zup_to_yup(yaw_to_quaternion(turn))
        instances.append(
            {
                "template_name": template,
                "translation": _rounded(zup_to_yup(center)),
                "rotation": _rounded(np.array([w, x, y, z])),
                "motion_type": MOTION[thing.kind] if not thing.container else "STATIC",
                "translation_origin": "COM",
                "user_defined": {"id": thing.id, "room": thing.room},
            }
        )
        index[thing.id] = {"template": template, "class": class_id, "label": thing.label.top}
    _write_json(
        folder / "scenes" / f"{name}.scene_instance.json",
        {
            "stage_instance": {"template_name": f"{name}-stage"},
            "default_lighting": "no_lights",
            "semantic_scene_instance": f"{name}-lexicon",
            "object_instances": instances,
            "user_defined": {"coterie_scene_graph": f"../{name}.truth.json"},
        },
    )
    save(house.truth(), folder / f"{name}.truth.json")
    _write_json(folder / "semantics" / f"{name}.semantic_config.json", _regions(house))
    _write_json(
        folder / "semantics" / f"{name}.semantic_lexicon.json",
        {"classes": [{"name": label, "id": number} for label, number in classes.items()]},
    )
    _write_json(folder / f"{name}.instances.json", index)
    config = folder / f"{name}.scene_dataset_config.json"
    _write_json(
        config,
        {
            "stages": {"paths": {".json": [f"stages/{name}-stage.stage_config.json"]}},
            "objects": {"paths": {".json": ["objects"]}},
            "scene_instances": {"paths": {".json": [f"scenes/{name}.scene_instance.json"]}},
            "semantic_scene_descriptor_instances": {
                f"{name}-lexicon": f"semantics/{name}.semantic_lexicon.json",
                f"{name}.semantic_config": f"semantics/{name}.semantic_config.json",
            },
        },
    )
    return config


def save_house(house: House, folder: str | Path) -> list[Path]:
    """Write everything there is of a house into a folder; return the files to begin with.

    Raises:
        OSError: The folder cannot be written.
    """
    from habitat_bridge.house.floorplan import save_floor_plan

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    name = f"house_{house.seed}"
    plain, truth = folder / f"{name}.house.json", folder / f"{name}.truth.json"
    plain.write_text(house_to_json(house, indent=1), encoding="utf-8")
    save(house.truth(), truth)
    save_glb(house, folder / f"{name}.glb")
    config = save_habitat(house, folder / "habitat", name)
    save_floor_plan(house, folder / f"{name}.png")
    save_floor_plan(house, folder / f"{name}.svg")
    pictures = [folder / f"{name}.png", folder / f"{name}.svg"]
    return [plain, truth, folder / f"{name}.glb", config, *pictures]


def _write_stage(house: House, folder: Path, name: str) -> None:
    glb = glb_bytes(list(structure_meshes(house).items()), linear=False)
    (folder / "stages" / f"{name}-stage.glb").write_bytes(glb)
    _write_json(
        folder / "stages" / f"{name}-stage.stage_config.json",
        {
            "render_asset": f"{name}-stage.glb",
            "collision_asset": f"{name}-stage.glb",
            # Without these two a GLB is taken for z up.
            "up": [0.0, 1.0, 0.0],
            "front": [0.0, 0.0, -1.0],
            "units_to_meters": 1.0,
            "requires_lighting": False,
            "force_flat_shading": True,
            "shader_type": "flat",
            "is_collidable": True,
            "origin": [0.0, 0.0, 0.0],
        },
    )


def _regions(house: House) -> dict[str, object]:
    """Rooms as habitat-sim's region annotations: outlines at floor height, y up [m]."""
    floors = {floor.id: floor for floor in house.floors}
    regions = []
    for room in house.rooms:
        base = floors[room.floor].elevation
        loop = zup_to_yup(np.array([(x, y, base) for x, y in room.polygon]))
        regions.append(
            {
                "name": room.id,
                "label": room.type,
                "poly_loop": [_rounded(point) for point in loop],
                "floor_height": base,
                "extrusion_height": floors[room.floor].ceiling_height,
                "user_defined": {"id": room.id, "name": room.name},
            }
        )
    return {"region_annotations": regions}


def _mass(box: Box) -> float:
    """A guess [kg]: things are mostly air."""
    return round(max(0.05, 120.0 * box.volume), 3)


def _rounded(values: npt.NDArray[np.float64]) -> list[float]:
    return [round(float(v), 6) for v in values]


def _write_json(path: Path, data: object) -> None:
    path.write_text(json.dumps(data, indent=1), encoding="utf-8")
