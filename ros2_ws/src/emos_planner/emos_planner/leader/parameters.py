"""Parameters of the leader's node."""

from __future__ import annotations

from coterie_ros.asking import ROOMS_PARAMETER
from coterie_ros.model import EMBEDDER_PARAMETER, MODEL_PARAMETER
from coterie_ros.parameters import ParameterSpec, specs_of
from coterie_ros.team_memory import MEMORY_PARAMETERS
from emos_planner.leader.options import LeaderOptions

LEADER_PARAMETERS = (
    ParameterSpec("robots", [], "Names of the robots that the leader leads; empty is refused."),
    MODEL_PARAMETER,
    EMBEDDER_PARAMETER,
    *specs_of(LeaderOptions),
    ROOMS_PARAMETER,
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
