"""Where a hand lets go: on a surface of the map, else where its kind usually has one."""

from __future__ import annotations

import math

import pytest

from coterie_core.detections import RgbdFrame
from coterie_core.geometry import Box, Pose, Vec3
from coterie_core.skills import Outcome, Target
from coterie_fixtures.drawn_scenes import pitched, view
from coterie_world.scene import Receptacle
from robot_adapters.backends.goals import Ended
from robot_adapters.backends.support_finder import SupportFinder
from robot_adapters.sensing.height_map import HeightMap, TeamHeightMap
from robot_adapters.sensing.plane import MapPose

pytestmark = pytest.mark.quick

FLOOR = ((-5.0, -5.0, -0.1), (5.0, 5.0, 0.0))
SEAT = Box((1.2, 0.0, 0.26), (0.8, 1.2, 0.52))
BACK = Box((1.5, 0.0, 0.45), (0.2, 1.2, 0.9))
SOFA = Box((1.2, 0.0, 0.45), (0.8, 1.2, 0.9))
CUP = Box((0.0, 0.0, 0.0), (0.08, 0.08, 0.1))


class Map:
    """A robot at the origin that saw what is drawn, and what the team's map tells it."""

    def __init__(self, *drawn: Box, objects: list[tuple[str, str, Box]]) -> None:
        boxes = {f"box#{k}": box.axis_aligned() for k, box in enumerate(drawn)}
        self._heights, self._objects = HeightMap(), objects
        frame, _ = view({"floor": FLOOR, **boxes}, pitched(0.0, 0.0, 1.2, 0.0, 0.7), time=1.0)
        assert isinstance(frame, RgbdFrame)
        self._heights.add(frame)
        self.told: dict[str, tuple[Receptacle, ...]] = {}

    def objects(self, radius: float) -> list[tuple[str, str, Box]]:
        return self._objects

    def surfaces(self, id_: str) -> tuple[Receptacle, ...]:
        return self.told.get(id_, ())

    def pose(self) -> Pose:
        return Pose((0.0, 0.0, 0.0))

    @property
    def height_map(self) -> TeamHeightMap:
        return TeamHeightMap(self._heights, MapPose(0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def put(where: Map, label: str, at: Vec3, id_: str = "s", reach: float = 2.0) -> Vec3:
    target = Target(label=label, position=at, instance=id_)
    return SupportFinder(where, reach).point(target, CUP)  # type: ignore[arg-type]


def level(box: Box, z: float, share: float = 0.9) -> Receptacle:
    x, y, _ = box.center
    wide, deep, _ = box.size
    return Receptacle(f"level {z}", Box((x, y, z), (share * wide, share * deep, 0.0)), False, 1e-4)


def test_a_seat_of_any_height_bears_where_the_map_has_it() -> None:
    where = Map(SEAT, BACK, objects=[("s", "sofa", SOFA)])
    where.told["s"] = (level(Box((1.1, 0.0, 0.0), (0.6, 1.2, 0.0)), 0.52),)
    x, y, z = put(where, "sofa", (1.1, 0.2, 0.45))
    assert z == pytest.approx(0.52, abs=0.02) and math.dist((x, y), (1.1, 0.2)) < 0.1


def test_what_the_robot_sees_there_counts_more_than_the_map() -> None:
    vase = Box((1.1, 0.2, 0.67), (0.12, 0.12, 0.3))
    where = Map(SEAT, vase, objects=[("s", "sofa", SOFA)])
    where.told["s"] = (level(SEAT, 0.5),)
    x, y, z = put(where, "sofa", (1.1, 0.2, 0.5))
    assert z == pytest.approx(0.52, abs=0.02) and math.dist((x, y), (1.1, 0.2)) > 0.08


def test_of_the_boards_that_the_map_has_the_one_that_is_meant() -> None:
    shelf, low = Box((1.2, 0.0, 0.6), (0.5, 1.0, 1.2)), Box((1.2, 0.0, 0.2), (0.5, 1.0, 0.4))
    where = Map(low, objects=[("s", "shelf", shelf)])
    where.told["s"] = (level(shelf, 0.4), level(shelf, 0.8))
    assert put(where, "shelf", (1.2, 0.0, 0.45))[2] == pytest.approx(0.4, abs=0.02)


def test_without_a_surface_of_the_map_its_kind_tells_where_to_look() -> None:
    where = Map(SEAT, BACK, objects=[("s", "sofa", SOFA)])
    assert put(where, "sofa", (1.1, 0.0, 0.45))[2] == pytest.approx(0.52, abs=0.02)


def test_nothing_is_let_go_where_nothing_is_seen_or_out_of_reach() -> None:
    gone = Map(objects=[("s", "table", Box((1.2, 0.0, 0.4), (0.8, 0.8, 0.8)))])
    gone.told["s"] = (level(Box((1.2, 0.0, 0.4), (0.8, 0.8, 0.8)), 0.8),)
    with pytest.raises(Ended) as ended:
        put(gone, "table", (1.2, 0.0, 0.8))
    assert ended.value.result.outcome is Outcome.NOT_VISIBLE
    far = Map(SEAT, objects=[("s", "bench", SEAT)])
    far.told["s"] = (level(SEAT, 0.52),)
    with pytest.raises(Ended) as ended:
        put(far, "bench", (1.2, 0.0, 0.52), reach=0.5)
    assert ended.value.result.outcome is Outcome.OUT_OF_REACH
