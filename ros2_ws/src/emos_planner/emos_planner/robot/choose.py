"""Decision `emos.choose_skill`: one parametrised skill at a time (EMOS, stage 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from pydantic import BaseModel, Field

from coterie_core.skills import (
    Ask,
    Close,
    Detect,
    LookAround,
    MoveArmTo,
    NavigateTo,
    Open,
    Pick,
    Place,
    Wait,
)
from coterie_core.tasks import SubTask, Thing
from coterie_execution.geometry.things import FLOOR
from coterie_execution.options import Attempt, Option
from coterie_execution.situation import Situation
from coterie_llm import Decision, Message, Tool, as_data, inline_data
from coterie_requests.asking import Asking
from emos_planner.lookups import Lookups
from emos_planner.robot.share_facts import share_facts

SkillName = Literal[
    "go_to", "look_around", "look_for", "pick", "place", "open", "close", "use", "reach_out",
    "say", "wait", "done", "give_up",
]  # fmt: skip
"""What a model may have a robot do; each with what it is done to."""
WITH_ARM: frozenset[str] = frozenset({"pick", "place", "open", "close", "use", "reach_out"})
ALONE: frozenset[str] = frozenset({"look_around", "wait", "done", "give_up"})
"""Skills that are done to nothing."""
_MOST_LISTED = 6
"""Lines of one kind in a prompt: what was tried, what others do, what is near."""
_MOST_NAMES = 120
_NAMES: Mapping[type, SkillName] = {
    NavigateTo: "go_to",
    LookAround: "look_around",
    Detect: "look_for",
    MoveArmTo: "reach_out",
    Pick: "pick",
    Place: "place",
    Open: "open",
    Close: "close",
    Ask: "say",
    Wait: "wait",
}


def name_of(option: Option) -> SkillName:
    """Return the parametrised skill that an option is one way to do."""
    if option.skill is None:
        return "done" if option.effect == "done" else "give_up"
    return _NAMES.get(type(option.skill), "use")  # another package's


class SkillChoice(BaseModel):
    """The next thing to do."""

    reason: str = Field("", max_length=300, description="why, in one short sentence")
    skill: SkillName = Field(description="what to do next")
    target: str = Field(
        "", max_length=120, description="id of the thing or room, or name of the robot spoken to"
    )
    words: str = Field("", max_length=300, description="say, give_up: what you tell others")


@dataclass(frozen=True)
class ChoiceState:
    """What a robot knows when it chooses its next skill.

    Attributes:
        sub_task: What it works on.
        by_rule: What it does where no model chooses.
        step: Returns what a choice comes to, in this situation; raises CheckFailed with the reason
            why the robot does not do it.
        skills: Those that the body has.
        names: Ids of things and rooms, and names of robots, that it may name; likeliest first.
        tried: What was tried for this sub-task, with the true results.
        words: The whole task as a person gave it.
        facts: Numbers of the sub-task: see `share_facts`.
        now: The robot itself: where it is, what its hand holds.
        near: What is near to it, a line each.
        unseen: Room (id) -> how many of what is searched may be unseen there.
        others: Robot -> what it does, a line each.
        heard: What other robots said, the latest last.
        lookups: Its tools; None: none are offered.
    """

    sub_task: SubTask
    by_rule: Option
    step: Callable[[SkillChoice], Option]
    skills: tuple[str, ...] = get_args(SkillName)
    names: tuple[str, ...] = ()
    tried: tuple[Attempt, ...] = ()
    words: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    now: Mapping[str, Any] = field(default_factory=dict)
    near: tuple[str, ...] = ()
    unseen: Mapping[str, float] = field(default_factory=dict)
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)
    heard: tuple[str, ...] = ()
    lookups: Lookups | None = None


_SYSTEM = """\
You steer a household robot through its sub-task, one skill at a time. After each skill you see \
how it really ended: what failed has not happened. Skills:
go_to: drive to a thing or a room; in a search it looks around there too
look_around: turn once and look. look_for: look from here for a thing
pick: take a thing; place: put what is held on or in a thing; open, close: furniture or a door. \
The robot drives there first
use: do the skill that the sub-task names to its thing
reach_out: stretch the hand to the thing, to see whether it gets there
say: tell or ask a robot something; target is its name, or empty for all; words is what you say
wait: until somebody is out of the way
done, give_up: end the sub-task; give_up only if nothing else is left
target is an id as it stands in the data. Do what the sub-task says. What failed for a reason \
fails again as long as the reason lasts: then go_to it for another side, look_around, or say. \
Lengths are in metres, heights from the floor.
Examples:
go to plant-4; so far: nothing -> {"reason": "drive to the plant", "skill": "go_to", "target": \
"plant-4", "words": ""}
detect vase-3; so far: go where the vase is in view -> succeeded -> {"reason": "it is there, so \
look", "skill": "look_for", "target": "vase-3", "words": ""}
pick cup-2; so far: nothing -> {"reason": "the cup is known, so take it", "skill": "pick", \
"target": "cup-2", "words": ""}
pick cup-2; so far: take the cup -> out of reach -> {"reason": "another side may be nearer", \
"skill": "go_to", "target": "cup-2", "words": ""}
place cup-2 on table-1; so far: nothing -> {"reason": "put it on the table", "skill": "place", \
"target": "table-1", "words": ""}
search keys; unseen: study 0.05, attic 0.61; so far: nothing -> {"reason": "most may be unseen in \
the attic", "skill": "go_to", "target": "attic", "words": ""}\
"""


class ChooseSkill(Decision[ChoiceState, SkillChoice]):
    """Choose the next skill for a sub-task, with the results so far in sight."""

    name: ClassVar[str] = "emos.choose_skill"
    reply_type: ClassVar[type[BaseModel]] = SkillChoice
    max_tokens: ClassVar[int] = 300

    def opening(self) -> str:
        """Return the skills, and examples."""
        return _SYSTEM

    def prompt(self, state: ChoiceState) -> Sequence[Message]:
        """Show skills, then what lasts (task, sub-task), then what changes with every skill."""
        others = [f"{who}: {'; '.join(work)}" for who, work in sorted(state.others.items()) if work]
        one, now = state.sub_task, dict(state.now)
        goal = one.receptacle if one.kind == "place" and one.object is None else one.object
        due = f"{one.kind.replace('_', ' ')} {inline_data(_name(goal) or ', '.join(one.rooms))}"
        if one.kind == "place" and one.receptacle is not None:
            due += f" on {inline_data(_name(one.receptacle))}"
        if state.unseen:
            due += f"; unseen: {', '.join(f'{r} {v:.2f}' for r, v in state.unseen.items())}"
        # Steps stand between semicolons: in a reason, one would read as the end of a step.
        tried = [_told(one).replace("; ", ", ") for one in state.tried[-_MOST_LISTED:]]
        told = {
            "task": state.words[:400],
            "facts": {k: v for k, v in state.facts.items() if k not in ("id", "what", "words")},
            "others": [*others[:_MOST_LISTED], *state.heard[-3:]],
            "near you": list(state.near),
            "you now": now,
            "sub-task": f"{due}; so far: {'; '.join(tried) or 'nothing'}",
        }
        parts = [as_data(label, value, limit=1600) for label, value in told.items() if value]
        return (Message.system(_SYSTEM), Message.user("\n".join(parts) + "\nWhat next?"))

    def options(self, state: ChoiceState) -> Mapping[str, Sequence[str]]:
        """Return the skills of the body, and all that they may be done to."""
        return {"skill": list(state.skills), "target": ["", *state.names]}

    def tools(self, state: ChoiceState) -> Sequence[Tool[Any]]:
        """Return look-ups on the own map, and of what the own body reaches, sees and gets to."""
        return state.lookups.tools() if state.lookups is not None else ()

    def only_reply(self, state: ChoiceState) -> SkillChoice | None:
        """Nothing to choose where what is so, or a bound, ends the sub-task or goes on with it."""
        return self.rule(state) if state.by_rule.settled else None

    def check(self, state: ChoiceState, reply: SkillChoice) -> None:
        """The skill can be done now, to what it names, and serves what was asked for.

        Raises:
            CheckFailed: It cannot, does not, or there is no such thing; with the numbers.
        """
        chosen(state, reply)

    def rule(self, state: ChoiceState) -> SkillChoice:
        """Take the rule's step."""
        step = state.by_rule
        return SkillChoice(reason=step.words[:300], skill=name_of(step), target=_target(state))


