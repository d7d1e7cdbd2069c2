"""Options of the semantic mapper."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import AliasChoices, Field, model_validator

from coterie_core.settings import Settings
from coterie_world.perception.lift_options import LiftOptions


class MapperSettings(Settings):
    """What a team file may set of the mapper."""

    color: bool = Field(
        True,
        description="Color images are used, for pictures and colors of objects.",
    )
    near: float = Field(0.1, ge=0.0, le=10.0, description="Smallest depth that is mapped [m].")
    far: float = Field(4.0, ge=0.1, le=100.0, description="Largest depth that is mapped [m].")
    min_observations: int = Field(
        2,
        validation_alias=AliasChoices("min_observations", "looks"),
        ge=1,
        le=100,
        description="Number of observations before an object is published.",
    )
    max_objects: int = Field(
        3000,
        validation_alias=AliasChoices("max_objects", "most_things"),
        ge=1,
        le=100_000,
        description="Largest number of objects remembered.",
    )

    @model_validator(mode="after")
    def _range(self) -> MapperSettings:
        if self.near >= self.far:
            raise ValueError(f"near ({self.near:g} m) must be below far ({self.far:g} m)")
        return self


@dataclass(frozen=True, slots=True)
class MapperOptions:
    """How the map is built.

    Attributes:
        lift: How detections become points.
        match: Least sum of the two similarities (0..1 each) for one thing.
        least_overlap: Least overlap of places; without it two things are never one.
        same_place: Overlap from which two detections are one thing whatever their labels.
        touch: Points within this of one another overlap [m].
        evidence: Label evidence of one look at one metre; it falls with distance.
        publish: Looks before a thing counts as real.
        least_share: Least share of the viewpoints on its place from which it was reported, for a
            thing to count as real: detectors see one thing for another at times, and not always.
        least_share_large: The same for furniture and fixtures, which are missed less often.
        gone_after: Times in a row a place is seen through before its thing is gone.
        most_points: Most points kept per thing.
        most_instances: Most things kept; those seen once and longest ago go first.
        crop: Longest side of the best picture kept of a thing [px]; 0: none.
        crop_bytes: Most bytes of all pictures kept, as JPEG.
    """

    lift: LiftOptions = field(default_factory=LiftOptions)
    match: float = 0.8
    least_overlap: float = 0.15
    same_place: float = 0.75
    touch: float = 0.05
    evidence: float = 1.0
    publish: int = 2
    least_share: float = 0.15
    least_share_large: float = 0.3
    gone_after: int = 3
    most_points: int = 2000
    most_instances: int = 3000
    crop: int = 640
    crop_bytes: int = 32_000_000
