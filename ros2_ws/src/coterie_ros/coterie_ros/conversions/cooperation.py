"""Goals, briefings and actions of cooperating robots, to messages and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from coterie_core.cooperation import (
    Action,
    Briefing,
    Close,
    Gate,
    Goal,
    GoTo,
    Grab,
    HomeRoom,
    Open,
    Put,
    Relation,
    Send,
    Spot,
    SubGoal,
    Turn,
    Wait,
    Walkways,
)
from coterie_core.cooperation.goals import Kind
from coterie_core.geometry import Vec2, Vec3
from coterie_msgs.msg import AgentAction, HomeGate, RoomRef
from coterie_msgs.msg import HomeRoom as HomeRoomMsg
from coterie_msgs.msg import Relation as RelationMsg
from coterie_msgs.msg import SubGoal as SubGoalMsg
from coterie_msgs.srv import BeginEpisode
from coterie_ros.conversions.basics import point_from_msg, point_to_msg
from coterie_ros.conversions.checks import Checks
from coterie_ros.conversions.notes import (
    MOST_NAMES,
    names_from_msg,
    note_from_checks,
    note_to_msg,
    relation_from_msg,
    relation_to_msg,
)
from coterie_ros.conversions.talk import MESSAGE_LIMIT

MOST_ROOMS = 500
"""Most rooms, and most ways: all distances between ways are worked out at once."""

_WORLDS: dict[int, Kind] = {
    BeginEpisode.Request.HOUSEHOLD: "household",
    BeginEpisode.Request.TRANSPORT: "transport",
}
_FULL_TURN = math.tau + 1e-6
_ACTIONS = {
    AgentAction.WAIT: "WAIT",
    AgentAction.GO_TO: "GO_TO",
    AgentAction.GRAB: "GRAB",
    AgentAction.PUT: "PUT",
    AgentAction.OPEN: "OPEN",
    AgentAction.CLOSE: "CLOSE",
    AgentAction.TURN: "TURN",
    AgentAction.SEND: "SEND",
}


def degrees_from_msg(checks: Checks, field: str, value: float) -> int:
    """Return an angle [rad] in whole degrees, which worlds in lockstep count in.

    Raises:
        ConversionError: Not finite, or more than a full turn.
    """
    return round(math.degrees(checks.number(field, value, -_FULL_TURN, _FULL_TURN)))


def _placing(message: RelationMsg, checks: Checks) -> Relation:
    relation = relation_from_msg(message, checks)
    if relation == "on" or relation == "in":
        return relation
    raise checks.fail("relation.value", "ON or IN", message.value)


# --- goals ---------------------------------------------------------------------------------------


def goal_to_msg(goal: Goal) -> list[SubGoalMsg]:
    """Return a goal's predicates as messages; name and kind travel beside them."""
    return [
        SubGoalMsg(
            relation=relation_to_msg(one.relation),
            item=one.item,
            target=one.target,
            count=one.count,
            group=one.group,
        )
        for one in goal.subgoals
    ]


def goal_from_msg(
    name: str, subgoals: Sequence[SubGoalMsg], kind: Kind = "household", topic: str = "goal"
) -> Goal:
    """Return a goal.

    Raises:
        ConversionError: No predicate or too many, one without item, target or count, or an
            unknown relation.
    """
    return _goal(name, subgoals, kind, Checks(topic))


def _goal(name: str, subgoals: Sequence[SubGoalMsg], kind: Kind, checks: Checks) -> Goal:
    parts = []
    for k, one in enumerate(checks.items("goal", subgoals, MOST_NAMES)):
        inner = checks.at(f"goal[{k}]")
        parts.append(
            SubGoal(
                relation=_placing(one.relation, inner),
                item=inner.text("item", one.item, empty=False),
                target=inner.text("target", one.target, empty=False),
                count=int(inner.number("count", one.count, 1, 1000)),
                group=inner.text("group", one.group),
            )
        )
    if not parts:
        raise checks.fail("goal", "at least one predicate", "none")
    return Goal(checks.text("name", name), tuple(parts), kind)


# --- briefings -----------------------------------------------------------------------------------


def briefing_to_msg(briefing: Briefing) -> Any:
    """Return what an agent is told before an episode as a request (BeginEpisode.Request)."""
    ways, goal = briefing.ways, briefing.goal
    return BeginEpisode.Request(
        robot=briefing.name,
        team=list(briefing.team),
        name=goal.name,
        kind=next(number for number, kind in _WORLDS.items() if kind == goal.kind),
        goal=goal_to_msg(goal),
        rooms=[
            HomeRoomMsg(
                ref=RoomRef(id=room.id, name=room.name, type=room.type),
                center=point_to_msg(room.center),
                outline=[point_to_msg((x, y, 0.0)) for x, y in room.outline],
            )
            for room in ways.rooms.values()
        ],
        gates=[
            HomeGate(
                id=gate.id,
                room_a=gate.room_a,
                room_b=gate.room_b,
                point_a=point_to_msg(gate.point_a),
                point_b=point_to_msg(gate.point_b),
            )
            for gate in ways.gates
        ],
        hands=briefing.hands,
        stride=float(briefing.stride),
        reach=float(briefing.reach),
        horizon=briefing.horizon,
        limit=briefing.limit,
        turn=math.radians(briefing.turn),
        carry=briefing.carry,
        seed=briefing.seed,
    )


