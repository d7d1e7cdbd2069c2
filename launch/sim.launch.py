"""Start only a team's world: the bridge, without explorers and aggregator.

ros2 launch coterie_bringup sim.launch.py team:=demo
"""

from launch import LaunchDescription

from coterie_bringup.launching import description


def generate_launch_description() -> LaunchDescription:
    return description(packages=["habitat_bridge"])
