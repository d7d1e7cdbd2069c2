"""Object events through messages."""

import pytest

from coterie_msgs.msg import ObjectEvent as ObjectEventMsg
from coterie_ros import conversions
from coterie_ros.conversions import ConversionError
from coterie_world.object_events import EVENT_KINDS, ObjectEvent

EVENT = ObjectEvent(
    id="dora-1", kind="placed", robot="dora", object="vase_3", label="vase", time=12.5,
    position=(1.0, -2.0, 0.75), from_room="", to_room="pantry", holder="shelf_1", task="task-1",
)  # fmt: skip


@pytest.mark.parametrize("kind", EVENT_KINDS)
def test_an_event_comes_back_as_it_was(kind):
    event = EVENT.model_copy(update={"kind": kind})
    assert conversions.object_event_from_msg(conversions.object_event_to_msg(event)) == event


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", ""), ("robot", ""), ("label", ""), ("kind", ObjectEventMsg.UNSET), ("kind", 99)],
)
def test_what_says_too_little_is_refused_with_the_field(field, value):
    message = conversions.object_event_to_msg(EVENT)
    setattr(message, field, value)
    with pytest.raises(ConversionError, match=f"object_events, field {field}"):
        conversions.object_event_from_msg(message)


def test_a_position_that_is_none_is_refused():
    message = conversions.object_event_to_msg(EVENT)
    message.position.y = float("nan")
    with pytest.raises(ConversionError, match=r"position\.y"):
        conversions.object_event_from_msg(message)


def test_what_lies_before_the_clocks_beginning_is_told_as_its_beginning():
    early = EVENT.model_copy(update={"time": -300.0})
    assert conversions.object_event_from_msg(conversions.object_event_to_msg(early)).time == 0.0
