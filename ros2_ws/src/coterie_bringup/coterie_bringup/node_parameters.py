"""Parameters of a team's nodes, by what the team file says."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

from coterie_bringup.bodies import described_robot, robot_body
from coterie_bringup.memory import memory_folder, memory_parameters
from coterie_bringup.rundir import key_file, state_root
from coterie_bringup.team import Team
from coterie_bringup.team_robots import RobotSpec, StartSpec
from coterie_bringup.team_sections import (
    AggregatorSpec,
    LeaderSpec,
    OpenQuestionsSpec,
    PlannerSpec,
)
from coterie_core.conformal import LEARNED_FROM, load_conformal
from coterie_core.detector_options import DetectorOptions
from coterie_core.settings import Settings
from coterie_llm.embedders import EmbedderOptions
from coterie_perception.profiles import labels_of, profile_of
from coterie_requests.detector_vocabulary import STRUCTURE, household_vocabulary
from coterie_safety.permits import Permits, public_half
from emos_planner.leader.options import LeaderSettings
from object_planner.settings import PlannerSettings
from openeqa_agent.settings import OpenQuestionsSettings
from reveca_agent.settings import CooperationSettings
from robot_adapters.settings import AdapterSettings


def bridge_parameters(team: Team) -> dict[str, Any]:
    """Return the bridge node's parameters: the world and the robots as JSON."""
    world = team.world_spec().model_dump(mode="json")
    robots = [
        {
            **robot_body_parameters(team, r),
            "name": r.name,
            "start": _start(r.start),
            "limits": team.limits_of(r).model_dump(mode="json", exclude_defaults=True),
            "permits": team.permits_of(r).model_dump(mode="json", exclude_defaults=True),
        }
        for r in team.robots
    ]
    parameters = {
        "world": json.dumps(world, sort_keys=True),
        "robots": json.dumps(robots, sort_keys=True),
        "mode": team.mode,
        "seed": team.seed,
    }
    if team.leader is not None:
        parameters["prior_map"] = team.leader.prior_map
    elif team.cooperators:
        parameters["prior_map"] = team.cooperation.prior_map
    elif team.mapper is not None:
        parameters["prior_map"] = team.mapper.prior_map
    if team.mapper is not None or team.leader is not None:
        # The mapper, or the leader, takes it up and publishes the map: one publisher of a topic.
        parameters["prior_topic"] = "prior_map"
    return parameters


def stop_folder(team: Team, run_directory: Path | None) -> Path | None:
    """Return where stops of robots are kept: for a run; those of real robots for good."""
    if team.real:
        return state_root() / "stops" / team.name
    return None if run_directory is None else run_directory / "stops"


def ledger_folder(team: Team, run_directory: Path | None) -> Path | None:
    """Return where goals and permits are logged: for a run; those of real robots for good."""
    if team.real:
        return state_root() / "log" / team.name
    return None if run_directory is None else run_directory / "log"


def why_folder(team: Team, run_directory: Path | None) -> Path | None:
    """Return where decisions are kept; None: nowhere."""
    if not team.why.keep:
        return None
    if team.real:
        return state_root() / "why" / team.name
    return None if run_directory is None else run_directory / "why"


def kept_parameters(team: Team, run_directory: Path | None) -> dict[str, str]:
    """Return where whatever drives robots keeps stops and its log, and finds the key."""
    if run_directory is None and not team.real:
        return {}
    return {
        "stop_directory": str(stop_folder(team, run_directory) or ""),
        "log_directory": str(ledger_folder(team, run_directory) or ""),
        "permit_key": str(public_half(key_file())),
    }


def robot_body_parameters(team: Team, robot: RobotSpec) -> dict[str, Any]:
    """Return a robot's body for the bridge: a preset, or what its URDF tells.

    Raises:
        PlanError: The URDF or its overrides cannot be used.
    """
    if not robot.urdf:
        return {"embodiment": robot_body(team, robot).model_dump(mode="json")}
    urdf, resume = described_robot(team, robot)
    return {
        "embodiment": resume.embodiment().model_dump(mode="json"),
        "urdf": urdf,
        "resume": False,
    }


def _start(start: StartSpec) -> dict[str, Any]:
    """Return a start as the bridge takes it; what is not given is left out."""
    return start.model_dump(mode="json", exclude_none=True)


