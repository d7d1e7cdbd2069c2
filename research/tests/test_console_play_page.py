"""The page of people who play: over real HTTP and websockets, and in a real browser."""

import asyncio
import contextlib
import json
import threading

import aiohttp
import pytest

from coterie_fixtures.browser import Browser, chromium
from coterie_fixtures.endpoint import Endpoint
from coterie_fixtures.oracle import Oracle
from coterie_llm import ModelProfile, build_decider, inline_data
from coterie_requests.asking import NOBODY, WordsQuestion
from research.bench.reveca.bodies import HouseholdOptions
from research.bench.reveca.household import HouseholdWorld
from research.bench.reveca.methods import WORLDS
from research.play import page as play_page
from research.play.page import PlayPage, Seat
from research.play.record import PlayError, Record, read_record
from research.play.session import PlaySession

EVIL = '<img src=x onerror="window.hacked=1">'


@pytest.fixture
def short(monkeypatch):
    """A world whose episodes end after a few steps."""
    made = lambda n: HouseholdWorld(HouseholdOptions(agents=n, horizon=9))  # noqa: E731
    monkeypatch.setitem(WORLDS, "short", made)


def make(tmp_path, people=("Ada",), agents=2, decider=None, method="reveca"):
    record = Record(world="short", method=method, seed=0, agents=agents, people=list(people))
    seats = {name: Seat(name, pace=0.0) for name in people}
    return PlayPage(PlaySession(record, tmp_path / "s.json", seats, decider), seats, port=0)


class Tab:
    """A browser tab: a websocket, and what it was told last."""

    def __init__(self, socket):
        self.socket, self.state, self.errors = socket, {}, []

    async def until(self, *phases, past=-1):
        while self.state.get("phase") not in phases or self.state["turn"] <= past:
            said = await self.socket.receive_json(timeout=60.0)
            if "error" in said:
                self.errors.append(said["error"])
                return said["error"]
            self.state = said
        return self.state

    async def say(self, **message):
        await self.socket.send_json({"turn": self.state["turn"], **message})


@contextlib.asynccontextmanager
async def served(page):
    await page.start()
    playing = asyncio.ensure_future(page.play())
    try:
        async with aiohttp.ClientSession(f"http://localhost:{page.port}") as client:
            yield client, playing
    finally:
        playing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await playing
        await page.stop()


async def test_two_people_each_with_a_link_and_a_view_of_their_own(tmp_path, short):
    page = make(tmp_path, ("Ada", "Bob"), agents=3)
    async with served(page) as (client, playing):
        tokens = {name: seat.token for name, seat in page.seats.items()}
        ada = Tab(await client.ws_connect(f"/socket?seat={tokens['Ada']}"))
        bob = Tab(await client.ws_connect(f"/socket?seat={tokens['Bob']}"))
        first = await ada.until("choose")
        assert (await bob.until("choose"))["name"] == "Bob"
        assert first["name"] == "Ada" and first["left"] == 9
        # What cannot be done is told to the tab that asked, and costs nothing.
        await ada.say(do="choose", id="fly")
        assert "cannot be done any more" in await ada.until("ended")
        await ada.say(do="say", text="x" * 501)
        assert "at most 500" in await ada.until("ended")
        for broken in ("{", "[1]", '{"do": "dance"}', '{"do": "answers"}'):
            await ada.socket.send_str(broken)
            assert await ada.until("ended")
        await ada.say(do="say", text=EVIL, to="Bob")
        await asyncio.sleep(0)
        await ada.say(do="say", text="a second click")  # of the same moment: nothing
        await bob.say(do="choose", id="wait")
        assert EVIL in [note["text"] for note in (await bob.until("choose", past=1))["chat"]]
        for turn in range(1, 9):
            for tab in (ada, bob):
                await tab.until("choose", past=turn)
                await tab.say(do="choose", id="wait")
        over = await ada.until("questions")
        assert over["questions"][0][0] == "appropriateness" and len(over["questions"]) == 4
        await bob.until("questions")
        await ada.say(do="answers", answers={"trust": 3}, comment="")
        assert "choose a number" in await ada.until("ended")
        answers = dict.fromkeys(page.session.record.asked(), 3)
        await ada.say(do="answers", answers=answers, comment="fine")
        await ada.until("thanks")
        assert read_record(tmp_path / "s.json").state == "questions"
        await bob.say(do="answers", answers=answers)
        await playing
        await ada.socket.close()
        await bob.socket.close()
    kept = read_record(tmp_path / "s.json")
    assert kept.state == "finished" and set(kept.answers) == {"Ada", "Bob"}
    assert [m.text for m in kept.messages if m.sender == "Ada"] == [EVIL]


