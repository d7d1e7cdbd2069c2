"""A node's language model: built from its profile, metered, shown in the diagnostics, closed."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from coterie_core.plain_data import schema_problems
from coterie_llm import Decider, Decision, ModelProfile, UsageMeter, build_decider
from coterie_llm.budget import Budget, budget_of
from coterie_llm.embedders import EmbedderOptions, load_embedder
from coterie_llm.own import own_decisions
from coterie_ros.parameters import ParameterSpec
from coterie_world.meaning import Meanings

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

MODEL_PARAMETER = ParameterSpec(
    "model_profile", "", "Model profile as JSON; empty: the rules decide.", json=True
)
"""The parameter of every node that a language model may think for."""

EMBEDDER_PARAMETER = ParameterSpec(
    "embedder",
    "",
    "Embedder that compares words by meaning, as JSON; empty: by letters and tables only.",
    json=True,
)
"""The parameter of nodes that compare words by meaning."""


def node_decider(
    node: AgentNode, profile: Any, who: str, ahead: Sequence[Decision[Any, Any]] = ()
) -> Decider:
    """Return who decides for a node; call it in `on_setup`.

    Args:
        node: Shows the usage in its diagnostics and closes the model when it is cleaned up.
        profile: A ModelProfile as parsed JSON; None or empty: the rules.
        who: Name under which usage is counted.
        ahead: Decisions whose prompts' beginnings a model that is served here reads now.

    Raises:
        ValueError: The profile is wrong, or a decision of the user's own; names the field.
    """
    try:
        settings = ModelProfile.model_validate(profile or {"kind": "rules"})
    except ValidationError as error:
        problems = schema_problems(error, "profile", most=5)
        raise ValueError(f"parameter 'model_profile': {problems}") from None
    meter, own = UsageMeter(), own_decisions()
    decider = build_decider(settings, who=who, timeout_s=settings.decision_s, meter=meter, own=own)

    def usage() -> dict[str, object]:
        total = meter.total()
        report: dict[str, object] = {
            "kind": settings.kind,
            "prompt_tokens": total.prompt_tokens,
            "completion_tokens": total.completion_tokens,
            "cost": f"{total.cost:.4f}",
        }
        report |= {f"{decision}.own": name for decision, (name, _) in own.items()}
        if settings.larger is not None:
            report["larger_kind"] = settings.larger.kind
        for which, model in (("", decider.model), ("larger_", decider.larger)):
            if (budget := budget_of(model)) is not None:
                report |= {f"{which}{key}": value for key, value in _left(budget).items()}
        for row in meter.as_json():
            for key in ("by_model", "by_rule", "overruled"):
                report[f"{row['decision']}.{key}"] = row[key]
        return report

    def close() -> None:
        try:
            node.run(decider.aclose(), "close the model").result(1.0)
        except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
            node.get_logger().warning("the model's connections did not close within 1 s")

    if settings.kind == "local" and ahead:
        node.run(decider.read_ahead(*ahead), "read prompts ahead")
    node.diagnostics.add_source("model", usage)
    node.at_end(close)
    return decider


def _left(budget: Budget) -> dict[str, object]:
    """Return the limits of a budget and what is left of them."""
    report: dict[str, object] = {"used_up": "yes" if budget.used_up else "no"}
    if budget.limit_tokens is not None:
        report |= {"budget_tokens": budget.limit_tokens, "left_tokens": budget.remaining_tokens}
    if budget.limit_cost is not None:
        left = f"{budget.remaining_cost:.4f}"
        report |= {"budget_cost": f"{budget.limit_cost:.4f}", "left_cost": left}
    return report


def node_meanings(options: Any) -> Meanings | None:
    """Return what compares words by meaning for a node; None where none is set.

    Args:
        options: EmbedderOptions as parsed JSON; None or empty: none.

    Raises:
        ValueError: The options are wrong, or the embedder is not installed; says what to do.
    """
    try:
        embedder = load_embedder(EmbedderOptions.model_validate(options or {}))
    except ValidationError as error:
        problems = schema_problems(error, "embedder", most=5)
        raise ValueError(f"parameter 'embedder': {problems}") from None
    return Meanings(embedder) if embedder is not None else None
