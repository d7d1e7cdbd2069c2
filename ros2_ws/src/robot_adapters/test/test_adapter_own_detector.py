"""A robot with no topic but those of its own driver: a saved map, and what its detector names."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("rclpy")
pytest.importorskip("vision_msgs")
pytest.importorskip("nav2_msgs")
pytest.importorskip("coterie_msgs")

from rclpy.action import ActionClient
from vision_msgs.msg import Detection3DArray

from coterie_core.skills import Detect, NavigateTo, Outcome, Place, Target
from coterie_msgs.action import Manipulate
from coterie_msgs.action import NavigateTo as NavigateToAction
from coterie_msgs.msg import Observation, SemanticMap
from coterie_ros import conversions
from coterie_ros.qos import profile
from coterie_ros.robot_driver import RobotDriver, SeenObject
from robot_adapters.node import AdapterNode

pytestmark = pytest.mark.ros


class Symbolic(RobotDriver):
    """It jumps to where it is told, and knows what lies there by name."""

    def connect(self):
        self.here = (1.0, 1.0, 0.0)
        self.seen = [SeenObject("mug", (1.5, 1.2, 0.8), size=(0.1, 0.1, 0.12), score=0.9)]

    def pose(self):
        return self.here

    def objects(self):
        return self.seen

    def drive(self, x, y, yaw):
        self.here = (x, y, yaw or 0.0)

    def look_around(self):
        self.wait(0.1)

    def place(self, label, position):
        x, y, z = position
        return {"shelf": (x, y + 0.2, z), "table": None, "stool": "there"}[label]


@pytest.mark.parametrize(
    ("label", "outcome", "put_at"),
    [
        ("shelf", Outcome.SUCCEEDED, (1.0, 1.2, 0.5)),
        ("table", Outcome.SUCCEEDED, None),
        ("stool", Outcome.FAULT, None),
    ],
)
def test_a_driver_may_tell_where_exactly_it_put_a_thing(ros, label, outcome, put_at):
    ros.add(Symbolic(namespace="/sym", context=ros.context))
    client = ActionClient(ros.node(), Manipulate, "/sym/driver/manipulate")
    ros.spin_until(client.server_is_ready)
    goal = conversions.manipulate_to_msg(Place(Target(label, (1.0, 1.0, 0.5))))
    handle = ros.result(client.send_goal_async(goal))
    told = conversions.skill_result_from_msg(ros.result(handle.get_result_async()).result.result)
    assert told.outcome is outcome, told.reason
    assert told.put_at == (None if put_at is None else pytest.approx(put_at))


def test_a_robot_without_map_topic_depth_or_tf_of_its_own(ros, tmp_path):
    floor = np.zeros((62, 82), np.uint8)  # 4 m by 3 m, walls around
    floor[1:-1, 1:-1] = 254
    Image.fromarray(floor).save(tmp_path / "floor.pgm")
    (tmp_path / "floor.yaml").write_text("{image: floor.pgm, resolution: 0.05, origin: [0, 0, 0]}")
    driver = ros.add(Symbolic(namespace="/sym", context=ros.context))
    parameters = {
        "permits": '{"team": {"otherwise": "allow"}}',
        "limits": '{"team": {"area": "anywhere"}}',
        "navigation.backend": "skills",
        "frames.tf": "tf",
        "frames.odom": "",
        "sensors.map_file": str(tmp_path / "floor.yaml"),
        "sensors.detections.topic": "driver/detections",
        "sensors.detections.type": "vision_msgs/Detection3DArray",
        "sensors.min_views": 1,
        "rooms": '[{"name": "Den", "polygon": [[0, 0], [4.1, 0], [4.1, 3.1], [0, 3.1]]}]',
    }
    node = ros.node()
    seen, maps, boxes = [], [], []
    node.create_subscription(Observation, "/sym/observation", seen.append, 10)
    node.create_subscription(SemanticMap, "/sym/prior_map", maps.append, profile("latched"))
    node.create_subscription(
        Detection3DArray, "/sym/team/camera/boxes", boxes.append, profile("detections")
    )
    adapter = ros.add(AdapterNode(namespace="/sym", context=ros.context, parameters=parameters))
    ros.wait_active(adapter)
    ros.spin_until(lambda: seen and maps, what="what the robot perceives")
    late = []  # the guard, which comes after a map that was read at once, knows of that, too
    adapter.sensors.on_map(lambda: late.append(len(maps)))
    ros.spin_until(lambda: late, what="the map that was there before")
    drive = ActionClient(node, NavigateToAction, "/sym/navigate_to")
    act = ActionClient(node, Manipulate, "/sym/manipulate")
    ros.spin_until(lambda: drive.server_is_ready() and act.server_is_ready())

    def run(client, goal):
        handle = ros.result(client.send_goal_async(goal))
        result = ros.result(handle.get_result_async()).result.result
        return Outcome(result.outcome), result.reason

    def detect(label):
        return run(act, conversions.manipulate_to_msg(Detect(label)))[0]

    # The map has places, and the rooms that a person drew before it was there.
    scene = conversions.scene_from_msg(maps[-1])
    assert list(scene.rooms) == ["den"] and scene.places
    assert {place.room for place in scene.places.values()} == {"den"}
    assert detect("mug") is Outcome.SUCCEEDED
    mugs = [d for one in map(conversions.observation_from_msg, seen) for d in one.detections]
    assert {d.label for d in mugs} == {"mug"} and mugs[0].room.id == "den"
    assert mugs[0].box.center == pytest.approx((1.5, 1.2, 0.8), abs=0.01)
    assert mugs[0].box.size == pytest.approx((0.1, 0.1, 0.12), abs=0.01)
    # The mapper gets the boxes, in a frame of the team.
    ros.spin_until(lambda: boxes, what="boxes for the mapper")
    assert boxes[-1].header.frame_id == "sym/map"
    # What is gone is not seen again, and not told again.
    driver.seen = []
    assert detect("mug") is Outcome.NOT_VISIBLE
    there = conversions.navigate_to_msg(NavigateTo(position=(2.5, 1.5, 0.0)))
    count = len(seen)
    assert run(drive, there) == (Outcome.SUCCEEDED, "")
    ros.spin_until(lambda: len(seen) > count, what="the next observation")
    last = conversions.observation_from_msg(seen[-1])
    assert last.detections == () and last.place in scene.places
    # A detector that knows nothing is another thing than one that sees nothing.
    driver.seen = None
    assert detect("mug") is Outcome.FAULT
