"""Bridge and cooperating robots as nodes: a shared goal, cancel, restart, hostile messages."""

from __future__ import annotations

import io
import json
import math
import os

import pytest
from rich.console import Console

pytestmark = pytest.mark.ros

pytest.importorskip("coterie_msgs")

from builtin_interfaces.msg import Duration  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402

import reveca_agent.node as agent_node  # noqa: E402
from coterie_cli.do.goal_record import CooperationRecord  # noqa: E402
from coterie_cli.do.goal_watcher import CooperationWatcher  # noqa: E402
from coterie_cli.person import PersonAtTerminal  # noqa: E402
from coterie_core.cooperation import Goal, Note  # noqa: E402
from coterie_core.geometry import Pose  # noqa: E402
from coterie_core.household import load_household  # noqa: E402
from coterie_core.observation import Observation  # noqa: E402
from coterie_fixtures.endpoint import Endpoint  # noqa: E402
from coterie_fixtures.oracle import Oracle  # noqa: E402
from coterie_llm import ModelProfile  # noqa: E402
from coterie_msgs.action import Cooperate  # noqa: E402
from coterie_msgs.msg import Observation as ObservationMsg  # noqa: E402
from coterie_msgs.msg import SemanticMap, SubGoal, TeamMessage  # noqa: E402
from coterie_requests.asking import MAX_QUESTIONS  # noqa: E402
from coterie_ros import conversions  # noqa: E402
from coterie_ros.conversions.cooperation import goal_to_msg  # noqa: E402
from coterie_ros.conversions.notes import note_from_msg, note_to_msg  # noqa: E402
from coterie_ros.qos import profile  # noqa: E402
from coterie_world.scene import Room, SceneGraph  # noqa: E402
from habitat_bridge.embedded.detector import DetectorNoise  # noqa: E402
from habitat_bridge.embedded.world import EmbeddedWorld  # noqa: E402
from habitat_bridge.house.generator import generate_house  # noqa: E402
from habitat_bridge.node import BridgeNode  # noqa: E402
from habitat_bridge.robots import EMBODIMENTS  # noqa: E402
from reveca_agent.house import HouseBody  # noqa: E402
from reveca_agent.node import RevecaNode  # noqa: E402

SUCCEEDED, CANCELED, ABORTED = 4, 5, 6
TEAM = {"rover": "wheels", "slim": "slim"}
GOAL = Goal.parse("tidy", ["ON(bottle, counter): 2"])
LONG = Goal.parse("long", ["ON(plate, table): 3", "ON(unicorn, counter): 1"])
LONGER = Goal.parse("longer", ["ON(unicorn, table): 1"])


class Graph:
    """A bridge, two robots that cooperate, and a person, `anna`, who takes part."""

    def __init__(self, ros, folder, model="") -> None:
        self.ros, self.folder, self.model = ros, folder, model
        self.world = EmbeddedWorld(
            generate_house(7, floors=1), seed=7, noise=DetectorNoise.low(), threads=1
        )
        bodies = {
            name: EMBODIMENTS[kind].model_copy(update={"name": name}) for name, kind in TEAM.items()
        }
        robots = [{"name": n, "embodiment": body.model_dump()} for n, body in bodies.items()]
        self.bridge = ros.add(
            BridgeNode(
                context=ros.context,
                world=self.world,
                parameters={
                    "robots": json.dumps(robots),
                    "mode": "lockstep",
                    "prior_map": "furniture",
                },
            )
        )
        self.robots = {name: self.robot(name) for name in TEAM}
        ros.wait_active(self.bridge, *self.robots.values())
        self.person = ros.node("person")
        self.clients = {
            name: ActionClient(self.person, Cooperate, f"{name}/cooperate") for name in TEAM
        }
        self.said: list[Note] = []
        for name in TEAM:
            self.person.create_subscription(
                TeamMessage,
                f"{name}/message",
                lambda message: self.said.append(note_from_msg(message)),
                profile("messages"),
            )
        self.voice = self.person.create_publisher(TeamMessage, "anna/message", profile("messages"))
        ros.wait_for_matched(*self.clients.values())
        ros.wait_for_matched(self.voice, count=2)
        self.feedback: dict[str, list] = {name: [] for name in TEAM}

    def robot(self, name):
        return self.ros.add(
            RevecaNode(
                "agent",
                namespace=f"/{name}",
                context=self.ros.context,
                parameters={
                    "team": [*TEAM, "anna"],
                    "state_directory": str(self.folder),
                    **({"model_profile": self.model} if self.model else {}),
                },
            )
        )

    def give(self, name, goal, max_time=900.0):
        """Send a goal; return its handle."""
        request = Cooperate.Goal(
            name=goal.name, goal=goal_to_msg(goal), max_time=conversions.duration_to_msg(max_time)
        )
        return self.send(name, request)

    def send(self, name, request):
        return self.ros.result(
            self.clients[name].send_goal_async(
                request, feedback_callback=lambda m: self.feedback[name].append(m.feedback)
            )
        )

    def end(self, handle):
        """Wait for a goal's end; return its status and result."""
        answer = self.ros.result(handle.get_result_async(), timeout=90.0)
        return answer.status, answer.result

    def in_place(self, item, target):
        household, truth = load_household(), self.world.truth()
        holders = {t.id for t in truth.objects.values() if t.label.top == target}
        return sum(
            household.canonical(t.label.top) == item and (t.container or t.support) in holders
            for t in truth.objects.values()
        )


