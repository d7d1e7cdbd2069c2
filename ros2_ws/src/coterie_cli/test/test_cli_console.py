"""Stories of the console: a person at a page in Chromium, real nodes of a team behind it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from rclpy.action import ActionClient
from sensor_msgs.msg import CompressedImage
from std_msgs.msg import Header, String

from coterie_bringup.team_client import FoundObjects
from coterie_cli.console import answers
from coterie_core.embodiment import Embodiment
from coterie_core.skills import Outcome
from coterie_fixtures.browser import Browser, chromium
from coterie_fixtures.console_stage import ConsoleStage
from coterie_fixtures.hostile_texts import HOSTILE
from coterie_fixtures.tiny_house import tiny_house
from coterie_msgs.action import NavigateTo
from coterie_ros import conversions
from coterie_ros.conversions.hardware import packed_color_to_msg
from coterie_ros.pictures import SHOW, SHOWN, Wanted
from coterie_ros.qos import profile
from coterie_safety.ledger import check, entries
from coterie_safety.permits import Permits, RobotPermits, public_half
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.node import BridgeNode

pytestmark = pytest.mark.ros

STARTS = {"rover": (2.0, 2.0, 0.0), "slim": (6.0, 2.3, 0.0)}
NEAR = {"rover": (2.6, 2.2, 0.0), "slim": (6.4, 2.3, 0.0)}
ASK_ROVER = {"rules": [{"robots": ["rover"], "answer": "ask"}], "otherwise": "allow"}


class Stage(ConsoleStage):
    """A bridge with two robots, and who sends goals."""

    def __init__(self, ros, folder: Path, policy=ASK_ROVER, speed=0.5, mapped=False) -> None:
        super().__init__(ros, folder, list(STARTS))
        body = Embodiment(name="cart", radius=0.2, linear_speed=speed)
        self.specs = [
            {
                "name": name,
                "embodiment": body.model_dump(),
                "start": {"pose": dict(zip("xyz", at, strict=True))},
                "limits": {"team": {"keep_out": ["bathroom"]}},
                "permits": RobotPermits(team=Permits.model_validate(policy), name=name).model_dump(
                    mode="json", exclude_defaults=True
                ),
            }
            for name, at in STARTS.items()
        ]
        self.topic = "prior_map" if mapped else "semantic_map"
        self.sender = ros.node("sender")
        self.go = {r: ActionClient(self.sender, NavigateTo, f"{r}/navigate_to") for r in STARTS}
        self.begin_bridge()
        ros.wait_for_matched(*self.go.values())
        self.begin()

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
                    "permit_key": str(public_half(self.key)),
                    "stop_directory": str(self.folder / "stops"),
                    "prior_map": "everything",
                    "prior_topic": self.topic,
                },
            )
        )
        self.ros.wait_active(self.bridge)

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

    def ended(self, results: list) -> tuple[Outcome, str]:
        self.wait(lambda: results)
        return Outcome(results[0].outcome), str(results[0].reason)

    def kinds(self, robot: str) -> list[str]:
        assert check(self.log).fault == ""
        return [entry.kind for entry in entries(self.log) if entry.robot == robot]


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


def test_who_is_where_asked_allowed_refused_and_all_of_it_on_the_timeline(make_stage, browser):
    """Stories: sees who is where, is asked and allows once; is asked and refuses with a reason."""
    stage = make_stage()
    (stage.folder / "why").mkdir()
    stage.open(browser)
    browser.wait_for("state.robots?.length === 2 && state.robots.every(r => r.room)")
    browser.wait_for("document.querySelectorAll('#plan .fence.out').length === 1")  # the bridge's
    browser.run("document.getElementById('fences').open = true")
    browser.see("all robots: keep out of bathroom (limits.keep_out[0])")
    first = stage.send("rover", why=HOSTILE[1])
    browser.see("rover asks for approval")
    browser.see(f"for: {HOSTILE[1]}")
    rule = "document.querySelector('.request p.soft')?.title"
    browser.wait_for(f"({rule} ?? '').includes('permits.rules[0] of the team file asks a person')")
    browser.run("document.querySelector('.request button.why').click()")
    browser.see("what a person answers; the goal waits for it")
    assert "a person was asked" in browser.run("document.querySelector('#why ol').innerText")
    browser.press("Approve once")
    assert stage.ended(first)[0] is Outcome.SUCCEEDED
    browser.wait_for("document.getElementById('permits').hidden")
    # Why, which is still open, tells what is known now.
    browser.wait_for(
        "!document.getElementById('why').innerText.includes('what a person answers')"
        " && document.getElementById('why').innerText.includes('permitted by anna@lab')"
    )
    second = stage.send("rover", STARTS["rover"])
    browser.see("rover asks for approval")
    browser.run("document.querySelector('.request input').value = 'the floor is wet'")
    browser.press("Refuse")
    outcome, reason = stage.ended(second)
    assert outcome is Outcome.REFUSED and "anna@lab refused: the floor is wet" in reason
    browser.see("permit · rover")
    browser.see("refusal · rover")
    refused = "[...document.querySelectorAll('#timeline li')].find(n => n.innerText.includes('{}'))"
    browser.run(refused.format("refusal · rover") + ".querySelector('button.why').click()")
    browser.wait_for("document.querySelectorAll('#why li').length > 1")
    assert "the floor is wet" in browser.run("document.querySelector('#why ol').innerText")
    assert browser.run("window.hacked ?? document.querySelectorAll('img[src=\"x\"]').length") == 0
    assert stage.kinds("rover") == [
        "goal", "request", "permit", "result", "goal", "request", "refusal", "result",
    ]  # fmt: skip
    assert browser.console == []


def test_goals_alike_are_allowed_for_ten_minutes_and_that_is_revoked(make_stage, browser):
    """A person allows goals alike for ten minutes, sees that it holds, and takes it back."""
    stage = make_stage()
    stage.open(browser)
    first = stage.send("rover")
    browser.see("rover asks for approval")
    stage.restart_console()  # what waits, waits on
    stage.open(browser)
    browser.wait_for("state.permits?.length === 1")
    late = browser.run("state.permits[0].id")
    browser.run(
        f"command('permit', {{ request: '{late}', shown: 'other words', decision: 'allow' }})"
    )
    browser.see("it has come in other words")  # the page showed them, and then did not any more
    allow = "document.querySelectorAll('.request .operator button')[1].click();"
    # A double click is one answer; asked in one go, before the answer is through.
    assert browser.run(f"{allow}{allow} waiting.size") == 1
    browser.wait_for("!state.permits.length")
    browser.run(f"command('permit', {{ request: '{late}', decision: 'refuse' }})")
    browser.see("this request does not wait any more")  # somebody else answered it
    assert stage.ended(first)[0] is Outcome.SUCCEEDED
    assert stage.ended(stage.send("rover", STARTS["rover"]))[0] is Outcome.SUCCEEDED
    assert stage.kinds("rover").count("request") == 1
    browser.see("1 standing permit")
    browser.run("document.querySelector('#standing details').open = true")
    browser.see('rover: goals like "drive to')
    browser.see("allowed by anna@lab")
    browser.press("Revoke")
    browser.see("a goal that has begun goes on unless it is stopped")
    browser.wait_for("document.getElementById('standing').hidden")
    third = stage.send("rover")
    browser.see("rover asks for approval")
    browser.press("Refuse")
    assert stage.ended(third)[0] is Outcome.REFUSED
    last = ["revocation", "goal", "request", "refusal", "result"]
    stage.ros.spin_until(lambda: stage.kinds("rover")[-5:] == last, what="the result in the log")
    browser.see("revocation · rover")
    assert browser.console == []


def test_one_is_stopped_the_other_goes_on_then_all_and_all_are_released(make_stage, browser):
    """Stories: stops one; stops all; releases all."""
    stage = make_stage(policy={"otherwise": "allow"}, speed=0.05)
    stage.open(browser)
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
    browser.see("result · slim")
    assert "permit · slim" not in browser.run("document.getElementById('timeline').innerText")
    assert stage.ended(stage.send("slim", STARTS["slim"]))[0] is Outcome.SUCCEEDED
    assert browser.console == []


def test_a_robot_that_does_not_answer_a_stop_is_named_and_stops_when_it_is_back(
    make_stage, browser
):
    """Stories: stops what does not answer; the bridge is restarted, and the stop holds."""
    stage = make_stage(policy={"otherwise": "allow"})
    stage.open(browser)
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


def test_a_camera_is_opened_and_listened_to_only_meanwhile(make_stage, browser):
    """Story: looks through a robot's camera, and closes the page."""
    stage = make_stage(policy={"otherwise": "allow"})
    stage.open(browser)
    browser.wait_for("state.robots?.find(r => r.name === 'rover')?.cameras.length === 1")
    topic = stage.node.cameras._topics[("rover", stage.state.robots["rover"].cameras[0])][0]
    assert stage.sender.count_subscribers(topic) == 0
    browser.press("Camera")
    browser.wait_for("document.getElementById('picture').naturalWidth > 0")
    browser.see("rover, ")
    assert stage.sender.count_subscribers(topic) == 1
    browser.open("about:blank")
    stage.wait(lambda: stage.sender.count_subscribers(topic) == 0, "nobody to listen")


