"""Parameters of the agent's node."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from coterie_core.embodiment import Camera
from coterie_core.plain_data import schema_problems
from coterie_ros.model import EMBEDDER_PARAMETER, MODEL_PARAMETER
from coterie_ros.parameters import Parameters, ParameterSpec, specs_of
from coterie_ros.team_memory import MEMORY_PARAMETERS
from reveca_agent.house_map import Shape
from reveca_agent.settings import CooperationSettings

_CAMERAS: TypeAdapter[tuple[Camera, ...]] = TypeAdapter(tuple[Camera, ...])

AGENT_PARAMETERS = (
    ParameterSpec("robot", "", "Name of the robot; empty: the last part of the node's namespace."),
    ParameterSpec(
        "team",
        [],
        "Names of all that cooperate, people too, in an order that all share; empty: "
        "this robot alone.",
    ),
    ParameterSpec(
        "others",
        [],
        "Robots of other roles that this one makes way for, too; empty: of its own role only.",
    ),
    MODEL_PARAMETER,
    EMBEDDER_PARAMETER,
    ParameterSpec("seed", 0, "Seed of choices between equal options.", minimum=0),
    *specs_of(CooperationSettings),
    ParameterSpec(
        "radius", 0.25, "Radius of the robot's footprint.", "m", minimum=0.05, maximum=2.0
    ),
    ParameterSpec(
        "reach", 0.8, "Horizontal reach of the robot's hand.", "m", minimum=0.1, maximum=5.0
    ),
    ParameterSpec(
        "low",
        0.0,
        "Lowest height that the robot's hand reaches.",
        "m",
        minimum=-1.0,
        maximum=5.0,
    ),
    ParameterSpec(
        "high",
        1.6,
        "Greatest height that the robot's hand reaches.",
        "m",
        minimum=0.0,
        maximum=5.0,
    ),
    ParameterSpec(
        "cameras",
        "",
        "Cameras of the robot, a JSON list of mappings with the fields of "
        "coterie_core.embodiment.Camera; empty: it sees all around.",
        json=True,
    ),
    ParameterSpec("speed", 0.6, "Driving speed of the robot.", "m/s", minimum=0.05, maximum=10.0),
    ParameterSpec(
        "skill_timeout", 300.0, "Time limit of one skill, in wall time.", "s", minimum=1.0
    ),
    ParameterSpec("state_directory", "", "Folder of the agent's memory; empty: none is kept."),
    *MEMORY_PARAMETERS,
)


def shape_of(parameters: Parameters) -> Shape:
    """Return the robot's body.

    Raises:
        ValueError: `cameras` is no list of cameras; names the field.
    """
    cameras: Any = parameters.json("cameras")
    try:
        seeing = _CAMERAS.validate_python(cameras or ())
    except ValidationError as error:
        problems = schema_problems(error, "list")
        raise ValueError(f"parameter 'cameras': {problems}") from None
    names = ("radius", "reach", "speed", "step", "low", "high")
    return Shape(**{name: parameters[name] for name in names}, cameras=seeing)