def settings_parameters(team: Team, robot: RobotSpec) -> dict[str, Any]:
    """Return a real robot's `adapter:` as parameters, which its adapter and watchdog have."""
    settings = robot.adapter or AdapterSettings()
    parameters = settings.to_parameters()
    if settings.sensors.map_file:
        parameters["sensors.map_file"] = str(team.resolve(settings.sensors.map_file))
    for part in ("navigation", "arm"):
        given = parameters.get(f"{part}.namespace")
        if given is not None and not given.startswith("/"):
            # Below the team's namespace; the node's own names are below the robot's.
            space = (team.namespace, given) if given else ()
            parameters[f"{part}.namespace"] = "/" + "/".join(filter(None, space))
    return parameters


def perception_parameters(team: Team, robot: RobotSpec) -> dict[str, Any]:
    """Return the parameters of the node that has detectors look; none: no camera has one."""
    cameras = []
    for one in robot.adapter.sensors.all_cameras() if robot.adapter else ():
        found = one.detections
        if not found.detector:
            continue
        told = found.options.model_dump(mode="json")
        for field in ("file", "labels"):
            # A name at a hub is no path of the team's.
            if told[field] and team.resolve(told[field]).exists():
                told[field] = str(team.resolve(told[field]))
        if told["profile"]:
            told["profile"] = model_parameter(team, told["profile"])
        watched = one.model_dump(include={"name", "color", "depth", "info"})
        shared = {"topic": found.topic, "type": found.type, "detector": found.detector}
        cameras.append({**watched, **shared, "options": told})
    return {"cameras": json.dumps(cameras)} if cameras else {}


def adapter_parameters(team: Team, robot: RobotSpec) -> dict[str, Any]:
    """Return the parameters of a real robot's adapter.

    Raises:
        PlanError: Its URDF cannot be used.
    """
    urdf = described_robot(team, robot)[0] if robot.urdf else ""
    drawn = [room.model_dump(mode="json") for room in team.world.room_outlines]
    return {
        **settings_parameters(team, robot),
        "robot": robot.name,
        "embodiment": robot_body(team, robot).model_dump_json(),
        "limits": team.limits_of(robot).to_json(),
        "permits": team.permits_of(robot).to_json(),
        "team_map": "/" + "/".join(filter(None, (team.namespace, "semantic_map")))
        if team.mapper is not None
        else "",
        "model_profile": model_parameter(team, robot.model)
        if team.profile(robot.model).vision
        else "",
        "rooms": json.dumps(drawn) if drawn else "",
        "floors": _floors_of(team),
        "urdf": urdf,
        "urdf_folder": str(team.resolve(robot.urdf).parent) if urdf else "",
        "resume": not urdf,
    }


def _floors_of(team: Team) -> str:
    heights, links = team.world.floor_heights, team.world.floor_links
    if not heights:
        return ""
    return json.dumps({"heights": heights, "links": [one.model_dump() for one in links]})


def aggregator_parameters(team: Team, run_directory: Path | None) -> dict[str, Any]:
    """Return the aggregator node's parameters."""
    settings = team.aggregator
    directory = ""
    if settings.model_directory:
        directory = str(team.resolve(settings.model_directory))
    elif run_directory is not None:
        directory = str(run_directory / "models")
    return {
        "method": settings.method,
        "robots": [r.name for r in team.explorers],
        "deadline": settings.deadline,
        "model_directory": directory,
        "house": team.house_name(),
        "abstain_below": max(settings.abstain_below, _least_confidence(settings)),
        "labels_needed": LEARNED_FROM if settings.coverage is not None else 0,
        "seed": team.seed,
    }


def _least_confidence(settings: AggregatorSpec) -> float:
    """Return the least confidence for the coverage that a team file asks for; 0: it asks for none.

    Raises:
        ValueError: No threshold was calibrated for the method.
    """
    if settings.coverage is None:
        return 0.0
    return _above(load_conformal().answer(settings.method, settings.coverage, liar=settings.liar))


def _above(least: float) -> float:
    """Return the least confidence that is above a threshold; answers are not given at it."""
    return min(math.nextafter(least, 2.0), 1.0)


def _rooms_given(team: Team) -> bool:
    """Whether the team's map has all rooms from the start."""
    return not team.real and bridge_parameters(team).get("prior_map", "nothing") != "nothing"


