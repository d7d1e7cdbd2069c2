"""The annotation page as people use it: in a real browser where there is one."""

import asyncio
import json
import socket
import time

import numpy as np
import pytest
import websockets

from coterie_console.site import PageError
from coterie_console.web import WebPage
from coterie_core.geometry import Box
from coterie_fixtures.browser import Browser, chromium
from coterie_world.scene import Floor, LabelBelief, Room, SceneGraph, SceneObject, save
from research.annotate.command import default_files, open_page
from research.annotate.shapes import boxes_of
from research.annotate.widgets import ButtonList, Row

EVIL = '<img src=x onerror="window.hacked=1">'
QUERIES = f"""\
queries:
  q1: something to sit on
  q2: "{EVIL.replace('"', "'")} **bold** [x](javascript:alert(1))"
  q3: a lamp
"""


def write_map(file):
    graph = SceneGraph()
    graph.add_floor(Floor("f", 0, 0.0))
    graph.add_room(Room("r", EVIL, "study", "f", [(0, 0), (9, 0), (9, 9), (0, 9)]))
    for k, label in enumerate(["chair", EVIL, "", "🪑" * 300, "lamp"]):
        box = Box((1.5 + 1.5 * k, 2.0, 0.5), (1.0, 1.0, 1.0))
        graph.add_object(SceneObject(f"obj{k}", LabelBelief.of(label), box, room="r"))
    save(graph, file)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    write_map(folder / "m.json")
    (folder / "q.yaml").write_text(QUERIES)
    page = open_page(folder / "m.json", folder / "q.yaml", folder / "r.json", port=0)
    page.folder = folder
    yield page
    page.close()


@pytest.fixture(scope="module")
def browser(page):
    program = chromium()
    if program is None:
        pytest.skip("no Chromium on this machine (apt install chromium): the page is not tried")
    with Browser(program, 1000, 520) as browser:
        browser.open(page.page.url)
        browser.see("something to sit on")
        yield browser


def answers(page):
    file = page.folder / "r.json"
    return json.loads(file.read_text())["responses"] if file.exists() else {}


def show(page, do):
    """Do something on the page's own loop, as its callbacks do."""
    page.page.server.get_event_loop().call_soon_threadsafe(lambda: (do(), page.refresh()))


def until(true, within=60.0):
    end = time.monotonic() + within
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_next_query_then_an_object_of_the_list(page, browser):
    browser.press("Next")
    browser.see("2 of 3")
    browser.press("lamp · obj4")
    browser.see("1 of 3 answered")
    assert answers(page) == {"q2": ["obj4"]}
    browser.press("Undo")
    browser.see("0 of 3 answered")
    assert answers(page) == {}


def test_a_click_on_a_box_and_that_nothing_fits(page, browser):
    browser.press("First unanswered")
    browser.see("something to sit on")
    (client,) = page.page.server.get_clients().values()
    box, told = boxes_of(page.view.shapes, ["obj0"]).centers[0], []
    client.camera.on_update(lambda camera: told.append(camera.look_at.copy()))
    show(page, lambda: page.look("obj0"))
    until(lambda: any(np.allclose(at, box, atol=0.05) for at in told))  # the browser's own word
    browser.frames(2)
    middle = browser.run(
        "(() => { const r = document.querySelector('canvas').getBoundingClientRect();"
        " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
    )
    browser.click(*middle)
    until(lambda: answers(page) == {"q1": ["obj0"]})
    browser.press("No object fits")
    browser.see("No object of the map fits")
    assert answers(page) == {"q1": []}


def test_text_of_maps_and_files_stays_text_and_nothing_comes_from_elsewhere(page, browser):
    show(page, lambda: (page.session.go("q2"), page.toggle("obj1")))
    browser.see("<img src=x onerror='window.hacked=1'> **bold**")  # the query
    browser.see('<img src=x onerror="window.hacked=1"> 100 %')  # the object's details
    assert browser.run("window.hacked") is None
    assert browser.run("document.querySelectorAll('img[src=x], a[href^=javascript]').length") == 0
    loaded = browser.run("performance.getEntriesByType('resource').map(e => e.name)")
    assert [u for u in loaded if not u.startswith((page.page.url, "data:", "blob:"))] == []
    assert browser.console == []


def test_what_others_save_appears(page, browser):
    (page.folder / "r.json").write_text('{"responses": {"q1": ["ghost"], "q3": []}}')
    browser.see("the map has no ghost")
    browser.see("2 of 3 answered")


def test_other_pages_of_the_browser_may_not_connect(page):
    async def connect(origin):
        address = page.page.url.replace("http", "ws").replace("localhost", "127.0.0.1")
        async with websockets.connect(address, origin=origin):
            return True

    with pytest.raises(websockets.exceptions.InvalidStatus, match="403"):
        asyncio.run(connect("http://elsewhere.example"))
    assert asyncio.run(connect(page.page.url))


def test_a_click_means_the_row_that_was_seen():
    page, pressed = WebPage("rows", port=0), []
    rows = ButtonList(page.server.gui, 2, lambda react: react, pressed.append)
    rows.show(["a", "b", "c"], Row)
    a, b = rows._widgets.values()
    rows.show(["b", "c"], Row)  # the list has moved up while the person clicks
    assert a._impl.removed and not b._impl.removed
    for react in b._impl.update_cb:
        react(None)
    assert pressed == ["b"] and list(rows.page) == ["b", "c"]
    rows.show(["c", "c"], Row)
    assert len(rows._widgets) == 2
    page.close()


def test_ports_are_asked_for_and_given_back(capfd):
    page = WebPage("one", port=0)
    port = page.server.get_port()
    with pytest.raises(PageError, match=f"port {port}: .*--port"):
        WebPage("two", port=port)
    page.close()
    with socket.create_server(("127.0.0.1", port)):
        pass
    assert capfd.readouterr().out == ""


def test_files_of_a_data_set_are_found(tmp_path):
    assert default_files(tmp_path / "semantic_maps" / "a.json") == (
        tmp_path / "queries.yaml",
        tmp_path / "responses" / "a.json",
    )
    assert default_files(tmp_path / "a.json")[1] == tmp_path / "a.responses.json"
    with pytest.raises(PageError, match=r"none\.json"):
        open_page(tmp_path / "none.json", None, None, 0)
