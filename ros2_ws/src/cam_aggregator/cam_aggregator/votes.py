"""Votes that need no training: majority vote and confidence-weighted vote."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from cam_aggregator.base import Aggregator, logit, sigmoid
from coterie_core.answers import AnswerTable, FloatArray

Tie = Literal["no", "yes", "abstain"]


class MajorityVote(Aggregator):
    """The answer that most robots gave (MELE, section 3.4.1); looks at answers only.

    A missing answer does not count. With an even number of answers a tie is possible: it goes to
    `tie`, by default to NO, since a thing that half of the team does not know of is more often not
    there. Confidence is the share of the answers given that agree.
    """

    name: ClassVar[str] = "majority_vote"

    def __init__(self, *, tie: Tie = "no", abstain_below: float = 0.0) -> None:
        super().__init__(abstain_below=abstain_below)
        if tie not in ("no", "yes", "abstain"):
            raise ValueError(f"tie must be 'no', 'yes' or 'abstain', got {tie!r}")
        self.tie = tie

    def p_yes(self, table: AnswerTable) -> FloatArray:
        """Return the share of robots that say yes; a tie is moved to its side by a hair."""
        given = table.present.sum(axis=1)
        yes = (table.answers & table.present).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(given > 0, yes / given, np.nan)
        tied = (given > 0) & (2 * yes == given)
        side = {"no": 0.5 - 1e-9, "yes": 0.5 + 1e-9, "abstain": np.nan}[self.tie]
        return np.where(tied, side, share)


class ConfidenceWeightedVote(Aggregator):
    """Log-odds pooling: each answer counts as much as the robot is sure of it.

    P(yes) = sigmoid(sum_k w_k), w_k = +-log(c_k / (1 - c_k)). Robots that are no surer than a coin
    count nothing; one sure robot outvotes several that guess.
    """

    name: ClassVar[str] = "confidence_vote"

    def p_yes(self, table: AnswerTable) -> FloatArray:
        """Return the pooled probability (N,); a perfect balance goes to NO by a hair."""
        total = (self._signed(table)).sum(axis=1)
        p = sigmoid(total)
        p = np.where(p == 0.5, 0.5 - 1e-9, p)
        return np.where(table.present.any(axis=1), p, np.nan)

    def weights(self, table: AnswerTable) -> FloatArray:
        """Return the size of each answer's log-odds (N, K)."""
        return np.abs(self._signed(table))

    @staticmethod
    def _signed(table: AnswerTable) -> FloatArray:
        return np.where(table.present, logit(table.p_yes), 0.0)
