"""The Docker files and pixi.toml, as far as they can be checked without engine and channels."""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as Xml
from pathlib import Path

import pytest
import yaml

from coterie_bringup.launching import COMMON_ARGUMENTS

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
DOCKERFILE = DOCKER / "Dockerfile"

# What Ubuntu 24.04 has besides ROS; each entry is a package of its archive.
UBUNTU = {
    "g++", "make", "cmake", "python3-dev", "python3-venv", "libusb-1.0-0", "libgl1", "libegl1",
    "libgomp1", "libegl-mesa0", "libgl1-mesa-dri",
}  # fmt: skip
# Keys of ROS packages that the image, as every environment, takes from PyPI, with pinned versions.
FROM_PYPI = {"pinocchio", "py_trees", "urdfdom_py", "xacro"}
IMAGES = {"mambaorg/micromamba", "ros", "osrf/ros", "coterie"}
INSTRUCTIONS = {
    "FROM",
    "ARG",
    "RUN",
    "COPY",
    "ENV",
    "USER",
    "WORKDIR",
    "SHELL",
    "ENTRYPOINT",
    "CMD",
}
SERVICE_KEYS = {
    "image", "build", "init", "restart", "stop_signal", "stop_grace_period", "cap_drop",
    "security_opt", "environment", "networks", "volumes", "command", "shm_size", "depends_on",
    "profiles", "deploy",
}  # fmt: skip
# Beside what package.xml files name: the command line, the middleware in use, what shows it.
PIXI_MORE = {"ros2cli-common-extensions", "rmw-fastrtps-cpp", "rviz2"}
# What the set-up looks for -> the package of conda-forge that has it.
CONDA = {
    "g++": "gxx", "make": "make", "cmake": "cmake", "libusb-1.0-0": "libusb", "libgl1": "libgl",
    "libegl1": "libegl", "libgomp1": "libgomp",
}  # fmt: skip


def instructions() -> list[tuple[str, str]]:
    """Return (instruction, arguments) of the Dockerfile, continued lines joined."""
    text = "\n".join(
        line for line in DOCKERFILE.read_text("utf-8").splitlines() if not line.startswith("#")
    )
    lines = re.sub(r"\\\n", " ", text).splitlines()
    pairs = (line.strip().partition(" ")[::2] for line in lines if line.strip())
    return [(word.upper(), rest.strip()) for word, rest in pairs]


def copied() -> list[tuple[list[str], bool]]:
    """Return (sources, whether from another stage) of every COPY."""
    found = []
    for word, rest in instructions():
        if word == "COPY":
            words = rest.split()
            flags = [w for w in words if w.startswith("--")]
            paths = [w for w in words if not w.startswith("--")]
            found.append((paths[:-1], any(f.startswith("--from=") for f in flags)))
    return found


def apt_packages() -> set[str]:
    """Return what the Dockerfile installs with apt-get."""
    names: set[str] = set()
    for word, rest in instructions():
        for command in re.split(r"&&|;", rest) if word == "RUN" else ():
            words = command.split()
            if words[:2] == ["apt-get", "install"]:
                names |= {w for w in words[2:] if not w.startswith("-")}
    return names


def ros_dependencies() -> set[str]:
    """Return the ROS packages that package.xml files name and that are not of this workspace."""
    sources = ROOT / "ros2_ws" / "src"
    trees = {
        file: Xml.parse(file).getroot()
        for file in sources.rglob("package.xml")
        # Stand-ins are built where the real package is absent; an image has the real one.
        if "compat" not in file.relative_to(sources).parts
    }
    own = {tree.findtext("name") for tree in trees.values()}
    keys = {
        (e.text or "").strip() for tree in trees.values() for e in tree if e.tag.endswith("depend")
    }
    return {key for key in keys - own - FROM_PYPI if key and not key.startswith("python3-")}


def test_instructions_are_known_and_stages_exist():
    words = {word for word, _ in instructions()}
    assert words <= INSTRUCTIONS
    stages: set[str] = set()
    for word, rest in instructions():
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            assert base in stages or ":" in base, f"{base}: no tag"
            assert base in stages or base.split(":")[0] in IMAGES
            stages.add(name.strip())
        for stage in re.findall(r"--from=(\S+)", rest if word == "COPY" else ""):
            assert stage in stages
    assert {"habitat", "stack", "coterie"} <= stages