async def test_only_who_has_a_link_and_only_own_pages(tmp_path, short):
    page = make(tmp_path)
    async with served(page) as (client, _):
        good = f"?seat={page.seats['Ada'].token}"
        async with client.get(f"/{good}") as answer:
            assert answer.status == 200
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        for path, headers in (
            ("/", {}), ("/socket?seat=guess", {}), (f"/{good}", {"Origin": "http://evil.example"}),
            (f"/{good}", {"Host": "evil.example"}),
        ):  # fmt: skip
            async with client.get(path, headers=headers) as answer:
                assert answer.status == 403, path
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await client.ws_connect(f"/socket{good}", headers={"Origin": "http://evil.example"})
        with pytest.raises(PlayError, match=f"port {page.port}: .*--port"):
            await PlayPage(page.session, page.seats, page.port).start()


async def test_a_tab_that_comes_back_finds_all_and_an_end_is_saved(tmp_path, short):
    page = make(tmp_path)
    async with served(page) as (client, playing):
        address = f"/socket?seat={page.seats['Ada'].token}"
        async with client.ws_connect(address) as socket:
            tab = Tab(socket)
            await tab.until("choose")
            await tab.say(do="say", text="hello")
            await tab.until("choose", past=1)
        async with client.ws_connect(address) as socket:
            tab = Tab(socket)
            assert (await tab.until("choose"))["chat"][0]["text"] == "hello"
            playing.cancel()
            await tab.until("ended")
    assert read_record(tmp_path / "s.json").state == "aborted"


# -- another agent's model asks the person ---------------------------------------------------------


class Asks:
    """A model that asks the person before it chooses its first plan, and else the stand-in."""

    def __init__(self):
        self.oracle, self.told = Oracle(), []

    def __call__(self, request):
        offered = [tool["function"]["name"] for tool in request.get("tools", ())]
        said = [m["content"] for m in request["messages"] if m["role"] == "tool"]
        self.told += said
        if "ask_person" in offered and not self.told:
            asked = {"question": f"Shall I? {EVIL}", "choices": ["by all means", EVIL]}
            function = {"name": "ask_person", "arguments": json.dumps(asked)}
            return {"tool_calls": [{"id": "c", "type": "function", "function": function}]}
        return self.oracle(request)


@pytest.fixture
def model():
    """A model that asks, and who puts decisions to it."""
    asks = Asks()
    with Endpoint(asks, model="m") as endpoint:
        profile = ModelProfile(
            kind="openai", base_url=endpoint.url, model="m", max_retries=0, timeout_s=120.0
        )
        asks.decider = build_decider(profile)
        yield asks


@pytest.mark.parametrize("method", ["reveca", "coela"])
async def test_a_question_is_put_to_who_is_there_and_its_answer_reaches_the_model(
    tmp_path, short, model, method
):
    page = make(tmp_path, ("Ada", "Bob"), agents=3, decider=model.decider, method=method)
    await page.start()
    async with aiohttp.ClientSession(f"http://localhost:{page.port}") as client:
        bob = Tab(await client.ws_connect(f"/socket?seat={page.seats['Bob'].token}"))
        playing = asyncio.ensure_future(page.play())
        while "question" not in bob.state:  # Ada is not there, so she is not waited for
            bob.state = await bob.socket.receive_json(timeout=60.0)
        put = bob.state["question"]
        assert put["text"] == inline_data(f"Shall I? {EVIL}") and put["asker"] not in ("Ada", "Bob")
        for odd in ({"text": 3}, {}):
            await bob.say(do="answer", number=put["number"], **odd)
            assert await bob.until("ended") == "expected words"
        await bob.say(do="answer", number=put["number"] - 1, text="too late")
        await bob.say(do="answer", number=put["number"], text="1")
        while "question" in bob.state:
            bob.state = await bob.socket.receive_json(timeout=60.0)
        for tab_of in ("Ada", "Bob"):
            page.seats[tab_of].hear({"do": "choose", "id": "wait", "turn": 1}, page.session)
        while not model.told:
            await asyncio.sleep(0.01)
        assert "by all means" in model.told[0]
        playing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await playing
    await page.stop()


