"""Regularised logistic regression in numpy: fast, exact, and plain numbers in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from coterie_core.answer_table import BoolArray, FloatArray
from coterie_core.confidence import probability

_STEPS = 50
_TOLERANCE = 1e-8


@dataclass(frozen=True, slots=True)
class LinearModel:
    """P(yes) = sigmoid(intercept + sum_j weight_j (x_j - mean_j) / scale_j), all (F,)."""

    mean: FloatArray
    scale: FloatArray
    weight: FloatArray
    intercept: float

    @staticmethod
    def trained(inputs: FloatArray, truth: BoolArray, strength: float) -> LinearModel:
        """Fit on inputs (N, F) by Newton's method.

        Minimises the log-loss summed over examples plus |weight|^2 / (2 strength), as
        scikit-learn's LogisticRegression(C=strength) does on standardised inputs; the intercept is
        all but free. Labels that are all alike are fine: the penalty keeps the result finite.
        """
        n, f = inputs.shape
        mean = inputs.mean(axis=0)
        spread = inputs.std(axis=0)
        scale = np.where(spread > 1e-9, spread, 1.0)
        x = np.column_stack([(inputs - mean) / scale, np.ones(n)])
        penalty = np.append(np.full(f, 1.0 / strength), 0.1)
        beta = _newton(x, truth.astype(float), penalty)
        return LinearModel(mean, scale, beta[:-1], float(beta[-1]))

    def probability(self, inputs: FloatArray) -> FloatArray:
        """Return P(yes) (N,)."""
        return probability(((inputs - self.mean) / self.scale) @ self.weight + self.intercept)

    def as_lists(self) -> dict[str, Any]:
        """Return plain data for a file."""
        return {
            "mean": self.mean.tolist(),
            "scale": self.scale.tolist(),
            "weight": self.weight.tolist(),
            "intercept": self.intercept,
        }

    @staticmethod
    def from_lists(data: dict[str, Any], size: int) -> LinearModel:
        """Return what `as_lists` wrote for `size` inputs.

        Raises:
            KeyError, ValueError, TypeError: The data is not of that form.
        """
        mean, scale, weight = (
            np.array(data[name], dtype=float) for name in ("mean", "scale", "weight")
        )
        arrays = (mean, scale, weight)
        if any(array.shape != (size,) or not np.isfinite(array).all() for array in arrays):
            raise ValueError(f"a linear model of {size} inputs needs as many finite numbers each")
        return LinearModel(mean, scale, weight, float(data["intercept"]))


def _newton(x: FloatArray, y: FloatArray, penalty: FloatArray) -> FloatArray:
    """Return the minimum (F,) of the penalised log-loss; halves steps that do not improve."""

    def loss(beta: FloatArray) -> float:
        z = x @ beta
        return float((np.logaddexp(0.0, z) - y * z).sum() + 0.5 * (penalty * beta**2).sum())

    beta = np.zeros(x.shape[1])
    now = loss(beta)
    for _ in range(_STEPS):
        p = probability(x @ beta)
        gradient = x.T @ (p - y) + penalty * beta
        hessian = (x * (p * (1.0 - p))[:, None]).T @ x + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while loss(beta - size * step) > now and size > 1e-6:
            size *= 0.5
        beta = beta - size * step
        before, now = now, loss(beta)
        if before - now < _TOLERANCE:
            break
    return cast(FloatArray, beta)
