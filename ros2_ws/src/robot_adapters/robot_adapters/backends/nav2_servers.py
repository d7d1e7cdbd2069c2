"""How Nav2's servers are configured, and the speed that its controllers are held to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nav2_msgs.msg import SpeedLimit
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters

from coterie_ros import conversions
from coterie_ros.clients import NoAnswer, ServiceClient
from robot_adapters.names import CONTROLLERS, OWN_SPEEDS, PLANNERS, joined

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

_TELL_PERIOD = 2.0
"""A controller server that is started again knows no limit: it is told again after so long [s]."""
_PATIENCE = 1.0
"""How long a server may take to tell a parameter [s]."""
_LIFT = 0.5
"""How long the end of a limit may take to get to the controllers [s]."""


class Nav2Parameters:
    """Reads parameters of Nav2's servers.

    Args:
        node: Whose clients it has.
        namespace: Of Nav2's servers.
    """

    def __init__(self, node: AgentNode, namespace: str | None) -> None:
        self._clients = {
            server: ServiceClient(
                node, GetParameters, joined(namespace, f"{server}/get_parameters")
            )
            for server in (CONTROLLERS[0], PLANNERS[0])
        }

    async def planners(self) -> tuple[str, ...]:
        """Return the names of the planners; (): they are not known."""
        return tuple(await self._get(*PLANNERS) or ())

    async def own_speed(self) -> tuple[float | None, str]:
        """Return the speed that every controller has of its own [m/s], and why it is not known."""
        controllers = await self._get(*CONTROLLERS)
        if not controllers:
            return None, f"{CONTROLLERS[0]} does not tell its {CONTROLLERS[1]}"
        speeds = []
        for controller in controllers:
            for name in OWN_SPEEDS:
                speed = await self._get(CONTROLLERS[0], f"{controller}.{name}")
                if speed is not None:
                    speeds.append(float(speed))
                    break
            else:
                return None, f"controller {controller} has none of {', '.join(OWN_SPEEDS)}"
        return min(speeds), ""

    async def _get(self, server: str, name: str) -> Any:
        """Return a parameter; None: there is none of that name, or nobody answers.

        One at a time: rclcpp tells none of several where one is unknown.
        """
        client = self._clients[server]
        if not client.there:
            return None
        try:
            answer = await client.call(
                GetParameters.Request(names=[name]), timeout=_PATIENCE, attempts=2
            )
        except NoAnswer:
            return None
        value = answer.values[0] if answer.values else None
        if value is None:
            return None
        return {
            ParameterType.PARAMETER_DOUBLE: value.double_value,
            ParameterType.PARAMETER_INTEGER: value.integer_value,
            ParameterType.PARAMETER_STRING_ARRAY: list(value.string_array_value),
        }.get(value.type)


class SpeedCap:
    """Holds Nav2's controllers below a speed while the adapter works.

    Nav2 takes an absolute limit for the speed that is wished for, also where its own is lower:
    what it is told is never above its own, and where that is not known, it is told nothing.

    Args:
        node: Whose publisher it has; at its end the limit is lifted.
        namespace: Of Nav2's servers.
        speed: Highest speed [m/s].
        parameters: Of Nav2's servers.
    """

    def __init__(
        self, node: AgentNode, namespace: str | None, speed: float, parameters: Nav2Parameters
    ) -> None:
        self._node, self._speed, self._parameters = node, speed, parameters
        self.told: float | None = None
        self.trouble = ""
        topic = joined(namespace, "speed_limit")
        self._limits = node.publisher(SpeedLimit, topic, "messages")
        node.at_end(self._lift)
        node.every(_TELL_PERIOD, self.tell, "speed limit")

    @property
    def figure(self) -> str:
        """What the controllers are told, for the diagnostics."""
        return self.trouble or ("not told yet" if self.told is None else f"{self.told:g} m/s")

    async def tell(self) -> None:
        """Tell the controllers the limit."""
        own, why = await self._parameters.own_speed()
        self.trouble = ""
        if own is None:
            self.trouble = (
                f"limits.speed: {self._speed:g} m/s cannot be passed on to Nav2, since {why}: give "
                "its controllers no more than that"
            )
            return
        self.told = min(self._speed, own)
        self._limits.publish(self._limit(self.told))

    def _limit(self, speed: float) -> SpeedLimit:
        head = conversions.header(self._node.now(), "")
        return SpeedLimit(header=head, percentage=False, speed_limit=float(speed))

    def _lift(self) -> None:
        """Leave the controllers their own speed: 0 is no limit."""
        if self.told is not None:
            self._limits.publish_last(self._limit(0.0), _LIFT)
