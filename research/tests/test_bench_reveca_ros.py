"""The same episodes in lockstep and with ROS nodes: step for step, and when nodes fail."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace

import pytest

pytestmark = pytest.mark.ros

pytest.importorskip("coterie_msgs")

from coterie_core.cooperation import Metrics, Note, Send, Wait  # noqa: E402
from coterie_llm import ModelProfile  # noqa: E402
from coterie_llm.testing.endpoint import Endpoint, Hang  # noqa: E402
from research.bench.reveca.bench import main  # noqa: E402
from research.bench.reveca.methods import make_world  # noqa: E402
from research.bench.reveca.node import LockstepNode, NoTeam, Referee, make_nodes  # noqa: E402
from research.bench.reveca.ros_bench import ros_team  # noqa: E402
from research.bench.reveca.trajectories import Course, follow, make_agents  # noqa: E402
from reveca_agent.agent import RevecaAgent  # noqa: E402


class Corner:
    """A team's nodes and a referee, spun by the test."""

    def __init__(self, ros, nodes, team=()):
        self.ros = ros
        self.nodes = [ros.add(node) for node in nodes]
        team = team or [node.agent.name for node in self.nodes]
        self.referee = ros.add(Referee(team, "/t", ros.context))
        ros.wait_active(*self.nodes, self.referee)
        ros.result(self.referee.run(self.referee.assemble()))

    def play(self, world, seed) -> Course:
        return self.ros.result(self.referee.run(self.referee.play(world, seed)), 120.0)


def same(ros, method, place, agents, seeds):
    world = make_world(place, agents)
    corner = Corner(ros, make_nodes(method, world.team, "/t", ros.context))
    for seed in seeds:
        plain = asyncio.run(follow(world, make_agents(method, world.team), seed))
        over = corner.play(world, seed)
        assert plain.difference(over) == ""
        assert over.silent_steps == 0
        assert all(len(done) == over.metrics.steps > 10 for done in over.actions.values())
    return over


@pytest.mark.parametrize(
    ("method", "place", "agents", "seeds"),
    [
        ("reveca", "household", 2, (0, 1, 7)),
        ("reveca", "household", 3, (2, 11)),
        ("reveca", "noisy20", 2, (3,)),
        ("reveca", "transport", 2, (0,)),
        ("rhp", "household", 2, (0, 3)),
    ],
)
def test_episodes_over_ros_are_those_of_the_lockstep(ros, method, place, agents, seeds):
    over = same(ros, method, place, agents, seeds)
    assert over.metrics.success
    assert (over.metrics.notes > 0) == (method == "reveca")


def test_the_agents_own_node_plays_as_the_agent(ros):
    world = make_world("household", 2)
    node = pytest.importorskip("reveca_agent.node").RevecaNode
    parameters = {"team": list(world.team)}
    for name in world.team:
        ros.add(node("agent", namespace=f"/t/{name}", context=ros.context, parameters=parameters))
    over = Corner(ros, [], team=world.team).play(world, 2)
    plain = asyncio.run(follow(world, make_agents("reveca", world.team), 2))
    assert plain.difference(over) == "" and over.metrics.success


def test_an_agent_whose_model_is_slow_acts_by_its_rules_in_its_turn(ros):
    world = make_world("household", 2)
    node = pytest.importorskip("reveca_agent.node").RevecaNode
    with Endpoint() as endpoint:
        endpoint.fail(*[Hang(seconds=300.0)] * 99)
        slow = ModelProfile(
            kind="openai", base_url=endpoint.url, model="m", timeout_s=600.0, max_retries=0
        )
        parameters = {
            "team": list(world.team),
            "model_profile": slow.model_dump_json(),
            "step_timeout": 2.0,
        }
        for name in world.team:
            ros.add(
                node("agent", namespace=f"/t/{name}", context=ros.context, parameters=parameters)
            )
        corner = Corner(ros, [], team=world.team)
        # The referee waits for long: who never answers is silent, who answers late is not.
        for agent in corner.referee.agents.values():
            agent.timeout = 30.0
        playing = corner.referee.run(corner.referee.play(world, 2))
        ros.spin_until(lambda: world.steps >= 6, what="the first steps", timeout=60.0)
        silent = {name: agent.silent_steps for name, agent in corner.referee.agents.items()}
        playing.cancel()
    assert endpoint.received
    assert silent == {"Ada": 0, "Bob": 0}


