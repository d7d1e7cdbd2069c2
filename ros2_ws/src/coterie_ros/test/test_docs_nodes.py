"""The example of docs/nodes.md runs as it stands there."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from std_srvs.srv import Trigger

pytestmark = pytest.mark.ros


def test_the_example_greets(ros, tmp_path):
    page = Path(__file__).resolve().parents[4] / "docs" / "nodes.md"
    (code, *_) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    file = tmp_path / "greeter.py"
    file.write_text(code)
    process = ros.start_process([sys.executable, str(file)])
    client = ros.node().create_client(Trigger, "greet")
    ros.wait_for_matched(client)
    reply = ros.result(client.call_async(Trigger.Request()))
    assert reply.success and reply.message == "hello"
    process.send(signal.SIGINT)
    assert process.wait(10.0) == 0, process.output
