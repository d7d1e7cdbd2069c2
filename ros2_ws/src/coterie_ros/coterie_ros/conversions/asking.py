"""Questions in words and their answers to service messages and back."""

from __future__ import annotations

from coterie_msgs.srv import AskInWords
from coterie_requests.asking import (
    ANSWER_CHARS,
    MAX_CHOICES,
    QUESTION_CHARS,
    WordsAnswer,
    WordsQuestion,
)
from coterie_ros.conversions.basics import duration_from_msg, duration_to_msg
from coterie_ros.conversions.checks import Checks

_REASON_CHARS = 300


def words_question_to_msg(question: WordsQuestion) -> AskInWords.Request:
    """Return a question as a request."""
    return AskInWords.Request(
        asker=question.asker,
        task=question.task,
        question=question.text,
        choices=list(question.choices),
        within=duration_to_msg(question.within),
    )


def words_question_from_msg(message: AskInWords.Request, service: str) -> WordsQuestion:
    """Return the question of a request.

    Raises:
        ConversionError: No question, a text or list that is too long, or a negative time.
    """
    checks = Checks(service)
    return WordsQuestion(
        asker=checks.text("asker", message.asker, empty=False),
        task=checks.text("task", message.task),
        text=checks.text("question", message.question, QUESTION_CHARS, empty=False),
        choices=tuple(
            checks.text(f"choices[{k}]", one, empty=False)
            for k, one in enumerate(checks.items("choices", message.choices, MAX_CHOICES))
        ),
        within=duration_from_msg(message.within, checks, "within"),
    )


def words_answer_to_msg(answer: WordsAnswer) -> AskInWords.Response:
    """Return an answer, or why there is none, as a response."""
    return AskInWords.Response(
        answered=bool(answer.text),
        text=answer.text[:ANSWER_CHARS],
        reason=answer.reason[:_REASON_CHARS],
    )


def words_answer_from_msg(message: AskInWords.Response, service: str) -> WordsAnswer:
    """Return the answer of a response.

    Raises:
        ConversionError: A text that is too long, or an answer without words.
    """
    checks = Checks(service)
    text = checks.text("text", message.text, ANSWER_CHARS, empty=not message.answered)
    reason = checks.text("reason", message.reason, _REASON_CHARS)
    return WordsAnswer(text if message.answered else "", reason)
