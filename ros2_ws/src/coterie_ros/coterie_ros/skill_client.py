"""A robot's skills, carried out by the bridge or by its own driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from coterie_core.geometry import Vec3
from coterie_core.skills import NavigateTo, Outcome, Skill, SkillResult
from coterie_msgs.action import Manipulate
from coterie_msgs.action import NavigateTo as NavigateToAction
from coterie_ros import conversions
from coterie_ros.clients import ActionClient, GoalRejected, NoAnswer

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode


class SkillClient:
    """Has the skills of one robot carried out.

    Args:
        node: Whose robot it is.
        prefix: Of the robot's actions; empty: those of the node's namespace.
        arm: Whether it does more than drive.
    """

    def __init__(self, node: AgentNode, prefix: str = "", *, arm: bool = True) -> None:
        self._navigate = ActionClient(node, NavigateToAction, f"{prefix}navigate_to")
        self._manipulate = ActionClient(node, Manipulate, f"{prefix}manipulate") if arm else None

    async def run(
        self,
        skill: Skill,
        why: str,
        *,
        on_way: Callable[[Vec3 | None], object] | None = None,
        **limits: Any,
    ) -> SkillResult:
        """Return how a skill ended; a robot that does not answer, or accept it, gives a FAULT.

        Args:
            skill: What to do.
            why: What for, in words.
            on_way: Called in the loop with where the robot is on its drive [m].
            limits: As `ActionClient.run` has them.
        """
        try:
            if isinstance(skill, NavigateTo):
                client, goal = self._navigate, conversions.navigate_to_msg(skill)
                if on_way is not None:
                    limits["on_feedback"] = lambda f: on_way(conversions.position_on_way(f))
            elif self._manipulate is not None:
                client, goal = self._manipulate, conversions.manipulate_to_msg(skill)
            else:
                name = type(skill).__name__
                return SkillResult(Outcome.UNSUPPORTED, f"it only drives: no {name}")
            end = await client.run(conversions.with_why(goal, why), **limits)
        except (NoAnswer, GoalRejected) as error:
            return SkillResult(Outcome.FAULT, str(error))
        except conversions.ConversionError as error:
            return SkillResult(Outcome.UNSUPPORTED, str(error))
        return conversions.skill_result_from_msg(end.result.result)
