"""What a person says is read by a model where there is one, else by the grammar."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coterie_fixtures.endpoint import Endpoint
from coterie_fixtures.oracle.request import question_of
from coterie_llm import ModelProfile, build_decider
from coterie_llm.decision import request_for
from coterie_llm.tokens import estimate_prompt
from coterie_requests.read_request import (
    ReadReply,
    ReadRequest,
    ReadState,
    _system,
    read_request,
)
from coterie_requests.request import Request
from coterie_requests.understanding.problems import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import Room, SceneGraph

pytestmark = pytest.mark.quick

GERMAN = "Bring alle Tassen außer der roten in die Küche"
PLAIN = "Bring all mugs except the red one to the kitchen."


@pytest.fixture
def names() -> Vocabulary:
    scene = SceneGraph()
    scene.add_room(Room("r1", "snug", "living room", "", [(0, 0), (2, 0), (2, 2)]))
    return Vocabulary.of(scene, ("rover",))


async def asked(
    words: str, names: Vocabulary, *replies: dict[str, Any]
) -> tuple[Request | NotUnderstood, list[dict[str, Any]]]:
    """Have a model read words that gives these replies; return what came of it, and its prompts."""
    left, bodies = list(replies), []

    def reply(body: dict[str, Any]) -> dict[str, Any]:
        bodies.append(body)
        return {"reason": "so it is meant", "kind": "clear"} | left.pop(0)

    with Endpoint(reply, model="m", usage=None) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="m", max_retries=0)
        decider = build_decider(profile)
        try:
            return await read_request(words, names, decider), bodies
        except NotUnderstood as error:
            return error, bodies
        finally:
            await decider.aclose()


async def test_without_a_model_the_grammar_reads(names: Vocabulary) -> None:
    rules = build_decider(ModelProfile())
    for decider in (None, rules):
        request = await read_request(PLAIN, names, decider)
        assert request.told() == "bring, all mugs except the red mug, to the kitchen"
        assert request.words == PLAIN
        with pytest.raises(NotUnderstood) as caught:
            await read_request(f"{PLAIN} {GERMAN}", names, decider)
        assert caught.value.problem.word == "alle"


async def test_a_model_reads_another_language(names: Vocabulary) -> None:
    request, bodies = await asked(GERMAN, names, {"say": [PLAIN]})
    assert isinstance(request, Request) and request.words == GERMAN
    assert request.steps == (await read_request(PLAIN, names)).steps
    (body,) = bodies
    data = question_of(body).data
    assert data["words"] == GERMAN and data["rooms"] == ["snug"]


async def test_sentences_that_the_grammar_does_not_read_are_mended(names: Vocabulary) -> None:
    request, bodies = await asked(
        GERMAN, names, {"say": ["Bring alle Tassen there."]}, {"say": [PLAIN]}
    )
    assert isinstance(request, Request) and request.told().startswith("bring, all mugs")
    refusal = bodies[1]["messages"][-1]["content"]
    assert "'alle'" in refusal
    assert "mugs" not in refusal  # a weak model would take an example there for the task


async def test_what_a_model_leaves_out_of_an_order_is_asked_for(names: Vocabulary) -> None:
    words = "bring everything on the blue table except the vase to the kitchen"
    short, whole = "Bring everything except the vase to the kitchen.", f"{words}."
    request, bodies = await asked(words, names, {"say": [short]}, {"say": [whole]})
    assert isinstance(request, Request) and "on the blue table" in request.told()
    assert "blue, table is left out" in bodies[1]["messages"][-1]["content"]


async def test_nothing_is_done_where_the_model_asks_back(names: Vocabulary) -> None:
    said = {"reason": "no place is said", "kind": "unclear", "say": ["Wohin?"]}
    error, _ = await asked("Stell die Tasse", names, said)
    assert isinstance(error, NotUnderstood) and error.problem.question == "Wohin?"
    assert "no place is said" in str(error)


async def test_where_the_model_fails_the_grammar_tells_what_it_does_not_understand(
    names: Vocabulary,
) -> None:
    bad = {"say": ["Stell it hin."]}
    error, _ = await asked(GERMAN, names, bad, bad)
    assert isinstance(error, NotUnderstood) and error.problem.word == "alle"
    request, _ = await asked(PLAIN, names, bad, bad)
    assert isinstance(request, Request) and request.words == PLAIN


@pytest.mark.parametrize("words", ["", "  ", "mug " * 400])
async def test_no_model_is_asked_for_nothing_or_too_much(names: Vocabulary, words: str) -> None:
    error, bodies = await asked(words, names)
    assert isinstance(error, NotUnderstood) and not bodies


def test_rules_replies_pass_the_check_and_advice_is_what_the_grammar_reads(
    names: Vocabulary,
) -> None:
    decision = ReadRequest()
    for words in (PLAIN, GERMAN, "", "Bring it"):
        state = ReadState(words, names)
        decision.check(state, decision.rule(state))
    assert json.loads(decision.advice(ReadState(PLAIN, names)))["say"] == [PLAIN]
    assert decision.advice(ReadState(GERMAN, names)) == ""


def test_the_prompt_is_short_and_begins_alike(names: Vocabulary) -> None:
    """Slow models read the beginning once; the words are never cut, however short the prompt."""
    requests = []
    for words, times in ((PLAIN, 0), (GERMAN * 9, 3)):
        state = ReadState(words, names, "ask")
        request = request_for(ReadRequest(), state, "model", 4096, shortened_times=times)
        assert words in request.messages[-1].text
        requests.append(request)
    assert requests[0].messages[0] == requests[1].messages[0]
    assert estimate_prompt(requests[0]) < 1000


def test_examples_are_read_as_they_say() -> None:
    lines = [line for line in _system().splitlines() if line[0] in '"{']
    kinds = set()
    for said, reply in zip(
        lines[::2], map(ReadReply.model_validate_json, lines[1::2]), strict=True
    ):
        kinds.add(reply.kind)
        ReadRequest().check(ReadState(said, Vocabulary.of(SceneGraph(), ("ada",))), reply)
    assert kinds == {"clear", "unclear"}
