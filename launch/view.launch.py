"""Show a team in RViz: the semantic map, the robots, their cameras; start it whenever you like.

ros2 launch launch/view.launch.py team:=config/teams/home.yaml
ros2 launch launch/view.launch.py config:=config/rviz/coterie.rviz
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from coterie_bringup.launching import view_actions


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "team", default_value="", description="team file that the view is made for"
            ),
            DeclareLaunchArgument(
                "config", default_value="", description="RViz configuration to use instead"
            ),
            OpaqueFunction(
                function=lambda context: view_actions(
                    LaunchConfiguration("team").perform(context),
                    LaunchConfiguration("config").perform(context),
                )
            ),
        ]
    )
