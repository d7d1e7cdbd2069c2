"""`./coterie robot try`: words become skills, and what a robot perceives becomes words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coterie_bringup.errors import CommandError
from coterie_cli.robot.trying import described, needs_seen, skill_of, try_skill
from coterie_core.geometry import Box, Pose
from coterie_core.observation import Detection, Observation, PlaceView
from coterie_core.skills import LookAround, MoveArmTo, NavigateTo, Pick, Place, Target


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
        ("pick", ["samovr"], "did you mean 'samovar'"),
        ("pick", ["lamp"], "it sees no 'lamp'"),  # nobody knows where it is
    ],
)
def test_what_is_no_skill_is_told(verb: str, words: list[str], told: str) -> None:
    with pytest.raises(CommandError, match=told):
        skill_of(verb, words, seen())


def test_an_unknown_skill_is_told_before_anybody_is_asked() -> None:
    with pytest.raises(CommandError, match="'fly' is no skill; say one of see, drive"):
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
