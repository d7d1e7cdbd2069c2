"""The worker of habitat-sim: starts or says why not, is missed when lost, leaves nothing behind."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from coterie_core.geometry import Pose
from coterie_core.skills import NavigateTo, Outcome, SkillResult
from coterie_fixtures.habitat_python import habitat_python, left_in_memory
from coterie_fixtures.tiny_house import tiny_house
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.habitat import backend as backend_module
from habitat_bridge.habitat import worker
from habitat_bridge.habitat.backend import HabitatBackend, Timeouts
from habitat_bridge.habitat.process import WorkerLost, WorkerProcess, version_of
from habitat_bridge.habitat.world import HabitatWorld
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import FrameRequest, Start, WorldError, run_skill

KITCHEN, LIVING = (2.0, 2.0, 0.0), (5.5, 2.0, 0.0)

# -- without habitat-sim: what the bridge does with a worker that is none ----------------------


def test_the_worker_imports_nothing_of_the_project_and_runs_on_python_3_9() -> None:
    folder = Path(worker.__file__).parent
    names = set()
    above = (folder.parents[1] / "__init__.py", folder.with_name("__init__.py"))
    for file in (*above, *folder.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"), feature_version=(3, 9))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0 and node.module
                names.add(node.module)
    own = {name for name in names if name.startswith(f"{worker.__name__}.")} | {worker.__name__}
    others = {name.split(".")[0] for name in names - own} - set(sys.stdlib_module_names)
    assert others == {"habitat_sim", "magnum", "msgpack", "numpy"}
    assert "pickle" not in names


@pytest.mark.parametrize(
    ("text", "numbers"), [("0.2.2a2", (0, 2, 2)), ("0.3.3", (0, 3, 3)), ("1", (1, 0, 0))]
)
def test_versions_are_read(text: str, numbers: tuple[int, int, int]) -> None:
    assert version_of(text) == numbers


def test_no_such_python() -> None:
    with pytest.raises(WorldError, match=r"no program '/no/such/python'.*habitat-sim"):
        WorkerProcess("/no/such/python")


def test_a_python_without_habitat_sim_says_so() -> None:
    with pytest.raises(WorldError, match="no working habitat-sim"):
        WorkerProcess(sys.executable, 30.0)


def _program(tmp_path: Path, text: str) -> str:
    """A program that is started instead of Python; its arguments: worker, socket, parent."""
    path = tmp_path / "python"
    path.write_text(f"#!{sys.executable}\nimport os, socket, struct, sys, time\n{text}")
    path.chmod(0o755)
    return str(path)


def test_a_program_that_ends_at_once_is_quoted(tmp_path: Path) -> None:
    program = _program(tmp_path, "sys.exit('no GPU here')")
    with pytest.raises(WorldError, match=r"ended with code 1 during hello: no GPU here"):
        WorkerProcess(program, 20.0)


def test_a_program_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    program = _program(tmp_path, "time.sleep(600)")
    start = time.monotonic()
    with pytest.raises(WorldError, match=r"no reply to hello within 0.5 s"):
        WorkerProcess(program, 0.5)
    assert time.monotonic() - start < 60.0


def test_a_program_that_talks_nonsense_is_given_up(tmp_path: Path) -> None:
    program = _program(
        tmp_path,
        "s = socket.socket(fileno=int(sys.argv[2])); s.recv(99)\n"
        "s.sendall(struct.pack('>I', 5) + b'\\xc1hell'); time.sleep(600)",
    )
    with pytest.raises(WorldError, match="no message"):
        WorkerProcess(program, 20.0)


@pytest.mark.parametrize(
    ("hello", "trouble"),
    [
        ({"protocol": 1, "habitat": "0.1.7"}, r"0.1.7 is too old: 0.2.2 or later"),
        ({"protocol": 99, "habitat": "0.3.3"}, "speaks protocol 99, expected 1"),
    ],
)
def test_an_unfit_worker_is_refused(tmp_path: Path, hello: dict[str, object], trouble: str) -> None:
    program = _program(
        tmp_path,
        "import msgpack\n"
        "s = socket.socket(fileno=int(sys.argv[2])); s.recv(99)\n"
        f"b = msgpack.packb({{'id': 1, 'ok': True, **{hello!r}}})\n"
        "s.sendall(struct.pack('>I', len(b)) + b); time.sleep(600)",
    )
    with pytest.raises(WorldError, match=trouble):
        WorkerProcess(program, 20.0)


def test_a_scene_that_ends_every_worker_is_given_up_soon(tmp_path: Path) -> None:
    program = _program(
        tmp_path,
        "import msgpack\n"
        "s = socket.socket(fileno=int(sys.argv[2])); s.recv(999)\n"
        "b = msgpack.packb({'id': 1, 'ok': True, 'protocol': 1, 'habitat': '0.3.3', 'pid': 1})\n"
        "s.sendall(struct.pack('>I', len(b)) + b); s.recv(999); sys.exit('broken mesh')",
    )
    backend = backend_module.HabitatBackend(program)
    try:
        with pytest.raises(WorldError, match=r"3 workers in a row.*during open: broken mesh"):
            backend.open("broken.glb")
        assert backend.restarts == 3
    finally:
        backend.close()


# -- with habitat-sim --------------------------------------------------------------------------


def _exists(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def _gone(pid: int, within: float = 30.0) -> bool:
    end = time.monotonic() + within
    while time.monotonic() < end:
        if not _exists(pid):
            return True
        time.sleep(0.02)
    return False


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("houses")


@pytest.fixture
def world(cache: Path) -> Iterator[HabitatWorld]:
    made = HabitatWorld(
        tiny_house(),
        habitat_python(__file__),
        cache=cache,
        noise=DetectorNoise.none(),
        look_on_arrival=False,
    )
    yield made
    made.close()


@pytest.mark.habitat
def test_a_killed_worker_is_replaced_and_knows_all_again(world: HabitatWorld) -> None:
    world.add_robot("a", EMBODIMENTS["legs"], Start(pose=Pose(KITCHEN)))
    world.add_robot("b", EMBODIMENTS["slim"], Start(pose=Pose((3.2, 2.0, 0.0))))
    world.contents.set_open("o_fridge", True)
    request = [FrameRequest("a", "front", ("depth", "semantic"))]
    (before,) = world.render(request)
    seen = world.observe("a").detections
    world.start_skill("a", NavigateTo(position=LIVING))
    for _ in range(5):
        assert world.tick(0.1) == {}
    first = world.backend.pid
    os.kill(first, signal.SIGKILL)
    assert _gone(first)
    results: dict[str, SkillResult] = {}
    while "a" not in results:  # the kernel takes a moment to collect all its threads
        results.update(world.tick(1e-4))
        time.sleep(0.01)
    assert results["a"].outcome is Outcome.FAULT
    assert "habitat worker was lost" in results["a"].reason
    assert "ended with code -9" in results["a"].reason
    assert world.backend.pid != first and world.backend.restarts == 1
    assert run_skill(world, "a", NavigateTo(position=KITCHEN)).ok
    body = world.bodies[0]
    body.pose = Pose(KITCHEN)
    (after,) = world.render(request)
    assert np.array_equal(before.semantic, after.semantic)
    assert np.allclose(before.depth, after.depth, atol=1e-4)
    assert {d.label for d in world.observe("a").detections} == {d.label for d in seen}


@pytest.mark.habitat
def test_a_hanging_worker_is_replaced(world: HabitatWorld) -> None:
    world.add_robot("a", EMBODIMENTS["legs"], Start(pose=Pose(KITCHEN)))
    world.start_skill("a", NavigateTo(position=LIVING))
    world.backend.timeouts = Timeouts(call=1.0)
    first = world.backend.pid
    os.kill(first, signal.SIGSTOP)
    world.render([FrameRequest("a", "front")])
    assert world.backend.restarts == 1
    assert _gone(first)
    result = world.tick(0.1)["a"]
    assert result.outcome is Outcome.FAULT
    assert "within 1 s) and has been started anew" in result.reason


@pytest.mark.habitat
def test_a_question_that_kills_every_worker_ends(
    world: HabitatWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend_module, "_TRIES", 2)  # fewer than by default, for the time it takes
    with pytest.raises(WorldError, match="2 workers in a row were lost over sleep"):
        world.backend.ask("sleep", 0.2, seconds=60.0)
    world.add_robot("a", EMBODIMENTS["legs"], Start(pose=Pose(KITCHEN)))


@pytest.mark.habitat
def test_what_it_cannot_do_is_said_and_costs_no_worker(world: HabitatWorld) -> None:
    with pytest.raises(WorldError, match="no object 'nothing'"):
        world.backend.place({"nothing": None})
    with pytest.raises(WorldError, match="unknown request"):
        world.backend.ask("dance")
    assert world.backend.restarts == 0


@pytest.mark.habitat
def test_nothing_is_left_behind(cache: Path) -> None:
    before = set(os.listdir("/dev/shm"))
    backend = HabitatBackend(habitat_python(__file__))
    backend.close()
    descriptors = len(os.listdir("/proc/self/fd"))
    for _ in range(2):
        world = HabitatWorld(tiny_house(), habitat_python(__file__), cache=cache)
        world.add_robot("a", EMBODIMENTS["legs"])
        world.render([FrameRequest("a", "front")])
        pid = world.backend.pid
        world.close()
        assert _gone(pid)
    assert not left_in_memory(before)
    assert len(os.listdir("/proc/self/fd")) == descriptors
    with pytest.raises(WorldError, match="has been closed"):
        world.backend.usage()


@pytest.mark.habitat
def test_the_worker_dies_with_the_bridge_even_while_it_hangs() -> None:
    python = habitat_python(__file__)
    script = (
        "import sys, time\n"
        "from habitat_bridge.habitat.backend import HabitatBackend\n"
        "b = HabitatBackend(sys.argv[1]); print(b.pid, flush=True); time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, python], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.kill(pid, signal.SIGSTOP)  # it cannot notice by itself
        parent.kill()
    assert _gone(pid)


@pytest.mark.habitat
def test_lost_workers_are_told_apart_from_refusals() -> None:
    process = WorkerProcess(habitat_python(__file__))
    try:
        with pytest.raises(WorkerLost, match=r"no reply to sleep within 0.2 s"):
            process.call("sleep", 0.2, seconds=30.0)
    finally:
        process.kill()
    assert not process.alive
