"""Teams of real robots: their section of the team file, and their processes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from coterie_bringup.lab import lab_parameters
from coterie_bringup.node_parameters import adapter_parameters
from coterie_bringup.plan import plan
from coterie_bringup.processes import write_parameters
from coterie_bringup.robot_interfaces import missing, require_interfaces
from coterie_bringup.team import load_team, parse_team
from coterie_core.yaml_marks import FileProblem
from coterie_safety.permits import RobotPermits
from robot_adapters.settings import AdapterSettings

LAB = """\
world: {kind: real}
namespace: lab
leader: {}
mapper: {}
robots:
  - name: walker
    role: worker
    embodiment: legs
    adapter:
      navigation: {namespace: nav/walker, stall_timeout: 12}
      arm: {backend: moveit, namespace: /walker_arm, group: left, gripper: {joint: finger}}
      sensors:
        map: map
        depth: camera/depth/image_raw
        info: camera/depth/camera_info
        detections: {topic: detections, type: vision_msgs/Detection3DArray}
      in_team_map: {x: 2.0, yaw: 1.57}
  - {name: rover, role: worker, adapter: {in_team_map: match}}
"""


def test_every_real_robot_has_an_adapter_and_nobody_simulates(tmp_path):
    team = parse_team(LAB)
    assert team.mode == "real_time"
    specs = {spec.name: spec for spec in plan(team)}
    assert "bridge" not in specs
    assert [n for n in specs if n.startswith("adapter.")] == ["adapter.walker", "adapter.rover"]
    assert [n for n in specs if specs[n].last] == ["watchdog.walker", "watchdog.rover"]
    dog = specs["watchdog.walker"].parameters["walker/watchdog"]
    assert dog["navigation.namespace"] == "/lab/nav/walker" and "limits" not in dog
    walker = specs["adapter.walker"]
    assert (walker.package, walker.executable) == ("robot_adapters", "adapter_node")
    assert walker.robots == ("walker",) and not walker.essential
    given = walker.parameters["walker/adapter"]
    assert given["navigation.namespace"] == "/lab/nav/walker"
    assert given["arm.namespace"] == "/walker_arm"
    for spec in specs.values():
        assert not any(p["use_sim_time"] for p in spec.parameters.values())
    write_parameters(list(specs.values()), tmp_path / "parameters.yaml")


def test_time_may_be_simulated_all_the_same():
    team = parse_team(LAB.replace("{kind: real}", "{kind: real, use_sim_time: true}"))
    assert all(p["use_sim_time"] for spec in plan(team) for p in spec.parameters.values())


def test_parameters_hold_what_the_team_file_says():
    team = parse_team(LAB)
    for robot, spec in zip(team.robots, plan(team), strict=False):
        parameters = spec.parameters[f"{robot.name}/adapter"]
        read = AdapterSettings.from_parameters(parameters)
        assert robot.adapter is not None
        same = robot.adapter.navigation.model_copy(update={"namespace": read.navigation.namespace})
        assert read == robot.adapter.model_copy(update={"navigation": same})


def test_every_parameter_of_an_adapter_is_one_of_its_node():
    pytest.importorskip("coterie_msgs")
    if missing():
        pytest.skip("interfaces of real robots are not built here")
    from robot_adapters.node import AdapterNode

    known = {spec.name for spec in AdapterNode.PARAMETERS} | {"use_sim_time"}
    for spec in plan(parse_team(LAB)):
        if spec.package == "robot_adapters":
            assert all(set(given) <= known for given in spec.parameters.values())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("backend: moveit", "backend: moveti", r"team.yaml:11: .*arm.backend: .*'moveit'"),
        ("stall_timeout: 12", "stall_timout: 12", r":10: .*did you mean 'stall_timeout'"),
        ("stall_timeout: 12", "stall_timeout: -1", r":10: .*stall_timeout.* greater than 0"),
        ("map: map", "map: my map", r":13: .*sensors.map: .*no name of ROS"),
        ("        info: camera/depth/camera_info\n", "", r"sensors: depth needs info"),
        ("Detection3DArray", "Detection4DArray", r"type: .*'vision_msgs/Detection3DArray'"),
        ("in_team_map: match", "in_team_map: mach", r":18: .*in_team_map"),
        ("adapter: {in_team_map: match}", "embodiment: slim", r":18: .*'rover' has no adapter"),
        ("mapper: {}\n", "", r":3: leader: .*add `mapper: \{\}`"),
        ("world: {kind: real}", "world: {kind: real, seed: 3}", r"seed belongs to kind"),
        ("namespace: lab", "mode: lockstep", r":2: mode: real robots do not wait"),
    ],
)
def test_mistakes_are_named_by_line_and_field(old, new, said):
    with pytest.raises(FileProblem, match=said):
        parse_team(LAB.replace(old, new, 1))


@pytest.mark.parametrize(
    ("robot", "said"),
    [
        ("adapter: {arm: {backend: trajectory}}", r"arm\.backend: .*give its file"),
        ("adapter: {arm: {backend: moveit}}", r"arm\.tip: name the link that grasps"),
        (
            "adapter: {arm: {backend: moveit, tip: hand, gripper: {backend: parallel_gripper}}}",
            r":4: robots\[0\]\.adapter\.arm\.gripper\.joint: parallel_gripper needs",
        ),
        ("adapter: {arm: {backend: moveit, tip: hand}}", ""),
        ("adapter: {arm: {backend: skills, gripper: {backend: parallel_gripper}}}", ""),
        ("urdf: dog.urdf\n    adapter: {arm: {backend: trajectory}}", ""),
    ],
)
def test_arms_with_which_no_adapter_starts(tmp_path, robot, said):
    (tmp_path / "dog.urdf").write_text("<robot name='dog'><link name='base_link'/></robot>")
    (tmp_path / "team.yaml").write_text(
        f"world: {{kind: real}}\nrobots:\n  - name: dog\n    {robot}\n"
    )
    if not said:
        assert load_team(tmp_path / "team.yaml").real
        return
    with pytest.raises(FileProblem, match=said):
        load_team(tmp_path / "team.yaml")
    simulated = (tmp_path / "team.yaml").read_text().replace("real", "embedded")
    (tmp_path / "team.yaml").write_text(simulated)
    load_team(tmp_path / "team.yaml")  # adapters are not read then


def test_what_is_not_built_is_named(monkeypatch):
    require_interfaces(parse_team("world: {}\nrobots: [{name: rover}]"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Exception, match=r"control_msgs.*\./coterie setup --with robots"):
        require_interfaces(parse_team(LAB))


def test_rooms_that_a_person_drew_go_to_all_adapters_and_what_they_find_to_the_mapper():
    shop = "{name: Shop, type: workshop, polygon: [[0, 0], [4, 0], [4, 3]]}"
    team = parse_team(LAB.replace("{kind: real}", f"{{kind: real, room_outlines: [{shop}]}}"))
    specs = {spec.name: spec for spec in plan(team)}
    for name in ("walker", "rover"):
        (room,) = json.loads(specs[f"adapter.{name}"].parameters[f"{name}/adapter"]["rooms"])
        assert (room["name"], room["type"], len(room["polygon"])) == ("Shop", "workshop", 3)
    assert specs["mapper"].parameters["mapper"]["prior_map"] == "{robot}/prior_map"


def test_an_outline_without_an_area_to_speak_of_is_named_by_its_field():
    rooms = "{kind: real, room_outlines: [{name: Shop, polygon: [[0, 0], [4, 0]]}]}"
    with pytest.raises(FileProblem, match=r"room_outlines\[0\]\.polygon|room_outlines"):
        parse_team(LAB.replace("{kind: real}", rooms))


def test_real_robots_are_told_that_they_are_real_and_keep_their_log() -> None:
    team = parse_team(LAB + "permits: {rules: [{skills: [dock], answer: allow}]}\n")
    specs = plan(team)
    adapter = next(iter(specs[0].parameters.values()))
    permits = RobotPermits.from_json(adapter["permits"])
    assert permits.real and permits.team.rules[0].skills == ("dock",)
    assert adapter["log_directory"].endswith(f"log/{team.name}")
    unsaid = next(iter(plan(parse_team(LAB))[0].parameters.values()))
    assert RobotPermits.from_json(unsaid["permits"]).real


SAVED = """\
world: {kind: real}
robots:
  - name: dog
    embodiment: slim
    radius: 0.12
    adapter:
      sensors: {map_file: maps/floor.yaml}