def test_pictures_of_what_an_answer_rests_on_are_shown_beside_it(make_stage, browser):
    """A viewer sees what a thing looked like, from whoever keeps a picture; only what was asked."""
    stage = make_stage()
    stage.open(browser)
    browser.wait_for("state.map?.things.length > 3")
    thing = next(t for t in stage.state.scene.objects.values() if t.kind == "item")
    keeper, asked = stage.ros.node("keeper"), []
    out = keeper.create_publisher(CompressedImage, SHOWN, profile("messages"))

    def show(message: String) -> None:
        wanted = Wanted.model_validate_json(message.data)
        asked.append(wanted)
        for name in (
            f"{wanted.id}/thing/0/{HOSTILE[1]}",
            f"{wanted.id}/thing/7/x",
            "other/thing/0/",
        ):
            red = np.full((60, 80, 3), (200, 30, 30), np.uint8)
            out.publish(packed_color_to_msg(red, Header(frame_id=name)))

    stage.between(lambda: keeper.create_subscription(String, SHOW, show, profile("messages")))
    browser.wait_for("state.team?.can.pictures")

    def answer() -> None:
        talk = stage.state.begin_talk("find", "a small thing", "anna@lab")
        talk.answer = answers.found(
            FoundObjects(ids=(thing.id,), explanation=""), stage.state.scene
        )
        talk.state = "done"
        stage.state.touch("talk")

    stage.node.loop.call(answer)
    browser.press("Pictures")
    browser.wait_for("document.querySelector('.pictures img')?.naturalWidth === 80")
    browser.see(f"{thing.label.top}, by {' '.join(HOSTILE[1].split())[:20]}")
    assert [one.label for one in asked[0].things] == [thing.label.top]
    assert asked[0].things[0].at == thing.box.center
    browser.wait_for("waiting.size === 0")
    assert browser.run("document.querySelectorAll('.pictures img').length") == 1
    # Of two answers at a time, and of one only once.
    stage.node.loop.call(answer)
    browser.wait_for("document.querySelectorAll('.talk').length === 2")
    browser.run(
        "document.querySelectorAll('.talk .buttons button:nth-child(2)').forEach(b => b.click());"
        "command('pictures', { talk: state.talk[0].id })"
    )
    browser.see("its pictures are on their way already")
    browser.wait_for("document.querySelectorAll('.pictures:has(img)').length === 2")
    assert browser.run("window.hacked ?? document.querySelectorAll('img[src=\"x\"]').length") == 0
    assert browser.console == []