def test_a_node_that_dies_and_returns_does_not_stop_the_episode(ros):
    world = make_world("household", 2)
    nodes = make_nodes("reveca", world.team, "/t", ros.context)
    corner = Corner(ros, nodes)
    corner.referee.agents["Bob"].timeout = 1.0
    bob = corner.nodes[1]
    playing = corner.referee.run(corner.referee.play(world, 5))
    ros.spin_until(lambda: world.steps >= 8, what="the episode to be under way")
    ros.remove(bob)
    gone = world.steps
    ros.spin_until(lambda: world.steps >= gone + 15, what="Ada to go on alone")
    back = LockstepNode(RevecaAgent("Bob"), "/t/Bob", ros.context)
    ros.add(back)
    course = ros.result(playing, 60.0)
    assert course.metrics.success
    assert course.silent_steps == sum("no answer" in str(one) for one in course.actions["Bob"]) > 9
    assert not any("no answer" in str(one) for one in course.actions["Ada"])


def test_the_others_go_on_when_a_robots_process_is_killed(ros):
    world = make_world("household", 2)
    command = [sys.executable, "-m", "research.bench.reveca.node", "--team", "Bob"]
    process = ros.start_process([*command, "--ros-args", "-r", "__ns:=/t"])
    ada = LockstepNode(RevecaAgent("Ada"), "/t/Ada", ros.context)
    corner = Corner(ros, [ada], team=world.team)
    corner.referee.agents["Bob"].timeout = 0.5
    playing = corner.referee.run(corner.referee.play(world, 5))
    ros.spin_until(lambda: world.steps >= 8, what="the episode to be under way")
    process.kill()
    course = ros.result(playing, 60.0)
    assert course.metrics.success
    assert course.silent_steps == sum("no answer" in str(one) for one in course.actions["Bob"]) > 9
    assert not any("no answer" in str(one) for one in course.actions["Ada"])


def test_a_node_that_returns_is_briefed_again(ros):
    world = make_world("household", 1)
    node = LockstepNode(Stumbling("Ada"), "/t/Ada", ros.context)
    course = Corner(ros, [node]).play(world, 0)
    assert course.metrics.success
    assert course.silent_steps >= 2 and node.server.episodes == 2
    assert "RuntimeError: lost my map" in str(course.actions["Ada"])


class Stumbling(RevecaAgent):
    """Fails from its fifth step until it is briefed again."""

    begun = 0

    def begin(self, briefing, memory=None):
        self.begun += 1
        super().begin(briefing, memory)

    async def act(self):
        if self.begun == 1 and self.memory.step >= 5:
            raise RuntimeError("lost my map")
        return await super().act()


class Liar(RevecaAgent):
    """Speaks in the name of another, and of somebody who is not there."""

    async def act(self):
        if self.memory.step < 2:
            who = ("Bob", "Mallory")[self.memory.step]
            return Send(Note(f"lie-{who}", who, "text", f"I am {who}"))
        return Wait()


def test_who_speaks_in_anothers_name_is_heard_under_its_own(ros):
    world = make_world("household", 2)
    world.options = replace(world.options, horizon=6)
    agents = [Liar("Ada"), RevecaAgent("Bob")]
    nodes = [LockstepNode(agent, f"/t/{agent.name}", ros.context) for agent in agents]
    Corner(ros, nodes).play(world, 0)
    heard = [one.note for one in agents[1].memory.heard]
    assert [(note.sender, note.text) for note in heard] == [
        ("Ada", "I am Bob"),
        ("Ada", "I am Mallory"),
    ]


def test_the_bench_compares_and_says_where_episodes_part(tmp_path, capfd):
    arguments = ["--ros", "--method", "reveca", "--episodes", "2", "--out", str(tmp_path)]
    assert main(arguments) == 0
    records = json.loads((tmp_path / "over_ros.json").read_text())
    assert [(row["seed"], row["difference"]) for row in records] == [(0, ""), (1, "")]
    assert all(row["steps_over_ros"] == row["simulation_steps"] > 0 for row in records)
    assert "all episodes are the same, step for step" in capfd.readouterr().out
    assert main(["--ros", "--method", "oracle", "--episodes", "1"]) == 2
    assert "reads the world itself" in capfd.readouterr().err


def test_a_difference_is_named():
    a = Course(Metrics(steps=2), {"Ada": [Wait(), Wait("x")], "Bob": [Wait(), Wait()]})
    b = Course(Metrics(steps=2), {"Ada": [Wait(), Wait("y")], "Bob": [Wait("z"), Wait()]})
    assert a.difference(a) == ""
    assert a.difference(b).startswith("step 0, Bob")
    assert "1 and 2 steps" in Course(Metrics(steps=1), {"Ada": [Wait()]}).difference(
        Course(Metrics(steps=2), {"Ada": [Wait(), Wait()]})
    )
    assert "distance=1.0" in a.difference(Course(Metrics(steps=2, distance=1.0), a.actions))


def test_a_process_that_does_not_come_up_is_reported():
    with pytest.raises(NoTeam, match="one of reveca"), ros_team("magic", ["Ada"]):
        pass
