"""`./coterie handover`: what the leader of the running team says, and the exit code."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("coterie_msgs")

from coterie_bringup.rundir import own_state, registered
from coterie_cli.hand_over import hand_over
from emos_planner.leader.node import LeaderNode

pytestmark = pytest.mark.ros


def test_the_leaders_refusal_is_told(ros, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path))
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    ros.wait_active(
        ros.add(LeaderNode("leader", context=ros.context, parameters={"robots": ["rover"]}))
    )
    directory = tmp_path / "runs" / "lab"
    directory.mkdir(parents=True)
    codes: list[int] = []
    with registered(own_state("lab", ros.domain, directory, robots=["rover"])):
        thread = threading.Thread(
            target=lambda: codes.append(hand_over("task-1/pick-2", "rover", by="ann"))
        )
        thread.start()
        ros.spin_until(lambda: not thread.is_alive(), what="the command")
    assert codes == [1]
    assert "no robot works on a task" in capfd.readouterr().out
