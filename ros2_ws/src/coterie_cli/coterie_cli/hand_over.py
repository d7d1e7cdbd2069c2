"""`./coterie handover`: another robot does a sub-task of the task in work."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated

import typer

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import team_here
from coterie_cli.options import By, Namespace, RunningTeam, TeamDomain
from coterie_llm import inline_data
from coterie_safety.stop import one_line
from emos_planner.leader.hand_over import SERVICE

if TYPE_CHECKING:
    from coterie_ros.parameters import Parameters

app = typer.Typer(add_completion=False)


FOUND_WITHIN = 10.0
"""How long the leader may take to be found [s]."""
WITHIN = 60.0
"""How long the leader may take: it asks the robot, and may talk with the team just now [s]."""


@app.command("handover")
def hand_over(
    sub_task: Annotated[
        str,
        typer.Argument(help="Id of a sub-task; a wrong one lists those that are not done."),
    ],
    robot: Annotated[str, typer.Argument(help="Robot that is to do it.")],
    reason: Annotated[str, typer.Option(help="Reason, for the log and for `why`.")] = "",
    by: By = "",
    team: RunningTeam = "",
    domain: TeamDomain = None,
    namespace: Namespace = None,
) -> int:
    """Give a sub-task of the running task to another robot; exit code 0 only if it does it now."""
    from coterie_bringup.spinning import in_loop, spinning
    from coterie_cli.permits import who
    from coterie_msgs.srv import HandOver
    from coterie_ros.agent_node import AgentNode
    from coterie_ros.clients import NoAnswer, ServiceClient

    class Node(AgentNode):
        SAYS_READY = False

        def on_setup(self, parameters: Parameters) -> None:
            self.client = ServiceClient(self, HandOver, SERVICE)

    state = team_here(domain, namespace, team)
    state.require("do")
    task, _, id_ = sub_task.rpartition("/")
    request = HandOver.Request(
        task=task, sub_task=id_, robot=robot, by=one_line(by or who()), reason=one_line(reason)
    )

    async def work() -> HandOver.Response:
        with spinning(
            lambda context: Node(
                f"handover_{os.getpid()}",
                namespace=state.namespace or None,
                context=context,
                parameters={"diagnostics_period": 0.0},
                light=True,
            ),
            domain=state.domain,
            environment=state.environment,
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
