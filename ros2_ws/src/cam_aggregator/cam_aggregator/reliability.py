"""How far each robot can be trusted, learned from training labels: honest, lying, or no use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from coterie_core.answers import AnswerTable, BoolArray, FloatArray

_CLAIM_YES, _CLAIM_NO = 4.5, 0.5  # belief in a claim "I saw it there" before any was checked
_LEAST_TRUE = 0.65  # a robot whose claims are true less often is not believed


@dataclass(frozen=True, slots=True)
class Reliability:
    """Trust in K robots.

    `honest` (K,): whether its claims to have seen a thing hold up. `yes_odds` and `no_odds` (K,):
    log-odds of YES that an answer yes or no of this robot stands for, where no robot has seen the
    thing. A robot that always says the opposite has the same odds with the sign changed, and so is
    as useful as before; one that answers at random has odds near 0.
    """

    honest: BoolArray
    yes_odds: FloatArray
    no_odds: FloatArray

    @staticmethod
    def of(table: AnswerTable) -> Reliability:
        """Learn from a labelled table."""
        truth = table.truth[:, None]
        claims = table.present & (table.evidence == 0)
        held = (claims & truth).sum(axis=0) + _CLAIM_YES
        honest = held / (claims.sum(axis=0) + _CLAIM_YES + _CLAIM_NO) > _LEAST_TRUE
        unseen = ~(claims & honest[None, :]).any(axis=1)[:, None]
        given = table.present & unseen

        def odds(said: BoolArray) -> FloatArray:
            true = ((given & said & truth).sum(axis=0) + 1.0) / ((given & truth).sum(axis=0) + 2.0)
            false = ((given & said & ~truth).sum(axis=0) + 1.0) / (
                (given & ~truth).sum(axis=0) + 2.0
            )
            return cast(FloatArray, np.log(true / false))

        return Reliability(honest, odds(table.answers), odds(~table.answers))

    def trusted(self, table: AnswerTable, kind: int) -> BoolArray:
        """Return where a robot that can be trusted gives evidence of this kind (N, K)."""
        return table.present & self.honest[None, :] & (table.evidence == kind)

    def pooled_answers(self, table: AnswerTable) -> FloatArray:
        """Return the sum of the log-odds of all answers given (N,)."""
        odds = np.where(table.answers, self.yes_odds[None, :], self.no_odds[None, :])
        return cast(FloatArray, np.where(table.present, odds, 0.0).sum(axis=1))

    def as_lists(self) -> dict[str, Any]:
        """Return plain data for a file."""
        return {
            "honest": self.honest.astype(int).tolist(),
            "yes_odds": self.yes_odds.tolist(),
            "no_odds": self.no_odds.tolist(),
        }

    @staticmethod
    def from_lists(data: dict[str, Any]) -> Reliability:
        """Return what `as_lists` wrote.

        Raises:
            KeyError, ValueError, TypeError: The data is not of that form.
        """
        return Reliability(
            np.array(data["honest"], dtype=bool),
            np.array(data["yes_odds"], dtype=float),
            np.array(data["no_odds"], dtype=float),
        )
