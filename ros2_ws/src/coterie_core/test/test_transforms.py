"""Transforms over time: chains, interpolation, what is not known yet and what is forgotten."""

import math

import numpy as np
import pytest

from coterie_core.transforms import (
    TransformBuffer,
    TransformError,
    TransformNotYet,
    inverse,
    matrix,
    slerp,
)

pytestmark = pytest.mark.quick

NONE = (0.0, 0.0, 0.0, 1.0)


def about_z(angle):
    return (0.0, 0.0, math.sin(angle / 2), math.cos(angle / 2))


def robot():
    """A robot that drives along x with 1 m/s from 0 to 10 s and turns to the left meanwhile."""
    buffer = TransformBuffer()
    buffer.add("map", "r/odom", (1.0, 0.0, 0.0), about_z(math.pi / 2), 0.0, fixed=True)
    buffer.add("r/base", "r/camera", (0.0, 0.0, 1.2), NONE, 0.0, fixed=True)
    for t in range(11):
        buffer.add("r/odom", "r/base", (float(t), 0.0, 0.0), about_z(0.1 * t), float(t))
    return buffer


def test_a_chain_with_interpolation():
    pose = robot().lookup("map", "r/camera", 2.5)
    # Half a metre past the second second, seen from an odometry frame that looks along y.
    assert pose[:3, 3] == pytest.approx([1.0, 2.5, 1.2])
    assert math.atan2(pose[1, 0], pose[0, 0]) == pytest.approx(math.pi / 2 + 0.25)


def test_there_and_back_is_nothing():
    buffer = robot()
    there, back = buffer.lookup("map", "r/camera", 7.3), buffer.lookup("r/camera", "map", 7.3)
    assert there @ back == pytest.approx(np.eye(4), abs=1e-12)
    assert inverse(there) == pytest.approx(back)
    assert buffer.lookup("r/base", "r/camera", 1e9)[2, 3] == 1.2  # fixed at all times


def test_slashes_before_names_do_not_matter():
    assert robot().lookup("/map", "/r/camera", 2.0) == pytest.approx(
        robot().lookup("map", "r/camera", 2.0)
    )


def test_the_shorter_way_round():
    a, b = about_z(math.radians(170)), about_z(math.radians(-170))
    middle = matrix((0.0, 0.0, 0.0), slerp(a, b, 0.5))
    assert middle[0, 0] == pytest.approx(-1.0)


def test_what_is_not_known_yet_and_what_is_forgotten():
    buffer = robot()
    with pytest.raises(TransformNotYet, match=r"asked for 10\.500 s, known until 10\.000 s"):
        buffer.lookup("map", "r/camera", 10.5)
    with pytest.raises(TransformNotYet, match="nothing is known of 'other'"):
        buffer.lookup("map", "other", 1.0)
    with pytest.raises(TransformError, match="known only from") as error:
        buffer.lookup("map", "r/camera", -1.0)
    assert not isinstance(error.value, TransformNotYet)


def test_memory_is_bounded_and_a_clock_may_begin_anew():
    buffer = TransformBuffer(keep=5.0, most=100)
    for k in range(1000):
        buffer.add("map", "base", (float(k), 0.0, 0.0), NONE, 0.01 * k)
    assert len(buffer._links["base"].times) == 100
    buffer.add("map", "base", (-1.0, 0.0, 0.0), NONE, 1.0)
    assert buffer.lookup("map", "base", 1.0)[0, 3] == -1.0
    with pytest.raises(TransformNotYet):
        buffer.lookup("map", "base", 9.0)


def test_a_transform_that_comes_late_is_taken():
    buffer = TransformBuffer()
    for t in (0.0, 2.0, 1.0):
        buffer.add("map", "base", (t, 0.0, 0.0), NONE, t)
    assert buffer.lookup("map", "base", 0.5)[0, 3] == 0.5
    assert buffer.lookup("map", "base", 1.5)[0, 3] == 1.5


def test_a_frame_gets_another_parent():
    buffer = robot()
    buffer.add("map", "r/base", (5.0, 5.0, 0.0), NONE, 3.0)
    assert buffer.lookup("map", "r/camera", 3.0)[:3, 3] == pytest.approx([5.0, 5.0, 1.2])


def test_circles_and_nonsense_are_refused():
    buffer = TransformBuffer()
    buffer.add("a", "b", (0.0, 0.0, 0.0), NONE, 0.0)
    buffer.add("b", "a", (0.0, 0.0, 0.0), NONE, 0.0)
    with pytest.raises(TransformError, match="circle"):
        buffer.lookup("map", "a", 0.0)
    for parent, child, position, rotation in (
        ("", "b", (0.0, 0.0, 0.0), NONE),
        ("a", "a", (0.0, 0.0, 0.0), NONE),
        ("a", "b", (math.nan, 0.0, 0.0), NONE),
        ("a", "b", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
    ):
        with pytest.raises(ValueError, match="transform"):
            buffer.add(parent, child, position, rotation, 0.0)
