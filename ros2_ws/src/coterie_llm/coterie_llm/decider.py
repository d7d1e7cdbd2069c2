"""The decider: puts decisions to models, and to their rules when no model can decide."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from coterie_llm.decision import (
    Decided,
    Decision,
    decide_by_rule,
    read_reply,
    request_for,
    with_data_rule,
)
from coterie_llm.due import due_in, time_left
from coterie_llm.errors import (
    BadReply,
    CheckFailed,
    CutOff,
    LanguageError,
    ModelTimeout,
    ReplayMiss,
)
from coterie_llm.exchange import Exchange, said_in
from coterie_llm.fence import as_data, inline_data
from coterie_llm.joining import Gathering, NotAlike, entry_of, joined
from coterie_llm.modes import Mode, Policy
from coterie_llm.own import replaced
from coterie_llm.pace import Pace
from coterie_llm.rules_model import RulesModel
from coterie_llm.tools import Tool, ToolUse, use_tool
from coterie_llm.tracing import new_exchange, traced
from coterie_llm.types import LanguageModel, Message, ModelRequest, Reply, Sampled, Usage
from coterie_llm.waiting import within

StateT = TypeVar("StateT")
ReplyT = TypeVar("ReplyT", bound=BaseModel)

_LOG = logging.getLogger(__name__)
_REASON_CHARS = 500
_CUT_OFF_FACTOR = 4
_MAX_TOKENS = 32_768
"""Growth of the limit of a reply that was cut off, and the largest such limit [tokens]."""
_LEAST_S = 0.01
"""Time left [s] below which no model is asked: it would be billed and could not answer."""
_FOR_LARGER = 0.5
"""Share of a decision's time that is kept for the larger model, however slow the first one is."""
_ASKED_AGAIN = "asked again: "
_READ_AHEAD_S = 600.0
_MAX_CALLS = 8
"""Tools that a model may call in one turn."""


@dataclass
class _Asked:
    """What one decision has taken so far, over all its models."""

    started: float
    limit_s: float
    usage: Usage = field(default_factory=Usage)
    attempts: int = 0
    reason: str = ""
    uses: list[ToolUse] = field(default_factory=list)
    kept_s: float = 0.0
    exchange: Exchange | None = field(default_factory=new_exchange)

    @property
    def left_s(self) -> float:
        """Seconds that the model in turn may still take; `kept_s` are for the next [s]."""
        return self.limit_s - self.kept_s - (time.perf_counter() - self.started)

    def note(self, words: str) -> None:
        self.reason = f"{self.reason}; then: {words}" if self.reason else words

    def keep(self, model: str, messages: Sequence[Message], said: str, refused: str = "") -> None:
        """Keep a model's reply, and what it was sent, where somebody listens."""
        if self.exchange is not None:
            self.exchange.keep(model, messages, said, refused)


