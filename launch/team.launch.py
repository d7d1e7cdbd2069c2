"""Start a team with `ros2 launch`: the same processes that `./coterie up TEAM` starts.

ros2 launch launch/team.launch.py team:=config/teams/demo.yaml
ros2 launch launch/team.launch.py team:=... packages:=mele_explorer,cam_aggregator
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from coterie_bringup.launching import team_actions


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            DeclareLaunchArgument("team", description="team file (YAML)"),
            DeclareLaunchArgument(
                "packages",
                default_value="",
                description="only the processes of these packages, with commas (all)",
            ),
            OpaqueFunction(
                function=lambda context: team_actions(
                    LaunchConfiguration("team").perform(context),
                    packages=_names(LaunchConfiguration("packages").perform(context)),
                )
            ),
        ]
    )
