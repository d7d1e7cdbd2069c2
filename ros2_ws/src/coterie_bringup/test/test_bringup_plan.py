"""From a team to processes: parameters, namespaces, groups, discovery; launch and up agree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from coterie_bringup import launching, team_models
from coterie_bringup.errors import CommandError, PlanError
from coterie_bringup.plan import plan
from coterie_bringup.processes import find_executable, programs, write_parameters
from coterie_bringup.resources import (
    DDS_PROFILE,
    LOCAL_DDS_PROFILE,
    package_path,
    resource,
    roots,
)
from coterie_bringup.team import parse_team
from coterie_core.yaml_marks import FileProblem
from coterie_llm.local import SERVERS_VARIABLE
from coterie_llm.local_model import files
from coterie_llm.local_model.server import KEY_VARIABLE
from habitat_bridge.roster import RobotSpec, read_roster

pytestmark = pytest.mark.quick

URDF = package_path("package://coterie_description/urdf/fetch.urdf")

TEAM = """\
name: trio
world: {kind: embedded, seed: 7}
seed: 3
robots:
  - {name: rover, embodiment: wheels, malicious: true}
  - {name: walker, embodiment: legs, start: {room: kitchen}}
  - {name: drone, embodiment: air, start: {pose: {x: 1, y: 2, z: 0.5}}}
