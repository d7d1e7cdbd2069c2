"""A node of a command's own, spun in a thread while the command works with the team."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, TypeVar, cast

from rclpy.context import Context

from coterie_bringup.errors import CommandError
from coterie_ros import spinning as threads
from coterie_ros.agent_node import AgentNode
from coterie_ros.clients import GoalRejected, NoAnswer

NodeT = TypeVar("NodeT", bound=AgentNode)
T = TypeVar("T")

STOPPING = 6.0
"""How long what was cancelled may take to stop what it began [s]."""


@contextlib.contextmanager
def spinning(
    make: Callable[[Context], NodeT], *, domain: int, environment: Mapping[str, str] | None = None
) -> Iterator[NodeT]:
    """Make a node and spin it in a thread while the block runs.

    Args:
        make: Makes the node in a context.
        domain: The team's ROS domain.
        environment: Discovery settings that the team runs with.

    Raises:
        CommandError: The node does not come up.
    """
    os.environ.update(environment or {})
    with contextlib.ExitStack() as stack:
        try:
            node = stack.enter_context(threads.spinning(make, domain=domain))
        except threads.NotStarted as error:
            raise CommandError(str(error), exit_code=1) from None
        yield node


async def in_loop(node: AgentNode, work: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine of a node's loop from another loop.

    Where the caller is cancelled, the coroutine is, too, and has a moment to stop what it began.

    Raises:
        NoAnswer, GoalRejected, CommandError: As the coroutine does; for the caller, not the log.
    """
    ended = threading.Event()

    async def kept() -> tuple[T | None, Exception | None]:
        try:
            return await work, None
        except (NoAnswer, GoalRejected, CommandError) as error:
            return None, error
        finally:
            ended.set()

    try:
        value, error = await asyncio.wrap_future(node.run(kept()))
    except asyncio.CancelledError:
        await asyncio.shield(asyncio.to_thread(ended.wait, STOPPING))
        raise
    if error is not None:
        raise error
    return cast(T, value)
