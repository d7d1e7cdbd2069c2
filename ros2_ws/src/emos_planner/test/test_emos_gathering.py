"""How long a leader waits for the map, its rooms and the robots."""

import pytest

from emos_planner.leader.gathering import GATHER, Gathering

WAIT = Gathering(start_time=60.0, map_timeout=30.0)


@pytest.mark.parametrize(
    ("waited", "up", "map_", "rooms", "all_", "over"),
    [
        (0.0, 1.0, True, True, True, True),
        (6.0, 6.0, True, False, True, False),  # rooms come after the map
        (6.0, 30.0, True, False, True, True),  # they do not come
        (0.0, 500.0, True, False, True, True),  # a team that began long ago waits for none
        (29.0, 40.0, False, False, True, False),
        (30.0, 40.0, False, False, True, True),
        (GATHER, 59.0, True, True, False, False),
        (GATHER, 60.0, True, True, False, True),
        (0.0, 90.0, True, True, False, False),
    ],
)
def test_a_task_waits_for_what_may_still_come(waited, up, map_, rooms, all_, over) -> None:
    assert WAIT.over(waited, up, has_map=map_, has_rooms=rooms, all_there=all_) is over


def test_what_is_missing_is_told_with_what_to_do() -> None:
    assert "30 s" in WAIT.without_rooms() and "room_outlines" in WAIT.without_rooms()
