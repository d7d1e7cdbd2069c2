"""Observations from rendered depth, grids and tf, compared with what the simulator itself says."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from coterie_core.detections import BoxDetection, ImageDetection
from coterie_core.geometry import Box, Pose
from coterie_core.transforms import TransformBuffer
from coterie_fixtures.drawn_scenes import COLS, INTRINSICS, ROWS, looking, view
from coterie_fixtures.sensed_house import BODY, SensedHouse
from coterie_world.perception.frame_join import Boxes, DepthImage
from coterie_world.perception.registration import CameraModel
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject, merge
from robot_adapters.sensing.objects import FoundBox, Looks, Tracks
from robot_adapters.sensing.observer import Observer, SensingError, SensingSettings
from robot_adapters.sensing.plane import MapPose
from robot_adapters.sensing.seen import Sight


@pytest.fixture(scope="module")
def house() -> SensedHouse:
    return SensedHouse(5)


def start(house: SensedHouse, **settings: object) -> Observer:
    return Observer(SensingSettings(radius=BODY.radius, **settings), house.transforms)


def home_of(house: SensedHouse):
    """A place of the first floor with many neighbors: much is in view from there."""
    links = [k for pair in house.world.place_map.links for k in pair]
    places = house.world.place_map.places
    first = house.world.house.floors[0].id
    return places[max((k for k in places if places[k].floor == first), key=links.count)].position


def named_rooms(house: SensedHouse):
    return list(house.world.truth().rooms.values())


def test_a_turn_on_the_spot_shows_what_the_simulators_panorama_shows(house):
    observer = start(house)
    observer.feed_rooms(named_rooms(house))
    home = home_of(house)
    house.stand(Pose(home, 0.0), 1.0)
    assert observer.feed_grid(house.grid())
    end = house.turn(observer, home, 2.0)
    mine = observer.observation("r", 3, end)
    house.world.look_around(house.body)
    theirs = house.world.observe("r")
    assert (mine.robot, mine.step, mine.time) == ("r", 3, end)
    assert mine.room == theirs.room
    assert mine.pose.position == pytest.approx(home)
    assert math.dist(observer.scene().places[mine.place].position, home) < 2.0
    assert mine.seen[mine.place] == 1.0
    assert len(mine.seen) > 1
    # Each thing of some size that the perfect detector reports is reported, about where it is.
    big = [d for d in theirs.detections if max(d.box.size) > 0.3 and d.distance < 3.5]
    assert big
    for thing in big:
        same = [d for d in mine.detections if d.label == thing.label]
        assert any(math.dist(d.box.center, thing.box.center) < 1.0 for d in same), thing
    known = {t.label.top for t in house.world.truth().objects.values()}
    assert {d.label for d in mine.detections} <= known


def test_a_sliver_is_not_told_as_furniture(house):
    observer = start(house)
    home = home_of(house)
    house.stand(Pose(home, 0.0), 50.0)
    observer.feed_grid(house.grid())
    x, y, z = home
    flat = (0.0, 0.0, 0.0, 1.0)
    boxes = [
        BoxDetection((x + 1.0, y, z + 0.8), flat, (0.03, 0.01, 0.26), {"console table": 0.9}),
        BoxDetection((x - 1.0, y, z + 0.4), flat, (0.35, 1.0, 0.8), {"console table": 0.9}),
        BoxDetection((x, y + 1.0, z + 0.8), flat, (0.02, 0.01, 0.15), {"spoon": 0.9}),
    ]
    for _ in range(2):
        observer.add_boxes("head", Boxes(tuple(boxes), observer.settings.names.map, 50.0), 50.0)
    told = {
        (d.label, round(d.box.center[0] - x)) for d in observer.observation("r", 0, 50.0).detections
    }
    assert told == {("console table", -1), ("spoon", 0)}


def along_the_camera(mask: ImageDetection, depth, model: CameraModel) -> BoxDetection:
    """The box along the camera's axes about what a mask shows, as many detectors in space give."""
    u, v, width, height = mask.box
    rows, cols = np.nonzero(mask.mask)
    z = depth[v : v + height, u : u + width][rows, cols]
    fx, fy, cx, cy = model.intrinsics
    points = np.stack([(cols + u + 0.5 - cx) / fx * z, (rows + v + 0.5 - cy) / fy * z, z])
    low, high = points.min(axis=1).astype(float), points.max(axis=1).astype(float)
    middle, size = tuple((low + high) / 2.0), tuple(high - low)
    return BoxDetection(middle, (0.0, 0.0, 0.0, 1.0), size, mask.scores)


