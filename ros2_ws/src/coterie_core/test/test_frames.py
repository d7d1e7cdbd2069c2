"""z up and y up: there and back, right-handed, and yaw keeps its sense."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_core.frames import ZUP_TO_YUP, quaternion_zup_to_yup, yup_to_zup, zup_to_yup
from coterie_core.geometry import yaw_to_quaternion

numbers = st.floats(-1e3, 1e3)


def rotated(point, quaternion):
    x, y, z, w = quaternion
    axis = np.array([x, y, z])
    p = np.asarray(point, dtype=float)
    return p + 2 * w * np.cross(axis, p) + 2 * np.cross(axis, np.cross(axis, p))


def test_up_is_up():
    assert zup_to_yup([0, 0, 1]).tolist() == [0, 1, 0]
    assert zup_to_yup([1, 0, 0]).tolist() == [1, 0, 0]
    assert zup_to_yup([0, 1, 0]).tolist() == [0, 0, -1]
    assert np.linalg.det(ZUP_TO_YUP) == pytest.approx(1.0)


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1))
def test_there_and_back(points):
    array = np.array(points)
    there = zup_to_yup(array)
    assert np.array_equal(yup_to_zup(there), array)
    assert np.allclose(there, array @ ZUP_TO_YUP.T)


@given(st.floats(-math.pi, math.pi), st.tuples(numbers, numbers, numbers))
def test_turning_and_changing_frames_commute(yaw, point):
    turn = yaw_to_quaternion(yaw)
    other = quaternion_zup_to_yup(turn)
    assert np.allclose(
        zup_to_yup(rotated(point, turn)), rotated(zup_to_yup(point), other), atol=1e-6
    )
    # A yaw about z is the same angle about the y axis of the other frame.
    assert np.allclose(other, (0.0, math.sin(yaw / 2), 0.0, math.cos(yaw / 2)))


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match=r"\(\.\.\., 3\)"):
        zup_to_yup([1.0, 2.0])
