"""Whether a robot's description tells what its tasks need, and whether it may move at all."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from coterie_bringup.bodies import described_robot, robot_body
from coterie_bringup.errors import PlanError
from coterie_bringup.team import Team
from coterie_bringup.team_checks import read_map
from coterie_bringup.team_robots import RobotSpec
from coterie_cli.robot.finding import Finding, State
from coterie_core.kinematics.arm import Arm
from coterie_safety.guard.guard import NO_AREA
from coterie_safety.permits.policy import WRITE
from robot_adapters.kinematics import arm_of_urdf
from robot_adapters.sensing.grid_space import FREE_MAX
from robot_adapters.settings import AdapterSettings

_BY_URDF = ("moveit", "trajectory")
"""Backends of arms that are moved by what the URDF tells."""


def judge_body(team: Team, robot: RobotSpec, settings: AdapterSettings) -> Iterator[Finding]:
    """Give the findings about a robot's URDF, map file, limits and permits: they need no robot.

    Args:
        team: The team.
        robot: The robot.
        settings: Its adapter.
    """

    def finding(area: str, what: str, state: State, text: str, remedy: str = "") -> Finding:
        return Finding(robot.name, area, what, state, text, remedy, f"robots.{robot.name}.{area}")

    if team.limits_of(robot).says_where:
        yield finding("limits", "area", "good", "says where it may be")
    else:
        yield finding("limits", "area", "bad", "it will refuse to move", NO_AREA)
    permits = team.permits_of(robot)
    if permits.says_something:
        asks = "; it asks people: ./coterie permits" if permits.asks else ""
        yield finding("permits", "policy", "good", f"says what it may do{asks}")
    else:
        yield finding("permits", "policy", "bad", "it will refuse every goal", WRITE)
    if file := settings.sensors.map_file:
        grid = read_map(team, settings)
        rows, columns = grid.values.shape
        free = int(((grid.values >= 0) & (grid.values <= FREE_MAX)).sum()) * grid.cell**2
        text = f"{columns} x {rows} cells of {grid.cell:g} m, {free:.0f} m² free"
        if free:
            yield finding("map", file, "good", text)
        else:
            yield finding("map", file, "bad", text, "look at its thresholds and at negate")
    drives, arm = settings.navigation.backend != "none", settings.arm
    if drives and arm.backend in ("moveit", "trajectory") and not arm.carry:
        text = "it drives with the arm as its last skill left it, outstretched for example"
        remedy = "give the joints' positions in which the robot may drive"
        where = f"robots.{robot.name}.adapter.arm.carry"
        yield Finding(robot.name, "arm", "carry", "note", text, remedy, where)
    if not robot.urdf:
        body = robot_body(team, robot)
        remedy = "give its URDF: size, reach and cameras are read from it; or its radius"
        text = f"no URDF: it counts as the preset {robot.embodiment!r} of {body.radius:g} m radius"
        yield finding("urdf", robot.embodiment, "note", text, remedy)
        return
    try:
        urdf, resume = described_robot(team, robot)
    except PlanError as error:
        yield finding("urdf", robot.urdf, "bad", str(error), "./coterie resume shows what is wrong")
        return
    links = {link.get("name", "") for link in ElementTree.fromstring(urdf).iter("link")}
    # Frames of one /tf for all robots have the robot's name in front; links of a URDF do not.
    base = settings.frames.base.rpartition("/")[2]
    if links and base not in links and "xacro" not in urdf[:2000]:
        text = f"has no link {base!r}, which adapter.frames.base names"
        yield finding("urdf", robot.urdf, "bad", text, "name the URDF's base link in frames.base")
    arms = resume.manipulation.arms
    if settings.arm.backend != "none" and not arms:
        text = f"adapter.arm is {settings.arm.backend}, and the URDF tells of no arm"
        yield finding("urdf", robot.urdf, "bad", text, "complete the URDF, or remove adapter.arm")
    elif settings.arm.backend in _BY_URDF:
        try:
            joints = _arm(team, robot, settings, urdf).chain.names
            if arm.backend == "trajectory":
                arm.check_carry(joints)
        except ValueError as error:
            remedy = "the adapter does not start: mend that, or set adapter.arm.tip"
            yield finding("urdf", robot.urdf, "bad", str(error), remedy)
    elif settings.arm.backend == "none" and arms and robot.role != "explorer":
        text = "the URDF has an arm, and adapter.arm drives none: it will only drive and look"
        yield finding("urdf", robot.urdf, "note", text, "set adapter.arm")
    if settings.sensors.all_cameras() and not resume.perception.cameras:
        text = "the URDF tells of no camera: what it can see is not known"
        remedy = "add the camera's link and optical frame, or overrides (docs/resume.md)"
        yield finding("urdf", robot.urdf, "bad", text, remedy)
    doubts = [f"{name}: {why}" for name, why in resume.mobility.evidence.items() if "assum" in why]
    if doubts:
        yield finding("urdf", robot.urdf, "note", "; ".join(doubts), "give them as overrides")
    else:
        yield finding("urdf", robot.urdf, "good", resume.mobility.summary or resume.mobility.kind)


def arm_joints(team: Team, robot: RobotSpec, settings: AdapterSettings) -> tuple[str, ...]:
    """Return the joints that move a robot's arm by trajectories; (): none, or not known."""
    if settings.arm.backend != "trajectory" or not robot.urdf:
        return ()
    try:
        return _arm(team, robot, settings, described_robot(team, robot)[0]).names
    except (PlanError, ValueError):
        return ()  # judge_body tells why


def _arm(team: Team, robot: RobotSpec, settings: AdapterSettings, urdf: str) -> Arm:
    """Return the arm as the adapter reads it from the URDF's text; ValueError where it does not."""
    base, folder = settings.frames.base.rpartition("/")[2], team.resolve(robot.urdf).parent
    return arm_of_urdf(urdf, base, settings.arm.tip, str(folder))