"""


def test_a_saved_map_lies_relative_to_the_team_file(tmp_path, monkeypatch):
    file = tmp_path / "team.yaml"
    file.write_text(SAVED)
    with pytest.raises(FileProblem, match=r":7: robots\[0\].*map_file: .*floor.yaml: no such file"):
        load_team(file)
    (tmp_path / "maps").mkdir()
    Image.fromarray(np.full((3, 4), 254, np.uint8)).save(tmp_path / "maps" / "floor.pgm")
    described = "image: floor.pgm\nresolution: 0.05\norigin: [0, 0, {yaw}]\n"
    saved = tmp_path / "maps" / "floor.yaml"
    saved.write_text(described.format(yaw=0.5))
    with pytest.raises(FileProblem, match=r":7: .*map_file: .*origin: expected a yaw of 0"):
        load_team(file)
    saved.write_text(described.format(yaw=0.0))
    monkeypatch.chdir(tmp_path / "maps")  # wherever it is started
    team = load_team(file)
    given = adapter_parameters(team, team.robots[0])
    assert given["sensors.map_file"] == str(saved)
    assert AdapterSettings.from_parameters(given).sensors.map_topic == ""
    file.write_text(SAVED.replace("{map_file", "{map: /map, map_file"))
    with pytest.raises(FileProblem, match="give either map, a topic, or map_file"):
        load_team(file)


def test_a_preset_may_have_the_robots_radius(tmp_path):
    text = SAVED.replace("      sensors: {map_file: maps/floor.yaml}", "      sensors: {}")
    team = parse_team(text)
    assert json.loads(adapter_parameters(team, team.robots[0])["embodiment"])["radius"] == 0.12
    with pytest.raises(FileProblem, match="urdf and radius exclude each other"):
        parse_team(text.replace("embodiment: slim", "urdf: slim.urdf"))


def test_an_empty_namespace_is_the_root_and_none_is_the_robots():
    for given in ("''", "/"):
        text = LAB.replace("namespace: nav/walker", f"namespace: {given}")
        specs = {spec.name: spec for spec in plan(parse_team(text))}
        assert specs["adapter.walker"].parameters["walker/adapter"]["navigation.namespace"] == "/"
        assert "navigation.namespace" not in specs["adapter.rover"].parameters["rover/adapter"]


OWN = """\
world: {kind: real}
namespace: lab
robots:
  - name: dog
    driver: my_dog.body:Dog
    adapter:
      navigation: {backend: skills}
      sensors: {depth: d, info: i, detections: {topic: found, detector: 'my_eye:Red'}}
  - {name: cat, adapter: {}}
