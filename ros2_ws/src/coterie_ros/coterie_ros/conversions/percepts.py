"""What cooperating robots perceive, to messages and back; what has not changed is sent once."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import get_args

from coterie_core.cooperation import (
    DONE,
    UNDER_WAY,
    Percept,
    Reason,
    Result,
    Spot,
    Teammate,
    Thing,
)
from coterie_core.cooperation.world import ThingKind
from coterie_msgs.msg import HomeMate, HomeThing
from coterie_msgs.msg import Percept as PerceptMsg
from coterie_ros.conversions.basics import point_from_msg, point_to_msg
from coterie_ros.conversions.checks import LIST, NAME, Checks
from coterie_ros.conversions.cooperation import (
    MOST_ROOMS,
    degrees_from_msg,
)
from coterie_ros.conversions.notes import (
    MOST_NAMES,
    names_from_msg,
    note_from_checks,
    note_to_msg,
    relation_from_msg,
    relation_to_msg,
)
from coterie_ros.conversions.talk import MESSAGE_LIMIT

MAX_NOTES = 1000
"""Most messages that come with one percept."""
_MOST_KNOWN = 2 * LIST

_THINGS: dict[int, ThingKind] = {
    HomeThing.ITEM: "item",
    HomeThing.SURFACE: "surface",
    HomeThing.CONTAINER: "container",
}
_THING_NUMBERS = {kind: number for number, kind in _THINGS.items()}
_OPENINGS: dict[int, bool | None] = {
    HomeThing.CLOSED: False,
    HomeThing.OPEN: True,
    HomeThing.NOT_OPENABLE: None,
}
_OPENING_NUMBERS = {is_open: number for number, is_open in _OPENINGS.items()}
_REASONS: dict[str, Reason] = {reason: reason for reason in get_args(Reason)}


def thing_to_msg(thing: Thing) -> HomeThing:
    """Return a thing as a message."""
    return HomeThing(
        id=thing.id,
        label=thing.label,
        kind=_THING_NUMBERS[thing.kind],
        room=thing.spot.room,
        position=point_to_msg(thing.spot.position),
        parent=thing.parent,
        relation=relation_to_msg(thing.relation),
        opening=_OPENING_NUMBERS[thing.is_open],
        portable=thing.portable,
    )


def thing_from_msg(message: HomeThing, checks: Checks | None = None) -> Thing:
    """Return a thing.

    Raises:
        ConversionError: No id, an unknown enumerator, a position that is not finite, ...
    """
    checks = checks or Checks("thing")
    return Thing(
        id=checks.text("id", message.id, empty=False),
        label=checks.text("label", message.label),
        kind=checks.choice("kind", message.kind, _THINGS),
        spot=_spot(message, checks),
        parent=checks.text("parent", message.parent),
        relation=relation_from_msg(message.relation, checks),
        is_open=checks.choice("opening", message.opening, _OPENINGS),
        portable=bool(message.portable),
    )


class PerceptWriter:
    """Writes the percepts of one agent, things only where its view is another than before.

    `Percept.view` may be any object, compared by equality; on the wire it is a text that is the
    same as in the percept before when the views are equal.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Send everything next: the other side may not have got the percept before."""
        self._view: object = None
        self._key = ""

    def write(self, percept: Percept) -> PerceptMsg:
        """Return a percept as a message."""
        things = percept.things
        if percept.view is None:
            self.forget()
        elif percept.view == self._view:
            things = ()
        else:
            self._view, self._key = percept.view, _key(percept.view)
        result = percept.result
        message = PerceptMsg(
            step=percept.step,
            room=percept.spot.room,
            position=point_to_msg(percept.spot.position),
            heading=math.radians(percept.heading),
            hands=list(percept.hands),
            things=[thing_to_msg(thing) for thing in things],
            view=self._key,
            covered=list(percept.covered),
            mates=[
                HomeMate(
                    name=mate.name,
                    room=mate.spot.room,
                    position=point_to_msg(mate.spot.position),
                    hands=[thing_to_msg(thing) for thing in mate.hands],
                    heading=math.radians(mate.heading),
                )
                for mate in percept.teammates
            ],
            messages=[note_to_msg(note) for note in percept.notes],
            over=percept.done,
        )
        if result is not None:
            message.has_result, message.ok, message.done = True, result.ok, result.done
            message.reason, message.text = result.reason, result.text[:MESSAGE_LIMIT]
        return message


class PerceptReader:
    """Reads the percepts of one agent, and puts back what was not sent again.

    A thing that is as it was last seen is the same object as then, as in a world without ROS.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Another episode begins."""
        self._key = ""
        self._things: tuple[Thing, ...] = ()
        self._known: dict[str, Thing] = {}

    def read(self, message: PerceptMsg, topic: str = "act") -> Percept:
        """Return a percept; what it says is remembered only if all of it is good.

        Raises:
            ConversionError: An unknown enumerator, a number that is not finite, too much of
                something, a bad message, ...
        """
        checks = Checks(topic, "percept.")
        view = checks.text("view", message.view)
        things = [
            thing_from_msg(thing, checks.at(f"things[{k}]"))
            for k, thing in enumerate(checks.items("things", message.things))
        ]
        mates = [
            _mate(mate, checks.at(f"mates[{k}]"))
            for k, mate in enumerate(checks.items("mates", message.mates, MOST_NAMES))
        ]
        percept = Percept(
            step=message.step,
            spot=_spot(message, checks),
            hands=names_from_msg(checks, "hands", message.hands),
            view=view or None,
            covered=names_from_msg(checks, "covered", message.covered, MOST_ROOMS),
            notes=[
                note_from_checks(note, checks.at(f"messages[{k}]"))
                for k, note in enumerate(checks.items("messages", message.messages, MAX_NOTES))
            ],
            result=_result(message, checks),
            heading=_heading(message, checks),
            done=bool(message.over),
        )
        if not view or view != self._key or things:
            self._key, self._things = view, self._same(things)
        percept.things = self._things
        percept.teammates = [
            Teammate(mate.name, mate.spot, self._same(mate.hands), mate.heading) for mate in mates
        ]
        return percept

    def _same(self, things: Sequence[Thing]) -> tuple[Thing, ...]:
        """Return the things, as the objects that they were where they are as they were."""
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        out = []
        for thing in things:
            known = self._known.get(thing.id)
            if known == thing:
                thing = known
            else:
                self._known[thing.id] = thing
            out.append(thing)
        return tuple(out)


def _key(view: object) -> str:
    """Return a view as a text: itself in Python's notation, or what that hashes to."""
    text = repr(view)
    short = len(text) <= NAME and "\x00" not in text
    return text if short else hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _spot(message: HomeThing | HomeMate | PerceptMsg, checks: Checks) -> Spot:
    position = point_from_msg(message.position, checks)
    return Spot(checks.text("room", message.room, empty=False), position)


def _heading(message: HomeMate | PerceptMsg, checks: Checks) -> int:
    return degrees_from_msg(checks, "heading", message.heading)


def _mate(message: HomeMate, checks: Checks) -> Teammate:
    return Teammate(
        name=checks.text("name", message.name, empty=False),
        spot=_spot(message, checks),
        hands=tuple(
            thing_from_msg(thing, checks.at(f"hands[{k}]"))
            for k, thing in enumerate(checks.items("hands", message.hands, MOST_NAMES))
        ),
        heading=_heading(message, checks),
    )


def _result(message: PerceptMsg, checks: Checks) -> Result | None:
    if not message.has_result:
        return None
    if message.reason not in _REASONS:
        raise checks.fail("reason", f"one of {', '.join(map(repr, _REASONS))}", message.reason)
    reason, text = _REASONS[message.reason], checks.text("text", message.text, MESSAGE_LIMIT)
    if message.ok and not reason and not text:
        return DONE if message.done else UNDER_WAY
    return Result(bool(message.ok), bool(message.done), reason, text)
