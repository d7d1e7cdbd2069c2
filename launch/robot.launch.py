"""Start the nodes of one robot of a team, for example on the robot's own computer.

ros2 launch launch/robot.launch.py team:=config/teams/demo.yaml robot:=rover
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from coterie_bringup.launching import team_actions


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            DeclareLaunchArgument("team", description="team file (YAML)"),
            DeclareLaunchArgument("robot", description="name of a robot in the team file"),
            OpaqueFunction(
                function=lambda context: team_actions(
                    LaunchConfiguration("team").perform(context),
                    robot=LaunchConfiguration("robot").perform(context),
                )
            ),
        ]
    )
