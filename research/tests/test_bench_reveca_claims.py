"""Claims on REVECA are checked on records; every ablation takes away what it is named after."""

import asyncio
import json
import re

import pytest

from coterie_fixtures.endpoint import Endpoint
from coterie_fixtures.oracle import question_of
from coterie_llm import CheckFailed, Decider, ModelProfile, build_model
from research.bench.common.intervals import mean_interval
from research.bench.reveca import hypothesis_tests as claims
from research.bench.reveca.bench import main
from research.bench.reveca.environment import run_episode
from research.bench.reveca.methods import METHODS, WORLDS
from research.bench.reveca.plots import draw_all
from reveca_agent.relevance import RateRelevance, Rating, Ratings, RatingState


def records(world, method, steps, agents=2, **more):
    return [
        {
            "world": world,
            "method": method,
            "seed": seed,
            "agents": agents,
            "simulation_steps": count,
            "communication_steps": 1,
            "characters": 10,
        }
        | more
        for seed, count in enumerate(steps)
    ]


def test_a_claim_is_a_ratio_on_the_same_seeds_with_an_interval():
    base = [50, 60, 70, 40, 30, 90]
    found = claims.check(
        [
            *records("household", "reveca", [0.5 * x for x in base]),
            *records("household", "mhp", [*base, 10_000]),  # a seed that REVECA did not play
            *records("household", "rhp", [0.4 * x for x in base]),
            *records("household", "coela", [10, 60, 70, 40, 30, 20]),
            *records("household", "single", base, agents=1),
        ]
    )
    by_name = {one.to.split()[1]: one for one in found}
    assert set(by_name) == {"mhp", "rhp", "coela"}
    mhp, rhp, coela = by_name["mhp"], by_name["rhp"], by_name["coela"]
    assert (mhp.ratio, mhp.low, mhp.high, mhp.episodes) == (0.5, 0.5, 0.5, 6)
    assert mhp.verdict == "yes"
    assert rhp.ratio == 1.25 and rhp.verdict == "no"
    assert coela.ratio < 1.0 < coela.high and coela.verdict == "a draw"


def test_episodes_of_one_house_count_as_one():
    """Twelve episodes in two houses tell as much as two: the interval is that of the houses."""
    of, to = [80] * 6 + [120] * 6, [100] * 12
    rows = records("household", "reveca", of) + records("household", "mhp", to)
    apart = claims.check(rows)[0]
    for row in rows:
        row["house"] = f"house-{row['seed'] // 6}"
    together = claims.check(rows)[0]
    assert apart.ratio == together.ratio == 1.0 and (apart.houses, together.houses) == (12, 2)
    assert together.low == 0.8 < apart.low < 1.0 < apart.high < 1.2 == together.high
    steps, houses = [float(x) for x in of], [str(row["house"]) for row in rows[:12]]
    assert mean_interval(steps, houses)[1] > 10 * mean_interval(steps)[1]


def test_equal_is_a_draw():
    found = claims.check(
        [
            *records("household", "reveca", [100] * 6),
            *records("household", "no_questions", [100] * 6),
            *records("known", "reveca", [14] * 6),
            *records("known", "oracle", [10] * 6),
        ]
    )
    assert [(one.of, one.to, one.ratio, one.verdict) for one in found] == [
        ("known reveca", "known oracle", 1.4, "yes"),
        ("household reveca", "household no_questions", 1.0, "a draw"),
    ]


def test_too_few_episodes_prove_nothing():
    rows = records("household", "reveca", [1] * 4) + records("household", "mhp", [2] * 4)
    assert claims.check(rows) == []


def test_the_bench_prints_and_writes_what_holds(tmp_path, capsys):
    arguments = ["--episodes", "6", "--method", "reveca", "--method", "rhp", "--method", "r2"]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    written = json.loads((tmp_path / "claims.json").read_text())
    assert [one["claim"] for one in written] == [
        "fewer steps than rhp",
        "R = 4 saves steps against R = 2",
    ]
    assert {one["verdict"] for one in written} <= {"yes", "no", "a draw"}
    shown = capsys.readouterr().out
    assert "what must show" in shown and "fewer steps than rhp" in shown
    for reference in ("random", "nearest", "oracle"):
        assert reference in shown


def test_pictures_are_drawn_of_what_there_is(tmp_path):
    plain = [r for n in (2, 3, 4) for r in records("household", "reveca", [9] * 3, agents=n)]
    assert [file.name for file in draw_all(plain[:3], tmp_path)] == ["reveca.png"]
    more = [r for world in ("alike2", "alike4") for r in records(world, "reveca", [9] * 3)]
    more += [*plain, *records("household", "coela", [7] * 3)]
    files = draw_all(more, tmp_path)
    assert [file.stem for file in files] == ["reveca", "agents", "alike"]
    assert all(file.stat().st_size > 5000 for file in files)
    alone = records("household", "single", [9], agents=1)
    assert [file.stem for file in draw_all(alone, tmp_path)] == ["reveca"]
    assert draw_all([], tmp_path) == []