aggregator: {method: majority_vote, deadline: 2.5}
"""
MANY = """\
world: {kind: embedded}
robots: [{name: "r{n}", count: 50, embodiment: air}]
"""


def test_processes_of_a_small_team(tmp_path: Path) -> None:
    specs = plan(parse_team(TEAM), run_directory=tmp_path)
    assert [s.name for s in specs] == [
        "bridge",
        "aggregator",
        "explorer.rover",
        "explorer.walker",
        "explorer.drone",
    ]
    bridge, aggregator, rover = specs[:3]
    assert bridge.essential and aggregator.essential and not rover.essential
    robots = json.loads(bridge.parameters["bridge"]["robots"])
    assert [r["name"] for r in robots] == ["rover", "walker", "drone"]
    assert robots[0]["embodiment"]["mobility"] == "wheels"
    assert robots[1]["start"] == {"room": "kitchen"}
    assert robots[2]["start"] == {"pose": {"x": 1.0, "y": 2.0, "z": 0.5, "yaw": 0.0}}
    assert aggregator.parameters["aggregator"]["robots"] == ["rover", "walker", "drone"]
    assert aggregator.parameters["aggregator"]["deadline"] == 2.5
    assert rover.arguments == ("--robots", "rover")
    assert rover.parameters["rover/explorer"]["malicious"] is True
    nodes = [n for s in specs[2:] for n in s.parameters.values()]
    seeds = {n["seed"] for n in nodes}
    assert len(seeds) == 3
    assert json.loads(nodes[0]["model_profile"]) == {"kind": "rules"}


def test_the_parameter_file_is_rooted_at_the_namespace(tmp_path: Path) -> None:
    team = parse_team("namespace: home\n" + TEAM)
    specs = plan(team, run_directory=tmp_path)
    write_parameters(specs, tmp_path / "p.yaml")
    nodes = yaml.safe_load((tmp_path / "p.yaml").read_text())
    assert set(nodes) == {
        "/home/bridge",
        "/home/aggregator",
        "/home/rover/explorer",
        "/home/walker/explorer",
        "/home/drone/explorer",
    }
    assert nodes["/home/walker/explorer"]["ros__parameters"]["robot"] == "walker"
    assert specs[0].ros_arguments(Path("p.yaml")) == [
        "--ros-args",
        "-r",
        "__ns:=/home",
        "--params-file",
        "p.yaml",
    ]


def test_many_robots_share_processes() -> None:
    specs = plan(parse_team(MANY))
    explorers = specs[2:]
    assert len(explorers) == 4
    robots = [name for s in explorers for name in s.arguments[1:]]
    assert robots == [f"r{n}" for n in range(1, 51)]
    assert {len(s.arguments) - 1 for s in explorers} == {12, 13}
    own = plan(parse_team(MANY + "processes: {robots_per_process: 1}\n"))
    assert len(own) == 52


def test_discovery_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    few = parse_team(TEAM)
    many = parse_team(MANY + "processes: {robots_per_process: 1}\n")
    key = "ROS_AUTOMATIC_DISCOVERY_RANGE"
    monkeypatch.delenv("ROS_DISCOVERY_SERVER", raising=False)
    monkeypatch.delenv(key, raising=False)
    profile = "FASTRTPS_DEFAULT_PROFILES_FILE"
    monkeypatch.delenv("ROS_STATIC_PEERS", raising=False)
    monkeypatch.setenv(profile, str(resource(DDS_PROFILE)))  # as sourcing the workspace sets it
    here = {key: "LOCALHOST", profile: str(resource(LOCAL_DDS_PROFILE))}
    assert plan(few)[0].environment == here
    assert plan(many)[0].environment == {key: "SUBNET"}
    monkeypatch.setenv(key, "LOCALHOST")  # the default of ./coterie: cannot work for many
    assert plan(many)[0].environment == {key: "SUBNET"}
    monkeypatch.setenv("ROS_STATIC_PEERS", "10.0.0.2")
    assert plan(few)[0].environment == {key: "LOCALHOST"}
    monkeypatch.delenv("ROS_STATIC_PEERS")
    monkeypatch.setenv(profile, "/home/anna/mine.xml")
    assert plan(few)[0].environment == {key: "LOCALHOST"}
    monkeypatch.delenv(profile)
    assert plan(few)[0].environment == here
    monkeypatch.setenv(key, "SUBNET")
    far = {key: "SUBNET", profile: str(resource(DDS_PROFILE))}
    assert plan(few)[0].environment == far
    monkeypatch.setenv(profile, str(resource(DDS_PROFILE)))
    monkeypatch.setenv("ROS_DISCOVERY_SERVER", "127.0.0.1:11811")
    assert plan(many)[0].environment == {}


def test_a_team_for_one_machine_opens_no_socket_to_the_network() -> None:
    """The two profiles differ in nothing but that."""
    near, far = (
        {e.tag.rpartition("}")[2]: e.text for e in ElementTree.parse(resource(name)).iter()}
        for name in (LOCAL_DDS_PROFILE, DDS_PROFILE)
    )
    assert near.pop("interfaceWhiteList") and near.pop("address") == "127.0.0.1"
    assert {k: str(v).strip() for k, v in near.items()} == {
        k: str(v).strip() for k, v in far.items()
    }


@pytest.fixture
def fake_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An install prefix that holds the executables of a team."""
    for package, name in [
        ("habitat_bridge", "bridge_node"),
        ("cam_aggregator", "aggregator_node"),
        ("mele_explorer", "explorer_node"),
    ]:
        file = tmp_path / "lib" / package / name
        file.parent.mkdir(parents=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere{os.pathsep}{tmp_path}")
    return tmp_path


def test_programs(fake_prefix: Path) -> None:
    specs = plan(parse_team(TEAM))
    made = programs(specs, Path("p.yaml"), {"ROS_DOMAIN_ID": "42"})
    assert made[2].command == (
        str(fake_prefix / "lib/mele_explorer/explorer_node"),
        "--robots",
        "rover",
        "--ros-args",
        "--params-file",
        "p.yaml",
    )
    assert made[2].environment["ROS_DOMAIN_ID"] == "42"
    assert made[0].essential


def test_what_is_not_installed_is_named(fake_prefix: Path) -> None:
    with pytest.raises(PlanError, match=r"package nothing is not in AMENT_PREFIX_PATH.*clone"):
        find_executable("nothing", "node")
    (fake_prefix / "share" / "cam_aggregator").mkdir(parents=True)
    with pytest.raises(PlanError, match="has no executable 'aggregator'"):
        find_executable("cam_aggregator", "aggregator")


class FakeLaunch:
    """Stands for the ROS packages launch and launch_ros, which have no wheels: records actions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = {
            kind: type(kind, (), {"__init__": lambda self, *a, **k: vars(self).update(k, given=a)})
            for kind in (
                "ExecuteProcess",
                "Node",
                "LogInfo",
                "Shutdown",
                "TimerAction",
                "OpaqueFunction",
            )
        }
        for name in ("launch", "launch_ros"):
            package, actions = types.ModuleType(name), types.ModuleType(f"{name}.actions")
            vars(actions).update(made)
            package.actions = actions  # type: ignore[attr-defined]
            monkeypatch.setitem(sys.modules, name, package)
            monkeypatch.setitem(sys.modules, f"{name}.actions", actions)


@pytest.fixture
def trio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    FakeLaunch(monkeypatch)
    file = tmp_path / "team.yaml"
    file.write_text(TEAM)
    return file


def nodes_of(actions: list[Any]) -> list[Any]:
    return [action for action in actions if type(action).__name__ == "Node"]


def test_launch_and_up_start_the_same_processes(
    fake_prefix: Path, tmp_path: Path, trio: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FASTRTPS_DEFAULT_PROFILES_FILE", raising=False)
    nodes = nodes_of(launching.team_actions({"team": str(trio)}))
    specs = plan(parse_team(TEAM))
    made = programs(specs, Path("p.yaml"), {})
    assert [node.exec_name for node in nodes] == [program.name for program in made]
    for node, program in zip(nodes, made, strict=True):
        ros_arguments = [*node.ros_arguments[:-1], "p.yaml"]
        command = [
            str(find_executable(node.package, node.executable)),
            *node.arguments,
            "--ros-args",
            *ros_arguments,
        ]
        assert command == list(program.command)
        own = {"COTERIE_PARENT": str(os.getpid())}
        environment = dict(node.additional_env)
        kept = json.loads(environment.pop("COTERIE_WHY"))["folder"]
        assert kept == str(Path(nodes[0].ros_arguments[-1]).parent / "why")
        assert environment == {**program.environment, **own}
        assert "fastdds" in node.additional_env["FASTRTPS_DEFAULT_PROFILES_FILE"]
        assert node.additional_env["ROS_AUTOMATIC_DISCOVERY_RANGE"]
    written = Path(nodes[0].ros_arguments[-1])
    parameters = yaml.safe_load(written.read_text())
    write_parameters(specs, tmp_path / "p.yaml")
    expected = yaml.safe_load((tmp_path / "p.yaml").read_text())
    for found in (parameters, expected):  # kept in the run directory, which differs
        for node in found.values():
            assert node["ros__parameters"]["use_sim_time"] is True
            node["ros__parameters"].pop("model_directory", None)
            node["ros__parameters"].pop("state_directory", None)
            node["ros__parameters"].pop("memory_directory", None)
            node["ros__parameters"].pop("stop_directory", None)
            node["ros__parameters"].pop("log_directory", None)
            node["ros__parameters"].pop("permit_key", None)
    assert parameters == expected


def test_arguments_of_the_launch_files(fake_prefix: Path, tmp_path: Path, trio: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text("/**: {ros__parameters: {rate: 20.0}}")
    values = {
        "team": str(trio), "namespace": "/lab", "domain": "77", "use_sim_time": "false",
        "log_level": "debug", "params_file": str(more), "use_respawn": "false",
    }  # fmt: skip
    planned = launching.launch_plan(values)
    assert {spec.namespace for spec in planned.specs} == {"/lab"}
    assert {spec.restart_limit for spec in planned.specs} == {0}
    assert planned.environment["ROS_DOMAIN_ID"] == "77"
    assert planned.more_ros_arguments == ("--log-level", "debug", "--params-file", str(more))
    written = yaml.safe_load(planned.parameter_file.read_text())
    assert set(written) >= {"/lab/bridge", "/lab/rover/explorer"}
    assert not any(node["ros__parameters"]["use_sim_time"] for node in written.values())
    trio.write_text(TEAM + "domain: 66\n")
    assert launching.launch_plan({"team": str(trio)}).environment["ROS_DOMAIN_ID"] == "66"


def test_launch_serves_local_models_as_up_does(
    fake_prefix: Path, trio: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_SERVER", "json")  # any package that is there
    monkeypatch.setattr(team_models, "installed", lambda: True)
    monkeypatch.delenv(SERVERS_VARIABLE, raising=False)
    (trio.parent / "own.gguf").write_bytes(b"GGUF")
    models = "models: {own: {kind: local, file: own.gguf}}\n"
    trio.write_text(TEAM.replace("malicious: true", "model: own") + models)
    actions = launching.team_actions({"team": str(trio)})
    (server,) = [action for action in actions if type(action).__name__ == "ExecuteProcess"]
    assert server.respawn and server.respawn_max_retries == 3
    assert server.cmd[-2:] == ["--parent", str(os.getpid())]
    port = server.cmd[server.cmd.index("--port") + 1]
    for node in nodes_of(actions):
        (found,) = json.loads(node.additional_env[SERVERS_VARIABLE]).values()
        assert found == {"port": int(port), "key": server.additional_env[KEY_VARIABLE]}
    still = launching.team_actions({"team": str(trio), "use_respawn": "false"})
    assert not next(a for a in still if type(a).__name__ == "ExecuteProcess").respawn


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"packages": "mele_explorr"}, "did you mean 'mele_explorer'"),
        ({"robot": "rovr"}, "did you mean 'rover'"),
        ({"without": "rover,nobody"}, "no robot 'nobody'"),
        ({"robot": "rover", "packages": "habitat_bridge"}, "nothing to start"),
        ({"domain": "900"}, "from 0 to 232"),
        ({"namespace": "a/b-c"}, "cannot be a ROS namespace"),
        ({"log_level": "loud"}, "log_level"),
        ({"use_respawn": "maybe"}, "expected true or false"),
        ({"params_file": "nosuch.yaml"}, "there is no"),
    ],
)
def test_wrong_arguments_of_launch_files_are_refused(
    trio: Path, values: dict[str, str], words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        launching.launch_plan({"team": str(trio), **values})


def test_launch_ends_with_an_essential_process_and_counts_restarts_in_a_row(
    fake_prefix: Path, trio: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kinds(actions: list[Any]) -> list[str]:
        return [type(action).__name__ for action in actions]

    now = [100.0]
    monkeypatch.setattr(launching.time, "monotonic", lambda: now[0])
    planned = launching.launch_plan({"team": str(trio)})
    bridge, rover = planned.specs[0], planned.specs[2]
    running, closing = types.SimpleNamespace(is_shutdown=False), types.SimpleNamespace(
        is_shutdown=True
    )  # fmt: skip
    died, wrong = types.SimpleNamespace(returncode=-9), types.SimpleNamespace(returncode=78)
    node = launching.node_action(bridge, planned)
    assert node.on_exit(died, closing) is None
    for _ in range(bridge.restart_limit):
        said, again = node.on_exit(died, running)
        assert "killed by SIGKILL" in said.msg and kinds([again]) == ["TimerAction"]
        (node,) = again.actions[0].function(running)
    assert kinds(node.on_exit(died, running)) == ["LogInfo", "Shutdown"]
    # One that ran for long begins anew; one that was told something impossible is not restarted.
    now[0] += 3600.0
    assert kinds(node.on_exit(died, running)) == ["LogInfo", "TimerAction"]
    assert kinds(launching.node_action(bridge, planned).on_exit(wrong, running))[1] == "Shutdown"
    node = launching.node_action(rover, planned)
    assert kinds(node.on_exit(wrong, running)) == ["LogInfo"]


def test_one_robot_alone(tmp_path: Path) -> None:
    team = parse_team(TEAM)
    (spec,) = launching.chosen(team, tmp_path, robot="walker")
    assert spec.arguments == ("--robots", "walker")
    (bridge,) = launching.chosen(team, tmp_path, packages=["habitat_bridge"])
    assert bridge.name == "bridge"
    with pytest.raises(CommandError, match="it has rover, walker, drone"):
        launching.chosen(team, tmp_path, robot="walkr")


def test_a_robot_of_its_own_computer_takes_its_mapper_and_only_its_resume(tmp_path: Path) -> None:
    text = TEAM.replace("embodiment: wheels", f"urdf: {URDF}").replace(
        "embodiment: legs", f"urdf: {URDF}"
    )
    team = parse_team(text + "mapper: {per_robot: true}\nplanner: {}\n")
    mine = launching.chosen(team, tmp_path, robot="rover")
    nodes = {node for spec in mine for node in spec.parameters}
    assert nodes == {"rover/explorer", "rover/resume", "mapper_rover"}
    rest = launching.chosen(team, tmp_path, without=["rover"])
    others = {node for spec in rest for node in spec.parameters}
    assert not nodes & others
    everything = {node for spec in plan(team, run_directory=tmp_path) for node in spec.parameters}
    assert nodes | others == everything


def test_launch_files_and_what_they_need_are_installed() -> None:
    """The data files that setup.py names hold all launch files, teams, profiles and RViz files."""
    root = roots()[0]
    setup = root / "ros2_ws" / "src" / "coterie_bringup" / "setup.py"
    done = subprocess.run(
        [sys.executable, "-c", SHOW_DATA_FILES], cwd=setup.parent, capture_output=True, text=True
    )
    installed = json.loads(done.stdout.splitlines()[-1])
    for folder, there in (
        ("launch", "launch"), ("config/teams", "config/teams"), ("config/rviz", "config/rviz"),
        ("config/dds", "config/dds"), ("config/robots", "config/robots"),
        ("config/foxglove", "config/foxglove"),
    ):  # fmt: skip
        files = {f.name for f in (root / folder).iterdir() if f.is_file()}
        found = {Path(f).name for f in installed[f"share/coterie_bringup/{there}"]}
        assert files and found == files
        assert all(
            (setup.parent / f).is_file() for f in installed[f"share/coterie_bringup/{there}"]
        )
    hooks = json.loads((setup.parent / "colcon.pkg").read_text())["hooks"]
    names = {f"{where}/{Path(f).name}" for where, files in installed.items() for f in files}
    assert set(hooks) <= names


SHOW_DATA_FILES = """
import json, runpy, setuptools
setuptools.setup = lambda **given: print(json.dumps(dict(given["data_files"])))
runpy.run_path("setup.py")
"""


def test_launch_files_run_with_the_real_launch() -> None:
    launch = pytest.importorskip("launch", reason="the ROS package launch has no wheels")
    if not hasattr(launch, "LaunchDescription"):
        pytest.skip("the installed package 'launch' is not ROS's")
    for file in (Path(__file__).resolve().parents[4] / "launch").glob("*.launch.py"):
        names: dict[str, Any] = {}
        exec(compile(file.read_text(), str(file), "exec"), names)  # noqa: S102 (our own files)
        assert isinstance(names["generate_launch_description"](), launch.LaunchDescription)


WORKERS = """\
world: {kind: embedded, seed: 5}
robots:
  - {name: rover, embodiment: wheels, role: worker}
  - {name: drone, embodiment: air, role: worker}
leader: {heartbeat_timeout: 4.0, prior_map: rooms}
"""


def test_a_team_that_does_tasks_has_a_leader_and_no_aggregator(tmp_path: Path) -> None:
    specs = {spec.name: spec for spec in plan(parse_team(WORKERS), run_directory=tmp_path)}
    assert list(specs) == ["bridge", "leader", "robot.rover", "robot.drone"]
    assert specs["bridge"].parameters["bridge"]["prior_map"] == "rooms"
    leader = specs["leader"].parameters["leader"]
    assert leader["robots"] == ["rover", "drone"] and leader["heartbeat_timeout"] == 4.0
    before = parse_team(WORKERS.replace("heartbeat_timeout", "silence"))
    assert before == parse_team(WORKERS), "the last version's name is still taken"
    assert specs["robot.rover"].parameters["rover/robot"]["robots"] == ["rover", "drone"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("leader: {heartbeat_timeout: 4.0, prior_map: rooms}\n", "", "there is no leader"),
        (", role: worker", "", "a leader needs robots with role: worker"),
        ("embodiment: air", "embodiment: air, urdf: x.urdf", "exclude each other"),
        ("embodiment: air", "overrides: x.yaml", "overrides belong to a urdf"),
        ("prior_map: rooms", "prior_map: romms", "prior_map"),
    ],
)
def test_mistakes_in_teams_that_do_tasks(old: str, new: str, expected: str) -> None:
    with pytest.raises(FileProblem, match=expected):
        parse_team(WORKERS.replace(old, new))


def test_a_urdf_that_is_not_there_is_named(tmp_path: Path) -> None:
    text = WORKERS.replace("embodiment: air", f"urdf: {tmp_path}/none.urdf")
    with pytest.raises(PlanError, match=r"drone: urdf: cannot read .*none\.urdf"):
        plan(parse_team(text))


HOME = """\
world: {kind: embedded}
models: {mine: {kind: rules}}
robots:
  - {name: rover, embodiment: wheels}
  - {name: drone, embodiment: air}
mapper: {prior_map: rooms, far: 3.0}
planner: {mode: certainty, model: mine}
open_questions: {robot: drone, max_distance: 5}
"""


def test_the_map_and_who_answers_from_it(tmp_path: Path) -> None:
    specs = {s.name: s for s in plan(parse_team(HOME), run_directory=tmp_path)}
    assert list(specs)[:5] == ["bridge", "aggregator", "mapper", "planner", "open_questions"]
    # One publisher of semantic_map: the bridge's map goes to the mapper.
    bridge = specs["bridge"].parameters["bridge"]
    assert (bridge["prior_map"], bridge["prior_topic"]) == ("rooms", "prior_map")
    mapper = specs["mapper"].parameters["mapper"]
    assert mapper["robots"] == ["rover", "drone"] and mapper["far"] == 3.0
    assert mapper["cameras"] == ["rover/head", "drone/front"]
    assert specs["mapper"].arguments == ("--name", "mapper")
    assert specs["planner"].parameters["object_planner"]["mode"] == "certainty"
    asked = specs["open_questions"].parameters["open_questions"]
    assert (asked["robot"], asked["max_distance"]) == ("drone", 5.0)
    # What a robot sees comes onto no map where there is no mapper.
    words = HOME.replace("mapper: {prior_map: rooms, far: 3.0}", "leader: {}")
    specs = {s.name: s for s in plan(parse_team(words.replace("wheels", "wheels, role: worker")))}
    assert specs["open_questions"].parameters["open_questions"]["robot"] == ""


def test_a_map_per_robot_and_their_sum(tmp_path: Path) -> None:
    text = HOME.replace("far: 3.0", "per_robot: true")
    specs = {s.name: s for s in plan(parse_team(text))}
    for name in ("rover", "drone"):
        alone = specs[f"mapper.{name}"].parameters[f"mapper_{name}"]
        assert alone["robots"] == [name] and alone["output"] == name
    merged = specs["mapper"].parameters["mapper"]
    assert merged["merge"] and merged["robots"] == ["rover", "drone"]
    # What nodes share is written out for each: rcl refuses aliases.
    write_parameters(list(specs.values()), tmp_path / "parameters.yaml")
    assert not re.search(r"[&*]id\d", (tmp_path / "parameters.yaml").read_text())


def test_every_parameter_of_the_plan_is_one_of_its_node() -> None:
    pytest.importorskip("coterie_msgs")
    from habitat_bridge.node import BridgeNode
    from object_planner.node import PlannerNode
    from openeqa_agent.node import OpenNode
    from semantic_mapper.node import MapperNode

    nodes = {
        "bridge": BridgeNode,
        "mapper": MapperNode,
        "planner": PlannerNode,
        "open_questions": OpenNode,
    }
    for text in (HOME, HOME.replace("far: 3.0", "per_robot: true")):
        for spec in plan(parse_team(text)):
            node = nodes.get(spec.name.partition(".")[0])
            for given in spec.parameters.values() if node else ():
                assert set(given) <= {p.name for p in node.PARAMETERS} | {"use_sim_time"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("planner: {mode", "planner: {mod", "planner.mod"),
        ("robot: drone", "robot: dron", "drone"),
        ("model: mine", "model: main", "mine"),
        ("far: 3.0", "far: 0.1", "near"),
        ("far: 3.0", "cameras: [rovr/camera]", "rover"),
        ("mapper: {prior_map: rooms, far: 3.0}", "", "add `mapper: {}`"),
    ],
)
def test_mistakes_in_the_map_sections(old: str, new: str, said: str) -> None:
    with pytest.raises(FileProblem, match=said):
        parse_team(HOME.replace(old, new))


def test_limits_of_team_and_robot_reach_the_bridge() -> None:
    text = TEAM.replace("embodiment: wheels,", "embodiment: wheels, limits: {speed: 0.2},")
    text += "limits: {speed: 0.5, keep_out: [kitchen], hours: 08:00-20:00}\n"
    (bridge, *_) = plan(parse_team(text))
    rover, walker, _ = read_roster(json.loads(bridge.parameters["bridge"]["robots"]), RobotSpec)
    assert (rover.body.linear_speed, walker.limits.speed) == (0.2, 0.5)
    assert rover.limits.name == "rover"
    assert walker.limits.team.keep_out[0].room == "kitchen"
    with pytest.raises(FileProblem, match=r"limits.skills\[0\]: .*did you mean 'pick'"):
        parse_team(TEAM + "limits: {skills: [pck]}\n")


def test_permits_of_team_and_robot_reach_the_bridge_and_the_leader(tmp_path: Path) -> None:
    text = TEAM.replace("embodiment: wheels,", "embodiment: wheels, permits: {otherwise: ask},")
    text += "permits: {rules: [{skills: [pick], answer: refuse}], wait: 30}\n"
    (bridge, *_) = plan(parse_team(text), run_directory=tmp_path)
    parameters = bridge.parameters["bridge"]
    rover, walker, _ = read_roster(json.loads(parameters["robots"]), RobotSpec)
    assert (rover.permits.name, rover.permits.asks, walker.permits.asks) == ("rover", True, False)
    assert walker.permits.team.rules[0].skills == ("pick",) and walker.permits.wait == 30.0
    assert not walker.permits.real
    assert parameters["log_directory"] == str(tmp_path / "log")
    assert Path(parameters["permit_key"]).name == "permits.pub"
    with pytest.raises(FileProblem, match=r"permits.rules\[0\].skills\[0\]: .*did you mean 'pick'"):
        parse_team(TEAM + "permits: {rules: [{skills: [pck], answer: ask}]}\n")
