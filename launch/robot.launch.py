"""Start the nodes of one robot of a team, its own mapper and resume too, on its own computer.

ros2 launch coterie_bringup robot.launch.py team:=my_team.yaml robot:=rover
ros2 launch coterie_bringup team.launch.py team:=my_team.yaml without:=rover   (the rest, elsewhere)
"""

from launch import LaunchDescription

from coterie_bringup.launching import description


def generate_launch_description() -> LaunchDescription:
    return description("robot", "packages", "use_sim_time")
