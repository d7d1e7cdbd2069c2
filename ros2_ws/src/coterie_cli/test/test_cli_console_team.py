"""Stories of the console with a whole team: asks, finds, gives a task and cancels it."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from cam_aggregator.node import AggregatorNode
from coterie_core.why import JournalSettings, belong, close_journal, open_journal
from coterie_fixtures.browser import Browser, chromium
from coterie_fixtures.console_stage import ConsoleStage
from emos_planner.leader.node import LeaderNode
from emos_planner.robot.node import RobotNode
from habitat_bridge.factory import make_world
from habitat_bridge.node import BridgeNode
from habitat_bridge.robots import load_embodiment
from mele_explorer.node import ExplorerNode
from object_planner.node import PlannerNode

pytestmark = [pytest.mark.ros, pytest.mark.slow]

WORKERS = {"walker": "legs"}
EXPLORERS = {"scout": "wheels"}


class Team(ConsoleStage):
    """A bridge in lockstep with a worker and an explorer; leader, aggregator, object planner."""

    def __init__(self, ros, folder) -> None:
        super().__init__(ros, folder, [*WORKERS, *EXPLORERS])
        open_journal(JournalSettings(str(folder / "why")), "team")
        self.begin_bridge = lambda: self._bridge(folder)
        self.bridge = self.begin_bridge()
        common = {"robots": list(WORKERS), "state_directory": str(folder)}
        self.kinds = {
            "leader": (LeaderNode, ("leader",), common),
            "walker's node": (RobotNode, ("robot",), {"namespace": "/walker", **common}),
            "explorer": (ExplorerNode, ("explorer",), {"namespace": "/scout"}),
            "aggregator": (AggregatorNode, ("aggregator",),
                           {"robots": list(EXPLORERS), "deadline": 20.0}),
            "object planner": (PlannerNode, ("object_planner",), {}),
        }  # fmt: skip
        self.nodes = {name: self.make(name) for name in self.kinds}
        self.begin()

    def make(self, name: str):
        """Make one of the team's nodes."""
        kind, names, options = self.kinds[name]
        return self.add(kind, *names, **options)

    def _bridge(self, folder):
        world = make_world({"kind": "embedded", "seed": 23, "floors": 1, "noise": "none"})
        self.house = world.truth()
        robots = [
            {
                "name": name,
                "embodiment": load_embodiment(body).model_copy(update={"name": name}).model_dump(),
            }
            for name, body in (WORKERS | EXPLORERS).items()
        ]
        return self.add(
            BridgeNode,
            world=world,
            robots=json.dumps(robots),
            mode="lockstep",
            prior_map="everything",
            stop_directory=str(folder / "stops"),
        )

    def add(self, kind, *names, namespace=None, world=None, **parameters):
        extra = {"world": world} if world is not None else {}
        if namespace is not None:
            extra["namespace"] = namespace
        node = kind(*names, context=self.ros.context, parameters=parameters, **extra)
        self.ros.add(node)
        self.ros.wait_active(node, timeout=90.0)
        return node

    def errand(self) -> str:
        """Return a task that takes a while: a small thing to a table of another room."""
        things = self.house.objects
        tops = [t for t in things.values() if t.label.top in ("table", "bed", "desk")]
        ids = {top.id for top in tops}
        item = next(
            t
            for t in sorted(things.values(), key=lambda t: t.id)
            if t.kind == "item" and t.support in ids and 0.3 < t.box.center[2] < 0.9
        )
        goal = next(t for t in tops if t.id != item.support)
        return f"put {item.id} on {goal.id}"


@pytest.fixture
def team(ros, tmp_path):
    if chromium() is None:
        pytest.skip("no Chromium on this machine (apt install chromium): the page is not tried")
    made = Team(ros, tmp_path)
    yield made
    made.close()
    close_journal()
    belong()


def said(kind: str, text: str) -> str:
    return (
        f"document.querySelector('#kinds input[value={kind}]').click();"
        f"document.getElementById('words').value = {json.dumps(text)};"
        "document.getElementById('talk').requestSubmit()"
    )


HAND_OVER_TO_SCOUT = (
    "(() => { const part = document.querySelector('.task td details.operator'); part.open = true;"
    "part.querySelector('select').value = 'scout'; part.querySelector('button').click(); })()"
)


