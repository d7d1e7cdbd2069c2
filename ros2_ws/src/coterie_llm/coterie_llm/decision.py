"""Decisions: what a model is asked, how its reply is checked, and the rule that needs no model."""

from __future__ import annotations

import abc
import dataclasses
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, ValidationError

from coterie_core.plain_data import schema_problems
from coterie_llm.errors import BadReply, CheckFailed
from coterie_llm.exchange import Exchange
from coterie_llm.extract import extract_json
from coterie_llm.fence import DATA_RULE, FENCE_OPENING, as_data, shortened
from coterie_llm.modes import Mode
from coterie_llm.schema import lean_schema, with_options
from coterie_llm.tokens import estimate_messages, estimate_prompt
from coterie_llm.tools import Tool, ToolUse
from coterie_llm.types import Message, ModelRequest, Reply, Usage

StateT = TypeVar("StateT")
ReplyT = TypeVar("ReplyT", bound=BaseModel)

_LOG = logging.getLogger(__name__)
_NOTHING_USED = Usage()


class Decision(abc.ABC, Generic[StateT, ReplyT]):
    """One question that a model, or a rule, answers.

    Subclasses are stateless: all that matters is in the state, so that a decision can be repeated
    and recorded.

    Attributes:
        name: `package.verb_noun`, e.g. `mele.choose_place`; appears in meters, logs and reports.
        reply_type: pydantic model of the reply. Field descriptions reach the model. Its first field
            is the reason, so that a model thinks before it answers.
        temperature: Sampling temperature, unless the model's profile sets its own.
        max_tokens: Most tokens of the reply.
        joins: Most questions of this kind that may go out in one request, where their prompts have
            much in common and none has tools; 1: each goes by itself.
        own: Name in Python of the user's class or function that decides; empty: this class.
    """

    name: ClassVar[str]
    reply_type: ClassVar[type[BaseModel]]
    temperature: ClassVar[float] = 0.0
    max_tokens: ClassVar[int] = 1024
    joins: ClassVar[int] = 1
    own: str = ""

    @abc.abstractmethod
    def prompt(self, state: StateT) -> Sequence[Message]:
        """The question. What was sensed, remembered or received goes in through `as_data`.

        It holds what a person would need to answer, and neither the rule's answer nor a solver's
        verdict; those are `advice`. Options come in `neutral_order`.
        """

    def opening(self) -> str:
        """The instruction with which every prompt begins; empty: it is not always the same.

        A model that is served here reads it ahead (`Decider.read_ahead`).
        """
        return ""

    def advice(self, state: StateT) -> str:
        """What the rule would say, for mode `advised`: the rule's reply as JSON by default."""
        return self.rule(state).model_dump_json(exclude_defaults=True)

    def options(self, state: StateT) -> Mapping[str, Sequence[str | int]]:
        """Valid values of fields of the reply, for its schema.

        Returns:
            Path of a field -> values, e.g. `{"place": ["p1", "p4"]}`; an item of a list has `[]`:
            `assignments[].robot`, `rooms[]`.
        """
        return {}

    def lengths(self, state: StateT) -> Mapping[str, int]:
        """How many entries lists of the reply have, where one is due for each of something.

        Weak models do not end a list by themselves.

        Returns:
            Path of a list -> its length, e.g. `{"ratings": 12}`.
        """
        return {}

    def most_tokens(self, state: StateT) -> int:
        """Most tokens of the reply to this question: fewer where less is asked for."""
        return self.max_tokens

    def tools(self, state: StateT) -> Sequence[Tool[Any]]:
        """What the model may look up or ask before it answers."""
        return ()

    def only_reply(self, state: StateT) -> ReplyT | None:
        """The reply where there is just one that is valid: no model is asked then."""
        return None

    def check(self, state: StateT, reply: ReplyT) -> None:
        """Check the reply against the state: the chosen id exists, the place is a neighbour, ...

        Raises:
            CheckFailed: What came, what was expected, what to do; the model reads it.
        """

    @abc.abstractmethod
    def rule(self, state: StateT) -> ReplyT:
        """Answer the same question with no model: deterministic, offline, always valid."""


@dataclass(frozen=True)
class Decided(Generic[ReplyT]):
    """A reply and how it came about.

    Attributes:
        reply: The reply; it fits its schema and passed its check, or comes from the rule.
        decided_by: `model` or `rule`.
        reason: Empty when the model decided at once or when the rule is the configured model;
            otherwise why the model was asked again or why the rule took over.
        attempts: Replies that models gave or were asked for.
        usage: Usage of all attempts.
        seconds: Time that the decision took [s].
        mode: The mode in which it was put.
        model: Name of the model that decided; empty for the rule.
        tool_uses: Look-ups and questions of the model.
        exchange: Messages that models were sent and replied, where somebody listens (`tracing`).
        trace: Id under which the decision is kept; empty: it is not.
    """

    reply: ReplyT
    decided_by: Literal["model", "rule"]
    reason: str
    attempts: int
    usage: Usage
    seconds: float
    mode: Mode = "rule"
    model: str = ""
    tool_uses: tuple[ToolUse, ...] = ()
    exchange: Exchange | None = dataclasses.field(default=None, repr=False, compare=False)
    trace: str = dataclasses.field(default="", compare=False)