def test_the_map_is_corrected_and_stays_so(make_stage, browser):
    """Stories: renames a thing and a room, and draws one; the mapper is restarted; undoes it."""
    from semantic_mapper.node import MapperNode

    stage = make_stage(policy={"otherwise": "allow"}, mapped=True)
    parameters = {
        "robots": list(STARTS),
        "cameras": ["none"],
        "state_directory": str(stage.folder / "maps"),
        "publish_period": 0.1,
    }
    begin = lambda: stage.ros.add(  # noqa: E731
        MapperNode("mapper", context=stage.ros.context, parameters=parameters)
    )
    made = []
    stage.between(lambda: made.append(begin()))
    stage.open(browser)
    browser.wait_for("state.team?.can.correct && state.map?.rooms.length > 1")
    browser.run("choose({ thing: state.map.things[0] })")
    browser.see("; id ")
    browser.run(
        f"document.querySelector('#chosen input').value = {json.dumps(HOSTILE[1])};"
        "[...document.querySelectorAll('#chosen button')].find(b => b.textContent === 'Rename')"
        ".click()"
    )
    browser.wait_for(f"state.map.things.some(t => t.label === {json.dumps(HOSTILE[1])})")
    kitchen = "state.map.rooms.find(r => r.name === 'kitchen')"
    browser.run(f"choose({{ room: {kitchen} }})")
    browser.run("document.querySelector('#chosen input').value = 'galley'")
    browser.press("Correct the map")
    browser.press("Rename")
    browser.wait_for("state.map.rooms.some(r => r.name === 'galley')")
    browser.press("Draw a room")
    browser.run(
        "plan.drawing.push([0.2, 0.2], [1.4, 0.2], [1.4, 1.4], [0.2, 1.4]);"
        "document.querySelector('#chosen input').value = 'larder'"
    )
    browser.press("Save the room")
    browser.wait_for("state.map.rooms.some(r => r.name === 'larder')")
    browser.see("3 corrections of the map")
    stage.between(lambda: stage.ros.remove(made[0]))
    stage.between(begin)
    browser.wait_for("state.map.rooms.some(r => r.name === 'larder')")
    browser.run("document.getElementById('corrections').open = true")
    browser.run("document.querySelectorAll('#corrections button')[1].click()")
    browser.wait_for("state.map.rooms.some(r => r.name === 'kitchen')")
    names = browser.run("[...document.querySelectorAll('#plan .roomname')].map(n => n.textContent)")
    assert "galley" not in names
    assert browser.run("window.hacked ?? 0") == 0 and browser.console == []


