"""LLM-Match with the prompt of OpenEQA itself, read from the user's checkout (its `prompts/`).

Correctness can be set beside published figures only if the same prompt marks it. The prompts are
OpenEQA's (MIT licence) and are not part of this project: `mmbench.txt` for one reference answer,
`mmbench-extra.txt` for several. Their reply is free text that holds a mark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coterie_llm import LanguageError, LanguageModel, Message, ModelRequest
from research.bench.openeqa.judge import Mark

ONE_ANSWER, MORE_ANSWERS = "mmbench.txt", "mmbench-extra.txt"
_FIELDS = {
    ONE_ANSWER: ("question", "answer", "prediction"),
    MORE_ANSWERS: ("question", "answer", "prediction", "extra_answers"),
}
_MARK = re.compile(r"(?:your mark|mark|score)\s*:\s*([1-5])\b", re.IGNORECASE)
_BARE = re.compile(r"\s*([1-5])\s*\.?\s*")
MAX_PROMPT_CHARS = 100_000
MAX_TOKENS = 32


class PromptError(ValueError):
    """The official prompts cannot be used: names the file, and what to do."""


@dataclass(frozen=True, slots=True)
class OfficialPrompts:
    """The two prompts, with their fields in braces."""

    one: str
    more: str

    @staticmethod
    def load(folder: Path) -> OfficialPrompts:
        """Read the prompts of OpenEQA's folder `prompts`.

        Raises:
            PromptError: A file is missing, or lacks a field.
        """
        return OfficialPrompts(_read(folder / ONE_ANSWER), _read(folder / MORE_ANSWERS))

    def filled(self, question: str, answer: str, extra: Sequence[str], prediction: str) -> str:
        """Return the prompt for one reply to mark."""
        values = {
            "question": question,
            "answer": answer,
            "prediction": prediction,
            "extra_answers": str(list(extra)),
        }
        # One pass, so that braces in a prediction stay text.
        return re.sub(
            r"\{(question|answer|prediction|extra_answers)\}",
            lambda field: values[field[1]],
            self.more if extra else self.one,
        )


def mark_in(text: str) -> int | None:
    """Return the mark that a judge's text holds; None: none, or more than one that differ."""
    bare = _BARE.fullmatch(text)
    marks = {bare[1]} if bare else set(_MARK.findall(text))
    return int(marks.pop()) if len(marks) == 1 else None


async def official_mark(
    model: LanguageModel,
    prompts: OfficialPrompts,
    question: str,
    answer: str,
    extra: Sequence[str],
    prediction: str,
) -> Mark | None:
    """Return the mark that a model gives by the official prompt; None: a missing one.

    The prediction goes into the prompt unfenced, as the official code has it: a prediction can
    speak to the judge. Our own judge fences it.

    Args:
        model: The judge.
        prompts: The official ones.
        question: What was asked.
        answer: The reference answer.
        extra: Further right answers.
        prediction: The answer to mark; an empty one is wrong without asking.
    """
    if not prediction.strip():
        return Mark(1, "rule", "there is no answer")
    request = ModelRequest(
        (Message.user(prompts.filled(question, answer, extra, prediction)),),
        max_tokens=MAX_TOKENS,
        tags={"decision": "openeqa.official_judge", "who": "bench"},
    )
    for _ in range(2):
        try:
            value = mark_in((await model.complete(request)).text)
        except LanguageError:
            return None
        if value is not None:
            return Mark(value, "model", "official prompt")
    return None


def _read(file: Path) -> str:
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(
            f"{file}: {error}; give the folder `prompts` of an OpenEQA checkout"
        ) from None
    missing = [name for name in _FIELDS[file.name] if f"{{{name}}}" not in text]
    if missing or len(text) > MAX_PROMPT_CHARS:
        why = f"the fields {missing} are missing" if missing else "it is too long"
        raise PromptError(f"{file}: {why}; is it OpenEQA's {file.name}?")
    return text
