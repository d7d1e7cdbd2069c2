"""Modes of decisions: what a model is shown, may look up, may reply; over a real local endpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError

from coterie_fixtures.endpoint import Endpoint, Hang, Says, Status
from coterie_llm import (
    CheckFailed,
    Decided,
    Decision,
    Message,
    ModelProfile,
    Tool,
    ToolRefused,
    UsageMeter,
    as_data,
    build_decider,
    neutral_order,
)
from coterie_llm.decision import schema_for
from coterie_llm.dialect import strict_schema
from coterie_llm.schema import lean_schema, with_options


@dataclass(frozen=True)
class Fetching:
    """Robots and how far they reach [m]; the mug stands at `height` [m]."""

    robots: Mapping[str, float]
    height: float


class Given(BaseModel):
    """Who does one thing."""

    task: str
    robot: str


class Reply(BaseModel):
    """Who fetches."""

    reason: str = ""
    assignments: list[Given] = Field(max_length=5)


class Asking(BaseModel):
    """Whom the question goes to."""

    robot: str = Field(description="its name")


class WhoFetches(Decision[Fetching, Reply]):
    """Give the mug to a robot that reaches it."""

    name = "emos.reassign"
    reply_type = Reply

    def prompt(self, state: Fetching) -> Sequence[Message]:
        names = neutral_order(state.robots)
        return (
            Message.system("You lead robots."),
            Message.user(f"{as_data('robots', names)}\nWho fetches the mug?"),
        )

    def options(self, state: Fetching) -> Mapping[str, Sequence[str]]:
        return {"assignments[].robot": list(state.robots)}

    def tools(self, state: Fetching) -> Sequence[Tool[Any]]:
        async def reach(asked: Asking) -> dict[str, float]:
            if asked.robot not in state.robots:
                raise ToolRefused(f"there is no robot {asked.robot}; one of {list(state.robots)}")
            return {"reach_m": state.robots[asked.robot], "mug_m": state.height}

        return (Tool("reach", "Tells how high a robot reaches [m].", Asking, reach),)

    def only_reply(self, state: Fetching) -> Reply | None:
        if len(state.robots) > 1:
            return None
        return Reply(assignments=[Given(task="mug", robot=next(iter(state.robots)))])

    def check(self, state: Fetching, reply: Reply) -> None:
        for given in reply.assignments:
            if state.robots.get(given.robot, 0.0) < state.height:
                raise CheckFailed(f"{given.robot} does not reach {state.height} m")

    def rule(self, state: Fetching) -> Reply:
        best = max(state.robots, key=lambda r: state.robots[r])
        return Reply(reason="reaches highest", assignments=[Given(task="mug", robot=best)])


STATE = Fetching({"rover": 0.4, "crane": 2.0, "walker": 1.2}, 1.0)


def gives(robot: str) -> dict[str, Any]:
    return {"reason": "it reaches", "assignments": [{"task": "mug", "robot": robot}]}


def calls(*arguments: dict[str, Any], name: str = "reach") -> dict[str, Any]:
    return {
        "tool_calls": [
            {
                "id": f"c{k}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(one)},
            }
            for k, one in enumerate(arguments)
        ]
    }


def profile(endpoint: Endpoint, **more: Any) -> ModelProfile:
    return ModelProfile(kind="openai", base_url=endpoint.url, model="small", max_retries=0, **more)


async def decided(endpoint: Endpoint, state: Fetching = STATE, **more: Any) -> Decided[Reply]:
    decider = build_decider(profile(endpoint, **more), who="leader", timeout_s=20.0)
    try:
        return await decider.decide(WhoFetches(), state)
    finally:
        await decider.aclose()


async def test_in_mode_model_nothing_tells_the_rules_answer() -> None:
    with Endpoint(lambda request: gives("walker")) as endpoint:
        done = await decided(endpoint)
    assert (done.mode, done.decided_by, done.model) == ("model", "model", "small")
    assert done.reply.assignments[0].robot == "walker"
    text = endpoint.received[0].text
    assert "reaches highest" not in text
    assert "advice" not in text


async def test_in_mode_advised_the_rules_answer_is_shown_as_data() -> None:
    with Endpoint(lambda request: gives("walker")) as endpoint:
        done = await decided(endpoint, modes={"emos.reassign": "advised"})
    assert done.mode == "advised"
    words = endpoint.received[0].body["messages"][-1]["content"]
    assert '<data label="advice">' in words
    assert "reaches highest" in words
    assert done.reply.assignments[0].robot == "walker", "advice does not bind"


async def test_in_mode_rule_no_model_is_asked() -> None:
    with Endpoint(lambda request: gives("walker")) as endpoint:
        done = await decided(endpoint, mode="rule")
        other = await decided(endpoint, mode="rule", modes={"emos.reassign": "model"})
    assert (done.mode, done.decided_by, done.attempts) == ("rule", "rule", 0)
    assert other.decided_by == "model", "a decision's own mode counts before that of all"
    assert len(endpoint.received) == 1


async def test_where_one_reply_is_possible_nobody_is_asked() -> None:
    with Endpoint(lambda request: gives("walker")) as endpoint:
        done = await decided(endpoint, Fetching({"crane": 2.0}, 1.0))
    assert done.reply.assignments[0].robot == "crane"
    assert (done.attempts, endpoint.received) == (0, [])


async def test_valid_ids_stand_in_the_schema() -> None:
    with Endpoint(lambda request: gives("walker")) as endpoint:
        await decided(endpoint, tool_turns=0)
    schema = endpoint.received[0].body["response_format"]["json_schema"]["schema"]
    given = schema["properties"]["assignments"]["items"]["properties"]
    assert given["robot"]["enum"] == ["rover", "crane", "walker"]
    assert "enum" not in str(Reply.model_json_schema()), "the type itself stays as it is"


class Part(BaseModel):
    """What programmers read."""

    title: str = Field("none", title="The title", description="what it is called")
    parts: list[Part] = []


class Whole(BaseModel):
    """What models read."""

    first: Part | None = Field(None, description="the first")
    best: str = Field("", max_length=80, description="id of the best")
    worst: str = Field("", max_length=80, description="id of the worst")
    rest: list[Given] = []
    other: Given = Field(description="who else")


def test_a_schema_holds_no_word_that_a_model_does_not_need() -> None:
    full, lean = Whole.model_json_schema(), lean_schema(Whole)
    text = json.dumps(lean)
    assert len(text) < 0.8 * len(json.dumps(full))
    assert (lean["title"], lean["description"]) == ("Whole", "What models read.")
    assert (
        '"default"' not in text and "programmers" not in text and "Who does one thing" not in text
    )
    part = lean["$defs"]["Part"]["properties"]
    assert part["title"] == {"description": "what it is called", "type": "string"}, "a field's name"
    assert lean["properties"]["other"]["description"] == "who else"
    assert set(lean["$defs"]) == {"Part"}, "only what contains itself"


def test_values_that_fields_share_stand_in_a_schema_once() -> None:
    ids = [f"thing-{k}" for k in range(40)]
    options = {"best": ids, "worst": ids, "other.robot": ["r1"], "rest[].robot": ["r1"]}
    schema = with_options(lean_schema(Whole), options)
    for one in (schema, strict_schema(schema)):
        assert json.dumps(one).count("thing-39") == 1
        fields = one["properties"]
        (best,) = fields["best"]["anyOf"]
        assert one["$defs"][best["$ref"].rpartition("/")[2]]["enum"] == ids
        assert fields["best"]["description"] == "id of the best"
        assert fields["other"]["properties"]["robot"]["enum"] == ["r1"]
        assert fields["rest"]["items"]["properties"]["robot"]["enum"] == ["r1"]
    assert "enum" not in json.dumps(lean_schema(Whole)), "the type's own stays as it is"


def test_a_list_with_an_entry_for_each_ends_there() -> None:
    schema = with_options(lean_schema(Whole), {"rest[].robot": ["r1"]}, {"rest": 3})
    rest = strict_schema(schema)["properties"]["rest"]
    assert (rest["minItems"], rest["maxItems"]) == (3, 3)


def test_an_option_for_a_field_that_is_not_there_is_an_error() -> None:
    class Wrong(WhoFetches):
        def options(self, state: Fetching) -> Mapping[str, Sequence[str]]:
            return {"assignment": ["x"]}

    with pytest.raises(ValueError, match="no field 'assignment'"):
        schema_for(Wrong(), STATE)


async def test_a_model_looks_up_and_then_replies() -> None:
    answers = iter(
        [calls({"robot": "rover"}, {"robot": "walker"}), calls({"robot": "r2"}), gives("walker")]
    )
    with Endpoint(lambda request: next(answers)) as endpoint:
        done = await decided(endpoint)
    assert done.decided_by == "model"
    assert done.attempts == 1, "look-ups are no attempts"
    assert [use.refused for use in done.tool_uses] == [False, False, True]
    first, second, third = (r.body for r in endpoint.received)
    assert first["tools"][0]["function"]["name"] == "reach"
    assert "response_format" not in first, "a form that is enforced would keep tools from use"
    told = [m for m in second["messages"] if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in told] == ["c0", "c1"]
    assert '"reach_m": 1.2' in told[1]["content"]
    assert "there is no robot r2" in third["messages"][-1]["content"]


async def test_look_ups_end_within_their_budget() -> None:
    def answer(request: dict[str, Any]) -> Any:
        return calls({"robot": "rover"}) if "tools" in request else gives("crane")

    with Endpoint(answer) as endpoint:
        done = await decided(endpoint, tool_turns=3)
    assert done.reply.assignments[0].robot == "crane"
    assert len(done.tool_uses) == 3
    last = endpoint.received[-1].body
    assert "no more look-ups" in last["messages"][-1]["content"]
    assert "response_format" in last


@pytest.mark.parametrize(
    "call", [calls({"robot": 7}), calls({}), calls(*[{"robot": "rover"}] * 30)], ids=repr
)
async def test_odd_calls_are_refused_in_words(call: dict[str, Any]) -> None:
    answers = iter([call, gives("crane")])
    with Endpoint(lambda request: next(answers)) as endpoint:
        done = await decided(endpoint)
    assert done.decided_by == "model"
    assert done.tool_uses[-1].refused
    assert "refused" in endpoint.received[1].body["messages"][-1]["content"]


async def test_a_tool_that_is_not_there_is_told() -> None:
    answers = iter([calls({"path": "/etc/passwd"}, name="read_file"), gives("crane")])
    with Endpoint(lambda request: next(answers)) as endpoint:
        done = await decided(endpoint)
    assert done.decided_by == "model"
    assert "no tool" in done.reason


async def test_an_endpoint_without_tools_is_asked_without() -> None:
    with Endpoint(lambda request: gives("walker")) as endpoint:
        endpoint.fail(Status(400, message="this model does not support tools"))
        done = await decided(endpoint)
    assert (done.decided_by, done.attempts) == ("model", 1)
    assert "tools" not in endpoint.received[1].body
    assert "response_format" in endpoint.received[1].body


async def test_a_refusal_by_the_check_goes_back_to_the_model() -> None:
    answers = iter([gives("rover"), gives("crane")])
    with Endpoint(lambda request: next(answers)) as endpoint:
        done = await decided(endpoint)
    assert (done.reply.assignments[0].robot, done.attempts) == ("crane", 2)
    assert "rover does not reach 1.0 m" in endpoint.received[1].text


async def test_attempts_are_a_setting() -> None:
    answers = iter([gives("rover"), gives("rover"), gives("crane")])
    with Endpoint(lambda request: next(answers)) as endpoint:
        done = await decided(endpoint, attempts=3)
    assert (done.decided_by, done.attempts) == ("model", 3)


async def test_a_larger_model_is_asked_next() -> None:
    with (
        Endpoint(lambda request: gives("rover")) as small,
        Endpoint(lambda r: gives("crane")) as big,
    ):
        larger = {"kind": "openai", "base_url": big.url, "model": "large"}
        done = await decided(small, larger=larger)
        small.fail(Status(500))
        down = await decided(small, larger=larger)
    assert (done.model, done.attempts, done.reply.assignments[0].robot) == ("large", 3, "crane")
    assert "does not reach" in done.reason
    assert (down.model, down.reply.assignments[0].robot) == ("large", "crane")


async def test_the_same_question_is_put_once() -> None:
    meter = UsageMeter()
    with Endpoint(lambda request: gives("crane")) as endpoint:
        decider = build_decider(profile(endpoint, tool_turns=0), who="leader", meter=meter)
        first = await decider.decide(WhoFetches(), STATE)
        again = await decider.decide(WhoFetches(), STATE)
        other = await decider.decide(WhoFetches(), Fetching({**STATE.robots, "arm": 1.0}, 1.0))
        await decider.aclose()
    assert first.reply == again.reply == other.reply
    assert (first.usage.tokens > 0, again.usage.tokens) == (True, 0)
    assert len(endpoint.received) == 2
    row = meter.row("leader", "emos.reassign")
    assert (row.calls, row.by_model, row.at_once, row.overruled) == (2, 3, 3, 0)


async def test_records_tell_who_was_overruled() -> None:
    meter = UsageMeter()
    with Endpoint(lambda request: gives("rover")) as endpoint:
        decider = build_decider(profile(endpoint), who="leader", meter=meter)
        done = await decider.decide(WhoFetches(), STATE)
        await decider.aclose()
    row = meter.row("leader", "emos.reassign")
    assert (done.decided_by, row.by_rule, row.overruled, row.at_once) == ("rule", 1, 1, 0)


async def test_a_tool_that_hangs_does_not_hold_up_the_decision() -> None:
    import asyncio

    class Slow(WhoFetches):
        def tools(self, state: Fetching) -> Sequence[Tool[Any]]:
            async def wait(asked: Asking) -> str:
                await asyncio.sleep(60.0)
                return "late"

            return (Tool("reach", "Never tells.", Asking, wait),)

    with Endpoint(lambda request: calls({"robot": "rover"})) as endpoint:
        decider = build_decider(profile(endpoint), timeout_s=0.5)
        done = await decider.decide(Slow(), STATE)
        await decider.aclose()
    assert done.decided_by == "rule"


async def test_a_tool_that_fails_is_told_as_that() -> None:
    class Broken(WhoFetches):
        def tools(self, state: Fetching) -> Sequence[Tool[Any]]:
            def fail(asked: Asking) -> str:
                raise KeyError(asked.robot)

            return (Tool("reach", "Fails.", Asking, fail),)

    answers = iter([calls({"robot": "rover"}), gives("crane")])
    with Endpoint(lambda request: next(answers)) as endpoint:
        decider = build_decider(profile(endpoint))
        done = await decider.decide(Broken(), STATE)
        await decider.aclose()
    assert done.decided_by == "model"
    assert done.tool_uses[0].refused


def test_a_wrong_decision_or_mode_in_a_profile_is_named() -> None:
    with pytest.raises(ValidationError, match=r"did you mean emos\.split_task"):
        ModelProfile(kind="openai", model="m", modes={"emos.split_tasks": "rule"})
    with pytest.raises(ValidationError, match="'rule', 'model' or 'advised'"):
        ModelProfile.model_validate({"kind": "openai", "model": "m", "mode": "adviced"})
    with pytest.raises(ValidationError, match="larger needs a model"):
        ModelProfile.model_validate({"kind": "openai", "model": "m", "larger": {}})


def test_a_neutral_order_depends_on_the_items_alone() -> None:
    items = [f"place {k}" for k in range(12)]
    shuffled = neutral_order(items)
    assert shuffled != items
    assert sorted(shuffled) == sorted(items)
    assert neutral_order(reversed(items)) == shuffled
    assert neutral_order(items, salt="step 2") != shuffled


async def test_a_slow_small_model_leaves_no_time_and_the_rule_decides() -> None:
    with Endpoint(lambda request: gives("crane")) as endpoint:
        endpoint.fail(Hang(5.0))
        decider = build_decider(profile(endpoint), timeout_s=0.4)
        done = await decider.decide(WhoFetches(), STATE)
        await decider.aclose()
    assert done.decided_by == "rule"
    assert done.reply.assignments[0].robot == "crane"


async def test_a_tool_that_is_called_in_prose_is_a_bad_reply() -> None:
    with Endpoint(lambda request: gives("crane")) as endpoint:
        endpoint.fail(Says("reach(rover)"))
        done = await decided(endpoint)
    assert (done.decided_by, done.attempts) == ("model", 2)
    assert "response_format" in endpoint.received[1].body


@pytest.mark.parametrize("context", [600, 128_000])
async def test_a_prompt_is_cut_to_the_context_of_its_model(context: int) -> None:
    class Crowd(WhoFetches):
        max_tokens = 200

        def options(self, state: Fetching) -> Mapping[str, Sequence[str]]:
            return {}

        def tools(self, state: Fetching) -> Sequence[Tool[Any]]:
            return ()

    state = Fetching({f"rover {k}": 2.0 for k in range(200)}, 1.0)
    with Endpoint(lambda request: gives("rover 7"), usage=None) as endpoint:
        decider = build_decider(profile(endpoint, context=context))
        done = await decider.decide(Crowd(), state)
        await decider.aclose()
    assert done.decided_by == "model"
    request = endpoint.received[0]
    assert ("more entries are left out" in request.text) == (context < 128_000)
    assert done.usage.prompt_tokens * 1.4 + request.body["max_tokens"] <= context
