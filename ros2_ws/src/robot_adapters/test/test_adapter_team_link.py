"""A robot that does not hear its team takes no new work until it hears it again."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from coterie_fixtures.ros_harness import RosHarness
from coterie_ros.agent_node import AgentNode
from robot_adapters.team_link import LINK_PARAMETERS, TeamLink


class Listener(AgentNode):
    """A node that only listens for its team."""

    PARAMETERS = LINK_PARAMETERS

    def on_start(self) -> None:
        self.clock = 0.0
        self.link = TeamLink(self, lambda: self.clock)


@pytest.mark.ros
def test_silence_of_the_team_refuses_work_until_it_is_heard_again(ros: RosHarness) -> None:
    values = {"team_nodes": "aggregator, leader", "cut_off": 10.0}
    node = ros.add(Listener("listener", context=ros.context, parameters=values))
    alone = ros.add(Listener("alone", context=ros.context))
    told = ros.node().create_publisher(DiagnosticArray, "/diagnostics", 10)
    ros.spin_until(lambda: hasattr(node, "link") and hasattr(alone, "link"))
    node.clock = alone.clock = 11.0
    assert "aggregator, leader not heard for 11 s" in node.link.trouble
    assert not alone.link.trouble
    node.link._hear(DiagnosticArray(status=[DiagnosticStatus(name="rover/explorer")]))
    assert node.link.trouble  # its own host's nodes tell nothing of the others

    def heard() -> bool:
        told.publish(DiagnosticArray(status=[DiagnosticStatus(name="leader")]))
        return not node.link.trouble

    ros.spin_until(heard)