class Decider:
    """Puts decisions to a model, and to their rules when the model cannot decide.

    A reply that breaks its schema or its check is asked for again, with the error; then a larger
    model is asked, if there is one; then the rule decides. Model trouble never reaches the caller,
    except a cassette's miss (see `ReplayMiss.fatal`).

    Args:
        model: Model that is asked. With a `RulesModel` every decision goes straight to its rule.
        timeout_s: Seconds that one decision may take in all, further questions and tools
            included [s]; less where somebody waits for the answer (`due_in`).
        who: The robot that decides, for meters and budgets.
        on_decided: Called with the decision's name and the outcome, in the loop's thread; must not
            block.
        policy: Modes by decision, attempts, turns with tools.
        larger: Asked when the replies of `model` cannot be used, or when it is not there.
        larger_context: Tokens of its conversations; None: unlimited. Those of `model` are the
            policy's.
        paces: Paces that bound the prompts of both; by default the full length until one is slow.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        timeout_s: float = 30.0,
        who: str = "",
        on_decided: Callable[[str, Decided[Any]], None] | None = None,
        policy: Policy | None = None,
        larger: LanguageModel | None = None,
        larger_context: int | None = None,
        paces: tuple[Pace, Pace] | None = None,
    ) -> None:
        if not timeout_s > 0:
            raise ValueError(f"timeout_s must be above 0 s, not {timeout_s}")
        self.model = model
        self.timeout_s = timeout_s
        self.who = who
        self.policy = policy or Policy()
        self.larger, self.larger_context = larger, larger_context
        self._paces = paces or (Pace(), Pace())
        self._on_decided = on_decided
        self._rule_only = isinstance(model, RulesModel)
        self._gathering = Gathering(self._decide_all)
        self._trouble = ""

    async def aclose(self) -> None:
        """Close the models' connections of the running loop."""
        await self.model.aclose()
        if self.larger is not None:
            await self.larger.aclose()

    async def read_ahead(self, *decisions: Decision[Any, Any]) -> None:
        """Let the model read what prompts of decisions begin with, which its server keeps.

        The first question need not wait for that. What goes wrong shows when something is asked.
        """
        for decision in decisions:
            if self.mode_of(decision.name) == "rule" or not (opening := decision.opening()):
                continue
            messages = with_data_rule((Message.system(opening), Message.user(as_data("", ""))))
            with contextlib.suppress(LanguageError):
                tags = {"who": self.who, "decision": "read ahead"}
                await self.model.complete(
                    ModelRequest(messages, max_tokens=1, timeout_s=_READ_AHEAD_S, tags=tags)
                )

    @property
    def rule_only(self) -> bool:
        """No model is configured: `decide` never waits, `decide_by_rule` replies the same."""
        return self._rule_only

    def mode_of(self, decision: str) -> Mode:
        """Return the mode of a decision; always `rule` where no model is configured."""
        return "rule" if self._rule_only else self.policy.of(decision)

    def gathers(self, decision: Decision[Any, Any]) -> bool:
        """Return whether questions of a kind that are put at the same time go out together."""
        joins = min(decision.joins, self.policy.join) > 1 and self.policy.gather
        return joins and self.mode_of(decision.name) != "rule"

    def sampled(self, temperature: float | None, seed: int) -> Decider:
        """The same decider with another sampling: a member of an ensemble.

        A temperature that the model's profile sets, and budgets and meters, hold for it too.

        Args:
            temperature: Sampling temperature; None: that of the decisions.
            seed: Sampling seed that goes to the endpoint.
        """
        if self._rule_only:
            return self
        return Decider(
            Sampled(self.model, temperature=temperature, seed=seed),
            timeout_s=self.timeout_s,
            who=self.who,
            on_decided=self._on_decided,
            policy=self.policy,
            larger=self.larger and Sampled(self.larger, temperature=temperature, seed=seed),
            larger_context=self.larger_context,
            paces=self._paces,
        )

    def _own(self, decision: Decision[StateT, ReplyT]) -> Decision[StateT, ReplyT]:
        """Return what the user wrote for a decision, else the decision."""
        own = None if decision.own else self.policy.own.get(decision.name)
        return decision if own is None else replaced(decision, own)

    def decide_by_rule(self, decision: Decision[StateT, ReplyT], state: StateT) -> Decided[ReplyT]:
        """Answer with the rule whatever the model is; for code that cannot await."""
        decision = self._own(decision)
        made = self._told(decision.name, decide_by_rule(decision, state))
        return traced(decision, state, made, self.who)

    async def decide(self, decision: Decision[StateT, ReplyT], state: StateT) -> Decided[ReplyT]:
        """Ask the model, once more if its reply cannot be used, then the rule.

        Questions of a kind that may be joined (`Decision.joins`) go out together with those that
        are put at the same time.

        Raises:
            ReplayMiss: The model is a cassette that has no such prompt (unless its profile says
                `on_miss: rule`).
            asyncio.CancelledError: The caller was cancelled.
        """
        decision, mode = self._own(decision), self.mode_of(decision.name)
        if mode == "rule":
            return self.decide_by_rule(decision, state)
        if self.gathers(decision):
            most = min(decision.joins, self.policy.join)
            made = await self._gathering.decide(decision, state, most)
        else:
            made = await self._decide(decision, state, mode)
        return traced(decision, state, made, self.who)  # here, where the caller's context is known

    async def _decide(
        self, decision: Decision[StateT, ReplyT], state: StateT, mode: Mode
    ) -> Decided[ReplyT]:
        started = time.perf_counter()
        only = self._only_reply(decision, state)
        if only is not None:
            seconds = time.perf_counter() - started
            return self._told(
                decision.name, Decided(only, "rule", "", 0, Usage(), seconds, mode=mode)
            )
        return self._told(decision.name, await self._ask(decision, state, mode))

    def _only_reply(self, decision: Decision[StateT, ReplyT], state: StateT) -> ReplyT | None:
        return None if self.policy.ask_always else decision.only_reply(state)

    async def decide_all(
        self, decision: Decision[StateT, ReplyT], states: Sequence[StateT]
    ) -> list[Decided[ReplyT]]:
        """Decide independent questions of one kind, as many in one request as may be.

        Each entry of such a reply is checked by itself. A question whose entry is wrong or missing
        is put again alone; where the model is not there, their rules decide.

        Raises:
            ReplayMiss: As `decide`.
        """
        decision = self._own(decision)
        all_ = await self._decide_all(decision, states)
        pairs = zip(states, all_, strict=True)
        return [traced(decision, state, made, self.who) for state, made in pairs]

    async def _decide_all(
        self, decision: Decision[StateT, ReplyT], states: Sequence[StateT]
    ) -> list[Decided[ReplyT]]:
        mode = self.mode_of(decision.name)
        made: dict[int, Decided[ReplyT]] = {}
        most = 1 if mode == "rule" else min(decision.joins, self.policy.join)
        open_ = [k for k, one in enumerate(states) if self._only_reply(decision, one) is None]
        for start in range(0, len(open_), most):
            group = open_[start : start + most]
            if len(group) > 1:
                some = await self._ask_together(decision, [states[k] for k in group], mode)
                made |= {group[k]: decided for k, decided in some.items()}
        for k, state in enumerate(states):
            if k in made:
                self._told(decision.name, made[k])
            elif mode == "rule":
                made[k] = self._told(decision.name, decide_by_rule(decision, state))
            else:
                made[k] = await self._decide(decision, state, mode)
        return [made[k] for k in range(len(states))]

    async def _ask_together(
        self, decision: Decision[StateT, ReplyT], states: Sequence[StateT], mode: Mode
    ) -> dict[int, Decided[ReplyT]]:
        """Return the decisions on questions put at once, by index; without those to put again."""
        try:
            together = joined(decision, states)
        except NotAlike:
            return {}
        asked = await self._ask(together, tuple(states), mode)
        share = dataclasses.replace(asked, seconds=asked.seconds / len(states))
        if asked.decided_by == "rule":
            if asked.reason.startswith(_ASKED_AGAIN):
                return {}  # it is there, but lists are beyond it
            return {
                k: dataclasses.replace(share, reply=decision.rule(state))
                for k, state in enumerate(states)
            }
        valid = ((k, entry_of(decision, asked.reply, k, one)) for k, one in enumerate(states))
        return {
            k: dataclasses.replace(share, reply=entry) for k, entry in valid if entry is not None
        }

    async def _ask(
        self, decision: Decision[StateT, ReplyT], state: StateT, mode: Mode
    ) -> Decided[ReplyT]:
        asked = _Asked(time.perf_counter(), min(self.timeout_s, time_left()))
        decided_by: Literal["model", "rule"] = "rule"
        name = ""
        reply = None
        for model, pace in zip((self.model, self.larger), self._paces, strict=True):
            if model is None:
                continue
            first = model is self.model and self.larger is not None
            asked.kept_s = _FOR_LARGER * asked.limit_s if first else 0.0
            if slow := pace.pause(decision.name):
                asked.note(f"ModelSlow: {slow}")
                continue
            reply = await self._ask_model(model, pace, decision, state, mode, asked)
            if reply is not None:
                decided_by, name, self._trouble = "model", model.name, ""
                break
        if reply is None:
            self._log_trouble(decision.name, asked.reason)
            reply = decision.rule(state)
        return Decided(
            reply,
            decided_by,
            asked.reason,
            asked.attempts,
            asked.usage,
            time.perf_counter() - asked.started,
            mode=mode,
            model=name,
            tool_uses=tuple(asked.uses),
            exchange=asked.exchange,
        )

    async def _ask_model(
        self,
        model: LanguageModel,
        pace: Pace,
        decision: Decision[StateT, ReplyT],
        state: StateT,
        mode: Mode,
        asked: _Asked,
    ) -> ReplyT | None:
        """Return one model's valid reply, or None with the reason noted in `asked`."""
        shortened = pace.shortened(decision.name)
        context = self.larger_context if model is self.larger else self.policy.context
        begin = request_for(
            decision,
            state,
            mode,
            context,
            shortened_times=shortened,
            short=None if model is self.larger else self.policy.short,
            look_ups=self.policy.tool_turns > 0,
        )
        messages = begin.messages
        tools = {tool.name: tool for tool in decision.tools(state)}
        turns = self.policy.tool_turns if begin.tools else 0
        attempts = 0
        most = begin.max_tokens
        while attempts < self.policy.attempts:
            left_s = asked.left_s
            if left_s < _LEAST_S:
                asked.note("no time left to ask" + (" again" if asked.attempts else ""))
                return None
            request = dataclasses.replace(
                begin,
                messages=messages,
                max_tokens=most,
                tools=begin.tools if turns > 0 else (),
                # A little less than the limit here: the model's own time-out comes first, so that
                # breaker and meter see a time-out and not a cancellation.
                timeout_s=left_s - min(0.1 * left_s, 0.5),
                tags={"who": self.who, "decision": decision.name},
            )
            attempts += 1
            asked.attempts += 1
            try:
                answer = await within(
                    model.complete(request), left_s, decision.name, grace_s=min(0.1 * left_s, 0.1)
                )
                asked.usage = asked.usage + answer.usage
                pace.replied(decision.name)
                if answer.tool_calls and turns > 0:
                    turns -= 1
                    attempts -= 1
                    asked.keep(model.name, messages, said_in(answer))
                    asked.attempts -= 1
                    with due_in(asked.left_s):  # who is asked may take as long, and no longer
                        looked_up = await within(
                            _look_up(tools, answer, asked.uses, last=turns == 0),
                            asked.left_s,
                            f"tools of {decision.name}",
                        )
                    messages = (*messages, *looked_up)
                    continue
                reply = read_reply(decision, state, answer)
                asked.keep(model.name, messages, said_in(answer))
                return reply
            except (BadReply, CheckFailed) as error:
                asked.usage = asked.usage + error.usage
                said = error.text if isinstance(error, BadReply) else error.reply_text
                asked.keep(model.name, messages, said, _line(error))
                if isinstance(error, BadReply):
                    turns = 0  # without tools the endpoint can enforce the form
                asked.note(_line(error) if asked.reason else f"{_ASKED_AGAIN}{_line(error)}")
                if isinstance(error, CutOff):
                    most = min(_CUT_OFF_FACTOR * most, max(_MAX_TOKENS, most))
                if not (isinstance(error, CutOff) and error.thought):  # nothing to mend in words
                    messages = (*messages, *_second_question(error))
            except ReplayMiss as error:
                if error.fatal:
                    raise
                asked.note(_line(error))
                return None
            except LanguageError as error:
                asked.usage = asked.usage + error.usage
                asked.note(_line(error))
                asked.keep(model.name, messages, "", _line(error))
                if isinstance(error, ModelTimeout):
                    pace.timed_out(decision.name)
                    if shortened:
                        asked.note(f"the prompt was cut to 1/{2**shortened}, as the model is slow")
                return None
            except (
                Exception
            ) as error:  # a robot goes on deciding whatever a model's client throws at it
                _LOG.error("%s: unexpected %s from the model", decision.name, type(error).__name__)
                asked.note(f"unexpected {type(error).__name__} from the model")
                return None
        return None

    def _log_trouble(self, name: str, reason: str) -> None:
        """Warn when trouble begins or changes; an endpoint that stays down is no flood of lines."""
        kind = reason.rpartition("; then: ")[2].partition(":")[0]
        level = logging.INFO if kind == self._trouble else logging.WARNING
        self._trouble = kind
        _LOG.log(level, "%s %s: the rule decides: %s", self.who or "-", name, reason)

    def _told(self, name: str, decided: Decided[ReplyT]) -> Decided[ReplyT]:
        if self._on_decided is not None:
            try:
                self._on_decided(name, decided)
            except Exception:  # a broken display must not stop a robot
                _LOG.exception("on_decided failed for %s", name)
        return decided


