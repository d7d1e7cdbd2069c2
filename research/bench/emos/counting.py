"""Counts what decisions cost in tokens, also those that a rule answers without a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from coterie_llm import (
    Decided,
    Decider,
    Decision,
    LanguageModel,
    Policy,
    RulesModel,
    estimate_tokens,
)
from coterie_llm.decision import messages_for, schema_for

StateT = TypeVar("StateT")
ReplyT = TypeVar("ReplyT", bound=BaseModel)


@dataclass(slots=True)
class Cost:
    """Tokens of one kind of decision: how often it was made, of prompts, of replies."""

    times: int = 0
    prompt: int = 0
    reply: int = 0


class CountingDecider(Decider):
    """A decider that counts; a rule's decision costs what the model would have been sent and said.

    That includes the schema of the reply. Where a model is asked, what the endpoint reports counts.

    Attributes:
        costs: Decision -> what it has cost so far.
    """

    def __init__(
        self,
        model: LanguageModel | None = None,
        *,
        timeout_s: float = 30.0,
        who: str = "",
        on_decided: Callable[[str, Decided[Any]], None] | None = None,
        policy: Policy | None = None,
        larger: LanguageModel | None = None,
    ) -> None:
        super().__init__(
            model or RulesModel(),
            timeout_s=timeout_s,
            who=who,
            on_decided=on_decided,
            policy=policy,
            larger=larger,
        )
        self.costs: dict[str, Cost] = {}

    async def decide(self, decision: Decision[StateT, ReplyT], state: StateT) -> Decided[ReplyT]:
        """Decide and count; see `Decider.decide`."""
        decided = await super().decide(decision, state)
        cost = self.costs.setdefault(decision.name, Cost())
        cost.times += 1
        if decided.usage.prompt_tokens:
            cost.prompt += decided.usage.prompt_tokens
            cost.reply += decided.usage.completion_tokens
        else:
            messages = messages_for(decision, state, decided.mode)
            cost.prompt += sum(estimate_tokens(message.text) for message in messages)
            cost.prompt += estimate_tokens(json.dumps(schema_for(decision, state)))
            cost.reply += estimate_tokens(decided.reply.model_dump_json())
        return decided

    @property
    def total(self) -> Cost:
        """Everything together."""
        parts = self.costs.values()
        return Cost(
            sum(c.times for c in parts), sum(c.prompt for c in parts), sum(c.reply for c in parts)
        )
