"""A robot with a driver of its own; this one moves on paper, my_driver.yaml is its team."""

import os
import subprocess
import sys
from pathlib import Path

from coterie import Team
from coterie_ros.robot_driver import RobotDriver, SeenObject, run


class Dog(RobotDriver):
    """Replace the bodies of these methods by calls of your robot."""

    def connect(self):
        self.here = (1.0, 1.0, 0.0)

    def pose(self):
        return self.here  # x, y [m], yaw [rad] in the robot's map

    def drive(self, x, y, yaw):
        self.wait(0.1)  # a skill that waits so can be cancelled
        self.here = (x, y, yaw or 0.0)

    def objects(self):
        return [SeenObject("mug", (1.5, 1.2, 0.8))]  # what its detector sees now


if "--ros-args" in sys.argv:
    run(Dog)
else:
    os.environ.setdefault("ROS_DOMAIN_ID", "42")  # the same for the driver and the team
    driver = subprocess.Popen([sys.executable, __file__, "--ros-args", "-r", "__ns:=/dog"])
    try:
        with Team(Path(__file__).with_name("my_driver.yaml")) as team:
            team.explore()
            print(team.ask("Is there a mug in the den?", explore=False).text)
    finally:
        driver.terminate()
