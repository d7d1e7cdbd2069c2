"""What the team would have answered: without a robot, or by another aggregator."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from cam_aggregator.base import Aggregator, AggregatorError
from cam_aggregator.moved import after_moves
from cam_aggregator.registry import accepted_options, aggregator_names, make_aggregator
from cam_aggregator.store import ModelFileError, load_model
from coterie_core.plain_data import schema_problems
from coterie_core.questions import Answer, Evidence, FinalAnswer, Question
from coterie_core.yaml_checks import suggestion
from coterie_safety.why import Record
from coterie_safety.why.words import line, mappings
from research.whatif.rerun.kept import CannotReplay, KeptNodes

_CLOSE = 1e-6
"""How near two confidences are that count as the same."""
_ANSWERS: TypeAdapter[Answer] = TypeAdapter(Answer)
_QUESTIONS: TypeAdapter[Question] = TypeAdapter(Question)


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """A question's answer as it was, and as it would have been."""

    question: str
    words: str
    before: FinalAnswer
    after: FinalAnswer

    @property
    def differs(self) -> bool:
        """Whether another answer is given."""
        return self.before.yes != self.after.yes


class AnswersAgain:
    """Answers questions of a run again from what the robots said then.

    Args:
        nodes: Parameters of the run's nodes.
        without: Robots that are left out.
        aggregator: Name of another aggregator; "": the same.

    Raises:
        CannotReplay: The run has no aggregator, no such robot, or one that cannot be had again.
    """

    def __init__(
        self, nodes: KeptNodes, without: Collection[str] = (), aggregator: str = ""
    ) -> None:
        parameters = nodes.of("aggregator")
        if not parameters:
            raise CannotReplay("this run has no aggregator: its answers come from one agent alone")
        self.robots: list[str] = [str(robot) for robot in parameters.get("robots", ())]
        strangers = [robot for robot in without if robot not in self.robots]
        if strangers:
            raise CannotReplay(
                f"--without {strangers[0]}: no robot whose answers count"
                f"{suggestion(strangers[0], self.robots)}; these are {', '.join(self.robots)}"
            )
        if aggregator and aggregator not in aggregator_names():
            raise CannotReplay(
                f"--aggregator {line(aggregator)}: no such aggregator"
                f"{suggestion(aggregator, aggregator_names())}; there are "
                f"{', '.join(aggregator_names())}"
            )
        self.without = frozenset(without)
        self._parameters = parameters
        self.method = str(parameters["method"])
        self._abstain = float(parameters.get("abstain_below", 0.0))
        self._made: dict[str, Aggregator] = {}
        self.changed = aggregator or self.method

    def again(self, record: Record) -> AnswerChange:
        """Answer a question again as it was, and with the change.

        Raises:
            CannotReplay: Its answer does not come out as it was kept, or not with the change.
        """
        body = record.body
        question, answers = _read(body)
        kept = str(body.get("method", ""))
        if kept == "debate":
            raise CannotReplay(
                "the robots debated this answer: what they would have said otherwise is not kept"
            )
        before = self._answer(kept, question, answers, self.robots)
        was = body.get("yes"), body.get("confidence")
        same = before.yes == was[0] and isinstance(was[1], (int, float))
        if not same or abs(before.confidence - float(was[1] or 0.0)) > _CLOSE:
            raise CannotReplay(
                f"the answer does not come out again as it was: kept {_told(was[0], was[1])}, now "
                f"{_told(before.yes, before.confidence)}; was {kept} trained anew since?"
            )
        team = [robot for robot in self.robots if robot not in self.without]
        left = [answer for answer in answers if answer.robot not in self.without]
        method = kept if self.changed == self.method else self.changed
        after = self._answer(method, question, left, team)
        return AnswerChange(question.id, str(body.get("words", "")), before, after)

    def _answer(
        self, method: str, question: Question, answers: Sequence[Answer], team: Sequence[str]
    ) -> FinalAnswer:
        try:
            final = self._aggregator(method).decide(question, answers, team)
        except AggregatorError as error:
            raise CannotReplay(f"{method}: {error}") from None
        return after_moves(final, answers, team, abstain_below=self._abstain)

    def _aggregator(self, name: str) -> Aggregator:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Aggregator:
        if name == "debate":
            raise CannotReplay("debate: what the robots would have said to one another is not kept")
        if name == "confidence_vote" and name != self.method:
            return make_aggregator(name)  # the node's fallback, which has no options
        seed, least = self._parameters.get("seed", 0), self._abstain
        options = {"seed": seed, "abstain_below": least}
        known = accepted_options(name)
        made = make_aggregator(name, **{k: v for k, v in options.items() if k in known})
        if not made.needs_labels:
            return made
        folder = Path(str(self._parameters.get("model_directory", ""))) / name
        house = str(self._parameters.get("house", ""))
        try:
            stored = load_model(folder, house=house, agents=self.robots, method=name)
        except ModelFileError as error:
            raise CannotReplay(f"{name} has to be trained first: {error}") from None
        stored.abstain_below = least
        return stored


def _read(body: Mapping[str, Any]) -> tuple[Question, list[Answer]]:
    """Return the question and the robots' answers that a record holds."""
    names = Answer.__dataclass_fields__.keys()
    try:
        question = _QUESTIONS.validate_python(body.get("question"))
        answers = [
            _ANSWERS.validate_python({k: v for k, v in vote.items() if k in names})
            for vote in mappings(body.get("votes"))
        ]
    except ValidationError as error:
        problems = schema_problems(error, "record", most=3)
        raise CannotReplay(f"no robots' answers are kept with it ({problems})") from None
    return question, answers


def _told(yes: object, confidence: object) -> str:
    word = {True: "yes", False: "no"}.get(bool(yes), "") if yes is not None else "it cannot tell"
    return f"{word}, {confidence:.3f}" if isinstance(confidence, (int, float)) else word


__all__ = ["AnswerChange", "AnswersAgain", "Evidence"]
