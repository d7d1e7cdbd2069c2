"""Stories of the console: a person at a page in Chromium, real nodes of a team behind it."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from rclpy.action import ActionClient

from coterie_cli.console.node import ConsoleNode
from coterie_console.team.page import ConsolePage
from coterie_console.team.state import ConsoleState
from coterie_core.embodiment import Embodiment
from coterie_core.ledger import check, entries
from coterie_core.permits import Permits, RobotPermits, make_key
from coterie_core.skills import Outcome
from coterie_fixtures.browser import Browser, chromium
from coterie_fixtures.hostile_texts import HOSTILE
from coterie_fixtures.tiny_house import tiny_house
from coterie_msgs.action import NavigateTo
from coterie_ros import conversions
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.node import BridgeNode

pytestmark = pytest.mark.ros

STARTS = {"rover": (2.0, 2.0, 0.0), "slim": (6.0, 2.3, 0.0)}
NEAR = {"rover": (2.6, 2.2, 0.0), "slim": (6.4, 2.3, 0.0)}
ASK_ROVER = {"rules": [{"robots": ["rover"], "answer": "ask"}], "otherwise": "allow"}


class Stage:
    """A bridge with two robots, the console's node and page, and who sends goals.

    Everything is spun in a thread, so that a browser can be waited for meanwhile.
    """

    def __init__(self, ros, folder: Path, policy=ASK_ROVER, speed: float = 0.5) -> None:
        self.ros, self.folder = ros, folder
        self.key, self.log = make_key(folder / "permits.key"), folder / "log"
        body = Embodiment(name="cart", radius=0.2, linear_speed=speed)
        self.specs = [
            {
                "name": name,
                "embodiment": body.model_dump(),
                "start": {"pose": dict(zip("xyz", at, strict=True))},
                "permits": RobotPermits(team=Permits.model_validate(policy), name=name).model_dump(
                    mode="json", exclude_defaults=True
                ),
            }
            for name, at in STARTS.items()
        ]
        self._work: list = []
        self._over = threading.Event()
        self.sender = ros.node("sender")
        self.go = {r: ActionClient(self.sender, NavigateTo, f"{r}/navigate_to") for r in STARTS}
        self.begin_bridge()
        self.state = ConsoleState("home", list(STARTS))
        self.node = ros.add(
            ConsoleNode(
                self.state,
                key_file=self.key,
                stops=folder / "stops",
                log=self.log,
                context=ros.context,
            )
        )
        ros.wait_active(self.node)
        self.page = ConsolePage(
            self.state,
            self.node.commands(),
            self.node.looks(),
            port=0,
            who="anna@lab",
            changed=self.node.pages_changed,
        )
        ros.result(self.node.run(self.node.begin_page(self.page)))
        ros.wait_for_matched(*self.go.values())
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def begin_bridge(self) -> None:
        self.bridge = self.ros.add(
            BridgeNode(
                context=self.ros.context,
                world=EmbeddedWorld(tiny_house(), seed=3, threads=1, look_on_arrival=False),
                parameters={
                    "robots": json.dumps(self.specs),
                    "mode": "real_time",
                    "assembly_timeout": 0.2,
                    "barrier_timeout": 1.0,
                    "log_directory": str(self.log),
                    "permit_key": str(self.key),
                    "stop_directory": str(self.folder / "stops"),
                    "prior_map": "everything",
                },
            )
        )
        self.ros.wait_active(self.bridge)

    def _spin(self) -> None:
        while not self._over.is_set():
            self.ros.spin(0.05)
            while self._work:
                self._work.pop(0)()

    def between(self, work) -> None:
        """Do something in the thread that spins, and wait for it."""
        done = threading.Event()
        self._work.append(lambda: (work(), done.set()))
        assert done.wait(60.0)

    def send(self, robot: str, spot=None, why: str = ""):
        """Send a robot to a spot; returns its results, empty until it ends."""
        goal, ended = NavigateTo.Goal(why=why), []
        goal.pose.header.frame_id = "map"
        goal.pose.pose.position = conversions.point_to_msg(spot or NEAR[robot])

        def take(future) -> None:
            future.result().get_result_async().add_done_callback(
                lambda one: ended.append(one.result().result.result)
            )

        self.between(lambda: self.go[robot].send_goal_async(goal).add_done_callback(take))
        return ended

    def wait(self, condition) -> None:
        """Wait until something is so."""
        for _ in range(1200):
            if condition():
                return
            self._over.wait(0.05)
        raise AssertionError("not within 60 s")

    def ended(self, results: list) -> tuple[Outcome, str]:
        self.wait(lambda: results)
        return Outcome(results[0].outcome), str(results[0].reason)

    def kinds(self, robot: str) -> list[str]:
        assert check(self.log).fault == ""
        return [entry.kind for entry in entries(self.log) if entry.robot == robot]

    def close(self) -> None:
        self.node.run(self.page.stop()).result(30.0)
        self._over.set()
        self._thread.join(30.0)


@pytest.fixture
def make_stage(ros, tmp_path):
    if chromium() is None:
        pytest.skip("no Chromium on this machine (apt install chromium): the page is not tried")
    made: list[Stage] = []

    def make(**options):
        made.append(Stage(ros, tmp_path, **options))
        return made[-1]

    yield make
    for stage in made:
        stage.close()


@pytest.fixture
def browser():
    with Browser(chromium(), 1400, 900) as one:
        yield one


def opened(browser: Browser, stage: Stage) -> None:
    browser.open(stage.page.link())
    browser.wait_for("document.getElementById('link')?.textContent === 'connected'")


def test_who_is_where_asked_allowed_refused_and_all_of_it_on_the_timeline(make_stage, browser):
    stage = make_stage()
    opened(browser, stage)
    browser.wait_for("state.robots?.length === 2 && state.robots.every(r => r.room)")
    first = stage.send("rover", why=HOSTILE[1])
    browser.see("rover asks: may it?")
    browser.see(f"for: {HOSTILE[1]}")
    browser.see("permits.rules[0] asks a person")
    browser.press("Allow once")
    assert stage.ended(first)[0] is Outcome.SUCCEEDED
    browser.wait_for("document.getElementById('permits').hidden")
    second = stage.send("rover", STARTS["rover"])
    browser.see("rover asks: may it?")
    browser.run("document.querySelector('.request input').value = 'the floor is wet'")
    browser.press("Refuse")
    outcome, reason = stage.ended(second)
    assert outcome is Outcome.REFUSED and "anna@lab refused: the floor is wet" in reason
    browser.see("permit · rover")
    browser.see("refusal · rover")
    assert browser.run("window.hacked ?? document.querySelectorAll('img[src=\"x\"]').length") == 0
    assert stage.kinds("rover") == [
        "goal", "request", "permit", "result", "goal", "request", "refusal", "result",
    ]  # fmt: skip
    assert browser.console == []


def test_goals_alike_are_allowed_for_ten_minutes(make_stage, browser):
    stage = make_stage()
    opened(browser, stage)
    first = stage.send("rover")
    browser.press("Allow alike for 10 min")
    assert stage.ended(first)[0] is Outcome.SUCCEEDED
    assert stage.ended(stage.send("rover", STARTS["rover"]))[0] is Outcome.SUCCEEDED
    assert stage.kinds("rover").count("request") == 1


def test_one_is_stopped_the_other_goes_on_then_all_and_all_are_released(make_stage, browser):
    stage = make_stage(policy={"otherwise": "allow"}, speed=0.05)
    opened(browser, stage)
    browser.wait_for("document.querySelectorAll('.chip').length === 2")
    ends = {robot: stage.send(robot) for robot in STARTS}
    begin = stage.state.robots["slim"].pose
    browser.wait_for("Object.values(plan.trails).every(way => way.length > 1)")
    browser.run("[...document.querySelectorAll('.chip')][0].querySelector('button').click()")
    outcome, reason = stage.ended(ends["rover"])
    assert outcome is Outcome.CANCELLED and "stopped by anna@lab" in reason
    browser.wait_for("document.querySelectorAll('.chip.stopped').length === 1")
    assert not ends["slim"] and stage.state.robots["slim"].pose != begin
    browser.press("STOP ALL")
    assert stage.ended(ends["slim"])[0] is Outcome.CANCELLED
    browser.wait_for("document.querySelectorAll('.chip.stopped').length === 2")
    outcome, reason = stage.ended(stage.send("slim"))
    assert outcome is Outcome.REFUSED and "stopped by anna@lab" in reason
    browser.press("Release all")
    browser.wait_for("document.querySelectorAll('.chip.stopped').length === 0")
    browser.see("stop · rover")
    assert stage.ended(stage.send("slim", STARTS["slim"]))[0] is Outcome.SUCCEEDED
    assert browser.console == []


def test_a_robot_that_does_not_answer_a_stop_is_named_and_stops_when_it_is_back(
    make_stage, browser
):
    stage = make_stage(policy={"otherwise": "allow"})
    opened(browser, stage)
    browser.wait_for("state.robots?.every(r => r.room)")
    stage.between(lambda: stage.ros.remove(stage.bridge))
    browser.see("out of reach")
    browser.press("STOP ALL")
    browser.see("did not say that they stand: rover, slim; they stop when their nodes start again")
    stage.between(stage.begin_bridge)
    browser.wait_for("document.querySelectorAll('.chip.stopped').length === 2")
    browser.wait_for("document.querySelectorAll('.chip.lost').length === 0")
    browser.press("Release all")
    browser.wait_for("document.querySelectorAll('.chip.stopped').length === 0")
    # The page goes on with the node that is new.
    assert stage.ended(stage.send("rover"))[0] is Outcome.SUCCEEDED
    assert browser.console == []
