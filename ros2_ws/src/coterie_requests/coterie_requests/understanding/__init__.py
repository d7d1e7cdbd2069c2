"""English as households speak it: bounded text, words that are none, other languages, problems."""

from coterie_requests.understanding.english import (
    household_words,
    is_english,
    is_name,
    unknown_words,
)
from coterie_requests.understanding.languages import foreign_words, language_told
from coterie_requests.understanding.problems import NotUnderstood, Problem, ProblemKind
from coterie_requests.understanding.spelling import nearest
from coterie_requests.understanding.text import (
    MAX_SENTENCE_CHARS,
    code_in,
    plain_text,
    shown,
    words_in,
    words_of,
    written_out,
)

__all__ = [
    "MAX_SENTENCE_CHARS",
    "NotUnderstood",
    "Problem",
    "ProblemKind",
    "code_in",
    "foreign_words",
    "household_words",
    "is_english",
    "is_name",
    "language_told",
    "nearest",
    "plain_text",
    "shown",
    "unknown_words",
    "words_in",
    "words_of",
    "written_out",
]
