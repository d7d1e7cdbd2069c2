"""`./coterie stop` and `release`: whom they mean, what they say, what they leave behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from coterie_bringup.rundir import own_state, registered
from coterie_bringup.stop_robots import LOG, main
from coterie_safety.stop import latch_file


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path))
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    return tmp_path


def team(folder: Path, domain: int, robots: list[str], name: str = "lab"):
    directory = folder / "runs" / name
    directory.mkdir(parents=True)
    return registered(own_state(name, domain, directory, robots=robots, stops=directory / "stops"))


def lose_shared_memory(domain: int) -> list[Path]:
    """Remove what the processes of a domain listen on, as the end of a login may do."""
    ports = range(7400 + 250 * domain, 7650 + 250 * domain)
    files = [p for p in Path("/dev/shm").glob("*fastrtps_port*") if _number(p) in ports]
    for file in files:
        file.unlink()
    return files


def _number(file: Path) -> int:
    return int("".join(re.findall(r"port(\d+)", file.name)))


def test_who_is_not_there_is_named(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stop"]) == 2
    assert "no team runs on this computer" in capsys.readouterr().err
    with team(runs, 7, ["rover", "walker"]):
        assert main(["stop", "wlker"]) == 2
        assert "did you mean 'walker'?" in capsys.readouterr().err
        assert main(["stop", "--team", "demo"]) == 2
        assert "no team 'demo' runs here; one of lab" in capsys.readouterr().err
        (runs / "mine.yaml").write_text("# a team\nname: other\nworld: {}\n")
        assert main(["stop", "--team", str(runs / "mine.yaml")]) == 2
        assert "no team 'other' runs here" in capsys.readouterr().err


@pytest.mark.ros
def test_robots_are_stopped_and_released_and_those_that_are_gone_obey_later(
    ros, runs: Path
) -> None:
    pytest.importorskip("coterie_msgs")
    from coterie_ros.agent_node import AgentNode
    from coterie_ros.stopping import StopServer

    calls: list[tuple[str, str]] = []

    class Driver(AgentNode):
        def on_start(self) -> None:
            robots = {"rover": "rover/", "walker": "walker/"}
            self.server = StopServer(
                self,
                robots,
                "stop",
                runs / "stops",
                lambda reasons: calls.extend(reasons.items()),
                lambda robot: calls.append((robot, "go")),
            )

    node = ros.add(Driver("driver", context=ros.context))
    ros.wait_active(node)

    def coterie(*words: str) -> subprocess.CompletedProcess[str]:
        ended = threading.Event()
        done: list[subprocess.CompletedProcess[str]] = []

        def run() -> None:
            done.append(
                subprocess.run(
                    [sys.executable, "-m", "coterie_bringup.stop_robots", *words],
                    env={**os.environ, "COTERIE_STATE": str(runs)},
                    capture_output=True,
                    text=True,
                )
            )
            ended.set()

        threading.Thread(target=run, daemon=True).start()
        ros.spin_until(ended.is_set, what="the command to end")
        return done[0]

    with team(runs, ros.domain, ["rover", "walker", "gone"]):
        one = coterie("stop", "rover", "--by", "anna", "--reason", "smoke")
        assert one.returncode == 0 and "rover: stopped after" in one.stdout, one.stderr
        # Told again with every message that came until the command had heard of it.
        assert set(calls) == {
            ("rover", "stopped by anna: smoke; release with ./coterie release rover")
        }
        assert node.server.refusal("walker") == ""
        assert lose_shared_memory(ros.domain)  # nothing new reaches the node through it any more
        everyone = coterie("stop", "--timeout", "3")
        assert everyone.returncode == 1
        assert "gone: did not answer; it stops when its node starts again" in everyone.stderr
        assert node.server.refusal("walker") and "anna: smoke" in node.server.refusal("rover")
        latch = latch_file(runs / "runs" / "lab" / "stops", "gone")
        assert json.loads(latch.read_text())["stopped"] is True
        back = coterie("release", "rover", "gone", "--by", "bert", "--timeout", "3")
        assert back.returncode == 1 and "rover: released" in back.stdout
        assert not latch.exists() and calls[-1] == ("rover", "go")
        assert node.server.refusal("walker") and not node.server.refusal("rover")
    elsewhere = coterie("release", "--domain", str(ros.domain))
    assert elsewhere.returncode == 0, elsewhere.stderr
    assert "walker: released" in elsewhere.stdout
    log = [json.loads(line) for line in (runs / LOG).read_text().splitlines()]
    assert [(e["what"], e["by"], e["reason"]) for e in log[:1]] == [("stop", "anna", "smoke")]
    assert [e["silent"] for e in log] == [[], ["gone"], ["gone"], []]
