"""Independent decisions of one kind in one request: what they share is sent once."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field, SkipValidation, create_model

from coterie_llm.decision import Decided, Decision, read_reply
from coterie_llm.due import ends_in, time_left
from coterie_llm.errors import BadReply, CheckFailed
from coterie_llm.types import Message, Reply

StateT = TypeVar("StateT")
ReplyT = TypeVar("ReplyT", bound=BaseModel)

_MAX_TOKENS = 8000
_FENCE = re.compile(r"<data label=\"[^\"]*\">\n.*?\n</data>", re.DOTALL)
_GATHER_S = 0.02
"""Time that a decision waits for others of its kind that are put at the same time [s]."""


class NotAlike(ValueError):
    """These questions share too little, or hold images: they are put one by one."""


def joined(
    decision: Decision[StateT, ReplyT], states: Sequence[StateT]
) -> Decision[tuple[StateT, ...], Any]:
    """Return the decision that puts all of these questions at once.

    Its prompt holds what they have in common once, then what each has of its own, by number. Its
    reply is a list; an entry is checked by itself (`entry_of`): a wrong one spoils no other.

    Raises:
        NotAlike: They cannot be put together, or most of what they hold is each one's own: then
            one request saves little, and is as long as all of them.
    """
    prompts = [tuple(decision.prompt(state)) for state in states]
    heads = {tuple((m.role, m.text) for m in prompt[:-1]) for prompt in prompts}
    if len(heads) > 1 or any(m.images for prompt in prompts for m in prompt):
        raise NotAlike(f"{decision.name}: instructions differ, or there are images")
    shared, own = _shared_and_own([_blocks(prompt[-1].text) for prompt in prompts])
    common = sum(map(len, shared)) + sum(len(m.text) for m in prompts[0][:-1])
    if common * len(own) < sum(len(block) for blocks in own for block in blocks):
        raise NotAlike(f"{decision.name}: less than half of each question is common to all")
    count = len(states)

    class Together(Decision[tuple[StateT, ...], Any]):
        """Several questions at once."""

        name = decision.name
        reply_type = _list_of(decision.reply_type, count)
        temperature = decision.temperature

        def most_tokens(self, state: tuple[StateT, ...]) -> int:
            """Those of all replies together."""
            return min(sum(decision.most_tokens(one) for one in state), _MAX_TOKENS)

        def prompt(self, state: tuple[StateT, ...]) -> Sequence[Message]:
            """What all have in common, then what each has of its own."""
            return _together([tuple(decision.prompt(one)) for one in state])

        def advice(self, state: tuple[StateT, ...]) -> str:
            """Return the advice on each, in order; "" where there is none."""
            advice = [decision.advice(one) for one in state]
            return json.dumps(advice) if any(advice) else ""

        def options(self, state: tuple[StateT, ...]) -> Mapping[str, Sequence[str | int]]:
            """Return the values that are valid for any of them."""
            valid: dict[str, dict[str | int, None]] = {}
            for one in state:
                for path, values in decision.options(one).items():
                    valid.setdefault(f"answers[].{path}", {}).update(dict.fromkeys(values))
            return {path: list(values) for path, values in valid.items()}

        def check(self, state: tuple[StateT, ...], reply: Any) -> None:
            """At least one entry can be used."""
            if not any(entry_of(decision, reply, k, one) for k, one in enumerate(state)):
                raise CheckFailed(
                    f"no entry of answers can be used: give one for each question, with its number "
                    f"from 1 to {len(state)} as `question`"
                )

        def rule(self, state: tuple[StateT, ...]) -> Any:
            """Nothing: each question has a rule of its own."""
            return self.reply_type.model_construct(answers=[])

    return Together()


def entry_of(
    decision: Decision[StateT, ReplyT], reply: Any, index: int, state: StateT
) -> ReplyT | None:
    """Return the valid entry for one of the questions, by its index from 0; None: there is none."""
    for entry in reply.answers:
        given = entry if isinstance(entry, Mapping) else getattr(entry, "__dict__", {})
        if str(given.get("question", "")) == str(index + 1):
            own = {key: value for key, value in given.items() if key != "question"}
            try:
                return read_reply(decision, state, Reply("", own))
            except (BadReply, CheckFailed):
                return None
    return None


@functools.lru_cache(maxsize=256)
def _list_of(reply_type: type[BaseModel], count: int) -> type[BaseModel]:
    number = Field(ge=1, le=count, description="number of the question")
    fields: dict[str, Any] = {
        name: (info.annotation, info) for name, info in reply_type.model_fields.items()
    }
    entry = create_model(f"{reply_type.__name__}Entry", question=(int, number), **fields)
    answers = Field(min_length=1, max_length=count, description="one entry for each question")
    items: Any = list[SkipValidation[entry]]
    return create_model(f"{TOGETHER}{reply_type.__name__}", answers=(items, answers))


TOGETHER, QUESTION = "Together", "Question"
"""Beginning of the titles of such replies, and the word before each question's own data."""


