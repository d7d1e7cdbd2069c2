"""A team decides by a rule of your own: my_aggregator.yaml names the class below."""

import os
from pathlib import Path

import numpy as np

from cam_aggregator.base import Aggregator
from coterie import Team
from coterie_core.answer_table import AnswerTable


class AnyYes(Aggregator):
    """YES as soon as one robot says so."""

    name = "any_yes"

    def p_yes(self, table: AnswerTable) -> np.ndarray:
        """Return the probability of YES for each question, shape (questions,)."""
        said = (table.answers & table.present).any(axis=1)
        return np.where(said, 0.9, 0.2)


if __name__ == "__main__":
    here = Path(__file__).parent
    # The team's processes find the class by the path of modules that they inherit.
    os.environ["PYTHONPATH"] = f"{here}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    with Team(here / "my_aggregator.yaml") as team:
        answer = team.ask("Is there a mug in the kitchen?", explore=False)
        print(f"{answer.text}, {answer.confidence:.0%} sure, as {answer.method} decides")