def explorer_parameters(team: Team, robot: RobotSpec, run_directory: Path | None) -> dict[str, Any]:
    """Return the parameters of one robot's explorer node.

    Its memory is kept in the run directory, so that a robot
    whose process is started again goes on with what it knew.
    """
    folder = memory_folder(team, run_directory)
    return {
        "robot": robot.name,
        "robots": [r.name for r in team.robots],
        "radius": robot_body(team, robot).radius,
        "model_profile": model_parameter(team, robot.model),
        "embedder": embedder_parameter(team),
        "seed": _seed(team, robot),
        "malicious": robot.malicious,
        "deadline": team.aggregator.deadline,
        **detector_vocabulary(team),
        **detector_beliefs(team),
        "state_directory": "" if folder is None else str(folder / "memory"),
        **memory_parameters(team, run_directory),
    }


def detector_vocabulary(team: Team, ignored: Collection[str] = ("door",)) -> dict[str, list[str]]:
    """Return the parameter that says what the detectors can report; empty: not known.

    Args:
        team: The team.
        ignored: Labels that are not reported; see `household_vocabulary`.
    """
    world = team.world
    if team.real:
        known = [labels_of(name, options) for name, options in _detectors(team)]
        labels = {label for one in known for label in one or ()}
        return {"detector_vocabulary": sorted(labels)} if known and None not in known else {}
    if world.kind == "own" or world.scene is not None or world.house is not None:
        return {}  # labels come from files, or from a detector that nobody knows
    return {"detector_vocabulary": list(household_vocabulary(ignored))}


def detector_beliefs(team: Team) -> dict[str, str]:
    """Return the parameter that says how often the team's detectors err; empty: as all do.

    Of several detectors the one that misses most counts, and none where one was not measured.
    """
    models = [profile_of(name) for name, _ in _detectors(team)]
    measured = [one for one in models if one is not None]
    if not measured or len(measured) < len(models):
        return {}
    return {"detector_model": max(measured, key=lambda one: one.miss).model_dump_json()}


def _detectors(team: Team) -> list[tuple[str, DetectorOptions]]:
    """Return name and options of the detector of every camera of real robots; "": a stranger."""
    found: list[tuple[str, DetectorOptions]] = []
    for robot in team.robots if team.real else ():
        for one in robot.adapter.sensors.all_cameras() if robot.adapter else ():
            if one.detections.topic:
                options = one.detections.options
                if options.labels:
                    labels = str(team.resolve(options.labels))
                    options = options.model_copy(update={"labels": labels})
                found.append((one.detections.detector or "", options))
    return found


def leader_parameters(team: Team, leader: LeaderSpec, run_directory: Path | None) -> dict[str, Any]:
    """Return the leader node's parameters."""
    return {
        "robots": [r.name for r in team.workers],
        "model_profile": model_parameter(team, leader.model),
        "embedder": embedder_parameter(team),
        **settings_of(leader, LeaderSettings),
        "permits": _policies(team),
        "rooms_given": _rooms_given(team),
        "seed": team.seed,
        "state_directory": "" if run_directory is None else str(run_directory / "leader"),
        # A mapper has seen what the robots see, and publishes the map.
        "map_topic": "prior_map" if team.mapper is None else "semantic_map",
        "observers": [r.name for r in team.robots] if team.mapper is None else [],
        **memory_parameters(team, run_directory),
    }


def _policies(team: Team) -> str:
    """Return the workers' policies of permits as JSON; "" where the file says nothing of them."""
    said = (team.permits, *(robot.permits for robot in team.robots))
    if not team.real and all(one == Permits() for one in said):
        return ""
    return json.dumps(
        {
            robot.name: team.permits_of(robot).model_dump(mode="json", exclude_defaults=True)
            for robot in team.workers
        },
        sort_keys=True,
    )


def worker_parameters(team: Team, robot: RobotSpec, run_directory: Path | None) -> dict[str, Any]:
    """Return the parameters of one robot's node that does tasks."""
    return {
        "robot": robot.name,
        "robots": [r.name for r in team.workers],
        "others": _of_other_roles(team, robot),
        "model_profile": model_parameter(team, robot.model),
        **({} if team.leader is None else {"reflect_timeout": team.leader.reflect_timeout}),
        "state_directory": "" if run_directory is None else str(run_directory / "robots"),
        **memory_parameters(team, run_directory),
    }


