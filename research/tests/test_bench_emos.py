"""`bench emos`: episodes, their check by the world, goals in PDDL, methods, records, tables."""

from __future__ import annotations

import asyncio
import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from rich.console import Console

from coterie_core.tasks import RobotReport, SubTask, SubTaskState, Thing
from coterie_fixtures.emos_team import LocalChannel
from coterie_fixtures.two_floor_home import STARTS, small_house, small_team
from coterie_world.scene import SceneGraph
from coterie_world.team_map import TeamMap
from emos_planner.leader.briefing import body_text
from emos_planner.leader.leader import Leader
from emos_planner.leader.options import LeaderOptions
from emos_planner.robot.agent import RobotAgent
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.prior import prior_map
from research.bench.common.intervals import difference, mean_interval, paired_interval, spread
from research.bench.emos import jobs as emos_jobs
from research.bench.emos import verified as emos_verified
from research.bench.emos.ablation import (
    DealingLeader,
    deal,
    without_numbers,
    without_resume,
)
from research.bench.emos.bench import main
from research.bench.emos.counting import CountingDecider
from research.bench.emos.episodes import (
    RATIO,
    EpisodeError,
    load_episodes,
    make_episode,
    resume_of_kind,
    save_episodes,
    world_of,
)
from research.bench.emos.goals import GoalProblem
from research.bench.emos.jobs import Job, Results, run_job, run_jobs
from research.bench.emos.run import each_alone
from research.bench.emos.scaling import scaling_jobs, with_robots
from research.bench.emos.tables import draw, percent, print_results, scaling
from research.bench.emos.verified import find_episodes, verified
from research.bench.emos.words import reference


@pytest.fixture(scope="module")
def episode():
    """The first house with a verified task of cross-floor navigation."""
    found = find_episodes(1, 1, 0)
    assert len(found) == 1
    return found[0]


@pytest.fixture(scope="module")
def records(episode):
    methods = ("emos", "no_discussion", "dealt", "oracle", "swapped")
    return {name: run_job(Job(episode, name)) for name in methods}  # type: ignore[arg-type]


def test_the_same_house_gives_the_same_episode(episode):
    assert make_episode(1, episode.house) == episode
    assert RATIO[0] <= episode.ratio <= RATIO[1]
    starts = [robot.start for robot in episode.robots]
    assert len(set(starts)) == len(starts)


def test_right_assignment_succeeds_and_swapped_fails(records):
    assert records["oracle"]["success"] and not records["swapped"]["success"], records


def test_emos_finds_the_right_assignment_and_dealing_out_does_not_check(records):
    assert records["emos"]["success"] and records["emos"]["rounds"] >= 1
    assert records["dealt"]["rounds"] == 0
    assert records["emos"]["prompt_tokens"] > records["dealt"]["prompt_tokens"]


def test_a_leader_gets_the_words_and_not_the_goal(episode):
    """With words that robots do not understand a method with a leader is lost, an oracle not."""
    mute = episode.model_copy(update={"words": "Frobnicate the quux"})
    lost = run_job(Job(mute, "emos"))
    assert lost["refused"] and not lost["success"] and "frobnicate" in lost["message"].lower()
    assert run_job(Job(mute, "no_discussion"))["refused"]
    assert run_job(Job(mute, "oracle"))["success"]


def test_without_discussion_every_robot_sets_out_by_itself(episode):
    world, resumes = world_of(episode)
    try:
        scene = prior_map(world.truth(), "everything")
        deciders = {name: CountingDecider(who=name) for name in resumes}
        agents = {n: RobotAgent(n, r, deciders[n], TeamMap(scene, n)) for n, r in resumes.items()}
        for robot, agent in agents.items():
            agent.observe(world.observe(robot))
    finally:
        world.close()
    alone = asyncio.run(each_alone(episode, deciders, scene, resumes, LeaderOptions(), agents))[0]
    assert {one.robot for one in alone} == set(resumes)
    for one in alone:  # nobody's share depends on another's
        assert one.id.startswith(f"{one.robot}-")
        assert all(d.startswith(f"{one.robot}-") for d in one.depends_on)


async def test_tokens_are_counted_without_a_model():
    decider = CountingDecider()
    leader = Leader(decider, small_house(), small_team())
    await leader.discuss("t", "bring mug-1 to the kitchen counter", STARTS)
    cost = decider.costs["emos.split_task"]
    assert cost.times == 1 and 300 < cost.prompt < 3000 and cost.reply > 20
    assert decider.total.prompt >= cost.prompt


def test_lots_differ_between_episodes_and_seeds_and_one_thing_stays_with_one_robot():
    mug, box = Thing(label="mug", id="mug-1"), Thing(label="box", id="box-1")
    tasks = [
        SubTask(id="a", kind="detect", object=mug),
        SubTask(id="b", kind="detect", object=box),
        SubTask(id="c", kind="pick", object=mug),
    ]
    dealt = {tuple(o.robot for o in deal(tasks, ["x", "y"], {}, seed)) for seed in range(20)}
    assert dealt == {("x", "y", "x"), ("y", "x", "y")}