# --- ablations -----------------------------------------------------------------------------------


def good(request):
    question = question_of(request)
    if question.title == "Ratings":
        ids = question.choices("ratings[].id")
        return {"ratings": [{"id": id_, "level": k % 2} for k, id_ in enumerate(ids)]}
    field = {"PlanChoice": "plan", "ScenarioChoice": "who"}[question.title]
    return {field: question.choices(field)[0]}


def played(method, seed=1, world="household"):
    """Play an episode with a model over HTTP; return its prompts by kind, and the agents."""
    place = WORLDS[world](2)
    with Endpoint(good) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="m", max_retries=0)
        model = build_model(profile)

        async def play():
            team = METHODS[method].make(place, Decider(model, who="team"))
            await run_episode(place, team, seed)
            await model.aclose()
            return team

        team = asyncio.run(play())
        texts = [request.text for request in endpoint.received]
    kinds = {"rate": "new information", "judge": "scenarios", "choose": "candidates"}
    marks = {kind: f'label="{label}"' for kind, label in kinds.items()}
    return {kind: [t for t in texts if mark in t] for kind, mark in marks.items()}, team


def fenced(text, label):
    return re.search(rf'label="{label}">\n(.*?)\n</data>', text, re.DOTALL)[1]


DISTANCE = re.compile(r"steps for \w+|steps to spare|\(-?\d+\.\d, -?\d+\.\d\)|in \d+ steps")


@pytest.fixture(scope="module")
def whole():
    """All that REVECA asks when nothing is taken away."""
    return played("reveca")[0]


def test_the_whole_agent_asks_with_all_that_ablations_take_away(whole):
    assert all(whole.values())
    assert any(DISTANCE.search(t) for t in whole["choose"])
    assert any(DISTANCE.search(t) for t in whole["judge"])
    assert all("relevance" in fenced(t, "candidates") for t in whole["choose"])
    assert any(
        "Ada" in fenced(t, "others") or "Bob" in fenced(t, "others") for t in whole["choose"]
    )


def test_without_distances_no_prompt_of_planning_or_validation_holds_one():
    prompts, team = played("no_spatial")
    assert prompts["choose"] and prompts["rate"]
    assert not [t for t in prompts["choose"] + prompts["judge"] if DISTANCE.search(t)]
    assert not any(agent.settings.spatial for agent in team.values())


def test_without_relevance_nothing_is_rated_and_order_is_by_time():
    prompts, team = played("no_relevance")
    assert prompts["choose"] and not prompts["rate"]
    assert not [t for t in prompts["choose"] if re.search(r"relevance \d", t)]
    for agent in team.values():
        top = agent.memory.top(10_000)
        stored = list(agent.memory._levels[0])
        assert [entry.thing.id for entry in top] == stored[::-1]  # newest first, whatever it is
        assert {entry.level for entry in top} == {0}


def test_without_collaborators_no_prompt_speaks_of_one():
    prompts, team = played("no_collaborators")
    assert prompts["choose"] and not prompts["judge"]
    for text in prompts["choose"]:
        assert "nothing is known of them" in fenced(text, "others")
        assert not re.search("Ada|Bob", fenced(text, "candidates"))
        assert "steps for you" in fenced(text, "candidates")
    assert not any(agent.memory.collaborators for agent in team.values())


def test_without_validation_nothing_is_asked_and_always_means_always(whole):
    asked = {}
    for method in ("reveca", "no_questions", "no_validation", "always_ask"):
        prompts = whole if method == "reveca" else played(method)[0]
        notes = [t for t in prompts["rate"] if re.search("Did you (take|search)", t)]
        asked[method] = (len(prompts["judge"]), len(notes))
    assert asked["no_questions"] == asked["no_validation"] == (0, 0)
    assert asked["reveca"][0] > 0 == asked["always_ask"][0]
    assert asked["always_ask"][1] > asked["reveca"][1]


@pytest.mark.parametrize("method", ["k1", "k2", "k5", "r2", "r6"])
def test_k_and_r_bound_what_is_asked(method):
    number = int(method[1:])
    prompts, _ = played(method)
    if method[0] == "k":
        shown = [len(json.loads(fenced(t, "candidates"))) for t in prompts["choose"]]
        assert max(shown, default=1) == number  # of one candidate nothing is asked
        assert not shown if number == 1 else min(shown) >= 2
    else:
        top = f"{number - 1} = strong"
        assert all(top in t or f"up to {top}" in t for t in prompts["rate"])
        home = WORLDS["household"](1)
        goal = home.reset(0)["Ada"].goal
        state = RatingState(goal, (next(iter(home.things.values())),), (), number)
        id_ = state.things[0].id
        RateRelevance().check(state, Ratings(ratings=[Rating(id=id_, level=number - 1)]))
        with pytest.raises(CheckFailed, match=f"0 to {number - 1}"):
            RateRelevance().check(state, Ratings(ratings=[Rating(id=id_, level=number)]))