def chosen(state: ChoiceState, reply: SkillChoice) -> Option:
    """Return what a reply comes to: the rule's own step, where it is one way to do that.

    Raises:
        CheckFailed: As `ChooseSkill.check`.
    """
    if reply.skill == name_of(state.by_rule) and reply.skill != "say":
        if reply.skill in ALONE or reply.target == _target(state):
            return state.by_rule
    return state.step(reply)


def _name(thing: Thing | None) -> str:
    return "" if thing is None else thing.id or thing.label


def _target(state: ChoiceState) -> str:
    if name_of(state.by_rule) in ALONE:
        return ""
    return state.by_rule.step.about or (state.names[0] if state.names else "")


def _told(one: Attempt) -> str:
    result = one.outcome.name.lower().replace("_", " ")
    why = f": {inline_data(one.reason, limit=160)}" if one.reason else ""
    return f"{inline_data(one.words, limit=120)} -> {result}{why}"


NEAR = 3.0
"""Things up to so far from a robot are near to it [m]."""


def outlook(
    now: Situation,
    by_rule: Option,
    step: Callable[[SkillChoice], Option],
    tried: Iterable[Attempt],
    *,
    words: str,
    room: str,
    share: Iterable[SubTask],
    heard: Iterable[str],
    numbers: bool = True,
    asking: Asking | None = None,
) -> ChoiceState:
    """Return the state of the choice.

    Args:
        now: The situation.
        by_rule: What the rule does.
        step: Returns what a choice comes to.
        tried: What was tried for the sub-task.
        words: The whole task.
        room: Where the robot is (id).
        share: All sub-tasks of the task, those of others too.
        heard: What others said.
        numbers: Whether those of the body are told.
        asking: Lets the model ask the person and other robots.
    """
    others: dict[str, list[str]] = {robot: [] for robot in now.mates}
    for one in share:
        known = others.get(one.robot)
        if known is not None and len(known) < _MOST_LISTED:
            said = inline_data(one.description or one.id, limit=80)
            known.append(f"{said} ({one.state.name.lower()})")
    self_told: dict[str, object] = {
        "room": room or "unknown",
        "hand holds": now.holding_label or "nothing",
        "tries left": now.tries_left,
    }
    spot = now.estimate.spot
    if now.position is not None and now.estimate.feasible and spot is not None:
        away = math.dist(now.position[:2], spot[:2])
        self_told["m to a spot to do it from"] = round(away, 1)
    near = _near(now, room)
    if now.unseen:
        shut = [id for _, id in near if now.scene.objects[id].is_open is False]
        near = [one for one in near if one[1] in shut]
    body = now.tools.resumes[now.robot]
    return ChoiceState(
        sub_task=now.sub_task,
        by_rule=by_rule,
        step=step,
        skills=tuple(
            name
            for name in get_args(SkillName)
            if (body.manipulation.arms or name not in WITH_ARM)
            and (now.mates or name != "say")
            and (now.sub_task.skill or name != "use")
        ),
        names=_names(now, [id for _, id in near]),
        tried=tuple(tried)[-_MOST_LISTED:],
        words=words,
        facts=share_facts(now.tools, now.robot, now.sub_task, now.position, numbers=numbers),
        now=self_told,
        near=tuple(_line(now, away, id) for away, id in near[:_MOST_LISTED]),
        unseen=now.unseen,
        others=others,
        heard=tuple(heard),
        lookups=Lookups(now.tools, {now.robot: now.position}, own=now.robot, asking=asking),
    )


