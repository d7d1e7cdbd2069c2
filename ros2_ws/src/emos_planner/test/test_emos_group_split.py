"""A large team with a model: each group's part is split by itself, in any language."""

from __future__ import annotations

import json
import re
from copy import deepcopy

from coterie_core.tasks import Reflection, SubTask, Verdict
from coterie_fixtures.endpoint import Endpoint
from coterie_fixtures.two_floor_home import STARTS, small_house, small_team
from coterie_llm import ModelProfile, build_decider
from coterie_requests.grammar import read
from coterie_requests.understanding.vocabulary import Vocabulary
from emos_planner.leader.leader import Leader
from emos_planner.leader.options import LeaderOptions
from emos_planner.leader.splitting import joined

WORDS = "bring all mugs to the kitchen counter"


async def discussed(respond, words=WORDS):
    """Return what twelve robots in groups of four agree on, and the leader."""
    team, starts = {}, {}
    for k in range(12):
        resume = small_team()["rover" if k % 2 else "walker"]
        team[f"r{k}"] = resume.model_copy(update={"robot": f"r{k}"})
        starts[f"r{k}"] = STARTS["rover"]
    house = small_house()
    for k in range(3, 15):
        more = deepcopy(house.objects["mug-1"])
        more.id = f"mug-{k}"
        x, y, z = more.box.center
        more.box = type(more.box)((x - 0.05 * k, y, z), more.box.size)
        house.add_object(more)
    asked: list[str] = []

    def answer(request):
        text = "\n".join(str(message["content"]) for message in request["messages"])
        asked.append(text)
        return respond(text)

    with Endpoint(answer) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="m", mode="advised")
        decider = build_decider(profile, who="leader")
        leader = Leader(
            decider, house, team, options=LeaderOptions(group_size=4), channel=Agreeing()
        )
        try:
            request = read(words, Vocabulary.of(house, tuple(starts)))
            return await leader.discuss("t", words, starts, request=request), asked
        finally:
            await decider.aclose()


class Agreeing:
    """Robots that agree to everything."""

    async def reflect(self, robots, proposal, deadline):
        return {
            robot: Reflection(
                task=proposal.task,
                round=proposal.round,
                robot=robot,
                agrees=True,
                verdicts=tuple(
                    Verdict(sub_task=one.id, feasible=True)
                    for one in proposal.sub_tasks
                    if one.robot == robot
                ),
            )
            for robot in robots
        }


def advised(text: str) -> list[dict]:
    body = re.search(r'label="advice">\n(.*?)\n</data>', text, re.S).group(1)
    return json.loads(body)["sub_tasks"]


def robots_in(text: str) -> set[str]:
    return set(re.findall(r'label="robot (r\d+)"', text))


async def test_each_groups_part_is_split_by_a_model_that_sees_this_group_only() -> None:
    agreed, asked = await discussed(lambda text: {"sub_tasks": advised(text)})
    assert agreed.decided_by == "model"
    assert all(one.robot for one in agreed.sub_tasks)
    groups = [robots_in(text) for text in asked]
    assert len(groups) >= 3 and max(map(len, groups)) <= 4
    assert sum(map(len, groups)) == len(set().union(*groups)), "no robot is in two groups"
    told = agreed.transcript.to_markdown()
    assert "group 1 (" in told and "group 3 (" in told
    moved = [one.object.id for one in agreed.sub_tasks if one.kind == "place"]
    assert len(moved) == len(set(moved)) == 14


async def test_a_group_whose_model_fails_goes_on_with_the_solvers_plan() -> None:
    def only_one_group(text: str) -> object:
        return {"sub_tasks": advised(text)} if "r0" in robots_in(text) else "no idea"

    agreed, _ = await discussed(only_one_group)
    assert agreed.decided_by == "model"
    assert all(one.robot for one in agreed.sub_tasks)
    assert [note for note in agreed.notes if note.startswith("group 2 (")]


def test_what_waits_for_another_group_still_does_and_a_circle_is_no_plan() -> None:
    def step(id: str, *before: str) -> SubTask:
        return SubTask(id=id, kind="go_to", rooms=("hall",), depends_on=before)

    dealt = [step("a1"), step("a2", "b1"), step("b1", "a1", "gone")]
    plan = joined([step("a1"), step("a2"), step("b1")], dealt)
    assert plan is not None
    assert {one.id: one.depends_on for one in plan} == {"a1": (), "a2": ("b1",), "b1": ("a1",)}
    assert joined([step("a1", "a2"), step("a2"), step("b1")], dealt) is None