@pytest.fixture
def graph(ros, tmp_path):
    return Graph(ros, tmp_path)


def test_two_robots_do_a_goal_and_the_world_agrees(graph, monkeypatch) -> None:
    rover = graph.robots["rover"]
    on_way: list[tuple[float, float, float]] = []
    took = HouseBody.moved
    monkeypatch.setattr(
        HouseBody, "moved", lambda body, at, time: (on_way.append(at), took(body, at, time))
    )
    for wrong, words in (
        ([], "goal"),
        (
            [SubGoal(relation=SubGoal.ON, item="mug", target="table", count=0)],
            "count",
        ),
        ([SubGoal(relation=SubGoal.ON, item="mug", target="", count=1)], "target"),
        ([SubGoal(relation=77, item="mug", target="table", count=1)], "relation"),
    ):
        handle = graph.send(
            "rover", Cooperate.Goal(name="x", goal=wrong, max_time=Duration(sec=10))
        )
        assert not handle.accepted, words
    for time in (Duration(sec=-1), Duration(sec=2_000_000)):
        goal = Cooperate.Goal(name="x", goal=goal_to_msg(GOAL), max_time=time)
        assert not graph.send("rover", goal).accepted, time

    assert graph.in_place("bottle", "counter") < 2
    handles = {name: graph.give(name, GOAL) for name in TEAM}
    graph.voice.publish(note_to_msg(Note("slim-99", "slim", "text", "I am slim")))
    for name, handle in handles.items():
        status, result = graph.end(handle)
        assert (status, result.success, result.message) == (SUCCEEDED, True, "met"), name
        assert (result.placed, result.wanted) == (2, 2)
        assert result.steps > 0 and result.duration.sec > 0
    assert graph.in_place("bottle", "counter") >= 2
    assert sum(robot._work.distance for robot in graph.robots.values()) > 1.0
    assert all(graph.feedback.values())
    assert any(math.dist(at, (0.0, 0.0, 0.0)) > 0.5 for at in on_way), "a drive tells where it is"
    assert all(r.diagnostics.counter("forged_messages") == 1 for r in graph.robots.values())

    # A person asks while nobody has anything to do.
    before = len(graph.said)
    graph.voice.publish(note_to_msg(Note("anna-0", "anna", "way", "Did you take the bottle?")))
    graph.voice.publish(note_to_msg(Note("anna-1", "anna", "text", "Did you take the bottle?")))
    graph.ros.spin_until(
        lambda: {n.sender for n in graph.said[before:] if "anna" in n.to} == set(TEAM),
        what="both to answer",
    )
    replies = [note for note in graph.said[before:] if "anna" in note.to]
    assert all(note.facts is not None and note.facts.reply_to == "anna-1" for note in replies)
    assert all(one.note.kind != "way" for one in rover.agent.memory.heard), "that is not for it"
    graph.ros.spin_until(lambda: not rover._answering, what="the answer to end")
    assert not rover._busy


def test_cancel_restart_and_a_newer_goal(graph) -> None:
    ros = graph.ros
    handles = {name: graph.give(name, LONG) for name in TEAM}
    ros.spin_until(lambda: all(map(len, graph.feedback.values())), what="robots at work")
    ros.result(handles["slim"].cancel_goal_async())
    status, result = graph.end(handles["slim"])
    assert (status, result.success, result.message) == (CANCELED, False, "cancelled")

    # A newer goal takes the place of the one in work, and begins when that has ended.
    graph.give("rover", LONGER)
    status, result = graph.end(handles["rover"])
    assert status == ABORTED and result.message == "a newer goal took its place"
    rover = graph.robots["rover"]
    ros.spin_until(
        lambda: rover.agent.memory.goal.name == LONGER.name and rover._work.decisions > 5,
        what="the newer goal",
    )
    assert rover._file.file.is_file()

    # Another process of this robot goes on with what was kept.
    begun, known = rover.body.begun, set(rover.agent.memory.scene)
    ros.remove(rover)
    again = graph.robots["rover"] = graph.robot("rover")
    ros.wait_active(again)
    ros.wait_for_matched(graph.clients["rover"])
    handle = graph.give("rover", LONGER)
    ros.spin_until(lambda: again._work is not None and again._work.decisions > 0, what="work")
    assert again.body.begun == begun
    assert known & set(again.agent.memory.scene)
    ros.result(handle.cancel_goal_async())
    assert graph.end(handle)[0] == CANCELED


