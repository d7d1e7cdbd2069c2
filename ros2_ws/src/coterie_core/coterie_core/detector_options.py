"""Names and options of the detectors that come with Coterie, as a team file has them."""

from __future__ import annotations

from pydantic import Field

from coterie_core.own_classes import own_name
from coterie_core.settings import Settings

DETECTORS = {
    "box": "coterie_perception.box:BoxDetector",
    "onnx": "coterie_perception.onnx_export:OnnxDetector",
    "open_vocabulary": "coterie_perception.open_vocabulary:OpenVocabularyDetector",
    "vlm": "coterie_perception.vlm:VlmDetector",
    "tags": "coterie_perception.tags:TagsDetector",
}
"""Detectors that come with Coterie: name in a team file -> class; all take `DetectorOptions`."""


class DetectorOptions(Settings):
    """What a detector that comes with Coterie is told beside its name."""

    file: str = Field(
        "",
        description="Network: for onnx the path of an .onnx file, for open_vocabulary the folder "
        "or the name of a model that transformers loads, for tags their YAML file; empty: none.",
    )
    labels: str = Field(
        "",
        description="Path of a text file with the network's labels, one a line; empty: the names "
        "in the .onnx file. For onnx.",
    )
    words: tuple[str, ...] = Field(
        (),
        description="Words that open_vocabulary and vlm look for; none: things that homes have, "
        "and what the team is asked for.",
    )
    profile: str = Field(
        "",
        description="Model profile of the team file whose endpoint sees images, for vlm; empty: "
        "none.",
    )
    min_score: float = Field(
        0.3, gt=0.0, lt=1.0, description="Least score of a detection that is reported."
    )
    max_rate: float = Field(
        5.0, gt=0.0, le=100.0, description="Most images a second that are looked at [Hz]."
    )
    threads: int = Field(1, ge=1, le=64, description="Threads that compute a network.")


def detector_name(name: str) -> str:
    """Return the name of a detector: one of `DETECTORS`, or `my_package.module:Class`.

    Raises:
        ValueError: It is neither.
    """
    if name in DETECTORS:
        return name
    if ":" not in name:
        known = ", ".join(DETECTORS)
        raise ValueError(f"{name[:100]!r}: expected {known}, or a class my_package.module:Class")
    return own_name(name)
