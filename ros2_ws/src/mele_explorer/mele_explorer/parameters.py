"""Parameters of the explorer's node."""

from __future__ import annotations

from coterie_ros.model import EMBEDDER_PARAMETER, MODEL_PARAMETER
from coterie_ros.parameters import ParameterSpec
from coterie_ros.team_memory import MEMORY_PARAMETERS

EXPLORER_PARAMETERS = (
    ParameterSpec("robot", "", "Name of the robot; empty: the last part of the node's namespace."),
    ParameterSpec(
        "robots",
        [],
        "Names of all robots of the team, which this one makes way for; empty: for nobody.",
    ),
    ParameterSpec(
        "radius", 0.25, "Radius of the robot's footprint.", "m", minimum=0.05, maximum=2.0
    ),
    MODEL_PARAMETER,
    EMBEDDER_PARAMETER,
    ParameterSpec("seed", 0, "Seed of choices between equal places."),
    ParameterSpec("malicious", False, "The robot inverts every answer, for experiments."),
    ParameterSpec(
        "hop_timeout",
        300.0,
        "Time limit of one hop, in wall time.",
        "s",
        minimum=1.0,
        maximum=3600.0,
    ),
    ParameterSpec("state_directory", "", "Folder of the robot's memory; empty: none is kept."),
    ParameterSpec(
        "step_limit", 0, "Largest number of hops of one exploration; 0: no limit.", minimum=0
    ),
    *MEMORY_PARAMETERS,
    ParameterSpec(
        "detector_vocabulary",
        [],
        "Labels that the detector can report; empty: they are not known.",
    ),
    ParameterSpec(
        "deadline",
        10.0,
        "Time to answer a question that sets no time of its own.",
        "s",
        minimum=0.05,
        maximum=3600.0,
    ),
    ParameterSpec(
        "turn_timeout", 30.0, "Time limit of the robot's turn in a debate.", "s", minimum=0.1
    ),
    ParameterSpec(
        "concurrency",
        8,
        "Largest number of questions worked on at the same time.",
        minimum=1,
        maximum=256,
    ),
)
