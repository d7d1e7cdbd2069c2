"""run_nodes in real processes: signals, exit codes, messages, namespaces."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from std_msgs.msg import String

from coterie_ros.main import take_namespace, team_remaps
from coterie_ros.qos import NAMES, profile

pytestmark = pytest.mark.ros

LIGHT = """
    import sys
    import coterie_ros.agent_node
    from std_msgs.msg import String
    String.__class__.__import_type_support__()
    assert String.__class__._TYPE_SUPPORT is not None
    print("lark" in sys.modules)
"""
PROGRAM = """
    import asyncio, sys, threading, time
    from coterie_ros.agent_node import AgentNode
    from coterie_ros.main import run_nodes
    from coterie_ros.parameters import ParameterSpec
    from std_msgs.msg import String

    class Speaker(AgentNode):
        PARAMETERS = (ParameterSpec("word", "hello", "What it says."),)

        def on_setup(self, parameters):
            if parameters["word"] == "fail":
                raise ValueError("no word; give one with -p word:=WORD")
            self.out = self.publisher(String, "word", "latched")

        def on_start(self):
            self.out.publish(String(data=self.parameters["word"]))
            if self.parameters["word"] == "hang":
                self.run(self.hang())
            if self.parameters["word"] == "raise":
                self.create_timer(0.1, self.boom)

        def on_stop(self):
            print("stopped", flush=True)

        def boom(self):
            raise RuntimeError("boom in a callback")

        async def hang(self):
            while True:
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    pass

    def make(options):
        names = options.arguments or ["speaker"]
        return [
            Speaker("speaker", namespace=options.below(name), context=options.context, light=True)
            for name in names
        ]

    sys.exit(run_nodes(make))
"""


def write_node(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(PROGRAM))
    return file


def start(ros, tmp_path, *arguments):
    return ros.start_process([sys.executable, str(write_node(tmp_path)), *arguments])


def hear(ros, topic):
    words = []
    ros.node("listener").create_subscription(
        String, topic, lambda m: words.append(m.data), profile("latched")
    )
    return words


def runs(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def test_messages_are_used_without_what_generates_them() -> None:
    code = textwrap.dedent(LIGHT)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(ros, tmp_path, number):
    process = start(ros, tmp_path)
    words = hear(ros, "speaker/word")
    ros.spin_until(lambda: words)
    process.send(number)
    assert process.wait() == 0
    assert process.lines[-1] == "stopped"


def test_a_task_that_never_ends_does_not_keep_it(ros, tmp_path):
    process = start(ros, tmp_path, "--ros-args", "-p", "word:=hang")
    words = hear(ros, "speaker/word")
    ros.spin_until(lambda: words)
    process.send(signal.SIGINT)
    process.wait()
    assert "did not end within 2 s" in process.output


def test_failing_setup_ends_with_the_message_and_a_code_that_forbids_restarts(ros, tmp_path):
    process = start(ros, tmp_path, "--ros-args", "-p", "word:=fail")
    assert process.wait() == os.EX_CONFIG
    assert "no word; give one with -p word:=WORD" in process.output
    assert "Traceback" not in process.output


def test_wrong_parameter_ends_with_the_nearest_name(ros, tmp_path):
    process = start(ros, tmp_path, "--ros-args", "-p", "wrod:=x")
    assert process.wait() == os.EX_CONFIG
    assert "no parameter 'wrod'; did you mean 'word'?" in process.output


def test_a_section_for_all_nodes_may_hold_what_others_want(ros, tmp_path):
    file = tmp_path / "all.yaml"
    file.write_text(
        "/**:\n  ros__parameters: {frequency: 30.0, word: hi, sensors: {lidar: true}}\n"
    )
    start(ros, tmp_path, "--ros-args", "--params-file", str(file))
    words = hear(ros, "speaker/word")
    ros.spin_until(lambda: words == ["hi"])


def test_a_section_of_its_own_may_not(ros, tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text("/speaker/speaker:\n  ros__parameters: {wrod: hi}\n")
    process = start(ros, tmp_path, "--ros-args", "--params-file", str(file))
    assert process.wait() == os.EX_CONFIG
    assert "did you mean 'word'" in process.output


def test_uncaught_exception_ends_with_1_and_the_traceback(ros, tmp_path):
    process = start(ros, tmp_path, "--ros-args", "-p", "word:=raise")
    assert process.wait() == 1
    assert "boom in a callback" in process.output and "Traceback" in process.output


def test_several_nodes_keep_their_namespaces_below_the_teams(ros, tmp_path):
    start(ros, tmp_path, "a", "b", "--ros-args", "-r", "__ns:=/team")
    for name in ("a", "b"):
        words = hear(ros, f"/team/{name}/word")
        ros.spin_until(lambda words=words: words)


def test_namespace_is_taken_out_of_ros_arguments_only():
    line = ["x", "-r", "__ns:=/own", "--ros-args", "-p", "a:=1", "-r", "__ns:=/t", "-r", "b:=c"]
    rest, namespace = take_namespace(line)
    assert namespace == "/t"
    assert rest == ["x", "-r", "__ns:=/own", "--ros-args", "-p", "a:=1", "-r", "b:=c"]


def test_time_and_frames_move_into_the_teams_namespace():
    remaps = team_remaps(["x", "--ros-args", "-r", "/tf:=/mine/tf"], "/lab")
    assert "/clock:=/lab/clock" in remaps and "/tf_static:=/lab/tf_static" in remaps
    assert not any(word.startswith("/tf:=") for word in remaps)
    assert team_remaps(["x"], "") == []


def test_nodes_end_with_the_process_that_launched_them(ros, tmp_path):
    pid = tmp_path / "pid"
    code = (
        "import os, subprocess, sys; os.environ['COTERIE_PARENT'] = str(os.getpid());"
        f"p = subprocess.Popen([sys.executable, {str(write_node(tmp_path))!r}]);"
        f"open({str(pid)!r}, 'w').write(str(p.pid)); p.wait()"
    )
    parent = ros.start_process([sys.executable, "-c", code])
    words = hear(ros, "speaker/word")
    ros.spin_until(lambda: words)
    parent.send(signal.SIGKILL)
    node = int(pid.read_text())
    ros.spin_until(lambda: not runs(node), what="the node to end")


def test_profiles_are_those_of_the_page():
    from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

    assert set(NAMES) >= {"sensor_data", "observations", "latched", "questions", "answers"}
    assert profile("sensor_data").reliability == ReliabilityPolicy.BEST_EFFORT
    assert profile("answers").durability == DurabilityPolicy.TRANSIENT_LOCAL
    assert (profile("answers").depth, profile("observations").depth) == (1000, 50)
    with pytest.raises(KeyError, match="did you mean 'answers'"):
        profile("answer")
