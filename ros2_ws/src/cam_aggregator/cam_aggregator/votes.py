"""Votes that need no training: majority vote and confidence-weighted vote."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from cam_aggregator.base import Aggregator, votes_told
from coterie_core.answer_table import AnswerTable, FloatArray
from coterie_core.confidence import ConfidenceModel, observed, probability, shared_prior
from coterie_core.questions import percent

Tie = Literal["no", "yes", "abstain"]


class MajorityVote(Aggregator):
    """The answer that most robots gave (MELE, section 3.4.1); looks at answers only.

    A missing answer does not count. With an even number of answers a tie is possible: it goes to
    `tie`, by default to NO, since a thing that half of the team does not know of is more often not
    there.
    """

    name: ClassVar[str] = "majority_vote"
    own_confidence: ClassVar[bool] = False

    def __init__(
        self,
        *,
        tie: Tie = "no",
        abstain_below: float = 0.0,
        confidence: ConfidenceModel | None = None,
    ) -> None:
        super().__init__(abstain_below=abstain_below, confidence=confidence)
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
    """Bayes' theorem over what the robots observed; common sense, which they share, counts once.

    log-odds(yes) = log-odds(common sense) + what was seen - what was looked for in vain. The
    strongest observation of each direction counts in full, further ones less and less, since robots
    share their detector and look at the same places (`coterie_core.confidence.TeamModel`). A robot
    that observed nothing adds nothing, however many of them there are.
    """

    name: ClassVar[str] = "confidence_vote"

    def p_yes(self, table: AnswerTable) -> FloatArray:
        """Return P(yes) (N,); a perfect balance goes to NO by a hair."""
        return self.numbers.team_p(table)

    def weights(self, table: AnswerTable) -> FloatArray:
        """Return the size of the log-likelihood ratio of each robot's observation (N, K)."""
        return np.abs(observed(table))

    def explain(self, table: AnswerTable, i: int, p: float) -> str:
        """Return how many say yes, and how likely it was before and after the robots looked."""
        before = percent(float(probability(shared_prior(table))[i]))
        return (
            f"{votes_told(table, i)}; yes is {before} likely by common sense and the team's map, "
            f"and {percent(p)} with what each robot saw"
        )
