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


class Ear(AgentNode):
    """Listens to words; one of many in a process."""

    def __init__(self, name: str, context) -> None:
        self.heard: list[str] = []
        super().__init__(name, context=context, light=True)

    def on_start(self) -> None:
        self.subscribe(String, "words", "messages", lambda m: self.heard.append(m.data))


def test_many_nodes_of_a_process_subscribe_once_and_each_hears_all(ros):
    ears = [ros.add(Ear(f"ear_{k}", ros.context)) for k in range(3)]
    for ear in ears:
        ros.wait_active(ear)
    node = ros.node()
    words = node.create_publisher(String, "words", profile("messages"))
    ros.wait_for_matched(words)
    assert node.count_subscribers("words") == 1
    words.publish(String(data="one"))
    ros.spin_until(lambda: all(ear.heard == ["one"] for ear in ears), what="the first word")
    # Who had the subscription goes; another one takes it over.
    ears[0].trigger_deactivate()
    two = String(data="two")
    ros.spin_until(
        # Told again: what comes before publisher and subscription have met is lost.
        lambda: words.publish(two) or all("two" in ear.heard for ear in ears[1:]),
        what="the second word",
    )
    assert ears[0].heard == ["one"]
    for ear in ears[1:]:
        ear.trigger_deactivate()
    ros.spin_until(lambda: words.get_subscription_count() == 0, what="nobody")


class Late(AgentNode):
    """Listens to words of those that send them again, and of those that latch them."""

    def on_start(self) -> None:
        self.heard: list[str] = []
        self.subscribe(
            String, "words", "sensor_data", lambda m: self.heard.append(m.data), latched=True
        )


def test_what_was_latched_is_heard(ros):
    node = ros.node()
    node.create_publisher(String, "words", profile("latched")).publish(String(data="kept"))
    late = ros.add(Late("late", context=ros.context))
    ros.wait_active(late)
    ros.spin_until(lambda: late.heard == ["kept"], what="the word that was latched")
    late.trigger_deactivate()
    ros.spin_until(lambda: node.count_subscribers("words") == 0, what="nobody")


def test_of_who_latches_nothing_it_is_not_asked(ros):
    node = ros.node()
    plain = node.create_publisher(String, "words", profile("sensor_data"))
    late = ros.add(Late("late", context=ros.context))
    ros.wait_active(late)
    ros.wait_for_matched(plain)
    ros.spin(2.5)  # it has looked more than once
    assert node.count_subscribers("words") == 1
    plain.publish(String(data="again"))
    ros.spin_until(lambda: late.heard == ["again"], what="the word")
    node.create_publisher(String, "words", profile("latched"))
    ros.spin_until(lambda: node.count_subscribers("words") == 2, what="who listens to it as well")
