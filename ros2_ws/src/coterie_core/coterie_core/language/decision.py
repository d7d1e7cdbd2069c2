"""Decisions: what a model is asked, how its reply is checked, and the rule that needs no model."""

from __future__ import annotations

import abc
import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, ValidationError

from coterie_core.language.errors import BadReply, CheckFailed, LanguageError, ReplayMiss
from coterie_core.language.extract import extract_json
from coterie_core.language.fence import DATA_RULE, FENCE_OPENING, as_data, inline_data
from coterie_core.language.rules_model import RulesModel
from coterie_core.language.types import LanguageModel, Message, ModelRequest, Reply, Sampled, Usage
from coterie_core.language.waiting import within
from coterie_core.plain_data import schema_problems

StateT = TypeVar("StateT")
ReplyT = TypeVar("ReplyT", bound=BaseModel)

_LOG = logging.getLogger(__name__)
_NOTHING_USED = Usage()
_REASON_CHARS = 500


class Decision(abc.ABC, Generic[StateT, ReplyT]):
    """One question that a model, or a rule, answers.

    Subclasses are stateless: all that matters is in the state, so that a decision can be repeated
    and recorded.

    Attributes:
        name: `package.verb_noun`, e.g. `mele.choose_place`; appears in meters, logs and reports.
        reply_type: pydantic model of the reply. Field descriptions reach the model.
        temperature: Sampling temperature, unless the model's profile sets its own.
        max_tokens: Most tokens of the reply.
    """

    name: ClassVar[str]
    reply_type: ClassVar[type[BaseModel]]
    temperature: ClassVar[float] = 0.0
    max_tokens: ClassVar[int] = 1024

    @abc.abstractmethod
    def prompt(self, state: StateT) -> Sequence[Message]:
        """The question. What was sensed, remembered or received goes in through `as_data`."""

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
        attempts: Calls made to the model: 0, 1 or 2.
        usage: What they used.
        seconds: How long the decision took [s].
    """

    reply: ReplyT
    decided_by: Literal["model", "rule"]
    reason: str
    attempts: int
    usage: Usage
    seconds: float


@functools.lru_cache(maxsize=512)
def reply_schema(reply_type: type[BaseModel]) -> Mapping[str, Any]:
    """JSON schema of a reply type (computed once)."""
    return reply_type.model_json_schema()


def decide_by_rule(decision: Decision[StateT, ReplyT], state: StateT) -> Decided[ReplyT]:
    """Answer with the rule, without a model or an event loop."""
    started = time.perf_counter()
    reply = decision.rule(state)
    return Decided(reply, "rule", "", 0, _NOTHING_USED, time.perf_counter() - started)


class Decider:
    """Puts decisions to a model, and to their rules when the model cannot decide.

    A reply that breaks its schema or its check is asked for again once, with the error; then the
    rule decides. Model trouble never reaches the caller, except a cassette's miss (see
    `ReplayMiss.fatal`).

    Args:
        model: What to ask. With a `RulesModel` every decision goes straight to its rule.
        timeout_s: Seconds that one decision may take in all, second question included [s].
        who: The robot that decides, for meters and budgets.
        on_decided: Called with the decision's name and the outcome, in the loop's thread; must not
            block.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        timeout_s: float = 30.0,
        who: str = "",
        on_decided: Callable[[str, Decided[Any]], None] | None = None,
    ) -> None:
        if not timeout_s > 0:
            raise ValueError(f"timeout_s must be above 0 s, not {timeout_s}")
        self.model = model
        self.timeout_s = timeout_s
        self.who = who
        self._on_decided = on_decided
        self._rule_only = isinstance(model, RulesModel)
        self._trouble = ""

    @property
    def rule_only(self) -> bool:
        """No model is configured: `decide` never waits, `decide_by_rule` replies the same."""
        return self._rule_only

    def sampled(self, temperature: float | None, seed: int) -> Decider:
        """The same decider with another sampling: a member of an ensemble.

        A temperature that the model's profile sets, and budgets and meters, hold for it too.

        Args:
            temperature: Sampling temperature; None: that of the decisions.
            seed: Sampling seed that goes to the endpoint.
        """
        if self._rule_only:
            return self
        model = Sampled(self.model, temperature=temperature, seed=seed)
        return Decider(model, timeout_s=self.timeout_s, who=self.who, on_decided=self._on_decided)

    def decide_by_rule(self, decision: Decision[StateT, ReplyT], state: StateT) -> Decided[ReplyT]:
        """Answer with the rule whatever the model is; for code that cannot await."""
        decided = decide_by_rule(decision, state)
        if self._on_decided is not None:
            self._tell(decision.name, decided)
        return decided

    async def decide(self, decision: Decision[StateT, ReplyT], state: StateT) -> Decided[ReplyT]:
        """Ask the model, once more if its reply cannot be used, then the rule.

        Raises:
            ReplayMiss: The model is a cassette that has no such prompt (unless its profile says
                `on_miss: rule`).
            asyncio.CancelledError: The caller was cancelled.
        """
        if self._rule_only:
            decided = decide_by_rule(decision, state)
        else:
            decided = await self._ask(decision, state)
        if self._on_decided is not None:
            self._tell(decision.name, decided)
        return decided

    async def _ask(self, decision: Decision[StateT, ReplyT], state: StateT) -> Decided[ReplyT]:
        started = time.perf_counter()
        messages = with_data_rule(decision.prompt(state))
        usage = _NOTHING_USED
        attempts = 0
        reason = ""
        while attempts < 2:
            left_s = self.timeout_s - (time.perf_counter() - started)
            if left_s <= 0:
                reason = f"{reason}; no time left to ask again"
                break
            attempts += 1
            request = ModelRequest(
                messages=messages,
                schema=reply_schema(decision.reply_type),
                temperature=decision.temperature,
                max_tokens=decision.max_tokens,
                # A little less than the limit here: the model's own time-out comes first, so that
                # breaker and meter see a time-out and not a cancellation.
                timeout_s=left_s - min(0.1 * left_s, 0.5),
                tags={"who": self.who, "decision": decision.name},
            )
            try:
                answer = await within(
                    self.model.complete(request),
                    left_s,
                    decision.name,
                    grace_s=min(0.1 * left_s, 0.1),
                )
                usage = usage + answer.usage
                reply = read_reply(decision, state, answer)
            except (BadReply, CheckFailed) as error:
                usage = usage + error.usage
                first = attempts == 1
                reason = (
                    f"asked again: {_line(error)}" if first else f"{reason}; then: {_line(error)}"
                )
                messages = (*messages, *_second_question(error))
            except ReplayMiss as error:
                if error.fatal:
                    raise
                reason = _and(reason, _line(error))
                break
            except LanguageError as error:
                usage = usage + error.usage
                reason = _and(reason, _line(error))
                break
            except (
                Exception
            ) as error:  # a robot goes on deciding whatever a model's client throws at it
                _LOG.error("%s: unexpected %s from the model", decision.name, type(error).__name__)
                reason = _and(reason, f"unexpected {type(error).__name__} from the model")
                break
            else:
                self._trouble = ""
                seconds = time.perf_counter() - started
                return Decided(reply, "model", reason, attempts, usage, seconds)
        self._log_trouble(decision.name, reason)
        reply = decision.rule(state)
        return Decided(reply, "rule", reason, attempts, usage, time.perf_counter() - started)

    def _log_trouble(self, name: str, reason: str) -> None:
        """Warn when trouble begins or changes; an endpoint that stays down is no flood of lines."""
        kind = reason.rpartition("; then: ")[2].partition(":")[0]
        level = logging.INFO if kind == self._trouble else logging.WARNING
        self._trouble = kind
        _LOG.log(level, "%s %s: the rule decides: %s", self.who or "-", name, reason)

    def _tell(self, name: str, decided: Decided[Any]) -> None:
        try:
            if self._on_decided is not None:
                self._on_decided(name, decided)
        except Exception:  # a broken display must not stop a robot
            _LOG.exception("on_decided failed for %s", name)


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


def _second_question(error: BadReply | CheckFailed) -> tuple[Message, ...]:
    said = error.text if isinstance(error, BadReply) else error.reply_text
    question = Message.user(
        f"That reply cannot be used:\n{as_data('error', str(error), limit=1500)}\n"
        "Answer the question again: one JSON object that fits the schema and mends this error."
    )
    return (Message.assistant(said), question) if said else (question,)


def _line(error: LanguageError) -> str:
    return inline_data(f"{type(error).__name__}: {error}", limit=_REASON_CHARS)


def _and(reason: str, more: str) -> str:
    return f"{reason}; then: {more}" if reason else more