def test_words_fit_one_thing_alone(episode):
    house = generate_house(episode.house, floors=episode.floors)
    truth = EmbeddedWorld(house, seed=episode.house).truth()
    found = {}
    for thing in truth.objects.values():
        text = reference(thing, truth)
        if text is not None:
            assert text not in found, (text, thing.id, found[text])
            found[text] = thing.id
    assert len(found) > 20
    twins = [t for t in truth.objects.values() if reference(t, truth) is None]
    assert twins, "a house without two like things tells nothing"


def test_pairs_that_all_agree_do_not_show_that_there_is_no_difference():
    few, many = paired_interval([True] * 8, [True] * 8), paired_interval([True] * 54, [True] * 54)
    assert few == (0.0, pytest.approx(1.96 / 10.0, abs=1e-3))
    assert many == (0.0, pytest.approx(1.96 / 56.0, abs=1e-3))
    # Agresti and Min (2005): 7 and 25 of 144 pairs apart: (c* - b*) / n* = -18 / 146.
    one = [True] * 7 + [False] * 25 + [True] * 112
    other = [False] * 7 + [True] * 25 + [True] * 112
    mean, half = paired_interval(one, other)
    assert mean == pytest.approx(-0.125)
    assert half == pytest.approx(1.96 / 146 * math.sqrt(33 - 18**2 / 146), rel=0.01)
    # In houses that go one way, few houses tell less than many pairs.
    houses = [0] * 7 + [1] * 25 + [2] * 112
    assert paired_interval(one, other, houses)[1] > 2 * half
    assert math.isnan(paired_interval([], [])[0])


def test_intervals_count_houses_and_not_episodes():
    mean, half = mean_interval([1.0, 1.0, 0.0, 0.0])
    assert mean == 0.5 and half == pytest.approx(0.9187, abs=1e-3)  # t(3) = 3.182, s = 0.577
    assert mean_interval([1.0, 1.0, 0.0, 0.0], ["a", "a", "b", "b"])[1] > 2 * half
    assert math.isnan(mean_interval([1.0, 1.0], ["a", "a"])[1])
    assert spread(math.nan) == "" and spread(1.25, 2) == " ± 1.25"
    one, other = {1: 1.0, 2: 1.0, 3: 1.0}, {1: 0.0, 2: 1.0, 3: 0.0}
    assert difference(one, other, {k: k for k in one})[2]  # a draw
    assert not difference(one, dict.fromkeys(one, 0.1), {k: k for k in one})[2]


def test_ablations_leave_less_to_go_by():
    # Nothing of its body is left: rover may be sent upstairs, or walker up to a high shelf.
    anybody = [without_resume(resume) for resume in small_team().values()]
    assert all(r.mobility.climbs_stairs and r.manipulation.arms for r in anybody)
    typical = {name: without_numbers(resume) for name, resume in small_team().items()}
    assert not typical["rover"].mobility.climbs_stairs
    arms = {typical[r].manipulation.arms[0].workspace.max_height for r in ("rover", "walker")}
    assert len(arms) == 1 and not typical["drone"].manipulation.arms


async def test_who_deals_asks_nobody_and_looks_at_no_body():
    options = LeaderOptions(seed=1, reassign_limit=0)
    leader = DealingLeader(CountingDecider(), small_house(), small_team(), options=options)
    leader.channel = LocalChannel({})
    agreed = await leader.discuss("t", "bring all mugs to the kitchen counter", STARTS)
    assert agreed.rounds == 0 and all(o.robot for o in agreed.sub_tasks)
    assert any(o.robot == "drone" for o in agreed.sub_tasks if o.kind != "detect") or any(
        o.robot == "rover" for o in agreed.sub_tasks if "mug-2" in o.description
    )
    failed = next(o for o in agreed.sub_tasks if o.kind == "pick")
    told = failed.model_copy(update={"state": SubTaskState.FAILED, "reason": "no arm"})
    leader.update(RobotReport(robot=failed.robot, task="t", sub_tasks=(told,)))
    await leader.replan(STARTS)
    after = next(o for o in leader.assignment if o.id == failed.id)
    assert after.state is SubTaskState.FAILED