def _together(prompts: Sequence[Sequence[Message]]) -> Sequence[Message]:
    parts, owned = _shared_and_own([_blocks(prompt[-1].text) for prompt in prompts])
    for number, own in enumerate(owned, start=1):
        parts += [f"{QUESTION} {number}:", *own]
    parts.append(
        f"These are {len(prompts)} questions, independent of one another. Answer each by itself, "
        "by its number."
    )
    return (*prompts[0][:-1], Message.user("\n".join(parts)))


def _shared_and_own(blocks: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Return what all questions hold, and what each holds beside it."""
    everywhere = set(blocks[0]).intersection(*blocks[1:])
    shared = [block for block in blocks[0] if block in everywhere]
    return shared, [[one for one in own if one not in everywhere] for own in blocks]


def _blocks(text: str) -> list[str]:
    """Split a prompt into its fences and the lines between them."""
    parts = []
    at = 0
    for fence in _FENCE.finditer(text):
        parts += [*text[at : fence.start()].splitlines(), fence.group()]
        at = fence.end()
    parts += text[at:].splitlines()
    return [part for part in parts if part.strip()]


@dataclass(eq=False)
class _Waiting(Generic[StateT, ReplyT]):
    state: StateT
    end: float
    made: asyncio.Future[Decided[ReplyT]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def left_s(self) -> float:
        return self.end - time.perf_counter()


class Gathering:
    """Lets decisions of one kind that are put at the same time go out together.

    Those that come while others are under way go out when these are back.

    Args:
        decide_all: Decides several at once.
    """

    def __init__(
        self, decide_all: Callable[[Any, Sequence[Any]], Awaitable[Sequence[Decided[Any]]]]
    ) -> None:
        self._decide_all = decide_all
        self._waiting: dict[tuple[int, str], list[_Waiting[Any, Any]]] = {}
        self._tasks: set[asyncio.Future[None]] = set()

    async def decide(
        self, decision: Decision[StateT, ReplyT], state: StateT, most: int
    ) -> Decided[ReplyT]:
        """Decide, together with at most so many others; within the time that the caller has."""
        key = (id(asyncio.get_running_loop()), decision.name)
        one = _Waiting[StateT, ReplyT](state, time.perf_counter() + time_left())
        queue = self._waiting.setdefault(key, [])
        queue.append(one)
        if len(queue) == 1:
            # In a context of its own: the deadline of who came first binds no other.
            work = self._send(key, decision, most)
            task = contextvars.Context().run(asyncio.ensure_future, work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await one.made

    async def _send(self, key: tuple[int, str], decision: Decision[Any, Any], most: int) -> None:
        queue = self._waiting[key]
        try:
            await asyncio.sleep(_GATHER_S)
            while queue:
                group = [one for one in _alike(queue, most) if not one.made.done()]
                left_s = min((one.left_s() for one in group), default=0.0)
                if group:  # else all were cancelled
                    with ends_in(left_s):
                        made = await self._decide_all(decision, [one.state for one in group])
                    for one, decided in zip(group, made, strict=True):
                        if not one.made.done():
                            one.made.set_result(decided)
                queue[:] = [one for one in queue if not one.made.done()]
        except BaseException as error:
            for one in queue:
                if not one.made.done():
                    one.made.set_exception(error)
            if not isinstance(error, Exception):
                raise
        finally:
            self._waiting.pop(key, None)


def _alike(queue: Sequence[_Waiting[Any, Any]], most: int) -> list[_Waiting[Any, Any]]:
    """Return who goes out with the first: whose time is not much shorter or longer than its own."""
    first = queue[0].left_s()
    same = [
        one
        for one in queue
        if one is queue[0] or first == one.left_s() or 0.5 * first <= one.left_s() <= 2.0 * first
    ]
    return same[:most]
