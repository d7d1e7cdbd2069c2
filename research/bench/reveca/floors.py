"""Floors of the bench: an answerer that guesses, in the place of a model."""

from __future__ import annotations

import random
from typing import Any, TypeVar

from pydantic import BaseModel

from coterie_llm import Decider, Decision, RulesModel
from coterie_llm.decision import Decided, decide_by_rule
from coterie_llm.types import Usage
from research.bench.reveca.baseline_coela import ActOrSpeak, TurnReply
from reveca_agent.planning import ChoosePlan, PlanChoice
from reveca_agent.relevance import RateRelevance, Rating, Ratings
from reveca_agent.validation import NOBODY, JudgeScenario, ScenarioChoice

StateT = TypeVar("StateT")
ReplyT = TypeVar("ReplyT", bound=BaseModel)


class Guesser(Decider):
    """Answers every question of the agents at random: what a model must be better than.

    Args:
        seed: Of its guesses.
    """

    def __init__(self, seed: str) -> None:
        super().__init__(RulesModel(), who=seed)
        self._draw = random.Random(f"guesses {seed}")

    def decide_by_rule(self, decision: Decision[StateT, ReplyT], state: StateT) -> Decided[ReplyT]:
        """Guess; questions that it does not know are answered by their rule."""
        reply = self._guess(decision, state)
        if reply is None:
            return decide_by_rule(decision, state)
        return Decided(reply, "rule", "guessed", 0, Usage(), 0.0)

    def _guess(self, decision: Any, state: Any) -> Any:
        pick = self._draw.randint
        if isinstance(decision, ChoosePlan):
            return PlanChoice(plan=state.options[pick(1, len(state.options)) - 1].plan.text())
        if isinstance(decision, JudgeScenario):
            one = state.scenarios[pick(1, len(state.scenarios)) - 1]
            return ScenarioChoice(who=one.who or NOBODY)
        if isinstance(decision, ActOrSpeak):
            return TurnReply(option=state.options[pick(1, len(state.options)) - 1])
        if isinstance(decision, RateRelevance):
            levels = ((id_, pick(0, state.levels - 1)) for id_ in state.ids())
            return Ratings(ratings=[Rating(id=id_, level=level) for id_, level in levels])
        return None
