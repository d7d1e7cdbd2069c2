"""Observation of a robot at one moment, made by a world or by the robot's own perception."""

from __future__ import annotations

from dataclasses import dataclass, field

from coterie_core.embedding import Embedding
from coterie_core.geometry import Box, Pose, Vec3


@dataclass(frozen=True, slots=True)
class RoomView:
    """The room something lies in, as far as the robot can tell: id, unique name, type."""

    id: str
    name: str
    type: str


@dataclass(slots=True)
class Receptacle:
    """A surface for things: `surface.center` lies on it, `surface.size` is its extent [m].

    `inside` is true for shelves behind a door or in a drawer: hidden while the owner is closed.
    `variance` of its height [m^2] where it was estimated from depth images; 0: told by a map.
    """

    id: str
    surface: Box
    inside: bool = False
    variance: float = 0.0

    def __deepcopy__(self, memo: dict[int, object]) -> Receptacle:
        """Copy it; a Box does not change."""
        return Receptacle(self.id, self.surface, self.inside, self.variance)


@dataclass(frozen=True, slots=True)
class Detection:
    """A thing the detector reports, true or not.

    `box` is its estimated box in the map frame [m] (None where the detector gives no geometry, as
    in topological worlds), `scores` label -> score (0..1, the best is `label`), `instance` the
    detector's own track id ("" where it keeps none), `room` where the thing lies, `distance` [m]
    from the camera, `embeddings` how it looks. `fused` tells that the box is what the team's map
    made of all looks: it replaces what a robot made of its own ones; `surfaces` are those that it
    has of the thing.
    """

    label: str
    score: float
    box: Box | None = None
    room: RoomView | None = None
    distance: float = 0.0
    instance: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    embeddings: tuple[Embedding, ...] = ()
    fused: bool = False
    surfaces: tuple[Receptacle, ...] = ()


@dataclass(frozen=True, slots=True)
class PlaceView:
    """A place the robot can go to next: id, position [m], way length [m], room if it can tell.

    `labels` are the detected things that lie nearest to that place: what one sees that way.
    """

    id: str
    position: Vec3
    distance: float
    room: RoomView | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """All a robot perceives at one moment.

    `seen` tells how well each place was seen from here: place id -> 0..1 (1 where it stands).
    `neighbours` are the places it can reach in one hop with its own body.
    """

    robot: str
    step: int
    time: float
    pose: Pose
    place: str
    room: RoomView | None
    detections: tuple[Detection, ...] = ()
    neighbours: tuple[PlaceView, ...] = ()
    seen: dict[str, float] = field(default_factory=dict)
