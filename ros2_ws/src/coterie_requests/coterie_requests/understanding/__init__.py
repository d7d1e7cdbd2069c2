"""English as households speak it: bounded text, words that are none, other languages, problems."""

from coterie_requests.understanding.english import household_words as household_words
from coterie_requests.understanding.english import is_english as is_english
from coterie_requests.understanding.english import is_name as is_name
from coterie_requests.understanding.english import unknown_words as unknown_words
from coterie_requests.understanding.languages import foreign_words as foreign_words
from coterie_requests.understanding.languages import language_told as language_told
from coterie_requests.understanding.problems import NotUnderstood as NotUnderstood
from coterie_requests.understanding.problems import Problem as Problem
from coterie_requests.understanding.problems import ProblemKind as ProblemKind
from coterie_requests.understanding.text import MAX_SENTENCE_CHARS as MAX_SENTENCE_CHARS
from coterie_requests.understanding.text import code_in as code_in
from coterie_requests.understanding.text import nearest as nearest
from coterie_requests.understanding.text import plain_text as plain_text
from coterie_requests.understanding.text import shown as shown
from coterie_requests.understanding.text import words_in as words_in
from coterie_requests.understanding.text import words_of as words_of
from coterie_requests.understanding.text import written_out as written_out
