"""`./coterie robot new`: the package is whole, its tests pass, and nothing is overwritten."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from coterie_bringup.errors import CommandError
from coterie_cli.robot.new import new_package


def test_the_package_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert new_package("spot_two", tmp_path / "ws" / "src") == 0
    folder = tmp_path / "ws" / "src" / "spot_two"
    assert "spot_two/driver.py" in capsys.readouterr().out
    names = {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()}
    assert names >= {
        "package.xml", "setup.py", "setup.cfg", "resource/spot_two", "spot_two/driver.py",
        "test/test_spot_two.py", "README.md",
    }  # fmt: skip
    assert ElementTree.parse(folder / "package.xml").findtext("name") == "spot_two"
    assert "install_scripts=$base/lib/spot_two" in (folder / "setup.cfg").read_text()
    assert len((folder / "spot_two" / "driver.py").read_text().splitlines()) <= 60
    for file in folder.rglob("*.py"):
        ast.parse(file.read_text())
        assert "$" not in file.read_text()
    assert [p.name for p in folder.parent.iterdir()] == ["spot_two"]  # nothing half is left


@pytest.mark.parametrize(
    ("name", "hint"),
    [("Spot 2", "'spot'"), ("a__b", "'a_b'"), ("9lives", "'lives'"), ("../up", "'up'"),
     ("json", "word of Python's"), ("x" * 60, "at most 50"), ("", "cannot be")],
)  # fmt: skip
def test_names_that_no_package_can_have(tmp_path: Path, name: str, hint: str) -> None:
    with pytest.raises(CommandError, match=hint):
        new_package(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten_and_no_package_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "code.py").write_text("kept")
    with pytest.raises(CommandError, match="there already"):
        new_package("mine", tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(CommandError, match="there already"):
        new_package("link", tmp_path)
    (tmp_path / "prefix" / "share" / "base_driver").mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))
    with pytest.raises(CommandError, match="a ROS package 'base_driver' is in"):
        new_package("base_driver", tmp_path)
    assert (tmp_path / "mine" / "code.py").read_text() == "kept"


@pytest.mark.ros
def test_its_own_tests_pass(ros, tmp_path: Path) -> None:
    """They run from the workspace, as the guide says, before anything is built."""
    assert new_package("toy_base", tmp_path / "src") == 0
    folder = tmp_path / "src" / "toy_base"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder / "test")],
        cwd=tmp_path,
        env={
            **os.environ,
            "ROS_DOMAIN_ID": str(ros.domain),
            "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout


@pytest.mark.ros
def test_an_adapter_with_backend_skills_drives_it(ros, tmp_path: Path) -> None:
    pytest.importorskip("nav2_msgs")
    from rclpy.action import ActionClient

    from coterie_core.skills import NavigateTo, Outcome
    from coterie_msgs.action import Manipulate
    from coterie_msgs.action import NavigateTo as NavigateToAction
    from coterie_ros import conversions
    from robot_adapters.node import AdapterNode

    assert new_package("toy_base", tmp_path) == 0
    folder = tmp_path / "toy_base"
    search = os.pathsep.join([str(folder), *(p for p in sys.path if p)])
    ros.start_process(
        [sys.executable, "-c", "from toy_base.driver import main; main()", "--ros-args", "-r",
         "__ns:=/toy_base"],
        {"PYTHONPATH": search},
    )  # fmt: skip
    parameters = {
        "permits": '{"team": {"otherwise": "allow"}}',
        "limits": '{"team": {"area": [[-1, -1], [3, -1], [3, 3], [-1, 3]]}}',
        "navigation.backend": "skills",
        "navigation.look_on_arrival": False,
        "arm.backend": "skills",
        "embodiment": '{"name": "toy", "arm": {}}',
        "frames.tf": "tf",
        "frames.odom": "",
        "sensors.map": "",
        "sensors.settle": 0.05,
    }
    adapter = ros.add(
        AdapterNode(namespace="/toy_base", context=ros.context, parameters=parameters)
    )
    ros.wait_active(adapter)
    node = ros.node()
    drive = ActionClient(node, NavigateToAction, "/toy_base/navigate_to")
    act = ActionClient(node, Manipulate, "/toy_base/manipulate")
    ros.spin_until(lambda: drive.server_is_ready() and act.server_is_ready())
    ros.spin_until(lambda: adapter.navigation.ready() == "", what="the driver")

    def end(client, goal):
        return ros.result(ros.result(client.send_goal_async(goal)).get_result_async()).result

    ros.spin_until(lambda: _knows_where(adapter), what="the adapter to know where it is")
    there = conversions.navigate_to_msg(NavigateTo(position=(0.8, 0.4, 0.0), yaw=1.0))
    result = end(drive, there)
    assert Outcome(result.result.outcome) is Outcome.SUCCEEDED, result.result.reason
    assert result.pose.pose.position.x == pytest.approx(0.8, abs=0.05)
    beyond = conversions.navigate_to_msg(NavigateTo(position=(9.0, 0.0, 0.0)))
    assert "limits.area" in end(drive, beyond).result.reason
    pick = Manipulate.Goal(skill=Manipulate.Goal.PICK, label="mug")
    assert Outcome(end(act, pick).result.outcome) is Outcome.UNSUPPORTED


def _knows_where(adapter) -> bool:
    from robot_adapters.sensing.observer import SensingError

    try:
        adapter.sensors.pose()
    except SensingError:
        return False
    return True
