"""The door without a team: what it imports, what it tells, what it refuses."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import coterie
from coterie import SemanticMap, TeamError
from coterie.results import answer_of, found_object, task_result
from coterie_core.geometry import Box
from coterie_core.questions import OpenAnswer
from coterie_fixtures.ros_harness import patience
from coterie_requests.ask_back import Judgement
from coterie_world.scene import LabelBelief, Room, SceneGraph, SceneObject

pytestmark = pytest.mark.quick

HEAVY = ("rclpy", "numpy", "pydantic", "coterie_bringup", "coterie_world", "asyncio")


@pytest.fixture
def scene() -> SceneGraph:
    """Return a kitchen with a chair and a mug."""
    graph = SceneGraph()
    graph.rooms["k"] = Room("k", "kitchen", "kitchen", polygon=[(0, 0), (6, 0), (6, 6)])
    for label, at in (("chair", (1.0, 0.5, 0.4)), ("mug", (1.5, 0.5, 0.8))):
        box = Box(at, (0.5, 0.5, 0.8))
        graph.objects[label] = SceneObject(label, LabelBelief.of(label), box, "k")
    return graph


def test_importing_it_imports_little():
    code = f"import sys, coterie; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_its_names_are_few_and_there():
    pytest.importorskip("rclpy")
    assert len(coterie.__all__) <= 12
    assert all(getattr(coterie, name).__doc__ for name in coterie.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Tema'"):
        coterie.Tema  # noqa: B018


def test_the_two_teams_are_twins():
    pytest.importorskip("rclpy")
    from coterie import AsyncTeam, Team

    for name, method in inspect.getmembers(Team, inspect.isfunction):
        if not name.startswith("_"):
            twin = getattr(AsyncTeam, name)
            own, other = (inspect.signature(one).parameters.values() for one in (method, twin))
            assert [str((one.name, one.kind, one.annotation)) for one in own] == [
                str((one.name, one.kind, one.annotation)) for one in other
            ], name


def test_a_map_is_read_written_and_searched(scene, tmp_path: Path):
    file = tmp_path / "map.json"
    SemanticMap.of(scene).save(file)
    read = SemanticMap.read(file)
    assert read == SemanticMap.of(scene)
    assert [thing.label for thing in read.find("something to sit on")] == ["chair"]
    assert read.rooms[0].outline == ((0, 0), (6, 0), (6, 6))
    written = {text.get_text() for axes in read.draw().axes for text in axes.texts}
    assert "kitchen" in written and "chair" in written
    (tmp_path / "broken.json").write_text("{")
    for name in ("broken.json", "nowhere.json"):
        with pytest.raises(TeamError, match=name):
            SemanticMap.read(tmp_path / name)


async def test_a_map_is_searched_beside_a_loop(scene):
    assert SemanticMap.of(scene).find("mug")[0].center == (1.5, 0.5, 0.8)


def test_an_answer_names_its_objects_and_what_is_unclear(scene):
    told = OpenAnswer("q", "on the table", confidence=0.7, objects=("mug", "gone"))
    judgement = Judgement("underspecified", "There are two.", "Which one?")
    answer = answer_of("Where is it?", told, scene, judgement=judgement)
    assert (answer.text, answer.unclear) == ("on the table", "There are two. Which one?")
    assert [(thing.id, thing.room) for thing in answer.objects] == [("mug", "kitchen")]
    assert found_object("mug", None).center is None
    scene.objects["mug"].box = Box((1 / 3, 2.0, 1.0), (0.1, 0.1, 0.1))
    assert found_object("mug", scene).center == (0.333, 2.0, 1.0)
    assert str(found_object("mug", scene)) == "mug in kitchen at (0.33, 2.00, 1.00) m"


def test_each_robots_answer_is_told_with_the_things_that_it_saw(scene):
    pytest.importorskip("rclpy")
    from coterie_bringup.team_client import TeamAnswer
    from coterie_core.questions import Answer, Evidence, FinalAnswer

    said = (
        Answer("ask-1", "rover", True, 0.9, Evidence("seen", ("mug", "gone")), "seen there once"),
        Answer("ask-1", "drone", True, 0.5, Evidence("nothing")),
    )
    final = FinalAnswer("ask-1", True, 0.9, "confidence_vote", ())
    answer = answer_of("Is there a mug?", TeamAnswer(final, said), None, SceneGraph(), scene)
    assert [(thing.label, thing.room) for thing in answer.objects] == [("mug", "kitchen")]
    assert [(one.robot, one.text) for one in answer.robots] == [
        ("rover", "yes"),
        ("drone", "unknown"),
    ]
    assert "ask-1" not in str(answer) and str(answer).count("Answer(") == 3
    assert str(answer).count("RobotAnswer(") == 2


def test_a_map_and_a_team_are_shown_in_a_line(scene):
    pytest.importorskip("rclpy")
    from coterie import Team
    from coterie_bringup.rundir import RunState

    assert repr(SemanticMap.of(scene)) == "<SemanticMap: 1 rooms, 2 objects>"
    assert "1 chair" in str(SemanticMap.of(scene))

    async def shown() -> str:
        team = Team.__new__(Team)
        team._team = coterie.AsyncTeam(RunState("home", 1, 7, "", 3.0, robots=["rover", "drone"]))
        return repr(team)

    assert asyncio.run(shown()) == "<Team home: rover, drone; ROS domain 7>"


def test_code_of_ones_own_is_agreed_to_from_python(tmp_path: Path, monkeypatch):
    pytest.importorskip("rclpy")
    from coterie import Team
    from coterie_bringup.team import load_team
    from coterie_bringup.trust import untrusted

    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("ROS_DOMAIN_ID", "999")  # it goes no further than there
    monkeypatch.delenv("COTERIE_TRUST", raising=False)
    file = tmp_path / "mine.yaml"
    robot = "robots: [{name: rover, embodiment: wheels}]"
    file.write_text(
        f"name: mine\nworld: {{kind: embedded}}\n{robot}\naggregator: 'my_votes:AnyYes'\n"
    )
    with pytest.raises(TeamError, match=r"my_votes:AnyYes(.|\n)*agree with trust=True"):
        Team(file)
    with pytest.raises(TeamError, match="999"):
        Team(file, trust=True)
    assert not untrusted(load_team(file))


@pytest.mark.ros
async def test_what_robots_do_is_heard_as_the_log_tells_it(tmp_path: Path, ros_domain: int):
    pytest.importorskip("rclpy")
    from coterie import AsyncTeam
    from coterie_bringup.rundir import RunState
    from coterie_safety.ledger import Ledger

    log = Ledger(tmp_path / "log")
    log.write("goal", "rover", {"what": "long ago"})
    state = RunState("home", 1, ros_domain, "", 3.0, robots=["rover"], log=str(log.folder))
    team = AsyncTeam(state)
    try:
        await team._connect()
        events = team.events()
        log.write("goal", "rover", {"what": "drive on", "why": "to explore"})
        log.write("permit", "rover", {"by": "anna"})
        log.write("result", "rover", {"outcome": "SUCCEEDED", "distance": 2.0})
        told = [await asyncio.wait_for(anext(events), patience(30.0)) for _ in range(2)]
    finally:
        await team.close()
    assert [(one.kind, one.who, one.text) for one in told] == [
        ("goal", "rover", "drive on, for 'to explore'"),
        ("ended", "rover", "the goal succeeded, 2.0 m"),
    ]


def test_a_team_that_is_not_there_is_told(tmp_path: Path, monkeypatch):
    pytest.importorskip("rclpy")
    from coterie import Team

    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    with pytest.raises(TeamError, match="no team runs"):
        Team.join("nobody")
    with pytest.raises(TeamError, match="no file and no team"):
        Team("nobody")
    file = tmp_path / "wrong.yaml"
    file.write_text("name: wrong\nrobots: [{nam: rover}]\n")
    with pytest.raises(TeamError, match=r"wrong\.yaml:2"):
        Team.start(file)
    assert not [thread for thread in threading.enumerate() if thread.name == "team"]


async def test_why_tells_what_the_command_line_tells(tmp_path: Path):
    pytest.importorskip("rclpy")
    from coterie import AsyncTeam, Explanation
    from coterie_bringup.rundir import RunState
    from coterie_safety.why import JournalSettings, close_journal, note, open_journal

    state = RunState("home", 1, 2, str(tmp_path), 3.0, log=str(tmp_path / "log"))
    open_journal(JournalSettings(str(tmp_path / "why")), "x")
    note("question", "aggregator", {"words": "is there a rug?"}, question="q1")
    note("answer", "the team", {"words": "yes"}, question="q1")
    close_journal()
    told = await AsyncTeam(state).why("rug")
    assert isinstance(told, Explanation) and [step.kind for step in told.steps] == [
        "question",
        "answer",
    ]
    assert str(told).splitlines()[0] == f"Why: {told.title}" and "the team answered: yes" in str(
        told
    )
    with pytest.raises(TeamError, match=r"nothing that is kept holds 'piano'"):
        await AsyncTeam(state).why("piano")
    with pytest.raises(TeamError, match="where the team runs"):
        await AsyncTeam(RunState("home", 1, 2, "", 3.0)).why()


async def test_what_a_team_lacks_is_told_at_once_with_what_to_add():
    pytest.importorskip("rclpy")
    from coterie import AsyncTeam
    from coterie_bringup.rundir import RunState

    team = AsyncTeam(RunState("pair", 1, 2, "", 3.0, lacks=["find", "do", "map", "ask"]))
    for asking, lacks in (
        (team.find("a mug"), "no object planner: give its team file `mapper: {}` and `planner"),
        (team.do("bring a mug"), "no leader: give its team file `leader: {}`"),
        (team.map(), "no semantic map: give its team file `mapper: {}`"),
        (team.ask("is there a mug?"), "nobody who answers questions: give its team file"),
    ):
        with pytest.raises(TeamError, match=f"^team pair has {lacks}"):
            await asking


def test_ctrl_c_takes_back_what_is_waited_for(monkeypatch):
    pytest.importorskip("rclpy")
    from coterie import Team

    ended: list[str] = []

    class Slow:
        name, robots = "slow", ()

        async def ask(self, text: str, **how: object) -> None:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                await asyncio.sleep(60.0)
            except asyncio.CancelledError:
                await asyncio.sleep(0.1)
                ended.append(text)
                raise

        async def close(self) -> None:
            ended.append("closed")

    async def make() -> Slow:
        return Slow()

    team = Team.__new__(Team)
    team._begin(make)
    with team, pytest.raises(KeyboardInterrupt):
        team.ask("Where is it?")
    assert ended == ["Where is it?", "closed"]


def test_a_tasks_result_is_what_was_watched():
    pytest.importorskip("rclpy")
    from coterie_bringup.task_record import TaskRecord

    record = TaskRecord("tidy", success=True, outcome="done", achieved=2, wanted=2)
    result = task_result(record)
    assert result.success and (result.task, result.achieved, result.unclear) == ("tidy", 2, "")
