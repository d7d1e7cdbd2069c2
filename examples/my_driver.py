"""A robot with a driver of its own; this one moves on paper, my_driver.yaml is its team."""

import os
from pathlib import Path

from coterie import Team
from coterie_ros.robot_driver import RobotDriver, SeenObject


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


if __name__ == "__main__":
    here = Path(__file__).parent
    # The driver's process finds the class by the path of modules that it inherits.
    os.environ["PYTHONPATH"] = f"{here}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    with Team(here / "my_driver.yaml") as team:
        team.explore()
        print(team.ask("Is there a mug in the den?", explore=False).text)
