"""AnswerTable: K robots' answers to N questions about one house as arrays, for aggregators."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt

from coterie_core.questions import Answer, Evidence, EvidenceKind, LabelledQuestion, Question

EVIDENCE_KINDS: tuple[EvidenceKind, ...] = get_args(EvidenceKind)
"""Order of `AnswerTable.evidence`: 0 seen, 1 not_there, 2 prior_only, 3 moved, 4 nothing."""

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64] | npt.NDArray[np.bool_] | Sequence[int]

_PER_QUESTION = ("questions", "objects", "rooms", "groups")
_PER_ANSWER = {
    "present": bool,
    "answers": bool,
    "confidence": float,
    "evidence": int,
    "looks": int,
    "visited_fraction": float,
    "elsewhere": int,
    "prior": float,
    "sightings": int,
}


@dataclass(slots=True)
class AnswerTable:
    """What K robots answer to N questions (object o, room r) about one house.

    Shapes: (N,) per question, (N, K) per question and robot. `truth` is y and `answers` is s_k of
    MELE, section 3.1. Where `present` is false a robot gave no answer, and the other columns hold
    neutral values. `confidence` (0.5..1) is the robot's own that its answer is right; `evidence`
    indexes EVIDENCE_KINDS; `looks` counts its observations in the room; `visited_fraction` (0..1)
    is the share of the room's known places it has seen well; `elsewhere` counts the other rooms in
    which it saw such a thing; `prior` (0..1) is what common sense says of (o, r); `sightings`
    counts the detections of o in r.
    """

    house: str
    agents: tuple[str, ...]
    questions: tuple[str, ...]
    objects: tuple[str, ...]
    rooms: tuple[str, ...]
    groups: tuple[str, ...]
    truth: BoolArray
    answers: BoolArray
    confidence: FloatArray
    evidence: IntArray
    looks: IntArray
    visited_fraction: FloatArray
    elsewhere: IntArray
    prior: FloatArray
    sightings: IntArray
    present: BoolArray = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))

    def __post_init__(self) -> None:
        """Check all shapes.

        Raises:
            ValueError: A column has another shape than the questions and agents ask for.
        """
        n, k = len(self.questions), len(self.agents)
        if self.present.size == 0 and n * k:
            self.present = np.ones((n, k), dtype=bool)
        for name in _PER_QUESTION:
            if len(getattr(self, name)) != n:
                raise ValueError(f"AnswerTable.{name} has {len(getattr(self, name))} rows, not {n}")
        if self.truth.shape != (n,):
            raise ValueError(f"AnswerTable.truth has shape {self.truth.shape}, not ({n},)")
        for name in _PER_ANSWER:
            shape = getattr(self, name).shape
            if shape != (n, k) and n * k:
                raise ValueError(f"AnswerTable.{name} has shape {shape}, not ({n}, {k})")

    def __len__(self) -> int:
        """Return the number of questions N."""
        return len(self.questions)

    @property
    def p_yes(self) -> FloatArray:
        """Probability of YES that each answer stands for (N, K)."""
        return np.where(self.answers, self.confidence, 1.0 - self.confidence)

    def accuracy(self) -> FloatArray:
        """Return each agent's share of right answers (K,), over those it gave (Eq. 1)."""
        right = (self.answers == self.truth[:, None]) & self.present
        given = np.maximum(self.present.sum(axis=0), 1)
        return cast(FloatArray, right.sum(axis=0) / given)

    def take(self, index: Index) -> AnswerTable:
        """Return the table of the chosen questions (positions or a mask), in that order."""
        chosen = np.arange(len(self))[
            np.asarray(index, dtype=bool if _is_mask(index) else np.int64)
        ]
        changes: dict[str, Any] = {
            name: tuple(getattr(self, name)[i] for i in chosen) for name in _PER_QUESTION
        }
        changes |= {name: getattr(self, name)[chosen] for name in ("truth", *_PER_ANSWER)}
        return replace(self, **changes)

    def with_agents(self, agents: Sequence[str]) -> AnswerTable:
        """Return the table of these robots only, in that order.

        Raises:
            KeyError: A robot is not in the table.
        """
        columns = np.array([self.column(agent) for agent in agents], dtype=np.int64)
        changes: dict[str, Any] = {name: getattr(self, name)[:, columns] for name in _PER_ANSWER}
        return replace(self, agents=tuple(agents), **changes)

    def column(self, agent: str) -> int:
        """Return the column of a robot.

        Raises:
            KeyError: It is not in the table; names those that are.
        """
        if agent not in self.agents:
            raise KeyError(f"no agent {agent!r} in this table; agents: {', '.join(self.agents)}")
        return self.agents.index(agent)

    def invert(self, agent: str) -> AnswerTable:
        """Return the table in which one robot lies: its answers inverted, all else unchanged.

        This is the malicious agent of MELE, section 4.3. It claims the confidence and the evidence
        that it truly has, so that nothing but the answer gives it away.
        """
        column = self.column(agent)
        answers = self.answers.copy()
        answers[:, column] = ~answers[:, column]
        return replace(self, answers=answers)

    def row(self, index: int) -> list[Answer]:
        """Return the answers that were given to one question."""
        return [
            Answer(
                self.questions[index],
                agent,
                bool(self.answers[index, k]),
                float(self.confidence[index, k]),
                Evidence(
                    EVIDENCE_KINDS[int(self.evidence[index, k])],
                    looks=int(self.looks[index, k]),
                    visited_fraction=float(self.visited_fraction[index, k]),
                    prior=float(self.prior[index, k]),
                    elsewhere=("?",) * int(self.elsewhere[index, k]),
                    sightings=int(self.sightings[index, k]),
                ),
            )
            for k, agent in enumerate(self.agents)
            if self.present[index, k]
        ]

    def question(self, index: int) -> LabelledQuestion:
        """Return one question with its truth."""
        question = Question(self.questions[index], self.objects[index], self.rooms[index])
        return LabelledQuestion(question, bool(self.truth[index]), self.groups[index])

    @staticmethod
    def of(
        house: str,
        agents: Sequence[str],
        questions: Sequence[LabelledQuestion],
        answers: Sequence[Answer],
    ) -> AnswerTable:
        """Build a table; answers to other questions or by other robots are left out.

        The last of several answers by one robot to one question counts.
        """
        n, k = len(questions), len(agents)
        rows = {item.question.id: i for i, item in enumerate(questions)}
        columns = {agent: j for j, agent in enumerate(agents)}
        data: dict[str, Any] = {
            name: np.zeros((n, k), dtype=kind) for name, kind in _PER_ANSWER.items()
        }
        data["confidence"][:] = 0.5
        data["prior"][:] = 0.5
        data["evidence"][:] = EVIDENCE_KINDS.index("prior_only")
        for answer in answers:
            i, j = rows.get(answer.question), columns.get(answer.robot)
            if i is None or j is None:
                continue
            evidence = answer.evidence
            values = {
                "present": True,
                "answers": answer.yes,
                "confidence": answer.confidence,
                "evidence": EVIDENCE_KINDS.index(evidence.kind),
                "looks": evidence.looks,
                "visited_fraction": evidence.visited_fraction,
                "elsewhere": len(evidence.elsewhere),
                "prior": evidence.prior,
                "sightings": evidence.sightings,
            }
            for name, value in values.items():
                data[name][i, j] = value
        return AnswerTable(
            house=house,
            agents=tuple(agents),
            questions=tuple(item.question.id for item in questions),
            objects=tuple(item.question.object for item in questions),
            rooms=tuple(item.question.room for item in questions),
            groups=tuple(item.group or item.question.object for item in questions),
            truth=np.array([item.truth for item in questions], dtype=bool),
            **data,
        )

    def to_json(self) -> str:
        """Return the table as JSON text."""
        data: dict[str, Any] = {"format": "coterie/answers/1"}
        for item in fields(self):
            value = getattr(self, item.name)
            data[item.name] = value.tolist() if isinstance(value, np.ndarray) else value
        return json.dumps(data)

    @staticmethod
    def from_json(text: str) -> AnswerTable:
        """Return the table that `to_json` wrote.

        Raises:
            ValueError: The text is no such table; names what is missing or wrong.
        """
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"not an answer table: no valid JSON ({error})") from error
        if not isinstance(data, dict) or data.get("format") != "coterie/answers/1":
            raise ValueError("not an answer table: expected the field format = 'coterie/answers/1'")
        missing = [item.name for item in fields(AnswerTable) if item.name not in data]
        if missing:
            raise ValueError(f"not an answer table: missing field(s) {', '.join(missing)}")
        n, k = len(data["questions"]), len(data["agents"])
        arrays: dict[str, Any] = {
            name: np.array(data[name], dtype=kind).reshape(n, k)
            for name, kind in _PER_ANSWER.items()
        }
        texts: dict[str, Any] = {name: tuple(data[name]) for name in (*_PER_QUESTION, "agents")}
        truth = np.array(data["truth"], dtype=bool)
        return AnswerTable(house=data["house"], truth=truth, **texts, **arrays)


def _is_mask(index: Index) -> bool:
    return bool(np.asarray(index).dtype == np.bool_)
