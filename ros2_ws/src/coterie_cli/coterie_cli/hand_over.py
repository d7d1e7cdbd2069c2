"""`./coterie handover`: another robot does a sub-task of the task in work."""

from __future__ import annotations

import asyncio
import os

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import team_here
from coterie_bringup.spinning import in_loop, spinning
from coterie_cli.permits import who
from coterie_llm import inline_data
from coterie_msgs.srv import HandOver
from coterie_ros.agent_node import AgentNode
from coterie_ros.clients import NoAnswer, ServiceClient
from coterie_ros.parameters import Parameters
from coterie_safety.stop import one_line
from emos_planner.leader.hand_over_service import SERVICE

FOUND_WITHIN = 10.0
"""How long the leader may take to be found [s]."""
WITHIN = 60.0
"""How long the leader may take: it asks the robot, and may talk with the team just now [s]."""


class _Node(AgentNode):
    """The node of the command."""

    SAYS_READY = False

    def on_setup(self, parameters: Parameters) -> None:
        """Make the client."""
        self.client = ServiceClient(self, HandOver, SERVICE)


def hand_over(
    sub_task: str, robot: str, by: str, reason: str, domain: int | None, namespace: str | None
) -> int:
    """Ask the leader of the running team; return 0 if the robot does it now, else 1.

    Args:
        sub_task: Its id, with or without the id of its task before a slash.
        robot: Who is to do it.
        by: Who says so; "": the login.
        reason: Why.
        domain: The team's ROS domain; None: the team that runs here.
        namespace: The team's namespace.

    Raises:
        CommandError: No team runs, or several; it has no leader, or that does not answer.
    """
    team = team_here(domain, namespace)
    task, _, id_ = sub_task.rpartition("/")
    request = HandOver.Request(
        task=task, sub_task=id_, robot=robot, by=one_line(by or who()), reason=one_line(reason)
    )

    async def work() -> HandOver.Response:
        with spinning(
            lambda context: _Node(
                f"handover_{os.getpid()}",
                namespace=team.namespace or None,
                context=context,
                parameters={"diagnostics_period": 0.0},
                light=True,
            ),
            domain=team.domain,
            environment=team.environment,
        ) as node:
            if not await in_loop(node, node.client.wait(FOUND_WITHIN)):
                raise CommandError(
                    f"nobody leads a task in this team (no service {SERVICE} within "
                    f"{FOUND_WITHIN:g} s): sub-tasks are those of a task that ./coterie do or the "
                    "console has begun"
                )
            return await in_loop(node, node.client.call(request, timeout=WITHIN, attempts=1))

    try:
        told = asyncio.run(work())
    except NoAnswer as error:
        raise CommandError(str(error)) from None
    print(inline_data(told.message, limit=1000))
    return 0 if told.success else 1
