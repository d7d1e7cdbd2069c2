"""Teams that cooperate without a leader: team file, processes, what `do --together` refuses."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sys
from pathlib import Path

import pytest
from rich.console import Console

from coterie_bringup import rundir
from coterie_bringup.errors import CommandError
from coterie_bringup.plan import plan
from coterie_bringup.resources import shipped_team
from coterie_bringup.team import load_team, parse_team
from coterie_cli import cli
from coterie_cli.do import command as do_command
from coterie_cli.do.command import do
from coterie_cli.do.goal_record import CooperationRecord, Said, Share
from coterie_cli.do.options import DoOptions
from coterie_cli.do.together import GoalView, SharedGoal, shares_table
from coterie_core.cooperation import Goal
from coterie_core.yaml_marks import FileProblem

TEAM = """\
name: pair
world: {kind: embedded, seed: 8, floors: 1}
seed: 3
robots:
  - {name: rover, embodiment: wheels, role: cooperator}
  - {name: slim, embodiment: slim, role: cooperator}
cooperation:
  name: tidy up
  goal:
    - "ON(plate, counter): 2"
  prior_map: rooms
  people: [anna]
  levels: 5
  max_time: 600.0
"""
BARE = """\
name: bare
world: {kind: embedded}
robots: [{name: rover, role: cooperator}]
"""


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch):
    monkeypatch.setattr(do_command, "running_teams", list)


def problems(text: str) -> str:
    with pytest.raises(FileProblem) as caught:
        parse_team(text, "pair.yaml")
    return str(caught.value)


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        cli.main(list(arguments))
    said = capsys.readouterr()
    code = left.value.code
    return (code if isinstance(code, int) else 0), said.out, said.err


def test_a_team_file_of_robots_that_cooperate() -> None:
    team = parse_team(TEAM)
    assert [robot.name for robot in team.cooperators] == ["rover", "slim"]
    assert not team.workers and not team.explorers
    assert team.cooperation.goal == ("ON(plate, counter): 2",)
    assert team.cooperation.people == ("anna",)


def test_robots_may_cooperate_without_a_goal_in_the_file() -> None:
    team = parse_team(BARE)
    assert len(team.cooperators) == 1 and team.cooperation.goal == ()
    assert [spec.name for spec in plan(team)] == ["bridge", "agent.rover"]


def test_the_shipped_team_does_its_goal_with_the_robots_it_names() -> None:
    team = load_team(shipped_team(SharedGoal.team))
    assert len(team.cooperators) == 2
    assert Goal.parse(team.cooperation.name, team.cooperation.goal).total >= 2


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"ON(plate, counter): 2"', '"UNDER(plate, counter)"', "pair.yaml:10: cooperation.goal[0]"),
        (
            '"ON(plate, counter): 2"',
            '"ON(plate, counter): 0"',
            "the count must be a number from 1 to 10000",
        ),
        ("role: cooperator", "role: cooperater", "did you mean 'cooperator'?"),
        ("prior_map: rooms", "prior_map: nothing", "pair.yaml:11: cooperation.prior_map"),
        ("people: [anna]", "people: ['an na']", "pair.yaml:12: cooperation.people[0]"),
        ("levels: 5", "levels: 1", "pair.yaml:13: cooperation.levels"),
        ("max_time: 600.0", "max_time: .nan", "pair.yaml:14: cooperation.max_time"),
        ("max_time: 600.0", "max_tim: 600.0", "did you mean 'max_time'?"),
        ("people: [anna]", "people: [rover]", "'rover' is a robot of this team"),
    ],
)
def test_mistakes_are_named_with_their_line(old: str, new: str, expected: str) -> None:
    assert old in TEAM
    assert expected in problems(TEAM.replace(old, new, 1))


def test_a_form_like_the_right_one_is_shown() -> None:
    found = problems(TEAM.replace('"ON(plate, counter): 2"', '"put plates away"'))
    assert "expected a form like 'ON(plate, table): 2', got 'put plates away'" in found


def test_without_a_terminal_each_new_plan_and_message_is_a_line() -> None:
    share = Share("rover", plan="go [to] the kitchen", wanted=2)
    record = CooperationRecord(
        Goal.parse("tidy", ("ON(plate, counter): 2",)), shares={"rover": share}
    )
    shown = io.StringIO()
    view = GoalView(Console(file=shown, width=40), record)
    view.news()
    record.said.append(Said(0.1, "slim", ("rover",), "a plate is on the table in the dining room"))
    view.news()
    share.steps = 3
    view.news()
    share.outcome, share.placed = "met", 2
    view.news()
    assert view.live is None
    assert [line.split(" s  ", 1)[1] for line in shown.getvalue().splitlines()] == [
        "rover: go [to] the kitchen; 0 of 2 in place",
        "slim to rover: a plate is on the table in the dining room",
        "rover: met; 2 of 2 in place",
    ]
    assert GoalView(Console(force_terminal=True), record).live is not None


def test_a_goal_without_anybody_to_do_it() -> None:
    found = problems(TEAM.replace(", role: cooperator", ""))
    assert "cooperation: needs robots with role: cooperator; give at least one" in found
    assert "pair.yaml:" in found


def test_processes_and_parameters(tmp_path: Path) -> None:
    specs = plan(parse_team(TEAM), run_directory=tmp_path)
    assert [spec.name for spec in specs] == ["bridge", "agent.rover", "agent.slim"]
    bridge, rover, slim = specs
    assert bridge.parameters["bridge"]["prior_map"] == "rooms"
    assert (rover.package, rover.executable) == ("reveca_agent", "agent_node")
    assert rover.arguments == ("--robots", "rover")
    ours, theirs = rover.parameters["rover/agent"], slim.parameters["slim/agent"]
    assert ours["team"] == theirs["team"] == ["rover", "slim", "anna"]
    assert (ours["levels"], ours["plans"], ours["max_time"]) == (5, 3, 600.0)
    assert ours["seed"] != theirs["seed"]
    assert ours["radius"] > theirs["radius"]
    assert ours["low"] < ours["high"] and ours["reach"] > 0.0
    assert Path(ours["state_directory"]).parent == tmp_path
    assert json.loads(ours["model_profile"]) == {"kind": "rules"}


def test_parameters_are_those_the_node_declares() -> None:
    pytest.importorskip("coterie_msgs")
    from reveca_agent.node import RevecaNode

    known = {spec.name for spec in RevecaNode.PARAMETERS} | {"use_sim_time"}
    for spec in plan(parse_team(TEAM))[1:]:
        assert {name for node in spec.parameters.values() for name in node} <= known


def test_cooperate_without_a_goal_or_cooperators(capsys, tmp_path: Path) -> None:
    bare, explorers = tmp_path / "bare.yaml", tmp_path / "explorers.yaml"
    bare.write_text(BARE)
    explorers.write_text(BARE.replace("cooperator", "explorer"))
    code, _, err = run(capsys, "do", "--together", "--team", str(bare))
    assert code == 2 and "team bare has no goal: add `goal:`" in " ".join(err.split())
    code, _, err = run(capsys, "do", "--together", "ON(mug, table)", "--team", str(explorers))
    assert code == 2 and "has no robot that cooperates" in " ".join(err.split())
    code, _, err = run(capsys, "do", "--together", "--team", str(tmp_path / "none.yaml"))
    assert code == 2 and "none.yaml" in err


@pytest.mark.parametrize("predicate", ["mugs to the table", "ON(mug)", "ON(mug, table): 0", ""])
def test_cooperate_names_a_wrong_predicate(capsys, predicate: str) -> None:
    code, _, err = run(capsys, "do", "--together", predicate)
    assert code == 2 and "sub-goal" in err and "Traceback" not in err


def test_cooperate_warns_of_a_name_that_no_household_has(capsys, tmp_path: Path) -> None:
    """Detectors may know what no household has: so it is told, and looked for."""
    explorers = tmp_path / "explorers.yaml"
    explorers.write_text(BARE.replace("cooperator", "explorer"))
    _, out, err = run(capsys, "do", "--together", "ON(mug, cuonter)", "--team", str(explorers))
    said = " ".join((out + err).split())
    assert "warning: 'cuonter'" in said and "do you mean 'counter'?" in said
    assert "has no robot that cooperates" in said


def test_cooperate_names_a_wrong_world(capsys) -> None:
    code, _, err = run(capsys, "do", "--together", "ON(mug, table)", "--world", "moon")
    assert code == 2 and "--world moon" in err


def test_a_running_team_has_to_be_told_what_to_do(monkeypatch, tmp_path: Path) -> None:
    state = rundir.own_state("pair", 7, tmp_path, robots=["rover"])
    monkeypatch.setattr(do_command, "running_teams", lambda: [state])
    with pytest.raises(CommandError, match="runs already: say what it shall do"):
        do(DoOptions(together=True, out=tmp_path))


@pytest.mark.ros
def test_an_interrupted_run_leaves_its_record(ros, ros_domain, monkeypatch, tmp_path: Path) -> None:
    """The real command is interrupted while a robot, made by hand, is at work."""
    from coterie_core.cooperation import Note
    from coterie_msgs.action import Cooperate
    from coterie_msgs.msg import TeamMessage
    from coterie_ros.agent_node import AgentNode
    from coterie_ros.conversions.notes import note_to_msg
    from coterie_ros.qos import profile

    class Rover(AgentNode):
        begun = stopped = False

        def on_setup(self, parameters) -> None:
            self.says = self.create_publisher(TeamMessage, "rover/message", profile("messages"))
            self.serve_action(Cooperate, "rover/cooperate", self.cooperate)

        async def cooperate(self, goal):
            while not self.says.get_subscription_count():
                await asyncio.sleep(0.02)
            self.says.publish(note_to_msg(Note("1", "rover", "text", "I am in the hall.")))
            self.begun = True
            try:
                await asyncio.Event().wait()
            finally:
                self.stopped = goal.cancelled

    rover = ros.add(Rover("rover_agent", context=ros.context))
    ros.wait_active(rover)
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    state = rundir.own_state("pair", ros_domain, rundir.new_run("pair"), robots=["rover"])
    with rundir.registered(state):
        command = ["do", "--together", "ON(cup, desk): 1", "--out", str(tmp_path)]
        process = ros.start_process(
            [sys.executable, "-m", "coterie_cli.cli", *command],
            {"COTERIE_STATE": os.environ["COTERIE_STATE"], "COLUMNS": "400"},
        )
        ros.spin_until(lambda: rover.begun, what="the goal to be begun")
        process.send(signal.SIGINT)
        ros.spin_until(lambda: process.exit_code is not None, what="the command to end")
    assert process.wait() == 130, process.output
    assert "cooperation.json" in process.output
    kept = json.loads((tmp_path / "cooperation.json").read_text())
    assert kept["message"] == "interrupted" and not kept["success"]
    assert [one["text"] for one in kept["messages"]] == ["I am in the hall."]
    ros.spin_until(lambda: rover.stopped, what="the robot to be told to stop")


def test_a_record_as_data() -> None:
    record = CooperationRecord(Goal.parse("tidy", ["ON(mug, table): 2"]), "pair")
    record.shares["rover"] = Share("rover", placed=1, wanted=2, outcome="out of time")
    record.said.append(Said(1.234, "rover", ("slim",), "Did you take <b>mug-1</b>?"))
    data = json.loads(json.dumps(record.as_data()))
    assert data["goal"] == {"name": "tidy", "predicates": ["ON(mug, table): 2"]}
    assert not data["success"] and data["robots"][0]["outcome"] == "out of time"
    assert data["messages"][0] == {
        "seconds": 1.23,
        "sender": "rover",
        "to": ["slim"],
        "text": "Did you take <b>mug-1</b>?",
    }
    record.shares["slim"] = Share("slim", success=True, outcome="met")
    assert record.success


def test_of_a_robot_that_was_told_to_stop_no_figures_are_told() -> None:
    record = CooperationRecord(Goal.parse("tidy", ["ON(mug, table): 2"]), "pair")
    record.shares["rover"] = Share("rover", placed=1, wanted=2, outcome="told to stop")
    record.shares["slim"] = Share("slim", outcome="met", distance=0.0, messages=1, characters=9)
    out = io.StringIO()
    Console(file=out, width=100).print(shares_table(record))
    _, rover, slim = out.getvalue().splitlines()
    assert rover.split() == ["rover", "1", "of", "2", "told", "to", "stop"]
    assert slim.split()[-5:] == ["0.0", "m", "1", "(9", "characters)"]
    assert record.as_data()["robots"][0]["distance"] is None