def _of_other_roles(team: Team, robot: RobotSpec) -> list[str]:
    return [other.name for other in team.robots if other.role != robot.role]


def cooperator_parameters(
    team: Team, robot: RobotSpec, run_directory: Path | None
) -> dict[str, Any]:
    """Return the parameters of one robot's node that cooperates without a leader."""
    spec, body = team.cooperation, robot_body(team, robot)
    arm = body.arm
    hand = (
        {} if arm is None else {"reach": arm.reach, "low": arm.min_height, "high": arm.max_height}
    )
    return {
        "robot": robot.name,
        "team": [*(r.name for r in team.cooperators), *spec.people],
        "others": _of_other_roles(team, robot),
        "model_profile": model_parameter(team, robot.model),
        "embedder": embedder_parameter(team),
        "seed": _seed(team, robot),
        **settings_of(spec, CooperationSettings),
        "radius": body.radius,
        "speed": body.linear_speed,
        "cameras": json.dumps([one.model_dump(mode="json") for one in body.cameras]),
        **hand,
        "state_directory": "" if run_directory is None else str(run_directory / "agents"),
        **memory_parameters(team, run_directory),
    }


def planner_parameters(team: Team, spec: PlannerSpec, run_directory: Path | None) -> dict[str, Any]:
    """Return the object planner's parameters."""
    return {
        **settings_of(spec, PlannerSettings),
        "rooms_given": _rooms_given(team),
        **detector_vocabulary(team, STRUCTURE),
        "model_profile": model_parameter(team, spec.model),
        "embedder": embedder_parameter(team, spec.embedder),
        **memory_parameters(team, run_directory),
    }


def open_parameters(
    team: Team, spec: OpenQuestionsSpec, run_directory: Path | None
) -> dict[str, Any]:
    """Return the parameters of the node that answers open questions.

    Without a mapper nobody goes to look: what is seen would not come onto the map.
    """
    robot = spec.robot or team.robots[0].name
    if team.mapper is None:
        robot = "none"
    bodies = {one.name: one for one in team.robots}
    body = {} if robot == "none" else {"radius": robot_body(team, bodies[robot]).radius}
    return {
        **settings_of(spec, OpenQuestionsSettings),
        "model_profile": model_parameter(team, spec.model),
        "vision": team.profile(spec.model).vision,
        "embedder": embedder_parameter(team, spec.embedder),
        "robot": "" if robot == "none" else robot,
        **body,
        "abstain_below": 0.0
        if spec.coverage is None
        else _above(load_conformal().open_answer(spec.coverage, liar=spec.liar)),
        "rooms_given": _rooms_given(team),
        "seed": team.seed,
        # What the map holds comes from images, whose detector reports no parts of the house.
        **detector_vocabulary(team, STRUCTURE),
        **memory_parameters(team, run_directory),
    }


def resume_parameters(team: Team, robot: RobotSpec) -> dict[str, Any]:
    """Return the parameters of the node that makes a robot's resume from its description."""
    overrides = str(team.resolve(robot.overrides)) if robot.overrides else ""
    return {
        "robot": robot.name,
        "overrides": overrides,
        "model_profile": model_parameter(team, robot.model),
    }


def settings_of(section: Settings, model: type[Settings]) -> dict[str, Any]:
    """Return the values of a team file's section that are parameters of the section's node.

    Args:
        section: The section.
        model: What of it the node has as parameters: a base class of the section.
    """
    return section.model_dump(mode="json", include=set(model.model_fields))


def embedder_parameter(team: Team, own: EmbedderOptions | None = None) -> str:
    """Return the settings of a section's own embedder, or else of the team's, as JSON."""
    return (own or team.embedder).model_dump_json(exclude_unset=True)


def model_parameter(team: Team, name: str) -> str:
    """Return a model profile as JSON, with what it sets only: the rest are the node's defaults."""
    profile = team.profile(name)
    given = profile.model_dump(mode="json", exclude_defaults=True)
    return json.dumps({"kind": profile.kind, **given}, sort_keys=True)


def _seed(team: Team, robot: RobotSpec) -> int:
    """Return the seed of a robot's own node: every robot has another one."""
    index = [r.name for r in team.robots].index(robot.name)
    return (team.seed * 1009 + index) % 2**31
