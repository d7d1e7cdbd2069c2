"""Answers "is there an o in the r?" from a robot's memory plus common sense (MELE, 3.3)."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from coterie_core.confidence import DetectorModel, PriorModel, load_confidence
from coterie_core.questions import Answer, Evidence, Question
from coterie_llm import Decider, RulesModel
from coterie_requests.common_sense import CommonSense
from coterie_requests.detector_vocabulary import DetectorVocabulary
from coterie_requests.presence import unknown_room
from coterie_safety.why import about
from coterie_world.meaning import Meanings, likeness_by_label
from coterie_world.scene import Room
from coterie_world.team_memory import TeamMemory
from mele_explorer.answer_presence import (
    ANYWHERE,
    AnswerPresence,
    PresenceReply,
    PresenceState,
    RoomNotes,
)
from mele_explorer.memory import Memory
from mele_explorer.moves import after_moves, brought_text
from mele_explorer.team_map import Held, any_of, held_in, held_text, rooms_of

_NUMBER = re.compile(r"\s*\d+$")
SYNONYM = 0.7
"""Probability that a thing is what was asked for if the detector calls it by another word."""
_SUREST = 0.999  # probability that the team's map can give at most


@dataclass(frozen=True, slots=True)
class Findings:
    """What a robot has found of a thing in a room.

    `sense`: what common sense says (0..1); `visited` (0..1): share of the room's known places seen
    well, with `looks_per_place` views each, `looks` in all; `found` (0..1): probability that one of
    the remembered `objects` (id, probability of each) is such a thing, `best` that of the
    likeliest; `elsewhere`: names of other rooms with such a thing; `sightings`: detections here.
    """

    sense: float
    visited: float
    looks_per_place: float
    looks: int
    found: float
    best: float
    objects: tuple[tuple[str, float], ...]
    elsewhere: tuple[str, ...]
    sightings: int


class Answerer:
    """Answers questions from one robot's memory.

    Args:
        memory: What the robot remembers.
        sense: Prior knowledge about homes.
        decider: Who answers; None: the rule.
        detector: What the robot believes of its detector; None: as measured (see confidence.yaml).
        prior: What it makes of common sense; None: as measured.
        vocabulary: What its detector can report; None: it is not known.
        rooms: Names of rooms that the house is known to have besides those in memory.
        meanings: Compares what is asked for with labels, where notes have to be cut.
    """

    def __init__(
        self,
        memory: Memory,
        sense: CommonSense,
        decider: Decider | None = None,
        detector: DetectorModel | None = None,
        prior: PriorModel | None = None,
        vocabulary: DetectorVocabulary | None = None,
        rooms: Collection[str] = (),
        meanings: Meanings | None = None,
    ) -> None:
        self.memory = memory
        self.meanings = meanings
        self.sense = sense
        self.decider = decider
        self.team: TeamMemory | None = None  # what robots did to objects, where anybody tells
        self.detector = detector or load_confidence().detector
        self.prior = prior or load_confidence().prior
        self.vocabulary = vocabulary or DetectorVocabulary()
        self.rooms = tuple(rooms)
        self._notes: tuple[RoomNotes, ...] | None = None
        self._notes_at = -1
        self._alike_labels: dict[str, tuple[str, ...]] = {}
        self._alike_at = -1

    async def answer(self, question: Question) -> Answer:
        """Answer with the model, or with the rule where there is none or it fails."""
        if self.decider is None:
            return self.answer_by_rule(question)
        state = self.assess(question)
        if state.evidence.kind == "nothing" and self.decider.rule_only:
            return self.answer_by_rule(question)
        state = replace(state, likeness=await self.likeness(question))
        with about(question=question.id):
            decided = await self.decider.decide(AnswerPresence(), state)
        if state.evidence.kind == "nothing" and decided.decided_by == "model":
            state, decided.reply.reason = _by_model_alone(state, decided.reply)
        return _answer(state, decided.reply, decided.decided_by, decided.reason)

    async def likeness(self, question: Question) -> Mapping[str, float]:
        """Return how near the labels in memory are to what is asked for, where a model answers."""
        if self.decider is None or self.decider.rule_only:
            return {}
        return await likeness_by_label(self.meanings, question.object, self.memory.labels)

    def answer_by_rule(self, question: Question) -> Answer:
        """Answer with the rule."""
        state = self.assess(question)
        decider = self.decider or Decider(RulesModel())
        with about(question=question.id):
            decided = decider.decide_by_rule(AnswerPresence(), state)
        return _answer(state, decided.reply, "rule", "")

    def assess(self, question: Question) -> PresenceState:
        """Collect the evidence and the posterior probability of YES for one question."""
        label = " ".join(question.object.lower().split())
        asked = " ".join(question.room.lower().split())
        note = told = ""
        if asked in ANYWHERE:
            rooms = list(self.memory.graph.rooms.values())
            rooms += [room for room in self._others_rooms() if self._held(label, room)]
            evidence, p_yes = self._any_of(label, rooms, "")
        else:
            rooms = self._rooms(asked)
            if not rooms:
                note = "no room of that name is known here"
            evidence, p_yes = self._any_of(label, rooms, _NUMBER.sub("", asked))
        kinds = self._alike(label)
        found = (p for room in rooms for _, p in self.memory.knowledge(kinds, room).found)
        likely = max(found, default=0.0)
        if evidence.kind == "seen" and label not in self.memory.labels:
            note = f"{' or '.join(kinds)} taken for it"
        held = [one for room in rooms for one in self._held(label, room)]
        rooms = rooms if asked not in ANYWHERE else []
        evidence, p_yes = after_moves(evidence, p_yes, label, rooms, asked, self.team, self.memory)
        if held and evidence.kind in ("not_there", "prior_only"):
            now = self.team.time if self.team is not None else 0.0
            told = held_text(held, now)
            seen = max((one.seen for one in held if one.seen is not None), default=now)
            if evidence.kind == "prior_only":
                evidence = replace(evidence, age=max(now - seen, 0.0))
        elif evidence.kind == "seen":
            told = brought_text(evidence, self.memory)
        elif evidence.kind != "moved":
            why = self._cannot_tell(label, asked)
            if why:
                note = why
                evidence = replace(evidence, kind="nothing", prior=0.5)
                p_yes = 0.5
        note = "" if evidence.kind == "moved" else note
        return PresenceState(
            self.memory.robot,
            question,
            self._noted(),
            evidence,
            p_yes,
            note,
            told,
            self._reports(label),
            self.detector.miss,
            self.detector.hidden,
            likely=likely,
        )

    def _cannot_tell(self, label: str, asked: str) -> str:
        """Return why not having seen such a thing there says nothing; empty where it says a lot."""
        word = self.vocabulary.check(label, self.memory.labels).sentence()
        if word or asked in ANYWHERE or self._rooms(asked):
            return word
        known = (*self.memory.graph.rooms.values(), *self._others_rooms())
        names = [*self.rooms, *(room.name for room in known)]
        return unknown_room(asked, names, all_known=self._knows_whole_house())

    def _reports(self, label: str) -> str:
        """Tell whether the detector can report such things; "" where that is not known."""
        check = self.vocabulary.check(label, self.memory.labels)
        if check.reportable:
            return "yes" if self.vocabulary.labels is not None else ""
        near = f"; words most like it: {', '.join(check.nearest)}" if check.nearest else ""
        known = "no" if check.reporting == "never_reported" else "the word is not in its lists"
        return known + near

    def _knows_whole_house(self) -> bool:
        """Tell whether the robot has been at every place: one seen from afar may have others."""
        places = self.memory.graph.places
        return len(places) > 1 and all(self.memory.visits.get(place) for place in places)

    def _noted(self) -> tuple[RoomNotes, ...]:
        """Return the notes, remade only when the memory has changed."""
        memory = self.memory
        if self._notes is None or memory.revision != self._notes_at:
            likely: dict[tuple[str, str], float] = {}
            for key, votes in memory.room_votes.items():
                label = memory.graph.objects[key].label
                for name, p in label.distribution().items():
                    for room in votes:
                        likely[room, name] = max(likely.get((room, name), 0.0), p)
            rooms = sorted(memory.graph.rooms.values(), key=lambda room: (room.name, room.id))
            self._notes = tuple(
                RoomNotes(
                    room.name,
                    memory.looks.get(room.id, 0),
                    memory.visited_fraction(room.id),
                    tuple(
                        (name, n, likely.get((room.id, name), 0.0))
                        for name, n in sorted(memory.sightings.get(room.id, {}).items())
                    ),
                )
                for room in rooms
            )
            self._notes_at = memory.revision
        return self._notes

    def _rooms(self, name: str) -> list[Room]:
        """Return the known room of this name, else all that the name is a part of.

        Rooms of the team's map are known, too.

        "bedroom" stands for "bedroom 1" and "guest bedroom"; a "lounge" is not asked about as
        "living room", since the house may have one of these, too, that was never seen.
        """
        room = self.memory.graph.room_named(name)
        if room is not None:
            return [room]
        others = self._others_rooms()
        exact = [room for room in others if room.name.lower() == name]
        if exact:
            return exact[:1]
        return [
            room
            for room in (*self.memory.graph.rooms.values(), *others)
            if f" {_NUMBER.sub('', room.name.lower())}".endswith(f" {name}")
        ]

    def _others_rooms(self) -> list[Room]:
        """Return the rooms of the team's map that this robot has not met itself."""
        own = self.memory.graph.rooms
        names = {room.name.lower() for room in own.values()}
        return [r for r in rooms_of(self.team) if r.id not in own and r.name.lower() not in names]

    def _held(self, label: str, room: Room) -> list[Held]:
        return held_in(self.team, label, room, self.memory.robot)

    def _in_room(self, label: str, room: Room | None, kind: str) -> tuple[Evidence, float]:
        """Return the evidence and P(yes) for one room.

        Objects in memory count each with the probability that it is real and has the label; see
        `DetectorModel.there` for what is seen of the room. The team's map is in the prior, since
        all robots share it: there it counts once for the team. What this robot has found itself may
        be the very thing of the map, and adds nothing to it.
        """
        found = self._findings(label, room, kind)
        there, looked = self.detector.there, (found.visited, found.looks_per_place)
        prior = float(self.prior.of(found.sense))
        p_own = p_yes = float(there(prior, *looked, found.found))
        # What hardly may be such a thing is none that was seen: the look was in vain.
        ids = tuple(key for key, p in found.objects if p >= 0.5)
        held = self._held(label, room) if room is not None else []
        if any_of(held) > 0.0:
            prior = min(1.0 - (1.0 - prior) * (1.0 - any_of(held)), _SUREST)
            p_yes = max(p_own, prior) if ids else float(there(prior, *looked, 0.0))
        seen = bool(ids)
        by_others = tuple(one.id for one in held if one.seen is not None and one.p > 0.5)
        evidence = Evidence(
            "seen" if seen else "not_there" if found.looks else "prior_only",
            ids or by_others,
            found.looks,
            found.visited,
            prior,
            found.elsewhere,
            found.sightings,
        )
        return evidence, p_yes

    def findings(self, question: Question) -> Findings:
        """Return what bears on a question about one room, before any model weighs it."""
        label = " ".join(question.object.lower().split())
        asked = " ".join(question.room.lower().split())
        rooms = self._rooms(asked)
        room = rooms[0] if rooms else None
        return self._findings(label, room, room.type if room else _NUMBER.sub("", asked))

    def _findings(self, label: str, room: Room | None, kind: str) -> Findings:
        labels = self._alike(label)
        known = self.memory.knowledge(labels, room)
        sure = 1.0 if label in labels else SYNONYM
        real = tuple((key, self._is_real(key, share)) for key, share in known.found)
        none_real = math.prod(1.0 - p for _, p in real)
        return Findings(
            self.sense.likelihood(label, kind),
            known.visited_fraction,
            known.looks_per_place,
            known.looks,
            sure * (1.0 - none_real),
            max((p for _, p in real), default=0.0),
            real,
            self._elsewhere(labels, {room.id} if room is not None else set()),
            known.sightings,
        )

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
            tuple(dict.fromkeys(key for part in seen or parts for key in part.objects)),
            looks,
            sum(part.visited_fraction for part in parts) / len(parts),
            1.0 - not_prior,
            self._elsewhere(self._alike(label), {room.id for room in rooms}),
            sum(part.sightings for part in parts),
        )
        return evidence, min(max(1.0 - absent, 0.001), 0.999)


def _by_model_alone(state: PresenceState, reply: PresenceReply) -> tuple[PresenceState, str]:
    """Return the state and the explanation of what only the model has an opinion on.

    It is no observation: it counts as a guess of one robot, whose common sense is the model's.
    """
    p_yes = reply.confidence if reply.answer == "yes" else 1.0 - reply.confidence
    evidence = Evidence("prior_only", prior=p_yes)
    said = f"the model alone answers ({state.note}): {reply.reason}"
    return replace(state, evidence=evidence), said[:400]


def _answer(
    state: PresenceState, reply: PresenceReply, by: Literal["model", "rule"], reason: str
) -> Answer:
    return Answer(
        state.question.id,
        state.robot,
        reply.answer == "yes",
        reply.confidence,
        state.evidence,
        reply.reason,
        by,
        reason,
    )