def _names(now: Situation, near: Sequence[str]) -> tuple[str, ...]:
    """Return what may be named: what the sub-task is about, rooms, robots, what is near, the rest.

    The floor is among them where something is to be put down on it.
    """
    goal, other = now.thing, now.receptacle
    if now.sub_task.kind == "place":
        goal, other = other, goal
    rooms = [*now.sub_task.rooms, *now.scene.rooms]
    first = [thing.id for thing in (goal, other) if thing is not None]
    if goal is None:
        first = [*(rooms[:1] if now.sub_task.rooms else [FLOOR]), *first]
    inside = [o for o in (now.estimate.opens, goal.container if goal else "") if o]
    names = dict.fromkeys([*first, *inside, *rooms, *now.mates, FLOOR, *near, *now.scene.objects])
    return tuple(names)[:_MOST_NAMES]


def _near(now: Situation, room: str) -> list[tuple[float, str]]:
    """Return the things of the room that are near, with how far they are [m], nearest first."""
    here = now.position
    if here is None:
        return []
    found = []
    for thing in now.scene.objects.values():
        if (room and thing.room != room) or thing.kind == "fixture":
            continue  # behind a wall, or nothing that hands or ways meet
        x, y, z = thing.box.center
        away = math.hypot(x - here[0], y - here[1])
        if away <= NEAR and -0.5 <= z - here[2] <= 2.6:
            found.append((away, thing.id))
    return sorted(found)


def _line(now: Situation, away: float, id: str) -> str:
    thing = now.scene.objects[id]
    holder = thing.container or thing.support
    on = f" {'in' if thing.container else 'on'} {inline_data(holder)}" if holder else ""
    state = "" if thing.is_open is None else " (open)" if thing.is_open else " (closed)"
    return f"{inline_data(id)}{on}{state}, {away:.1f} m"
