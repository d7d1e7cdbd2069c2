"""`./coterie record --live`: a bridge's cameras written as they come, and mapped from the file."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from coterie_cli.record_live import LiveOptions, RunRecorder
from coterie_core.embodiment import Camera, Embodiment
from coterie_fixtures.tiny_house import tiny_house
from coterie_recordings import open_recording
from coterie_recordings.mcap_log import McapLog
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.node import BridgeNode

pytestmark = pytest.mark.ros

CAMERA = Camera(name="head", width=64, height=48, mount_height=1.0, pitch=0.3)


def test_a_bridge_is_recorded(ros, tmp_path):
    body = Embodiment(name="cart", radius=0.2, cameras=(CAMERA,))
    start = {"pose": {"x": 2.0, "y": 2.0, "z": 0.0}}
    spec = {"name": "r1", "embodiment": body.model_dump(), "start": start}
    bridge = BridgeNode(
        context=ros.context,
        world=EmbeddedWorld(tiny_house(), seed=3, threads=1),
        parameters={"robots": json.dumps([spec]), "mode": "real_time", "rate": 20.0},
    )
    ros.add(bridge)
    ros.wait_active(bridge)
    log = McapLog(tmp_path / "live.mcap")
    options = LiveOptions(log.path, robots=("r1",))
    recorder = RunRecorder(ros.node("recorder"), log, options)
    wanted = {f"/r1/head/{c}/image_raw" for c in ("color", "depth")} | {
        "/tf", "/tf_static", "/r1/head/detections", "/r1/head/depth/camera_info",
    }  # fmt: skip
    ros.spin_until(lambda: all(log.counts.get(t, 0) > 2 for t in wanted - {"/tf_static"}))
    log.close()
    assert recorder.error is None and wanted <= set(log.counts)
    assert not any("semantic" in topic for topic in log.counts)
    recording = open_recording(tmp_path / "live.mcap")
    assert len(recording) >= 2
    shown = recording[len(recording) - 1]
    assert shown.frame.robot == "r1" and shown.frame.color.shape == (48, 64, 3)
    assert (shown.frame.depth > 0.0).any() and shown.detections is not None
    # The camera's place is the robot's, a metre up; its picture's columns start at whole numbers.
    np.testing.assert_allclose(shown.frame.camera_to_map[2, 3], 1.0, atol=0.05)
    focal = CAMERA.focal
    np.testing.assert_allclose(shown.frame.intrinsics, (focal, focal, 32.0, 24.0))
