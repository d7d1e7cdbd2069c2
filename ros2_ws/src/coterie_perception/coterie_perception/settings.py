"""Settings of the cameras that a perception node watches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, TypeAdapter, ValidationError

from coterie_core.detector_options import DetectorOptions, detector_name
from coterie_core.plain_data import schema_problems
from coterie_core.settings import Settings


class WatchedCamera(Settings):
    """A camera's topics, who looks at its images, and where what is found goes out.

    `depth` and `info` are for a class of the user's; only ImageDetections has masks.
    """

    name: str = "camera"
    color: str = ""
    depth: str = ""
    info: str = ""
    topic: str = "detections"
    type: Literal["coterie_msgs/ImageDetections", "vision_msgs/Detection2DArray"] = (
        "coterie_msgs/ImageDetections"
    )
    detector: Annotated[str, AfterValidator(detector_name)] = "box"
    options: DetectorOptions = DetectorOptions()

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
