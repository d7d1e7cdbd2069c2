"""Show a team in RViz: the semantic map, the robots, their cameras; start it whenever you like.

ros2 launch coterie_bringup view.launch.py team:=home
ros2 launch coterie_bringup view.launch.py config:=my.rviz
"""

from launch import LaunchDescription

from coterie_bringup.launching import view_description


def generate_launch_description() -> LaunchDescription:
    return view_description()