def test_every_copied_path_exists_and_is_sent_to_the_builder():
    ignore = (DOCKER / "Dockerfile.dockerignore").read_text("utf-8").split("\n")
    sent = {line[1:] for line in ignore if line.startswith("!")}
    assert ignore[1].strip() == "*", "everything is left out first"
    for sources, other_stage in copied():
        for source in sources if not other_stage else ():
            path = ROOT / source
            assert path.exists(), f"COPY {source}: no such path"
            assert source.split("/")[0] in sent, f"COPY {source}: left out by .dockerignore"
    assert {s for group, other in copied() if not other for s in group} >= {
        "coterie", "tools", "requirements", "config", "launch", "ros2_ws/src",
    }  # fmt: skip
    for name in sent:
        assert (ROOT / name).exists()


def test_apt_packages_are_those_of_the_manifests_and_of_the_guide():
    names = apt_packages()
    ros = {f"ros-jazzy-{key.replace('_', '-')}" for key in ros_dependencies()}
    assert {n for n in names if n.startswith("ros-")} == ros
    assert names - ros == UBUNTU
    guide = (ROOT / "docs" / "INSTALL.md").read_text("utf-8")
    (line,) = [text for text in guide.splitlines() if text.startswith("g++ make")]
    assert set(line.replace("python3.X", "python3").split()) <= names


def test_the_set_up_finds_nothing_missing_with_these_packages():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from bootstrap import machine
    finally:
        sys.path.pop(0)
    text = Path(machine.__file__).read_text("utf-8")
    needed = set(re.findall(r'\("lib[^"]+\.so[^"]*", "([^"]+)"\)', text))
    assert needed and needed <= apt_packages()


def test_python_packages_come_from_the_pinned_files_only():
    for word, rest in instructions():
        if word == "RUN":
            assert not re.search(r"\bpip3? install\b|\bcurl\b|\bwget\b", rest)
    assert any(w == "RUN" and r == "./coterie setup" for w, r in instructions())


def test_habitat_has_an_environment_of_its_own_that_the_stack_is_told_of():
    spec = yaml.safe_load((DOCKER / "habitat.yaml").read_text("utf-8"))
    assert spec["channels"] == ["conda-forge", "aihabitat"]
    assert {"python=3.9", "habitat-sim=0.3.3", "headless", "withbullet"} <= set(
        spec["dependencies"]
    )
    text = DOCKERFILE.read_text("utf-8")
    (prefix,) = set(re.findall(r"--prefix (\S+)", text))
    assert f"COPY --from=habitat {prefix} {prefix}" in text
    variables = dict(re.findall(r"([A-Z_]+)=(\S+)", text))
    assert variables["COTERIE_HABITAT_PYTHON"] == f"{prefix}/bin/python"
    profile = variables["FASTRTPS_DEFAULT_PROFILES_FILE"].removeprefix("/opt/coterie/")
    assert (ROOT / profile).is_file()
    factory = ROOT / "ros2_ws/src/habitat_bridge/habitat_bridge/factory.py"
    assert "COTERIE_HABITAT_PYTHON" in factory.read_text("utf-8")


def test_the_worker_needs_no_more_than_the_environment_has():
    worker = ROOT / "ros2_ws/src/habitat_bridge/habitat_bridge/habitat/worker"
    text = "\n".join(file.read_text("utf-8") for file in worker.glob("*.py"))
    found = re.findall(r"^\s*(?:import|from) ([a-z_0-9]+)", text, re.M)
    third = {name for name in found if name not in sys.stdlib_module_names} - {"habitat_bridge"}
    # magnum and quaternion come with habitat-sim.
    assert third <= {"habitat_sim", "numpy", "msgpack", "magnum", "quaternion"}


def test_nothing_runs_as_root():
    users = [rest for word, rest in instructions() if word == "USER"]
    assert users[-1] == "${UID}"
    assert ("ARG", "UID=1000") in instructions()


