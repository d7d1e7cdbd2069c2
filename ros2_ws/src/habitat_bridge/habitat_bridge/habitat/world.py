"""HabitatWorld: robots in a house that habitat-sim renders and knows the ways of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose
from coterie_core.skills import Outcome, Skill, SkillResult
from coterie_world.scene import Connection
from habitat_bridge.embedded.body import Body
from habitat_bridge.embedded.navigation import BodySpace
from habitat_bridge.embedded.occupancy import BodyKey, Occupancy
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.habitat.backend import HabitatBackend, Timeouts
from habitat_bridge.habitat.houses import cache_folder, export_house, robot_template
from habitat_bridge.habitat.sensors import ANNOTATED, HabitatSensors, Hinges, Stagehand
from habitat_bridge.habitat.space import HabitatSpace, NavOccupancy
from habitat_bridge.house.house import House
from habitat_bridge.render.imaging import Imaging
from habitat_bridge.render.solids import robot_surface
from habitat_bridge.simulator import RobotState, Start, WorldError

_ANYWHERE = Start()


@dataclass(frozen=True, slots=True)
class Staging:
    """What stands for what in a scene that is open in habitat.

    Args:
        handles: Thing -> its object in habitat; things that are part of the stage are in `marks`.
        structure: Part of the structure ("wall", ...) -> its object in habitat.
        variants: Container -> template file of how it looks the other way, open or closed.
        marks: Thing -> its number in the semantic annotations of the stage.
        hinges: Articulated container -> its joints closed, and open.
        occupancy: What places are laid out by; None: the house itself.
        ways: Connections between rooms that the house has no doors for.
    """

    handles: Mapping[str, str]
    structure: Mapping[str, str] = field(default_factory=dict)
    variants: Mapping[str, Path] = field(default_factory=dict)
    marks: Mapping[str, int] = field(default_factory=dict)
    hinges: Mapping[str, Hinges] = field(default_factory=dict)
    occupancy: NavOccupancy | None = None
    ways: Sequence[Connection] = ()


class HabitatWorld(EmbeddedWorld):
    """Robots in a house of the embedded generator, with habitat-sim as its geometry.

    Images, what can be seen, where bodies fit and the ways between come from habitat-sim in its
    own process. Places, detector, skills and hands are the embedded world's code, so that both
    worlds mean the same by them. The worker is no authority: where robots are and what they have
    done is known here, and a new worker hears it. Goals that run when a worker is lost end as
    FAULT at the next tick.

    Args:
        house: The house.
        python: The command that runs Python with habitat-sim.
        cache: Where exported houses are kept (None: the user's cache folder).
        timeouts: How long the worker may take.
        gpu: Number of the GPU to render with; -1: the default device, or the CPU.
        opened: A habitat in which the house is open already, and what stands for what in it.
        **options: Those of EmbeddedWorld.

    Raises:
        WorldError: The worker cannot be started or the house not be exported.
    """

    def __init__(
        self,
        house: House,
        python: str | Path,
        *,
        cache: Path | None = None,
        timeouts: Timeouts | None = None,
        gpu: int = -1,
        opened: tuple[HabitatBackend, Staging] | None = None,
        **options: Any,
    ) -> None:
        self.notes: tuple[str, ...] = ()
        """What is missing, guessed or computed in this world."""
        self._cache = cache or cache_folder()
        self._bodies: dict[str, Body] = {}
        self._shapes: dict[str, str] = {}
        if opened is None:
            files = export_house(house, self._cache)
            self.backend = HabitatBackend(python, timeouts)
            self._staging = Staging(files.handles, files.structure, files.variants)
        else:
            self.backend, self._staging = opened
        try:
            if opened is None:
                seed = int(options.get("seed", 0))
                self.backend.open(files.scene, str(files.config), seed, gpu)
            self._nav = self._staging.occupancy or NavOccupancy(house, self.backend)
            super().__init__(house, **options)
            self.name = f"habitat-house-{house.seed}"
            for way in self._staging.ways:
                self._scene.add_connection(way)
            self._restarts = self.backend.restarts
        except BaseException:
            self.backend.close()
            raise

    def add_robot(self, name: str, embodiment: Embodiment, start: Start = _ANYWHERE) -> RobotState:
        """Put a robot into the house; without a start, at a free place chosen by seed.

        Raises:
            WorldError: The name is taken, or no free spot fits the embodiment at `start`.
        """
        if name and name not in self._bodies:
            self._spawn(name, embodiment)
        try:
            return super().add_robot(name, embodiment, start)
        except WorldError:
            if name not in self._bodies and name in self._shapes:
                self.backend.remove(self._shapes.pop(name))
            raise

    def remove_robot(self, name: str) -> None:
        """Take a robot out of the world; what it holds is put down where it stands."""
        super().remove_robot(name)
        self.backend.remove(self._shapes.pop(name))
        # Robots are numbered in their order.
        first = self.imaging.first_robot + (ANNOTATED if self._staging.marks else 0)
        self.backend.label({self._shapes[other]: first + k for k, other in enumerate(self._bodies)})

    def tick(self, dt: float) -> dict[str, SkillResult]:
        """Advance by `dt` [s]; return the results of skills that ended.

        Raises:
            WorldError: The worker is lost and cannot be replaced.
        """
        self._miss_worker()
        return super().tick(dt)

    def start_skill(self, robot: str, skill: Skill) -> None:
        """Begin a skill; a running one is cancelled first.

        Raises:
            SkillRefused: The guard refuses it, or the world knows at once that it cannot be done.
            WorldError: The worker is lost and cannot be replaced.
        """
        self._miss_worker()  # what was lost before is no reason for this skill to fail
        super().start_skill(robot, skill)

    def close(self) -> None:
        """End the worker."""
        self.backend.close()

    def _make_imaging(self, threads: int) -> Imaging:
        imaging = Imaging(self.house, threads)
        contents = imaging.contents
        staging, first = self._staging, contents.first_instance
        numbers = {handle: first + contents.rows[name] for name, handle in staging.handles.items()}
        names = {label: number for number, label in imaging.structure_labels.items()}
        numbers |= {handle: names[part] for part, handle in staging.structure.items()}
        # Numbers of the stage's own annotations must not be taken for those of objects.
        shift = ANNOTATED if staging.marks else 0
        self.backend.label({handle: number + shift for handle, number in numbers.items()})
        variants: dict[str, str] = {}
        for name, config in staging.variants.items():
            variants[name] = f"variant/{name}"
            self.backend.spawn(variants[name], config, first + contents.rows[name] + shift)
        marks = {mark: first + contents.rows[name] for name, mark in staging.marks.items()}
        stagehand = Stagehand(self.backend, contents, staging.handles, variants, staging.hinges)
        imaging.sensors = HabitatSensors(
            self.backend, contents, stagehand, self._poses, self._shapes, marks
        )
        return imaging

    def _make_occupancy(self) -> Occupancy:
        return self._staging.occupancy or super()._make_occupancy()

    def _make_space(self, key: BodyKey) -> BodySpace:
        return HabitatSpace(self._nav, key, self.backend)

    def _poses(self) -> Mapping[str, Pose]:
        return {name: body.pose for name, body in self._bodies.items()}

    def _spawn(self, name: str, embodiment: Embodiment) -> None:
        radius, height = embodiment.radius, embodiment.height
        shape = robot_surface(Pose((0.0, 0.0, 0.0)), radius, height)
        config = robot_template(self._cache / "robots", shape, f"robot-{radius:.3f}-{height:.3f}")
        self._shapes[name] = f"robot/{name}"
        number = self.imaging.first_robot + len(self._bodies)
        number += ANNOTATED if self._staging.marks else 0
        self.backend.spawn(self._shapes[name], config, number)

    def _miss_worker(self) -> None:
        """Replace a worker that has died, and end what robots did when one was lost."""
        self.backend.check()
        if self.backend.restarts != self._restarts:
            self._restarts = self.backend.restarts
            self._fail_all()

    def _fail_all(self) -> None:
        """End what robots are doing: the worker that they relied on is gone."""
        reason = (
            f"the habitat worker was lost ({self.backend.trouble}) and has been started anew; "
            "try again"
        )
        for body in self._bodies.values():
            job = body.job
            body.aside = None
            if job is not None and body.ended is None:
                walked = body.travelled - job.travelled
                self._stop(body)
                body.ended = SkillResult(Outcome.FAULT, reason, job.elapsed, walked)
