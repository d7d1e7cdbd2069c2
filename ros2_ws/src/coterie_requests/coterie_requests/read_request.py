"""ReadRequest: a model says a person's words in plain English, which the one grammar reads.

A model knows what words mean in any language, the grammar what form a request has: so the model
fills no form, and the grammar stays the only place where words become a `Request`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from coterie_llm import CheckFailed, Decider, Decision, Message, as_data
from coterie_requests.grammar import Door, read
from coterie_requests.request import Request
from coterie_requests.understanding.problems import NotUnderstood, Problem
from coterie_requests.understanding.text import MAX_SENTENCE_CHARS
from coterie_requests.understanding.vocabulary import Vocabulary

_ROOMS_CHARS = 600
_LONGEST = 300
_WORDS_CHARS = 100 * MAX_SENTENCE_CHARS
"""Limit for the person's words [characters]: of a shortened prompt a part of it is left, too."""


@dataclass(frozen=True, slots=True)
class ReadState:
    """A person's words, the names that are known, and the door that the words came in by."""

    words: str
    names: Vocabulary
    door: Door = "do"


class ReadReply(BaseModel):
    """What a person said, in plain English; or what to ask back."""

    reason: str = Field(
        max_length=_LONGEST, description="first: what is meant, in a few English words"
    )
    kind: Literal["clear", "unclear"] = Field(
        description="unclear: something is left out, or it is nothing for household robots"
    )
    say: list[Annotated[str, Field(max_length=MAX_SENTENCE_CHARS)]] = Field(
        min_length=1,
        max_length=12,
        description="clear: the same in plain English, a whole sentence for each thing that is "
        "asked for; unclear: what to ask back, in the person's language",
    )


_DOORS: dict[Door, str] = {
    "do": "",
    "ask": "\nA thing that is named alone: is there one?",
    "find": "\nA thing that is named alone: find it.",
}


@cache
def _system() -> str:
    """Return what the prompt begins with, whoever asks: what to do, and examples."""
    file = resources.files("coterie_requests").joinpath("data/read_request.txt")
    return file.read_text("utf-8").strip()


class ReadRequest(Decision[ReadState, ReadReply]):
    """Say in plain English what a person asks for, or what to ask back."""

    name: ClassVar[str] = "team.read_request"
    reply_type: ClassVar[type[BaseModel]] = ReadReply
    max_tokens: ClassVar[int] = 400

    def opening(self) -> str:
        """Return instruction and examples, the same for all."""
        return _system()

    def prompt(self, state: ReadState) -> Sequence[Message]:
        """Show examples, the same for all; then the rooms, and the words."""
        return (
            Message.system(_system()),
            Message.user(
                f"{as_data('rooms', list(state.names.rooms), limit=_ROOMS_CHARS)}\n"
                f"{as_data('words', state.words, limit=_WORDS_CHARS)}{_DOORS[state.door]}"
            ),
        )

    def advice(self, state: ReadState) -> str:
        """Return the rule's reply, unless the grammar does not read the words."""
        return super().advice(state) if self.rule(state).kind == "clear" else ""

    def only_reply(self, state: ReadState) -> ReadReply | None:
        """Return the rule's reply where there are no words, or more than are read at once."""
        fits = 0 < len(state.words.strip()) <= MAX_SENTENCE_CHARS
        return None if fits else self.rule(state)

    def check(self, state: ReadState, reply: ReadReply) -> None:
        """What is clear is said in sentences that the grammar reads, and nothing is left out.

        Where the grammar reads an order itself, the sentences name all that it found in it.
        """
        if reply.kind == "unclear":
            return
        try:
            said = _named(_request(state, reply), state.names)
        except NotUnderstood as error:
            raise CheckFailed(_refusal(error.problem)) from None
        with contextlib.suppress(NotUnderstood):
            plain = read(state.words, state.names, state.door)
            left_out = sorted(_named(plain, state.names) - said)
            if left_out and not plain.is_question:
                raise CheckFailed(f"say: {', '.join(left_out)} is left out; keep it")

    def rule(self, state: ReadState) -> ReadReply:
        """Say the words themselves where the grammar reads them."""
        try:
            read(state.words, state.names, state.door)
        except NotUnderstood as error:
            problem = error.problem
            asked = (problem.question or problem.text)[:_LONGEST]
            return ReadReply(reason=problem.text[:_LONGEST], kind="unclear", say=[asked])
        return ReadReply(reason="the grammar reads it", kind="clear", say=[state.words])


async def read_request(
    words: str, names: Vocabulary, decider: Decider | None = None, door: Door = "do"
) -> Request:
    """Return what a person asks for: read by a model where there is one, else by the grammar.

    Args:
        words: Sentence, in any language where a model reads it.
        names: Names of the household, the map and the robots.
        decider: Who decides; None: the grammar.
        door: Command that the words were given to.

    Raises:
        NotUnderstood: It is not clear, or nothing for robots; often with a question to ask back.
    """
    if decider is None:
        return read(words, names, door)
    state = ReadState(words, names, door)
    decided = await decider.decide(ReadRequest(), state)
    if decided.reply.kind == "clear":
        return _request(state, decided.reply)
    if decided.decided_by == "rule":
        read(words, names, door)  # it tells which word is not understood, and where it stands
    raise NotUnderstood(decided.reply.reason, "ambiguous", question=" ".join(decided.reply.say))


def _request(state: ReadState, reply: ReadReply) -> Request:
    """Read the sentences of a reply.

    Raises:
        NotUnderstood: The grammar does not read them.
    """
    said = " ".join(s if s.rstrip()[-1:] in ".?!" else f"{s}." for s in reply.say)
    return read(said, state.names, state.door).but(words=state.words)


def _named(request: Request, names: Vocabulary) -> set[str]:
    """Return the robots, the household's names and the colors that a request speaks of."""
    found = {step.robot for step in request.steps}
    for one in request.mentioned():
        name = names.lookup(one.name)
        found |= {(name.label or name.room or name.floor) if name else one.name, one.color}
    return found - {""}


def _refusal(problem: Problem) -> str:
    """Say what is wrong with sentences, and show none as it could be: weak models repeat that."""
    if problem.kind not in ("word", "verb", "spelling"):
        return f"say: {problem.line}"
    meant = f"; did you mean {' or '.join(problem.suggestions)}?" if problem.suggestions else ""
    what = repr(problem.word) if problem.word else "that"
    return f"say: robots do not understand {what}{meant}; use other plain English words"