@pytest.mark.parametrize("turned", [0.0, 0.3])
def test_depth_narrows_boxes_that_stand_as_the_camera_does(turned):
    """A table seen over its corner; the robot's map may be turned against the team's."""
    table = ((2.0, 1.2, 0.0), (3.2, 2.0, 0.75))
    pose = looking(0.6, 0.0, 1.0, 0.7)
    frame, found = view({"floor": ((-5, -5, -0.1), (9, 9, 0)), "table": table}, pose)
    (mask,) = (one for one in found if one.label == "table")
    model = CameraModel((COLS, ROWS), INTRINSICS)
    box = along_the_camera(mask, frame.depth, model)
    where = MapPose(0.4, -0.2, turned)
    sizes = []
    # With depth of the moment, without any, and so late that only later depth is there.
    for depth in ([1.0], [], [1.5]):
        transforms = TransformBuffer()
        observer = Observer(SensingSettings(map_pose=where, min_views=1), transforms)
        c, s = math.cos(-turned), math.sin(-turned)
        turn = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
        eye = turn @ pose  # all is turned about the origin of the robot's map
        transforms.add("map", "odom", (0, 0, 0), (0, 0, 0, 1), 1.0)
        transforms.add("odom", "base_link", (0, 0, 0), (0, 0, 0, 1), 1.0)
        rotation = tuple(Rotation.from_matrix(eye[:3, :3]).as_quat())
        transforms.add("base_link", "eye", tuple(eye[:3, 3]), rotation, 0.0, fixed=True)
        observer.feed_info("head", model)
        for time in depth:
            observer.add_depth("head", DepthImage(frame.depth, "eye", time), time)
        observer.add_boxes("head", Boxes((box,), "eye", 1.0), 1.0)
        (seen,) = observer.observation("r", 0, 1.0).detections
        low, high = seen.box.axis_aligned()
        sizes.append(np.subtract(high, low))
    assert sizes[0][:2] == pytest.approx([1.2, 0.8], abs=0.15)
    assert (sizes[1][:2] > 1.5).all()
    assert sizes[2] == pytest.approx(sizes[1])


def test_neighbors_tell_their_room_only_when_they_were_seen(house):
    observer = start(house)
    observer.feed_rooms(named_rooms(house))
    home = home_of(house)
    house.stand(Pose(home, 0.0), 100.0)
    observer.feed_grid(house.grid())
    blind = observer.observation("r", 0, 100.0)
    assert blind.neighbours
    assert all(view.room is None for view in blind.neighbours)
    assert set(blind.seen) == {blind.place}
    end = house.turn(observer, home, 101.0)
    seeing = observer.observation("r", 1, end)
    assert {v.id for v in seeing.neighbours} == {v.id for v in blind.neighbours}
    here = observer.scene().places[seeing.place].position
    for place in seeing.neighbours:
        truth = house.world.room_view(place.position)
        assert place.room == (truth if place.id in seeing.seen else None)
        assert place.distance >= math.dist(place.position, here) - 0.01


@pytest.mark.parametrize("later", [10.0, 60.0])
def test_what_was_seen_on_the_way_is_in_the_observation_at_its_end_unless_it_was_long_ago(
    house, later
):
    observer = start(house)
    home = home_of(house)
    house.stand(Pose(home, 0.0), 200.0)
    observer.feed_grid(house.grid())
    end = house.turn(observer, home, 201.0) + later
    house.stand(Pose(home, 1.0), end)  # nothing more comes from the camera
    seen = observer.observation("r", 0, end)
    assert bool(seen.detections) == (len(seen.seen) > 1) == (later < 30.0)


