"""Answers "is there an o in the r?" from a robot's memory plus common sense (MELE, 3.3)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from coterie_core.common_sense import CommonSense
from coterie_core.language import Decider, Decision, Message, as_data, decide_by_rule
from coterie_core.questions import Answer, Evidence, Question
from coterie_core.scene import Room
from coterie_core.team_memory import TeamMemory
from mele_explorer.memory import Memory
from mele_explorer.moves import after_moves, moved_text

_NUMBER = re.compile(r"\s*\d+$")
SYNONYM = 0.7
"""Probability that a thing is what was asked for if the detector calls it by another word."""

ANYWHERE = ("", "house", "home", "anywhere", "the house", "the home")
"""Room names that mean the whole house."""


@dataclass(frozen=True, slots=True)
class DetectorModel:
    """What a robot believes of its own detector.

    `hidden`: share of things that no look shows (in a closed container, behind another thing);
    `miss`: probability that a look misses one of the others; `false`: probability that a single
    report is of a thing that is not there. Counted in generated houses with the usual noise, a
    quarter of the things in rooms seen whole are not found.
    """

    hidden: float = 0.1
    miss: float = 0.17
    false: float = 0.05

    def overlooked(self, looks: float) -> float:
        """Return the probability (0..1) that `looks` views of its surroundings miss a thing."""
        return self.hidden + (1.0 - self.hidden) * self.miss**looks


@dataclass(frozen=True, slots=True)
class PresenceState:
    """A question with all that the answer depends on; `p_yes` (0..1) is the Bayes estimate."""

    robot: str
    question: Question
    observations: tuple[tuple[str, tuple[str, ...]], ...]
    evidence: Evidence
    p_yes: float
    note: str = ""


class PresenceReply(BaseModel):
    """A definite answer."""

    answer: Literal["yes", "no"] = Field(description="yes or no; there is no third choice")
    confidence: float = Field(ge=0.5, le=1.0, description="probability that the answer is right")
    explanation: str = Field("", max_length=400, description="one sentence")


class AnswerPresence(Decision[PresenceState, PresenceReply]):
    """Decide whether an object is in a room."""

    name: ClassVar[str] = "mele.answer"
    reply_type: ClassVar[type[BaseModel]] = PresenceReply
    max_tokens: ClassVar[int] = 200

    def prompt(self, state: PresenceState) -> Sequence[Message]:
        """Give the robot's memory as room -> objects, then the question."""
        memory = {room: list(labels) for room, labels in state.observations}
        evidence = state.evidence
        known = (
            f"You looked into that room {evidence.looks} times and saw "
            f"{evidence.visited_fraction:.0%} of the places you know in it well."
            if evidence.looks
            else "You have not looked into that room."
        )
        asked = {"object": state.question.object, "room": state.question.room or "whole house"}
        return (
            Message.system(
                "You are a household robot. You walked through a home and are now asked about it. "
                "Your notes list what you saw in each room. They are incomplete: you did not see "
                "everything, and your detector misses things. Where the notes do not decide, use "
                "what is usual in homes; an object can be present although it is not in the "
                "notes. Commit to yes or no."
            ),
            Message.user(
                f"{as_data('notes of the robot', memory, limit=16000)}\n{known}\n"
                f"{as_data('question', asked)}\nIs this object in this room?"
            ),
        )

    def rule(self, state: PresenceState) -> PresenceReply:
        """Answer with the likelier of yes and no, with its posterior probability."""
        yes = state.p_yes > 0.5
        evidence = state.evidence
        where = "the house" if state.question.room in ANYWHERE else "that room"
        if evidence.kind == "seen":
            text = (
                f"seen there {_times(evidence.sightings)}"
                if evidence.sightings
                else "something seen there may be one"
            )
        elif evidence.kind == "moved":
            text = moved_text(evidence)
        elif evidence.kind == "not_there":
            share = f"{evidence.visited_fraction:.0%}"
            text = (
                f"looked into {where} {_times(evidence.looks)} ({share} of its places), not found"
            )
        else:
            text = f"never been in {where}: common sense gives {evidence.prior:.0%}"
        if state.note:
            text = f"{text} ({state.note})"
        confidence = max(state.p_yes, 1.0 - state.p_yes)
        return PresenceReply(answer="yes" if yes else "no", confidence=confidence, explanation=text)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


