"""What drivers of a robot's hardware offer in the embedded house: velocity, laser scans, a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Vec3
from habitat_bridge.embedded.body import Body
from habitat_bridge.embedded.driving import COMMAND_TIMEOUT, Drive, Velocity
from habitat_bridge.embedded.floor_map import Grid, floor_map
from habitat_bridge.embedded.laser import Laser, scan

if TYPE_CHECKING:
    from habitat_bridge.embedded.world import EmbeddedWorld


class Hardware:
    """The drivers of all robots of a world.

    Args:
        world: The house with its robots.
    """

    def __init__(self, world: EmbeddedWorld) -> None:
        self._world = world

    def body(self, robot: str) -> Body:
        """Return a robot's body."""
        return self._world.body(robot)

    def drive(self, robot: str, velocity: Velocity) -> None:
        """Let a robot drive by a command until it times out; a skill, or a stop, goes first."""
        body = self.body(robot)
        if not body.halted:
            body.drive = Drive(velocity.limited(body), self._world.time + COMMAND_TIMEOUT)

    def scan(self, robot: str, laser: Laser) -> npt.NDArray[np.float32]:
        """Return what a robot's scanner measures now: ranges (rays,) [m], infinite for none."""
        world = self._world
        bodies = {body.name: body for body in world.bodies}
        others = world.imaging.pillars(bodies, without=robot)
        return scan(world.imaging.sensors, laser, self.body(robot).pose, others)

    def floor(self, robot: str) -> int:
        """Return the index of the floor that a robot is on."""
        return self._world.occupancy.floor_index(self.body(robot).pose.position[2])

    def floor_map(self, robot: str) -> tuple[Grid, float, Vec3]:
        """Return the map of the floor that a robot is on; see `floor_map`."""
        return floor_map(self.body(robot).places.space, self.floor(robot))
