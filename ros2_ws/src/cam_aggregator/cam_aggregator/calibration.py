"""Turns scores into probabilities that mean what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from cam_aggregator.linear import LinearModel
from coterie_core.answer_table import BoolArray, FloatArray
from coterie_core.confidence import MIN_PROBABILITY, log_odds, probability

Kind = Literal["none", "platt", "isotonic", "confidence"]
KINDS: tuple[Kind, ...] = ("none", "platt", "isotonic", "confidence")
_HAIR = 1e-6
_LEAST = 20  # examples below which a step function would only repeat the noise


@dataclass(frozen=True, slots=True)
class Calibration:
    """A rising curve from scores to probabilities.

    `platt`: sigmoid(slope * logit(score) + intercept), `points` = (slope, intercept). `isotonic`:
    linear between the knots `points` = scores, then as many probabilities. `none`: unchanged.
    `confidence`: the answer stays; how often it is right is sigmoid(slope * logit(max(score, 1 -
    score)) + intercept), but at least one half, `points` = (slope, intercept).
    """

    kind: Kind = "none"
    points: tuple[float, ...] = ()

    @staticmethod
    def of(scores: FloatArray, truth: BoolArray, kind: Kind) -> Calibration:
        """Fit on scores (N,) of examples that the model was not trained on.

        With fewer than 20 examples, or labels that are all alike, isotonic becomes platt or none.
        """
        if kind not in KINDS:
            raise ValueError(f"no calibration named {kind!r}; kinds: {', '.join(KINDS)}")
        if kind == "none" or len(set(truth.tolist())) < 2:
            return Calibration()
        if kind == "confidence":
            return _of_confidence(np.maximum(scores, 1.0 - scores), (scores > 0.5) == truth)
        if kind == "platt" or len(truth) < _LEAST:
            model = LinearModel.trained(log_odds(scores)[:, None], truth, 1.0)
            slope = float(model.weight[0] / model.scale[0])
            if slope <= 0.0:  # worse than chance out of fold: nothing to be sure of
                return Calibration("platt", (0.0, 0.0))
            return Calibration("platt", (slope, model.intercept - slope * float(model.mean[0])))
        from sklearn.isotonic import IsotonicRegression

        model = IsotonicRegression(y_min=0.02, y_max=0.98, out_of_bounds="clip")
        model.fit(scores, truth.astype(float))
        knots = (*model.X_thresholds_.tolist(), *model.y_thresholds_.tolist())
        return Calibration("isotonic", tuple(float(v) for v in knots))

    def apply(self, scores: FloatArray) -> FloatArray:
        """Return probabilities (N,)."""
        if self.kind == "none":
            return scores
        if self.kind == "confidence":
            slope, intercept = self.points
            right = slope * log_odds(np.maximum(scores, 1.0 - scores)) + intercept
            sure = np.clip(probability(right), 0.5 + _HAIR, 1.0 - MIN_PROBABILITY)
            return np.where(scores > 0.5, sure, 1.0 - sure)
        if self.kind == "platt":
            slope, intercept = self.points
            return probability(slope * log_odds(scores) + intercept)
        half = len(self.points) // 2
        return cast(FloatArray, np.interp(scores, self.points[:half], self.points[half:]))

    def as_lists(self) -> dict[str, Any]:
        """Return plain data for a file."""
        return {"kind": self.kind, "points": list(self.points)}

    @staticmethod
    def from_lists(data: dict[str, Any]) -> Calibration:
        """Return what `as_lists` wrote.

        Raises:
            KeyError, ValueError, TypeError: The data is not of that form.
        """
        kind, points = data["kind"], tuple(float(v) for v in data["points"])
        right = {
            "none": len(points) == 0,
            "platt": len(points) == 2,
            "confidence": len(points) == 2,
            "isotonic": len(points) % 2 == 0,
        }
        if not right.get(kind, False) or not np.isfinite(points).all():
            raise ValueError(f"no calibration: kind {kind!r} with {len(points)} points")
        return Calibration(kind, points)


def _of_confidence(confidence: FloatArray, right: BoolArray) -> Calibration:
    """Fit how often an answer is right where the model is so sure; never falling."""
    share = (right.sum() + 1.0) / (len(right) + 2.0)
    level = float(log_odds(share))
    if len(set(right.tolist())) < 2:
        return Calibration("confidence", (0.0, level))
    model = LinearModel.trained(log_odds(confidence)[:, None], right, 1.0)
    slope = float(model.weight[0] / model.scale[0])
    if slope <= 0.0:
        return Calibration("confidence", (0.0, level))
    return Calibration("confidence", (slope, model.intercept - slope * float(model.mean[0])))
