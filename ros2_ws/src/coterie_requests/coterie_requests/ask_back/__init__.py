"""Asking back: is a request clear, and if not, what one question makes it so?"""

from typing import TYPE_CHECKING

from coterie_core.on_demand import on_demand

if TYPE_CHECKING:
    from coterie_requests.ask_back.answers import Person as Person
    from coterie_requests.ask_back.answers import Settled as Settled
    from coterie_requests.ask_back.answers import settle as settle
    from coterie_requests.ask_back.answers import without as without
    from coterie_requests.ask_back.judgement import Judgement as Judgement
    from coterie_requests.ask_back.judgement import RequestKind as RequestKind
    from coterie_requests.ask_back.judgement import judged_answers as judged_answers
    from coterie_requests.ask_back.judgement import not_understood as not_understood
    from coterie_requests.ask_back.rule import RequestState as RequestState
else:  # who is told of a judgement needs no reader of requests
    __getattr__, __dir__ = on_demand(__name__)
