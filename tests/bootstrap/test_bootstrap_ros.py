"""Where the set-up takes ROS from, and which environment it makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootstrap import ros
from bootstrap.errors import SetupError


def install_ros(prefix: Path, *, venv: bool = False) -> Path:
    (prefix / "share" / "rclpy").mkdir(parents=True)
    (prefix / "setup.bash").write_text(
        f'export AMENT_PREFIX_PATH="{prefix}"\nexport ROS_DISTRO=jazzy\n'
        f'export PATH="{prefix}/bin:$PATH"\n'
    )
    if venv:
        (prefix / "pyvenv.cfg").touch()
    return prefix


def test_nothing_installed_means_wheels(tmp_path: Path) -> None:
    found = ros.find({}, tmp_path / "absent")
    assert found.wheels
    assert found.note == ""


def test_installed_jazzy_is_used(tmp_path: Path) -> None:
    prefix = install_ros(tmp_path / "jazzy")
    found = ros.find({}, prefix)
    assert not found.wheels
    assert found.setup == prefix / "setup.bash"


def test_sourced_jazzy_is_used(tmp_path: Path) -> None:
    prefix = install_ros(tmp_path / "built_from_source")
    environ = {"ROS_DISTRO": "jazzy", "AMENT_PREFIX_PATH": f"{tmp_path}/overlay:{prefix}"}
    found = ros.find(environ, tmp_path / "absent")
    assert found.sourced
    assert not found.wheels


def test_own_environment_in_the_shell_is_not_an_installation(tmp_path: Path) -> None:
    prefix = install_ros(tmp_path / ".venv", venv=True)
    environ = {"ROS_DISTRO": "jazzy", "AMENT_PREFIX_PATH": str(prefix)}
    assert ros.find(environ, tmp_path / "absent").wheels


def test_other_distribution_is_set_aside_with_a_note(tmp_path: Path) -> None:
    prefix = install_ros(tmp_path / "humble")
    environ = {"ROS_DISTRO": "humble", "AMENT_PREFIX_PATH": str(prefix)}
    found = ros.find(environ, tmp_path / "absent")
    assert found.wheels
    assert "humble" in found.note
    assert "set aside" in found.note


def test_wheels_can_be_asked_for(tmp_path: Path) -> None:
    prefix = install_ros(tmp_path / "jazzy")
    assert ros.find({"COTERIE_ROS": "wheels"}, prefix).wheels


def test_wish_for_an_absent_installation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="does not exist"):
        ros.find({"COTERIE_ROS": "system"}, tmp_path / "absent")


def test_unknown_wish_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="'humble'"):
        ros.find({"COTERIE_ROS": "humble"}, tmp_path)


def test_cleaning_takes_ros_out_and_leaves_the_rest() -> None:
    clean = ros.cleaned(
        {
            "ROS_DISTRO": "humble",
            "ROS_DOMAIN_ID": "7",
            "AMENT_PREFIX_PATH": "/opt/ros/humble",
            "COLCON_PREFIX_PATH": "/home/me/ws/install",
            "PATH": "/home/me/ws/install/x/bin:/opt/ros/humble/bin:/other/venv/bin:/usr/bin:/bin",
            "LD_LIBRARY_PATH": "/opt/ros/humble/lib:/v/site-packages/ros_rcl.libs:/usr/local/cuda",
            "PYTHONPATH": "/opt/ros/humble/lib/python3.10/site-packages:/home/me/mine::"
            "/usr/lib/python3/dist-packages:/home/me/ws/install/x",
            "VIRTUAL_ENV": "/other/venv",
            "_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1",
            "OPENAI_API_KEY": "k",
        }
    )
    assert clean == {
        "ROS_DOMAIN_ID": "7",
        "PATH": "/usr/bin:/bin",
        "LD_LIBRARY_PATH": "/usr/local/cuda",
        "PYTHONPATH": "/home/me/mine",
        "OPENAI_API_KEY": "k",
    }


def test_cleaning_compares_directories_not_letters() -> None:
    clean = ros.cleaned({"AMENT_PREFIX_PATH": "/opt/ros", "PATH": "/opt/rosegarden/bin:/usr/bin"})
    assert clean["PATH"] == "/opt/rosegarden/bin:/usr/bin"


def test_library_path_of_nothing_but_ros_goes() -> None:
    environ = {"AMENT_PREFIX_PATH": "/opt/ros/x", "LD_LIBRARY_PATH": "/opt/ros/x/lib:"}
    assert "LD_LIBRARY_PATH" not in ros.cleaned(environ)


def test_overlays_of_a_sourced_jazzy_stay(tmp_path: Path) -> None:
    own = tmp_path / "clone" / "ros2_ws" / "install"
    environ = {
        "AMENT_PREFIX_PATH": f"{own}/coterie_core:/home/me/drivers:/opt/ros/jazzy",
        "ROS_DISTRO": "jazzy",
        "_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1",
    }
    base = ros.base_environment(ros.Installation(sourced=True), environ, [own])
    assert base == {"AMENT_PREFIX_PATH": "/home/me/drivers:/opt/ros/jazzy", "ROS_DISTRO": "jazzy"}


def test_recorded_activation_equals_sourcing(tmp_path: Path) -> None:
    prefix = install_ros(tmp_path / "with space")
    before = {"PATH": "/usr/bin:/bin", "HOME": "/home/me"}
    after = ros.source([prefix / "setup.bash"], before)
    activation = ros.Activation.between(before, after)
    activation.save(tmp_path / "activation.json")
    again = ros.Activation.load(tmp_path / "activation.json").apply(before)
    assert again["AMENT_PREFIX_PATH"] == str(prefix)
    assert again["PATH"] == f"{prefix}/bin:/usr/bin:/bin"
    assert again["ROS_DISTRO"] == "jazzy"
    assert {name: after[name] for name in again} == again


def test_activation_leaves_no_doubles() -> None:
    activation = ros.Activation({"PATH": ("/a", "/b")}, {})
    once = activation.apply({"PATH": "/usr/bin"})
    assert activation.apply(once)["PATH"] == "/a:/b:/usr/bin"


def test_failing_setup_file_is_reported(tmp_path: Path) -> None:
    broken = tmp_path / "setup.bash"
    broken.write_text("echo no such thing >&2; return 3\n")
    with pytest.raises(SetupError, match="no such thing"):
        ros.source([broken], {"PATH": "/usr/bin:/bin"})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"front": 1, "values": {}}'])
def test_damaged_activation_is_a_value_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "activation.json"
    file.write_text(text)
    with pytest.raises(ValueError):
        ros.Activation.load(file)


def test_defaults_leave_the_callers_choice(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    plain = ros.with_defaults(home, tmp_path, wheels=True)
    assert plain["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    assert plain["FASTRTPS_DEFAULT_PROFILES_FILE"] == f"{tmp_path}/config/dds/fastdds.xml"
    assert plain["RMW_IMPLEMENTATION"] == "rmw_fastrtps_cpp"
    assert "ROS_LOG_DIR" not in plain
    chosen = ros.with_defaults(
        {
            **home,
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
            "FASTRTPS_DEFAULT_PROFILES_FILE": "/mine.xml",
            "RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp",
        },
        tmp_path,
        wheels=False,
    )
    assert chosen["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SUBNET"
    assert chosen["FASTRTPS_DEFAULT_PROFILES_FILE"] == "/mine.xml"
    assert chosen["RMW_IMPLEMENTATION"] == "rmw_cyclonedds_cpp"


def test_bytecode_that_is_unwanted_beside_the_sources_is_kept_in_the_clone(tmp_path: Path) -> None:
    unwanted = {"HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    environ = ros.with_defaults(unwanted, tmp_path, wheels=True)
    assert environ["PYTHONPYCACHEPREFIX"] == f"{tmp_path}/.coterie/bytecode"
    assert "PYTHONDONTWRITEBYTECODE" not in environ
    chosen = {**unwanted, "PYTHONPYCACHEPREFIX": "/elsewhere"}
    assert chosen.items() <= ros.with_defaults(chosen, tmp_path, wheels=True).items()
    plain = ros.with_defaults({"HOME": str(tmp_path)}, tmp_path, wheels=True)
    assert "PYTHONPYCACHEPREFIX" not in plain


def test_without_a_home_logs_stay_in_the_clone(tmp_path: Path) -> None:
    environ = ros.with_defaults({}, tmp_path, wheels=True)
    assert environ["ROS_LOG_DIR"].startswith(str(tmp_path))