def test_without_a_map_it_says_what_is_missing(ros, monkeypatch) -> None:
    monkeypatch.setattr(agent_node, "PATIENCE", 0.2)
    node = ros.add(RevecaNode("agent", namespace="/rover", context=ros.context, parameters={}))
    ros.wait_active(node)
    client = ActionClient(ros.node("person"), Cooperate, "rover/cooperate")
    ros.wait_for_matched(client)
    goal = Cooperate.Goal(name="x", goal=goal_to_msg(GOAL))
    handle = ros.result(client.send_goal_async(goal))
    answer = ros.result(handle.get_result_async())
    assert answer.status == ABORTED and not answer.result.success
    assert "no message on semantic_map within 0.2 s" in answer.result.message
    assert not node._busy


def test_a_goal_waits_for_the_rooms_of_real_robots_which_come_after_the_first_map(ros) -> None:
    node = ros.add(RevecaNode("agent", namespace="/rover", context=ros.context, parameters={}))
    ros.wait_active(node)
    other = ros.node("mapper")
    maps = other.create_publisher(SemanticMap, "semantic_map", profile("latched"))
    eyes = other.create_publisher(ObservationMsg, "rover/observation", profile("observations"))
    client = ActionClient(other, Cooperate, "rover/cooperate")
    ros.wait_for_matched(maps, eyes, client)
    where = Pose((1.0, 1.0, 0.0), 0.0)
    eyes.publish(conversions.observation_to_msg(Observation("rover", 0, 1.0, where, "", None)))
    maps.publish(conversions.scene_to_msg(SceneGraph()))
    goal = Cooperate.Goal(name="x", goal=goal_to_msg(GOAL))
    handle = ros.result(client.send_goal_async(goal))
    ros.spin_until(lambda: node._busy and node._scene is not None, what="the goal")
    assert node.body is None
    scene = SceneGraph()
    outline = ((0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 3.0))
    scene.add_room(Room("kitchen", "kitchen", "kitchen", polygon=outline))
    maps.publish(conversions.scene_to_msg(scene))
    ros.spin_until(lambda: node.body is not None, what="the rooms")
    assert set(node.body.map.scene.rooms) == {"kitchen"}
    ros.result(handle.cancel_goal_async())
    assert ros.result(handle.get_result_async()).status == CANCELED


# -- models that ask the person who gave the goal --------------------------------------------------


class Asks:
    """A model that asks the person once about every choice of a plan, and else the stand-in."""

    def __init__(self) -> None:
        self.oracle = Oracle()
        self.told: list[tuple[str, str]] = []

    def __call__(self, request):
        offered = [tool["function"]["name"] for tool in request.get("tools", ())]
        said = [m["content"] for m in request["messages"] if m["role"] == "tool"]
        if "ask_person" in offered and not said:
            asked = {"question": "Which [b]bottle[/b]\x1b[2J first?", "choices": ["red", "green"]}
            function = {"name": "ask_person", "arguments": json.dumps(asked)}
            return {"tool_calls": [{"id": "c", "type": "function", "function": function}]}
        you = request["messages"][-1]["content"] if not said else request["messages"][1]["content"]
        self.told += [
            (next(name for name in TEAM if f"\n{name}: step" in you), one) for one in said
        ]
        return self.oracle(request)


@pytest.mark.parametrize("there", [True, False], ids=["at a terminal", "nobody"])
def test_who_gives_the_goal_answers_the_robots_models(ros, tmp_path, there) -> None:
    model = Asks()
    with Endpoint(model, model="m") as endpoint, Terminal(there) as terminal:
        used = ModelProfile(kind="openai", base_url=endpoint.url, model="m", max_retries=0)
        graph = Graph(ros, tmp_path, used.model_dump_json(exclude_defaults=True))
        record = CooperationRecord(GOAL)
        watcher = ros.add(
            CooperationWatcher(list(TEAM), record, person=terminal.person, context=ros.context)
        )
        ros.wait_active(watcher)
        giving = watcher.run(watcher.give(list(TEAM), 900.0), "goal")
        # Two robots may ask at a time, one after the other.
        os.write(terminal.keys, b"2\n" * 2 * MAX_QUESTIONS)
        ros.spin_until(lambda: set(TEAM) <= {name for name, _ in model.told}, what="both asked")
        giving.cancel()
        terminal.person.close()
        ros.spin_until(lambda: not any(r._busy for r in graph.robots.values()), what="an end")
    words = "green" if there else "nobody is there to answer"
    assert all(words in one for _, one in model.told)
    shown = terminal.shown.getvalue()
    assert ("asks: Which [b]bottle[/b]" in shown) is there and "\x1b[2J" not in shown
    if not there:  # the tool is not offered twice
        assert sorted(name for name, _ in model.told) == sorted(TEAM)


class Terminal:
    """A pseudo-terminal with a person at its other end, or with nobody."""

    def __init__(self, there: bool) -> None:
        self.keys, end = os.openpty()
        self.stdin, self.shown = os.fdopen(end, "r"), io.StringIO()
        console = Console(file=self.shown, force_terminal=there, width=200)
        self.person = PersonAtTerminal(console, self.stdin)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_error: object) -> None:
        self.person.close()
        self.stdin.close()
        os.close(self.keys)