def test_compose_files_are_valid_and_name_what_exists():
    base = yaml.safe_load((DOCKER / "compose.yaml").read_text("utf-8"))
    gpu = yaml.safe_load((DOCKER / "compose.gpu.yaml").read_text("utf-8"))
    assert set(base) == {"name", "x-coterie", "services", "networks", "volumes"}
    for name, service in base["services"].items():
        assert set(service) <= SERVICE_KEYS, name
        assert service["image"].split(":")[0] in IMAGES
        assert set(service.get("networks", [])) <= set(base["networks"])
        assert set(service.get("depends_on", [])) <= set(base["services"])
        for volume in service.get("volumes", []):
            source = re.sub(r"\$\{[^}]*\}", "/host", volume).split(":")[0]
            assert source.startswith("/") or source in base["volumes"]
        for word in service["command"]:
            if word.startswith("launch/"):
                assert (ROOT / word).is_file()
    assert (DOCKER / base["x-coterie"]["build"]["context"]).resolve() == ROOT
    assert (ROOT / base["x-coterie"]["build"]["dockerfile"]).is_file()
    assert set(gpu) == {"services"} and set(gpu["services"]) <= set(base["services"])
    for service in gpu["services"].values():
        assert set(service) <= SERVICE_KEYS
    for file in re.findall(r"\$\{TEAM:-([^}]+)\}", (DOCKER / "compose.yaml").read_text("utf-8")):
        assert (ROOT / file).is_file()


def test_compose_gives_launch_files_arguments_that_they_declare():
    base = yaml.safe_load((DOCKER / "compose.yaml").read_text("utf-8"))
    packages = {f.parent.name for f in (ROOT / "ros2_ws/src").glob("*/package.xml")}
    for service in base["services"].values():
        words = [w for w in service["command"] if w.startswith("launch/")]
        for file in words:
            more = re.findall(r'"([a-z_]+)"', (ROOT / file).read_text("utf-8"))
            for word in service["command"]:
                name, given, value = word.partition(":=")
                if given:
                    assert name in {"team", *COMMON_ARGUMENTS, *more}
                if name == "packages":
                    assert set(value.split(",")) <= packages - {"habitat_bridge"}


def test_the_entrypoint_is_a_sound_script():
    script = DOCKER / "entrypoint.sh"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)
    check = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if check is None:
        pytest.skip("shellcheck is not installed: requirements/test.txt has it")
    subprocess.run([check, str(script)], check=True)
    assert any(
        word == "ENTRYPOINT" and json.loads(rest) == ["coterie-entrypoint"]
        for word, rest in instructions()
    )


def test_hadolint_finds_nothing():
    found = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if found is None:
        pytest.skip("hadolint is not installed: requirements/test.txt has it")
    done = subprocess.run([found, str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def pixi() -> dict:
    tomllib = pytest.importorskip("tomllib")  # Python 3.11 and newer have it
    return tomllib.loads((ROOT / "pixi.toml").read_text("utf-8"))


def test_pixi_has_the_ros_packages_of_the_manifests(pixi):
    ros = {name.removeprefix("ros-jazzy-") for name in pixi["dependencies"] if name[:4] == "ros-"}
    assert ros == {name.replace("_", "-") for name in ros_dependencies()} | PIXI_MORE


def test_the_set_up_finds_nothing_missing_with_pixi(pixi):
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from bootstrap import machine
    finally:
        sys.path.pop(0)
    text = Path(machine.__file__).read_text("utf-8")
    libraries = re.findall(r'\("lib[^"]+\.so[^"]*", "([^"]+)"\)', text)
    programs = re.findall(r'Need\("[^"]*", "([a-z+]+)"\)', text)
    names = {*libraries, *programs, "cmake"}
    assert {"g++", "make", "libgl1"} <= names
    assert {CONDA[name] for name in names} <= pixi["dependencies"].keys()
    assert machine.check_python((3, 12), "cpython") is None
    assert pixi["dependencies"]["python"] == "3.12.*"  # the Python that Jazzy is built for
    assert pixi["activation"]["env"]["COTERIE_NO_APT"] == "1"


def test_the_tasks_of_pixi_run_what_is_there(pixi):
    for task in pixi["tasks"].values():
        program, *words = task.split()
        assert program == "rviz2" or (ROOT / program).exists()
        assert all((ROOT / word).exists() for word in words if "/" in word)
    commands = {task.split()[1] for task in pixi["tasks"].values() if task[:2] == "./"}
    assert commands == {"setup", "demo", "test"}
