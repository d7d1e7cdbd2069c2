"""What RViz is told to show exists, with that type, and reaches an RViz that comes late."""

from __future__ import annotations

import pytest

from coterie_bringup.errors import CommandError
from coterie_bringup.launching import view_actions
from coterie_bringup.mapper_parameters import mapper_parameters
from coterie_bringup.node_parameters import bridge_parameters
from coterie_bringup.team import parse_team
from coterie_bringup.view import team_config, topics

TEAM = """\
world: {kind: embedded, seed: 11, floors: 1, rooms: 4}
namespace: home
robots:
  - {name: rover, embodiment: wheels}
  - {name: drone, embodiment: air}
mapper: {prior_map: rooms}
"""
TYPES = {
    "Map": "nav_msgs/msg/OccupancyGrid",
    "MarkerArray": "visualization_msgs/msg/MarkerArray",
    "PointCloud2": "sensor_msgs/msg/PointCloud2",
    "Image": "sensor_msgs/msg/Image",
    "Odometry": "nav_msgs/msg/Odometry",
    "RobotModel": "std_msgs/msg/String",
}
"""Message that each display of rviz_default_plugins takes."""


def test_maps_of_robots_of_their_own_and_teams_without_a_map() -> None:
    own = topics(team_config(parse_team(TEAM.replace("rooms}", "rooms, per_robot: true}"))))
    assert {"/home/semantic_map/markers", "/home/drone/semantic_map/grid/floor_0"} <= own.keys()
    assert "/home/drone/semantic_map/points" in own and "/home/semantic_map/points" not in own
    unknown = topics(team_config(parse_team(TEAM.replace("rooms}", "nothing}"))))
    assert [t for t in unknown if "/grid/" in t] == ["/home/semantic_map/grid/ground"]
    none = topics(team_config(parse_team(TEAM.partition("mapper:")[0])))
    assert "/home/drone/odom" in none and not [t for t in none if "semantic_map" in t]


def test_the_launch_file_needs_to_know_what_to_show() -> None:
    with pytest.raises(CommandError, match="team:="):
        view_actions({"team": "", "config": "", "namespace": "", "domain": ""})


@pytest.mark.ros
def test_every_topic_is_there_with_its_type_and_a_fitting_qos(ros) -> None:
    pytest.importorskip("coterie_msgs")
    from rclpy.qos import (
        DurabilityPolicy,
        QoSCompatibility,
        QoSProfile,
        ReliabilityPolicy,
        qos_check_compatible,
    )

    from coterie_core import skills
    from coterie_msgs.action import NavigateTo
    from coterie_ros.conversions.skills import navigate_to_msg
    from habitat_bridge.node import BridgeNode
    from semantic_mapper.node import MapperNode

    team = parse_team(TEAM)
    known = {**bridge_parameters(team), "assembly_timeout": 0.0}
    bridge = ros.add(BridgeNode("bridge", namespace="home", context=ros.context, parameters=known))
    (nodes,) = mapper_parameters(team, None).values()
    mapper = ros.add(
        MapperNode(
            "mapper",
            namespace="home",
            context=ros.context,
            parameters={**nodes["mapper"], "publish_period": 0.1, "points_period": 0.1},
        )
    )
    ros.wait_active(bridge, mapper)
    node = ros.node("viewer", "home")
    shown = topics(team_config(team))
    # A robot that turns sees enough for a floor plan, whose topic begins to exist with it.
    from rclpy.action import ActionClient

    client = ActionClient(node, NavigateTo, "rover/navigate_to")
    ros.spin_until(client.server_is_ready, what="the bridge's action")
    here = bridge.world.state("rover").pose.position
    goal = navigate_to_msg(skills.NavigateTo(position=here, yaw=3.0))
    camera = bridge._ports["rover"].cameras[0]
    ros.spin_until(lambda: camera.wanted and camera.detections_wanted, what="the mapper to listen")
    client.send_goal_async(goal)

    def missing() -> list[str]:
        return [t for t in shown if not node.get_publishers_info_by_topic(t)]

    ros.spin_until(lambda: not missing(), what="all topics")
    for topic, (display, wanted) in shown.items():
        latched = wanted["Durability Policy"] == "Transient Local"
        qos = QoSProfile(
            depth=wanted["Depth"],
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
            reliability=ReliabilityPolicy.RELIABLE
            if wanted["Reliability Policy"] == "Reliable"
            else ReliabilityPolicy.BEST_EFFORT,
        )
        for publisher in node.get_publishers_info_by_topic(topic):
            assert publisher.topic_type == TYPES[display.rpartition("/")[2]], topic
            fits, why = qos_check_compatible(publisher.qos_profile, qos)
            assert fits != QoSCompatibility.ERROR, f"{topic}: {why}"
            # A map that is published once must reach an RViz that comes later.
            assert "semantic_map" not in topic or latched
