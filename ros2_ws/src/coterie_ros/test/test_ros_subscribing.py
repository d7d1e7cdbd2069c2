"""A topic that floods: it is cut to its rate unread, and others are heard."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from sensor_msgs.msg import Image
from std_msgs.msg import String

from coterie_ros.agent_node import AgentNode
from coterie_ros.qos import profile

pytestmark = pytest.mark.ros
RATE = 20.0


class Eye(AgentNode):
    """Looks at images, of which reading one takes a while, and listens to words."""

    def on_start(self) -> None:
        self.read: list[str] = []
        self.heard: list[str] = []
        self.subscribe(Image, "images", "sensor_data", self.read.append,
                       convert=self.convert, rate=RATE)  # fmt: skip
        self.subscribe(String, "words", "messages", lambda m: self.heard.append(m.data))

    def convert(self, message: Image) -> str:
        time.sleep(0.01)
        return str(message.encoding)


def test_a_flood_is_cut_to_the_rate_before_it_is_read(ros):
    eye = ros.add(Eye("eye", context=ros.context))
    ros.wait_active(eye)
    node = ros.node()
    images = node.create_publisher(Image, "images", profile("sensor_data"))
    words = node.create_publisher(String, "words", profile("messages"))
    ros.wait_for_matched(images, words)
    image = Image(width=64, height=48, encoding="rgb8", step=192, data=bytes(9216))
    # What comes at once, as after a pause of the reader, is no flood.
    begin = time.monotonic()
    for _ in range(5):
        images.publish(image)
    ros.spin_until(lambda: eye.read, what="an image")
    assert eye.diagnostics.counter("images.flood") == 0
    for k in range(400):
        images.publish(image)
        ros.spin(0.001)
        if k == 200:
            words.publish(String(data="hello"))
    ros.spin_until(lambda: eye.heard, what="the word in the flood")
    took = time.monotonic() - begin
    assert 2 <= len(eye.read) <= RATE * (1.0 + took) + 1 and set(eye.read) == {"rgb8"}
    assert eye.diagnostics.counter("images.flood") > 100
