"""Decision `emos.reflect_on_share`: can this body do its share? (EMOS, algorithm 1, reflection)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from coterie_core.tasks import Obstacle, Proposal, Reflection, SubTask, Verdict
from coterie_execution.geometry.results import Estimate
from coterie_llm import CheckFailed, Decided, Decision, Message, Tool, as_data, inline_data
from emos_planner.lookups import Lookups

_SHORTEST_REASON = 10  # characters
_NOT_MEASURED = (Obstacle.OTHER, Obstacle.OVERLOADED)
"""Obstacles that tools cannot know of: a model's word counts."""


class ShareVerdict(BaseModel):
    """Yes or no to one sub-task."""

    sub_task: str = Field(max_length=60, description="its id, exactly as given")
    reason: str = Field("", max_length=300, description="the numbers compared, in a sentence")
    feasible: bool
    obstacle: Obstacle | None = Field(None, description="what rules it out, if it is not feasible")


class ShareReply(BaseModel):
    """A robot's word on its share."""

    reason: str = Field("", max_length=600, description="what your body can and cannot do here")
    verdicts: list[ShareVerdict] = Field(max_length=200)


@dataclass(frozen=True)
class ShareState:
    """A robot's share before it answers.

    Attributes:
        words: The task as a person gave it.
        body: What it believes of its body, in words.
        sub_tasks: Those of its share that its word can change.
        facts: Numbers for each of them, in their order.
        estimates: What the tools say: for the rule and the check, not for the prompt.
        heard: What was said in the discussion so far, a line each.
        lookups: Its tools.
    """

    words: str
    body: str
    sub_tasks: tuple[SubTask, ...]
    facts: tuple[Mapping[str, Any], ...]
    estimates: Mapping[str, Estimate]
    heard: tuple[str, ...]
    lookups: Lookups


class ReflectOnShare(Decision[ShareState, ShareReply]):
    """Judge every sub-task of the own share against the own body."""

    name: ClassVar[str] = "emos.reflect_on_share"
    reply_type: ClassVar[type[BaseModel]] = ShareReply
    max_tokens: ClassVar[int] = 1200

    def prompt(self, state: ShareState) -> Sequence[Message]:
        """Show the body, what others said, and the share with its numbers."""
        parts = [
            as_data("your body", state.body, limit=9000),
            as_data("task", state.words[:600], limit=50_000),
            as_data("what was said so far", list(state.heard), limit=4000),
            as_data("your share", [dict(one) for one in state.facts], limit=200_000),
        ]
        return (
            Message.system(
                "You are the mind of a household robot. A leader "
                "proposes a share of a task to you. For every sub-task say whether your own body "
                "can do it: can you get there, see it, reach it at its height and distance, hold "
                "it? Compare the numbers of your body with those of the sub-task, do not guess: "
                "first the reason, then yes or no. Say no only for a reason in your body, in the "
                "way, or in what you have heard, and name it; another robot gets the sub-task "
                "then. Your hands will be free, or hold what is to be placed, when its turn comes. "
                "Lengths are in metres, heights count from the floor you would stand on, angles in "
                "degrees, a camera's pitch is positive downward."
            ),
            Message.user("\n".join(parts) + "\nYour verdict on each sub-task?"),
        )

    def options(self, state: ShareState) -> Mapping[str, Sequence[str]]:
        """Return the ids of the sub-tasks."""
        return {"verdicts[].sub_task": [one.id for one in state.sub_tasks]}

    def tools(self, state: ShareState) -> Sequence[Tool[Any]]:
        """Return look-ups on the own map, and of what the own body reaches, sees and gets to."""
        return state.lookups.tools()

    def only_reply(self, state: ShareState) -> ShareReply | None:
        """Nothing to judge: no word of a model could change anything."""
        return None if state.sub_tasks else ShareReply(verdicts=[])

    def lengths(self, state: ShareState) -> Mapping[str, int]:
        """One verdict for each."""
        return {"verdicts": len(state.sub_tasks)}

    def check(self, state: ShareState, reply: ShareReply) -> None:
        """One verdict for each; no yes against the tools, no no against what they measure.

        Raises:
            CheckFailed: Names the verdict and the numbers that are against it.
        """
        wanted = {one.id for one in state.sub_tasks}
        given = [verdict.sub_task for verdict in reply.verdicts]
        unknown = [id_ for id_ in given if id_ not in wanted]
        missing = sorted(wanted - set(given))
        if unknown or missing or len(given) != len(set(given)):
            raise CheckFailed(
                f"give exactly one verdict for each of {', '.join(sorted(wanted))}"
                + (f"; unknown: {inline_data(unknown[0])}" if unknown else "")
                + (f"; missing: {', '.join(missing)}" if missing else "")
            )
        problems = [
            f"{verdict.sub_task}: {problem}"
            for verdict in reply.verdicts
            if (problem := _against(state, verdict))
        ]
        if problems:
            raise CheckFailed("; ".join(problems[:12]))

    def rule(self, state: ShareState) -> ShareReply:
        """What the tools say."""
        return ShareReply(
            verdicts=[
                ShareVerdict(
                    sub_task=one.id,
                    feasible=state.estimates[one.id].feasible,
                    obstacle=state.estimates[one.id].obstacle,
                    reason=state.estimates[one.id].reason[:300],
                )
                for one in state.sub_tasks
            ]
        )


def _against(state: ShareState, said: ShareVerdict) -> str:
    """Return what is against a verdict of a model ("": nothing)."""
    tools = state.estimates[said.sub_task]
    if said.feasible:
        if tools.feasible:
            return ""
        return f"your body cannot: {inline_data(tools.reason, limit=300)}; so the answer is no"
    if said.obstacle is None:
        return "say which obstacle rules it out"
    if len(said.reason.strip()) < _SHORTEST_REASON:
        return "a no needs its reason in a sentence"
    if tools.feasible and said.obstacle not in _NOT_MEASURED:
        said_by_tools = inline_data(tools.reason, limit=300)
        return f"your tools say that you can: {said_by_tools}; so the answer is yes"
    return ""


def settled(id: str, estimate: Estimate, said: ShareVerdict | None) -> Verdict:
    """Return the verdict that counts: the tool's, or a model's reasoned no.

    Args:
        id: Of the sub-task.
        estimate: What the tools say.
        said: What a model said; its yes has passed the check. None: no model was asked.
    """
    if said is None or said.feasible or not estimate.feasible:
        return estimate.verdict(id)
    return Verdict(
        sub_task=id,
        feasible=False,
        obstacle=said.obstacle,
        reason=inline_data(said.reason, limit=400),
        source="model",
        disagreement=f"its tools say that it can: {inline_data(estimate.reason, limit=300)}; its "
        "own word counts",
    )


def reflection_of(
    proposal: Proposal,
    robot: str,
    estimates: Mapping[str, Estimate],
    decided: Decided[ShareReply],
) -> Reflection:
    """Return a robot's answer to a proposal: yes, or no with typed reasons.

    Args:
        proposal: Who is to do what.
        robot: Who answers.
        estimates: Id of a sub-task of its share -> what the tools say.
        decided: What its model has said of those that its word can change.
    """
    by_model = decided.decided_by == "model"
    said = {verdict.sub_task: verdict for verdict in decided.reply.verdicts} if by_model else {}
    verdicts = tuple(settled(id, found, said.get(id)) for id, found in estimates.items())
    return Reflection(
        task=proposal.task,
        round=proposal.round,
        robot=robot,
        agrees=all(verdict.feasible for verdict in verdicts),
        verdicts=verdicts,
        without_model="" if by_model else inline_data(decided.reason, limit=300)[:300],
    )
