"""Parameters of the robot's node."""

from __future__ import annotations

from coterie_ros.model import MODEL_PARAMETER
from coterie_ros.parameters import ParameterSpec
from coterie_ros.team_memory import MEMORY_PARAMETERS

ROBOT_PARAMETERS = (
    ParameterSpec("robot", "", "Name of the robot; empty: the last part of the node's namespace."),
    ParameterSpec(
        "robots",
        [],
        "Names of all robots of the team whose messages are heard; empty: none are heard.",
    ),
    ParameterSpec(
        "others",
        [],
        "Robots of other roles that this one makes way for, too; empty: of its own role only.",
    ),
    MODEL_PARAMETER,
    ParameterSpec("seed", 0, "Seed of choices between equal options.", minimum=0),
    ParameterSpec(
        "tries", 12, "Largest number of skills tried for one sub-task.", minimum=1, maximum=1000
    ),
    ParameterSpec(
        "skill_timeout", 300.0, "Time limit of one skill, in wall time.", "s", minimum=1.0
    ),
    ParameterSpec(
        "reflect_timeout",
        30.0,
        "Time that the leader waits for an answer to a proposal; a model that is slower is not "
        "waited for.",
        "s",
        minimum=0.1,
        maximum=3600.0,
    ),
    ParameterSpec(
        "code_checks",
        0,
        "Number of sub-tasks for which a model writes code over the tools; 0: none. Its verdict is "
        "noted only.",
        minimum=0,
    ),
    ParameterSpec(
        "numbers", True, "The numbers in the resume are used; false: an ablation without them."
    ),
    ParameterSpec("resume", True, "The robot's resume is used; false: an ablation without it."),
    ParameterSpec(
        "resume_format",
        "json",
        "Format of the resume in prompts.",
        choices=("json", "words", "markdown", "xml"),
    ),
    ParameterSpec("state_directory", "", "Folder of the robot's state; empty: none is kept."),
    *MEMORY_PARAMETERS,
)
