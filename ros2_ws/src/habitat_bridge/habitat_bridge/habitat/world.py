"""HabitatWorld: robots in a house that habitat-sim renders and knows the ways of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose
from coterie_core.skills import Outcome, SkillResult
from habitat_bridge.embedded.body import Body
from habitat_bridge.embedded.house import House
from habitat_bridge.embedded.imaging import Imaging, robot_surface
from habitat_bridge.embedded.navigation import BodySpace
from habitat_bridge.embedded.occupancy import BodyKey
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.habitat.backend import HabitatBackend, Timeouts
from habitat_bridge.habitat.houses import ExportedHouse, cache_folder, export_house, robot_template
from habitat_bridge.habitat.sensors import HabitatSensors, Stagehand
from habitat_bridge.habitat.space import HabitatSpace, NavOccupancy
from habitat_bridge.simulator import RobotState, Start, WorldError

_ANYWHERE = Start()


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
        **options: Any,
    ) -> None:
        self._cache = cache or cache_folder()
        self._files = export_house(house, self._cache)
        self._bodies: dict[str, Body] = {}
        self._shapes: dict[str, str] = {}
        self.backend = HabitatBackend(python, timeouts)
        try:
            self.backend.open(
                self._files.scene, str(self._files.config), int(options.get("seed", 0)), gpu
            )
            super().__init__(house, **options)
            self.name = f"habitat-house-{house.seed}"
            self._nav = NavOccupancy(house, self.backend)
            self._restarts = self.backend.restarts
        except BaseException:
            self.backend.close()
            raise

    @property
    def files(self) -> ExportedHouse:
        """The files that habitat-sim has of the house."""
        return self._files

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
        first = self.imaging.first_robot
        self.backend.label({self._shapes[other]: first + k for k, other in enumerate(self._bodies)})

    def tick(self, dt: float) -> dict[str, SkillResult]:
        """Advance by `dt` [s]; return the results of skills that ended.

        Raises:
            WorldError: The worker is lost and cannot be replaced.
        """
        self.backend.check()
        if self.backend.restarts != self._restarts:
            self._restarts = self.backend.restarts
            self._fail_all()
        return super().tick(dt)

    def close(self) -> None:
        """End the worker."""
        self.backend.close()

    def _make_imaging(self, threads: int) -> Imaging:
        imaging = Imaging(self.house, threads)
        contents = imaging.contents
        numbers = {
            self._files.handles[name]: contents.first_instance + row
            for row, name in enumerate(contents.ids)
        }
        names = {label: number for number, label in imaging.structure_labels.items()}
        numbers |= {handle: names[part] for part, handle in self._files.structure.items()}
        self.backend.label(numbers)
        variants: dict[str, str] = {}
        for name, config in self._files.variants.items():
            variants[name] = f"variant/{name}"
            self.backend.spawn(
                variants[name], config, contents.first_instance + contents.rows[name]
            )
        stagehand = Stagehand(self.backend, contents, self._files.handles, variants)
        imaging.sensors = HabitatSensors(
            self.backend, contents, stagehand, self._poses, self._shapes
        )
        return imaging

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
        self.backend.spawn(self._shapes[name], config, number)

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
