"""What drivers of real robots publish: laser scans, joint states, batteries, packed images."""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from geometry_msgs.msg import PoseWithCovarianceStamped
from sensor_msgs.msg import BatteryState, CompressedImage, JointState, LaserScan
from std_msgs.msg import Header

from coterie_core.geometry import Pose
from coterie_ros.conversions.basics import pose_to_msg

try:
    from vision_msgs.msg import LabelInfo, VisionClass
except ImportError:  # not among the wheels: nobody can listen to such a topic then
    LabelInfo = VisionClass = None

_PNG_SPEED = 1  # fast, and hardly larger
_JPEG_QUALITY = 85
# Header of compressed_depth_image_transport: a number and two parameters that 16UC1 does not use.
_DEPTH_HEADER = struct.pack("<iff", 0, 0.0, 0.0)
_FARTHEST_MM = 65535
_LARGEST_CLASS = 65535


def scan_to_msg(
    ranges: npt.NDArray[np.float32], head: Header, *, near: float, far: float, period: float
) -> LaserScan:
    """Return a full turn of a laser scanner as a message.

    Args:
        ranges: (rays,) [m], counter-clockwise from straight back; infinite for nothing in range.
        head: Stamp and the scanner's frame.
        near: Nothing nearer is measured [m].
        far: Nothing farther is measured [m].
        period: Time between two scans [s].
    """
    increment = math.tau / len(ranges)
    message = LaserScan(
        header=head,
        angle_min=-math.pi,
        angle_max=math.pi - increment,
        angle_increment=increment,
        time_increment=0.0,
        scan_time=period,
        range_min=near,
        range_max=far,
    )
    message.ranges = ranges.astype(np.float32)
    return message


def joint_states_to_msg(positions: Mapping[str, float], head: Header) -> JointState:
    """Return joint positions [rad] or [m] by name as a message."""
    return JointState(
        header=head, name=list(positions), position=[float(v) for v in positions.values()]
    )


def battery_to_msg(charge: float, head: Header, *, charging: bool = False) -> BatteryState:
    """Return a battery's state: `charge` is the share that is left, 0 to 1."""
    status = BatteryState.POWER_SUPPLY_STATUS_DISCHARGING
    if charging:
        full = charge >= 1.0
        status = (
            BatteryState.POWER_SUPPLY_STATUS_FULL
            if full
            else BatteryState.POWER_SUPPLY_STATUS_CHARGING
        )
    return BatteryState(
        header=head,
        voltage=22.0 + 3.2 * charge,
        temperature=math.nan,
        current=math.nan,
        charge=math.nan,
        capacity=math.nan,
        design_capacity=math.nan,
        percentage=float(charge),
        power_supply_status=status,
        power_supply_health=BatteryState.POWER_SUPPLY_HEALTH_GOOD,
        power_supply_technology=BatteryState.POWER_SUPPLY_TECHNOLOGY_LION,
        present=True,
    )


def estimated_pose_to_msg(
    pose: Pose, head: Header, *, deviation: float, yaw_deviation: float
) -> PoseWithCovarianceStamped:
    """Return where a localization believes a robot to be (amcl_pose).

    Args:
        pose: The belief, in the header's frame.
        head: Stamp and map frame.
        deviation: Standard deviation of x and y [m].
        yaw_deviation: Standard deviation of the heading [rad].
    """
    message = PoseWithCovarianceStamped(header=head)
    message.pose.pose = pose_to_msg(pose)
    covariance = [0.0] * 36
    covariance[0] = covariance[7] = deviation**2
    covariance[35] = yaw_deviation**2
    message.pose.covariance = covariance
    return message


def label_info_to_msg(labels: Mapping[int, str], head: Header) -> LabelInfo:
    """Return what the numbers of a semantic image stand for; numbers above 65535 are left out."""
    known = sorted((n, label) for n, label in labels.items() if 0 <= n <= _LARGEST_CLASS)
    classes = [VisionClass(class_id=number, class_name=label) for number, label in known]
    return LabelInfo(header=head, class_map=classes, threshold=0.0)


def packed_color_to_msg(pixels: npt.NDArray[np.uint8], head: Header) -> CompressedImage:
    """Return a color image (rows, cols, 3) RGB as JPEG, as compressed_image_transport packs it."""
    data = _packed(pixels, "JPEG", quality=_JPEG_QUALITY)
    message = CompressedImage(header=head, format="rgb8; jpeg compressed bgr8")
    message.data = data
    return message


def packed_depth_to_msg(depth: npt.NDArray[np.float32], head: Header) -> CompressedImage:
    """Return a depth image (rows, cols) [m] as a PNG of millimeters, as compressedDepth has it."""
    millimeters = np.rint(np.clip(np.nan_to_num(depth) * 1000.0, 0, _FARTHEST_MM)).astype(np.uint16)
    data = _DEPTH_HEADER + _packed(millimeters, "PNG", compress_level=_PNG_SPEED)
    message = CompressedImage(header=head, format="16UC1; compressedDepth png")
    message.data = data
    return message


def _packed(pixels: npt.NDArray[np.generic], kind: str, **options: int) -> bytes:
    from PIL import Image  # only where somebody wants packed images

    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind, **options)
    return out.getvalue()
