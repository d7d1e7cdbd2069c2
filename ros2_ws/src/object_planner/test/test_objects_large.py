"""Maps of thousands of things, odd labels, and endpoints that fail: bounded prompts, an answer."""

import json
import random

import pytest

from coterie_core.geometry import Box
from coterie_fixtures.endpoint import Endpoint
from coterie_fixtures.faults import BROKEN_JSON, HTML, Raw
from coterie_llm import Decider, ModelProfile, RulesModel, build_model
from coterie_llm.decision import request_for
from coterie_llm.fence import shortened
from coterie_llm.tokens import estimate_prompt
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject
from object_planner.map_text import CHARACTERS_PER_TOKEN, shown_map
from object_planner.plan import Plan, PlanObjects, PlanState
from object_planner.review import (
    ChoiceState,
    ChoosePlan,
    Feedback,
    Refine,
    Reflect,
    ReviewState,
)
from object_planner.workflows import METHODS, Options, Roles, plan_objects

LABELS = ("chair", "dining table", "couch", "bed", "book", "tv", "lamp", "toy", "garble")


def thing(id_, label, at, size=(0.6, 0.6, 0.9), seen=10):
    return SceneObject(id_, LabelBelief({label: 5.0}), Box(at, size), observations=seen)


@pytest.fixture(scope="module")
def hotel():
    rng, graph = random.Random(4), SceneGraph()
    for k in range(5000):
        at = (rng.uniform(0, 100), rng.uniform(0, 100), 0.5)
        graph.add_object(thing(f"o{k}", rng.choice(LABELS), at, seen=rng.randint(5, 50)))
    # Seen once, in a far corner: what a cut by number of sightings would lose.
    graph.add_object(thing("piano", "piano", (150.0, 150.0, 0.5), seen=1))
    graph.add_object(thing("stool", "stool", (151.0, 150.0, 0.3), (0.4, 0.4, 0.6), seen=1))
    return graph


@pytest.mark.parametrize("tokens", [1_500, 20_000])
def test_prompts_of_large_maps_keep_what_matters(hotel, tokens):
    text = PlanState(hotel, "a stool next to the piano", tokens=tokens).text
    assert len(text) <= tokens * CHARACTERS_PER_TOKEN
    assert '"piano"' in text and '"stool"' in text
    shown = json.loads(text[: text.index("\n(left out")])
    number = int(text.split("request: ")[1].split(" of")[0])
    assert number == len(hotel.objects) - len(shown) and number > 3000
    assert "chair" in text.split("(left out")[1]


def test_small_maps_are_shown_whole(hotel):
    few = SceneGraph()
    few.add_object(hotel.objects["piano"])
    assert list(json.loads(shown_map(few).text)) == ["piano"]
    few.add_object(thing("x" * 100_000, "chair", (0, 0, 0)))
    assert "left out" in shown_map(few).text and '"piano"' in shown_map(few).text


def valid_ids(request):
    return request.schema["properties"]["relevant_objects"]["items"]["enum"]


@pytest.mark.parametrize("context", [8192, 4096, 2700, 2048])
def test_what_a_short_prompt_leaves_out_is_no_valid_answer_either(hotel, context):
    """Thousands of ids in the schema would leave no room for what they stand for."""
    state = PlanState(hotel, "a stool next to the piano")
    request = request_for(PlanObjects(), state, "model", context)
    assert estimate_prompt(request) + request.max_tokens <= context
    ids = valid_ids(request)
    text = request.messages[-1].text
    assert {"piano", "stool"} <= set(ids) and len(ids) < 300
    assert all(f'"{id_}"' in text for id_ in ids)


def test_with_little_room_each_kind_that_serves_comes_before_a_second_of_one():
    """Fifty chairs must not push out the only couch; what is shown says what and where."""
    home = SceneGraph()
    for k in range(300):
        home.add_object(thing(f"c{k}", "chair", (0.1 * k, 0.0, 0.5), seen=40))
    home.add_object(thing("z", "couch", (3.0, 3.0, 0.5), seen=2))
    request = request_for(PlanObjects(), PlanState(home, "something to sit on"), "model", 2048)
    text = request.messages[-1].text
    shown = json.loads(text[text.index("{") : text.index("\n(left out")])
    assert "z" in shown and 4 < len(shown) == len(valid_ids(request)) < 40
    assert {frozenset(told) for told in shown.values()} == {frozenset(("center", "labels"))}
    assert "center of the box" in request.messages[0].text


def test_an_answer_under_review_may_keep_what_is_not_shown(hotel):
    before = Plan(achievable=True, relevant_objects=["o4321", "gone"])
    state = ReviewState(PlanState(hotel, "a piano", tokens=1500), before, Feedback())
    ids = valid_ids(request_for(Refine(), state, "model"))
    assert "o4321" in ids and "gone" not in ids and len(ids) < 100