def test_what_was_seen_once_does_not_count_as_seen_again(house):
    observer = start(house)
    home = home_of(house)
    house.stand(Pose(home, 0.0), 700.0)
    observer.feed_grid(house.grid())
    end = house.turn(observer, home, 701.0)
    first = observer.observation("r", 0, end)
    assert first.detections and len(first.seen) > 1
    house.stand(Pose(home, 1.0), end + 5.0)
    blind = observer.observation("r", 1, end + 5.0)
    assert blind.detections == ()
    assert set(blind.seen) == {blind.place}
    # Seen again it is told again, as the same thing.
    end = house.turn(observer, home, end + 6.0)
    again = observer.observation("r", 2, end)
    assert {d.label for d in again.detections} >= {d.label for d in first.detections}


CUP = BoxDetection((1.0, 0.0, 0.8), (0.0, 0.0, 0.0, 1.0), (0.08, 0.08, 0.1), {"cup": 0.9})


def cups_seen(house: SensedHouse, times: int, first: float) -> tuple[Observer, float]:
    """An observer whose detector told of a cup in so many images; and the latest one's time."""
    observer = start(house)
    for k in range(times):
        house.stand(Pose(home_of(house), 0.0), first + 0.25 * k)
        found = Boxes((CUP,), observer.settings.names.map, first + 0.25 * k)
        observer.add_boxes("head", found, first + 0.25 * k)
    return observer, first + 0.25 * (times - 1)


def test_what_a_single_image_shows_is_not_told(house):
    observer, end = cups_seen(house, 1, 800.0)
    assert observer.observation("r", 0, end).detections == ()
    observer, end = cups_seen(house, 2, 801.0)
    assert [d.label for d in observer.observation("r", 0, end).detections] == ["cup"]


def furniture(label: str, box: Box, **also: float) -> SceneObject:
    belief = LabelBelief({label: 1.0, **also})
    return SceneObject(f"{label}-1", belief, box, kind="furniture")


@pytest.mark.parametrize(
    ("score", "view", "told"),
    [
        # A part of the sofa is the sofa, whatever the robot's map is turned by.
        ({"sofa": 0.8}, Box((1.4, 0.0, 0.4), (0.5, 0.5, 0.8)), "sofa"),
        # Misnamed as what the map holds for possible, or within another solid thing.
        ({"bench": 0.8}, Box((1.4, 0.0, 0.4), (0.5, 0.5, 0.8)), "sofa"),
        ({"wardrobe": 0.8}, Box((1.4, 0.0, 0.4), (0.5, 0.5, 0.7)), "sofa"),
        # A cup that lies on it, and a sofa somewhere else, are themselves.
        ({"cup": 0.8}, Box((1.4, 0.0, 0.4), (0.1, 0.1, 0.1)), None),
        ({"sofa": 0.8}, Box((4.0, 0.0, 0.4), (0.5, 0.5, 0.8)), None),
    ],
)
def test_a_part_of_furniture_of_the_teams_map_is_told_as_the_whole(house, score, view, told):
    where = MapPose(3.0, -1.0, 0.7)
    observer = start(house, map_pose=where, min_views=1)
    sofa = Box((2.0, 0.0, 0.4), (1.9, 0.9, 0.8))
    scene = SceneGraph()
    scene.add_object(furniture("sofa", sofa, bench=0.3))
    observer.feed_team_map(scene)
    house.stand(Pose(home_of(house), 0.0), 830.0)
    own = where.box_to_robot(view)
    turn = (0.0, 0.0, math.sin(own.yaw / 2.0), math.cos(own.yaw / 2.0))
    seen = BoxDetection(own.center, turn, own.size, score)
    observer.add_boxes("head", Boxes((seen,), observer.settings.names.map, 830.0), 830.0)
    (found,) = observer.observation("r", 0, 830.0).detections
    assert found.label == (told or next(iter(score)))
    assert found.box.center == pytest.approx(sofa.center if told else view.center, abs=0.01)
    assert found.fused == bool(told)
    if told:
        assert found.box == sofa and found.scores["bench"] == pytest.approx(0.3 / 1.3)


