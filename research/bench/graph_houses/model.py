"""What a topological house consists of, and the report of what was wrong with its files."""

from __future__ import annotations

from dataclasses import dataclass, field

import networkx as nx

from coterie_core.geometry import Vec3


@dataclass(frozen=True, slots=True)
class SeenObject:
    """An object seen from a viewpoint: id in the house, label, bearing [rad] if known."""

    id: str
    label: str
    bearing: float | None = None


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """A navigation node: position [m] on the walking surface, room name (None: unknown)."""

    id: str
    position: Vec3
    room: str | None
    objects: tuple[SeenObject, ...] = ()


@dataclass(slots=True)
class LoadReport:
    """What was read and what was wrong with it, in words a person can act on."""

    scan: str
    nodes: int = 0
    edges: int = 0
    objects: int = 0
    parts: tuple[int, ...] = ()
    problems: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Note a problem once."""
        if text not in self.problems:
            self.problems.append(text)

    def text(self) -> str:
        """Return the report as lines for a log."""
        head = (
            f"{self.scan}: {self.nodes} nodes, {self.edges} edges, {self.objects} objects, "
            f"{len(self.parts)} connected part(s)"
        )
        return "\n".join([head, *(f"  - {problem}" for problem in self.problems)])


@dataclass(frozen=True, slots=True)
class DetectorNoise:
    """A detector that errs: share of things missed per look, and false labels per look.

    Args:
        miss: Probability that a thing in view is not reported (0..1).
        wrong_label: Probability that a reported thing gets another label of the house (0..1).
        phantom: Mean number of things per look that are not there (Poisson).
    """

    miss: float = 0.0
    wrong_label: float = 0.0
    phantom: float = 0.0

    def __post_init__(self) -> None:
        """Refuse values that are no probabilities."""
        for name, value in (("miss", self.miss), ("wrong_label", self.wrong_label)):
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"DetectorNoise.{name} must be within 0..1, got {value!r}")
        if not 0.0 <= self.phantom <= 100.0:
            raise ValueError(f"DetectorNoise.phantom must be within 0..100, got {self.phantom!r}")


@dataclass(slots=True)
class GraphHouse:
    """A house as files give it: viewpoints, ways between them, who can be seen from where."""

    scan: str
    viewpoints: dict[str, Viewpoint]
    graph: nx.Graph
    visible: dict[str, frozenset[str]]
    report: LoadReport
