"""Slow models: prompts get shorter after time-outs; where that is no help, the rule goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from coterie_fixtures.endpoint import Endpoint, Hang, server_error
from coterie_llm import (
    Decided,
    Decision,
    Message,
    ModelProfile,
    Tool,
    as_data,
    build_decider,
)
from coterie_llm.decision import request_for
from coterie_llm.pace import Pace
from coterie_llm.profile import LOCAL_PROMPT, TOOL_TURNS
from coterie_llm.tokens import estimate_messages


class Which(BaseModel):
    """Which thing."""

    reason: str = ""
    thing: str


class Asked(BaseModel):
    """About a thing."""

    thing: str


class WhichThing(Decision[Sequence[str], Which]):
    """Which of many things; the rule takes the first."""

    name = "objects.choose"
    reply_type = Which

    def prompt(self, state: Sequence[str]) -> Sequence[Message]:
        return (Message.user(f"{as_data('things', list(state), limit=4000)}\nWhich?"),)

    def tools(self, state: Sequence[str]) -> Sequence[Tool[Any]]:
        return (Tool("tell", "Tells of a thing.", Asked, lambda asked: "it is there"),)

    def rule(self, state: Sequence[str]) -> Which:
        return Which(thing=state[0])


THINGS = [f"a rather small thing with number {k} on it" for k in range(80)]


def slow_over(characters: int) -> Any:
    """A model that gets through so many characters in time, and hangs over more."""

    def answer(body: dict[str, Any]) -> Any:
        text = "".join(str(message["content"]) for message in body["messages"])
        return {"reason": "it fits", "thing": "a"} if len(text) <= characters else Hang()

    return answer


async def decided(endpoint: Endpoint, count: int, timeout_s: float = 1.0) -> list[Decided[Which]]:
    profile = ModelProfile(
        kind="openai", base_url=endpoint.url, model="m", max_retries=0, cache=0, timeout_s=timeout_s
    )
    decider = build_decider(profile, timeout_s=60.0)
    made = [await decider.decide(WhichThing(), THINGS) for _ in range(count)]
    await decider.aclose()
    return made


async def test_prompts_are_shortened_until_a_slow_model_is_in_time() -> None:
    with Endpoint(slow_over(1600)) as endpoint:
        made = await decided(endpoint, 6)
    assert [one.decided_by for one in made] == ["rule"] * 2 + ["model"] * 4
    assert "ModelTimeout" in made[0].reason
    assert "the prompt was cut to 1/2, as the model is slow" in made[1].reason
    assert not made[2].reason
    sizes = [len(received.text) for received in endpoint.received]
    assert sizes[0] > sizes[1] > sizes[2]
    assert "more entries are left out" in endpoint.received[2].text
    assert "tools" in endpoint.received[0].body and "tools" not in endpoint.received[2].body


async def test_prompts_grow_again_once_replies_come_in_time() -> None:
    with Endpoint(slow_over(10**6)) as endpoint:
        endpoint.fail(Hang(), Hang())
        made = await decided(endpoint, 12)
    assert [one.decided_by for one in made] == ["rule"] * 2 + ["model"] * 10
    sizes = [len(received.text) for received in endpoint.received]
    assert sizes[2] == sizes[5] < sizes[6] == sizes[9] < sizes[10] == sizes[0]


async def test_where_no_prompt_is_short_enough_the_rule_goes_on_and_says_why() -> None:
    with Endpoint(slow_over(0)) as endpoint:
        made = await decided(endpoint, 17, timeout_s=0.5)  # nobody is answered
    assert {one.decided_by for one in made} == {"rule"}
    asked = ["ModelTimeout" in one.reason for one in made]
    # Whole, 1/2, 1/4, 1/8; four by the rule alone, one is tried, then eight.
    assert asked == [True] * 4 + [False] * 4 + [True] + [False] * 8
    assert "ModelSlow: not asked" in made[4].reason and "after 3 more" in made[4].reason
    assert not any(one.attempts for one in made[4:8])
    assert len(endpoint.received) == 5


def test_decisions_are_paced_by_themselves() -> None:
    pace = Pace()
    for _ in range(9):
        pace.timed_out("mele.answer")
    assert (pace.shortened("mele.answer"), pace.shortened("mele.debate")) == (3, 0)
    assert pace.pause("mele.answer") and not pace.pause("mele.debate")


# -- small models read little, and ahead -----------------------------------------------------------


class WithOpening(WhichThing):
    """The same with an instruction that is always the same."""

    def opening(self) -> str:
        return "You tell things from one another. " * 40

    def prompt(self, state: Sequence[str]) -> Sequence[Message]:
        return (Message.system(self.opening()), *super().prompt(state))


def lengths(decision: WhichThing, **options: Any) -> tuple[int, int]:
    request = request_for(decision, THINGS, "model", 4096, **options)
    return estimate_messages(request.messages), request.messages[-1].text.count("small thing")


def test_a_model_that_would_rather_read_less_is_shown_the_first_of_a_list() -> None:
    whole, shown = lengths(WhichThing())
    short, fewer = lengths(WhichThing(), short=300)
    assert whole > 300 >= short and 0 < fewer < shown == len(THINGS)
    request = request_for(WhichThing(), THINGS, "model", 4096, short=300)
    assert THINGS[0] in request.messages[-1].text and "left out" in request.messages[-1].text


def test_what_no_share_makes_short_enough_keeps_a_quarter() -> None:
    _, some = lengths(WithOpening(), short=300)
    assert len(THINGS) // 8 <= some <= len(THINGS) // 3


def test_tools_are_offered_only_where_there_is_a_turn_for_them() -> None:
    assert request_for(WhichThing(), THINGS, "model").tools
    assert not request_for(WhichThing(), THINGS, "model", look_ups=False).tools


def test_profiles_of_models_that_are_served_here_read_little_and_look_nothing_up() -> None:
    here, elsewhere = ModelProfile(kind="local"), ModelProfile(kind="openai", model="m")
    assert (here.policy.tool_turns, elsewhere.policy.tool_turns) == (0, TOOL_TURNS)
    assert (here.policy.short, elsewhere.policy.short) == (LOCAL_PROMPT, None)
    asks = ModelProfile(kind="local", tool_turns=2, prompt=2000)
    assert (asks.policy.tool_turns, asks.policy.short) == (2, 2000)


async def test_what_prompts_begin_with_is_read_ahead_and_trouble_with_that_is_none() -> None:
    with Endpoint(lambda request: {"reason": "it fits", "thing": "a"}) as endpoint:
        profile = ModelProfile(
            kind="openai", base_url=endpoint.url, model="m", max_retries=0, tool_turns=0
        )
        decider = build_decider(profile)
        endpoint.fail(server_error())
        await decider.read_ahead(WithOpening(), WhichThing())
        await decider.read_ahead(WithOpening())
        decided = await decider.decide(WithOpening(), THINGS)
        await decider.aclose()
        quiet = build_decider(profile.model_copy(update={"mode": "rule"}))
        await quiet.read_ahead(WithOpening())
        _, first, second = (received.body for received in endpoint.received)
    assert decided.decided_by == "model"
    assert first["messages"][0] == second["messages"][0] and first["max_tokens"] == 1
