"""Maps and camera models of messages, as the Observer takes them."""

from __future__ import annotations

from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import CameraInfo

from coterie_ros import conversions
from robot_adapters.sensing.camera import CameraModel
from robot_adapters.sensing.grid_space import GridData


def read_grid(message: OccupancyGrid, topic: str) -> GridData:
    """Return a floor's grid."""
    values, cell, origin = conversions.grid_from_msg(message, topic)
    return GridData(values, cell, origin, message.header.frame_id, topic=topic)


def read_model(message: CameraInfo, topic: str) -> tuple[CameraModel, CameraInfo]:
    """Return a camera's model, and the message, which is passed on."""
    return CameraModel(*conversions.intrinsics_from_msg(message, topic)), message