def briefing_from_msg(request: Any, topic: str = "begin_episode") -> Briefing:
    """Return what an agent is told before an episode.

    Raises:
        ConversionError: The robot is not in the team, a goal without predicates, a way to a room
            that is not there, a number out of range, or too much of something.
    """
    checks = Checks(topic)
    team = names_from_msg(checks, "team", request.team)
    if request.robot not in team:
        raise checks.fail("robot", f"one of the team ({', '.join(team)})", request.robot)
    if len(set(team)) < len(team):
        raise checks.fail("team", "every name once", ", ".join(team))
    kind = checks.choice("kind", request.kind, _WORLDS)
    rooms = _rooms(request, checks)
    return Briefing(
        name=request.robot,
        team=team,
        goal=_goal(request.name, request.goal, kind, checks),
        ways=_walkways(rooms, _gates(request, checks, {room.id for room in rooms})),
        hands=int(checks.number("hands", request.hands, 0, MOST_NAMES)),
        stride=checks.number("stride", request.stride, 1e-3, 100.0),
        reach=checks.number("reach", request.reach, 1e-3, 100.0),
        horizon=int(checks.number("horizon", request.horizon, 1, 10_000_000)),
        limit=int(checks.number("limit", request.limit, 0, MESSAGE_LIMIT)),
        turn=abs(degrees_from_msg(checks, "turn", request.turn)),
        carry=int(checks.number("carry", request.carry, 0, MOST_NAMES)),
        seed=int(request.seed),
    )


def _rooms(request: Any, checks: Checks) -> tuple[HomeRoom, ...]:
    rooms: dict[str, HomeRoom] = {}
    for k, room in enumerate(checks.items("rooms", request.rooms, MOST_ROOMS)):
        inner = checks.at(f"rooms[{k}]")
        id_ = inner.text("ref.id", room.ref.id, empty=False)
        if id_ in rooms:
            raise inner.fail("ref.id", "an id that no other room has", id_)
        outline: list[Vec2] = [
            point_from_msg(corner, inner, f"outline[{i}]")[:2]
            for i, corner in enumerate(inner.items("outline", room.outline, 1000))
        ]
        rooms[id_] = HomeRoom(
            id_,
            inner.text("ref.name", room.ref.name),
            inner.text("ref.type", room.ref.type),
            point_from_msg(room.center, inner, "center"),
            tuple(outline),
        )
    if not rooms:
        raise checks.fail("rooms", "at least one room", "none")
    return tuple(rooms.values())


def _gates(request: Any, checks: Checks, rooms: set[str]) -> tuple[Gate, ...]:
    gates: dict[str, Gate] = {}
    for k, gate in enumerate(checks.items("gates", request.gates, MOST_ROOMS)):
        inner = checks.at(f"gates[{k}]")
        id_ = inner.text("id", gate.id, empty=False)
        if id_ in gates:
            raise inner.fail("id", "an id that no other way has", id_)
        for side in ("room_a", "room_b"):
            if getattr(gate, side) not in rooms:
                raise inner.fail(side, "the id of one of the rooms", getattr(gate, side))
        points: list[Vec3] = [
            point_from_msg(getattr(gate, side), inner, side) for side in ("point_a", "point_b")
        ]
        gates[id_] = Gate(id_, gate.room_a, gate.room_b, *points)
    return tuple(gates.values())


@lru_cache(maxsize=8)
def _walkways(rooms: tuple[HomeRoom, ...], gates: tuple[Gate, ...]) -> Walkways:
    """Return the map: the robots of a team get the same one, and episodes in a row often do."""
    return Walkways(rooms, gates)


# --- actions -------------------------------------------------------------------------------------


def action_to_msg(action: Action) -> AgentAction:
    """Return an action as a message."""
    if isinstance(action, GoTo):
        message = AgentAction(kind=AgentAction.GO_TO, target=action.target)
        if action.spot is not None:
            message.has_spot, message.room = True, action.spot.room
            message.position = point_to_msg(action.spot.position)
        return message
    if isinstance(action, Grab):
        return AgentAction(kind=AgentAction.GRAB, item=action.item)
    if isinstance(action, Put):
        return AgentAction(
            kind=AgentAction.PUT,
            item=action.item,
            target=action.target,
            relation=relation_to_msg(action.relation),
        )
    if isinstance(action, Open):
        return AgentAction(kind=AgentAction.OPEN, target=action.container)
    if isinstance(action, Close):
        return AgentAction(kind=AgentAction.CLOSE, target=action.container)
    if isinstance(action, Turn):
        return AgentAction(kind=AgentAction.TURN, angle=math.radians(action.degrees))
    if isinstance(action, Send):
        return AgentAction(kind=AgentAction.SEND, message=note_to_msg(action.note))
    return AgentAction(kind=AgentAction.WAIT, text=action.reason[:MESSAGE_LIMIT])


def action_from_msg(message: AgentAction, topic: str = "act") -> Action:
    """Return an action.

    Raises:
        ConversionError: An unknown kind, a name that is missing or too long, a bad message.
    """
    checks = Checks(topic, "action.")
    kind = checks.choice("kind", message.kind, _ACTIONS)
    if kind == "WAIT":
        return Wait(checks.text("text", message.text, MESSAGE_LIMIT))
    if kind == "TURN":
        return Turn(degrees_from_msg(checks, "angle", message.angle))
    if kind == "SEND":
        return Send(note_from_checks(message.message, checks.at("message")))
    if kind == "GRAB":
        return Grab(checks.text("item", message.item, empty=False))
    if kind == "GO_TO" and message.has_spot:
        room = checks.text("room", message.room, empty=False)
        spot = Spot(room, point_from_msg(message.position, checks))
        return GoTo(checks.text("target", message.target), spot)
    target = checks.text("target", message.target, empty=False)
    if kind == "GO_TO":
        return GoTo(target)
    if kind == "OPEN":
        return Open(target)
    if kind == "CLOSE":
        return Close(target)
    return Put(
        checks.text("item", message.item, empty=False),
        target,
        _placing(message.relation, checks),
    )
