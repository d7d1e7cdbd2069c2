"""Traces of decisions, for whoever keeps them; nothing is collected unless somebody listens."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from coterie_llm.decision import Decided, Decision, messages_for, schema_for
from coterie_llm.exchange import Exchange, Try
from coterie_llm.types import Message

StateT = TypeVar("StateT")
ReplyT = TypeVar("ReplyT", bound=BaseModel)

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DecisionTrace:
    """One decision as it was made.

    Attributes:
        name: The decision's.
        who: The robot that decided.
        decided: The outcome.
        prompt: Returns the messages that a model was sent, or would have been sent.
        schema: Returns the schema of the reply.
        max_tokens: Most tokens of the reply.
        tries: Replies of models, in order.
        own: Name in Python of what the user wrote for it; empty: it is Coterie's.
    """

    name: str
    who: str
    decided: Decided[Any]
    prompt: Callable[[], Sequence[Message]]
    schema: Callable[[], Mapping[str, Any]]
    max_tokens: int
    tries: tuple[Try, ...] = ()
    own: str = ""


Listener = Callable[[DecisionTrace], str]
"""Keeps a trace; returns its id ("": it was not kept)."""

_listener: Listener | None = None


def listen(listener: Listener | None) -> None:
    """Let somebody hear of every decision of this process; None: nobody."""
    global _listener
    _listener = listener


def new_exchange() -> Exchange | None:
    """Return where to collect what a model is sent; None where nobody listens."""
    return Exchange() if _listener is not None else None


def traced(
    decision: Decision[StateT, ReplyT], state: StateT, decided: Decided[ReplyT], who: str
) -> Decided[ReplyT]:
    """Tell who listens of a decision; return it with the id under which it is kept."""
    if _listener is None:
        return decided
    sent = decided.exchange or Exchange()
    trace = DecisionTrace(
        decision.name,
        who,
        decided,
        lambda: sent.messages or messages_for(decision, state, decided.mode),
        lambda: schema_for(decision, state),
        decision.most_tokens(state),
        tuple(sent.tries),
        decision.own,
    )
    try:
        id_ = _listener(trace)
    except Exception:  # a log that fails must not stop a robot
        _LOG.exception("the trace of %s was not kept", decision.name)
        id_ = ""
    return dataclasses.replace(decided, trace=id_, exchange=None)
