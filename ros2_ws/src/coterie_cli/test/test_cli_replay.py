"""A run recorded, read by the plain MCAP reader, cut off, and played again."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

import numpy as np
from mcap.reader import make_reader
from rclpy.qos import DurabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Image
from std_msgs.msg import String

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import own_state, running_teams
from coterie_bringup.team import load_team
from coterie_bringup.view import team_config, topics
from coterie_cli.player import Player, contents
from coterie_cli.record_live import (
    DECISIONS_TOPIC,
    FACTS,
    LOG_TOPIC,
    LiveOptions,
    RunRecorder,
    facts_of,
)
from coterie_cli.replay import replay
from coterie_cli.replay_options import ReplayOptions
from coterie_core.tasks import RobotReport
from coterie_fixtures.two_room_map import two_rooms
from coterie_msgs.msg import RobotStatus, SemanticMap
from coterie_recordings.bag_files import McapFile
from coterie_recordings.mcap_log import McapLog
from coterie_recordings.ros_types import TYPES, definition
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.conversions.tasks import report_to_msg
from coterie_ros.definitions import UnknownType, definition_of, message_class
from coterie_ros.offered_qos import KEY, from_text
from coterie_safety.ledger import Entry, Ledger, entries
from coterie_safety.why.record import Record, moment

pytestmark = pytest.mark.ros


class Team(AgentNode):
    """A team that says something all the time, with a map that it said once."""

    def on_start(self) -> None:
        self.said = 0
        self.map = self.publisher(SemanticMap, "semantic_map", "latched")
        self.map.publish(conversions.scene_to_msg(two_rooms()))
        self.status = self.publisher(RobotStatus, "rover/status", "latched")
        self.words = self.publisher(String, "rover/words", "messages")
        self.image = self.publisher(Image, "rover/head/color/image_raw", "sensor_data")
        self.every(0.05, self.say, "say")

    def say(self) -> None:
        self.said += 1
        report = RobotReport(robot="rover", position=(float(self.said), 0.0, 0.0))
        self.status.publish(report_to_msg(report))
        self.words.publish(String(data=f"word {self.said} <b>\u202e"))
        if self.said % 2:
            pixels = np.full((240, 320, 3), self.said % 256, np.uint8)
            image = Image(height=240, width=320, encoding="rgb8", step=960, data=pixels.tobytes())
            image.header.frame_id = "cam"
            self.image.publish(image)


def recorded_run(ros, folder: Path, images: str) -> Path:
    team = ros.add(Team("team", context=ros.context))
    ros.wait_active(team)
    state = own_state("tiny", ros.domain, folder, robots=["rover"], log=folder / "log")
    ledger = Ledger(folder / "log")
    ledger.write("stop", "rover", {"by": "anna"})
    (folder / "why").mkdir()
    record = Record("a" * 10, moment(), "decision", "rover", body={"name": "x.choose"})
    (folder / "why" / "rover.jsonl").write_bytes(record.to_line() + b'{"half')
    out = folder / f"{images}.mcap"
    log = McapLog(out)
    log.note(FACTS, facts_of(state))
    recorder = RunRecorder(ros.node("recorder"), log, LiveOptions(out, images), state)  # type: ignore[arg-type]
    ros.spin_until(lambda: log.counts.get("/rover/words", 0) >= 30)
    ledger.write("release", "rover", {"by": "anna"})
    ros.spin_until(lambda: log.counts.get(LOG_TOPIC, 0) == 2)
    log.close()
    assert recorder.error is None and recorder.left_out == {}
    ros.remove(team)
    return out


@pytest.mark.slow
def test_a_run_is_recorded_read_and_played(ros, tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    file = recorded_run(ros, tmp_path, "all")
    with file.open("rb") as opened:
        reader = make_reader(opened)
        summary = reader.get_summary()
        channels = {channel.topic: channel for channel in summary.channels.values()}
        heard_words = [m.data for *_, m in reader.iter_messages(topics=["/rover/words"])]
        words = [deserialize_message(data, String).data for data in heard_words]
        (map_,) = [
            deserialize_message(m.data, SemanticMap)
            for *_, m in reader.iter_messages(topics=["/semantic_map"])
        ]
        log = [json.loads(m.data) for *_, m in reader.iter_messages(topics=[LOG_TOPIC])]
        decisions = [json.loads(m.data) for *_, m in reader.iter_messages(topics=[DECISIONS_TOPIC])]
        facts = {one.name: one.metadata for one in reader.iter_metadata()}
    numbers = [int(word.split()[1]) for word in words]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))  # none lost, in order
    assert {room.name for room in map_.rooms} == {"kitchen", "living"}
    assert [entry["kind"] for entry in log] == ["stop", "release"]
    assert [one["body"]["name"] for one in decisions] == ["x.choose"]
    assert facts[FACTS]["team"] == "tiny" and json.loads(facts[FACTS]["robots"]) == ["rover"]
    fields = json.loads(summary.schemas[channels[LOG_TOPIC].schema_id].data)["properties"]
    assert fields["kind"] == {"type": "string"} and fields["body"] == {"type": "object"}
    assert "transient_local" in channels["/semantic_map"].metadata[KEY]
    assert "volatile" in channels["/rover/words"].metadata[KEY]
    whole = contents(McapFile(file))
    counts = {c.topic: summary.statistics.channel_message_counts[id_]
              for id_, c in summary.channels.items()}  # fmt: skip
    assert whole.counts == counts

    heard: dict[str, list[object]] = {"/rover/words": [], "/rover/head/color/image_raw": []}
    durable: list[object] = []
    done: list[object] = []

    def play() -> None:
        try:
            done.append(replay(ReplayOptions(file, rate=4.0, delay=8.0, domain=free, hold=True)))
        except BaseException as error:
            done.append(error)

    from coterie_fixtures.ros_harness import RosHarness, take_domain

    free, lock = take_domain()
    other = RosHarness(free)
    try:
        node = other.node("ears")
        other.spin(0.5)
        # Somebody is there: what is played would mix with what they say.
        with pytest.raises(CommandError, match="somebody is in ROS domain"):
            replay(ReplayOptions(file, domain=free))
        monkeypatch.setattr("coterie_cli.player.domain_in_use", lambda number: False)
        for topic in heard:
            kind = String if topic.endswith("words") else Image
            qos = from_text(topic, channels[topic].metadata[KEY])
            node.create_subscription(kind, topic, heard[topic].append, qos)
        threading.Thread(target=play, daemon=True).start()
        last = numbers[-1]
        other.spin_until(
            lambda: any(f"word {last} " in one.data for one in heard["/rover/words"]) or done
        )
        assert done == []
        assert [one.data for one in heard["/rover/words"]] == words
        assert heard["/rover/head/color/image_raw"][-1].width == 320
        # Who comes late still gets the map.
        qos = from_text("/semantic_map", channels["/semantic_map"].metadata[KEY])
        assert qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
        node.create_subscription(SemanticMap, "/semantic_map", durable.append, qos)
        other.spin_until(lambda: durable)
        (state,) = [one for one in running_teams() if one.domain == free]
        assert state.team == "tiny" and state.robots == ["rover"]
        other.spin_until(lambda: len(list(entries(Path(state.log)))) == 2)
    finally:
        other.close()
        lock.close()


def test_small_images_and_none(ros, tmp_path):
    file = McapFile(recorded_run(ros, tmp_path, "thumbnails"))
    kinds = {topic: one.type for topic, one in contents(file).topics.items()}
    small = "/rover/head/color/image_raw/compressed"
    assert kinds[small] == "sensor_msgs/msg/CompressedImage"
    assert "/rover/head/color/image_raw" not in kinds
    (message, *_) = file.scan(frozenset({kinds[small]}))
    assert len(message.data) < 5000
    recorder = RunRecorder(
        ros.node("second"), McapLog(tmp_path / "x.mcap"), LiveOptions(tmp_path, "none")
    )
    assert not recorder._wanted("/rover/head/color/image_raw", ["sensor_msgs/msg/Image"])
    assert recorder._wanted("/rover/head/color/camera_info", ["sensor_msgs/msg/CameraInfo"])


def written(path: Path, count: int) -> Path:
    log = McapLog(path)
    for k in range(count):
        log.add("/a", "std_msgs/msg/String", bytes(3000), k + 1, text="string data")
    log.flush()
    return path


def test_a_file_that_is_cut_off_is_played_as_far_as_it_goes(tmp_path):
    whole = written(tmp_path / "killed.mcap", 2000)  # never closed
    file = McapFile(whole)
    assert contents(file).counts == {"/a": 2000}
    assert any("cut off" in problem for problem in file.problems)
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    half = contents(McapFile(cut)).counts["/a"]
    assert 500 < half < 2000
    empty = tmp_path / "empty.mcap"
    empty.write_bytes(b"nothing")
    with pytest.raises(CommandError, match="no MCAP file"):
        replay(ReplayOptions(empty))


FULL = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
from pathlib import Path
from coterie_recordings.mcap_log import McapLog
from coterie_recordings import RecordingError
log = McapLog(Path(sys.argv[1]))
try:
    for k in range(3000):
        log.add("/a", "std_msgs/msg/String", os.urandom(1000), k + 1, text="string data")
except RecordingError as error:
    print(error)
log.close()
"""


