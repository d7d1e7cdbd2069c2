"""Split-conformal thresholds: how sure an answer must be, so that so many are right or withheld.

An answer is withheld where its confidence is not above a threshold q. Of an answer the score is its
confidence if it is wrong, and 0 if it is right: it is wrong and not withheld where the score is
above q. Answers about one house depend on one another, so houses are what is exchangeable: with K
calibration houses of N_k answers each, q is the `level` quantile of the scores with weights
1 / ((K + 1) N_k) and the weight 1 / (K + 1) at infinity (hierarchical conformal prediction, Lee,
Barber and Willett 2023). Then an answer about a new house of the same kind is right or withheld
with probability `level` at least.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Annotated

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coterie_core.answer_table import BoolArray, FloatArray
from coterie_core.plain_data import schema_problems
from coterie_core.yaml_marks import OWN, read_yaml

LEVELS = (0.8, 0.9, 0.95)
"""Shares that thresholds are kept for."""
DENIAL_LEVEL = 0.95
"""Level of denials. They presume more than answers: who asks where a thing is mostly knows it."""
LEARNED_FROM = 60
"""Labels of the house from which methods that learn had learned when their thresholds were made."""
WITHHOLD_ALL = 1.0
"""A threshold that no confidence is above: there were too few houses for the level."""
Threshold = Annotated[float, Field(ge=0.0, le=1.0)]


def threshold(
    confidence: FloatArray, right: BoolArray, houses: Sequence[str], level: float
) -> float:
    """Return the confidence that an answer must be above to be given.

    Args:
        confidence: Confidence of each answer (N,), 0..1.
        right: Whether it was right (N,).
        houses: The house that each was about (N,).
        level: Share (0..1) of answers that shall be right or withheld.

    Raises:
        ValueError: No answers, or arrays of different lengths.
    """
    if not len(confidence) or not len(confidence) == len(right) == len(houses):
        raise ValueError(
            f"expected as many confidences, truths and houses, at least one; got "
            f"{len(confidence)}, {len(right)}, {len(houses)}"
        )
    names, of, counts = np.unique(np.asarray(houses), return_inverse=True, return_counts=True)
    scores = np.where(right, 0.0, confidence)
    weights = 1.0 / ((len(names) + 1.0) * counts[of])
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order])
    # The sum of many small weights may fall short of what it is by a hair.
    k = int(np.searchsorted(reached, level - 1e-9))
    return WITHHOLD_ALL if k == len(scores) else float(scores[order[k]])


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Thresholds(_Part):
    """Thresholds by level: of answers by method, without and with a robot that lies; of denials.

    Attributes:
        made_from: Houses that the thresholds were computed on.
        command: Command that writes this file.
        answers: Method -> level in percent -> threshold.
        with_liar: The same where one robot of the team turns its answers round.
        open_answers: Level in percent -> threshold of answers to open questions by the rules.
        open_with_liar: The same where a robot that lies has part in the map.
        denials: Level in percent -> how sure it must be that a house has no such thing.
        denials_here: The same of some of its rooms.
    """

    made_from: str = ""
    command: str = ""
    answers: Mapping[str, Mapping[int, Threshold]] = {}
    with_liar: Mapping[str, Mapping[int, Threshold]] = {}
    open_answers: Mapping[int, Threshold] = {}
    open_with_liar: Mapping[int, Threshold] = {}
    denials: Mapping[int, Threshold] = {}
    denials_here: Mapping[int, Threshold] = {}

    def answer(self, method: str, level: float, *, liar: bool = False) -> float:
        """Return the confidence that answers of a method must be above.

        Raises:
            ValueError: There is none for the method, or the level.
        """
        table = (self.with_liar if liar else self.answers).get(method)
        if table is None:
            raise ValueError(
                f"no threshold was calibrated for method {method!r}; there are some for "
                f"{', '.join(sorted(self.answers)) or 'none'}: set abstain_below instead"
            )
        return _at(table, level)

    def open_answer(self, level: float, *, liar: bool = False) -> float:
        """Return the confidence that answers to open questions must be above.

        Raises:
            ValueError: There is none for the level.
        """
        return _at(self.open_with_liar if liar else self.open_answers, level)

    def denial(self, level: float, *, everywhere: bool = True) -> float:
        """Return how sure an absence must be to be told as one: from a house, or from some rooms.

        Raises:
            ValueError: There is none for the level.
        """
        return _at(self.denials if everywhere else self.denials_here, level)


def _at(table: Mapping[int, float], level: float) -> float:
    found = table.get(round(100 * level))
    if found is None or not math.isclose(round(100 * level), 100 * level, abs_tol=1e-6):
        raise ValueError(
            f"no threshold for a coverage of {level:g}; there are some for "
            f"{', '.join(f'{k / 100:g}' for k in sorted(table))}"
        )
    return found


@cache
def load_conformal() -> Thresholds:
    """Return the thresholds that come with this package (read once).

    Raises:
        ValueError: The data file is broken; says where.
    """
    text = resources.files("coterie_core").joinpath("data/conformal.yaml").read_text("utf-8")
    try:
        return Thresholds.model_validate(read_yaml(text, OWN))
    except yaml.YAMLError as error:
        raise ValueError(f"conformal.yaml: not YAML: {error}") from None
    except ValidationError as error:
        raise ValueError(f"conformal.yaml: {schema_problems(error)}") from None
