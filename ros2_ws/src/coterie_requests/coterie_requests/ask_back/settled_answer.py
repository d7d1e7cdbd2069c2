"""Rules that work a person's answer to a question back into the request."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from coterie_llm import inline_data
from coterie_requests.ask_back.judgement import Judgement
from coterie_requests.ask_back.state import RequestState
from coterie_requests.asking import told_choice
from coterie_requests.understanding.text import plain_text, words_of, written_out

_ANY = re.compile(
    r"\b(?:any|either|whichever|whatever|does not matter|do not care|no matter|you choose)\b"
)
_ALL = re.compile(r"^(?:all|both|each|every one|everything)\b")
_YES = re.compile(r"^(?:yes|yeah|yep|sure|ok|okay|please do|go ahead|of course)\b")
_NO = re.compile(r"^(?:no|nope|never ?mind|none|neither|stop|cancel|forget it|do not)\b")
_LITTLE = frozenset(
    words_of("the a an one in on at of to it is that this my our mean i please near next room")
)
_VERB = re.compile(
    r"^(?:bring|take|put|move|carry|place|fetch|get|find|go|drive|show|where|what|which|how|is|are)\b"
)
_BARE_PRONOUN = r"\b(?:it|that one|this one|that|this|those|these|them|they|one of those)\b"
_PREPOSITION = re.compile(r"^(?:in|on|to|into|onto|at|near|next to|under|behind|beside)\b")
_STRANDED = re.compile(r"\s+(?:on|in|into|onto|to|at|away|down|over there|there)$")


@dataclass(frozen=True, slots=True)
class Settling:
    """What an answer settles: the judgement now, ids that were chosen, the request in full."""

    judgement: Judgement
    chosen: tuple[str, ...] = ()
    words: str = ""


def with_answer(state: RequestState, before: Judgement) -> Settling:
    """Return what the answer in a state settles.

    Args:
        state: State with `answer`, and the `choices` and `candidates` that were offered.
        before: Judgement of the request without the answer.
    """
    said = written_out(plain_text(state.answer)).strip(" .!")
    if before.kind in ("false_premise", "not_seen_yet") and before.slot == "anyway":
        if _YES.match(said):
            return Settling(Judgement(answer=state.answer), (), state.words)
        return Settling(replace(before, answer=state.answer))
    if state.candidates:
        return _chosen(state, before, said)
    if not said or _NO.match(said):
        return Settling(replace(before, answer=state.answer))
    return Settling(Judgement(answer=state.answer), (), _completed(state, before, said))


def _chosen(state: RequestState, before: Judgement, said: str) -> Settling:
    ids = state.candidates
    clear = Judgement(answer=state.answer)
    if _ALL.match(said):
        return Settling(clear, ids, state.words)
    if _ANY.search(said):
        return Settling(clear, ids[:1], state.words)
    choice = told_choice(said, state.choices)
    if choice in state.choices:
        return Settling(clear, (ids[state.choices.index(choice)],), state.words)
    if said in ids:
        return Settling(clear, (said,), state.words)
    wanted = set(re.findall(r"\w+", said)) - _LITTLE
    scores = [
        len(wanted & set(re.findall(r"\w+", f"{text} {id_}".lower())))
        for text, id_ in zip(state.choices, ids, strict=False)
    ]
    best = max(scores, default=0)
    if best and scores.count(best) == 1 and not _NO.match(said):
        return Settling(clear, (ids[scores.index(best)],), state.words)
    told = inline_data(state.answer)
    return Settling(
        replace(before, text=f"{before.text}; the answer {told!r} tells no single one",
                answer=state.answer)
    )  # fmt: skip


def _completed(state: RequestState, before: Judgement, said: str) -> str:
    """Return the request with what was left out."""
    answer = " ".join(state.answer.split()).strip(" .!?")
    if _VERB.match(said) and len(said.split()) > 2:
        return answer  # a request of its own
    words = " ".join(state.words.split()).rstrip(" .!?")
    if before.slot == "room" and before.said:
        bare = re.sub(r"^(?:the|in|to) ", "", answer, flags=re.IGNORECASE)
        return _put_in(rf"\b{re.escape(before.said)}\b", bare, words)
    if before.slot == "target":
        base = _STRANDED.sub("", words)
        return f"{base} {answer if _PREPOSITION.match(said) else f'to {_the(answer)}'}"
    if re.search(_BARE_PRONOUN, words, re.IGNORECASE):
        return _put_in(_BARE_PRONOUN, _the(answer), words)
    if before.slot == "object" and re.match(r"how many\b", words, re.IGNORECASE):
        return _put_in(r"how many", f"how many {answer}", words)
    return f"{words} {answer}"


def _put_in(pattern: str, told: str, words: str) -> str:
    """Return words with what a person told, as it stands, in place of the first match."""
    return re.sub(pattern, lambda _: told, words, count=1, flags=re.IGNORECASE)


def _the(answer: str) -> str:
    article = re.match(r"(?:the|a|an|my|our|your|all|every|some|\d|bed\w+ \d)", answer, re.I)
    return answer if article else f"the {answer}"
