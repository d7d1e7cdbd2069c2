"""Parameters of the bridge's node."""

from __future__ import annotations

from coterie_ros.parameters import ParameterSpec
from coterie_ros.permitting import PERMIT_PARAMETERS
from habitat_bridge.prior import PRIOR_MAPS

BRIDGE_PARAMETERS = (
    ParameterSpec(
        "world", "", "Description of the world: a WorldSpec as JSON; empty is refused.", json=True
    ),
    ParameterSpec(
        "robots",
        "",
        "List of {name, embodiment, start, urdf, resume, limits, permits} as JSON; empty is "
        "refused.",
        json=True,
    ),
    ParameterSpec(
        "prior_map",
        "nothing",
        "Part of the house that is published as a map: what a team knows beforehand.",
        choices=PRIOR_MAPS,
    ),
    ParameterSpec(
        "prior_topic",
        "semantic_map",
        "Topic of the prior map; another than semantic_map where a mapper makes the map.",
    ),
    ParameterSpec(
        "mode",
        "lockstep",
        "Course of simulated time: it stands still while robots think, or follows the wall clock.",
        choices=("lockstep", "real_time"),
    ),
    ParameterSpec(
        "state_directory",
        "",
        "Folder of the simulated time and of where robots and things are, for a restart; empty: "
        "both begin anew.",
    ),
    ParameterSpec(
        "stop_directory",
        "",
        "Folder in which stops of robots outlast a restart; empty: they do not.",
    ),
    *PERMIT_PARAMETERS,
    ParameterSpec("seed", 0, "Seed of the world, where its description names none.", minimum=0),
    ParameterSpec(
        "rate",
        10.0,
        "Frequency of the world's ticks, in simulated time.",
        "Hz",
        minimum=1.0,
        maximum=1000.0,
    ),
    ParameterSpec(
        "camera_rate",
        5.0,
        "Frequency of camera images, in simulated time.",
        "Hz",
        minimum=0.1,
        maximum=60.0,
    ),
    ParameterSpec(
        "localized",
        True,
        "The robots' own trees of frames (<robot>/tf) hold map -> odom; false: a localization such "
        "as slam_toolbox publishes it.",
    ),
    ParameterSpec(
        "pace",
        0.0,
        "Simulated seconds per second of wall time in lockstep; 0: as fast as possible.",
        minimum=0.0,
        maximum=1000.0,
    ),
    ParameterSpec(
        "barrier_timeout",
        60.0,
        "Time that the world waits for a robot without a goal in lockstep.",
        "s",
        minimum=0.1,
        maximum=86400.0,
    ),
    ParameterSpec(
        "assembly_timeout",
        5.0,
        "Time that the first robot with a goal waits for the others in lockstep.",
        "s",
        minimum=0.0,
        maximum=3600.0,
    ),
)