def test_a_full_disk_is_told_and_what_was_written_stays(tmp_path):
    path = tmp_path / "full.mcap"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True
    )
    assert "full.mcap: File too large; what was written before can be used" in done.stdout
    assert contents(McapFile(path)).counts["/a"] > 0
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 300_000


def test_definitions_are_those_of_recordings():
    for kind in TYPES:
        if not kind.startswith("vision_msgs"):
            made, known = (text.split("=" * 80) for text in (definition_of(kind), definition(kind)))
            assert {part.strip() for part in made} == {part.strip() for part in known}
            assert made[0].strip() == known[0].strip()
    with pytest.raises(UnknownType, match="not installed here"):
        message_class("nobody_msgs/msg/Nothing")


def test_what_is_broken_is_left_out_and_told(ros):
    from coterie_cli.player import Recorded
    from coterie_recordings.bag_files import Found

    odd = {
        "/fine": Found("/fine", "std_msgs/msg/String", (0, 0, 0), b""),
        "/b ad": Found("/b ad", "std_msgs/msg/String", (0, 0, 0), b""),
        "/other": Found("/other", "nobody_msgs/msg/Nothing", (0, 0, 0), b""),
        "/old": Found("/old", "std_msgs/msg/String", (0, 0, 0), b"", metadata={KEY: "[{a"}),
    }
    with Player.of(Recorded(odd), ros.domain) as player:
        assert player.topics == ("/fine", "/old")
        assert set(player.left_out) == {"/b ad", "/other"}
        begun = time.monotonic()
        player.wait(0.05)
        assert time.monotonic() - begun >= 0.05


