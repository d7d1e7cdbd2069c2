"""Parameters of the node that answers open questions."""

from __future__ import annotations

from coterie_ros.asking import ROOMS_PARAMETER
from coterie_ros.model import EMBEDDER_PARAMETER, MODEL_PARAMETER
from coterie_ros.parameters import ParameterSpec, specs_of
from coterie_ros.team_memory import MEMORY_PARAMETERS
from openeqa_agent.settings import OpenQuestionsSettings

PARAMETERS = (
    *specs_of(OpenQuestionsSettings),
    MODEL_PARAMETER,
    EMBEDDER_PARAMETER,
    ParameterSpec("vision", False, "The model is shown images."),
    ParameterSpec(
        "recording",
        "",
        "Folder or file of recorded frames to answer from; empty: no recording.",
    ),
    ParameterSpec(
        "frame", "map", "Coordinate frame of the map; maps in another frame are refused."
    ),
    ParameterSpec(
        "robot", "", "Name of the robot that goes to look for answers; empty: none goes."
    ),
    ParameterSpec(
        "radius", 0.25, "Radius of that robot's footprint.", "m", minimum=0.05, maximum=2.0
    ),
    ParameterSpec(
        "explorer",
        "question",
        "Choice of the robot's next viewpoint: where the answer is likely, or at a frontier.",
        choices=("question", "frontier"),
    ),
    ParameterSpec(
        "sure", 0.5, "Confidence below which the robot goes to look.", minimum=0.0, maximum=1.0
    ),
    ParameterSpec(
        "abstain_below",
        0.0,
        "Confidence below which an answer is withheld; 0: none is.",
        minimum=0.0,
        maximum=1.0,
    ),
    ParameterSpec(
        "map_wait",
        3.0,
        "Time to wait for the map to show what the robot has just seen.",
        "s",
        minimum=0.0,
        maximum=120.0,
    ),
    ParameterSpec(
        "robot_wait",
        5.0,
        "Time to wait for the robot to accept a navigation goal.",
        "s",
        minimum=0.1,
        maximum=120.0,
    ),
    ParameterSpec(
        "hop_timeout",
        300.0,
        "Time limit of one navigation goal, in wall time.",
        "s",
        minimum=1.0,
        maximum=3600.0,
    ),
    ParameterSpec(
        "detector_vocabulary",
        [],
        "Labels that the detector can report; empty: they are not known.",
    ),
    ROOMS_PARAMETER,
    ParameterSpec("seed", 0, "Seed of random choices; no method makes any so far."),
    *MEMORY_PARAMETERS,
)
