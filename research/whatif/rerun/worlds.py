"""The world of a run once more: the same house, robots and starts, without ROS."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from coterie_core.yaml_checks import suggestion
from coterie_llm import Decider, ModelProfile, UsageMeter, build_decider
from coterie_world.scene import SceneGraph
from habitat_bridge.factory import world_of
from habitat_bridge.prior import prior_map
from habitat_bridge.roster import RobotSpec, read_roster
from habitat_bridge.simulator import Simulator, Start
from research.whatif.rerun.kept import CannotReplay, KeptNodes, from_json


class WorldAgain:
    """Makes the world of a run again.

    Args:
        nodes: Parameters of the run's nodes.

    Raises:
        CannotReplay: It was no simulated world.
    """

    def __init__(self, nodes: KeptNodes) -> None:
        self._bridge = nodes.of("bridge")
        if not self._bridge:
            raise CannotReplay("real robots cannot be set back to where they were")
        self.specs = read_roster(from_json(self._bridge, "robots"), RobotSpec)
        self.seed = int(self._bridge.get("seed", 0))

    @property
    def lockstep(self) -> bool:
        """Whether time stood still while robots thought."""
        return self._bridge.get("mode") == "lockstep"

    @property
    def dt(self) -> float:
        """The step of its time [s]."""
        return 1.0 / float(self._bridge.get("rate", 10.0))

    def known(self, world: Simulator) -> SceneGraph:
        """Return what the team knew of the house beforehand."""
        return prior_map(world.truth(), self._bridge.get("prior_map", "rooms"))

    def make(self, without: Collection[str] = ()) -> Simulator:
        """Return the world with the robots that are there, each where it started.

        Raises:
            WorldError: It cannot be made.
        """
        description = from_json(self._bridge, "world")
        starts: dict[str, Start] = {}
        if without:  # places are drawn by lot, one robot after the other
            whole = world_of(description, self.seed)
            try:
                for spec in self.specs:
                    pose = whole.add_robot(spec.name, spec.body, spec.start.start()).pose
                    starts[spec.name] = Start(None, None, pose)
            finally:
                whole.close()
        world = world_of(description, self.seed)
        for spec in self.specs:
            if spec.name not in without:
                world.add_robot(spec.name, spec.body, starts.get(spec.name, spec.start.start()))
        return world


def check_there(without: Collection[str], robots: Collection[str], do: str) -> None:
    """Refuse robots that are not among those that did something.

    Raises:
        CannotReplay: One is not, or none would be left.
    """
    for robot in without:
        if robot not in robots:
            raise CannotReplay(
                f"--without {robot}: no robot that {do}{suggestion(robot, list(robots))}; "
                f"these are {', '.join(robots)}"
            )


def check_repeatable(profiles: Collection[Any]) -> None:
    """Refuse runs in which a model took part.

    Args:
        profiles: Of those that decided, as plain data; None: the rules.

    Raises:
        CannotReplay: One did.
    """
    if any(ModelProfile.model_validate(p or {"kind": "rules"}).kind not in ("rules", "replay")
           for p in profiles):  # fmt: skip
        raise CannotReplay(
            "a model took part, and models do not reply the same twice: record it "
            "(record_to in its profile), and run the team with the cassette (kind: replay)"
        )


def decider_of(
    who: str, kept: Any, profile: ModelProfile | None, meter: UsageMeter | None = None
) -> Decider:
    """Return who decides for a robot or the leader in a replay.

    Args:
        who: The name.
        kept: The profile that the run had, as plain data; None: the rules.
        profile: Takes its place; None: it stays.
        meter: Counts calls and decisions.
    """
    chosen = profile or ModelProfile.model_validate(kept or {"kind": "rules"})
    return build_decider(chosen, who=who, timeout_s=chosen.decision_s, meter=meter)


def profile_of(parameters: Mapping[str, Any]) -> Any:
    """Return the profile of a node's model as plain data."""
    return from_json(parameters, "model_profile")
