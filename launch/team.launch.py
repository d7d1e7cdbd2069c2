"""Start a team with `ros2 launch`: the same processes that `./coterie up TEAM` starts.

ros2 launch coterie_bringup team.launch.py team:=demo
ros2 launch coterie_bringup team.launch.py team:=my_team.yaml packages:=mele_explorer,cam_aggregator
"""

from launch import LaunchDescription

from coterie_bringup.launching import description


def generate_launch_description() -> LaunchDescription:
    return description("host", "packages", "without", "use_sim_time")
