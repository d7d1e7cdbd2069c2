"""Decision `emos.reflect_on_share`: can this body do its share? (EMOS, algorithm 1, reflection)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, Field

from coterie_core.language import CheckFailed, Decision, Message, as_data
from coterie_core.tasks import Obstacle, SubTask, Verdict
from emos_planner.geometry.results import Estimate


class ShareVerdict(BaseModel):
    """Yes or no to one sub-task."""

    sub_task: str = Field(description="its id, exactly as given")
    feasible: bool
    obstacle: Obstacle | None = Field(None, description="what rules it out, if it is not feasible")
    reason: str = Field("", max_length=300, description="one sentence with the numbers compared")


class ShareReply(BaseModel):
    """A robot's word on its share."""

    verdicts: list[ShareVerdict] = Field(max_length=200)


@dataclass(frozen=True)
class ShareState:
    """A robot's share, its body in words, and what its tools say."""

    robot: str
    words: str
    body: str
    sub_tasks: tuple[SubTask, ...]
    estimates: Mapping[str, Estimate]


class ReflectOnShare(Decision[ShareState, ShareReply]):
    """Judge every sub-task of the own share against the own body."""

    name: ClassVar[str] = "emos.reflect_on_share"
    reply_type: ClassVar[type[BaseModel]] = ShareReply
    max_tokens: ClassVar[int] = 1200

    def prompt(self, state: ShareState) -> Sequence[Message]:
        """Show body, share and what the tools computed."""
        share = [
            {
                "id": one.id,
                "what": one.kind,
                "object": one.object.model_dump(exclude_defaults=True) if one.object else None,
                "onto": one.receptacle.model_dump(exclude_defaults=True)
                if one.receptacle
                else None,
                "words": one.description,
                "computed": state.estimates[one.id].reason,
            }
            for one in state.sub_tasks
        ]
        return (
            Message.system(
                "You are the mind of one household robot. A leader proposes a share of a task to "
                "you. For every sub-task say whether your own body can do it: can you get there, "
                "see it, reach it at its height and distance, hold it? Compare numbers, do not "
                "guess; what your tools have computed is given with each sub-task. Say no only for "
                "a reason in your body or in the way, and name it."
            ),
            Message.user(
                f"{as_data('your body', state.body, limit=9000)}\n"
                f"{as_data('task', state.words, limit=600)}\n"
                f"{as_data('your share', share, limit=20000)}\nYour verdict on each sub-task?"
            ),
        )

    def check(self, state: ShareState, reply: ShareReply) -> None:
        """One verdict for each sub-task, none for others; a no has its obstacle."""
        wanted = {one.id for one in state.sub_tasks}
        given = [verdict.sub_task for verdict in reply.verdicts]
        unknown = [id_ for id_ in given if id_ not in wanted]
        missing = sorted(wanted - set(given))
        if unknown or missing or len(given) != len(set(given)):
            raise CheckFailed(
                f"give exactly one verdict for each of {', '.join(sorted(wanted))}"
                + (f"; unknown: {unknown[0][:60]!r}" if unknown else "")
                + (f"; missing: {', '.join(missing)}" if missing else "")
            )
        for verdict in reply.verdicts:
            if not verdict.feasible and verdict.obstacle is None:
                raise CheckFailed(f"{verdict.sub_task}: say which obstacle rules it out")

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


def settled(estimate: Estimate, said: ShareVerdict, by_model: bool) -> Verdict:
    """Return the verdict that counts: the tool's; what a model said against it is noted."""
    verdict = estimate.verdict(said.sub_task)
    if not by_model or said.feasible == estimate.feasible:
        return verdict
    words = said.reason or (said.obstacle.value if said.obstacle else "")
    says = "can be done" if said.feasible else "cannot be done"
    return verdict.model_copy(
        update={"disagreement": f"the model says it {says}: {words}; the tool counts"[:500]}
    )


def with_code(verdict: Verdict, disagreement: str) -> Verdict:
    """Return the verdict with what the model's code said against it noted as well."""
    both = "; ".join(text for text in (verdict.disagreement, disagreement) if text)
    return verdict.model_copy(update={"disagreement": both[:500]}) if disagreement else verdict
