"""Parameters of the aggregator's node."""

from __future__ import annotations

from cam_aggregator.registry import aggregator_names
from coterie_ros.model import MODEL_PARAMETER
from coterie_ros.parameters import ParameterSpec

AGGREGATOR_PARAMETERS = (
    ParameterSpec(
        "method",
        "majority_vote",
        "Aggregator that makes the team's answer from the robots' answers; a class of your own is "
        f"module:Class, else one of: {', '.join(aggregator_names())}.",
    ),
    ParameterSpec(
        "robots", [], "Names of the robots whose answers are waited for; empty is refused."
    ),
    ParameterSpec(
        "deadline",
        10.0,
        "Time to wait for the robots' answers to a question that sets no time of its own.",
        "s",
        minimum=0.05,
        maximum=3600.0,
    ),
    ParameterSpec(
        "model_directory", "", "Folder of the trained aggregators; empty: none are kept."
    ),
    ParameterSpec(
        "house",
        "",
        "Name of the house that a trained aggregator belongs to; empty: a house without a name.",
    ),
    ParameterSpec(
        "labels_needed",
        0,
        "Labels from which a method must have learned for abstain_below to hold what it promises; "
        "0: any number will do.",
        minimum=0,
    ),
    ParameterSpec(
        "abstain_below",
        0.0,
        "Confidence below which the team abstains from an answer; 0: it never does.",
        minimum=0.0,
        maximum=1.0,
    ),
    ParameterSpec(
        "turn_timeout", 30.0, "Time to wait for a robot's turn in a debate.", "s", minimum=0.1
    ),
    ParameterSpec(
        "open_timeout",
        600.0,
        "Time to wait for the answer to an open question.",
        "s",
        minimum=0.1,
        maximum=3600.0,
    ),
    ParameterSpec("explore", True, "A robot may go and look for the answer to an open question."),
    ParameterSpec("seed", 0, "Seed of the learned aggregators."),
    MODEL_PARAMETER,
)