def test_a_short_prompt_shows_the_objects_of_the_answer_under_review(hotel):
    plan = Plan(reason="because " * 60, achievable=True, relevant_objects=["piano", "stool"])
    request = request_for(Reflect(), ReviewState(PlanState(hotel, "a piano"), plan), "model", 2700)
    _, _, rest = request.messages[-1].text.partition('<data label="answer">\n')
    told = json.loads(rest[: rest.index("\n</data>")])
    assert told["relevant_objects"] == ["piano", "stool"] and plan.reason.startswith(told["reason"])


@pytest.mark.parametrize("context", [None, 4096, 2048])
def test_answers_to_choose_from_are_never_cut_in_the_middle(hotel, context):
    ids = [f"o{k}" for k in range(50)]
    plans = tuple(
        Plan(reason="why " * 100, achievable=True, relevant_objects=ids[k:]) for k in range(3)
    )
    state = ChoiceState(PlanState(hotel, "a piano"), plans)
    request = request_for(ChoosePlan(), state, "model", context)
    assert context is None or estimate_prompt(request) + request.max_tokens <= context
    for k, plan in enumerate(plans, start=1):
        _, _, rest = request.messages[-1].text.partition(f'<data label="answer {k}">\n')
        told = json.loads(rest[: rest.index("\n</data>")])
        count = len(told["relevant_objects"])
        assert told["relevant_objects"] == plan.relevant_objects[:count] and count >= 8
        assert count + told.get("objects left out", 0) == len(plan.relevant_objects)


def test_who_can_look_things_up_may_name_all_of_the_map(hotel):
    state = PlanState(hotel, "a piano", tokens=1500, lookups=True)
    assert len(PlanObjects().options(state)["relevant_objects[]"]) == len(hotel.objects)
    with shortened(0.25):  # goes without look-ups
        assert len(PlanObjects().options(state)["relevant_objects[]"]) < 100


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("a stool near the piano", "stool"),
        ("a stool that is not near a bed", "stool"),
        ("the piano far from any bed", "piano"),
        ("a bathtub", None),
        ("a piano near a chair", None),
    ],
)
def test_rules_on_large_maps(hotel, words, first):
    ids = PlanState(hotel, words).findings.ids
    assert (ids[0] if ids else None) == first


def test_the_nearest_of_many_anchors_count(hotel):
    tables = [t for t in hotel.objects.values() if t.label.top == "dining table"]
    for id_ in PlanState(hotel, "a chair near a table").findings.ids[:20]:
        own = hotel.objects[id_].box.center
        assert min(((own[0] - t.box.center[0]) ** 2 + (own[1] - t.box.center[1]) ** 2) for t in tables) < 6.0  # fmt: skip  # noqa: E501


async def test_empty_and_odd_maps_with_every_workflow():
    odd = SceneGraph()
    for k, label in enumerate(("", "unknown", "chair", "chair", "CHAIR", "châïse ☃", "a" * 5000)):
        odd.add_object(thing(f"o{k}", label, (float(k), 0.0, 0.0)))
    for method in METHODS:
        roles = Roles(Decider(RulesModel()))
        answer = await plan_objects(SceneGraph(), "a chair", roles, method)
        assert answer.plan.relevant_objects == [] and not answer.plan.achievable
        answer = await plan_objects(odd, "a chair", roles, method)
        assert answer.plan.relevant_objects == ["o2", "o3", "o4"], method


@pytest.mark.parametrize("fault", [BROKEN_JSON, HTML, Raw(b"")])
async def test_broken_replies_lead_to_the_rule(fault):
    home = SceneGraph()
    home.add_object(thing("c", "chair", (0, 0, 0)))
    with Endpoint() as endpoint:
        endpoint.fail(*[fault] * 12)
        profile = ModelProfile(
            kind="openai", model="t", base_url=endpoint.url, timeout_s=5.0, max_retries=0
        )
        roles = Roles(Decider(build_model(profile), timeout_s=5.0))
        answer = await plan_objects(home, "a chair", roles, "grounded", Options(rounds=1))
    assert answer.plan.relevant_objects == ["c"] and answer.by_rule >= 1


async def test_an_endpoint_that_is_gone_leads_to_the_rule():
    home = SceneGraph()
    home.add_object(thing("c", "chair", (0, 0, 0)))
    with Endpoint() as endpoint:
        url = endpoint.url
    profile = ModelProfile(kind="openai", model="t", base_url=url, timeout_s=2.0, max_retries=0)
    roles = Roles(Decider(build_model(profile), timeout_s=2.0))
    answer = await plan_objects(home, "a chair", roles, "self_reflection")
    assert answer.plan.relevant_objects == ["c"]
