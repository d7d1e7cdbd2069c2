"""From where one looks into what has a rim: over it, with a camera that sees so far down."""

import math
from dataclasses import replace

import pytest

from coterie_core.cooperation import GoTo
from coterie_core.embodiment import Camera
from coterie_core.geometry import Box, Pose
from coterie_core.observation import Detection
from coterie_fixtures.two_room_map import SHAPE, Eyes, two_rooms
from reveca_agent.house import HouseBody
from reveca_agent.room_search import LOOK_AGAIN

HEAD = Camera(hfov=math.radians(90), mount_height=1.1, pitch=0.25)
TUB = Box((2.0, 3.5, 0.3), (1.6, 0.75, 0.6))
INSIDE = (1.4, 3.4, 0.15)
"""Near the tub's end, below its rim."""
LIVING = (7.0, 2.0, 0.0)


@pytest.fixture
def body():
    """A robot with one camera that has seen a tub at the kitchen's wall."""
    scene = two_rooms()
    scene.objects.clear()
    body = HouseBody("rover", scene, replace(SHAPE, cameras=(HEAD,)))
    Eyes(body).see(Detection("bathtub", 0.9, TUB, scores={"bathtub": 0.9}))
    return body


def shown(lookout, point):
    """Tell whether the camera shows a point from a lookout, over the tub's rim."""
    x, y, _ = lookout.position
    yaw = math.atan2(lookout.faces[1] - y, lookout.faces[0] - x)
    if not HEAD.shows(Pose(lookout.position, yaw), point):
        return False
    deep, rise = TUB.top - point[2], HEAD.mount_height - point[2]
    t = deep / rise
    return TUB.contains((point[0] + t * (x - point[0]), point[1] + t * (y - point[1]), 0.3))


def test_lookouts_show_what_lies_at_the_bottom_of_a_tub(body):
    found = body.map.lookouts("kitchen")
    assert any(shown(one, INSIDE) for one in found)


def test_what_has_a_rim_is_looked_into_from_the_second_look_on(body):
    eyes = Eyes(body)
    eyes.see(places={"p1": 0.95, "p2": 0.95})
    assert body.percept().covered == ("kitchen",)
    eyes.see(at=LIVING, places={"p4": 1.0})
    body.moved(LIVING, body.time + LOOK_AGAIN + 1.0)
    eyes.see(places={"p1": 0.95, "p2": 0.95})
    assert body.percept().covered == ()
    first = body.motion(GoTo("kitchen"))
    assert first.stands[0] in [one.position for one in body.map.lookouts("kitchen")]
    assert first.faces is not None
    for _ in body.map.lookouts("kitchen")[1:]:
        body.motion(GoTo("kitchen"))
    assert body.percept().covered == ("kitchen",)


def test_a_camera_that_sees_into_nothing_looks_into_nothing():
    scene = two_rooms()
    scene.objects.clear()
    low = Camera(hfov=math.radians(60), mount_height=0.4, pitch=0.0)
    body = HouseBody("rover", scene, replace(SHAPE, cameras=(low,)))
    Eyes(body).see(Detection("bathtub", 0.9, TUB, scores={"bathtub": 0.9}))
    assert not body.map.lookouts("kitchen")
