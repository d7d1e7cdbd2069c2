"""Start a team with `ros2 launch`: the same processes that `./coterie up TEAM` starts.

ros2 launch launch/team.launch.py team:=config/teams/demo.yaml
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from coterie_bringup.launching import team_actions


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            DeclareLaunchArgument("team", description="team file (YAML)"),
            OpaqueFunction(
                function=lambda context: team_actions(LaunchConfiguration("team").perform(context))
            ),
        ]
    )
