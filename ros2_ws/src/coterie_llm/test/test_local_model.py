"""A model in a file of this machine: found, served with a key of its own, shared, and ended."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from coterie_fixtures.endpoint import Endpoint, Status
from coterie_llm import (
    CheckFailed,
    Decided,
    Decider,
    Decision,
    Image,
    Message,
    ModelProfile,
    ModelRequest,
    NoLocalModel,
    ProfileError,
    RequestRejected,
    build_decider,
    build_model,
    load_profile,
)
from coterie_llm import local as serving
from coterie_llm.local import LocalServer, announced, running
from coterie_llm.local_model import files
from coterie_llm.local_model.files import FileTrouble, model_file, model_name
from coterie_llm.local_model.server import memory_mb

#: What the model in the box said to the questions of `ChooseRoom`, recorded by
#: COTERIE_RECORD=1 pytest ros2_ws/src/coterie_llm/test/test_local_model.py -k recorded
CASSETTE = Path(__file__).parent / "data" / "model_in_the_box.jsonl"
ASKED = ("toothbrush", "car", "bottle of wine")
INSTALLED = pytest.mark.skipif(
    not files.installed(), reason=f"no model in the box here; {files.SETUP}"
)
BOX = ModelProfile(kind="local")


class Room(BaseModel):
    """Where to look."""

    reason: str = Field(max_length=80)
    room: Literal["r1", "r2", "r3"]


class ChooseRoom(Decision[str, Room]):
    """In which of three rooms to look for a thing."""

    name = "test.choose_room"
    reply_type = Room
    max_tokens = 120

    def prompt(self, state: str) -> Sequence[Message]:
        return (
            Message.system("You guide a household robot. Rooms: r1 bathroom, r2 garage, r3 den."),
            Message.user(f"Where is the {state}?"),
        )

    def check(self, state: str, reply: Room) -> None:
        if state == "car" and reply.room != "r2":
            raise CheckFailed(f"no car fits through the door of {reply.room}; choose r2")

    def rule(self, state: str) -> Room:
        return Room(reason="the first", room="r2" if state == "car" else "r1")


# Its file


def test_a_file_is_found_and_named(tmp_path: Path) -> None:
    own = tmp_path / "Own-7B.Q4_K_M.gguf"
    own.write_bytes(b"GGUF" + bytes(100))
    assert model_file(own) == own
    assert model_name(own) == "Own-7B.Q4_K_M"


def test_what_is_no_model_is_refused_with_its_path(tmp_path: Path) -> None:
    picture = tmp_path / "model.gguf"
    picture.write_bytes(b"\x89PNG\r\n")
    with pytest.raises(FileTrouble, match=r"model\.gguf is no GGUF file"):
        model_file(picture)
    with pytest.raises(FileTrouble, match=r"nosuch\.gguf cannot be read \(No such file"):
        model_file(tmp_path / "nosuch.gguf")


def test_a_damaged_or_missing_model_in_the_box_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PACKAGE", "box_of_a_test")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(FileTrouble, match=r"not installed; run: \./coterie setup --with local"):
        model_file()
    package = tmp_path / "box_of_a_test"
    package.mkdir()
    importlib.invalidate_caches()
    (package / "__init__.py").write_text("raise ImportError('its dependencies are not here')\n")
    with pytest.raises(FileTrouble, match="cannot be read"):
        model_file()
    (package / files._NAME).write_bytes(b"GGUF cut off")
    with pytest.raises(FileTrouble, match=r"is damaged: .* delete the folder"):
        model_file()


def test_without_the_server_a_profile_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "_SERVER", "nosuch_package")
    with pytest.raises(NoLocalModel, match=r"run: \./coterie setup --with local-model"):
        build_model(ModelProfile(kind="local", context=512))


# Handed to other processes


def test_processes_find_the_server_of_their_settings_and_no_other() -> None:
    server = LocalServer(serving.identity_of(BOX), 4711, "key-of-this-run")
    env = announced([server], {})
    found = running(BOX, env)
    assert found is not None and (found.port, found.key) == (4711, "key-of-this-run")
    assert running(ModelProfile(kind="local", threads=2), env) is None
    assert running(ModelProfile(kind="local", context=2048), env) is None
    other = LocalServer(serving.identity_of(ModelProfile(kind="local", threads=2)), 4712, "b")
    both = announced([other], env)
    assert running(BOX, both) == found
    # Time-outs and budgets are the client's: one server serves them all.
    assert running(ModelProfile(kind="local", timeout_s=5.0, budget_tokens=9), env) == found


@pytest.mark.parametrize("value", ["", "no JSON", "[]", '{"x": 3}', '{"IDENTITY": {"port": "a"}}'])
def test_a_broken_variable_is_no_server(value: str) -> None:
    env = {serving.SERVERS_VARIABLE: value.replace("IDENTITY", serving.identity_of(BOX))}
    assert running(BOX, env) is None


def test_profiles_that_always_exist_need_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_profile(Path("tiny")).kind == "local"
    assert load_profile(Path("rules")) == ModelProfile()
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text("kind: rules\n")
    assert load_profile(Path("tiny.yaml")).kind == "rules"
    with pytest.raises(ProfileError, match="tinny"):
        load_profile(Path("tinny"))


def test_other_kinds_need_no_server() -> None:
    assert serving.ensure_served(ModelProfile()) is None


async def test_a_server_that_sees_no_images_is_not_taken_to_be_down() -> None:
    """llama.cpp says so with HTTP 500: asked again it would say the same."""
    picture = Image(b"\x89PNG\r\n\x1a\n" + bytes(32))
    asked = ModelRequest((Message.user("What is this?", picture),))
    refusal = Status(500, "image input is not supported - hint: you may need the mmproj")
    async with Endpoint(lambda body: refusal) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="m", max_retries=3)
        model = build_model(profile)
        for _ in range(6):  # more than open a circuit
            with pytest.raises(RequestRejected, match="image input is not supported"):
                await model.complete(asked)
        await model.aclose()
    assert len(endpoint.received) == 6


# The real one


@pytest.fixture(scope="module")
def served() -> Iterator[LocalServer]:
    """The model in the box, served for the tests of this module."""
    before = dict(os.environ)
    server = serving.ensure_served(BOX)
    assert server is not None
    yield server
    os.environ.clear()
    os.environ.update(before)


def post(server: LocalServer, key: str | None) -> int:
    body = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 1}
    request = urllib.request.Request(
        f"{server.url}/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {})},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@INSTALLED
@pytest.mark.slow
def test_the_real_model_answers_a_decision_within_its_schema(served: LocalServer) -> None:
    told: list[str] = []
    model = build_model(BOX.model_copy(update={"timeout_s": 120.0}))
    decider = Decider(model, timeout_s=240.0, on_decided=lambda name, d: told.append(d.decided_by))
    decided = asyncio.run(decider.decide(ChooseRoom(), "toothbrush"))
    assert decided.decided_by == "model", decided.reason
    assert decided.attempts == 1  # the grammar leaves no other form
    assert decided.reply.room in ("r1", "r2", "r3")
    assert decided.usage.prompt_tokens > 20 and not decided.usage.estimated
    assert told == ["model"]


def test_what_the_real_model_said_is_replayed(request: pytest.FixtureRequest) -> None:
    """Recorded replies of so weak a model: valid, asked again, or overruled, and never refused."""
    profile = ModelProfile(kind="replay", cassette=CASSETTE)
    if os.environ.get("COTERIE_RECORD") == "1":
        request.getfixturevalue("served")
        CASSETTE.unlink(missing_ok=True)
        profile = ModelProfile(kind="local", timeout_s=120.0, record_to=CASSETTE)
    decider = build_decider(profile, timeout_s=240.0)

    async def ask() -> list[Decided[Room]]:
        return [await decider.decide(ChooseRoom(), thing) for thing in ASKED]

    brush, car, wine = asyncio.run(ask())
    assert brush.decided_by == wine.decided_by == "model" and brush.attempts == 1
    assert brush.model == model_name(None)
    # Asked again with the reason of the check; that its model is weak does not move the car.
    assert car.attempts == 2 and "no car fits through the door" in car.reason
    assert car.reply.room == "r2"


@INSTALLED
@pytest.mark.slow
def test_the_real_server_is_for_who_has_its_key(served: LocalServer) -> None:
    assert post(served, served.key) == 200
    assert post(served, None) == 401
    assert post(served, "another") == 401
    assert served.key not in " ".join(Path("/proc/self/cmdline").read_text().split("\0"))


@INSTALLED
@pytest.mark.slow
def test_a_server_serves_children_too_and_ends_with_who_started_it(tmp_path: Path) -> None:
    script = """
