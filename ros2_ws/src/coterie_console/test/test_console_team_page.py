"""The console's page without ROS: who may open it and command, what it shows, and as what."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
import threading
from importlib import resources

import aiohttp
import pytest

from coterie_console.site import PageError
from coterie_console.team import page as page_module
from coterie_console.team.page import ConsolePage, Refused
from coterie_console.team.state import MAX_MOMENTS, ConsoleState
from coterie_core.colors import ROBOT_COLORS
from coterie_core.geometry import Box, Pose
from coterie_core.tasks import RobotReport, SubTask, SubTaskState, Thing
from coterie_fixtures.browser import Browser, chromium
from coterie_fixtures.hostile_texts import HOSTILE
from coterie_fixtures.two_floor_home import small_house
from coterie_safety.guard import Fence, Fences, Guard, Limits, RobotLimits
from coterie_safety.permits import PermitGoal, PermitRequest
from coterie_world.scene import LabelBelief, SceneObject

pytestmark = pytest.mark.quick


class Desk:
    """Commands that are written down."""

    def __init__(self) -> None:
        self.done: list[tuple[str, dict, str]] = []
        self.slow = asyncio.Event()

    def commands(self):
        async def stop(said, tab):
            self.done.append(("stop", dict(said), tab.who))
            return "stopped"

        async def ask(said, tab):
            await self.slow.wait()
            return "answered"

        async def refuse(said, tab):
            raise Refused("<b>no</b>\nnever")

        async def fail(said, tab):
            raise KeyError("oh")

        async def hand_over(said, tab):
            self.done.append(("hand_over", dict(said), tab.who))
            raise Refused("walker <b>cannot</b>")

        return {"hand_over": hand_over, "stop": stop, "ask": ask, "refuse": refuse, "fail": fail}


def state_of(*robots: str) -> ConsoleState:
    state = ConsoleState("home", robots or ("rover", "walker"))
    state.know(small_house())
    state.abilities({"ask": True, "find": True, "task": True})
    for k, name in enumerate(state.robots):
        state.move(name, Pose((1.0 + k, 1.5, 0.0), 0.5))
    return state


@contextlib.asynccontextmanager
async def served(state=None, looks=None, **options):
    desk = Desk()
    page = ConsolePage(
        state or state_of(), desk.commands(), looks, port=0, who="anna@lab", **options
    )
    await page.start()
    async with aiohttp.ClientSession(f"http://localhost:{page.site.port}") as client:
        try:
            yield page, desk, client
        finally:
            await page.stop()


@contextlib.asynccontextmanager
async def tab(client, key="", **options):
    async with client.ws_connect("/socket", **options) as socket:
        await socket.send_json({"key": key})
        hello = await socket.receive_json(timeout=30.0)

        async def until(name):
            while True:
                news = await socket.receive_json(timeout=30.0)
                if name in news:
                    return news[name]

        yield hello, until, socket


async def test_what_has_changed_is_sent_and_no_more():
    async with served() as (page, _, client), tab(client) as (hello, until, _):
        assert hello["hello"]["role"] == "operator"
        assert hello["trails"]["rover"] == [[1.0, 1.5, 0.0]]
        first = await until("state")
        assert {room["name"] for room in first["map"]["rooms"]} >= {"kitchen", "hall"}
        assert first["poses"]["walker"][:2] == [2.0, 1.5]
        page.state.move("rover", Pose((1.02, 1.5, 0.0), 0.5))
        assert (await until("state")) == {
            "poses": {"rover": [1.02, 1.5, 0.0, 0.5], "walker": [2.0, 1.5, 0.0, 0.5]}
        }


async def test_a_stop_does_not_wait_for_what_was_asked_before():
    async with served() as (_, desk, client), tab(client) as (_, until, socket):
        await socket.send_json({"do": "ask", "id": 1, "text": "where?"})
        await socket.send_json({"do": "stop", "id": 2})
        assert (await until("reply")) == {"id": 2, "done": True, "text": "stopped"}
        desk.slow.set()
        assert (await until("reply"))["id"] == 1
        assert desk.done == [("stop", {"do": "stop", "id": 2}, "anna@lab")]


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("no json", "Expecting value"),
        ("[" * 15_000, ""),
        ("[1]", "expected an object"),
        ('{"do": "launch", "id": 3}', "nothing that can be done"),
        ('{"do": ["stop"]}', "nothing that can be done"),
        ('{"id": 3}', "nothing that can be done"),
        ('{"do": "refuse", "id": 3}', "<b>no</b> never"),
        ('{"do": "fail", "id": "x"}', "KeyError"),
    ],
)
async def test_what_makes_no_sense_is_refused_and_the_page_goes_on(sent, told):
    async with served() as (_, desk, client), tab(client) as (_, until, socket):
        await socket.send_str(sent)
        reply = await until("reply")
        assert not reply["done"] and told in reply["text"] and "\n" not in reply["text"]
        await socket.send_json({"do": "stop", "id": 9})
        assert (await until("reply"))["done"]
        assert [what for what, *_ in desk.done] == ["stop"]


async def test_other_pages_and_other_names_are_refused():
    async with served() as (page, desk, client):
        port = page.site.port
        for headers in (
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": f"https://localhost:{port}"},
            {"Origin": f"http://localhost:{port + 1}"},
            {"Host": f"evil.example:{port}"},
            {"Host": f"192.168.1.5:{port}"},
            {"Host": "localhost"},
        ):
            for path in ("/", "/console.js", "/socket"):
                async with client.get(path, headers=headers) as answer:
                    assert answer.status == 403, (headers, path)
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await client.ws_connect("/socket", headers=headers)
        async with client.get("/") as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
        assert not page.tabs and not desk.done


async def test_on_the_network_a_key_opens_it_and_a_viewer_commands_nothing(monkeypatch):
    async def look(said, tab):
        return "looked"

    async with served(looks={"watch": look}, host="0.0.0.0") as (page, desk, client):
        assert page.link("viewer", "here") == (
            f"http://here:{page.site.port}/#key={page.keys['viewer']}"
        )
        for key in ("", "x", page.keys["viewer"][:-1], 7, None, ["a"]):
            async with tab(client, key) as (hello, _, socket):
                assert "has a key" in hello["closed"]
                assert (await socket.receive()).type == aiohttp.WSMsgType.CLOSE
        async with tab(client, page.keys["viewer"]) as (hello, until, socket):
            assert hello["hello"]["role"] == "viewer" and page.operators == 0
            await socket.send_json({"do": "stop", "id": 1})
            reply = await until("reply")
            assert not reply["done"] and "a viewer looks on" in reply["text"]
            await socket.send_json({"do": "watch", "id": 2})
            assert (await until("reply"))["done"]
        assert not desk.done
        async with tab(client, page.keys["operator"]) as (hello, until, socket):
            assert hello["hello"]["role"] == "operator" and page.operators == 1
            await socket.send_json({"do": "stop", "id": 1})
            assert (await until("reply"))["done"]
        assert desk.done[0][2] == "operator at 127.0.0.1"
        # An address is always this server's; a name only where it is this machine's.
        good = {"Host": f"192.168.1.5:{page.site.port}"}
        async with client.get("/", headers=good) as answer:
            assert answer.status == 200
        async with client.get("/", headers={"Host": f"evil.example:{page.site.port}"}) as answer:
            assert answer.status == 403


async def test_of_a_replay_nobody_is_an_operator():
    async with served(host="0.0.0.0", replay="monday <b>.mcap") as (page, desk, client):
        for key in page.keys.values():
            async with tab(client, key) as (hello, until, socket):
                assert hello["hello"]["role"] == "viewer"
                assert hello["hello"]["replay"] == "monday <b>.mcap"
                await socket.send_json({"do": "stop", "id": 1})
                reply = await until("reply")
                assert not reply["done"] and "this is a replay" in reply["text"]
        assert not desk.done


async def test_too_many_pages_and_silent_ones_are_closed(monkeypatch):
    monkeypatch.setattr(page_module, "MAX_PAGES", 1)
    monkeypatch.setattr(page_module, "_HELLO_TIMEOUT_S", 0.1)
    async with served() as (page, _, client), tab(client):
        async with tab(client) as (hello, _, _):
            assert "close one" in hello["closed"]
        async with client.ws_connect("/socket") as socket:
            assert (await socket.receive(timeout=30.0)).type == aiohttp.WSMsgType.CLOSE
        assert len(page.tabs) == 1


async def test_a_port_that_is_taken_is_named():
    async with served() as (page, _, _):
        other = ConsolePage(state_of(), {}, port=page.site.port)
        with pytest.raises(PageError, match=rf"port {page.site.port}: .*--port"):
            await other.start()


def test_all_that_is_kept_is_bounded():
    state = state_of()
    for k in range(1000):
        state.move("rover", Pose((k * 0.2, 0.0, 0.0)))
        state.robot(f"robot-{k}")
        state.diagnosed(f"node-{k}", 0, "", {})
        state.moment("goal", "rover", "x" * 5000)
        talk = state.begin_talk("ask", "w" * 5000, "anna")
        talk.told = "t" * 5000
        task = state.begin_task("do it", "anna")
        for _ in range(3):
            state.said("leader", "propose", "t" * 5000)
        state.end_task(task, "done", "m" * 5000)
    size = sum(len(state.text(section)) for section in page_module.SECTIONS)
    assert len(state.robots) <= 100 and len(json.loads(state.text("timeline"))) == MAX_MOMENTS
    assert len(json.loads(state.trails())["rover"]) == 400
    assert size < 600_000


def test_a_task_that_was_given_elsewhere_is_shown_and_an_old_one_is_not():
    state = state_of()
    part = SubTask(id="a", kind="go_to", rooms=("hall",), robot="rover", state=SubTaskState.DONE)
    state.sub_tasks([part])
    assert not state.tasks  # what a latched topic tells of a task that is over
    state.sub_tasks([part.model_copy(update={"state": SubTaskState.RUNNING, "description": "see"})])
    task = state.current_task()
    assert task is not None and not task.own and task.words == "see"  # until its words are heard
    more = [part.model_copy(update={"state": SubTaskState.RUNNING, "description": d}) for d in "ab"]
    other = state_of()
    other.sub_tasks(more)
    assert other.current_task().words == "a and 1 more"
    state.named("Go to the hall")
    assert task.words == "Go to the hall"
    state.sub_tasks([])
    assert state.current_task() is None and "told to stop" in task.message


def test_what_a_robot_asks_for_is_shown_while_its_task_goes_on():
    state = state_of("rover")
    task = state.begin_task("Bring the mug", "anna")
    part = SubTask(id="a", kind="pick", object=Thing(label="mug"), robot="rover")
    state.sub_tasks([part], "task-1")
    asking = RobotReport(robot="rover", task="task-1", help="rover cannot pick the mug")

    def asked() -> str:
        return str(json.loads(state.text("robots"))[0]["help"])

    state.report("rover", asking)
    assert asked() == "rover cannot pick the mug"
    state.end_task(task, "partly_done", "the mug was not brought")
    assert asked() == ""
    state.report("rover", asking)  # it comes late
    assert asked() == ""


def test_what_comes_late_of_a_task_that_is_over_begins_none():
    state = state_of()
    task = state.begin_task("Go to the hall", "anna")
    part = SubTask(id="a", kind="go_to", rooms=("hall",), robot="rover", state=SubTaskState.RUNNING)
    state.sub_tasks([part], "task-1")
    state.end_task(task, "cancelled", "")
    state.sub_tasks([part], "task-1")
    assert state.current_task() is None and len(state.tasks) == 1
    state.sub_tasks([part], "task-2")
    assert state.current_task() is not None


def test_health_tells_batteries_and_what_is_left_of_each_models_budget():
    now = 0.0
    state = ConsoleState("home", ["rover", "walker"], clock=lambda: now)
    limited = {"prompt_tokens": "80", "completion_tokens": "40", "cost": "0.0300",
               "used_up": "yes", "left_tokens": "7", "budget_tokens": "127"}  # fmt: skip
    unlimited = {"prompt_tokens": "5", "completion_tokens": "1", "cost": "0.0000"}
    larger = {"larger_kind": "openai", "larger_used_up": "no", "larger_left_cost": "0.5",
              "larger_budget_cost": "2.0"}  # fmt: skip
    for node, values in (
        ("home/rover/robot", limited),
        ("home/walker/robot", limited | larger),
        ("home/leader", unlimited),
        ("home/idle", {"prompt_tokens": "0", "completion_tokens": "0"}),
    ):
        state.diagnosed(node, 0, "", {f"model.{key}": value for key, value in values.items()})
    state.diagnosed("home/aggregator", 0, "", {"questions.labels": "3"})
    state.diagnosed("home/rover/adapter", 0, "", {"robot.battery": "63 %"})
    state.diagnosed("home/walker/adapter", 0, "", {"robot.battery": "unknown"})
    told = json.loads(state.text("health"))
    assert [one["charge"] for one in told["robots"]] == [0.63, None]
    assert (told["tokens"], told["cost"], told["labels"]) == (246, 0.06, 3)
    rows = {row.pop("name"): row for row in told["models"]}
    assert rows.keys() == {"home/leader", "home/rover/robot", "home/walker/robot",
                           "home/walker/robot (larger model)"}  # fmt: skip
    assert rows["home/rover/robot"] == {
        "tokens": 120, "cost": 0.03, "left_tokens": 7, "budget_tokens": 127, "left_cost": None,
        "budget_cost": None, "used_up": "used up: the rules decide",
    }  # fmt: skip
    assert rows["home/leader"]["budget_tokens"] is None and not rows["home/leader"]["used_up"]
    assert rows["home/walker/robot"]["used_up"] == "used up: the larger model is asked"
    assert rows["home/walker/robot (larger model)"]["left_cost"] == 0.5
    now = 60.0
    state.tick()
    robots = json.loads(state.text("health"))["robots"]
    assert robots[0]["charge"] is None  # what was said a minute ago is not known now


# -- in a browser ----------------------------------------------------------------------------------


@contextlib.contextmanager
def live(state=None, port=0):
    """Serve a page in a thread of its own; yields it, its commands, and what calls its loop."""
    if chromium() is None:
        pytest.skip("no Chromium on this machine (apt install chromium): the page is not tried")
    ready, made = threading.Event(), []

    async def serve():
        desk = Desk()
        page = ConsolePage(state or state_of(), desk.commands(), port=port, who="anna@lab")
        await page.start()
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        made[:] = [page, desk, loop.call_soon_threadsafe, ended]
        ready.set()
        await ended.wait()
        await page.stop()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(60.0)
    page, desk, call, ended = made
    try:
        yield page, desk, call
    finally:
        call(ended.set)
        thread.join(60.0)
        assert not thread.is_alive()


def hostile_state() -> ConsoleState:
    """A state in which every text that can come from elsewhere is hostile."""
    state = state_of()
    scene = small_house()
    texts = iter(HOSTILE * 3)
    for room in scene.rooms.values():
        room.name, room.type = next(texts), next(texts)
    for k, text in enumerate(HOSTILE):
        box = Box((0.1 * k, 2.0, 0.5), (0.1, 0.1, 0.1))
        scene.add_object(
            SceneObject(f"thing-{k} {text[:50]}", LabelBelief.of(text), box, room="hall")
        )
    state.know(scene)
    requests = {}
    for k, text in enumerate(HOSTILE):
        state.moment("goal", text, text)
        if k % 10 == 0:
            goal = PermitGoal("rover", "pick", text, text, (text,), True, (text,), 0.4, "d")
            requests[str(k)] = PermitRequest(str(k), goal, (text,), text, 0.0, 1e12)
            talk = state.begin_talk("ask", text, text)
            talk.state, talk.told = "done", text
            talk.answer = {"text": text[:600], "kind": "yes", "sure": "", "method": text[:90],
                           "because": [[text[:90], ["yes", "yes"], "", text[:90]]]}  # fmt: skip
    state.requests(requests)
    state.begin_task(HOSTILE[0], "anna")
    thing = Thing(label=HOSTILE[1])
    parts = [
        SubTask(id=f"s{k}", kind="detect", object=thing, robot="rover", description=text,
                reason=text)
        for k, text in enumerate(HOSTILE)
    ]  # fmt: skip
    state.sub_tasks(parts)
    for text in HOSTILE:
        state.said(text, text, text)
        state.diagnosed(text[:200], 2, text, {"model.cost": text, "model.used_up": "yes"})
    state.report("rover", RobotReport(robot="rover", skill=HOSTILE[3], help=HOSTILE[5],
                                      holding=HOSTILE[7], waiting=False))  # fmt: skip
    state.cameras("rover", [HOSTILE[2][:40]])
    state.abilities({"train": True})
    state.trained(text=HOSTILE[0])
    state.question = {"number": 1, "asker": HOSTILE[1][:60], "text": HOSTILE[0], "choices":
                      [text[:100] for text in HOSTILE[:12]]}  # fmt: skip
    state.touch(*page_module.SECTIONS)
    return state


def test_a_part_of_a_task_is_handed_over_and_a_refusal_stays_to_be_read():
    state = state_of("rover", "walker")
    state.abilities({"hand_over": True})
    state.begin_task("see to the mug", "anna")
    part = SubTask(id="detect-1", kind="detect", object=Thing(label="mug"), robot="rover")
    state.sub_tasks([part, part.model_copy(update={"id": "d2", "state": SubTaskState.DONE})], "t1")
    with live(state) as (page, desk, call), Browser(chromium(), 390, 900) as browser:
        browser.open(page.link())
        browser.wait_for("document.querySelectorAll('#tasks select').length === 1")
        assert browser.run("[...document.querySelectorAll('#tasks option')].map(o => o.value)") == [
            "walker"
        ]
        browser.run(
            "document.querySelector('#tasks details').open = true;"
            "const r = document.querySelector('#tasks details input'); r.value = 'arm creaks';"
            "r.dispatchEvent(new Event('input'))"
        )
        # A newer table keeps what is typed.
        call(state.said, "leader", "statement", "something")
        browser.wait_for("document.querySelector('#tasks').textContent.includes('something')")
        browser.press("Hand over")
        shown = "document.querySelector('#tasks [data-part]').innerText === 'walker <b>cannot</b>'"
        browser.wait_for(shown)
        call(state.said, "leader", "statement", "something else")
        browser.wait_for("document.querySelector('#tasks').textContent.includes('something else')")
        assert browser.run(shown)
        done = {"do": "hand_over", "part": "t1/detect-1", "robot": "walker", "reason": "arm creaks"}
        assert [(name, {**said, "id": 0}) for name, said, _ in desk.done] == [
            ("hand_over", {**done, "id": 0})
        ]
        browser.run("document.body.classList.add('viewer')")
        assert browser.run("document.querySelector('#tasks details').offsetParent") is None
        assert browser.console == []


@pytest.mark.parametrize("width", [1400, 390])
def test_hostile_texts_are_shown_as_text_and_do_nothing(width):
    with live(hostile_state()) as (page, desk, _), Browser(chromium(), width, 900) as browser:
        browser.open(page.link())
        browser.see("connected")
        browser.wait_for("state.timeline && document.querySelectorAll('.request').length === 10")
        browser.wait_for("document.querySelectorAll('#plan .thing').length > 90")
        browser.see(HOSTILE[1])
        browser.frames(3)
        assert browser.run("window.hacked ?? 0") == 0
        foreign = (
            "script:not([src]), iframe, form[action], base, meta[http-equiv], link[href^='//']"
        )
        assert browser.run(f'document.querySelectorAll("{foreign}").length') == 0
        assert browser.run("document.querySelectorAll('#evil, object, marquee, video').length") == 0
        assert browser.run("document.querySelectorAll('#stop-all').length") == 1
        loaded = browser.run("performance.getEntriesByType('resource').map(e => e.name)")
        assert loaded and all(u.startswith(f"http://localhost:{page.site.port}/") for u in loaded)
        # The page is no wider than the screen: all controls can be reached.
        assert browser.run("document.documentElement.scrollWidth - innerWidth") <= 0
        assert browser.run(
            "(() => { const r = document.getElementById('stop-all').getBoundingClientRect();"
            " return r.left >= 0 && r.right <= innerWidth && r.top >= 0; })()"
        )
        assert browser.console == []
        assert desk.done == []


def test_the_stop_stays_in_view_on_a_phone_and_is_one_touch_away():
    state = state_of(*[f"robot{k}" for k in range(10)])
    for k in range(100):
        state.moment("goal", "robot1", f"moment {k}")
    with live(state) as (page, desk, _), Browser(chromium(), 390, 780) as browser:
        browser.open(page.link())
        browser.see("moment 99")
        browser.run("scrollTo(0, document.body.scrollHeight)")
        browser.frames(2)
        assert browser.run("scrollY") > 300
        middle = browser.run(
            "(() => { const r = document.getElementById('stop-all').getBoundingClientRect();"
            " return [r.left + r.width / 2, r.top + r.height / 2]; })()"
        )
        browser.click(*middle)
        browser.see("stopped")
        assert [what for what, *_ in desk.done] == ["stop"]
        assert browser.run("document.querySelectorAll('#chips .chip').length") == 10


def test_a_page_comes_back_by_itself_and_says_that_it_is_lost_meanwhile():
    """Story: loses the connection, is told that nothing was sent, and goes on when it is back."""
    if chromium() is None:
        pytest.skip("no Chromium on this machine (apt install chromium): the page is not tried")
    state = state_of()
    with Browser(chromium(), 1400, 900) as browser:
        with live(state) as (page, _, _):
            port = page.site.port
            browser.open(page.link())
            browser.see("connected")
        browser.see("connection lost: what you see is old")
        browser.press("STOP ALL")
        browser.see("nothing was sent")
        state.move("rover", Pose((3.0, 3.0, 0.0)))
        with live(state, port) as (page, desk, _):
            browser.wait_for("document.getElementById('link').textContent === 'connected'")
            browser.wait_for("state.poses.rover[0] === 3")
            browser.press("STOP ALL")
            browser.wait_for("waiting.size === 0")
            assert [what for what, *_ in desk.done] == ["stop"]


def test_robots_are_shown_on_their_floors_and_things_can_be_looked_at():
    """Story: looks at the floors, and at what is known of a thing."""
    state = state_of()
    with live(state) as (page, _, call), Browser(chromium(), 1400, 900) as browser:
        browser.open(page.link())
        browser.see("Floor 0: 2 robots")
        call(lambda: state.move("walker", Pose((2.0, 2.0, 3.0), 1.0)))
        browser.see("Floor 1: 1 robot")
        browser.wait_for("state.robots.find(r => r.name === 'walker').room === 'bedroom'")
        shown = "[...document.querySelectorAll('#plan .robot')].filter(n => n.style.display === '')"
        assert browser.run(f"{shown}.map(n => n.textContent)") == ["rover"]
        browser.press("Floor 1: 1 robot")
        assert browser.run(f"{shown}.map(n => n.textContent)") == ["walker"]
        browser.run("choose({ thing: plan.map.things.find(t => t.id === 'mug-2') })")
        browser.see("id mug-2")
        assert browser.console == []


def test_who_is_clumsy_asks_once_is_told_what_is_too_long_and_sees_that_a_picture_is_old():
    ask = "document.getElementById('talk').requestSubmit();"
    words = "document.getElementById('words').value = 'x'.repeat({});"
    with live() as (page, desk, call), Browser(chromium(), 390, 780) as browser:
        browser.open(page.link())
        browser.see("connected")
        browser.wait_for("state.team?.can.ask")
        browser.run(words.format(2000) + ask)
        browser.see("2000 characters; at most 600: nothing was sent")
        assert browser.run("waiting.size") == 0
        browser.run(words.format(600) + ask + ask)  # its answer is awaited, and no second one
        assert browser.run("waiting.size") == 1
        call(desk.slow.set)
        browser.wait_for("document.getElementById('words').value === ''")
        browser.run(ask)
        assert browser.run("waiting.size") == 0
        browser.run("watch('rover', 'head');"
                    "takePicture({ robot: 'rover', camera: 'head', at: 1, jpeg: '' });"
                    "pictured.came -= 6000")  # fmt: skip
        browser.see("what you see is old")
        browser.run("takePicture({ robot: 'rover', camera: 'head', at: 1, jpeg: '' })")
        assert not browser.run("document.getElementById('caption').classList.contains('error')")
        assert browser.console == []


def test_on_a_phone_every_robots_stop_is_in_view():
    robots = [f"carrier_{k}" for k in range(10)]
    with live(state_of(*robots)) as (page, _, _), Browser(chromium(), 390, 780) as browser:
        browser.open(page.link())
        browser.wait_for("document.querySelectorAll('#chips button').length === 10")
        assert browser.run(
            "[...document.querySelectorAll('#chips button'), document.getElementById('stop-all')]"
            ".every(b => { const r = b.getBoundingClientRect(), c = b.parentElement.parentElement"
            ".getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth && r.top >= 0"
            " && r.bottom <= Math.min(innerHeight, b.id ? innerHeight : c.bottom); })"
        )
        assert browser.console == []


def test_a_map_that_comes_late_and_grows_is_whole_in_view_until_somebody_moves_it():
    state = ConsoleState("home", ["rover"])
    inside = (
        "(() => { const [x, y, w, h] = plan.view; return state.map.rooms.length > 0"
        " && state.map.rooms.every(r => r.outline.every(([a, b]) =>"
        " a > x && a < x + w && -b > y && -b < y + h)); })()"
    )
    with live(state) as (page, _, call), Browser(chromium(), 1400, 900) as browser:
        browser.open(page.link())
        browser.wait_for("document.getElementById('link')?.textContent === 'connected'")
        browser.wait_for("plan.map && !plan.map.rooms.length")
        call(lambda: state.know(small_house()))
        browser.wait_for(inside)
        browser.press("+")
        browser.press("+")
        view = browser.run("plan.view")
        call(lambda: state.touch("map"))
        call(lambda: state.moment("goal", "rover", "after the map"))
        browser.wait_for("state.timeline?.length")
        assert browser.run("plan.view") == view
        browser.run("lightUp({ rooms: ['kitchen'] })")  # what is lit up is not left out of view
        assert browser.run(inside)
        assert browser.console == []


def test_where_nothing_is_the_page_says_why_and_what_to_add():
    """Story: opens the page of a team of two robots and nothing else."""
    now, lacking = [0.0], {"ask": True, "find": False, "task": False, "map": False}
    state = ConsoleState("pair", ["rover", "drone"], clock=lambda: now[0])
    state.abilities(lacking)
    with live(state) as (page, _, call), Browser(chromium(), 390, 900) as browser:
        browser.open(page.link())
        browser.see("The team is starting")
        browser.see("not yet")  # heard
        browser.see("Nothing has happened yet")
        assert "needs" not in browser.run("document.body.innerText")
        call(state.move, "rover", Pose((30.0, -20.0, 0.0)))
        call(state.abilities, lacking)
        call(now.__setitem__, 0, 11.0)
        call(state.abilities, lacking)
        browser.see("This team makes no map. Add “mapper: {}”")
        browser.see("Find needs “planner: {}” in the team file. Do needs “leader: {}”")
        browser.see("This team takes no tasks. Add “leader: {}”")
        # Where its robots are is seen all the same, wherever that is.
        browser.wait_for(
            "(() => { const [r, m] = ['#plan .robot circle', '#plan'].map(s =>"
            " document.querySelector(s)?.getBoundingClientRect());"
            " return r && r.left > m.left && r.right < m.right && r.top > m.top"
            " && r.bottom < m.bottom; })()"
        )
        call(state.abilities, {"ask": True, "find": True, "task": True, "map": True})
        browser.see("No map yet")
        browser.see("Choose Do above")
        assert "needs" not in browser.run("document.body.innerText")
        assert browser.console == []


def test_steps_for_one_goal_stand_together_with_rooms_and_the_whole_way():
    state = state_of()
    for room, ended, meters in (
        ("kitchen", "SUCCEEDED", 3.0), ("hall", "FAILED", 0.5), ("kitchen", "SUCCEEDED", 4.25),
    ):  # fmt: skip
        state.moment("goal", "rover", "drive on", goal="to explore", room=room)
        state.moment("goal", "walker", "take the mug", goal="bring the mug", room="hall")
        state.moment("result", "rover", "it ended", ended=ended, meters=meters)
    with live(state) as (page, _, _), Browser(chromium(), 1400, 900) as browser:
        browser.open(page.link())
        browser.see("rover · explore: kitchen, hall · 3\u00a0steps, 1 failed · 7.8\u00a0m")
        browser.see("walker · bring the mug: hall · 3\u00a0steps · under way")
        assert browser.console == []


def fences(limits: dict) -> Fences:
    """Return what the guard of a robot with these limits enforces in the house."""
    return Guard.of(small_house(), RobotLimits(team=Limits.model_validate(limits))).fences()


def test_fences_are_drawn_on_their_floor_and_told_in_words():
    """A person sees where robots may not be, for whom, by which line of the team file."""
    state = state_of()
    square = [[0.5, 0.5], [4.0, 0.5], [4.0, 3.0], [0.5, 3.0]]
    both = {"floors": [{"z": [-0.5, 2.0]}], "area": square, "keep_out": ["bedroom"]}
    with live(state) as (page, _, call), Browser(chromium(), 1400, 900) as browser:
        browser.open(page.link())
        browser.see("Floor 0: 2 robots")
        assert browser.run("document.getElementById('fences').hidden")
        call(lambda: [state.fenced(name, fences(both)) for name in ("rover", "walker")])
        browser.see("3 fences")
        browser.run("document.getElementById('fences').open = true")
        browser.see("all robots: stay inside (limits.area)")
        browser.see("all robots: stay on Floor 0 (limits.floors)")
        browser.see("all robots: keep out of bedroom (limits.keep_out[0])")
        count = "document.querySelectorAll('#plan {}').length"
        assert browser.run(count.format(".fence")) == 1  # the area; the bedroom is upstairs
        assert browser.run(count.format(".closed")) == 0
        browser.press("Floor 1")
        browser.wait_for(count.format(".fence.out") + " === 1")
        assert browser.run(count.format(".closed")) > 0
        browser.press("Floor 0")
        browser.run("[...document.querySelectorAll('#fences button')].at(-1).click()")
        browser.wait_for(count.format(".fence.out.lit") + " === 1")  # and its floor with it
        held = Fences(
            fences=(Fence(keep_out=True, where="limits.keep_out[0]", name=HOSTILE[1]),),
            trouble=HOSTILE[1],
        )
        call(lambda: state.fenced("rover", held))
        browser.see("4 fences; rover must not move")
        browser.see(f"rover must not move: {HOSTILE[1]}")
        browser.see(f"rover: keep out of {HOSTILE[1]}, which the map does not know")
        assert browser.run("window.hacked ?? document.querySelectorAll('#fences img').length") == 0
        assert browser.console == []


URDF = """
<robot name="rover">
  <link name="base"><visual><origin xyz="0 0 0.5"/><geometry><box size="0.4 0.4 1"/></geometry>
    </visual></link>
  <link name="head"><visual><geometry><sphere radius="0.1"/></geometry></visual></link>
  <joint name="neck" type="fixed"><parent link="base"/><child link="head"/>
    <origin xyz="0 0 1.1"/></joint>
