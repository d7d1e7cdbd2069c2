"""Trying out beforehand what a team's bridge will do first: make the world, put the robots in."""

from __future__ import annotations

from coterie_bringup.bodies import robot_body
from coterie_bringup.errors import PlanError
from coterie_bringup.team import Team
from coterie_bringup.team_robots import StartSpec
from coterie_cli.own_team import without_habitat
from coterie_core.geometry import Pose
from habitat_bridge.factory import make_world
from habitat_bridge.simulator import Start, WorldError


def rehearse(team: Team) -> list[str]:
    """Return why a team could not start where its file says, one line each; empty if it can.

    Reads URDFs, makes the house and puts every robot where it starts. A scene of a Habitat data
    set is left out: it takes habitat-sim to open it.
    """
    problems: list[str] = []
    bodies = {}
    for robot in team.robots:
        try:
            bodies[robot.name] = robot_body(team, robot)
        except PlanError as error:
            problems.append(str(error))
    if team.real:
        return problems  # ./coterie robot check asks the robots
    spec = team.world_spec()
    if spec.kind == "habitat" and spec.scene is not None:
        return problems
    try:
        world = make_world(without_habitat(spec))
    except WorldError as error:
        return [*problems, str(error)]
    try:
        for robot in team.robots:
            if robot.name not in bodies:
                continue
            try:
                world.add_robot(robot.name, bodies[robot.name], _start(robot.start))
            except WorldError as error:
                problems.append(f"robots: {robot.name}: start: {error}")
    finally:
        world.close()
    return problems


def _start(start: StartSpec) -> Start:
    pose = start.pose
    at = None if pose is None else Pose((pose.x, pose.y, pose.z), pose.yaw)
    return Start(start.place, start.room, at)
