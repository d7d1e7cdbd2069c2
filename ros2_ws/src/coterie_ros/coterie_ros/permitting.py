"""Gates of permits in the nodes that move robots: their parameters, log, key and topics."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from coterie_ros.parameters import Parameters, ParameterSpec
from coterie_safety.ledger import Ledger
from coterie_safety.permits import PermitGate, RobotPermits

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

PERMIT_PARAMETERS = (
    ParameterSpec(
        "log_directory",
        "",
        "Folder of the log of goals, permits and results; empty: they are not logged.",
    ),
    ParameterSpec(
        "permit_key",
        "",
        "File of the public key that people's answers to requests for permits are checked with; "
        "empty: nobody can answer.",
    ),
)
_CHECK_PERIOD_S = 0.2
"""Time between two looks for requests that are over [s]."""


def permit_gates(
    parameters: Parameters, permits: Mapping[str, RobotPermits]
) -> dict[str, PermitGate]:
    """Return the gate of each robot.

    Args:
        parameters: Parameters of the node that moves the robots.
        permits: Policy of each robot.
    """
    folder, key = parameters["log_directory"], parameters["permit_key"]
    ledger = Ledger(Path(folder)) if folder else None
    return {
        robot: PermitGate(
            policy.model_copy(update={"name": robot}), ledger, Path(key) if key else None
        )
        for robot, policy in permits.items()
    }


def serve_permits(
    node: AgentNode, gates: Mapping[str, PermitGate], prefixes: Mapping[str, str]
) -> None:
    """Let people be asked for the permits that they may be asked for; for `on_start`.

    Args:
        node: The node that moves the robots.
        gates: Each robot's gate.
        prefixes: Name of each robot -> its topics' prefix, such as `rover/`.
    """
    asking = {robot: gate for robot, gate in gates.items() if gate.permits.asks}
    if not asking:
        return
    from coterie_ros.permit_server import PermitServer  # most teams ask nobody

    PermitServer(node, asking, prefixes)

    async def look() -> None:
        for gate in asking.values():
            await asyncio.to_thread(gate.expire)  # it may wait for the log

    node.every(_CHECK_PERIOD_S, look, "permits")
