"""`./coterie robot try`: words become skills, and what a robot perceives becomes words."""

from __future__ import annotations

import math
import os
import re
import sys
import time
from dataclasses import replace

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from coterie_bringup import rundir
from coterie_bringup.errors import CommandError
from coterie_cli.robot.trying import (
    as_of,
    described,
    needs_seen,
    skill_of,
    try_skill,
    where_it_ended,
)
from coterie_core.geometry import Box, Pose
from coterie_core.observation import Detection, Observation, PlaceView
from coterie_core.skills import (
    Detect,
    LookAround,
    MoveArmTo,
    NavigateTo,
    Outcome,
    Pick,
    Place,
    SkillResult,
    Target,
)


def seen() -> Observation:
    # The farther one was seen from nearby, on the way.
    def thing(label: str, x: float) -> Detection:
        box = Box((x, 2.0, 0.8), (0.1, 0.1, 0.1))
        return Detection(label, 0.7, box, distance=1 / x, instance="t")

    return Observation(
        "k9", 3, 1.0, Pose((1.0, 2.0, 0.0), 0.5), "p0_1_2", None,
        (thing("samovar", 4.0), thing("samovar", 2.5), Detection("lamp", 0.4)),
        (PlaceView("p0_9_9", (0.9, 0.9, 0.0), 1.1),),
    )  # fmt: skip


def test_words_become_skills() -> None:
    assert skill_of("drive", ["p0_9_9"], None) == NavigateTo(place="p0_9_9")
    assert skill_of("drive", ["-1.5", "2", "0.3"], None) == NavigateTo(
        position=(-1.5, 2.0, 0.0), yaw=0.3
    )
    assert skill_of("look", [], None) == LookAround()
    assert skill_of("detect", [], None) == Detect()
    assert skill_of("detect", ["mug"], None) == Detect("mug")
    assert skill_of("reach", ["1", "2", "3"], None) == MoveArmTo((1.0, 2.0, 3.0))
    assert skill_of("pick", ["mug", "1", "2", "3"], None) == Pick(Target("mug", (1.0, 2.0, 3.0)))
    nearest = Target("samovar", (2.5, 2.0, 0.8), "t")
    assert skill_of("place", ["samovar"], seen()) == Place(nearest)


def test_a_robot_drives_on_the_floor_where_it_is() -> None:
    upstairs = replace(seen(), pose=Pose((1.0, 2.0, 3.1), 0.5))
    for words in (["2", "0.5"], ["2", "0.5", "1.57"]):
        assert needs_seen("drive", words)
        assert skill_of("drive", words, upstairs).position == (2.0, 0.5, 3.1)
    assert needs_seen("pick", ["mug"]) and not needs_seen("pick", ["mug", "1", "2", "3"])
    assert not needs_seen("drive", ["p0_9_9"]) and not needs_seen("look", [])
    assert not needs_seen("reach", ["1", "2", "3"])


@pytest.mark.parametrize(
    ("verb", "words", "told"),
    [
        ("drive", ["1", "x"], "drive PLACE, or drive X Y"),
        ("drive", ["1", "2", "3", "4"], "drive PLACE, or drive X Y"),
        ("reach", ["1", "nan", "2"], "reach X Y Z"),
        ("detect", ["mug", "cup"], "expected detect, or detect LABEL"),
        ("pick", ["samovr"], "did you mean 'samovar'"),
        ("pick", ["lamp"], "it sees no 'lamp'"),  # nobody knows where it is
    ],
)
def test_what_is_no_skill_is_told(verb: str, words: list[str], told: str) -> None:
    with pytest.raises(CommandError, match=told):
        skill_of(verb, words, seen())


def test_an_unknown_skill_is_told_before_anybody_is_asked() -> None:
    with pytest.raises(CommandError, match="'fly' is no skill; say one of see, detect"):
        try_skill("k9", ["fly"], domain=None, namespace=None)
    with pytest.raises(CommandError, match="drive: expected drive PLACE"):
        try_skill("k9", ["drive"], domain=None, namespace=None)
    with pytest.raises(CommandError, match="is a file; name a robot of the running"):
        try_skill("mine.yaml", ["k9", "see"], domain=None, namespace=None)


def test_what_it_perceives_is_told_nearest_first() -> None:
    lines = described(seen()).splitlines()
    assert lines[0].startswith("k9 stands at (1.00, 2.00), heading 0.50 rad, at place p0_1_2")
    assert "p0_9_9  (0.90, 0.90), 1.1 m" in lines[2]
    assert [line.split()[0] for line in lines[4:]] == ["lamp", "samovar", "samovar"]
    assert "1.5 m" in lines[5] and "3.0 m" in lines[6]
    assert "position not known" in lines[4]


def test_how_old_it_is_is_told() -> None:
    assert as_of(212.4).startswith("as of 212 s ago; `detect` makes it tell anew, `look`")
    assert as_of(0.7) == "as of just now"
    assert as_of(None).startswith("as of some time ago, nobody knows how long; `detect`")


def test_a_drive_whose_end_nobody_knows_says_so() -> None:
    from coterie_ros.conversions import navigate_result_to_msg

    done = SkillResult(Outcome.BLOCKED)
    end = navigate_result_to_msg(done, Pose((0.0, 2.5, 0.0)), (1.0, 0.0))
    assert where_it_ended(end) == "it stands at (0.00, 2.50)"
    end = navigate_result_to_msg(done, None, (math.nan, 0.0))
    assert where_it_ended(end) == "where it stands is not known"


# -- over ROS -----------------------------------------------------------------------------------


@pytest.mark.ros
@pytest.mark.parametrize(
    ("simulated", "stamp", "told"),
    [
        (559.0, 347.0, "as of 212 s ago; "),
        (10.0, 347.0, "as of some time ago"),  # of before the simulation was started again
        (559.0, None, r"as of 50\d\d s ago; "),  # a simulator runs, and the team takes this clock
        (None, None, r"as of 50\d\d s ago; "),
    ],
)
def test_what_it_saw_before_is_never_told_as_of_now(
    ros, monkeypatch, tmp_path, simulated, stamp, told
) -> None:
    from rosgraph_msgs.msg import Clock

    from coterie_msgs.msg import Observation as ObservationMsg
    from coterie_ros import conversions
    from coterie_ros.conversions.basics import time_to_msg
    from coterie_ros.qos import profile

    node = ros.node("adapter", "/lab")
    old = replace(seen(), time=time.time() - 5000.0 if stamp is None else stamp)
    observations = node.create_publisher(ObservationMsg, "k9/observation", profile("observations"))
    message = conversions.observation_to_msg(old, conversions.MAP)
    node.create_timer(0.2, lambda: observations.publish(message))
    if simulated is not None:
        clock = node.create_publisher(Clock, "clock", profile("clock"))
        now = Clock(clock=time_to_msg(simulated))
        node.create_timer(0.01, lambda: clock.publish(now))
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    state = rundir.own_state(
        "test", ros.domain, rundir.new_run("test"), namespace="/lab", robots=["k9"]
    )
    with rundir.registered(state):
        process = ros.start_process(
            [sys.executable, "-m", "coterie_cli.cli", "robot", "try", "k9", "see"],
            {"COTERIE_STATE": os.environ["COTERIE_STATE"], "COLUMNS": "150"},
        )
        ros.spin_until(lambda: process.exit_code is not None, what="the command to end")
    assert process.wait() == 0, process.output
    lines = process.output.splitlines()
    assert re.match(told, lines[0]), lines
    assert lines[1].startswith("k9 stands at (1.00, 2.00)")
