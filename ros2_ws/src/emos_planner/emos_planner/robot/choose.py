"""Decision `emos.choose_skill`: one skill call at a time (EMOS, stage 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from coterie_core.language import CheckFailed, Decision, Message, as_data
from coterie_core.skills import Outcome, Skill
from coterie_core.tasks import Obstacle, SubTask

Effect = Literal["act", "done", "give up"]


@dataclass(frozen=True, slots=True)
class Option:
    """Something the robot can do now: a skill, or to call the sub-task done or give it back."""

    id: str
    words: str
    effect: Effect = "act"
    skill: Skill | None = None
    obstacle: Obstacle | None = None
    reason: str = ""
    asks_help: bool = False


@dataclass(frozen=True, slots=True)
class Tried:
    """A skill that ended: what it was, how, and why."""

    words: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True)
class ChoiceState:
    """A sub-task, what was tried for it, and what can be done now; the first option is best."""

    robot: str
    sub_task: SubTask
    options: tuple[Option, ...]
    tried: tuple[Tried, ...]
    holding: str
    room: str


class SkillChoice(BaseModel):
    """The next thing to do."""

    option: str = Field(description="id of one of the offered options, exactly as given")
    reason: str = Field("", max_length=300, description="one sentence")


class ChooseSkill(Decision[ChoiceState, SkillChoice]):
    """Choose the next skill for a sub-task, with the results so far in sight."""

    name: ClassVar[str] = "emos.choose_skill"
    reply_type: ClassVar[type[BaseModel]] = SkillChoice
    max_tokens: ClassVar[int] = 250

    def prompt(self, state: ChoiceState) -> Sequence[Message]:
        """Show the sub-task, what was tried with its true results, and the options."""
        tried = [{"did": t.words, "result": t.outcome.name, "why": t.reason} for t in state.tried]
        options = [{"id": o.id, "what": o.words} for o in state.options]
        doing = {
            "what": state.sub_task.kind,
            "words": state.sub_task.description,
            "hand holds": state.holding or "nothing",
            "room": state.room or "unknown",
        }
        return (
            Message.system(
                "You steer one household robot through one sub-task, a skill at a time. After each "
                "skill you see its true result: a skill that failed has not happened. Choose what "
                "brings the sub-task forward; do not repeat what failed twice for the same reason; "
                "give it back when there is no way."
            ),
            Message.user(
                f"{as_data('sub-task', doing, limit=2000)}\n"
                f"{as_data('so far', tried[-12:], limit=5000)}\n"
                f"{as_data('options', options, limit=6000)}\nWhich option?"
            ),
        )

    def check(self, state: ChoiceState, reply: SkillChoice) -> None:
        """The option is one of those offered."""
        if all(option.id != reply.option for option in state.options):
            offered = ", ".join(option.id for option in state.options)
            raise CheckFailed(f"there is no option {reply.option[:60]!r}; one of: {offered}")

    def rule(self, state: ChoiceState) -> SkillChoice:
        """Take the first: options come best first."""
        return SkillChoice(option=state.options[0].id, reason=state.options[0].words)
