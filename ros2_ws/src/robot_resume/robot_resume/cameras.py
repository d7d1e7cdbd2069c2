"""The perception section: cameras, where their joints take them and where they look."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.kinematics.chain import Chain
from coterie_core.kinematics.limbs import CAMERA
from coterie_core.kinematics.sampling import postures
from coterie_core.resume import Perception, ResumeCamera
from coterie_core.urdf.gazebo import Sensor
from coterie_core.urdf.reading import Description
from coterie_core.urdf.tree import Tree, plain
from robot_resume.locomotion import Scene
from robot_resume.mobility import Stance

Array = npt.NDArray[np.float64]

NOT_CAMERA = re.compile(
    r"accel|gyro|(^|_)imu|optical_flow|_led(_|$)|laser|lidar|respeaker"
    r"|aruco|april_?tag|fiducial|marker|charuco|checkerboard|calibration"
    r"|cam(era)?s?_?(tower|mount|bracket|holder|post|pole|stand|plate)"
)
OPTICAL = re.compile(r"optical")
_TAIL = re.compile(r"(_bottom_screw|_base|_mount|_body)*_(link|frame|mount|screw)$")
OTHERS = (
    (
        "lidar",
        re.compile(r"laser|lidar|(^|_)scan(ner)?(_|$)|vel[oy]+d[iy]ne|hokuyo|sick|ouster|vlp"),
    ),
    ("imu", re.compile(r"(^|_)imu(_|$|[0-9])")),
    ("sonar", re.compile(r"sonar|ultraso|(^|_)us_?[0-9]")),
    ("gps", re.compile(r"(^|_)(gps|gnss|navsat)")),
    ("microphone", re.compile(r"microphone|respeaker|(^|_)mic(_|$)")),
    ("contact", re.compile(r"bumper|cliff|(^|_)contact_sensor|touch")),
    ("force-torque", re.compile(r"force_?torque|(^|_)ft_?sensor")),
)
_GAZEBO_CAMERA = (
    "camera",
    "depth",
    "multicamera",
    "rgbd_camera",
    "depth_camera",
    "rgbd",
    "wideanglecamera",
    "thermal_camera",
)
_GAZEBO_OTHERS = {
    "ray": "lidar", "gpu_ray": "lidar", "lidar": "lidar", "gpu_lidar": "lidar", "imu": "imu",
    "contact": "contact", "gps": "gps", "navsat": "gps", "sonar": "sonar",
    "force_torque": "force-torque", "altimeter": "altimeter", "magnetometer": "magnetometer",
}  # fmt: skip
# Device -> horizontal and vertical field of view [deg] of its data sheet, and whether it has depth.
_DEVICES = (
    (re.compile(r"d4[135]5|realsense|(^|_)rs[_0-9]"), "RealSense D435 (colour)", 69.4, 42.5, True),
    (re.compile(r"r200"), "RealSense R200 (colour)", 60.0, 45.0, True),
    (re.compile(r"kinect"), "Kinect", 57.0, 43.0, True),
    (re.compile(r"xtion|primesense|astra"), "PrimeSense", 58.0, 45.0, True),
    (re.compile(r"(^|_)zed"), "ZED", 90.0, 60.0, True),
    (re.compile(r"(^|_)oak"), "OAK-D (colour)", 69.0, 55.0, True),
)
# Axes of an optical frame (x right, y down, z ahead) in its body's frame (x ahead, z up).
_TO_OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
_ASSUMED = (60.0, 46.8)
_COLUMNS = 256
_SAMPLES = 8192


@dataclass
class _Device:
    name: str
    links: list[str]
    sensor: Sensor | None = None


def find_cameras(
    scene: Scene, stance: Stance, description: Description, arm_joints: set[str]
) -> tuple[Perception, list[str]]:
    """Return the perception section and what was odd."""
    warnings: list[str] = []
    evidence: dict[str, str] = {}
    cameras = []
    for device in _devices(scene.tree, description):
        camera, why = _camera(scene, stance, device, arm_joints, warnings)
        cameras.append(camera)
        evidence |= {f"{camera.name}.{key}": text for key, text in why.items()}
    if not cameras:
        evidence["cameras"] = "no link is named as a camera and no gazebo sensor is one"
    return Perception(
        cameras=tuple(cameras), others=_others(scene.tree, description), evidence=evidence
    ), warnings


def looks(scene: Scene, description: Description) -> list[Array]:
    """Return the directions (3,) that the cameras look in with all joints at zero."""
    found = []
    for device in _devices(scene.tree, description):
        frame, ahead, _ = _frame(scene, device)
        found.append(scene.poses[frame][:3, :3] @ ahead)
    return found


def _devices(tree: Tree, description: Description) -> list[_Device]:
    """Group links named as cameras, and gazebo cameras, by the thing that carries them."""
    sensors = {
        sensor.link: sensor
        for sensor in description.sensors
        if sensor.type in _GAZEBO_CAMERA or sensor.hfov is not None
    }
    devices: dict[str, _Device] = {}
    for name in tree.subtree(tree.root):
        if not (_is_camera(name) or name in sensors):
            continue
        top = name
        while (joint := tree.above.get(top)) is not None and not joint.movable:
            if not _is_camera(joint.parent) or OPTICAL.search(plain(joint.parent)):
                break
            top = joint.parent
        device = devices.setdefault(top, _Device(top, []))
        device.links.append(name)
        device.sensor = device.sensor or sensors.get(name)
    _name(list(devices.values()), tree)
    return list(devices.values())


def _is_camera(name: str) -> bool:
    text = plain(name)
    return bool(CAMERA.search(text)) and not NOT_CAMERA.search(text)


def _name(devices: list[_Device], tree: Tree) -> None:
    taken = set(tree.links)
    for device in devices:
        short = _TAIL.sub("", device.name)
        if short and short not in taken:
            device.name = short
        taken.add(device.name)


def _frame(scene: Scene, device: _Device) -> tuple[str, Array, str]:
    """Return the frame that images are in, the direction (3,) it looks in, and why."""
    tree = scene.tree
    optical = [name for name in device.links if OPTICAL.search(plain(name))]
    if optical:
        order = ("color", "colour", "rgb", "depth", "")
        optical.sort(
            key=lambda name: next(k for k, word in enumerate(order) if word in plain(name))
        )
        frame = optical[0]
        direction = scene.poses[frame][:3, 2]
        if abs(direction[2]) > 0.99 and abs(scene.poses[frame][2, 0]) < 0.1:
            return (
                frame,
                np.array([1.0, 0.0, 0.0]),
                (f"x axis of {frame}: named optical but not turned like one"),
            )
        return frame, np.array([0.0, 0.0, 1.0]), f"z axis of the optical frame {frame}"
    frame = device.sensor.link if device.sensor is not None else device.links[0]
    parent = tree.above.get(frame)
    if parent is not None and OPTICAL.search(plain(parent.parent)) and not parent.movable:
        return frame, np.array([0.0, 0.0, 1.0]), f"z axis of {frame}, on an optical frame"
    for name in device.links:
        above = tree.above.get(name)
        if above is not None and np.abs(above.origin[:3, :3] - _TO_OPTICAL).max() < 0.02:
            return (
                name,
                np.array([0.0, 0.0, 1.0]),
                f"z axis of {name}, turned as optical frames are",
            )
    x, y, z = scene.poses[frame][:3, :3].T
    if y[2] < -0.5 and abs(x[2]) < 0.1 and z[0] > abs(x[0]):
        return (
            frame,
            np.array([0.0, 0.0, 1.0]),
            f"z axis of {frame}: upright as optical frames are, and not as bodies are",
        )
    return frame, np.array([1.0, 0.0, 0.0]), f"x axis of {frame}: no optical frame"


def _camera(
    scene: Scene, stance: Stance, device: _Device, arm_joints: set[str], warnings: list[str]
) -> tuple[ResumeCamera, dict[str, str]]:
    frame, ahead, why = _frame(scene, device)
    chain = Chain(scene.tree, frame, stance.base, None, stance.frozen)
    rest = np.array([[stance.rest.get(joint.name, 0.0) for joint in chain.joints]])
    at = chain.points(rest)[0]
    look = chain.directions(rest, ahead)[0]
    values = postures(chain.lower, chain.upper, _SAMPLES, 0) if chain.size else rest
    values = np.concatenate([rest, values])
    heights = chain.points(values)[:, 2]
    directions = chain.directions(values, ahead)
    if stance.mobility.kind != "air":
        possible = heights >= min(0.0, float(heights[0]))
        heights, directions = heights[possible], directions[possible]
    own = [step.joint.name for step in chain.steps]
    mount = "fixed"
    if own:
        mount = "arm" if any(name in arm_joints for name in own) else "movable"
    pitches = -np.arcsin(np.clip(directions[:, 2], -1.0, 1.0))
    hfov, vfov, size, fov_why = _view(scene, device)
    columns = np.array([1.0, 0.0, 0.0] if ahead[2] > 0.5 else [0.0, -1.0, 0.0])
    # A bare frame without any body or image tells where a camera is, but not how it is rolled.
    shown = any(scene.tree.links[name].shapes for name in device.links) or device.sensor
    rolled = abs(float(chain.directions(rest, columns)[0][2])) > 0.7
    if rolled and (shown or OPTICAL.search(plain(frame))):
        hfov, vfov, size = vfov, hfov, (size[1], size[0])
        fov_why += "; mounted on its side, so the wide side is upright"
    leans = abs(float(chain.directions(rest, np.array([0.0, 1.0, 0.0]))[0][2])) > 0.2
    if why.endswith("no optical frame") and leans and mount != "arm":
        warnings.append(
            f"camera {device.name}: no optical frame tells which axis of {frame} it looks along; "
            "x is assumed, by which it lies on its side"
        )
    clip = device.sensor.clip if device.sensor is not None else None
    camera = ResumeCamera(
        name=device.name,
        link=device.links[0],
        frame=frame,
        mount=mount,
        channels=_channels(scene, device),
        height=round(float(at[2]), 3),
        heights=(round(float(heights.min()), 3), round(float(heights.max()), 3)),
        forward=round(float(at[0]), 3),
        hfov=round(hfov, 4),
        vfov=round(vfov, 4),
        pitch=round(float(-math.asin(np.clip(look[2], -1.0, 1.0))), 3) + 0.0,
        pitches=(round(float(pitches.min()), 3) + 0.0, round(float(pitches.max()), 3) + 0.0),
        yaws=_yaws(directions, look),
        range=clip if clip is not None else (0.05, 8.0),
        width=size[0],
        rows=size[1],
    )
    moved = f" over {', '.join(own)}" if own else ": no joint moves it"
    evidence = {
        "link": f"links {', '.join(device.links)}",
        "heights": f"forward kinematics of {frame}{moved}",
        "pitch": why,
        "hfov": fov_why,
        "range": "gazebo sensor" if clip is not None else "assumed: a URDF does not say",
    }
    return camera, evidence


def _yaws(directions: Array, rest: Array) -> tuple[float, float]:
    """Return the interval of bearings covered, about the one at rest; it may go beyond pi."""
    level = np.hypot(directions[:, 0], directions[:, 1]) > 0.2
    if not level.any():
        return -math.pi, math.pi
    yaw = np.unique(np.arctan2(directions[level, 1], directions[level, 0]).round(3))
    gaps = np.diff(np.concatenate([yaw, [yaw[0] + 2.0 * math.pi]]))
    widest = int(gaps.argmax())
    if gaps[widest] < math.radians(10.0):
        return -math.pi, math.pi
    start = float(yaw[(widest + 1) % len(yaw)])
    end = float(yaw[widest])
    if end < start:
        end += 2.0 * math.pi
    ahead = math.atan2(rest[1], rest[0])
    turns = round((ahead - (start + end) / 2.0) / (2.0 * math.pi)) * 2.0 * math.pi
    return round(start + turns, 3) + 0.0, round(end + turns, 3) + 0.0


def _view(scene: Scene, device: _Device) -> tuple[float, float, tuple[int, int], str]:
    """Return the fields of view [rad], columns and rows, and where they are from."""
    sensor = device.sensor
    if sensor is not None and sensor.hfov is not None and sensor.hfov < math.pi:
        columns, rows = sensor.size or (640, 480)
        vfov = 2.0 * math.atan(math.tan(sensor.hfov / 2.0) * rows / columns)
        return sensor.hfov, vfov, (columns, rows), f"gazebo sensor {sensor.name!r} on {sensor.link}"
    known = _known(scene, device)
    if known is not None:
        label, wide, tall = known
        why = f"assumed: the data sheet of a {label}, which its names speak of"
    else:
        wide, tall = _ASSUMED
        why = f"assumed {wide:g} by {tall:g} degrees: a URDF does not say; override it"
    hfov, vfov = math.radians(wide), math.radians(tall)
    rows = round(_COLUMNS * math.tan(vfov / 2.0) / math.tan(hfov / 2.0))
    return hfov, vfov, (_COLUMNS, rows), why


def _known(scene: Scene, device: _Device) -> tuple[str, float, float] | None:
    text = _device_text(scene, device)
    for pattern, label, wide, tall, _ in _DEVICES:
        if pattern.search(text):
            return label, wide, tall
    return None


def _device_text(scene: Scene, device: _Device) -> str:
    files = [
        shape.file for name in device.links for shape in scene.tree.links[name].shapes if shape.file
    ]
    return plain(" ".join([*device.links, *(file.rsplit("/", 1)[-1] for file in files)]))


def _channels(scene: Scene, device: _Device) -> tuple[str, ...]:
    text = plain(" ".join(device.links))
    kind = device.sensor.type if device.sensor is not None else ""
    depth = "depth" in text or "rgbd" in text or "depth" in kind or "rgbd" in kind
    rgb = bool(re.search(r"rgb|colou?r", text)) or not depth or kind.startswith("rgbd")
    if any(
        pattern.search(_device_text(scene, device)) and both for pattern, _, _, _, both in _DEVICES
    ):
        rgb = depth = True
    infrared = bool(re.search(r"infra|(^|_)ir([_0-9]|$)", text))
    found = [("rgb", rgb), ("depth", depth), ("infrared", infrared)]
    return tuple(name for name, has in found if has)


def _others(tree: Tree, description: Description) -> dict[str, str]:
    others: dict[str, str] = {}
    for name in tree.links:
        for kind, pattern in OTHERS:
            if pattern.search(plain(name)) and not (_is_camera(name) and kind != "imu"):
                others.setdefault(name, kind)
    for sensor in description.sensors:
        if sensor.type in _GAZEBO_OTHERS:
            others.setdefault(sensor.link, _GAZEBO_OTHERS[sensor.type])
    return others