async def _look_up(
    tools: Mapping[str, Tool[Any]], answer: Reply, uses: list[ToolUse], *, last: bool
) -> tuple[Message, ...]:
    """Run the calls of one turn and return the turn with its results."""
    results = []
    for k, call in enumerate(answer.tool_calls):
        if k < _MAX_CALLS:
            use = await use_tool(tools, call)
        else:
            refusal = f"refused: at most {_MAX_CALLS} calls a turn; ask again for this one"
            use = ToolUse(call.name, dict(call.arguments), refusal, True)
        uses.append(use)
        results.append(Message("tool", use.result, tool_call_id=call.id))
    said = Message("assistant", answer.text, tool_calls=answer.tool_calls)
    end = (Message.user("There are no more look-ups. Give your reply now."),) if last else ()
    return (said, *results, *end)


def _second_question(error: BadReply | CheckFailed) -> tuple[Message, ...]:
    said = error.text if isinstance(error, BadReply) else error.reply_text
    question = Message.user(
        f"That reply cannot be used:\n{as_data('error', str(error), limit=1500)}\n"
        "Answer the question again: one JSON object that fits the schema and mends this error."
    )
    return (Message.assistant(said), question) if said else (question,)


def _line(error: LanguageError) -> str:
    return inline_data(f"{type(error).__name__}: {error}", limit=_REASON_CHARS)