def test_two_views_of_one_piece_of_the_teams_map_are_told_as_one(house):
    observer = start(house, map_pose=MapPose(), min_views=1)
    scene = SceneGraph()
    scene.add_object(furniture("sofa", Box((2.0, 0.0, 0.4), (1.9, 0.9, 0.8))))
    observer.feed_team_map(scene)
    house.stand(Pose(home_of(house), 0.0), 840.0)
    ends = tuple(
        BoxDetection((x, 0.0, 0.4), (0.0, 0.0, 0.0, 1.0), (0.2, 0.5, 0.8), {"sofa": 0.8})
        for x in (1.3, 2.7)
    )
    observer.add_boxes("head", Boxes(ends, observer.settings.names.map, 840.0), 840.0)
    (found,) = observer.observation("r", 0, 840.0).detections
    assert len(observer.objects.items) == 2
    assert found.fused and found.distance == min(t.distance for t in observer.objects.items)


def test_what_the_hand_has_taken_is_not_told_any_more(house):
    observer, end = cups_seen(house, 3, 810.0)
    observer.work(end)
    observer.objects.drop("mug", CUP.center)
    assert len(observer.objects.items) == 1  # another thing
    observer.objects.drop("cup", CUP.center)
    assert observer.observation("r", 0, end).detections == ()


def test_in_view_is_what_images_show_now_and_not_what_was_seen_before(house):
    observer, end = cups_seen(house, 2, 820.0)
    observer.work(end)
    assert observer.in_view(819.0) == {"cup"}
    assert observer.in_view(end + 0.1) is None
    for later in (1.0, 1.5):
        assert observer.in_view(end + 0.1) is None
        house.stand(Pose(home_of(house), 0.0), end + later)
        empty = Boxes((), observer.settings.names.map, end + later)
        observer.add_boxes("head", empty, end + later)
        observer.work(end + later)
    assert observer.in_view(end + 0.1) == set()


def test_all_is_told_in_the_teams_map(house):
    # By a quarter turn: boxes stand along the team's axes, and are the same ones then.
    where = MapPose(5.0, 2.0, math.pi / 2.0)
    plain, turned = start(house), start(house, map_pose=where)
    home = home_of(house)
    end = 0.0
    for k, observer in enumerate((plain, turned)):
        house.stand(Pose(home, 0.0), 300.0)
        observer.feed_grid(house.grid())
        end = house.turn(observer, home, 301.0 + 0.001 * k)
    a, b = plain.observation("r", 0, end), turned.observation("r", 0, end)
    assert b.pose.position == pytest.approx(where.to_team(a.pose.position))
    assert b.pose.yaw == pytest.approx(a.pose.yaw + math.pi / 2.0)
    assert [d.label for d in a.detections] == [d.label for d in b.detections]
    for one, other in zip(a.detections, b.detections, strict=True):
        assert other.box.center == pytest.approx(where.to_team(one.box.center), abs=1e-3)
    back = where.pose_to_robot(where.pose_to_team(a.pose))
    assert back.position == pytest.approx(a.pose.position)


def test_without_a_pose_there_is_no_observation_and_the_reason_is_told(house):
    lost = Observer(SensingSettings(), TransformBuffer())
    with pytest.raises(SensingError, match="nothing is known of 'map'"):
        lost.observation("r", 0, 1.0)
    house.stand(Pose((1.0, 1.0, 0.0), 0.0), 400.0)
    observer = start(house)
    with pytest.raises(SensingError, match=r"stale.*7\.0 s ago"):
        observer.observation("r", 0, 407.0)
    unplaced = start(house, map_pose=None)
    with pytest.raises(SensingError, match="in_team_map"):
        unplaced.observation("r", 0, 400.0)


