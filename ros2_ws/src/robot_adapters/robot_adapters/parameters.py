"""Parameters of the adapter node: those of a robot, and its settings with their descriptions."""

from __future__ import annotations

from coterie_ros.parameters import ParameterSpec, specs_of
from coterie_ros.permitting import PERMIT_PARAMETERS
from robot_adapters.settings import AdapterSettings
from robot_adapters.team_link import LINK_PARAMETERS

SETTINGS_PARAMETERS = specs_of(AdapterSettings)
"""What the fields of AdapterSettings are as a node's parameters."""

ADAPTER_PARAMETERS = (
    ParameterSpec("robot", "", "Name of the robot; empty: that of the node's namespace."),
    ParameterSpec(
        "embodiment",
        "",
        "Description of the robot's body: an Embodiment as JSON; empty: a body on wheels without "
        "an arm.",
        json=True,
    ),
    ParameterSpec(
        "limits",
        "",
        "Limits of what the robot may do and where, as JSON; empty: none, and it must not move.",
        json=True,
    ),
    ParameterSpec(
        "permits",
        "",
        "Policy of permits: which goals are allowed, asked for and refused, as JSON; empty: none "
        "is said, and every physical goal is refused.",
        json=True,
    ),
    *PERMIT_PARAMETERS,
    *LINK_PARAMETERS,
    ParameterSpec(
        "model_profile",
        "",
        "Profile of a model that sees, as JSON, which looks whether pick, place, open and close "
        "came about; empty: detectors alone tell.",
        json=True,
    ),
    ParameterSpec(
        "resume", True, "The node publishes the robot's resume; false: a resume node does."
    ),
    ParameterSpec(
        "rooms",
        "",
        "Rooms that a person drew in the team's map: a list of name, type, floor and polygon as "
        "JSON; empty: those of the team's map, else regions of the robot's own.",
        json=True,
    ),
    ParameterSpec(
        "floors",
        "",
        "Heights of the building's floors and links between them as JSON; empty: none are known.",
        json=True,
    ),
    ParameterSpec(
        "stop_directory",
        "",
        "Folder in which a stop of the robot outlasts a restart; empty: it does not.",
    ),
    ParameterSpec(
        "team_map",
        "",
        "Topic of the team's semantic map, which has rooms and objects; empty: there is none.",
    ),
    ParameterSpec("urdf", "", "Text of the robot's URDF; empty: it has none."),
    ParameterSpec(
        "urdf_folder", "", "Folder of the URDF's file, below which its meshes lie; empty: unknown."
    ),
    *SETTINGS_PARAMETERS,
)
