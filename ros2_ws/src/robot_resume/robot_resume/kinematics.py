"""Whether a hand gets to one exact point: inverse kinematics with restarts, checked by pinocchio.

The workspace of a resume answers in cells of 2 cm; where a point lies in a cell at its border,
this settles it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from coterie_core.kinematics.chain import Chain
from coterie_core.kinematics.collision import arm_model
from coterie_core.kinematics.inverse import Target, solve
from coterie_core.kinematics.sampling import postures
from robot_resume.arms import ArmModel
from robot_resume.builder import Analysis, analyse

Array = npt.NDArray[np.float64]

_POOL = 4096
_ROUNDS = 4


class Kinematics:
    """The arms of a robot.

    Points are in the base frame of the resume: x ahead, y left, z up, origin on the floor.

    Args:
        analysis: The URDF understood.
        seed: Of the starting postures.
    """

    def __init__(self, analysis: Analysis, *, seed: int = 0) -> None:
        self._arms = {arm.name: arm for arm in analysis.arms}
        self._turns = analysis.stance.mobility.kind != "fixed"
        self._seed = seed
        self._pools: dict[str, tuple[Array, Array]] = {}

    @staticmethod
    def of(urdf: str | Path | bytes, *, packages: Sequence[Path] = (), seed: int = 0) -> Kinematics:
        """Read a URDF.

        Raises:
            UrdfError: The URDF cannot be used.
        """
        return Kinematics(analyse(urdf, packages=packages), seed=seed)

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms."""
        return tuple(self._arms)

    def chain(self, arm: str | None = None) -> Chain:
        """Return the joints of an arm; default: the first.

        Raises:
            KeyError: No such arm.
        """
        return self._arm(arm).chain

    def reaches(
        self,
        point: Sequence[float],
        arm: str | None = None,
        *,
        turning: bool | None = None,
        tolerance: float = 0.002,
    ) -> bool:
        """Whether a hand gets within `tolerance` [m] of a point without hitting the robot.

        Args:
            point: x, y, z in the base frame [m].
            arm: Name of the arm; default: any.
            turning: Whether the robot may turn on the spot for it; default: unless it is fixed.
            tolerance: How close the hand must get [m].

        Raises:
            KeyError: No such arm.
            ValueError: The point is not three finite numbers.
        """
        names = self.arms if arm is None else (arm,)
        return any(
            self.posture(point, name, turning=turning, tolerance=tolerance) is not None
            for name in names
        )

    def posture(
        self,
        point: Sequence[float],
        arm: str | None = None,
        *,
        turning: bool | None = None,
        tolerance: float = 0.002,
    ) -> dict[str, float] | None:
        """Return joint positions that bring the hand to a point; None where none was found.

        Damped least squares from the sampled postures whose hands are nearest, in rounds of more
        and more of them; the answer is checked with pinocchio's forward kinematics. If the robot
        may turn, it first turns so that the point has the bearing of the hand.
        """
        goal = np.asarray(point, dtype=np.float64)
        if goal.shape != (3,) or not np.isfinite(goal).all():
            raise ValueError(f"point: expected 3 finite numbers, not {point!r}")
        model = self._arm(arm)
        ring = self._turns if turning is None else turning
        target = (
            Target(np.array([[np.hypot(goal[0], goal[1]), goal[2]]]), ring=True)
            if ring
            else Target.point(goal)
        )
        positions, points = self._pool(model)
        distance = np.linalg.norm(target.errors(points), axis=1)
        order = np.argsort(distance, kind="stable")
        done = 0
        for k in range(_ROUNDS):
            count = min(8 * 4**k, len(order))
            found = solve(model.chain, target, positions[order[done:count]], steps=40)
            done = count
            good = np.flatnonzero(found.errors <= tolerance)
            good = good[np.argsort(found.errors[good], kind="stable")]
            free = good[model.prober.allowed(found.positions[good])]
            for index in free.tolist():
                posture = found.positions[index]
                if np.linalg.norm(target.errors(self._hand(model, posture)[None])) <= tolerance:
                    names = [joint.name for joint in model.chain.joints]
                    return dict(zip(names, posture.tolist(), strict=True))
            if done == len(order):
                break
        return None

    def _arm(self, name: str | None) -> ArmModel:
        if not self._arms:
            raise KeyError("the robot has no arm")
        if name is None:
            return next(iter(self._arms.values()))
        if name not in self._arms:
            raise KeyError(f"no arm {name!r}, only {', '.join(self._arms)}")
        return self._arms[name]

    def _pool(self, model: ArmModel) -> tuple[Array, Array]:
        if model.name not in self._pools:
            chain = model.chain
            positions = postures(chain.lower, chain.upper, _POOL, self._seed)
            self._pools[model.name] = positions, chain.points(positions)
        return self._pools[model.name]

    def _hand(self, model: ArmModel, posture: Array) -> Array:
        """Return the hand's point (3,) by pinocchio."""
        chain = model.chain
        kinematics = arm_model(chain)
        data = kinematics.createData()
        values = np.array([posture[s.column] * s.scale + s.shift for s in chain.steps])
        pin.forwardKinematics(kinematics, data, values)
        return np.asarray(data.oMi[len(chain.steps)].act(chain.end[:3, 3]))