def schema_for(decision: Decision[StateT, ReplyT], state: StateT) -> Mapping[str, Any]:
    """Schema of the reply to this question, as it is sent: valid values stand in it as enums.

    Raises:
        ValueError: The decision's `options` name a field that its reply does not have.
    """
    return with_options(
        lean_schema(decision.reply_type), decision.options(state), decision.lengths(state)
    )


def messages_for(
    decision: Decision[StateT, ReplyT], state: StateT, mode: Mode = "model"
) -> tuple[Message, ...]:
    """Return the messages that a model reads in a mode: prompt, advice if any, data rule."""
    messages = tuple(decision.prompt(state))
    advice = decision.advice(state) if mode == "advised" else ""
    if advice:
        last = messages[-1]
        text = (
            f"{last.text}\n{as_data('advice', advice, limit=8000)}\n"
            "The advice was computed by a rule that may know less than you do. Follow it where "
            "it is right."
        )
        messages = (*messages[:-1], dataclasses.replace(last, text=text))
    return with_data_rule(messages)


_SHARES = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03, 0.02, 0.015, 0.01)
_WITH_TOOLS = 0.5
"""Tools take room too: shorter prompts than this share go without them."""
_QUARTER = 0.25
"""Share to which a prompt is cut for a model that would rather read less, where no share would make
it short enough."""
_CAREFUL = 1.1
"""Tokens of a strange tokenizer for each of the estimate's."""


def request_for(
    decision: Decision[StateT, ReplyT],
    state: StateT,
    mode: Mode,
    context: int | None = None,
    *,
    shortened_times: int = 0,
    short: int | None = None,
    look_ups: bool = True,
) -> ModelRequest:
    """Return the request that puts a decision to a model, before any look-up.

    Args:
        decision: Decision to put.
        state: State to decide on.
        mode: Decides whether advice is shown.
        context: Tokens of prompt and reply together; None: as many as the decision likes. A
            prompt that would be longer is made again, with less of every list in it, and where
            that would leave little of them, without tools.
        shortened_times: Number of times that the prompt is halved anyway, because the model is
            slow.
        short: Tokens of messages above which a prompt is made with less of every list, as far as
            that helps; None: no matter how many.
        look_ups: Whether tools are offered.
    """
    tools = tuple(tool.spec for tool in decision.tools(state)) if look_ups else ()
    asked = decision.most_tokens(state)
    most = asked if context is None else min(asked, context // 4)
    shares = _SHARES[shortened_times:]
    ways = [(share, tools) for share in shares if share >= _WITH_TOOLS]
    ways += [(share, ()) for share in shares]
    longer: ModelRequest | None = None
    for share, offered in ways:
        with shortened(share):  # what is left out of a prompt need not be an option either
            messages = messages_for(decision, state, mode)
            schema = schema_for(decision, state)
        request = ModelRequest(
            messages=messages,
            schema=schema,
            tools=offered,
            temperature=decision.temperature,
            max_tokens=most,
        )
        if context is not None and estimate_prompt(request) * _CAREFUL + most > context:
            continue
        if short is None or estimate_messages(messages) <= short:
            return request
        longer = request if longer is None or share >= _QUARTER else longer
    return longer or request


def decide_by_rule(decision: Decision[StateT, ReplyT], state: StateT) -> Decided[ReplyT]:
    """Answer with the rule, without a model or an event loop."""
    started = time.perf_counter()
    reply = decision.rule(state)
    return Decided(reply, "rule", "", 0, _NOTHING_USED, time.perf_counter() - started)


def read_reply(decision: Decision[StateT, ReplyT], state: StateT, answer: Reply) -> ReplyT:
    """Turn a model's answer into the decision's reply.

    Raises:
        BadReply: No JSON object in it, or it does not fit the schema.
        CheckFailed: It does not fit the state.
    """
    parsed = answer.parsed if answer.parsed is not None else extract_json(answer.text)
    try:
        reply = cast(ReplyT, decision.reply_type.model_validate(parsed))
    except ValidationError as error:
        problems = schema_problems(error, "reply", most=8)
        raise BadReply(
            f"the reply does not fit its schema: {problems}", text=answer.text[:2000]
        ) from None
    try:
        decision.check(state, reply)
    except CheckFailed as error:
        failed = CheckFailed(*error.args)
    except Exception as error:  # a check that trips over a hostile reply is a failed check
        _LOG.warning("%s: its check raised %s", decision.name, type(error).__name__, exc_info=True)
        failed = CheckFailed(f"the check raised {type(error).__name__}: {error}")
    else:
        return reply
    failed.reply_text = answer.text[:2000]
    raise failed


def with_data_rule(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages, with the meaning of fences explained once if there are any."""
    given = tuple(messages)
    fenced = any(FENCE_OPENING in message.text for message in given)
    if not fenced or any(DATA_RULE in message.text for message in given):
        return given
    if given[0].role == "system":
        head = given[0]
        return (Message("system", f"{head.text}\n\n{DATA_RULE}", head.images), *given[1:])
    return (Message.system(DATA_RULE), *given)
