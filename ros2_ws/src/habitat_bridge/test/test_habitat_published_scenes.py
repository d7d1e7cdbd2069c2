"""The scenes that habitat-sim is tested with: each opens in the real one, or is refused by name."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from coterie_fixtures.habitat_python import habitat_python
from coterie_world.scene import Floor, Room, SceneGraph
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.habitat.backend import Timeouts
from habitat_bridge.habitat.dataset import SceneDataset
from habitat_bridge.habitat.dataset_world import PERIOD, Progress, open_scene, settle_floors
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import FrameRequest, WorldError

REPOSITORY = next(p for p in Path(__file__).resolve().parents if (p / "pyproject.toml").exists())
FOLDER = REPOSITORY.parent / "shared" / "data" / "habitat_scenes"
PATIENT = Timeouts(start=60.0, open=60.0, call=60.0)
LONGEST = 300.0
"""Longest time that a scene may take on a busy machine, to open or to be refused [s]."""

BARE = "nobody can stand in it.*z up: give it a stage config"
REFUSED = {
    "dataset_0/new_test_stage": "up and front: expected two orthogonal directions",
    "dataset_1/new_test_stage": "up and front: expected two orthogonal directions",
    "dataset_0/stages/stage_test_glbs/glbload_test_stage0.glb": BARE,
    "dataset_0/stages/stage_test_glbs/glbload_test_stage1.glb": BARE,
    "dataset_0/stages/stage_test_glbs/glbload_test_stage2.glb": BARE,
    "scenes/plane.glb": "200 m x 200 m",
}
"""What does not open, and a word of the reason; all others do."""


def published() -> Iterator[tuple[str, str, Path | None]]:
    """Yield name in the table, scene and config: all of the data sets, stages and scenes alone."""
    for config in sorted(FOLDER.rglob("*.scene_dataset_config.json")):
        dataset = SceneDataset(config)
        for section in ("scene_instances", "stages"):
            for name in dataset.names(section):
                yield f"{config.parent.name}/{name}", name, config
    for mesh in sorted(FOLDER.rglob("*.glb")):
        if {"stages", "scenes"} & set(mesh.relative_to(FOLDER).parts):
            name = mesh.relative_to(FOLDER).as_posix().removeprefix("dataset_tests/")
            yield name, str(mesh), None


SCENES = list(published())


def test_every_scene_that_is_refused_is_there() -> None:
    if not SCENES:
        pytest.skip(f"habitat-sim's test scenes: there is no {FOLDER}")
    assert set(REFUSED) <= {name for name, _, _ in SCENES}
    assert len({name for name, _, _ in SCENES}) == len(SCENES) >= 20


@pytest.mark.slow
@pytest.mark.habitat
@pytest.mark.parametrize(
    ("name", "scene", "config"),
    SCENES or [pytest.param("", "", None, id=f"no {FOLDER}")],
    ids=None if not SCENES else [name for name, _, _ in SCENES],
)
def test_a_published_scene_opens_or_is_refused_by_name(
    name: str, scene: str, config: Path | None, caplog: pytest.LogCaptureFixture
) -> None:
    if not SCENES:
        pytest.skip(f"habitat-sim's test scenes: there is no {FOLDER}")
    python = habitat_python(__file__)
    caplog.set_level(logging.WARNING)
    begun = time.monotonic()
    options = {"noise": DetectorNoise.none(), "look_on_arrival": False, "timeouts": PATIENT}
    if name in REFUSED:
        with pytest.raises(WorldError, match=REFUSED[name]) as refused:
            open_scene(python, scene, config, **options)
        assert scene in str(refused.value)
    else:
        world = open_scene(python, scene, config, **options)
        try:
            body = EMBODIMENTS["wheels"]
            world.add_robot("r", body)
            before = world.time
            world.tick(0.1)
            (frame,) = world.render([FrameRequest("r", body.cameras[0].name)])
            assert world.place_map.places
            assert world.time == pytest.approx(before + 0.1)
            assert frame.color is not None and frame.depth is not None
            assert (frame.depth > 0.0).any(), "the camera sees the scene"
            assert world.backend.restarts == 0
        finally:
            world.close()
    took = time.monotonic() - begun
    assert took < LONGEST
    told = [record for record in caplog.records if record.name.endswith("habitat.progress")]
    assert all(scene in record.getMessage() for record in told)


def test_what_takes_long_says_so_and_at_what_it_is(caplog: pytest.LogCaptureFixture) -> None:
    assert PERIOD <= 10.0
    caplog.set_level(logging.WARNING)
    heard = threading.Event()

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "scene 'x': it opens" in record.getMessage():
                heard.set()

    logger, listener = logging.getLogger("habitat_bridge.habitat.dataset_world"), Listener()
    logger.addHandler(listener)
    try:
        with Progress("scene 'x'", period=0.01) as steps:
            steps.at("it opens")
            assert heard.wait(10.0)
        count = len(caplog.records)
        with Progress("scene 'y'", period=60.0):
            pass
        assert len(caplog.records) == count, "what takes no time says nothing"
    finally:
        logger.removeHandler(listener)


def test_a_storey_that_is_annotated_below_its_floor_goes_to_it() -> None:
    square = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)]
    floor = np.array([[[0, 0, 0.0], [4, 0, 0.0], [4, 4, 0.0]], [[0, 0, 0.0], [4, 4, 0], [0, 4, 0]]])
    table = np.array([[[1, 1, 0.8], [2, 1, 0.8], [2, 2, 0.8]]])
    for annotated, height, settled in ((-2.0, -0.79, -0.79), (-0.9, -0.79, -0.9), (5.0, 0.0, 5.0)):
        graph = SceneGraph(floors={"f": Floor("f", 0, annotated, 2.6)})
        graph.add_room(Room("r", "room", "", "f", square))
        ground = np.add(np.concatenate([floor, table]), [0.0, 0.0, height])
        notes = settle_floors(graph, ground)
        assert graph.floors["f"].elevation == pytest.approx(settled)
        assert bool(notes) is (settled != annotated)
