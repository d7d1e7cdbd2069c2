"""Decision `emos.choose_skill`: one skill call at a time (EMOS, stage 2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from coterie_core.skills import Ask, Outcome
from coterie_core.tasks import SubTask
from coterie_execution.options import Option
from coterie_execution.situation import Situation
from coterie_llm import (
    CheckFailed,
    Decision,
    Message,
    Tool,
    as_data,
    inline_data,
    neutral_order,
)
from coterie_requests.asking import Asking
from emos_planner.lookups import Lookups
from emos_planner.map_view import thing_line
from emos_planner.robot.share_facts import share_facts

SAID_CHARS = 300
"""Most characters that a robot says at a time."""
_MOST_TRIED = 12


@dataclass(frozen=True, slots=True)
class Tried:
    """A skill that ended: what it was, how, and why."""

    words: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True)
class ChoiceState:
    """What a robot knows when it chooses its next skill.

    Attributes:
        robot: Its name.
        sub_task: What it works on.
        options: What can be done now; the rule takes the first.
        tried: What was tried for this sub-task, with the true results.
        words: The whole task as a person gave it.
        facts: Numbers of the sub-task: see `share_facts`.
        now: The robot itself: where it is, what its hand holds.
        near: What is near to it, a line each.
        others: Robot -> what it does, a line each.
        heard: What other robots said, the latest last.
        lookups: Its tools; None: none are offered.
    """

    robot: str
    sub_task: SubTask
    options: tuple[Option, ...]
    tried: tuple[Tried, ...] = ()
    words: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    now: Mapping[str, Any] = field(default_factory=dict)
    near: tuple[str, ...] = ()
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)
    heard: tuple[str, ...] = ()
    lookups: Lookups | None = None


class SkillChoice(BaseModel):
    """The next thing to do."""

    reason: str = Field("", max_length=600, description="why, from what is known; two sentences")
    option: str = Field(max_length=120, description="id of one of the options, exactly as given")
    to: str = Field("", max_length=60, description="say: name of a robot; empty: all robots")
    words: str = Field(
        "",
        max_length=SAID_CHARS,
        description="say, give up: what you tell the others, in your own words",
    )


class ChooseSkill(Decision[ChoiceState, SkillChoice]):
    """Choose the next skill for a sub-task, with the results so far in sight."""

    name: ClassVar[str] = "emos.choose_skill"
    reply_type: ClassVar[type[BaseModel]] = SkillChoice
    max_tokens: ClassVar[int] = 400

    def prompt(self, state: ChoiceState) -> Sequence[Message]:
        """Show task, sub-task, surroundings, others, what was tried, and the options."""
        tried = [_told(one) for one in state.tried[-_MOST_TRIED:]]
        salt = f"{state.sub_task.id} {len(state.tried)}"
        options = [
            {"id": option.id, "what": option.words}
            for option in neutral_order(state.options, name=lambda o: o.id, salt=salt)
        ]
        others = {robot: list(work)[:6] for robot, work in sorted(state.others.items())}
        parts = [
            as_data("task", state.words[:1000], limit=50_000),
            as_data("sub-task", dict(state.facts) or state.sub_task.description, limit=3000),
            as_data("what others do", others, limit=2000),
            as_data("what others said", list(state.heard), limit=2500),
            as_data("near you", "\n".join(state.near) or "nothing", limit=3000),
            as_data("you now", dict(state.now), limit=600),
            as_data("so far", tried, limit=5000),
            as_data("options", options, limit=60_000),
        ]
        return (
            Message.system(
                f"You steer the household robot {inline_data(state.robot)} through one sub-task, a "
                "skill at a time. After each skill you see its true result: a skill that failed "
                "has not happened. The options stand in no order. Think first: what was tried, "
                "what came of it, what is different now. Then take the option that brings the "
                "sub-task forward soonest; do not repeat what failed twice for the same reason; "
                "ask others where they know or can do what you cannot; give the sub-task up when "
                "there is no way left. Lengths are in metres, heights count from the floor."
            ),
            Message.user("\n".join(parts) + "\nWhich option?"),
        )

    def options(self, state: ChoiceState) -> Mapping[str, Sequence[str]]:
        """Return the ids of the options, and who can be spoken to."""
        salt = f"{state.sub_task.id} {len(state.tried)}"
        ids = neutral_order((option.id for option in state.options), salt=salt)
        return {"option": ids, "to": ["", *sorted(state.others)]}

    def tools(self, state: ChoiceState) -> Sequence[Tool[Any]]:
        """Return look-ups on the own map, and of what the own body reaches, sees and gets to."""
        return state.lookups.tools() if state.lookups is not None else ()

    def only_reply(self, state: ChoiceState) -> SkillChoice | None:
        """Nothing to choose where there is one option."""
        return self.rule(state) if len(state.options) == 1 else None

    def check(self, state: ChoiceState, reply: SkillChoice) -> None:
        """The option is one of those offered; who says something says it to somebody.

        Raises:
            CheckFailed: It is not; names the options.
        """
        chosen = next((option for option in state.options if option.id == reply.option), None)
        if chosen is None:
            offered = ", ".join(sorted(option.id for option in state.options))
            raise CheckFailed(f"there is no option {reply.option[:60]!r}; one of: {offered}")
        if isinstance(chosen.skill, Ask):
            if not reply.words.strip():
                raise CheckFailed("words are empty: write what you tell the others")
            if reply.to and reply.to not in state.others:
                known = ", ".join(sorted(state.others))
                raise CheckFailed(f"to: there is no robot {inline_data(reply.to)}; one of: {known}")

    def rule(self, state: ChoiceState) -> SkillChoice:
        """Take the first: options come best first."""
        return SkillChoice(reason=state.options[0].words, option=state.options[0].id)


def _told(one: Tried) -> dict[str, str]:
    return {
        "did": inline_data(one.words, limit=250),
        "result": one.outcome.name.lower().replace("_", " "),
        "why": inline_data(one.reason, limit=300),
    }


NEAR = 3.0
"""Things up to so far from a robot are near to it [m]."""
_MOST_NEAR = 12


def outlook(
    now: Situation,
    options: tuple[Option, ...],
    tried: Iterable[Tried],
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
        options: What can be done, the rule's choice first.
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
        if one.robot in others:
            said = inline_data(one.description or one.id, limit=120)
            others[one.robot].append(f"{said}: {one.state.name.lower()}")
    self_told: dict[str, object] = {
        "room": room or "unknown",
        "hand holds": now.holding_label or "nothing",
        "tries left": now.tries_left,
    }
    if now.position is not None:
        x, y, _ = now.position
        self_told["at"] = f"({x:.2f}, {y:.2f})"
        spot = now.estimate.spot
        if now.estimate.feasible and spot is not None:
            away = math.dist(now.position[:2], spot[:2])
            self_told["a spot to do it from is away, as the crow flies [m]"] = round(away, 1)
    return ChoiceState(
        robot=now.robot,
        sub_task=now.sub_task,
        options=options,
        tried=tuple(tried)[-_MOST_TRIED:],
        words=words,
        facts=share_facts(now.tools, now.robot, now.sub_task, now.position, numbers=numbers),
        now=self_told,
        near=_near(now, room),
        others=others,
        heard=tuple(heard),
        lookups=Lookups(now.tools, {now.robot: now.position}, own=now.robot, asking=asking),
    )


def _near(now: Situation, room: str) -> tuple[str, ...]:
    """Return the nearest things in the room, with their facts."""
    here = now.position
    if here is None:
        return ()
    found = []
    for thing in now.scene.objects.values():
        if room and thing.room != room:
            continue  # behind a wall
        x, y, z = thing.box.center
        away = math.hypot(x - here[0], y - here[1])
        if away <= NEAR and -0.5 <= z - here[2] <= 2.6:
            found.append((away, thing.id))
    found.sort()
    lines = [thing_line(now.scene.objects[id], now.scene, here) for _, id in found[:_MOST_NEAR]]
    if len(found) > _MOST_NEAR:
        lines.append(f"({len(found) - _MOST_NEAR} more things near you are left out)")
    return tuple(lines)