async def test_where_nobody_is_the_model_is_told_at_once(tmp_path, short, model, monkeypatch):
    monkeypatch.setattr(play_page, "GONE", 0.2)
    page = make(tmp_path, decider=model.decider)
    seat = page.seats["Ada"]
    question = WordsQuestion("Bob", "", "Well?", (), 60.0)
    assert (await seat.answer(question)).reason == NOBODY
    async with served(page) as (client, _):
        while not model.told:
            await asyncio.sleep(0.01)
        assert NOBODY in model.told[0]
        async with client.ws_connect(f"/socket?seat={seat.token}") as socket:
            await socket.receive_json()
            waiting = asyncio.ensure_future(seat.answer(question))
            told = await socket.receive_json(timeout=60.0)
            assert told["question"]["text"] == "Well?"
        assert (await waiting).reason == "the person has left"


@pytest.fixture
def live(request, tmp_path, short):
    """A page that is served by a loop in a thread of its own; agents by rules, or by `model`."""
    if chromium() is None:
        pytest.skip("no Chromium on this machine (apt install chromium): the page is not tried")
    asks = request.getfixturevalue("model") if getattr(request, "param", None) else None
    page, ready, stop = make(tmp_path, decider=asks and asks.decider), threading.Event(), []
    page.asks = asks

    async def serve():
        await page.start()
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        stop.append(lambda: loop.call_soon_threadsafe(task.cancel))
        ready.set()
        try:
            while asks is not None and not page.seats["Ada"].sockets:
                await asyncio.sleep(0.01)  # it asks at once, and who is not there is not asked
            await page.play()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await page.stop()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(60.0)
    yield page
    stop[0]()
    thread.join(60.0)
    assert not thread.is_alive()


def test_in_a_browser_from_a_click_to_the_last_answer(live):
    page, program = live, chromium()
    with Browser(program, 1400, 850) as browser:
        browser.open(page.link("Ada"))
        browser.see("Nothing was said yet.")
        browser.run(f"document.getElementById('words').value = {json.dumps(EVIL)}")
        browser.press("Send")
        browser.see(f"Ada: {EVIL}")
        assert browser.run("window.hacked ?? document.querySelectorAll('img').length") == 0
        browser.press("Go to wall-cabinet-1")
        browser.wait_for("state.phase === 'choose' && state.step > 3")
        assert browser.run("document.querySelectorAll('#plan .here').length") == 1
        while True:  # what a teammate says ends a wait
            browser.press("Wait until something happens")
            browser.wait_for("['choose', 'questions'].includes(state.phase)")
            if browser.run("state.phase === 'questions'"):
                break
        browser.see("The episode is over")
        browser.run("document.querySelectorAll('input[value=\"6\"]').forEach(i => i.click())")
        browser.run("document.getElementById('comment').value = 'a pleasure'")
        browser.press("Save")
        browser.see("Your answers are saved")
        loaded = browser.run("performance.getEntriesByType('resource').map(e => e.name)")
        assert loaded and all(u.startswith(f"http://localhost:{page.port}/") for u in loaded)
        assert browser.console == []
    kept = read_record(page.session.file)
    assert kept.state == "finished" and kept.answers["Ada"]["usefulness"] == 6
    assert kept.comments["Ada"] == "a pleasure" and kept.messages[0].text == EVIL
    assert kept.decisions[1].choice.startswith("Go to wall-cabinet-1")


@pytest.mark.parametrize("live", ["model"], indirect=True)
def test_a_question_in_a_browser_is_text_in_a_dialog_with_a_field(live):
    with Browser(chromium(), 1400, 850) as browser:
        browser.open(live.link("Ada"))
        browser.see("asks you")
        assert browser.run("document.getElementById('asked').textContent") == inline_data(
            f"Shall I? {EVIL}"
        )
        assert browser.run("document.querySelectorAll('#options button').length") == 2
        assert browser.run("window.hacked ?? document.querySelectorAll('img').length") == 0
        assert browser.run("document.activeElement.id") == "answer"
        browser.run("document.getElementById('answer').value = 'as you like'")
        browser.run("document.getElementById('reply').requestSubmit()")
        browser.wait_for("!document.getElementById('question').open")
        browser.press("Wait until something happens")
        browser.wait_for("state.step > 0")
        assert browser.console == []
    assert "as you like" in live.asks.told[0]
