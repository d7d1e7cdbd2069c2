"""Asking back: is a request clear, and if not, what one question makes it so?"""

from coterie_requests.ask_back.clarification import Person, Settled, settle, without
from coterie_requests.ask_back.judgement import Judgement, RequestKind
from coterie_requests.ask_back.of_answers import judged_answers
from coterie_requests.ask_back.reading import Mention
from coterie_requests.ask_back.state import RequestState

__all__ = [
    "Judgement",
    "Mention",
    "Person",
    "RequestKind",
    "RequestState",
    "Settled",
    "judged_answers",
    "settle",
    "without",
]
