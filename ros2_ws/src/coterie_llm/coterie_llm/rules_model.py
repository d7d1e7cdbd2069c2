"""The model that is none: whoever holds it answers every decision with its rule."""

from __future__ import annotations

from coterie_llm.errors import ModelUnavailable
from coterie_llm.types import LanguageModel, ModelRequest, Reply


class RulesModel(LanguageModel):
    """No model: a `Decider` that holds this one answers every decision with its rule."""

    name = "rules"

    async def complete(self, request: ModelRequest) -> Reply:
        """Always fails: rules answer decisions, not prompts.

        Raises:
            ModelUnavailable: Always.
        """
        raise ModelUnavailable(
            "the profile's kind is 'rules', which answers decisions and not prompts; "
            "ask through Decider.decide, or configure a model of kind 'openai' or 'replay'"
        )
