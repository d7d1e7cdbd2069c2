"""Asking back: is a request clear, and if not, what one question makes it so?"""

from coterie_requests.ask_back.clarification import Person, Settled, settle, without
from coterie_requests.ask_back.decision import JudgeRequest, RequestReply
from coterie_requests.ask_back.judgement import (
    COMMANDS,
    REQUEST_KINDS,
    Command,
    Judgement,
    RequestKind,
)
from coterie_requests.ask_back.of_answers import judged_answers
from coterie_requests.ask_back.reading import Mention, Reading, read_request
from coterie_requests.ask_back.state import RequestState

__all__ = [
    "COMMANDS",
    "REQUEST_KINDS",
    "Command",
    "JudgeRequest",
    "Judgement",
    "Mention",
    "Person",
    "Reading",
    "RequestKind",
    "RequestReply",
    "RequestState",
    "Settled",
    "judged_answers",
    "read_request",
    "settle",
    "without",
]