class Answerer:
    """Answers questions from one robot's memory.

    Args:
        memory: What the robot remembers.
        sense: Prior knowledge about homes.
        decider: Who answers; None: the rule.
        detector: What the robot believes of its detector.
    """

    def __init__(
        self,
        memory: Memory,
        sense: CommonSense,
        decider: Decider | None = None,
        detector: DetectorModel | None = None,
    ) -> None:
        self.memory = memory
        self.sense = sense
        self.decider = decider
        self.detector = detector or DetectorModel()
        self.team: TeamMemory | None = None  # what robots did to objects, where anybody tells
        self._notes: tuple[tuple[str, tuple[str, ...]], ...] | None = None
        self._notes_at = -1
        self._alike_labels: dict[str, tuple[str, ...]] = {}
        self._alike_at = -1

    async def answer(self, question: Question) -> Answer:
        """Answer with the model, or with the rule where there is none or it fails."""
        if self.decider is None:
            return self.answer_by_rule(question)
        state = self.assess(question)
        decided = await self.decider.decide(AnswerPresence(), state)
        return _answer(state, decided.reply, decided.decided_by, decided.reason)

    def answer_by_rule(self, question: Question) -> Answer:
        """Answer with the rule."""
        state = self.assess(question)
        return _answer(state, decide_by_rule(AnswerPresence(), state).reply, "rule", "")

    def assess(self, question: Question) -> PresenceState:
        """Collect the evidence and the posterior probability of YES for one question."""
        label = " ".join(question.object.lower().split())
        asked = " ".join(question.room.lower().split())
        note = ""
        if asked in ANYWHERE:
            evidence, p_yes = self._any_of(label, list(self.memory.graph.rooms.values()), "")
        else:
            rooms = self._rooms(asked)
            if not rooms:
                note = "no room of that name is known here"
            evidence, p_yes = self._any_of(label, rooms, _NUMBER.sub("", asked))
        if evidence.kind == "seen" and label not in self.memory.labels:
            note = f"{' or '.join(self._alike(label))} taken for it"
        rooms = self._rooms(asked) if asked not in ANYWHERE else []
        evidence, p_yes = after_moves(evidence, p_yes, label, rooms, self.team, self.memory)
        return PresenceState(self.memory.robot, question, self._dictionary(), evidence, p_yes, note)

    def _dictionary(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the notes, remade only when the memory has changed."""
        if self._notes is None or self.memory.revision != self._notes_at:
            notes = self.memory.dictionary()
            self._notes = tuple((room, tuple(labels)) for room, labels in notes.items())
            self._notes_at = self.memory.revision
        return self._notes

    def _rooms(self, name: str) -> list[Room]:
        """Return the remembered room of this name, else all that the name is a part of.

        "bedroom" stands for "bedroom 1" and "guest bedroom"; a "lounge" is not asked about as
        "living room", since the house may have one of these, too, that was never seen.
        """
        room = self.memory.graph.room_named(name)
        if room is not None:
            return [room]
        return [
            room
            for room in self.memory.graph.rooms.values()
            if f" {_NUMBER.sub('', room.name.lower())}".endswith(f" {name}")
        ]

    def _in_room(self, label: str, room: Room | None, kind: str) -> tuple[Evidence, float]:
        """Return the evidence and P(yes) for one room.

        With prior p, share v of the room's places seen well, n looks at each of them and the
        probability m(n) that so many looks miss a thing, P(nothing seen | present) is
        1 - v + v m(n). Objects in memory count each with the probability that it is real and has
        the label.
        """
        labels = self._alike(label)
        known = self.memory.knowledge(labels, room)
        prior = min(max(self.sense.likelihood(label, kind), 0.001), 0.999)
        missed = self.detector.overlooked(known.looks_per_place)
        unseen = 1.0 - known.visited_fraction * (1.0 - missed)
        absent = 1.0 - prior * unseen / (prior * unseen + 1.0 - prior)
        sure = 1.0 if label in labels else SYNONYM
        real = [(key, self._is_real(key, share)) for key, share in known.found]
        none_real = 1.0
        for _, p in real:
            none_real *= 1.0 - p
        absent *= 1.0 - sure * (1.0 - none_real)
        elsewhere = self._elsewhere(labels, {room.id} if room is not None else set())
        ids = tuple(key for key, p in real if p >= 0.5)
        seen = bool(ids) or (1.0 - absent > 0.5 and bool(real))
        evidence = Evidence(
            "seen" if seen else "not_there" if known.looks else "prior_only",
            ids or tuple(key for key, _ in real if seen),
            known.looks,
            known.visited_fraction,
            prior,
            elsewhere,
            known.sightings,
        )
        return evidence, min(max(1.0 - absent, 0.001), 0.999)

    def _alike(self, label: str) -> tuple[str, ...]:
        """Return the labels in memory to look for: the one asked for, else its synonyms.

        Synonyms count only for a word that the robot's own detector never said: a "settee" may
        have been reported as a sofa, but who tells sofas from couches is taken at its word.
        """
        if label in self.memory.labels:
            return (label,)
        stamp = self.memory.revision
        if stamp != self._alike_at:
            self._alike_at, self._alike_labels = stamp, {}
        if label not in self._alike_labels:
            same = sorted(other for other in self.memory.labels if self.sense.alike(label, other))
            self._alike_labels[label] = tuple(same) or (label,)
        return self._alike_labels[label]

    def _elsewhere(self, labels: Collection[str], here: set[str]) -> tuple[str, ...]:
        """Return the names of the other rooms in which one of the labels was seen."""
        names = self.memory.graph.rooms
        return tuple(names[r].name for r in self.memory.rooms_with(labels) if r not in here)

    def _is_real(self, key: str, share: float) -> float:
        """Return the probability that an object is there and has a label held with this share."""
        sightings = max(1, self.memory.graph.objects[key].observations)
        return float(share * (1.0 - self.detector.false**sightings))

    def _any_of(self, label: str, rooms: Sequence[Room], kind: str) -> tuple[Evidence, float]:
        """Return the evidence and P(yes) for several rooms: at least one of them holds it.

        Without rooms, for one that was never seen and has this type.
        """
        absent, parts = 1.0, []
        for room in rooms:
            evidence, p_yes = self._in_room(label, room, room.type)
            absent *= 1.0 - p_yes
            parts.append(evidence)
        if len(parts) == 1:
            return parts[0], 1.0 - absent
        if not parts:
            return self._in_room(label, None, kind)
        seen = [part for part in parts if part.kind == "seen"]
        looks = sum(part.looks for part in parts)
        not_prior = 1.0
        for part in parts:
            not_prior *= 1.0 - part.prior
        evidence = Evidence(
            "seen" if seen else "not_there" if looks else "prior_only",
            tuple(dict.fromkeys(key for part in seen for key in part.objects)),
            looks,
            sum(part.visited_fraction for part in parts) / len(parts),
            1.0 - not_prior,
            self._elsewhere(self._alike(label), {room.id for room in rooms}),
            sum(part.sightings for part in parts),
        )
        return evidence, min(max(1.0 - absent, 0.001), 0.999)


def _answer(
    state: PresenceState, reply: PresenceReply, by: Literal["model", "rule"], reason: str
) -> Answer:
    return Answer(
        state.question.id,
        state.robot,
        reply.answer == "yes",
        reply.confidence,
        state.evidence,
        reply.explanation,
        by,
        reason,
    )
