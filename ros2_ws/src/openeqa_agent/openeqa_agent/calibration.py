"""Confidences of answers brought to the share of them that is right, by `data/calibration.yaml`."""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from collections.abc import Mapping
from functools import cache
from importlib import resources

from pydantic import BaseModel, ConfigDict

from coterie_core.yaml_marks import OWN, read_yaml
from openeqa_agent.reply import OpenReply
from openeqa_agent.understood import OpenQuestion, serves


class Curve(BaseModel):
    """Confidence as the rules have it -> share that is right; straight between the points."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    raw: tuple[float, ...]
    right: tuple[float, ...]

    def __call__(self, confidence: float) -> float:
        """Return the share of answers of a confidence that are right."""
        k = bisect_right(self.raw, confidence)
        if k == 0:
            return self.right[0]
        if k == len(self.raw):
            return self.right[-1]
        low, high = self.raw[k - 1], self.raw[k]
        share = (confidence - low) / (high - low)
        return self.right[k - 1] + share * (self.right[k] - self.right[k - 1])


@cache
def load_curves() -> Mapping[str, Curve]:
    """Return the curves by the kind of the answer: see `kind_of`.

    Raises:
        pydantic.ValidationError: The data file is broken.
    """
    text = resources.files("openeqa_agent").joinpath("data/calibration.yaml").read_text("utf-8")
    return {str(k): Curve.model_validate(v) for k, v in read_yaml(text, OWN)["curves"].items()}


def kind_of(reply: OpenReply, question: OpenQuestion) -> str:
    """Return which curve an answer goes by.

    Guesses, uses, places, yes or no, the rest.
    """
    step = question.steps[0] if question.steps else None
    either = question.polar or (step is not None and bool(step.choices))
    if reply.guessed:
        return "guess yes or no" if either else "guess"
    if step is not None and serves(step):
        return "use"
    if step is not None and step.act in ("where", "which_room"):
        return "place"
    return "yes or no" if either else "thing"


def calibrated(reply: OpenReply, question: OpenQuestion) -> OpenReply:
    """Return a reply of the rules with its confidence calibrated; a model's stays as it is."""
    curve = load_curves().get(kind_of(reply, question))
    if reply.abstains or reply.decided_by == "model" or curve is None:
        return reply
    return dataclasses.replace(reply, confidence=round(curve(reply.confidence), 3))