def test_without_a_map_the_pose_and_things_are_told_but_no_place(house):
    observer = start(house)
    end = house.turn(observer, home_of(house), 500.0)
    seen = observer.observation("r", 0, end)
    assert (seen.place, seen.neighbours, seen.seen) == ("", (), {})
    assert seen.detections
    assert any("no map has come" in text for text in observer.problems())


@pytest.mark.parametrize("frame", ["odom", "/other_robot/map", ""])
def test_a_grid_in_another_frame_is_no_map_of_the_robot(house, frame):
    observer = start(house)
    grid = replace(house.grid(), frame=frame, topic="/porter/grid")
    assert not observer.feed_grid(grid) and not observer.map.floors
    (told,) = observer.problems()
    assert told.startswith("/porter/grid is not used") and "sensors.map" in told
    assert f"frame {frame!r}" in told and "'map'" in told and "frames.map" in told
    assert observer.feed_grid(replace(grid, frame="/map")) and not observer.problems()


def test_a_wall_hides_what_is_behind_it(house):
    """Each place that is claimed has a free line of sight in the simulator's own geometry."""
    observer = start(house)
    observer.feed_rooms(named_rooms(house))
    observer.feed_grid(house.grid())
    time, claims = 600.0, 0
    first = house.world.house.floors[0].id
    places = [p for p in house.world.place_map.places.values() if p.floor == first]
    for place in places[:4]:
        time = house.turn(observer, place.position, time + 40.0)
        claimed = observer.observation("r", 0, time)
        eye = np.array([*place.position[:2], place.position[2] + 1.2])
        for name in set(claimed.seen) - {claimed.place}:
            spot = np.array(observer.scene().places[name].position)
            heights = spot + np.array([(0, 0, h) for h in np.linspace(0.05, 1.4, 12)])
            targets = (heights - eye).astype(np.float32)
            far, _ = house.world.imaging.sensors.meets((eye[0], eye[1], eye[2]), targets)
            assert (far > 0.9).any(), (place.id, name)
            claims += 1
    assert claims > 5


def test_two_robots_that_know_parts_of_a_floor_tell_of_the_same_rooms(house):
    """Each parts its own map into regions; the team's map joins them, and both call them so."""
    home = home_of(house)
    house.stand(Pose(home, 0.0), 200.0)
    whole, part = (start(house, region_prefix=f"{name}_") for name in ("ann", "bob"))
    grid = house.grid()
    column = int((home[0] - grid.origin[0]) / grid.cell)
    values = grid.values.copy()
    # Bob has not seen what lies beyond 2 m of where he stands, on one side.
    values[:, min(column + int(2.0 / grid.cell), values.shape[1]) :] = -1
    whole.feed_grid(grid)
    part.feed_grid(replace(grid, values=values))
    mine, theirs = whole.found_scene(), part.found_scene()
    team, report = merge(mine, theirs)
    assert len(theirs.rooms) > 1
    joined = [id_ for id_ in theirs.rooms if report.rooms[id_] in mine.rooms]
    assert len(joined) >= len(theirs.rooms) - 1  # a sliver at the edge may be one of its own
    for observer in (whole, part):
        observer.feed_team_map(team)
    here = [observer.observation("r", 0, 200.0).room for observer in (whole, part)]
    assert here[0] == here[1] and here[0].id in team.rooms
    assert part.found_scene().rooms.keys() == theirs.rooms.keys()


def test_what_one_image_showed_is_worth_as_many_images_again():
    looks, found = Looks(2), Tracks(Sight(), min_views=2)
    assert not looks.heard(0.0)
    looks.add(1.0)
    looks.add(1.5)
    assert looks.heard(1.5) and looks.enough(1.0) and not looks.enough(1.2)
    assert not looks.enough(1.0, twice=True), "who looks again sees four images"
    mug = FoundBox({"mug": 0.9}, Box((1.0, 0.0, 0.8), (0.1, 0.1, 0.1)), 1.0)
    found.add([mug], 1.5)
    assert found.unconfirmed(1.0) and not found.unconfirmed(1.6)
    found.add([mug], 2.0)
    assert not found.unconfirmed(1.0)
