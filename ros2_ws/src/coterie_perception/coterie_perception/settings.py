"""Settings of the cameras that a perception node watches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from coterie_core.detector_options import DetectorOptions, detector_name
from coterie_core.plain_data import schema_problems
from coterie_core.settings import Settings


class WatchedCamera(Settings):
    """A camera, who looks at its images, and where what is found goes out."""

    name: str = Field("camera", description="Name of the camera, for diagnostics.")
    color: str = Field("", description="Topic of color images; compressed ones are taken, too.")
    depth: str = Field("", description="Topic of depth images, for a class of yours; empty: none.")
    info: str = Field("", description="Topic of the camera info of the depth images; empty: none.")
    topic: str = Field("detections", description="Topic that detections are published on.")
    type: Literal["coterie_msgs/ImageDetections", "vision_msgs/Detection2DArray"] = Field(
        "coterie_msgs/ImageDetections",
        description="Type of the messages; only the first has masks.",
    )
    detector: Annotated[str, AfterValidator(detector_name)] = Field(
        "box", description="Detector that comes with Coterie, or my_package.module:Class."
    )
    options: DetectorOptions = Field(DetectorOptions(), description="What the detector is told.")

    @property
    def own(self) -> bool:
        """Whether a class of the user's looks, which sees depth, too."""
        return ":" in self.detector


def read_cameras(given: object) -> Sequence[WatchedCamera]:
    """Return cameras from plain data.

    Raises:
        ValueError: Not a list of cameras; names the field.
    """
    try:
        return TypeAdapter(list[WatchedCamera]).validate_python(given)
    except ValidationError as error:
        raise ValueError(f"parameter 'cameras': {schema_problems(error)}") from None
