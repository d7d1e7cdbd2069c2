"""The demonstration and the command line, run as a user runs them."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from coterie_fixtures.commands import coterie
from coterie_fixtures.ros_harness import patience

NODE = re.compile(r"/(bridge|aggregator|explorer)_node\b")

pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(900)]


def nodes_in(domain: int) -> list[int]:
    """Ids of node processes that live in a ROS domain."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        try:
            command = " ".join(process.info["cmdline"] or ())
            if NODE.search(command) and process.environ().get("ROS_DOMAIN_ID") == str(domain):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def wait_until(condition: Callable[[], Any]) -> None:
    """Wait for a condition; fails the test when it does not come true."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < patience(60.0), "what was waited for did not happen"
        time.sleep(0.05)


@pytest.fixture
def team_file(tmp_path: Path, tiny: str) -> Path:
    file = tmp_path / "tiny.yaml"
    file.write_text(tiny)
    return file


def demonstrated(folder: Path, team: str, *more: str) -> tuple[Path, str, int]:
    """Run the demonstration; return where its files are, what it printed, and its domain."""
    from coterie_fixtures.ros_harness import take_domain

    # On a busy machine an answer that is late is missing, and the numbers are others.
    (folder / "tiny.yaml").write_text(team.replace("deadline: 3.0", "deadline: 120.0"))
    domain, lock = take_domain()
    with lock, pytest.MonkeyPatch.context() as patch:
        patch.setenv("COTERIE_STATE", str(folder / "state"))
        words = ("demo", "--team", str(folder / "tiny.yaml"), "--out", str(folder / "out"))
        process = coterie(*words, "--voting", *more, domain=domain)
        output, _ = process.communicate(timeout=patience(600))
    assert process.returncode == 0, output
    return folder / "out", output, domain


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, tiny: str) -> tuple[Path, str, int]:
    return demonstrated(tmp_path_factory.mktemp("demo"), tiny)


def test_demo(demo: tuple[Path, str, int]) -> None:
    out, output, domain = demo
    assert "Majority vote" in output and "CAM+" in output
    record = json.loads((out / "demo.json").read_text())
    assert len(record["questions"]) == 8
    for question in record["questions"]:
        assert set(question["answers"]) == {"rover", "walker"}
        assert question["final_given"]
    assert [t["steps"] for t in record["tracks"]] == [4, 4]
    assert all(t["way"] and t["rooms"] for t in record["tracks"])
    assert [asked["kind"] for asked in record["asked"]] == ["presence", "presence"]
    assert {"majority_vote", "xgboost", "cam_plus"} <= {s["method"] for s in record["scores"]}
    # The node's own majority vote and the library's agree on the very same answers.
    live = [q["final"] for q in record["questions"]]
    assert live == [q["by_method"]["majority_vote"] for q in record["questions"]]
    # The robots come first, the ways of voting last.
    told = ("The house: ", "Where the robots went", "What they answered", "Ways of voting: 8 ")
    assert sorted(told, key=output.index) == list(told)
    assert (out / "map.png").stat().st_size > 0
    assert nodes_in(domain) == []


def test_the_same_seed_gives_the_same_run(
    demo: tuple[Path, str, int], tmp_path: Path, tiny: str
) -> None:
    records = []
    for out in (demo[0], demonstrated(tmp_path, tiny, "--seed", "5")[0]):
        record = json.loads((out / "demo.json").read_text())
        del record["seconds"]
        for asked in record["asked"]:
            del asked["seconds"]
        records.append(record)
    assert records[0] == records[1]


def test_demo_interrupted(
    tmp_path: Path, team_file: Path, ros_domain: int, state_folder: Path
) -> None:
    process = coterie("demo", "--team", str(team_file), "--out", str(tmp_path), domain=ros_domain)
    wait_until(lambda: nodes_in(ros_domain))
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=patience(60))
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert nodes_in(ros_domain) == []


@pytest.mark.quick
def test_up_ask_and_ctrl_c(team_file: Path, ros_domain: int, state_folder: Path) -> None:
    team = coterie("up", str(team_file), domain=ros_domain)
    try:
        wait_until(lambda: len(nodes_in(ros_domain)) == 4)
        question = "Is there a chair in the kitchen?"
        answered: set[str] = set()
        for _ in range(12):  # robots of a busy machine are late for the team's 3 s
            asking = coterie("ask", question, "--json", "--timeout", "60", domain=ros_domain)
            output, _ = asking.communicate(timeout=patience(120))
            answer = json.loads(output)
            if asking.returncode != 4:  # 4: none of them was in time
                assert asking.returncode in (0, 3), output
                assert answer["answer"] in ("yes", "no", "abstain")
            answered = {a["robot"] for a in answer["answers"]}
            if answered == {"rover", "walker"}:
                break
            assert answered | set(answer["missing"]) == {"rover", "walker"}
        assert answered == {"rover", "walker"}
        again = coterie("ask", question, domain=ros_domain)
        shown, _ = again.communicate(timeout=patience(120))
        assert "rover" in shown and "%" in shown
    finally:
        team.send_signal(signal.SIGINT)
        output, _ = team.communicate(timeout=patience(60))
    assert team.returncode == 0, output
    assert nodes_in(ros_domain) == []


def test_nodes_die_with_a_killed_supervisor(
    team_file: Path, ros_domain: int, state_folder: Path
) -> None:
    team = coterie("up", str(team_file), domain=ros_domain)
    wait_until(lambda: len(nodes_in(ros_domain)) == 4)
    team.kill()
    team.wait(30)
    wait_until(lambda: not nodes_in(ros_domain))


def test_ask_without_a_team(state_folder: Path) -> None:
    process = coterie("ask", "Is there a mug in the kitchen?")
    output, _ = process.communicate(timeout=patience(120))
    assert process.returncode == 2
    assert "no team runs on this machine" in output and "./coterie up" in output


async def test_two_teams_in_two_domains_do_not_mix(
    ros_domain: int, running_team: Callable[..., Any], tiny: str
) -> None:
    from coterie_core.questions import Question
    from coterie_fixtures.ros_harness import take_domain
    from coterie_fixtures.running_graph import graph_problems, strange_ports

    other_domain, lock = take_domain()
    with lock:
        async with (
            running_team(tiny, ros_domain) as one,
            running_team(tiny.replace("seed: 5", "seed: 6"), other_domain) as two,
        ):
            for name, team in (("one", one), ("two", two)):
                question = Question(f"of-{name}", "chair", "kitchen", "")
                team.operator.ask_all([question], deadline=10.0)
            await one.finals(["of-one"])
            await two.finals(["of-two"])
            seen, wrong = graph_problems(one.run, one.operator)
            assert seen > 100 and not wrong, "\n".join(wrong)
            for team in (one, two):
                pids = [team.run.supervisor.pid(spec.name) for spec in team.run.specs]
                assert not strange_ports(team.run.domain, pids)
            assert set(one.operator.finals) == {"of-one"}
            assert set(two.operator.finals) == {"of-two"}
            for team, key in ((one, "of-one"), (two, "of-two")):
                assert [set(a) for a in team.operator.answers.values()] == [{key}, {key}]