def test_an_ablation_takes_away_just_what_it_names():
    resume = resume_of_kind("fetch")
    bare = without_numbers(resume)
    assert bare.mobility.kind == resume.mobility.kind
    assert bool(bare.manipulation.arms[0].gripper) is bool(resume.manipulation.arms[0].gripper)
    assert len(bare.manipulation.arms) == len(resume.manipulation.arms)
    options = LeaderOptions(use_resume_numbers=False)
    text = body_text(bare, options)
    assert not re.search(r"\d\.\d", text), text
    flyer = body_text(resume_of_kind("m100_indoor"), LeaderOptions())
    heights = json.loads(flyer)["perception"]["cameras"][0]["heights [m]"]
    assert min(heights) > 1.0  # above the floor, not above the body
    ET.fromstring(body_text(resume, LeaderOptions(resume_format="xml")))


def test_an_episode_that_both_assignments_solve_is_not_verified(monkeypatch, episode):
    monkeypatch.setattr(emos_verified, "run_job", lambda job: {"success": True})
    assert verified(1, episode.house) is None


def test_goal_is_told_and_written_as_pddl(episode, tmp_path):
    problem = GoalProblem(episode)
    domain, file = problem.write(tmp_path)
    assert "(robot_at_object ?robot - robot ?thing - thing)" in domain.read_text()
    text = file.read_text()
    assert "(:domain habitat-mas)" in text and text.count("(or (robot_at_object") == 2
    scene = SceneGraph()
    everything = range(len(episode.checked))
    assert problem.told(scene, {}, {}, everything) == (True, [True] * len(episode.checked))
    assert problem.told(scene, {}, {}, [0])[0] is False


def test_episodes_survive_a_file_and_wrong_lines_are_named(episode, tmp_path):
    file = tmp_path / "episodes.jsonl"
    save_episodes([episode], file)
    assert load_episodes(file) == [episode]
    file.write_text(episode.model_dump_json() + "\n" + '{"id": "x"}\n')
    with pytest.raises(EpisodeError, match=r"episodes\.jsonl:2: "):
        load_episodes(file)


def test_a_stopped_bench_goes_on(episode, records, tmp_path, monkeypatch):
    file = tmp_path / "records.jsonl"
    first = Results(file)
    first.add(records["emos"])
    with file.open("a") as out:
        out.write('{"key": "cut o')
    ran: list[str] = []

    def fake(job: Job) -> dict[str, object]:
        ran.append(job.method)
        return {**records["oracle"], "key": job.key}

    monkeypatch.setattr(emos_jobs, "run_job", fake)
    done = run_jobs([Job(episode, "emos"), Job(episode, "oracle")], Results(file))
    assert ran == ["oracle"] and [r["method"] for r in done] == ["emos", "oracle"]


def test_a_run_that_breaks_is_a_record_with_its_error(episode):
    broken = episode.model_copy(update={"robots": (episode.robots[0],) * 2})
    record = run_job(Job(broken, "emos"))
    assert record["success"] is False and "in the world already" in record["error"]


def test_tables_and_plot_hold_every_method(records, tmp_path):
    console = Console(record=True, width=200, file=(tmp_path / "text").open("w"))
    rows = list(records.values())
    print_results(rows, console)
    text = console.export_text()
    assert "(37.8)" in text and "swapped" in text
    assert draw(rows, tmp_path)[0].stat().st_size > 5000
    assert scaling([{**rows[0], "robots": 2}], "robots").row_count == 1
    assert percent([True, False]) == 50.0 and percent([]) != percent([])


def test_more_robots_start_apart(episode):
    larger = with_robots(episode, 4)
    assert larger is not None and len({robot.name for robot in larger.robots}) == 4
    assert larger.robots[:2] == episode.robots


@pytest.mark.parametrize("vary", ["robots", "form"])
def test_what_is_not_varied_is_as_chosen(episode, vary):
    base = Job(episode, "emos", 7, "xml", world="habitat", prior="rooms", noise="low")
    jobs = list(scaling_jobs([episode], vary, base))
    assert len({job.value for job in jobs}) == len(jobs) > 1
    for job in jobs:
        assert (job.seed, job.world, job.prior, job.noise) == (7, "habitat", "rooms", "low")
        assert job.form == (job.value if vary == "form" else "xml")


def test_mistakes_on_the_command_line_are_named(capsys):
    for option in ("--method", "--vary", "--form", "--world", "--prior", "--noise"):
        assert main([option, "emoss"]) == 2
        assert f"{option}: 'emoss'; one of " in capsys.readouterr().err


def test_command_line_reuses_episodes_and_records(episode, records, tmp_path: Path):
    save_episodes([episode], tmp_path / "episodes" / "task1_seed0.jsonl")
    results = Results(tmp_path / "records.jsonl")
    for record in records.values():
        results.add(record)
    chosen = ["--task", "1", "--episodes", "1", "--workers", "1", "--out", str(tmp_path)]
    methods = [part for name in records for part in ("--method", name)]
    assert main([*chosen, *methods, "--pddl"]) == 0
    made = json.loads((tmp_path / "results.json").read_text())
    assert {r["method"] for r in made} == set(records)
    assert (tmp_path / "pddl" / "task1" / "domain.pddl").is_file()
