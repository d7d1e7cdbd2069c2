"""Worlds from a description: the `world` part of a team file, or a bridge node's parameter."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from coterie_core.own_classes import OwnName, load_own
from habitat_bridge.simulator import Simulator, WorldError

if TYPE_CHECKING:
    from habitat_bridge.house.house import House

NoiseLevel = Literal["none", "low", "normal", "high"]

Kind = Literal["embedded", "habitat", "own", "real"]

# Fields that only some kinds of world have.
_FIELDS: dict[str, tuple[Kind, ...]] = {
    **dict.fromkeys(
        ("floors", "rooms", "house", "look_on_arrival", "track_ids"), ("embedded", "habitat")
    ),
    **dict.fromkeys(("maker", "options"), ("own",)),
    **dict.fromkeys(("dataset", "scene", "habitat_python"), ("habitat",)),
    "seed": ("embedded", "habitat", "own"),
    "noise": ("embedded", "habitat"),
    **dict.fromkeys(("use_sim_time", "room_outlines", "floor_heights", "floor_links"), ("real",)),
}
_HOUSE = ("floors", "rooms", "house")


class RoomOutline(BaseModel):
    """A room of a real building, as a person drew it."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str = Field(description="Name of the room, each once.", min_length=1)
    type: str = Field("", description="Kind of the room, such as kitchen; empty: none is known.")
    floor: str = Field("", description="Id of the floor that it is on; empty: any.")
    polygon: tuple[tuple[float, float], ...] = Field(
        description="Corners (x, y) of the room in the team's map [m].", min_length=3
    )


class FloorLink(BaseModel):
    """Stairs or an elevator of a real building."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    kind: Literal["stairs", "elevator", "ramp"] = Field(
        description="Kind of the link: stairs, elevator or ramp."
    )
    ends: tuple[tuple[float, float, float], tuple[float, float, float]] = Field(
        description="Spots (x, y, z) where a robot stands at its two ends, in the team's map [m]."
    )
    robots: tuple[str, ...] = Field(
        (), description="Names of the robots that can use it; none: all of them."
    )


class WorldSpec(BaseModel):
    """Describes a world.

    `embedded`: a generated house (seed, floors, rooms) or a saved one (`house`: a JSON file).
    `habitat`: a house as with `embedded`, or a `scene` of a Habitat data set (`dataset`: its
    `.scene_dataset_config.json`), in habitat-sim, which `habitat_python` runs.
    `own`: a simulator of your own: `maker`, a function that is called with the seed and `options`.
    `real`: no simulator; each robot has an adapter.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind = Field("embedded", description="Kind of world: embedded, habitat, own or real.")
    seed: int = Field(
        0, ge=0, lt=2**31, description="Seed of the house, the start places and the noise."
    )
    noise: NoiseLevel | None = Field(
        None, description="Level of the detectors' errors; none: normal."
    )
    floors: int | None = Field(
        None,
        ge=1,
        le=3,
        description="Number of storeys of a generated house; none: chosen by the seed.",
    )
    rooms: int | None = Field(
        None,
        ge=4,
        le=25,
        description="Number of rooms of a generated house; none: chosen by the seed.",
    )
    house: str | None = Field(
        None,
        description="Path of the JSON file of a saved house; none: a house is generated.",
    )
    look_on_arrival: bool = Field(True, description="Robots turn once after each path.")
    track_ids: bool = Field(False, description="Detections carry the objects' true identifiers.")
    maker: OwnName | None = Field(
        None,
        description="Function that makes a world of your own, my_package.module:make; it returns a "
        "habitat_bridge.simulator.Simulator.",
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="Arguments of that function, besides `seed`."
    )
    dataset: str | None = Field(
        None, description="Path of a Habitat data set's .scene_dataset_config.json."
    )
    scene: str | None = Field(
        None, description="Name of a scene of the Habitat data set, or path of a scene file."
    )
    habitat_python: str | None = Field(
        None,
        description="Path of the Python that habitat-sim is installed in; none: that of the "
        "environment variable COTERIE_HABITAT_PYTHON.",
    )

    use_sim_time: bool = Field(
        False,
        description="Robots of a real world take the time from /clock, as those of a simulator "
        "with a ROS interface of its own do.",
    )
    room_outlines: tuple[RoomOutline, ...] = Field(
        (),
        description="Rooms of a real world; none: those of the mapper's map, else regions that "
        "robots part the floor into.",
    )

    floor_heights: dict[str, float] = Field(
        default_factory=dict,
        description="Height of each floor of a real world in the team's map [m], by name; none: "
        "robots tell floors by their maps, and no goal is refused for its floor.",
    )
    floor_links: tuple[FloorLink, ...] = Field(
        (),
        description="Stairs and elevators between the floors; none: no robot gets to another.",
    )

    @model_validator(mode="after")
    def _links_join_floors(self) -> WorldSpec:
        for k, link in enumerate(self.floor_links):
            for n, end in enumerate(link.ends):
                if not any(abs(end[2] - z) <= 0.5 for z in self.floor_heights.values()):
                    raise ValueError(
                        f"floor_links[{k}].ends[{n}]: z = {end[2]:g} m is on none of floor_heights "
                        f"({self.floor_heights}); give the height of the floor it stands on"
                    )
        return self

    @model_validator(mode="after")
    def _fields_fit_kind(self) -> WorldSpec:
        for name, kinds in _FIELDS.items():
            if self.kind not in kinds and name in self.model_fields_set:
                if getattr(self, name) != type(self).model_fields[name].get_default(
                    call_default_factory=True
                ):
                    raise ValueError(
                        f"{name} belongs to kind: {' or '.join(kinds)}, and this world is kind: "
                        f"{self.kind}; remove {name} or change kind"
                    )
        if self.dataset is not None and self.scene is None:
            raise ValueError("scene is missing; name the scene of the data set to open")
        if self.scene is not None:
            both = [name for name in _HOUSE if getattr(self, name) is not None]
            if both:
                raise ValueError(f"scene and {both[0]} exclude each other; remove one")
        if self.kind == "own" and not self.maker:
            raise ValueError("maker is missing; name the function that makes the world")
        if self.house is not None and (self.floors is not None or self.rooms is not None):
            raise ValueError("house names a saved house, so remove floors and rooms")
        return self


