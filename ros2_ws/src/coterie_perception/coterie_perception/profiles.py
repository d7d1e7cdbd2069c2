"""What is known of detectors beforehand: labels that they can report, and how often they err."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from coterie_core.confidence import DetectorModel, load_confidence
from coterie_core.detector_options import DetectorOptions
from coterie_core.yaml_marks import OWN, read_yaml
from coterie_perception.coco import COCO


def labels_of(name: str, options: DetectorOptions) -> tuple[str, ...] | None:
    """Return what a detector can report; None: that is not known before it runs."""
    if name == "box":
        return COCO
    if name == "onnx" and options.labels:
        try:
            lines = Path(options.labels).read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return None  # the detector itself says what is wrong
        return tuple(line.strip() for line in lines if line.strip())
    return None


@cache
def profile_of(name: str) -> DetectorModel | None:
    """Return what a robot may believe of a detector; None: it was not measured.

    `miss` and `false` are of single images of real photographs
    (`./coterie bench map --room DIR --detector NAME`); the rest is as for all detectors.
    """
    text = resources.files("coterie_perception").joinpath("data/profiles.yaml").read_text("utf-8")
    given = read_yaml(text, OWN)["profiles"].get(name)
    return None if given is None else load_confidence().detector.model_copy(update=given)
