"""Points of depth images: into space, thinned out, parted into clusters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coterie_core.open3d_library import o3d


def deprojected(
    u: npt.NDArray[np.int64],
    v: npt.NDArray[np.int64],
    depth: npt.NDArray[np.floating],
    intrinsics: tuple[float, float, float, float],
) -> npt.NDArray[np.float64]:
    """Return points (n, 3) [m] in the optical frame of pixel centres and their depths.

    Args:
        u: Columns, (n,).
        v: Rows, (n,).
        depth: Depths along the optical axis, (n,) [m].
        intrinsics: (fx, fy, cx, cy) [px].
    """
    fx, fy, cx, cy = intrinsics
    z = depth.astype(np.float64)
    return np.stack([(u + 0.5 - cx) / fx * z, (v + 0.5 - cy) / fy * z, z], axis=1)


def thinned(
    points: npt.NDArray[np.float64], voxel: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the mean point of each voxel, and which of them each point went to.

    Args:
        points: (n, 3) [m], at least one.
        voxel: Edge of the voxels [m].
    """
    keys = np.floor(points / voxel).astype(np.int64)
    keys -= keys.min(axis=0)
    span = keys.max(axis=0) + 1
    flat = (keys[:, 0] * span[1] + keys[:, 1]) * span[2] + keys[:, 2]
    _, inverse, counts = np.unique(flat, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(-1)
    sums = np.stack([np.bincount(inverse, points[:, k]) for k in range(3)], axis=1)
    return sums / counts[:, None], inverse


def clusters(points: npt.NDArray[np.float64], eps: float, least: int) -> npt.NDArray[np.int64]:
    """Return the cluster of each point by DBSCAN, (n,); -1: none.

    Args:
        points: (n, 3) [m].
        eps: Neighbours are nearer than this [m].
        least: Neighbours that make a core point.
    """
    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points))
    return np.asarray(cloud.cluster_dbscan(eps, least), dtype=np.int64)