def test_a_question_with_choices_is_answered_and_left_to_others_where_nobody_looks(
    make_stage, browser
):
    """Story: is asked back, chooses an answer, and gives none."""
    from coterie_msgs.srv import AskInWords
    from coterie_ros.conversions.basics import duration_to_msg

    stage = make_stage(policy={"otherwise": "allow"})
    client = stage.sender.create_client(AskInWords, "ask_person")
    assert not client.service_is_ready()
    stage.open(browser)
    stage.wait(client.service_is_ready, "the service of the person")
    request = AskInWords.Request(
        asker="leader",
        question=f"Which of the three mugs? {HOSTILE[1]}",
        choices=["the red one", HOSTILE[0]],
        within=duration_to_msg(60.0),
    )
    answers: list = []
    for _ in range(2):
        stage.between(
            lambda: client.call_async(request).add_done_callback(
                lambda f: answers.append(f.result())
            )
        )
    browser.see("leader asks you")
    browser.see(f"Which of the three mugs? {HOSTILE[1]}")
    browser.press("the red one")
    stage.wait(lambda: len(answers) == 1, "the first answer")
    browser.wait_for("state.question?.number === 2")
    browser.press("No answer")
    stage.wait(lambda: len(answers) == 2, "the second answer")
    assert answers[0].answered and answers[0].text == "the red one"
    assert not answers[1].answered and "gave no answer" in answers[1].reason
    browser.open("about:blank")
    stage.wait(lambda: not client.service_is_ready(), "the service to go")
    assert browser.console == []


