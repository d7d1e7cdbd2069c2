"""Runs the driver of a robot that a team file names as a class of the user's."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rclpy.utilities import remove_ros_args

from coterie_core.own_classes import load_class
from coterie_ros.main import MISCONFIGURED, take_namespace
from coterie_ros.robot_driver import RobotDriver, run


def main(args: Sequence[str] | None = None) -> None:
    """Run the driver of one robot until it is told to end."""
    arguments, namespace = take_namespace(sys.argv if args is None else args)
    parser = argparse.ArgumentParser(prog="driver_node", description=__doc__)
    parser.add_argument("--robots", nargs=1, required=True, metavar="NAME")
    parser.add_argument("--driver", required=True, metavar="MODULE:CLASS")
    given = parser.parse_args(remove_ros_args(args=arguments)[1:])
    (robot,) = given.robots
    try:
        driver = load_class(given.driver, f"robots: {robot}: driver", RobotDriver)
    except ValueError as error:
        print(f"driver_node: {error}", file=sys.stderr, flush=True)
        raise SystemExit(MISCONFIGURED) from None

    def made() -> RobotDriver:
        node = driver()
        node.get_logger().info(f"ready: {given.driver}")
        return node

    run(made, [*arguments, "--ros-args", "-r", f"__ns:={namespace.rstrip('/')}/{robot}"])


if __name__ == "__main__":
    main()
