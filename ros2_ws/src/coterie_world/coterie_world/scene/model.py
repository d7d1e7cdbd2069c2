"""Parts of a scene graph: floors, rooms, connections, places, objects, agents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from coterie_core.embedding import Embedding
from coterie_core.geometry import Box, Pose, Vec2, Vec3
from coterie_core.household import ObjectKind
from coterie_core.observation import Receptacle as Receptacle

ConnectionKind = Literal["door", "opening", "stairs"]


@dataclass(slots=True)
class LabelBelief:
    """What a thing may be: evidence weight per label (>= 0, not normalised)."""

    weights: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def of(label: str, weight: float = 1.0) -> LabelBelief:
        """Return the belief that holds one label only."""
        return LabelBelief({label: weight})

    @property
    def total(self) -> float:
        """Sum of the evidence."""
        return sum(self.weights.values())

    @property
    def top(self) -> str:
        """The label with most evidence ("" if none; ties go to the first in alphabet)."""
        if len(self.weights) == 1:  # as in every truth
            return next(iter(self.weights))
        return min(self.weights, key=lambda k: (-self.weights[k], k)) if self.weights else ""

    def probability(self, label: str) -> float:
        """Share of the evidence that speaks for `label` (0..1)."""
        total = self.total
        return self.weights.get(label, 0.0) / total if total > 0.0 else 0.0

    def distribution(self) -> dict[str, float]:
        """Return label -> probability, most likely first; sums to 1 (empty if no evidence)."""
        total = self.total
        if total <= 0.0:
            return {}
        ranked = sorted(self.weights.items(), key=lambda kv: (-kv[1], kv[0]))
        return {label: weight / total for label, weight in ranked}

    def add(self, other: LabelBelief) -> None:
        """Add the evidence of `other` to this belief."""
        for label, weight in other.weights.items():
            self.weights[label] = self.weights.get(label, 0.0) + weight

    def __deepcopy__(self, memo: dict[int, object]) -> LabelBelief:
        """Copy it; copies are made so often that copy.deepcopy's own way shows in every run."""
        return LabelBelief(dict(self.weights))


@dataclass(slots=True)
class Floor:
    """A storey: index 0 is the lowest, elevation [m] of its walking surface."""

    id: str
    index: int
    elevation: float
    ceiling_height: float = 2.6


@dataclass(slots=True)
class Room:
    """A room: `name` is unique in the house ("bedroom 2"), `type` is its kind ("bedroom").

    `polygon` is its floor outline (x, y) [m], counter-clockwise; empty where unknown.
    """

    id: str
    name: str
    type: str
    floor: str = ""
    polygon: list[Vec2] = field(default_factory=list)


@dataclass(slots=True)
class Connection:
    """A way between two rooms: clear width [m], riser height [m] (0 for level ways)."""

    id: str
    room_a: str
    room_b: str
    kind: ConnectionKind
    position: Vec3
    width: float
    riser: float = 0.0


@dataclass(slots=True)
class Place:
    """A spot a robot can stand on (a navigation node): position [m] on the walking surface."""

    id: str
    position: Vec3
    room: str = ""
    floor: str = ""

    def __deepcopy__(self, memo: dict[int, object]) -> Place:
        """Copy it."""
        return Place(self.id, self.position, self.room, self.floor)


@dataclass(slots=True)
class PlaceLink:
    """A straight way between two places: length [m], narrowest clear width [m], riser [m]."""

    a: str
    b: str
    length: float
    width: float = 10.0
    riser: float = 0.0

    def __deepcopy__(self, memo: dict[int, object]) -> PlaceLink:
        """Copy it; the one link that both its places know stays one."""
        known = memo.get(id(self))
        if isinstance(known, PlaceLink):
            return known
        made = PlaceLink(self.a, self.b, self.length, self.width, self.riser)
        memo[id(self)] = made
        return made


@dataclass(slots=True)
class Sighting:
    """When [s, the world's clock] and by which robot a thing was last seen."""

    time: float
    robot: str

    def __deepcopy__(self, memo: dict[int, object]) -> Sighting:
        """Copy it."""
        return Sighting(self.time, self.robot)


@dataclass(slots=True)
class SceneObject:
    """A thing: belief over labels, box, where it is, what it stands on or in.

    `room`, `support` and `container` are ids ("" where unknown). `is_open` is None for things
    that cannot be opened. `confidence` (0..1) that it is there now, 0: not estimated.
    `embeddings` tell how it looks, by the detector's network, and what its labels mean, by an
    embedder of words; at most one of a model and source, none where nobody said.
    """

    id: str
    label: LabelBelief
    box: Box
    room: str = ""
    kind: ObjectKind = "item"
    support: str = ""
    container: str = ""
    is_open: bool | None = None
    receptacles: list[Receptacle] = field(default_factory=list)
    observations: int = 0
    last_seen: Sighting | None = None
    properties: dict[str, str] = field(default_factory=dict)
    confidence: float = 0.0
    embeddings: tuple[Embedding, ...] = ()

    @property
    def told_surfaces(self) -> list[Receptacle]:
        """Surfaces that a map told which was given: all that it has, unlike what cameras saw."""
        return [one for one in self.receptacles if one.variance == 0.0]

    def __deepcopy__(self, memo: dict[int, object]) -> SceneObject:
        """Copy it with all that can change in it."""
        seen = self.last_seen
        return SceneObject(
            self.id,
            LabelBelief(dict(self.label.weights)),
            self.box,
            self.room,
            self.kind,
            self.support,
            self.container,
            self.is_open,
            [Receptacle(r.id, r.surface, r.inside, r.variance) for r in self.receptacles],
            self.observations,
            None if seen is None else Sighting(seen.time, seen.robot),
            dict(self.properties),
            self.confidence,
            self.embeddings,
        )


@dataclass(slots=True)
class AgentState:
    """A robot as far as it is known: pose, room id, id of what it holds."""

    name: str
    pose: Pose
    room: str = ""
    holding: str = ""
    last_seen: Sighting | None = None