def test_the_layout_shows_what_the_team_of_the_docs_publishes():
    root = Path(__file__).resolve().parents[4]
    layout = json.loads((root / "config/foxglove/coterie.json").read_text())
    shown: set[str] = set()

    def panels(part: object) -> set[str]:
        if isinstance(part, str):
            return {part}
        assert isinstance(part, dict)
        return panels(part["first"]) | panels(part["second"])

    assert panels(layout["layout"]) == set(layout["configById"])
    shown |= set(layout["configById"]["3D!map"]["topics"])
    shown |= set(layout["configById"]["Image!camera"]["imageMode"].values())
    config = team_config(load_team(root / "config/teams/home.yaml"))
    known = set(topics(config)) | {"/rover/head/color/camera_info"}
    assert {topic for topic in shown if not topic.endswith("/odom")} <= known
    assert layout["configById"]["RawMessages!log"]["topicPath"] == LOG_TOPIC
    paths = [
        path["value"] for panel in layout["configById"].values() for path in panel.get("paths", ())
    ]
    for path in paths:
        topic, *fields = path.split(".")
        if topic == LOG_TOPIC:
            assert fields[0] in Entry.__slots__
            continue
        assert topic.endswith("/odom") and topic.split("/")[1] in {"rover", "walker", "drone"}
        shown_type = message_class("nav_msgs/msg/Odometry")()
        for field in fields:
            shown_type = getattr(shown_type, field)
        assert isinstance(shown_type, float)