</robot>
"""


def test_the_map_in_space_follows_map_and_robots():
    import time
    import urllib.request

    pytest.importorskip("viser")
    from coterie_console.team.space import SpacePage

    state = state_of()
    space = SpacePage(state)
    try:
        with urllib.request.urlopen(space.url) as answer:
            assert answer.status == 200
        end = time.monotonic() + 60.0
        while len(space._robots) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        before = tuple(space._robots["rover"].frame.position)
        state.move("rover", Pose((3.0, 3.0, 0.0), 0.0))
        while tuple(space._robots["rover"].frame.position) == before and time.monotonic() < end:
            time.sleep(0.05)
        assert tuple(space._robots["rover"].frame.position) != before
        assert space._view is not None and len(space._view.shapes.storeys) == 2
        drawn = space.page.server.scene._handle_from_node_name
        state.described("rover", URDF)
        shapes = ("/robots/0/body/0", "/robots/0/body/1")  # base and head, told apart
        while not all(name in drawn for name in shapes) and time.monotonic() < end:
            time.sleep(0.05)
        heights = [drawn[name].vertices[:, 2] for name in shapes]
        assert (heights[0].min(), heights[1].max()) == pytest.approx((0.0, 1.2))
        assert drawn[shapes[0]].color != drawn[shapes[1]].color
        # Who climbs to the upper floor is drawn on it, beside the lower one, and not hidden.
        state.move("walker", Pose((2.0, 2.0, 3.0), 0.0))
        spot = lambda: space._robots["walker"].frame.position  # noqa: E731
        while spot()[0] < 8.0 and time.monotonic() < end:
            time.sleep(0.05)
        assert spot()[2] == pytest.approx(0.0)
        space._apart.value = False
        while spot()[2] < 2.9 and time.monotonic() < end:
            time.sleep(0.05)
        assert spot()[2] == pytest.approx(3.0)
        state.described("walker", "<robot><link/></robot>")  # says nothing: the ball stays
        state.fenced("rover", fences({"keep_out": ["kitchen"]}))
        walls = space.page.server.scene._handle_from_node_name
        while "/house/fences_out" not in walls and time.monotonic() < end:
            time.sleep(0.05)
        assert "/house/fences_out" in walls and "/house/fences_in" not in walls
    finally:
        space.close()


@pytest.mark.parametrize("apart", [0.0, 0.02, 0.7])
def test_robots_in_one_place_do_not_hide_one_another(apart):
    """Story: sends a robot to another; each keeps its marker and its name on the map."""
    if chromium() is None:
        pytest.skip("no Chromium on this machine (apt install chromium): the page is not tried")
    names = ("rover", "walker", "drone")
    state = state_of(*names)
    with live(state) as (page, _, call), Browser(chromium(), 1400, 900) as browser:
        browser.open(page.link())
        browser.wait_for("document.querySelectorAll('#plan .robot').length === 3")
        for k, name in enumerate(names):
            call(state.move, name, Pose((3.0 + k * apart, 2.0, 0.0), 0.4))
        browser.wait_for(
            f"state.poses.drone[0] === {3.0 + 2 * apart} && state.poses.rover[0] === 3"
        )
        browser.frames(2)
        boxes = browser.run(
            "[...document.querySelectorAll('#plan .robot')].flatMap(g => ['circle', 'text'].map("
            "s => { const r = g.querySelector(s).getBoundingClientRect();"
            " return [s, r.left, r.top, r.right, r.bottom]; }))"
        )
        marks = [box[1:] for box in boxes if box[0] == "circle"]
        labels = [box[1:] for box in boxes if box[0] == "text"]
        centers = [((a + c) / 2, (b + d) / 2) for a, b, c, d in marks]
        width = marks[0][2] - marks[0][0]
        for k, (x, y) in enumerate(centers):
            assert all(math.dist((x, y), other) > 0.8 * width for other in centers[:k])
        for k, (left, _, right, _) in enumerate(labels):
            middle = [(one[1] + one[3]) / 2 for one in labels]
            for j in range(k):  # no two names on one line where they overlap sideways
                beside = left >= labels[j][2] - 1 or right <= labels[j][0] + 1
                assert beside or abs(middle[k] - middle[j]) > 0.6 * (labels[k][3] - labels[k][1])
        assert browser.console == []


def test_a_robot_has_the_same_color_on_the_page_as_in_pictures():
    script = resources.files("coterie_console").joinpath("data", "plan.js").read_text("utf-8")
    (colors,) = re.findall(r"const COLORS = (\[.*?\]);", script)
    assert tuple(json.loads(colors)) == ROBOT_COLORS


def test_what_a_request_names_is_marked_and_a_position_in_words_is_a_room():
    state = ConsoleState("home", ["rover"])
    state.know(small_house())
    room = next(iter(state.scene.rooms.values()))
    thing = next(one for one in state.scene.objects.values() if one.room == room.id)

    def marked(what: str, objects: tuple[str, ...] = ()) -> list:
        goal = PermitGoal("rover", "NavigateTo", what, "", objects=objects)
        request = PermitRequest("1", goal, (room.name,), "a rule", 0.0, 10.0)
        state.requests({"1": request})
        return json.loads(state.text("permits"))[0]["at"]

    assert marked("drive to (5.8, -4.2, 0.0)") == [[5.8, -4.2, 0.0]]
    assert marked("take the thing", (thing.label.top,)) == [[round(v, 2) for v in thing.box.center]]
    assert marked("look around") == []
    x, y, z = thing.box.center
    there = f"drive to ({x:.1f}, {y:.1f}, {z:.1f})"
    state.moment("goal", "rover", there, goal="to look")
    state.moment("task", "", f"anna: {there}")  # a person's words stay as they are
    told = [one["text"] for one in json.loads(state.text("timeline"))]
    assert told == [f"drive to the {room.name}", f"anna: {there}"]


def test_texts_tell_names_and_no_ids_that_mean_nothing_to_people():
    state, scene = ConsoleState("home", ["rover"]), small_house()
    box = Box((9.0, 1.0, 0.4), (1.0, 1.0, 0.8))
    scene.add_object(SceneObject("object_16", LabelBelief.of("sofa"), box, room="living"))
    state.know(scene)
    place = next(one for one in scene.places.values() if one.room == "kitchen").id
    assert state.in_words("object_16: sofa: to sit on; mug-2: mug: on the desk") == (
        "sofa: to sit on; mug: on the desk"
    )
    assert state.in_words(f"place: {place}, near object_16") == "place: kitchen, near sofa"
    assert state.in_words("bring mug-2 to object_17") == "bring mug-2 to object_17"
