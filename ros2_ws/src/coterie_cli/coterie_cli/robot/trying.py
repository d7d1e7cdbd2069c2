"""`./coterie robot try`: what one robot perceives, and one skill at a time, for a first day."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Sequence
from typing import Any

from rclpy.context import Context

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import team_here
from coterie_bringup.spinning import in_loop, spinning
from coterie_bringup.team_clock import TeamClock
from coterie_core.observation import Detection, Observation
from coterie_core.skill_registry import ON_TARGET
from coterie_core.skills import Detect, LookAround, MoveArmTo, NavigateTo, Skill, Target
from coterie_core.yaml_checks import suggestion
from coterie_msgs.action import Manipulate
from coterie_msgs.action import NavigateTo as NavigateToAction
from coterie_msgs.msg import Observation as ObservationMsg
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.clients import ActionClient, GoalRejected, NoAnswer
from coterie_ros.parameters import Parameters

_REACH = 15.0
"""How long a robot may take to be found, and to tell what it perceives [s]."""
_TICK = 2.0
"""How long simulated time is waited for where somebody tells it [s]; a paused world tells none."""
_JUST = 2.0
"""What is no older counts as just perceived [s]."""
SKILLS = ("see", "detect", "drive", "look", "reach", *ON_TARGET)
_MOST = 20


class _Trier(AgentNode):
    """Sends one robot's skills, and hears what it observes."""

    SAYS_READY = False

    def __init__(self, robot: str, **options: Any) -> None:
        self._robot = robot
        self.seen: Observation | None = None
        self._news, self._tick = asyncio.Event(), asyncio.Event()
        super().__init__("robot_try", **options)

    def on_setup(self, parameters: Parameters) -> None:
        robot = self._robot
        self.drive = ActionClient(self, NavigateToAction, f"{robot}/navigate_to")
        self.act = ActionClient(self, Manipulate, f"{robot}/manipulate")
        self.team_clock = TeamClock(self, lambda time: self._tick.set())
        self.subscribe(
            ObservationMsg, f"{robot}/observation", "observations", self._observed,
            convert=conversions.observation_from_msg,
        )  # fmt: skip

    def _observed(self, observation: Observation) -> None:
        self.seen = observation
        self._news.set()

    async def observed(self) -> Observation:
        """Return what the robot perceived last.

        Raises:
            CommandError: It said nothing.
        """
        try:
            await asyncio.wait_for(self._news.wait(), _REACH)
        except asyncio.TimeoutError:
            raise CommandError(
                f"nothing came on {self._robot}/observation within {_REACH:g} s: what its adapter "
                "says (./coterie up) tells why; ./coterie robot check looks at the robot",
                exit_code=1,
            ) from None
        assert self.seen is not None
        return self.seen

    async def age(self, seen: Observation) -> float | None:
        """Return how long ago the robot perceived that, by the team's clock [s]; None: unknown."""
        if self.team_clock.told:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._tick.wait(), _TICK)
        return self.team_clock.age(seen.time)

    async def do(self, skill: Skill) -> tuple[bool, str]:
        """Do a skill; return whether it succeeded, and how it ended in words."""
        drives = isinstance(skill, NavigateTo)
        client = self.drive if drives else self.act
        if not await client.wait(_REACH):
            raise CommandError(
                f"no server of {client.name}: does the team run (./coterie up), and is the robot's "
                "name right?",
                exit_code=1,
            )
        goal = (
            conversions.navigate_to_msg(skill)
            if isinstance(skill, NavigateTo)
            else conversions.manipulate_to_msg(skill)
        )
        end = (await client.run(goal, stopping=2.0)).result
        result = conversions.skill_result_from_msg(end.result, client.name)
        words = result.outcome.name
        if result.reason:
            words += f": {result.reason}"
        if drives:
            words += f"\n{where_it_ended(end)}"
        else:
            words += f"\nits hand holds {end.holding or 'nothing'}"
        return result.ok, words


def try_skill(
    robot: str, words: Sequence[str], *, domain: int | None, namespace: str | None, team: str = ""
) -> int:
    """Have a robot of a running team do one skill, or say what it perceives; return the exit code.

    Args:
        robot: Its name.
        words: `see`, or a skill and what it needs.
        domain: The team's ROS domain; None: that of the only team that runs.
        namespace: The team's namespace; None: likewise.
        team: Name of the team; "": likewise.

    Raises:
        CommandError: The words are no skill, or nobody answers.
    """
    if robot.endswith((".yaml", ".yml")):
        raise CommandError(
            f"{robot!r} is a file; name a robot of the running team: ./coterie robot try ROBOT see"
        )
    verb, rest = _read(words)
    state = team_here(domain, namespace, team)
    if state.robots and robot not in state.robots:
        raise CommandError(
            f"no robot {robot!r} in team {state.team}{suggestion(robot, state.robots)}"
        )

    def make(context: Context) -> _Trier:
        return _Trier(robot, namespace=state.namespace, context=context)

    async def work(node: _Trier) -> int:
        seen, when = None, ""
        if verb == "see" or needs_seen(verb, rest):
            seen = await in_loop(node, node.observed())
            when = as_of(await in_loop(node, node.age(seen)))
        if verb == "see" and seen is not None:
            print(f"{when}\n{described(seen)}")
            return 0
        if verb in ON_TARGET and seen is not None:
            print(f"the nearest {rest[0]} {when}")
        done, told = await in_loop(node, node.do(skill_of(verb, rest, seen)))
        print(told)
        return 0 if done else 1

    with spinning(make, domain=state.domain, environment=state.environment) as node:
        try:
            return asyncio.run(work(node))
        except (NoAnswer, GoalRejected) as error:
            raise CommandError(str(error), exit_code=1) from None