"""


def test_a_driver_and_a_detector_of_the_users_own_are_processes_of_their_robot():
    team = parse_team(OWN, "own.yaml")
    specs = {spec.name: spec for spec in plan(team)}
    driver, detector = specs["driver.dog"], specs["detector.dog"]
    assert driver.arguments == ("--robots", "dog", "--driver", "my_dog.body:Dog") and driver.last
    (watched,) = json.loads(detector.parameters["dog/detector"]["cameras"])
    assert watched["detector"] == "my_eye:Red" and watched["depth"] == "d"
    settings = AdapterSettings.from_parameters(specs["adapter.dog"].parameters["dog/adapter"])
    (camera,) = settings.sensors.all_cameras()
    assert camera.detections.type == "coterie_msgs/ImageDetections"
    assert {"driver.cat", "detector.cat"}.isdisjoint(specs)
    assert set(team.own_classes.values()) == {"my_dog.body:Dog", "my_eye:Red"}


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("backend: skills", "backend: nav2", "a driver serves what backend skills asks for"),
        ("topic: found, ", "", "a detector of yours needs topic"),
        (
            "topic: found,",
            "topic: found, type: vision_msgs/Detection2DArray,",
            "needs topic.* type",
        ),
        ("depth: d, info: i, ", "", "detector looks at depth images: name depth and info"),
        ("my_dog.body:Dog", "my_dog/body.py", "expected my_package.module:Class"),
    ],
)
def test_a_driver_or_detector_that_cannot_work_is_refused(old, new, why):
    with pytest.raises(FileProblem, match=rf"own\.yaml:\d+: robots\[0\].*{why}"):
        parse_team(OWN.replace(old, new), "own.yaml")


EYES = """\
world: {kind: real}
models: {sees: {kind: openai, base_url: 'http://localhost:1/v1', model: m}}
robots:
  - name: dog
    adapter:
      sensors:
        cameras:
          - {name: head, depth: d, info: i, color: c, detections: {detector: box}}
          - name: hand
            depth: e
            info: j
            color: k/compressed
            detections: {detector: onnx, options: {file: net.onnx, labels: names.txt}}