import os, subprocess, sys
from coterie_llm import ModelProfile
from coterie_llm.local import ensure_served
profile = ModelProfile(kind="local", context=512, parallel=1)
server = ensure_served(profile)
if sys.argv[1:] != ["child"]:
    def words(pid):
        try:
            return open(f"/proc/{pid}/cmdline").read()
        except OSError:  # it has ended meanwhile
            return ""
    ours = [int(p) for p in os.listdir("/proc") if p.isdigit()]
    mine = [p for p in ours if f"--port\\0{server.port}\\0" in words(p)]
    print(server.port, *mine, flush=True)
    subprocess.run([sys.executable, __file__, "child"], check=True)
    os.kill(os.getpid(), 9)
print(server.port, flush=True)
"""
    program = tmp_path / "starts.py"
    program.write_text(script)
    env = {k: v for k, v in os.environ.items() if k != serving.SERVERS_VARIABLE}
    done = subprocess.run(
        [sys.executable, str(program)], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == -9, done.stderr
    first, second = done.stdout.splitlines()
    port, pid = first.split()
    assert second == port
    end = time.monotonic() + 30.0
    while memory_mb(int(pid)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not memory_mb(int(pid)), "the server outlived the process that started it"


@INSTALLED
@pytest.mark.slow
def test_a_file_that_cannot_be_loaded_says_so(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(1000))
    with pytest.raises(NoLocalModel, match=r"did not start: \S"):
        serving.ensure_served(ModelProfile(kind="local", file=broken))