def _read(words: Sequence[str]) -> tuple[str, list[str]]:
    verb = words[0] if words else "see"
    if verb not in SKILLS:
        raise CommandError(f"{verb!r} is no skill; say one of {', '.join(SKILLS)}")
    rest = list(words[1:])
    if verb != "see":
        usual = {"drive": 1, "reach": 3, **dict.fromkeys(ON_TARGET, 1)}
        if len(rest) < usual.get(verb, 0):
            raise CommandError(f"{verb}: expected {_USAGE[verb]}")
    return verb, rest


_USAGE = {
    "drive": "drive PLACE, or drive X Y [YAW]",
    "look": "look",
    "detect": "detect, or detect LABEL",
    "reach": "reach X Y Z",
    **{
        verb: f"{verb} LABEL, of something that it sees, or {verb} LABEL X Y Z"
        for verb in ON_TARGET
    },
}


def needs_seen(verb: str, words: Sequence[str]) -> bool:
    """Whether words mean a skill only with what the robot perceives: a label, or its floor."""
    return len(words) == 1 if verb in ON_TARGET else verb == "drive" and len(words) > 1


def skill_of(verb: str, words: Sequence[str], seen: Observation | None) -> Skill:
    """Return a skill from words.

    Args:
        verb: One of SKILLS, but `see`.
        words: What follows.
        seen: What the robot perceives, where `needs_seen`; without it the floor is at z = 0.

    Raises:
        CommandError: The words do not fit, or the robot sees no such thing.
    """
    if verb == "look" and not words:
        return LookAround()
    if verb == "detect" and len(words) <= 1:
        return Detect(*words)
    if verb == "drive" and len(words) == 1:
        return NavigateTo(place=words[0])
    act = ON_TARGET.get(verb)
    numbers = _numbers(words[1:] if act else words, verb)
    if verb == "drive" and len(numbers) in (2, 3):
        x, y, *yaw = numbers
        z = seen.pose.position[2] if seen is not None else 0.0
        return NavigateTo(position=(x, y, z), yaw=yaw[0] if yaw else None)
    if verb == "reach" and len(numbers) == 3:
        return MoveArmTo((numbers[0], numbers[1], numbers[2]))
    if act and len(numbers) == 3:
        return act(Target(words[0], (numbers[0], numbers[1], numbers[2])))
    if act and not numbers and seen is not None:
        found = _nearest(words[0], seen)
        assert found.box is not None
        return act(Target(words[0], found.box.center, found.instance))
    raise CommandError(f"{verb}: expected {_USAGE[verb]}, got {' '.join(words)!r}")


def _numbers(words: Sequence[str], verb: str) -> list[float]:
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)):
        raise CommandError(f"{verb}: expected {_USAGE[verb]}, got {' '.join(words)!r}")
    return numbers


def _nearest(label: str, seen: Observation) -> Detection:
    found = [d for d in seen.detections if d.label == label and d.box is not None]
    if not found:
        known = sorted({d.label for d in seen.detections if d.box is not None})
        raise CommandError(
            f"it sees no {label!r}{suggestion(label, known) or ', and nothing else'}. Let it look "
            "around, drive nearer, or give the position",
            exit_code=1,
        )
    return min(found, key=lambda d: _away(d, seen))


def _away(one: Detection, seen: Observation) -> float:
    """Return how far a thing is from where the robot stands now [m].

    An observation holds what was seen on the way, too; its own distance is from the camera then.
    """
    if one.box is None:
        return one.distance
    return math.dist(one.box.center[:2], seen.pose.position[:2])


def where_it_ended(end: NavigateToAction.Result) -> str:
    """Return where a robot stands after a drive, for a person."""
    if not end.pose.header.frame_id:
        return "where it stands is not known"
    at = end.pose.pose.position
    return f"it stands at ({at.x:.2f}, {at.y:.2f})"


def as_of(age: float | None) -> str:
    """Return how old something is that a robot perceives, for a person.

    Args:
        age: [s]; None: not known.
    """
    if age is not None and age <= _JUST:
        return "as of just now"
    when = "as of some time ago, nobody knows how long" if age is None else f"as of {age:.0f} s ago"
    return f"{when}; `detect` makes it tell anew, `look` turns it around for that"


def described(seen: Observation) -> str:
    """Return what a robot perceives, for a person."""
    x, y, _ = seen.pose.position
    room = f" in {seen.room.name or seen.room.id}" if seen.room is not None else ""
    lines = [
        f"{seen.robot} stands at ({x:.2f}, {y:.2f}), heading {seen.pose.yaw:.2f} rad{room}, "
        f"at place {seen.place or '(none)'}",
        f"places to go to: {len(seen.neighbours)}",
    ]
    for place in sorted(seen.neighbours, key=lambda p: p.distance)[:_MOST]:
        px, py, _ = place.position
        lines.append(f"  {place.id}  ({px:.2f}, {py:.2f}), {place.distance:.1f} m")
    lines.append(f"objects: {len(seen.detections)}")
    for one in sorted(seen.detections, key=lambda d: _away(d, seen))[:_MOST]:
        at = "position not known"
        if one.box is not None:
            at = "({:.2f}, {:.2f}, {:.2f})".format(*one.box.center)
        lines.append(f"  {one.label}  {at}, {_away(one, seen):.1f} m, score {one.score:.2f}")
    for what, count in (("places", len(seen.neighbours)), ("objects", len(seen.detections))):
        if count > _MOST:
            lines.append(f"  (the nearest {_MOST} of {count} {what})")
    return "\n".join(lines)
