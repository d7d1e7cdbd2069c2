"""Points of things as a coloured cloud: each point tells which thing it belongs to."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import Header

_FIELDS = (
    ("x", "f4", PointField.FLOAT32),
    ("y", "f4", PointField.FLOAT32),
    ("z", "f4", PointField.FLOAT32),
    ("rgb", "u4", PointField.FLOAT32),  # packed: three bytes in the place of a number
    ("instance", "u4", PointField.UINT32),
)
_POINT = np.dtype([(name, kind) for name, kind, _ in _FIELDS])


def instances_to_cloud(
    points: Sequence[npt.NDArray[np.float32]],
    colors: Sequence[tuple[int, int, int]],
    head: Header,
    most: int = 500_000,
) -> PointCloud2:
    """Return the points of several things as one cloud with fields x, y, z, rgb, instance.

    `rgb` is packed as point clouds usually have it; `instance` counts the things from 1, in their
    order.

    Args:
        points: Per thing (n, 3) [m], in the header's frame.
        colors: Per thing RGB (0..255).
        head: Stamp and frame.
        most: Most points; of more, every k-th is taken.
    """
    if len(points) != len(colors):
        raise ValueError(f"clouds of {len(points)} things, colours of {len(colors)}")
    total = sum(len(cloud) for cloud in points)
    step = max(-(-total // most), 1)
    thinned = [cloud[::step] for cloud in points]
    out = np.zeros(sum(len(cloud) for cloud in thinned), _POINT)
    if len(out):
        sizes = [len(cloud) for cloud in thinned]
        together = np.concatenate(thinned)
        for k, axis in enumerate("xyz"):
            out[axis] = together[:, k]
        packed = [(red << 16) | (green << 8) | blue for red, green, blue in colors]
        out["rgb"] = np.repeat(np.array(packed, np.uint32), sizes)
        out["instance"] = np.repeat(np.arange(1, len(sizes) + 1, dtype=np.uint32), sizes)
    message = PointCloud2(
        header=head,
        height=1,
        width=len(out),
        fields=[
            PointField(name=name, offset=4 * k, datatype=datatype, count=1)
            for k, (name, _, datatype) in enumerate(_FIELDS)
        ],
        is_bigendian=sys.byteorder == "big",
        point_step=_POINT.itemsize,
        row_step=_POINT.itemsize * len(out),
        is_dense=True,
    )
    message.data = out.tobytes()
    return message