def test_a_first_time_operator_asks_finds_gives_a_task_cancels_it_and_gives_it_again(team):
    """Stories: asks, finds out why, and marks the answer; finds a thing and sees it lit up; gives a
    task, cancels it, and gives it again."""
    with Browser(chromium(), 1400, 900) as browser:
        team.open(browser)
        browser.wait_for("state.team?.can.ask && state.team.can.find && state.team.can.task")
        browser.wait_for("state.map?.things.length > 5")

        browser.run(said("ask", "Is there a bed in the bedroom?"))
        browser.wait_for("state.talk?.[0]?.state === 'done'", within=120.0)
        assert browser.run("state.talk[0].answer.kind") in ("yes", "no", "unknown")
        browser.see("scout")
        browser.wait_for("document.querySelector('.talk button.why') !== null")
        browser.run("document.querySelector('.talk button.why').click()")
        browser.wait_for("document.querySelectorAll('#why li').length > 1")
        chain = browser.run("document.getElementById('why').innerText")
        assert "Is there a bed in the bedroom?" in chain and "scout" in chain
        title = browser.run("document.querySelector('#why .words').textContent")
        browser.press("deeper")
        browser.press("Back")
        browser.wait_for("document.querySelector('#why .words')?.textContent")
        assert browser.run("document.querySelector('#why .words').textContent") == title
        browser.press("Close")
        if browser.run("state.talk[0].answer.kind") != "unknown":
            browser.press("Wrong")
            browser.see("marked as wrong")
            browser.see("1 answer is marked as right or wrong")
            browser.press("Train with the marked answers")
            browser.see("needs no labels and learns nothing; labelled questions: 1")

        label = max(t.label.top for t in team.house.objects.values() if t.kind == "furniture")
        browser.run(said("find", f"a {label}"))
        browser.wait_for("state.talk[1]?.state === 'done'", within=120.0)
        browser.wait_for("state.talk[1].answer.objects.length > 0")
        browser.press("Show on the map")
        browser.wait_for("document.querySelectorAll('#plan .thing.lit').length > 0")

        task = team.errand()
        browser.run(said("task", task))
        browser.wait_for("state.tasks?.[0]?.all > 0", within=120.0)
        browser.see("walker")
        browser.wait_for("document.querySelectorAll('.task td details.operator').length > 0")
        browser.run(HAND_OVER_TO_SCOUT)
        browser.see("no such robot takes part; those that do: walker")
        browser.run("document.querySelector('.task td button.why').click()")
        browser.wait_for("document.querySelectorAll('#why li').length > 1")
        assert task in browser.run("document.getElementById('why').innerText")
        browser.run("document.querySelector('.task .buttons button').click()")
        browser.wait_for("plan.lit.things.has(" + json.dumps(task.split()[1]) + ")")
        browser.run(said("task", "go to the kitchen"))
        browser.see("a task is at work")
        browser.press("Cancel this task")
        browser.wait_for("state.tasks[0].outcome === 'cancelled'")
        browser.wait_for("state.robots.every(r => !r.doing)", within=120.0)
        browser.wait_for("document.querySelectorAll('.task details').length > 0")

        browser.press("Resume")
        browser.wait_for("state.tasks[1]?.outcome", within=300.0)
        outcome, message = browser.run("[state.tasks[1].outcome, state.tasks[1].message]")
        item, goal = task.split()[1::2]
        there = team.bridge.world.truth().objects[item].support == goal
        assert outcome in ("done", "partial", "not_done") and message
        assert there == (outcome == "done"), message
        assert browser.run("state.tasks[1].own && state.tasks.length") == 2
        browser.see("cancel · ")
        assert browser.console == []


def test_a_task_that_was_given_elsewhere_is_shown_and_cancelled(team):
    """Story: a person with a phone cancels what somebody gave at a terminal."""
    from rclpy.action import ActionClient

    from coterie_msgs.action import ExecuteTask

    ends: list = []
    node = team.ros.node("terminal")
    client = ActionClient(node, ExecuteTask, "execute_task")
    team.wait(client.server_is_ready)
    task = team.errand()

    def give() -> None:
        def take(future) -> None:
            future.result().get_result_async().add_done_callback(
                lambda one: ends.append(one.result().result)
            )

        client.send_goal_async(ExecuteTask.Goal(task=task)).add_done_callback(take)

    with Browser(chromium(), 390, 780) as browser:
        team.open(browser)
        team.between(give)
        browser.wait_for("state.tasks?.[0] && !state.tasks[0].own", within=120.0)
        browser.press("Cancel this task")
        team.wait(lambda: ends, "the task to end")
        assert ends[0].outcome == ExecuteTask.Result.CANCELLED
        browser.wait_for("state.tasks[0].outcome")
        assert browser.console == []


def test_every_node_is_restarted_under_the_page(team):
    """Stories: a stopped robot stays stopped while each node of the team, the bridge and the
    console itself are restarted; the page comes back, is true, and asks and gives tasks again."""
    stopped = "document.querySelectorAll('.chip.stopped').length"
    with Browser(chromium(), 1400, 900) as browser:
        team.open(browser)
        can = "state.team?.can.ask && state.team.can.find && state.team.can.task"
        browser.wait_for(f"{can} && state.robots?.every(r => r.room)")
        browser.run("[...document.querySelectorAll('.chip .stop')].at(-1).click()")
        browser.wait_for(f"{stopped} === 1")
        name = browser.run("state.robots.find(r => r.stopped).name")

        # Each is missed on the page where somebody can be asked no more, and found again.
        missed = {"leader": "task", "aggregator": "ask", "object planner": "find"}
        for kind, ability in missed.items():
            team.between(lambda one=kind: team.ros.remove(team.nodes[one]))
            browser.wait_for(f"!state.team.can.{ability}")
            team.between(lambda one=kind: team.nodes.__setitem__(one, team.make(one)))
            browser.wait_for(f"state.team.can.{ability}")
        for kind in ("walker's node", "explorer"):
            team.nodes[kind] = team.restart(team.nodes[kind], lambda one=kind: team.make(one))
        team.bridge = team.restart(team.bridge, team.begin_bridge)
        browser.wait_for("document.querySelectorAll('.chip.lost').length === 0")
        assert browser.run(stopped) == 1, "a stop stays over a restart of the bridge"

        team.restart_console()
        browser.wait_for(f"document.getElementById('link').textContent === 'connected' && {can}")
        browser.wait_for(f"{stopped} === 1")
        assert browser.run("state.robots.find(r => r.stopped).name") == name
        browser.press("Release all")
        browser.wait_for(f"{stopped} === 0")

        label = max(t.label.top for t in team.house.objects.values() if t.kind == "furniture")
        browser.run(said("find", f"a {label}"))
        browser.wait_for("state.talk?.at(-1)?.state === 'done'", within=120.0)
        browser.run("document.getElementById('words').value = ''")
        browser.run(said("task", "go to the kitchen"))
        browser.wait_for("state.tasks?.at(-1)?.outcome", within=300.0)
        assert browser.run("state.tasks.at(-1).outcome") == "done"
        assert browser.console == []
