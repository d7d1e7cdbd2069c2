"""EMOS led by a stand-in for a capable model that reads the prompts alone, and by one at random."""

from __future__ import annotations

import pytest

from coterie_fixtures.endpoint import Endpoint
from coterie_fixtures.oracle import Oracle, random_answerer
from coterie_fixtures.two_floor_home import STARTS, small_house, small_team
from coterie_llm import ModelProfile, build_decider
from emos_planner.leader.leader import Leader
from research.bench.emos.episodes import Episode, Family, make_episode
from research.bench.emos.jobs import Job, run_job


def an_episode(family: Family, house: int) -> Episode:
    """Return a task of a house that is known to offer one."""
    episode = make_episode(family, house)
    assert episode is not None
    return episode


def record(episode: Episode, responder=None) -> dict:
    if responder is None:
        return run_job(Job(episode, "emos"))
    with Endpoint(responder, usage=None) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="stand-in")
        return run_job(Job(episode, "emos", profile=profile.model_dump_json(exclude_unset=True)))


@pytest.mark.slow
@pytest.mark.parametrize(("family", "house"), [(2, 9010014), (3, 9010004)])
def test_prompts_carry_what_a_person_needs(family: Family, house: int) -> None:
    episode = an_episode(family, house)
    rules, oracle = record(episode), record(episode, Oracle())
    assert "error" not in oracle
    assert oracle["success"] >= rules["success"], (episode.words, oracle["message"])
    split = oracle["decisions"]["emos.split_task"]
    assert (split["by_model"], split["overruled"]) == (1, 0), episode.words
    assert all(row["overruled"] == 0 for row in oracle["decisions"].values())


@pytest.mark.slow
def test_answers_at_random_are_refused_and_the_team_finishes() -> None:
    # With most seeds the reader at random asks back, and nothing is begun.
    for seed in range(20):
        guesses = record(an_episode(3, 9010003), random_answerer(seed))
        assert "error" not in guesses
        if guesses["steps"]:
            break
    assert guesses["steps"] > 0
    assert guesses["decisions"]["emos.split_task"]["by_model"] == 0


async def test_what_no_robot_can_do_alone_is_handed_over() -> None:
    """Only the rover reaches the shelf, only the walker gets upstairs; the oracle finds out."""
    team = small_team()
    with Endpoint(Oracle(), usage=None) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="oracle")
        mind = build_decider(profile, who="leader", timeout_s=300.0)
        leader = Leader(mind, small_house(), team)
        words = "Put the books in the living room on the bed in the bedroom"
        agreed = await leader.discuss("t", words, STARTS)
        await mind.aclose()
    assert agreed.decided_by == "model", agreed.notes
    done = [(one.kind, one.robot) for one in agreed.sub_tasks if one.kind in ("pick", "place")]
    assert done == [
        ("pick", "rover"),
        ("place", "rover"),
        ("pick", "walker"),
        ("place", "walker"),
    ]
    places = [one for one in agreed.sub_tasks if one.kind == "place" and one.receptacle]
    assert {one.robot: one.receptacle.id for one in places}["walker"] == "bed-1"