def test_an_operator_with_a_phone_and_a_viewer_who_may_not(make_stage, browser):
    """Stories: an operator with a phone is asked, allows and stops all; a viewer sees the same, and
    may not; the console is restarted, and its old links open nothing any more."""
    stage = make_stage()
    stage.restart_console(host="0.0.0.0")
    old = stage.page.link("viewer")
    with Browser(chromium(), 390, 780) as phone:
        phone.open(stage.page.link("operator"))
        browser.open(old)
        phone.see("connected")
        browser.see("connected, looking on")
        ended = stage.send("rover")
        for page in (phone, browser):
            page.see("rover asks for approval")
        shown = (
            "[...document.querySelectorAll('button')].filter(b => b.offsetParent)"
            ".map(b => b.innerText)"
        )
        assert not {"STOP ALL", "Approve once", "Stop", "Send"} & set(browser.run(shown))
        assert {"STOP ALL", "Approve once", "Stop", "Send"} <= set(phone.run(shown))
        for order in ("stop", "permit", "revoke", "task", "correct", "release", "answer"):
            browser.run(f"command({json.dumps(order)}, {{}})")
            browser.see("a viewer looks on")
            browser.run("document.getElementById('notes').replaceChildren()")
        assert not ended and stage.node.panel.permits.waiting
        assert phone.run("document.documentElement.scrollWidth - innerWidth") <= 0
        phone.press("Approve once")
        assert stage.ended(ended)[0] is Outcome.SUCCEEDED
        phone.press("STOP ALL")
        for page in (phone, browser):
            page.wait_for("document.querySelectorAll('.chip.stopped').length === 2")
        assert any("operator at" in entry.body.get("by", "") for entry in entries(stage.log))
        stage.restart_console(host="0.0.0.0")
        browser.see("open the link that ./coterie console printed")
        browser.open("about:blank")
        browser.open(stage.page.link("viewer"))
        browser.wait_for("document.querySelectorAll('.chip.stopped').length === 2")
        assert phone.console == [] and browser.console == []


def test_a_recorded_run_is_played_into_the_page_and_nothing_can_be_commanded(
    make_stage, browser, monkeypatch, tmp_path
):
    """Story: a run is recorded, and replayed in the page: who was where, who was asked and stopped;
    the page says what it is, and no command of it reaches anything."""
    import re
    import sys

    from coterie_bringup.rundir import own_state
    from coterie_cli.record_live import FACTS, LOG_TOPIC, LiveOptions, RunRecorder, facts_of
    from coterie_recordings.mcap_log import McapLog

    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    stage = make_stage()
    state = own_state("home", stage.ros.domain, tmp_path, robots=list(STARTS), log=stage.log)
    file = tmp_path / "monday.mcap"
    log = McapLog(file)
    log.note(FACTS, facts_of(state))
    recorder = stage.ros.node("recorder")
    stage.between(lambda: RunRecorder(recorder, log, LiveOptions(file, "none"), state))
    stage.wait(lambda: {"/semantic_map", "/rover/permit_requests"} <= set(log.counts), "the topics")
    stage.open(browser)
    ended = stage.send("rover", why=HOSTILE[1])
    browser.press("Approve such goals for 10 min")
    assert stage.ended(ended)[0] is Outcome.SUCCEEDED
    waiting = stage.send("rover", (3.2, 3.2, 0.0))
    stage.ended(waiting)
    browser.press("STOP ALL")
    stage.wait(lambda: log.counts.get(LOG_TOPIC, 0) >= 8, "the log")
    stage.between(lambda: (stage.ros.spin(0.5), stage.ros.remove(recorder), log.close()))

    command = [sys.executable, "-m", "coterie_cli.cli", "replay", str(file), "--console"]
    played = stage.ros.start_process([*command, "--no-open", "--port", "0", "--rate", "4"])
    url = stage.wait(lambda: re.search(r"console: (http://\S+)", played.output), "the page")[1]
    stage.wait(lambda: "at its end" in played.output, "the end")
    browser.open(url)
    browser.see("Replay of monday.mcap: what you see was recorded, and nothing can be commanded")
    browser.see("connected, looking on")
    browser.wait_for("document.querySelectorAll('.chip.stopped').length === 2")
    browser.wait_for("state.map?.rooms.length > 1 && state.poses.rover")
    where = browser.run("state.poses.rover.slice(0, 2)")
    assert abs(where[0] - 3.2) < 0.3 and abs(where[1] - 3.2) < 0.3
    browser.see("permit · rover")
    browser.see("1 standing permit")
    before = len(list(entries(stage.log)))
    for order in ("release", "stop", "task", "permit", "revoke", "correct", "ask"):
        browser.run(f"command({json.dumps(order)}, {{ text: 'go' }})")
        browser.see("this is a replay: there is nothing to command")
        browser.run("document.getElementById('notes').replaceChildren()")
    assert browser.run("document.querySelectorAll('.chip.stopped').length") == 2
    assert len(list(entries(stage.log))) == before
    assert browser.run("window.hacked ?? 0") == 0 and browser.console == []
