"""Who judges requests in the bench: the team, the team without asking back, and simple rules."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from coterie_llm import Decider, RulesModel
from coterie_requests.ask_back import Judgement, RequestState, settle
from coterie_requests.detector_vocabulary import DetectorVocabulary, household_vocabulary
from coterie_requests.read_request import read_request
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from emos_planner.leader.asking_back import task_state
from emos_planner.leader.understand import understand
from object_planner.asking_back import find_settled
from object_planner.workflows import Options, Roles, plan_objects
from openeqa_agent.agents import OpenAgent
from openeqa_agent.answerable import answers_all_the_same
from openeqa_agent.things import MapIndex
from research.bench.askback.cases import Case
from research.bench.askback.situation import Situation

ROBOTS = ("rover", "walker")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a request.

    `kind` is what the team takes it for, `candidates` what it offers to choose from. `before` is
    whether the team abstains without asking back (refuses, finds nothing, cannot tell), and
    `confidence` how sure its answer would be.
    """

    kind: str
    text: str
    question: str
    candidates: tuple[str, ...]
    before: bool
    confidence: float


class Judges:
    """Judges requests about one house.

    Args:
        situation: The house, and what the team knows of it.
        decider: Who decides; None: the rules.
    """

    def __init__(self, situation: Situation, decider: Decider | None = None) -> None:
        self.situation = situation
        self.decider = decider or Decider(RulesModel())
        self._vocabulary = DetectorVocabulary.of(household_vocabulary())
        self._agent = OpenAgent(self.decider, vocabulary=self._vocabulary)

    async def state(self, case: Case, decider: Decider | None = None) -> RequestState:
        """Return what a request is judged by, read by a decider (None: the own one)."""
        known, coverage = self.situation.known, self.situation.coverage
        if case.command == "do":
            mind = decider or self.decider
            return await task_state(case.words, known, ROBOTS, mind, coverage, rooms_given=True)
        return RequestState(
            case.words, case.command, known, coverage, self._vocabulary, rooms_given=True
        )

    def verdict(self, case: Case) -> Verdict:
        """Judge a request, and see what would be done without that."""
        try:
            told = asyncio.run(self._judged(case))
        except NotUnderstood as error:  # it is refused, with what is not understood
            problem = error.problem
            told = Judgement("underspecified", problem.text, problem.question)
        before, confidence = self._before(case)
        return Verdict(told.kind, told.text, told.question, told.candidates, before, confidence)

    async def _judged(self, case: Case) -> Judgement:
        state = await self.state(case)
        if case.command == "find":
            return (await find_settled(state, Roles(self.decider), options=Options())).judgement
        index = MapIndex(self.situation.known, self.situation.seen)
        asked = await self._agent.read(case.words, self.situation.known)

        def cleared(told: Judgement) -> bool:
            return case.command == "ask" and answers_all_the_same(asked, index, told)

        return (await settle(state, self.decider, cleared=cleared)).judgement

    def _before(self, case: Case) -> tuple[bool, float]:
        """Return whether the team abstains by itself, and how sure its answer would be."""
        known = self.situation.known
        if case.command == "ask":
            answering = self._agent.answer(case.words, known, None, self.situation.seen)
            reply = asyncio.run(answering)
            # A robot would go and look: that is no guess either.
            return bool(reply.refused) or reply.guessed or reply.abstains, reply.confidence
        if case.command == "find":
            finding = plan_objects(known, case.words, Roles(self.decider), options=Options())
            found = asyncio.run(finding)
            ids = found.plan.relevant_objects
            sure = known.objects[ids[0]].confidence if ids else 0.0
            return not ids, sure
        try:
            names = Vocabulary.of(known, ROBOTS)
            read = asyncio.run(read_request(case.words, names, self.decider, "do"))
            meant = understand(read, known, ROBOTS)
        except NotUnderstood:
            return True, 0.0
        ids = [id_ for want in meant.wants for id_ in want.assigned if id_ in known.objects]
        sure = min((known.objects[id_].confidence or 1.0 for id_ in ids), default=0.5)
        return False, sure


def right_candidates(situation: Situation, case: Case, candidates: tuple[str, ...]) -> bool:
    """Whether just the true things that fit are offered, as far as the team has seen them."""
    told = []
    for id_ in candidates:
        thing = situation.known.objects.get(id_)
        told.append(situation.stands_for(thing, case.label) if thing is not None else "")
    return set(told) == set(case.meant)
