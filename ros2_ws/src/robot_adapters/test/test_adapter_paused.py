"""Whether a person drives is known to an adapter that starts later, and heard of any publisher."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")
pytest.importorskip("nav2_msgs")

from std_msgs.msg import Bool

from coterie_core.embodiment import Embodiment
from coterie_ros.agent_node import AgentNode
from coterie_ros.halting import Halt
from coterie_ros.qos import profile
from robot_adapters.backends.nav2 import Nav2Navigation
from robot_adapters.backends.velocity import VelocityNavigation
from robot_adapters.settings_motion import NavigationSettings

pytestmark = pytest.mark.ros


class Adapter(AgentNode):
    """Has the backend of a base, and nothing more."""

    def __init__(self, make, **options):
        self.make = make
        super().__init__("adapter", **options)

    def on_start(self):
        self.base = self.make(self)


def nav2(node):
    where = SimpleNamespace(base_frame="base_link")
    halt = Halt(node.urgent.node, ())
    return Nav2Navigation(node, NavigationSettings(paused="joy_lock"), where, halt)


def velocity(node):
    settings = NavigationSettings(backend="velocity", paused="joy_lock", obstacles="none")
    return VelocityNavigation(node, settings, None, Embodiment(name="cart"), False)


@pytest.mark.parametrize("make", [nav2, velocity])
@pytest.mark.parametrize("qos", ["latched", "messages"])
def test_a_person_who_drives_is_known(ros, make, qos):
    out = ros.node().create_publisher(Bool, "joy_lock", profile(qos))
    say = partial(out.publish, Bool(data=True))
    if qos == "latched":
        say()  # before the adapter was there
    adapter = ros.add(Adapter(make, context=ros.context))
    ros.wait_active(adapter)
    if qos == "messages":
        ros.wait_for_matched(out)
        say()
    ros.spin_until(lambda: "a person drives" in adapter.base.ready(), what="it to be known")
    out.publish(Bool(data=False))
    ros.spin_until(lambda: "a person drives" not in adapter.base.ready(), what="the release")
