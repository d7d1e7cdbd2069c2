"""Parameters of the leader's node."""

from __future__ import annotations

from coterie_ros.asking import ROOMS_PARAMETER
from coterie_ros.model import EMBEDDER_PARAMETER, MODEL_PARAMETER
from coterie_ros.parameters import ParameterSpec
from coterie_ros.team_memory import MEMORY_PARAMETERS
from emos_planner.leader.searches import ENOUGH
from emos_planner.map_view import MAP_CHARS

LEADER_PARAMETERS = (
    ParameterSpec("robots", [], "Names of the robots that the leader leads; empty is refused."),
    MODEL_PARAMETER,
    EMBEDDER_PARAMETER,
    ParameterSpec(
        "reflect_timeout",
        30.0,
        "Time to wait for a robot's answer to a proposal.",
        "s",
        minimum=0.1,
        maximum=3600.0,
    ),
    ParameterSpec(
        "round_limit", 4, "Largest number of rounds of one discussion.", minimum=1, maximum=20
    ),
    ParameterSpec(
        "group_size",
        8,
        "Largest number of robots that discuss with one another; more are split into groups.",
        minimum=1,
        maximum=100,
    ),
    ParameterSpec(
        "map_chars",
        MAP_CHARS,
        "Largest number of characters that a prompt spends on the map; four are about one token.",
        minimum=500,
        maximum=400_000,
    ),
    ParameterSpec(
        "permits",
        "",
        "Policies of permits of the robots, by name, as JSON; empty: none is known.",
        json=True,
    ),
    ParameterSpec(
        "reassign_limit",
        3,
        "Largest number of times that one sub-task is given to another robot.",
        minimum=0,
    ),
    ParameterSpec(
        "heartbeat_timeout",
        10.0,
        "Time without a status report from which a robot counts as dead.",
        "s",
        minimum=0.2,
        alias="silence",
    ),
    ParameterSpec(
        "rejoin_grace",
        40.0,
        "Time to wait for a dead robot to come back where no other can do its sub-task.",
        "s",
        minimum=0.0,
        alias="revive",
    ),
    ParameterSpec(
        "max_expected_unseen",
        ENOUGH,
        "Expected number of unseen objects below which a search is enough.",
        minimum=0.001,
        alias="unseen",
    ),
    ParameterSpec(
        "max_time",
        3600.0,
        "Time limit of a task that sets none of its own, in simulated time.",
        "s",
        minimum=1.0,
    ),
    ParameterSpec(
        "start_time",
        60.0,
        "Time that the robots may take to start after the leader.",
        "s",
        minimum=0.0,
    ),
    ParameterSpec(
        "map_timeout",
        30.0,
        "Time to wait for the first map before a task is refused.",
        "s",
        minimum=0.0,
    ),
    ParameterSpec(
        "use_resume_numbers",
        True,
        "The numbers in resumes are used; false: an ablation without them.",
        alias="numbers",
    ),
    ParameterSpec("resume", True, "The robots' resumes are used; false: an ablation without them."),
    ParameterSpec(
        "discussion",
        True,
        "The robots are asked before they work; false: an ablation without the discussion.",
    ),
    ParameterSpec(
        "resume_format",
        "json",
        "Format of resumes in prompts.",
        choices=("json", "words", "markdown", "xml"),
    ),
    ParameterSpec("seed", 0, "Seed of the assignment solver.", minimum=0),
    ROOMS_PARAMETER,
    ParameterSpec(
        "ask_back",
        True,
        "A task that is not clear is not guessed at: the person is asked, once.",
    ),
    ParameterSpec(
        "state_directory",
        "",
        "Folder of the task's state and of the discussions; empty: none are kept.",
    ),
    ParameterSpec(
        "map_topic",
        "semantic_map",
        "Topic of the map of the house. With another topic than semantic_map the leader "
        "publishes the team's memory as semantic_map.",
    ),
    ParameterSpec(
        "observers",
        [],
        "Names of the robots whose observations enter the memory; empty: none, a mapper "
        "makes the map.",
    ),
    *MEMORY_PARAMETERS,
)
