"""Occupancy of a floor as a message and back."""

from __future__ import annotations

import array

import numpy as np
import numpy.typing as npt
from geometry_msgs.msg import Pose as PoseMsg
from geometry_msgs.msg import Quaternion
from nav_msgs.msg import MapMetaData, OccupancyGrid
from std_msgs.msg import Header

from coterie_core.geometry import Vec3, quaternion_to_yaw
from coterie_ros.conversions.basics import point_from_msg, point_to_msg
from coterie_ros.conversions.checks import Checks

_MAX_CELLS = 100_000_000
_TURNED = 1e-3  # [rad]


def grid_to_msg(
    values: npt.NDArray[np.int8], cell: float, origin: Vec3, head: Header
) -> OccupancyGrid:
    """Return a grid as a message.

    Args:
        values: (rows, cols): occupied [%], -1 unknown; rows go along y, columns along x.
        cell: Edge of a cell [m].
        origin: Corner of the first cell [m], at the height of the floor.
        head: Stamp and frame.
    """
    rows, cols = values.shape
    message = OccupancyGrid(
        header=head,
        info=MapMetaData(
            map_load_time=head.stamp,
            resolution=float(cell),
            width=cols,
            height=rows,
            origin=PoseMsg(position=point_to_msg(origin), orientation=Quaternion(w=1.0)),
        ),
    )
    message.data = array.array("b", np.ascontiguousarray(values, np.int8).tobytes())
    return message


def grid_from_msg(
    message: OccupancyGrid, topic: str = "map"
) -> tuple[npt.NDArray[np.int8], float, Vec3]:
    """Return (values (rows, cols) [%], edge of a cell [m], corner of the first cell [m]).

    Raises:
        ConversionError: A size that does not match the data, numbers that are none, or a grid that
            is turned in its frame.
    """
    checks = Checks(topic)
    turn = quaternion_to_yaw(checks.rotation("info.origin.orientation", _unit(message)))
    if abs(turn) > _TURNED:
        expected = "a grid along the axes of its frame; set the map's yaw to 0"
        raise checks.fail("info.origin.orientation", expected, f"a turn by {turn:.3f} rad")
    cell = checks.number("info.resolution", message.info.resolution, 1e-3, 100.0)
    rows, cols = int(message.info.height), int(message.info.width)
    if rows * cols > _MAX_CELLS or len(message.data) != rows * cols:
        raise checks.fail("data", f"{rows} x {cols} cells", f"{len(message.data)} cells")
    origin = point_from_msg(message.info.origin.position, checks, "info.origin.position")
    values = np.array(message.data, np.int8).reshape(rows, cols)
    if values.size and not -1 <= int(values.min()) <= int(values.max()) <= 100:
        raise checks.fail("data", "values from -1 to 100", f"{values.min()}..{values.max()}")
    return values, cell, origin


def _unit(message: OccupancyGrid) -> Quaternion:
    """The grid's rotation; a quaternion of zeros, as careless publishers leave it, is none."""
    q = message.info.origin.orientation
    return q if any((q.x, q.y, q.z, q.w)) else Quaternion(w=1.0)