def make_world(spec: WorldSpec | Mapping[str, Any]) -> Simulator:
    """Return the world that `spec` describes.

    Raises:
        WorldError: A field is wrong, or the house cannot be read or generated; names the field and
            what to do.
    """
    if not isinstance(spec, WorldSpec):
        try:
            spec = WorldSpec.model_validate(dict(spec))
        except ValidationError as error:
            raise WorldError("; ".join(_problem(dict(e)) for e in error.errors()[:4])) from None
    if spec.kind == "real":
        raise WorldError("world: a world of kind real is not simulated; robot_adapters serve it")
    makers = {"embedded": _embedded, "habitat": _habitat, "own": _own}
    return makers[spec.kind](spec)


def world_of(value: object, seed: int) -> Simulator:
    """Return the world of a bridge's parameter `world`; `seed` where it names none.

    Raises:
        ValueError: It is no description.
        WorldError: As `make_world`.
    """
    if not isinstance(value, dict):
        raise ValueError("parameter 'world': expected a world's description as a JSON object")
    return make_world({"seed": seed, **value})


def _house(spec: WorldSpec) -> House:
    from habitat_bridge.house.generator import generate_house

    if spec.house is not None:
        return _saved(Path(spec.house))
    try:
        return generate_house(spec.seed, floors=spec.floors, rooms=spec.rooms)
    except ValueError as error:
        raise WorldError(f"world: no house can be made: {error}") from None


def _embedded(spec: WorldSpec) -> Simulator:
    from habitat_bridge.embedded.detector import DetectorNoise
    from habitat_bridge.embedded.world import EmbeddedWorld

    house = _house(spec)
    noise: DetectorNoise = getattr(DetectorNoise, spec.noise or "normal")()
    return EmbeddedWorld(
        house,
        seed=spec.seed,
        noise=noise,
        look_on_arrival=spec.look_on_arrival,
        track_ids=spec.track_ids,
    )


def _habitat(spec: WorldSpec) -> Simulator:
    from habitat_bridge.embedded.detector import DetectorNoise
    from habitat_bridge.habitat.world import HabitatWorld

    python = spec.habitat_python or os.environ.get("COTERIE_HABITAT_PYTHON", "")
    if not python:
        raise WorldError(
            "world.habitat_python: a habitat world needs the Python that habitat-sim is installed "
            "in, for example ~/miniconda3/envs/habitat/bin/python; give it here or in the "
            "environment variable COTERIE_HABITAT_PYTHON"
        )
    if python.startswith("~"):
        python = str(Path(python).expanduser())
    options: dict[str, Any] = {
        "seed": spec.seed,
        "noise": getattr(DetectorNoise, spec.noise or "normal")(),
        "look_on_arrival": spec.look_on_arrival,
        "track_ids": spec.track_ids,
    }
    if spec.scene is None:
        return HabitatWorld(_house(spec), python, **options)
    from habitat_bridge.habitat.dataset_world import open_scene

    return open_scene(python, spec.scene, Path(spec.dataset) if spec.dataset else None, **options)


def _saved(path: Path) -> House:
    from coterie_world.scene import SceneError
    from habitat_bridge.house.export import house_from_json

    try:
        return house_from_json(path.read_bytes(), str(path))
    except OSError as error:
        raise WorldError(
            f"world.house: cannot read {path}: {error.strerror}; give a house's JSON file"
        ) from None
    except SceneError as error:
        raise WorldError(f"world.house: {error}") from None


def _own(spec: WorldSpec) -> Simulator:
    expected = "a function that makes a habitat_bridge.simulator.Simulator"
    try:
        maker = load_own(spec.maker or "", "world.maker", expected)
    except ValueError as error:
        raise WorldError(str(error)) from None
    try:
        world = maker(seed=spec.seed, **spec.options)
    except WorldError:
        raise
    except Exception as error:  # whatever somebody else's function does
        raise WorldError(
            f"world.maker: {spec.maker} failed ({type(error).__name__}: {error}); it is called "
            f"with seed and world.options: {', '.join(spec.options) or 'none'}"
        ) from error
    if not isinstance(world, Simulator):
        raise WorldError(f"world.maker: {spec.maker} made {type(world).__name__}: {expected}")
    return world


def _problem(error: dict[str, Any]) -> str:
    field = ".".join(["world", *(str(part) for part in error["loc"])])
    if error["type"] == "extra_forbidden":
        close = difflib.get_close_matches(str(error["loc"][-1]), WorldSpec.model_fields, n=1)
        return f"{field}: unknown field" + (f"; did you mean {close[0]!r}?" if close else "")
    got = "" if error["type"] == "value_error" else f", got {error.get('input')!r}"
    return f"{field}: {error['msg'].removeprefix('Value error, ')}{got}"
