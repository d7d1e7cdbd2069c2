"""`bench emos`: episodes, their check by the world, goals in PDDL, methods, records, tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from coterie_bench import emos_bench
from coterie_bench.emos_bench import Job, Results, find_episodes, main, run_job, run_jobs, verified
from coterie_bench.emos_episodes import (
    RATIO,
    EpisodeError,
    load_episodes,
    make_episode,
    save_episodes,
)
from coterie_bench.emos_goals import GoalProblem
from coterie_bench.emos_scaling import with_robots
from coterie_bench.emos_tables import draw, percent, print_results, scaling
from coterie_core.scene import SceneGraph


@pytest.fixture(scope="module")
def episode():
    """The first house with a verified task of cross-floor navigation."""
    found = find_episodes(1, 1, 0)
    assert len(found) == 1
    return found[0]


@pytest.fixture(scope="module")
def records(episode):
    methods = ("emos", "no_discussion", "oracle", "swapped")
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
    assert records["no_discussion"]["rounds"] == 0
    assert records["emos"]["prompt_tokens"] > records["no_discussion"]["prompt_tokens"] > 0


def test_an_episode_that_both_assignments_solve_is_not_verified(monkeypatch, episode):
    monkeypatch.setattr(emos_bench, "run_job", lambda job: {"success": True})
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

    monkeypatch.setattr(emos_bench, "run_job", fake)
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


def test_mistakes_on_the_command_line_are_named(capsys):
    assert main(["--method", "emoss"]) == 2
    assert "unknown method 'emoss'" in capsys.readouterr().err


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
