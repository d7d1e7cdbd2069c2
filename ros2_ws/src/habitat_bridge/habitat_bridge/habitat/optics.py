"""Cameras for habitat: where its camera frame is when ours is here, and cubes of views."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from coterie_core.frames import zup_to_yup
from coterie_core.geometry import Quaternion, Vec3

Floats = npt.NDArray[np.floating]

# Rows: right, down, ahead of the six faces of a cube around an eye, in the map frame (z up).
CUBE = np.array(
    [
        [[0, -1, 0], [0, 0, -1], [1, 0, 0]],
        [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
        [[0, 1, 0], [0, 0, -1], [-1, 0, 0]],
        [[-1, 0, 0], [0, 0, -1], [0, -1, 0]],
        [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
        [[0, -1, 0], [-1, 0, 0], [0, 0, -1]],
    ],
    dtype=np.float64,
)


def camera_pose(camera_to_map: Floats) -> tuple[Vec3, Quaternion]:
    """Return position and rotation of habitat's camera (x right, y up, looks along -z), y up.

    Args:
        camera_to_map: (4, 4), optical frame (x right, y down, z ahead) to map.
    """
    axes = zup_to_yup(camera_to_map[:3, :3].T)  # rows: right, down, ahead
    rotation = np.column_stack([axes[0], -axes[1], -axes[2]])
    x, y, z = zup_to_yup(camera_to_map[:3, 3])
    return (float(x), float(y), float(z)), quaternion_of(rotation)


def quaternion_of(rotation: Floats) -> Quaternion:
    """Return the quaternion (x, y, z, w) of a rotation matrix (3, 3)."""
    x, y, z, w = Rotation.from_matrix(rotation).as_quat().tolist()
    return (x, y, z, w)


def face_pose(eye: Vec3, face: int) -> tuple[Vec3, Quaternion]:
    """Return position and rotation of habitat's camera for one face of the cube around an eye."""
    pose = np.eye(4)
    pose[:3, :3] = CUBE[face].T
    pose[:3, 3] = eye
    return camera_pose(pose)


def cube_pixels(
    offsets: Floats, size: int
) -> tuple[
    npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.float64]
]:
    """Return where points are seen in a cube of square views of `size` px and 90 degrees.

    Args:
        offsets: Points (N, 3) relative to the eye, map frame [m].
        size: Rows and columns of a face.

    Returns:
        Face, row, column and depth [m] along the face's axis, each (N,).
    """
    points = np.asarray(offsets, dtype=np.float64)
    ahead = points @ CUBE[:, 2].T  # (N, 6)
    face = np.argmax(ahead, axis=1)
    depth = np.maximum(ahead[np.arange(len(points)), face], 1e-9)
    right = np.einsum("ij,ij->i", points, CUBE[face, 0]) / depth
    down = np.einsum("ij,ij->i", points, CUBE[face, 1]) / depth
    col = np.clip(((right + 1.0) * size / 2.0).astype(np.intp), 0, size - 1)
    row = np.clip(((down + 1.0) * size / 2.0).astype(np.intp), 0, size - 1)
    return face, row, col, depth
