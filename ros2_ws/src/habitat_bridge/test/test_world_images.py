"""Images by the rasteriser: what rays give, whatever the threads, made anew when needed."""

from __future__ import annotations

import logging
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from coterie_core.embodiment import Camera, Embodiment
from coterie_core.geometry import Pose
from coterie_fixtures.tiny_house import tiny_house
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.render import raster
from habitat_bridge.render.painter import Painter
from habitat_bridge.render.rays import RayPainter, RayScene
from habitat_bridge.render.solids import Surface, make_soup
from habitat_bridge.render.views import Image, Pillar, Shot, View
from habitat_bridge.simulator import Frame, FrameRequest, Start

EYE = Camera(name="eye", width=160, height=120, mount_height=1.2, pitch=0.2, far=9.0)
BODY = Embodiment(name="body", radius=0.2, height=1.4, cameras=(EYE,))
ALL = frozenset({"color", "depth", "semantic"})


def world(**options: object) -> EmbeddedWorld:
    settings = {"noise": DetectorNoise.none(), "look_on_arrival": False, **options}
    return EmbeddedWorld(tiny_house(), **settings)  # type: ignore[arg-type]


def at(x: float, y: float, yaw: float = 0.0) -> Start:
    return Start(pose=Pose((x, y, 0.0), yaw))


def shoot(sim: EmbeddedWorld, *channels: str) -> Frame:
    (frame,) = sim.render([FrameRequest("r", "eye", channels or tuple(ALL))])  # type: ignore[arg-type]
    return frame


def agree(drawn: Image, cast: Image) -> tuple[float, float, float]:
    """Shares of pixels with the same label, depth (1 mm, away from edges), and colour."""
    assert drawn.color is not None and drawn.depth is not None and drawn.semantic is not None
    assert cast.color is not None and cast.depth is not None and cast.semantic is not None
    high, low = (f(cast.semantic, 3) for f in (ndimage.maximum_filter, ndimage.minimum_filter))
    inner = (high == low) & (cast.semantic == drawn.semantic)
    assert inner.mean() > 0.5
    return (
        float((drawn.semantic == cast.semantic).mean()),
        float((np.abs(drawn.depth - cast.depth) <= 1e-3)[inner].mean()),
        float((drawn.color == cast.color).all(axis=-1).mean()),
    )


@pytest.mark.parametrize("seed", [1, 4, 9])
def test_the_rasteriser_draws_what_rays_meet(seed: int) -> None:
    """In generated houses: containers open and closed, things in hands and put elsewhere."""
    sim = EmbeddedWorld(
        generate_house(seed, rooms=8, floors=1 + seed % 2), look_on_arrival=False, seed=seed
    )
    contents, sensors = sim.contents, sim.imaging.sensors
    painter, rays = Painter(), RayPainter()
    rng = np.random.default_rng(seed)
    places = list(sim.place_map.places.values())
    found = []
    for turn in range(3):
        if turn == 1:
            for thing in [t for t in contents if t.is_open is not None][::2]:
                contents.set_open(thing.id, not thing.is_open)
        if turn == 2:
            items = [t for t in contents if t.kind == "item"]
            for thing in items[::3]:
                contents.take(thing.id, "r")
            for thing in items[::6]:
                spot = places[int(rng.integers(len(places)))]
                x, y, z = spot.position
                box = replace(thing.box, center=(x, y, z + thing.box.size[2] / 2.0))
                contents.put(thing.id, box, spot.room)
        soup = sensors._current()
        shots = []
        for k in range(8):
            x, y, z = places[int(rng.integers(len(places)))].position
            pitch = float(rng.uniform(-0.9, 1.2))
            camera = EYE.model_copy(update={"pitch": pitch, "hfov": 1.0 + 0.1 * k})
            yaw = float(rng.uniform(-4.0, 4.0))
            ahead = (x + 0.8 * math.cos(yaw), y + 0.8 * math.sin(yaw), z)
            robots = tuple(
                Pillar(spot, 0.25, 0.9, sim.imaging.first_robot + n)
                for n, spot in enumerate([ahead, *(place.position for place in places[::7])])
            )
            shots.append(Shot(View.of(Pose((x, y, z), yaw), camera), ALL, robots[: 2 * k]))
        drawn = painter.images(soup, shots)
        cast = rays.images(RayScene(soup), shots)
        found += [agree(a, b) for a, b in zip(drawn, cast, strict=True)]
        robot = np.concatenate([np.unique(i.semantic) for i in drawn if i.semantic is not None])
        assert (robot >= sim.imaging.first_robot).any()
    label, depth, color = np.mean(found, axis=0)
    assert label >= 0.999
    assert depth >= 0.9999
    assert color >= 0.999
    assert np.min(found) > 0.99


def test_there_are_no_gaps_between_triangles_and_none_behind_the_eye() -> None:
    """From within a closed box of many triangles every pixel meets it, at the distance it has."""
    corners = np.array([(x, y, z) for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)], float)
    faces = [(0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4),
             (2, 6, 3), (3, 6, 7), (0, 4, 2), (2, 4, 6), (1, 3, 5), (3, 7, 5)]  # fmt: skip
    color = np.full((12, 3), 200, np.uint8)
    box = Surface(corners.astype(np.float32), np.array(faces, np.uint32), color)
    soup = make_soup(box, np.full(12, 1, np.int32))
    rng = np.random.default_rng(0)
    painter = Painter(2)
    for _ in range(40):
        eye = tuple(rng.uniform(-0.95, 0.95, 3).tolist())
        camera = Camera(
            width=64, height=48, hfov=2.2, pitch=float(rng.uniform(-1.5, 1.5)), near=1e-4
        )
        view = View(eye, float(rng.uniform(-3.2, 3.2)), camera)
        (image,) = painter.images(soup, [Shot(view, ALL, ())])
        assert image.semantic is not None and image.depth is not None
        assert (image.semantic == 1).all()
        rows, cols = np.mgrid[0:48, 0:64]
        z = image.depth
        local = np.stack([(cols - 31.5) / camera.focal * z, (rows - 23.5) / camera.focal * z, z])
        points = np.einsum("ij,j...->i...", view.matrix()[:3, :3], local)
        far = np.abs(points + np.array(eye)[:, None, None]).max(axis=0)
        np.testing.assert_allclose(far, 1.0, atol=1e-5)


