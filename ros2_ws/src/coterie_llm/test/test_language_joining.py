"""Independent questions in one request: what they share goes once, each entry counts by itself."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from coterie_fixtures.endpoint import Endpoint, Hang, Says, Status
from coterie_llm import (
    CheckFailed,
    Confidence,
    Decided,
    Decider,
    Decision,
    Message,
    ModelProfile,
    UsageMeter,
    as_data,
    build_decider,
    due_in,
)

NOTES = "the kitchen has a table, a stove and a sink; " * 30


@dataclass(frozen=True)
class Ask:
    """Which of some things is in the kitchen?"""

    things: tuple[str, ...]
    instructions: str = "You know a kitchen."


class Found(BaseModel):
    """One thing."""

    reason: str = ""
    thing: str
    confidence: Confidence


class WhichIsThere(Decision[Ask, Found]):
    """Which thing is there; the rule takes the last."""

    name = "mele.answer"
    reply_type = Found
    max_tokens = 100
    joins = 4

    def prompt(self, state: Ask) -> Sequence[Message]:
        notes, things = as_data("notes", NOTES), as_data("things", list(state.things))
        return (
            Message.system(state.instructions),
            Message.user(f"{notes}\n{things}\nWhich of them is there?"),
        )

    def options(self, state: Ask) -> Mapping[str, Sequence[str]]:
        return {"thing": state.things}

    def only_reply(self, state: Ask) -> Found | None:
        return self.rule(state) if len(state.things) == 1 else None

    def check(self, state: Ask, reply: Found) -> None:
        if reply.thing not in state.things:
            raise CheckFailed(f"there is no {reply.thing}; one of {state.things}")

    def rule(self, state: Ask) -> Found:
        return Found(thing=state.things[-1], confidence=0.5)


STATES = [Ask((f"cup{k}", f"pan{k}")) for k in range(4)]


def first_of_each(request: dict[str, Any]) -> dict[str, Any]:
    """A model that takes the first thing of every question."""
    text = request["messages"][-1]["content"]
    things = [json.loads(one) for one in re.findall(r'label="things">\n(.*)\n', text)]
    entries = [{"reason": "seen", "thing": one[0], "confidence": 0.9} for one in things]
    if "Question 1:" not in text:
        return entries[0]
    return {"answers": [{"question": k, **entry} for k, entry in enumerate(entries, start=1)]}


async def asked(
    responder: Any, states: Sequence[Ask], meter: UsageMeter | None = None, **more: Any
) -> tuple[list[Decided[Found]], Endpoint]:
    with Endpoint(responder) as endpoint:
        decider = mind(endpoint, meter, **more)
        made = await decider.decide_all(WhichIsThere(), states)
        await decider.aclose()
    return made, endpoint


def mind(endpoint: Endpoint, meter: UsageMeter | None = None, **more: Any) -> Decider:
    profile = ModelProfile(
        kind="openai", base_url=endpoint.url, model="m", max_retries=0, **{"attempts": 1, **more}
    )
    return build_decider(profile, who="r1", meter=meter)


async def test_what_questions_share_is_sent_once_and_each_gets_its_answer() -> None:
    meter = UsageMeter()
    made, endpoint = await asked(first_of_each, [*STATES, Ask(("jug",))], meter)
    assert [one.reply.thing for one in made] == ["cup0", "cup1", "cup2", "cup3", "jug"]
    assert [one.decided_by for one in made] == ["model"] * 4 + ["rule"]
    (request,) = endpoint.received
    assert request.text.count(NOTES.strip()) == 1 and "4 questions, independent" in request.text
    schema = request.body["response_format"]["json_schema"]["schema"]
    entry = schema["properties"]["answers"]["items"]["properties"]
    assert list(entry)[:2] == ["question", "reason"], "it thinks before it answers"
    assert entry["thing"]["enum"] == [
        "cup0",
        "pan0",
        "cup1",
        "pan1",
        "cup2",
        "pan2",
        "cup3",
        "pan3",
    ]
    (row,) = meter.as_json()
    assert (row["calls"], row["by_model"], row["at_once"], row["by_rule"]) == (1, 4, 4, 1)


async def test_a_wrong_or_missing_entry_is_put_again_alone() -> None:
    def careless(request: dict[str, Any]) -> dict[str, Any]:
        made = first_of_each(request)
        if "answers" in made:
            made["answers"][0]["thing"] = "cup1"  # of another question
            made["answers"][1]["confidence"] = "very"
            made["answers"].pop(2)
            made["answers"].append({"question": 4, "thing": "pan3", "confidence": 1})
        return made

    made, endpoint = await asked(careless, STATES)
    assert [one.reply.thing for one in made] == ["cup0", "cup1", "cup2", "cup3"]
    alone = [request.text for request in endpoint.received[1:]]
    assert [re.search(r"cup\d", text).group() for text in alone] == ["cup0", "cup1", "cup2"]


async def test_where_lists_are_beyond_a_model_each_question_goes_by_itself() -> None:
    def no_lists(request: dict[str, Any]) -> Any:
        made = first_of_each(request)
        return Says("a list?") if "answers" in made else made

    made, endpoint = await asked(no_lists, STATES)
    assert [one.decided_by for one in made] == ["model"] * 4
    assert len(endpoint.received) == 5


async def test_where_no_model_is_there_no_question_is_put_again() -> None:
    made, endpoint = await asked(lambda request: Status(503, "down"), STATES)
    assert [one.reply.thing for one in made] == ["pan0", "pan1", "pan2", "pan3"]
    assert all("ServerFault" in one.reason for one in made)
    assert len(endpoint.received) == 1


@pytest.mark.parametrize("more", [{"join": 1}, {"modes": {"mele.answer": "rule"}}])
async def test_joining_can_be_left_out(more: dict[str, Any]) -> None:
    made, endpoint = await asked(first_of_each, STATES, **more)
    by_rule = "modes" in more
    assert [one.reply.thing for one in made] == [
        f"{'pan' if by_rule else 'cup'}{k}" for k in range(4)
    ]
    assert len(endpoint.received) == (0 if by_rule else 4)


async def test_questions_with_other_instructions_go_by_themselves() -> None:
    other = Ask(("cup8", "pan8"), "You know another kitchen.")
    _, endpoint = await asked(first_of_each, [STATES[0], other])
    assert len(endpoint.received) == 2


async def test_questions_that_share_less_than_half_go_by_themselves() -> None:
    """One request would be as long as all of them, and one reply would have to be right in all."""
    long = [Ask(tuple(f"{k} thing number {n}" for n in range(120))) for k in range(3)]
    _, endpoint = await asked(first_of_each, long)
    assert len(endpoint.received) == 3


async def test_advice_on_each_is_shown() -> None:
    _, endpoint = await asked(first_of_each, STATES, mode="advised")
    assert all(f"pan{k}" in endpoint.received[0].text.partition("advice")[2] for k in range(4))


# -- put at the same time --------------------------------------------------------------------------


async def test_questions_put_at_the_same_time_go_out_together() -> None:
    with Endpoint(first_of_each) as endpoint:
        decider = mind(endpoint)
        states = [Ask((f"cup{k}", f"pan{k}")) for k in range(10)]
        made = await asyncio.gather(*(decider.decide(WhichIsThere(), one) for one in states))
        alone = await decider.decide(WhichIsThere(), Ask(("cup77", "pan77")))
        await decider.aclose()
    assert [one.reply.thing for one in made] == [f"cup{k}" for k in range(10)]
    assert alone.reply.thing == "cup77"
    assert len(endpoint.received) == 4, "four, four, two, one"


async def test_who_has_little_time_holds_up_nobody_and_gets_an_answer() -> None:
    with Endpoint(first_of_each) as endpoint:
        endpoint.fail(Hang())
        decider = mind(endpoint)

        async def within(state: Ask, seconds: float) -> Decided[Found]:
            with due_in(seconds):
                return await decider.decide(WhichIsThere(), state)

        times = (2.0, 300.0, 300.0, 300.0)
        made = await asyncio.gather(*map(within, STATES, times))
        await decider.aclose()
    assert [one.decided_by for one in made] == ["rule", "model", "model", "model"]
    assert "ModelTimeout" in made[0].reason


async def test_a_cancelled_question_takes_no_other_with_it() -> None:
    with Endpoint(first_of_each, delay_s=0.2) as endpoint:
        decider = mind(endpoint)
        tasks = [asyncio.ensure_future(decider.decide(WhichIsThere(), one)) for one in STATES]
        await asyncio.sleep(0.1)
        tasks[0].cancel()
        made = await asyncio.gather(*tasks[1:])
        await decider.aclose()
    assert [one.reply.thing for one in made] == ["cup1", "cup2", "cup3"]


def test_cassettes_hold_what_does_not_depend_on_time(tmp_path: Any) -> None:
    plain = ModelProfile(kind="openai", base_url="http://127.0.0.1:9/v1", model="m")
    recorded = plain.model_copy(update={"record_to": tmp_path / "c.jsonl"})
    replayed = ModelProfile(kind="replay", cassette=tmp_path / "c.jsonl")
    assert plain.policy.gather and not recorded.policy.gather and not replayed.policy.gather
    assert recorded.policy.join == 8, "lists that code puts are joined all the same"
