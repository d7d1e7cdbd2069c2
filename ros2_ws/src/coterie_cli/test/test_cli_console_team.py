"""Stories of the console with a whole team: asks, finds, gives a task and cancels it."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from cam_aggregator.node import AggregatorNode
from coterie_fixtures.browser import Browser, chromium
from coterie_fixtures.console_stage import ConsoleStage
from coterie_safety.ledger import entries
from coterie_safety.permits import Permits, RobotPermits, public_half
from coterie_safety.why import JournalSettings, belong, close_journal, open_journal
from emos_planner.leader.node import LeaderNode
from emos_planner.robot.node import RobotNode
from habitat_bridge.factory import make_world
from habitat_bridge.node import BridgeNode
from habitat_bridge.robots import load_embodiment
from mele_explorer.node import ExplorerNode
from object_planner.node import PlannerNode

pytestmark = [pytest.mark.ros, pytest.mark.slow]

WORKERS = {"walker": "legs", "porter": "legs"}
EXPLORERS = {"scout": "wheels"}
ASK_TO_PICK = RobotPermits(
    team=Permits.model_validate({"rules": [{"skills": ["pick"], "answer": "ask"}],
                                 "otherwise": "allow", "wait": 600.0})
)  # fmt: skip


class Team(ConsoleStage):
    """A bridge in lockstep with two workers, who ask before they take something, and an explorer;
    leader, aggregator, object planner."""

    def __init__(self, ros, folder) -> None:
        super().__init__(ros, folder, [*WORKERS, *EXPLORERS])
        open_journal(JournalSettings(str(folder / "why")), "team")
        self.begin_bridge = lambda: self._bridge(folder)
        self.bridge = self.begin_bridge()
        common = {"robots": list(WORKERS), "state_directory": str(folder)}
        self.kinds = {
            "leader": (LeaderNode, ("leader",), common),
            "walker's node": (RobotNode, ("robot",), {"namespace": "/walker", **common}),
            "porter's node": (RobotNode, ("robot",), {"namespace": "/porter", **common}),
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
        world = make_world({"kind": "embedded", "seed": 24, "floors": 1, "noise": "none"})
        self.house = world.truth()
        robots = [
            {
                "name": name,
                "embodiment": load_embodiment(body).model_copy(update={"name": name}).model_dump(),
                "permits": ASK_TO_PICK.model_copy(update={"name": name}).model_dump(
                    mode="json", exclude_defaults=True
                ),
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
            log_directory=str(self.log),
            permit_key=str(public_half(self.key)),
        )

    def add(self, kind, *names, namespace=None, world=None, **parameters):
        extra = {"world": world} if world is not None else {}
        if namespace is not None:
            extra["namespace"] = namespace
        node = kind(*names, context=self.ros.context, parameters=parameters, **extra)
        self.ros.add(node)
        self.ros.wait_active(node, timeout=90.0)
        return node

    def errands(self) -> list[tuple[str, str]]:
        """Return small things and tables of another place to put them on, no two alike."""
        things = self.house.objects
        tops = [t for t in things.values() if t.label.top in ("table", "desk")]
        ids = {top.id for top in tops}
        found: dict[str, tuple[str, str]] = {}
        for thing in sorted(things.values(), key=lambda t: t.id):
            if thing.kind == "item" and thing.support in ids and 0.3 < thing.box.center[2] < 0.9:
                goal = next(t for t in tops if t.id != thing.support)
                found.setdefault(thing.label.top, (thing.id, goal.id))
        return list(found.values())

    def errand(self) -> str:
        """Return a task that takes a while."""
        return "put {} on {}".format(*self.errands()[0])


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


ASKS = "state.permits?.[0]"


def hand_over(part: str, robot: str) -> str:
    row = f"[...document.querySelectorAll('.task .part')].find(r => r.innerText.includes('{part}'))"
    return (
        f"(() => {{ const part = {row}.querySelector('details.operator'); part.open = true;"
        f"part.querySelector('select').value = '{robot}';"
        "part.querySelector('button').click(); })()"
    )


def test_a_first_time_operator_asks_finds_gives_a_task_cancels_it_and_gives_it_again(team):
    """Stories: asks, finds out why, and marks the answer; finds a thing and sees it lit up; gives a
    task of two parts, is asked and looks why, hands one over to another robot, which does it;
    cancels the task, resumes it, and what was done is not done again."""

    def support(id_: str) -> str:
        return team.bridge.world.truth().objects[id_].support

    def taken(label: str) -> int:
        goals = [one.body["what"] for one in entries(team.log) if one.kind == "goal"]
        return sum(what.startswith(f"take the {label}") for what in goals)

    def allow_all(until: str) -> None:
        """Allow what robots ask: a second try of the same is a second goal."""
        while True:
            id_ = browser.wait_for(f"({until}) ? 'over' : {ASKS}?.id", within=300.0)
            if id_ == "over":
                return
            browser.press("Approve once")
            browser.wait_for(f"{ASKS}?.id !== {json.dumps(id_)}")

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

        (first, there), (second, then) = team.errands()[:2]
        labels = [team.house.objects[id].label.top for id in (first, second)]
        browser.run(said("task", f"put {first} on {there}, then put {second} on {then}"))
        asked = ASKS + "?.things.includes({}) || state.tasks?.[0]?.outcome"
        browser.wait_for(asked.format(json.dumps(labels[0])), within=120.0)
        asker = browser.run(ASKS + ".robot")
        other = next(name for name in WORKERS if name != asker)
        browser.run("document.querySelector('#permits button.why').click()")
        browser.wait_for("document.querySelectorAll('#why li').length > 1")
        chain = browser.run("document.getElementById('why').innerText")
        for part in (f"put {first} on {there}", "leader gave out", f"{asker} said of it"):
            assert part in chain
        browser.press("Close")
        browser.run(hand_over(f"pick up {first}", "scout"))
        browser.see("no such robot takes part; those that do: porter, walker")
        browser.run(hand_over(f"pick up {first}", other))
        browser.see(f"{other} does pick-")
        browser.wait_for(ASKS + f"?.robot === {json.dumps(other)}", within=120.0)
        allow_all(asked.format(json.dumps(labels[1])))
        carried = browser.run("state.tasks[0].rows.filter(r => r.what.includes('" + first + "'))")
        assert {(row["robot"], row["state"]) for row in carried[-2:]} == {(other, "done")}
        assert support(first) == there
        browser.run(said("task", "go to the kitchen"))
        browser.see("a task is at work")
        browser.press("Cancel this task")
        browser.wait_for("state.tasks[0].outcome === 'cancelled' && !state.permits.length")
        browser.wait_for("state.robots.every(r => !r.doing)", within=120.0)

        # What was done is not done again: nobody asks to take it, and it lies where it was put.
        before = taken(labels[0])
        browser.press("Resume")
        browser.wait_for(ASKS + " || state.tasks[1]?.outcome", within=200.0)
        assert browser.run(ASKS + ".things") == [labels[1]]
        assert not browser.run(
            f"state.tasks[1].rows.some(r => r.what.startsWith('pick up {first}'))"
        )
        allow_all("state.tasks[1].outcome")
        outcome, message = browser.run("[state.tasks[1].outcome, state.tasks[1].message]")
        assert outcome == "done", message
        assert (support(first), support(second)) == (there, then)
        assert taken(labels[0]) == before
        assert browser.run("state.tasks[1].own && state.tasks.length") == 2
        browser.see("cancel · ")
        browser.see("hand over · ")
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