def test_threads_do_not_change_images() -> None:
    sim = world()
    sim.add_robot("r", BODY, at(2.0, 2.0, math.pi))
    view = View.of(sim.bodies[0].pose, EYE.model_copy(update={"width": 200, "height": 300}))
    shots = [Shot(view, ALL, (Pillar((1.0, 2.0, 0.0), 0.2, 1.0, 900),))]
    soup = sim.imaging.sensors._current()
    (alone,) = Painter(1).images(soup, shots)
    (shared,) = Painter(5).images(soup, shots)
    for one, two in ((alone.color, shared.color), (alone.depth, shared.depth)):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(alone.semantic, shared.semantic)
    assert Painter().images(soup, []) == []


def test_only_what_is_asked_for_is_made() -> None:
    sim = world()
    sim.add_robot("r", BODY, at(2.0, 2.0, math.pi))
    whole = shoot(sim)
    for channel in ("color", "depth", "semantic"):
        frame = shoot(sim, channel)
        np.testing.assert_array_equal(getattr(frame, channel), getattr(whole, channel))
        others = {"color", "depth", "semantic"} - {channel}
        assert all(getattr(frame, other) is None for other in others)


def test_an_image_is_made_again_only_when_something_in_view_has_changed() -> None:
    sim = world()
    sim.add_robot("r", BODY, at(2.0, 2.0, math.pi))
    first = shoot(sim)
    assert first.depth is not None
    with pytest.raises(ValueError, match="read-only"):
        first.depth[0, 0] = 1.0
    sim.tick(0.1)
    second = shoot(sim)
    assert second.depth is first.depth
    assert second.time > first.time
    # Behind the robot: the refrigerator opens, another robot comes.
    sim.contents.set_open("o_fridge", True)
    sim.add_robot("s", BODY, at(3.0, 2.0))
    assert shoot(sim).depth is first.depth
    # In view: a robot comes and goes, a mug is taken and put back.
    sim.bodies[1].pose = Pose((1.0, 2.0, 0.0), 0.0)
    met = shoot(sim)
    assert met.semantic is not None
    assert sim.imaging.first_robot + 1 in met.semantic
    sim.remove_robot("s")
    again = shoot(sim)
    np.testing.assert_array_equal(again.semantic, first.semantic)
    mug = sim.contents.first_instance + sim.contents.rows["o_mug"]
    box, room = sim.contents.things["o_mug"].box, sim.contents.things["o_mug"].room
    sim.contents.take("o_mug", "r")
    taken = shoot(sim)
    assert again.semantic is not None and taken.semantic is not None
    assert mug in again.semantic
    assert mug not in taken.semantic
    sim.contents.put("o_mug", box, room, "o_counter")
    np.testing.assert_array_equal(shoot(sim).semantic, first.semantic)
    # The robot itself moves a little.
    sim.bodies[0].pose = Pose((2.0, 2.01, 0.0), math.pi)
    assert shoot(sim).depth is not again.depth


def test_images_are_made_by_rays_where_the_rasterizer_is_missing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sims = [world(), world()]
    frames = []
    for sim in sims:
        sim.add_robot("r", BODY, at(2.0, 2.0, math.pi))
        sim.add_robot("s", BODY, at(1.0, 2.5))
        if sim is sims[1]:
            monkeypatch.setitem(sys.modules, "habitat_bridge.render.painter", None)
        with caplog.at_level(logging.WARNING):
            frames.append(shoot(sim))
    assert [r.message for r in caplog.records if "rays" in r.message]
    assert [sim.imaging.sensors.by_rays for sim in sims] == [False, True]
    drawn, cast = (Image(f.color, f.depth, f.semantic) for f in frames)
    assert min(agree(drawn, cast)) > 0.998


def test_the_rasterizer_is_compiled_once_and_says_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = tmp_path / "code" / "raster.c"
    source.parent.mkdir()
    source.write_bytes(raster._SOURCE.read_bytes())
    (source.parent / "__pycache__").touch()  # nothing can be kept beside the code
    monkeypatch.setattr(raster, "_SOURCE", source)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for compiler, why in (("no-such-compiler", "does not start"), ("false", "false .* failed")):
        monkeypatch.setenv("CC", compiler)
        with pytest.raises(ImportError, match=why):
            raster._library()
    monkeypatch.delenv("CC")
    with monkeypatch.context() as bare:
        bare.setenv("PATH", "")
        with pytest.raises(ImportError, match="no C compiler"):
            raster._library()
    assert raster._library().render
    assert [one.suffix for one in (tmp_path / "cache" / "coterie").iterdir()] == [".so"]
    monkeypatch.setenv("CC", "false")
    assert raster._library().render  # it is there
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"something else")
    with pytest.raises(ImportError, match="cannot be loaded"):
        raster._loaded(broken)
