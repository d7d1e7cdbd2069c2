"""Sub-goals of Habitat-MAS episodes in PDDL (unified-planning), told from the true state."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from unified_planning.engines import UPSequentialSimulator
from unified_planning.io import PDDLWriter
from unified_planning.model import Fluent, Object, Problem
from unified_planning.shortcuts import And, BoolType, Or, UserType, get_environment

from coterie_core.resume import Resume
from coterie_core.tasks import Predicate
from coterie_execution.geometry.things import Catalog
from coterie_world.scene import SceneGraph
from research.bench.emos.episodes import Episode
from research.bench.emos.predicates import holds

get_environment().credits_stream = None
DOMAIN = "habitat-mas"
"""Name of the PDDL domain."""
_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "robot_at_object": ("robot", "thing"),
    "robot_at_receptacle": ("robot", "receptacle"),
    "object_at_receptacle": ("thing", "receptacle"),
    "robot_detect_object": ("robot", "thing"),
}


class GoalProblem:
    """An episode's goal as a PDDL problem over its robots and things.

    Args:
        episode: The episode.
    """

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self.problem = Problem(_name(episode.id))
        kinds = {name: UserType(name) for name in ("robot", "thing", "receptacle")}
        self.fluents: dict[str, Any] = {}
        for name, arguments in _ARGUMENTS.items():
            self.fluents[name] = Fluent(name, BoolType(), **{a: kinds[a] for a in arguments})
            self.problem.add_fluent(self.fluents[name], default_initial_value=False)
        self.robots = {
            robot.name: Object(_name(robot.name), kinds["robot"]) for robot in episode.robots
        }
        self.things: dict[tuple[str, str], Any] = {}
        for predicate in episode.checked:
            for kind, thing in (("thing", predicate.object), ("receptacle", predicate.receptacle)):
                if thing is not None and (kind, thing.id) not in self.things:
                    name = f"{kind}_{_name(thing.id)}"
                    self.things[kind, thing.id] = Object(name, kinds[kind])
        self.problem.add_objects([*self.robots.values(), *self.things.values()])
        self.problem.add_goal(And(*[self._any(p) for p in episode.checked]))

    def told(
        self,
        scene: SceneGraph,
        detections: Mapping[str, Collection[str]],
        resumes: Mapping[str, Resume],
        latched: Collection[int] = (),
    ) -> tuple[bool, list[bool]]:
        """Return whether the goal holds in a state, and which of its sub-goals do.

        Args:
            scene: The true state.
            detections: Robot -> ids of the things it has detected.
            resumes: Of the robots.
            latched: Indices of sub-goals that were reached before and count as such.
        """
        reached = self.reached(scene, detections, resumes, latched)
        problem = self.problem.clone()
        for k, predicate in enumerate(self.episode.checked):
            if reached[k]:
                for expression in self._ground(predicate)[:1]:
                    problem.set_initial_value(expression, True)
        simulator = UPSequentialSimulator(problem, error_on_failed_checks=False)
        return bool(simulator.is_goal(simulator.get_initial_state())), reached

    def reached(
        self,
        scene: SceneGraph,
        detections: Mapping[str, Collection[str]],
        resumes: Mapping[str, Resume],
        latched: Collection[int] = (),
    ) -> list[bool]:
        """Return which sub-goals hold; arguments as of `told`, which asks the planner too."""
        catalog = Catalog(scene)
        return [
            k in latched
            or holds(predicate, scene, detections=detections, resumes=resumes, catalog=catalog)
            for k, predicate in enumerate(self.episode.checked)
        ]

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write domain and problem as PDDL; return the two files."""
        folder.mkdir(parents=True, exist_ok=True)
        writer = PDDLWriter(self.problem)
        domain, problem = folder / "domain.pddl", folder / f"{_name(self.episode.id)}.pddl"
        # One domain for all episodes, whatever the writer names it after.
        own = f"{self.problem.name}-domain"
        domain.write_text(writer.get_domain().replace(own, DOMAIN), encoding="utf-8")
        problem.write_text(writer.get_problem().replace(own, DOMAIN), encoding="utf-8")
        return domain, problem

    def _ground(self, predicate: Predicate) -> list[Any]:
        fluent = self.fluents[predicate.name]
        first, second = _ARGUMENTS[predicate.name]
        thing = predicate.receptacle if second == "receptacle" else predicate.object
        assert thing is not None
        other = self.things[second, thing.id]
        if first == "robot":
            wanted = [predicate.robot] if predicate.robot else list(self.robots)
            return [fluent(self.robots[name], other) for name in wanted]
        assert predicate.object is not None
        return [fluent(self.things["thing", predicate.object.id], other)]

    def _any(self, predicate: Predicate) -> Any:
        grounded = self._ground(predicate)
        return grounded[0] if len(grounded) == 1 else Or(*grounded)


def _name(text: str) -> str:
    """Return a name as PDDL takes it."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return name if name[:1].isalpha() else f"x_{name}"
