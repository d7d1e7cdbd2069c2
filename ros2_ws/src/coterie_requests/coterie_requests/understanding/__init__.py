"""People's words as they come from outside, the names that mean something, and problems."""

from coterie_requests.understanding.problems import NotUnderstood as NotUnderstood
from coterie_requests.understanding.problems import Problem as Problem
from coterie_requests.understanding.problems import ProblemKind as ProblemKind
from coterie_requests.understanding.text import MAX_SENTENCE_CHARS as MAX_SENTENCE_CHARS
from coterie_requests.understanding.text import code_in as code_in
from coterie_requests.understanding.text import nearest as nearest
from coterie_requests.understanding.text import plain_text as plain_text
from coterie_requests.understanding.text import shown as shown
from coterie_requests.understanding.text import written_out as written_out
