"""Settings of what a robot perceives with: cameras, detectors, frames, its map."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from coterie_core.detector_options import DETECTORS, DetectorOptions, detector_name
from coterie_core.settings import Settings
from robot_adapters.settings_base import MountSettings, RosName

# tf2 knows no names with a slash in front, which ROS 1 had.
FrameName = Annotated[str, AfterValidator(lambda name: name.lstrip("/"))]


class DetectorSettings(Settings):
    """Where detections of a camera come from."""

    topic: RosName = Field("", description="Topic of detections; empty: none.")
    type: Literal[
        "vision_msgs/Detection2DArray",
        "vision_msgs/Detection3DArray",
        "coterie_msgs/ImageDetections",
        "yolo_msgs/DetectionArray",
        "ultralytics_ros/YoloResult",
    ] = Field("vision_msgs/Detection2DArray", description="Type of the messages of the detector.")
    detector: Annotated[str, AfterValidator(detector_name)] | None = Field(
        None,
        description="Detector that looks at the camera's images: one that comes with Coterie (box, "
        "onnx, open_vocabulary, vlm, tags, which see color), or a class of yours, "
        "my_package.module:Class, derived from Detector; what it finds goes out on topic; none: a "
        "node of the robot looks.",
    )
    options: DetectorOptions = Field(
        DetectorOptions(), description="Options of a detector that comes with Coterie."
    )
    info: RosName = Field(
        "",
        description="Topic of the camera info of the images that the detector sees; empty: that of "
        "the camera.",
    )
    label_info: RosName = Field(
        "",
        description="Topic of a vision_msgs/LabelInfo that names the detector's class identifiers; "
        "empty: none.",
    )
    labels: dict[str, str] = Field(
        default_factory=dict,
        description="Labels by the detector's class identifiers, where it sends numbers; none: its "
        "identifiers are labels.",
    )

    @model_validator(mode="before")
    @classmethod
    def _type_of_own(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not value.get("detector"):
            return value
        named = {"topic": "detections"} if value["detector"] in DETECTORS else {}
        return {"type": "coterie_msgs/ImageDetections", **named, **value}

    @model_validator(mode="after")
    def _own(self) -> DetectorSettings:
        if self.own and not (self.topic and self.type == "coterie_msgs/ImageDetections"):
            raise ValueError(
                "a detector of yours needs topic, on which what it finds goes out, and type "
                "coterie_msgs/ImageDetections, which may be left out"
            )
        return self

    @property
    def own(self) -> bool:
        """Whether a class of the user's looks."""
        return self.detector is not None and self.detector not in DETECTORS

    @property
    def in_space(self) -> bool:
        """Whether it finds boxes in space, and not in images."""
        return bool(self.topic) and self.type.endswith("3DArray")


class CameraSettings(Settings):
    """One camera: its topics."""

    name: str = Field("camera", description="Name of the camera, for topics and diagnostics.")
    depth: RosName = Field("", description="Topic of depth images; empty: the camera has none.")
    info: RosName = Field("", description="Topic of the depth images' camera info; empty: none.")
    color: RosName = Field(
        "",
        description="Topic of color images that are registered to the depth, for colors and "
        "pictures of objects; empty: none.",
    )
    detections: DetectorSettings = Field(
        DetectorSettings(), description="Settings of the detections in the camera's images."
    )
    mount: MountSettings | None = Field(
        None, description="Pose of the camera on the base, where tf does not tell; none: tf does."
    )

    @model_validator(mode="before")
    @classmethod
    def _own_topic(cls, value: Any) -> Any:
        """What a camera's detector finds goes out beside the camera's images."""
        found = value.get("detections") if isinstance(value, dict) else None
        if not isinstance(found, dict) or found.get("detector") not in DETECTORS:
            return value
        return {
            **value,
            "detections": {"topic": f"{value.get('name', 'camera')}/detections", **found},
        }

    @model_validator(mode="after")
    def _whole(self) -> CameraSettings:
        if self.depth and not self.info:
            raise ValueError("depth needs info: the topic of its camera info")
        found = self.detections
        if found.own and not self.depth:
            raise ValueError("detections.detector looks at depth images: name depth and info")
        if found.detector and not found.own:
            if not self.color:
                raise ValueError(
                    f"detections.detector {found.detector} looks at color images: name color"
                )
            if found.in_space:
                raise ValueError("detections.detector finds boxes in images: leave out type")
        return self