"""


def test_a_detector_that_comes_with_coterie_takes_one_line(tmp_path):
    for name in ("net.onnx", "names.txt"):
        (tmp_path / name).write_text("cup")
    (tmp_path / "team.yaml").write_text(EYES)
    team = load_team(tmp_path / "team.yaml")
    (detector,) = [spec for spec in plan(team) if spec.name == "detector.dog"]
    assert (detector.package, detector.executable) == ("coterie_perception", "perception_node")
    head, hand = json.loads(detector.parameters["dog/detector"]["cameras"])
    assert (head["color"], head["topic"], head["detector"]) == ("c", "head/detections", "box")
    assert hand["options"]["file"] == str(tmp_path / "net.onnx")
    # The adapter hears what the detector says.
    (adapter,) = [spec for spec in plan(team) if spec.name == "adapter.dog"]
    settings = AdapterSettings.from_parameters(adapter.parameters["dog/adapter"])
    heard = [(c.detections.topic, c.detections.type) for c in settings.sensors.all_cameras()]
    assert heard[1] == ("hand/detections", "coterie_msgs/ImageDetections")
    # In a lab it looks at the lab's images, and the lab's own detector is out of the way.
    names = json.loads(lab_parameters(team, {"seed": 1})["robots"])[0]["names"]
    assert "dog/head/detections" not in names.values()
    assert not team.own_classes


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("detector: box", "detector: boxes", "expected box, onnx, .*, or a class"),
        ("color: c, ", "", "detector box looks at color images: name color"),
        ("file: net.onnx", "file: gone.onnx", "there is no .*gone.onnx"),
        ("file: net.onnx, ", "", "onnx needs the network"),
        ("labels: names.txt", "labels: gone.txt", "there is no .*gone.txt"),
        ("detector: box", "detector: vlm", "vlm needs a profile of `models`"),
        ("detector: box", "detector: box, type: vision_msgs/Detection3DArray", "leave out type"),
        ("detector: box", "detector: box, options: {min_score: 2}", "min_score"),
    ],
)
def test_what_a_detector_cannot_work_with_is_a_mistake_of_the_file(tmp_path, old, new, why):
    for name in ("net.onnx", "names.txt"):
        (tmp_path / name).write_text("cup")
    (tmp_path / "team.yaml").write_text(EYES.replace(old, new, 1))
    with pytest.raises(FileProblem, match=rf"team\.yaml:\d+: robots\[0\].*{why}"):
        load_team(tmp_path / "team.yaml")


def test_a_detector_that_asks_a_model_has_its_profile(tmp_path):
    text = EYES.replace("detector: box", "detector: vlm, options: {profile: sees, words: [cup]}")
    team = parse_team(text.replace("detector: onnx, options: {file: net.onnx, labels: names.txt}",
                                   "topic: x"), "eyes.yaml")  # fmt: skip
    (detector,) = [spec for spec in plan(team) if spec.name == "detector.dog"]
    (head,) = json.loads(detector.parameters["dog/detector"]["cameras"])
    assert json.loads(head["options"]["profile"])["model"] == "m"
    assert head["options"]["words"] == ["cup"]


def test_robots_believe_of_box_what_was_measured_and_know_its_labels(tmp_path):
    text = EYES.replace("{file: net.onnx, labels: names.txt}", "{}").replace("onnx", "box")
    team = parse_team(text.replace("name: dog\n", "name: dog\n    role: explorer\n"), "eyes.yaml")
    (explorer,) = [s for s in plan(team) if s.package == "mele_explorer"]
    told = explorer.parameters["dog/explorer"]
    assert "cup" in told["detector_vocabulary"] and "broom" not in told["detector_vocabulary"]
    assert 0.4 < json.loads(told["detector_model"])["miss"] < 0.7
    # Of a detector that nobody knows neither is said.
    mixed = text.replace("detector: box", "topic: x", 1)
    team = parse_team(mixed.replace("name: dog\n", "name: dog\n    role: explorer\n"), "eyes.yaml")
    (explorer,) = [s for s in plan(team) if s.package == "mele_explorer"]
    assert {"detector_vocabulary", "detector_model"}.isdisjoint(explorer.parameters["dog/explorer"])
