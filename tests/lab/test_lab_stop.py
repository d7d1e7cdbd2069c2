"""A stop that is pressed while a robot of the lab drives or reaches: it stands until released."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("moveit_msgs")

from std_srvs.srv import SetBool

from coterie_core.skills import MoveArmTo, NavigateTo, Outcome
from coterie_fixtures.lab_rig import LabRig

pytestmark = [pytest.mark.ros, pytest.mark.slow]

FAR = NavigateTo(position=(6.0, 2.3, 0.0))
REACH = MoveArmTo((0.6, 1.5, 1.1))


def test_a_stop_at_any_moment_of_a_drive_or_a_reach_holds_until_it_is_released(ros):
    rig = LabRig(ros, pace=2.0)
    rig.wait_ready()
    button = rig.node.create_client(SetBool, "/slim/stop")
    ros.wait_for_matched(button)

    def press(stopped):
        answer = ros.result(button.call_async(SetBool.Request(data=stopped)))
        assert answer.success, answer.message

    for skill, moment in ((REACH, 0.3), (REACH, 1.0), (FAR, 0.2), (FAR, 1.5)):
        _, result = rig.send(skill)
        rig.wait(moment)
        press(True)
        ended = rig.result(result)
        assert ended.outcome in (Outcome.CANCELLED, Outcome.REFUSED), (skill, moment, ended)
        ros.spin(0.3)  # what was under way when it was pressed has ended
        assert rig.still(), (skill, moment)
        refused = rig.end(skill)
        assert refused.outcome is Outcome.REFUSED and "stopped" in refused.reason, refused
        assert rig.still()
        press(False)
        ros.spin(0.3)
        assert rig.still(), "a release alone moves nothing"
    done = rig.end(FAR)
    assert done.ok, done
