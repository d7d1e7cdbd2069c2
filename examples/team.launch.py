"""A team in a launch file of your own: `ros2 launch examples/team.launch.py`.

`ros2 launch examples/team.launch.py team:=my_team.yaml` starts another one.
"""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

HOUSE = str(Path(__file__).with_name("house.yaml"))


def generate_launch_description() -> LaunchDescription:
    """Return the team's processes; nodes of your own go beside them."""
    launch = PathJoinSubstitution([FindPackageShare("coterie_bringup"), "launch/team.launch.py"])
    team = IncludeLaunchDescription(
        launch, launch_arguments={"team": LaunchConfiguration("team")}.items()
    )
    return LaunchDescription([DeclareLaunchArgument("team", default_value=HOUSE), team])