class SensorSettings(Settings):
    """Where observations come from."""

    map: RosName = Field("map", description="Topic of the occupancy grid; empty: none.")
    map_file: str = Field(
        "",
        description="Path of the YAML of a saved map, as map_saver writes it, for a robot that "
        "publishes none: map is not listened to then; empty: none.",
    )
    cameras: tuple[CameraSettings, ...] = Field(
        (),
        description="List of the robot's cameras; none: the one that depth, info, detections name.",
    )
    depth: RosName = Field(
        "", description="Topic of depth images of the only camera; empty: see cameras."
    )
    info: RosName = Field(
        "", description="Topic of the camera info of the only camera; empty: see cameras."
    )
    color: RosName = Field("", description="Topic of color images of the only camera; empty: none.")
    detections: DetectorSettings = Field(
        DetectorSettings(), description="Settings of the detections of the only camera."
    )
    max_rate: float = Field(
        30.0,
        gt=0.0,
        le=1000.0,
        description="Most images a second that are read of each topic [Hz]; more are dropped "
        "unread.",
    )
    battery: RosName = Field(
        "battery_state", description="Topic of the battery's state; empty: it is not watched."
    )
    min_views: int = Field(
        2,
        ge=1,
        le=100,
        description="Images that have to show an object before the team is told of it: detectors "
        "see things in single images that are not there.",
    )
    settle: float = Field(
        0.5,
        ge=0.0,
        le=10.0,
        description="Time for images of the last moment to come before an observation is made [s]; "
        "0: none.",
    )
    max_offset: float = Field(
        0.5,
        gt=0.0,
        le=60.0,
        description="Largest difference of a sensor's clock to the adapter's, beyond which its "
        "messages are refused [s].",
    )

    @model_validator(mode="after")
    def _one_way(self) -> SensorSettings:
        if self.cameras and (self.depth or self.info or self.color or self.detections.topic):
            raise ValueError(
                "give either cameras, or depth, info, color and detections of the only one"
            )
        if self.map_file and self.map not in ("", type(self).model_fields["map"].default):
            raise ValueError("give either map, a topic, or map_file, a saved map")
        if self.depth and not self.info:
            raise ValueError("depth needs info: the topic of its camera info")
        return self

    @property
    def map_topic(self) -> str:
        """Topic of the occupancy grid; "": there is none, or a file has the map."""
        return "" if self.map_file else self.map

    def all_cameras(self) -> tuple[CameraSettings, ...]:
        """Return the cameras, the only one as a list of one."""
        if self.cameras or not (self.depth or self.detections.topic):
            return self.cameras
        only = {name: getattr(self, name) for name in ("depth", "info", "color", "detections")}
        return (CameraSettings(**only),)


class FrameSettings(Settings):
    """Names of the robot's frames, as its tf has them (REP-105)."""

    map: FrameName = Field("map", description="Name of the frame of the robot's map.")
    odom: FrameName = Field(
        "odom", description="Name of the robot's odometry frame; empty: it has none."
    )
    base: FrameName = Field("base_link", description="Name of the robot's base frame.")
    tf: RosName = Field(
        "/tf",
        description="Topic of the robot's transforms: /tf, or one of its own such as tf; that of "
        "fixed ones has _static behind.",
    )
    pose: RosName = Field(
        "",
        description="Topic that tells where the base is in the map, for a robot without tf; empty: "
        "tf tells.",
    )
    pose_type: Literal[
        "nav_msgs/Odometry",
        "geometry_msgs/PoseStamped",
        "geometry_msgs/PoseWithCovarianceStamped",
    ] = Field("nav_msgs/Odometry", description="Type of the messages of the topic `pose`.")


class MapPoseSettings(Settings):
    """Where the origin of the robot's map lies in the team's map."""

    x: float = Field(0.0, description="Position along x of the team's map [m].")
    y: float = Field(0.0, description="Position along y of the team's map [m].")
    z: float = Field(0.0, description="Height in the team's map [m].")
    yaw: float = Field(0.0, description="Heading about the z axis [rad], counter-clockwise from x.")
