"""Confidence of an answer, from common sense, what a look tells and what robots share.

All numbers come from `data/confidence.yaml`, fitted by `./coterie bench calibration --fit` on
houses that are named there. Probabilities are those of questions of which half are truly YES.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Annotated, Any, cast

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coterie_core.answer_table import EVIDENCE_KINDS, AnswerTable, BoolArray, FloatArray
from coterie_core.plain_data import schema_problems
from coterie_core.questions import EvidenceKind
from coterie_core.yaml_marks import OWN, read_yaml

MIN_PROBABILITY = 1e-3
"""Probabilities are kept this far from 0 and 1: a robot that is sure may still be wrong."""

Share = Annotated[float, Field(ge=0.0, le=1.0)]

_SEEN, _PRIOR_ONLY = EVIDENCE_KINDS.index("seen"), EVIDENCE_KINDS.index("prior_only")
_NOTHING = EVIDENCE_KINDS.index("nothing")


def log_odds(p: Any) -> FloatArray:
    """Return log-odds of probabilities, which are first kept off 0 and 1."""
    q = np.clip(p, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    return cast(FloatArray, np.log(q / (1.0 - q)))


def probability(x: Any) -> FloatArray:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * np.asarray(x, dtype=float)))


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PriorModel(_Part):
    """How likely a room holds a thing of which common sense says `p`, before anybody looked.

    low + (high - low) sigmoid(shift + slope logit(p)): homes differ from what is usual, so that
    even what belongs there is missing at times, and what does not is found.
    """

    low: Share = 0.0
    high: Share = 1.0
    shift: float = 0.0
    slope: float = Field(1.0, gt=0.0)

    def of(self, p: Any) -> FloatArray:
        """Return the probability of what common sense gives the probability `p` (any shape)."""
        return self.low + (self.high - self.low) * probability(
            self.shift + self.slope * log_odds(p)
        )


class DetectorModel(_Part):
    """What a robot believes of its own detector.

    `hidden`: share of things that no look shows (in a closed container, behind another thing, or of
    a kind that the detector does not know); `miss`: probability that a look misses one of the
    others; `false`: probability that a single report is of a thing that is not there. `shift` and
    `slope` bring the log-odds that a remembered object is what was asked for to what turns out so.
    """

    hidden: Share = 0.1
    miss: Share = 0.17
    false: Share = 0.05
    shift: float = 0.0
    slope: float = Field(1.0, gt=0.0)

    def overlooked(self, looks: Any) -> Any:
        """Return the probability (0..1) that `looks` views of its surroundings miss a thing."""
        return self.hidden + (1.0 - self.hidden) * self.miss**looks

    def there(self, prior: Any, visited_fraction: Any, looks_per_place: Any, found: Any) -> Any:
        """Return P(yes) of one room (scalars, or arrays of one shape).

        With prior p, share v of the room's places seen well, n looks at each of them and the
        probability m(n) that so many looks miss a thing, P(nothing seen | present) is
        1 - v + v m(n). What was found is there with a probability of its own.

        Args:
            prior: p, 0..1.
            visited_fraction: v, 0..1.
            looks_per_place: n, at least 1.
            found: Probability that one of the remembered objects is such a thing (0..1).
        """
        unseen = 1.0 - visited_fraction * (1.0 - self.overlooked(looks_per_place))
        absent = 1.0 - prior * unseen / (prior * unseen + 1.0 - prior)
        sure = np.where(found > 0.0, probability(self.shift + self.slope * log_odds(found)), 0.0)
        return np.clip(1.0 - absent * (1.0 - sure), MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)


class TeamModel(_Part):
    """What answers of several robots are worth together.

    Robots share common sense, which counts once, and have the same detector: what it misses for
    one it misses for all, and what it takes a thing for. The strongest observation counts in full;
    all others of its direction together count `others` times their log-likelihood ratio, and
    however many there are, no more than `others` times `most`.
    """

    others_no: Share = 1.0
    most_no: float = Field(100.0, gt=0.0)
    others_yes: Share = 1.0
    most_yes: float = Field(100.0, gt=0.0)

    def pooled(self, prior: FloatArray, told: FloatArray) -> FloatArray:
        """Return log-odds of YES (N,).

        Args:
            prior: Log-odds (N,) before anybody looked.
            told: Log-likelihood ratio (N, K) of what each robot observed; 0: it observed nothing.
        """
        total = prior.astype(float)
        for sign, share, most in (
            (1.0, self.others_yes, self.most_yes),
            (-1.0, self.others_no, self.most_no),
        ):
            part = np.maximum(sign * told, 0.0)
            best = part.max(axis=1, initial=0.0)
            rest = part.sum(axis=1) - best
            total = total + sign * (best + share * most * -np.expm1(-rest / most))
        return cast(FloatArray, total)


class ConfidenceModel(_Part):
    """All of it; `fitted_on` says on which houses and seeds the numbers were found."""

    fitted_on: str = ""
    prior: PriorModel = PriorModel()
    detector: DetectorModel = DetectorModel()
    team: TeamModel = TeamModel()

    def team_p(self, table: AnswerTable) -> FloatArray:
        """Return P(yes) of each question (N,) from all answers; NaN where nobody can tell."""
        p = probability(self.team.pooled(shared_prior(table), observed(table)))
        able = (table.present & (table.evidence != _NOTHING)).any(axis=1)
        return np.where(able, np.where(p == 0.5, 0.5 - 1e-9, p), np.nan)


def observed(table: AnswerTable) -> FloatArray:
    """Return what each robot's own observation adds to common sense (N, K), as log-odds.

    An answer that goes against its own evidence (it saw the thing and says NO; it looked, found
    none, and is surer of YES than before) adds nothing, and so does one without any observation:
    a robot that turns its answers round only makes itself unheard.
    """
    told = log_odds(table.p_yes) - log_odds(table.prior)
    told = np.where(table.evidence == _SEEN, np.maximum(told, 0.0), np.minimum(told, 0.0))
    looked: BoolArray = (table.evidence != _PRIOR_ONLY) & (table.evidence != _NOTHING)
    return np.where(table.present & looked, told, 0.0)


def observed_shift(kind: EvidenceKind, shift: float) -> float:
    """Return what one answer with this evidence adds [log-odds], as `observed` does."""
    if kind in ("prior_only", "nothing"):
        return 0.0
    return max(shift, 0.0) if kind == "seen" else min(shift, 0.0)


def shared_prior(table: AnswerTable) -> FloatArray:
    """Return the log-odds (N,) that the robots' common sense gives: the median over robots.

    A robot that has not been there says what it expects; of others it is in their evidence.
    """
    guess = np.where(table.evidence == _PRIOR_ONLY, table.p_yes, table.prior)
    able = table.present & (table.evidence != _NOTHING)
    odds = np.where(able, log_odds(guess), np.nan)
    some = able.any(axis=1)
    middle = np.zeros(len(table))
    if some.any():
        middle[some] = np.nanmedian(odds[some], axis=1)
    return middle


@cache
def load_confidence() -> ConfidenceModel:
    """Return the numbers that come with this package (read once).

    Raises:
        ValueError: The data file is broken; says where.
    """
    text = resources.files("coterie_core").joinpath("data/confidence.yaml").read_text("utf-8")
    return parse_confidence(text)


def parse_confidence(text: str) -> ConfidenceModel:
    """Read the numbers from YAML.

    Raises:
        ValueError: Not YAML, or an entry is wrong; names it.
    """
    try:
        return ConfidenceModel.model_validate(read_yaml(text, OWN))
    except yaml.YAMLError as error:
        raise ValueError(f"confidence.yaml: not YAML: {error}") from None
    except ValidationError as error:
        raise ValueError(f"confidence.yaml: {schema_problems(error)}") from None
