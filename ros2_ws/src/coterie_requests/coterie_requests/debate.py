"""Debate (MELE, section 3.4.1): robots talk turn by turn, then each gives a final answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
from pydantic import BaseModel, Field

from coterie_core.confidence import load_confidence, log_odds, observed_shift, probability
from coterie_core.questions import Answer, EvidenceKind, Question
from coterie_llm import Confidence, Decider, Decision, Message, as_data
from coterie_safety.why.context import about

ROUNDS = 2
"""Rounds of talk before the final answers."""
STATEMENT_LIMIT = 300
"""Longest statement [characters]."""

TRUST = 0.9
"""Trust of a robot in the others: the probability that another tells what it found."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """What one robot said in one round: where it stands now, how sure it is, and on what ground."""

    speaker: str
    round: int
    yes: bool
    confidence: float
    evidence: EvidenceKind
    text: str = ""

    @property
    def p_yes(self) -> float:
        """Probability of YES that the utterance stands for."""
        return self.confidence if self.yes else 1.0 - self.confidence


@dataclass(frozen=True, slots=True)
class DebateState:
    """A robot's turn: what is asked, its first answer, its notes, and what was said so far.

    `prior` is what common sense says of the question (0..1), which all robots share.
    """

    robot: str
    question: Question
    first: Answer
    notes: str = ""
    conversation: tuple[Utterance, ...] = ()
    final: bool = False

    @property
    def prior(self) -> float:
        """Common-sense probability of YES."""
        return self.first.evidence.prior


class DebateReply(BaseModel):
    """One turn."""

    reason: str = Field("", max_length=400, description="first think: whom to believe, and why")
    answer: Literal["yes", "no"] = Field(description="where you stand now")
    confidence: Confidence = Field(
        description="probability that this is right, from 0.5 (a toss-up) to 1 (certain)"
    )
    statement: str = Field("", max_length=STATEMENT_LIMIT, description="what you say to the others")


_GROUNDS: Mapping[EvidenceKind, str] = {
    "seen": "saw it there",
    "not_there": "looked into that room and did not see it",
    "prior_only": "was not there",
    "moved": "knows that it was taken away",
    "nothing": "cannot tell",
}


class DebateTurn(Decision[DebateState, DebateReply]):
    """Speak to the others, or give the last word."""

    name: ClassVar[str] = "mele.debate"
    reply_type: ClassVar[type[BaseModel]] = DebateReply
    max_tokens: ClassVar[int] = 350

    def prompt(self, state: DebateState) -> Sequence[Message]:
        """Give identity, notes, own first answer and the talk so far; ask to speak or to settle."""
        question = state.question
        asked = {"object": question.object, "room": question.room or "the whole house"}
        evidence = state.first.evidence
        first = {
            "robot": state.robot,
            "answer": "yes" if state.first.yes else "no",
            "confidence": round(state.first.confidence, 2),
            "ground": f"you: {_GROUNDS[evidence.kind]}",
            "views of that room": evidence.looks,
            "share of it seen well": round(evidence.visited_fraction, 2),
            "reports of such a thing there": evidence.sightings,
            "other rooms in which you saw one": list(evidence.elsewhere),
            "words": state.first.explanation[:STATEMENT_LIMIT],
        }
        talk = [
            {
                "robot": f"{said.speaker} (you)" if said.speaker == state.robot else said.speaker,
                "round": said.round + 1,
                "says": "yes" if said.yes else "no",
                "confidence": round(said.confidence, 2),
                "ground": _GROUNDS[said.evidence],
                "words": said.text,
            }
            for said in state.conversation
        ]
        if state.final:
            task = "The talk is over. Settle on yes or no."
        elif any(said.speaker == state.robot for said in state.conversation):
            task = "Speak to the others now: whom do you believe, and why?"
        else:
            task = (
                "These are your first words: tell the others what you found yourself, and how "
                "sure you were before you heard anybody."
            )
        before = round(state.prior, 2) if evidence.kind != "nothing" else "not known"
        return (
            Message.system(
                "You are one of several robots that walked through the same home by different "
                "ways. A person wants to know whether an object is in a room, and the robots "
                "disagree or are unsure. You hear what the others say in their turns. Weigh what "
                "each of you saw against what each of you only supposes; a robot that saw the "
                "thing knows more than one that never was there, and one that looked well and saw "
                "nothing knows more than one that supposes. How likely the thing was there before "
                "anybody looked (0 to 1) goes by other homes and by what the team noted; every "
                "robot began with it, and it is in each one's confidence already, so count it "
                "once. What a robot's first words add to it is what that robot found; later words "
                "repeat what it heard. All of you have the same kind of detector: what one has "
                "overlooked or mistaken, the others easily do, too, so that a second one who "
                "found the same tells less than the first. What others tell may be wrong, or "
                "even a lie: trust it a little less than what you found yourself. Confidence goes "
                "from 0.5 (a toss-up) to 1. Change your mind for a good reason, not because you "
                "are outnumbered."
            ),
            Message.user(
                f"{as_data('question', asked)}\n"
                f"{as_data('your notes', state.notes or 'none', limit=8000)}\n"
                f"{as_data('how likely before anybody looked', before)}\n"
                f"{as_data('your first answer', first)}\n"
                f"{as_data('talk so far', talk or 'nobody has spoken yet', limit=8000)}\n{task}"
            ),
        )

    def rule(self, state: DebateState) -> DebateReply:
        """Add up what each robot knows beyond the common sense that they share.

        Common sense counts once; see `coterie_core.confidence.TeamModel` for what observations are
        worth together, and `observed_shift` for which utterances hold any. When
        a robot speaks first it tells what it found itself; of another robot only that first
        utterance counts, since later ones repeat what it heard. What others say is believed with
        TRUST: no single robot, lying or mistaken, talks one out of what it saw itself.
        """
        prior = float(log_odds(state.prior))
        heard: dict[str, Utterance] = {}
        for said in state.conversation:
            heard.setdefault(said.speaker, said)
        told = [float(log_odds(state.first.p_yes)) - prior]
        if state.final or state.robot in heard:
            others = [said for speaker, said in heard.items() if speaker != state.robot]
            told += [
                _hearsay(observed_shift(said.evidence, float(log_odds(said.p_yes)) - prior))
                for said in others
            ]
        team = load_confidence().team
        p = float(probability(team.pooled(np.array([prior]), np.array([told])))[0])
        ground = {
            "seen": "I saw it there",
            "not_there": "I looked in that room and did not see it",
            "prior_only": "I have not been there and go by what is usual or told",
            "moved": "It was taken away from there",
            "nothing": "I cannot tell",
        }[state.first.evidence.kind]
        return DebateReply(
            reason="what each robot observed, added up",
            answer="yes" if p > 0.5 else "no",
            confidence=max(p, 1.0 - p),
            statement=ground,
        )


def _hearsay(log_ratio: float) -> float:
    """Return what evidence of another robot is worth: with probability 1 - TRUST it is reversed."""
    ratio = math.exp(max(min(log_ratio, 30.0), -30.0))
    return math.log((TRUST * ratio + 1.0 - TRUST) / (TRUST + (1.0 - TRUST) * ratio))


class Speaker(Protocol):
    """A robot that takes part in a debate, here or on the other side of a topic."""

    @property
    def robot(self) -> str:
        """Its name."""
        ...

    async def speak(
        self, question: Question, conversation: Sequence[Utterance], *, final: bool
    ) -> Utterance | None:
        """Take a turn; None where it does not answer in time."""
        ...


class LocalSpeaker:
    """A speaker in this process.

    Args:
        first: The robot's own first answer.
        notes: Memory of the robot, as text for a model.
        decider: Decider that speaks; None: the rule.
    """

    def __init__(self, first: Answer, notes: str = "", decider: Decider | None = None) -> None:
        self.first = first
        self.notes = notes
        self.decider = decider

    @property
    def robot(self) -> str:
        """Its name."""
        return self.first.robot

    async def speak(
        self, question: Question, conversation: Sequence[Utterance], *, final: bool
    ) -> Utterance:
        """Take a turn."""
        state = DebateState(
            self.robot, question, self.first, self.notes, tuple(conversation), final
        )
        decision = DebateTurn()
        if self.decider is None:
            reply = decision.rule(state)
        else:
            with about(question=question.id):
                reply = (await self.decider.decide(decision, state)).reply
        turn = conversation[-1].round if conversation else 0
        return Utterance(
            self.robot,
            turn,
            reply.answer == "yes",
            reply.confidence,
            self.first.evidence.kind,
            reply.statement,
        )


@dataclass(frozen=True, slots=True)
class DebateResult:
    """How a debate ended: all that was said, and each robot's last word."""

    conversation: tuple[Utterance, ...]
    finals: tuple[Utterance, ...]


async def debate(
    question: Question, speakers: Sequence[Speaker], *, rounds: int = ROUNDS
) -> DebateResult:
    """Let robots talk: `rounds` rounds turn by turn in the given order, then a last word each.

    Everybody hears everything said before. In the last words nobody hears the others' last words,
    so that the order does not matter there. A speaker that keeps silent is passed over.
    """
    conversation: list[Utterance] = []
    for turn in range(rounds):
        for speaker in speakers:
            said = await speaker.speak(question, conversation, final=False)
            if said is not None:
                conversation.append(
                    Utterance(
                        speaker.robot, turn, said.yes, said.confidence, said.evidence, said.text
                    )
                )
    finals = []
    for speaker in speakers:
        said = await speaker.speak(question, conversation, final=True)
        if said is not None:
            finals.append(
                Utterance(
                    speaker.robot, rounds, said.yes, said.confidence, said.evidence, said.text
                )
            )
    return DebateResult(tuple(conversation), tuple(finals))
