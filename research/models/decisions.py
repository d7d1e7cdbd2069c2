"""What a model can decide here: every decision put to it on states of a seeded house."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from coterie_llm import Decided, Decider, LanguageModel, ModelTimeout, Policy
from coterie_llm.decision import messages_for
from research.bench.decision_samples import Sample

Fitness = Literal["fit", "asked again", "too slow", "not always", "unfit"]


@dataclass
class DecisionRow:
    """How one decision went.

    Attributes:
        name: The decision.
        limit_s: How long the profile waits for a reply [s].
        asked: States that it was put on.
        at_once: Valid at once.
        asked_again: Valid after another question.
        by_rule: No valid reply in time: the rule decided.
        late: Of those, where no reply came in the time of the check.
        images: Whether its prompts hold images.
        seconds: Mean time of a decision [s].
        prompt_tokens: Mean tokens sent per decision, all questions together.
        reasons: Why it was asked again or the rule decided, each once.
    """

    name: str
    limit_s: float = float("inf")
    asked: int = 0
    at_once: int = 0
    asked_again: int = 0
    by_rule: int = 0
    late: int = 0
    images: bool = False
    seconds: float = 0.0
    prompt_tokens: float = 0.0
    reasons: list[str] = field(default_factory=list)

    @property
    def fitness(self) -> Fitness:
        """The verdict: `fit` where every reply was valid at once, as soon as the profile asks."""
        if self.late or self.seconds > self.limit_s:
            return "too slow"
        if self.by_rule == self.asked:
            return "unfit"
        if self.by_rule:
            return "not always"
        return "asked again" if self.asked_again else "fit"

    def count(self, decided: Decided[Any]) -> None:
        """Add one decision."""
        self.asked += 1
        if decided.decided_by == "rule":
            self.by_rule += 1
            self.late += ModelTimeout.__name__ in decided.reason
        elif decided.attempts > 1:
            self.asked_again += 1
        else:
            self.at_once += 1
        share = 1.0 / self.asked
        self.seconds += share * (decided.seconds - self.seconds)
        self.prompt_tokens += share * (decided.usage.prompt_tokens - self.prompt_tokens)
        if decided.reason and decided.reason not in self.reasons:
            self.reasons.append(decided.reason)

    def as_data(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return {
            "decision": self.name,
            "verdict": self.fitness,
            "asked": self.asked,
            "at_once": self.at_once,
            "asked_again": self.asked_again,
            "by_rule": self.by_rule,
            "late": self.late,
            "images": self.images,
            "seconds": round(self.seconds, 2),
            "prompt_tokens": round(self.prompt_tokens),
            "reasons": self.reasons[:5],
        }


async def put(
    model: LanguageModel,
    samples: Sequence[Sample],
    *,
    timeout_s: float,
    limit_s: float = float("inf"),
    policy: Policy | None = None,
    tell: Callable[[DecisionRow], None] = lambda row: None,
) -> DecisionRow:
    """Put one decision to a model on some states, one after the other.

    Args:
        model: Whom to ask.
        samples: States of one decision; at least one.
        timeout_s: Seconds for each [s].
        limit_s: How long the profile waits for a reply [s].
        policy: How it is put; by default in mode `model`.
        tell: Hears of each.
    """
    decision = samples[0].decision
    row = DecisionRow(decision.name, limit_s)
    for sample in samples:
        messages = messages_for(decision, sample.state, "model")
        row.images = row.images or any(message.images for message in messages)
        decider = Decider(model, timeout_s=timeout_s, who=sample.who, policy=policy)
        row.count(await decider.decide(decision, sample.state))
        tell(row)
    return row
