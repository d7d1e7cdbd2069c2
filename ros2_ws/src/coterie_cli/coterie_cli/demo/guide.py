"""Leads a running team through the demonstration: it explores, maps, is asked, is examined."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from typing import Any

from coterie_bringup.errors import CommandError
from coterie_bringup.running_team import TeamRun
from coterie_bringup.spinning import in_loop
from coterie_bringup.team_client import Operator, exploration_goal, operating
from coterie_cli.demo.map_watch import MapWatch, Shown
from coterie_cli.demo.progress import DemoProgress, Timings
from coterie_cli.demo.questions import Asked
from coterie_cli.demo.record import DemoRecord, Track
from coterie_cli.demo.referee import Examination
from coterie_core.observation import Observation
from coterie_core.questions import Question
from coterie_ros.clients import GoalRejected, NoAnswer

NODES_UP = 180.0
"""How long nodes may take until they can be spoken to [s]."""
MAP_PATIENCE = 90.0
"""How long the mapper may take for frames that wait when the robots are done [s]."""
ANSWER_PATIENCE = 300.0
"""How long one answer may take: a robot may go and look for it [s]."""
_LIMIT = 10
"""Most things that a request finds."""


class Guide:
    """One demonstration of one team; fills the record as it goes.

    Attributes:
        shown: What the team has mapped.
    """

    def __init__(
        self, run: TeamRun, record: DemoRecord, timings: Timings, progress: DemoProgress
    ) -> None:
        self.shown = Shown()
        self._run, self._record = run, record
        self._timings, self._progress = timings, progress
        self._tracks = {
            robot.name: Track(robot.name, robot.embodiment, malicious=robot.malicious)
            for robot in run.team.explorers
        }
        self._last_step: dict[str, int] = {}
        record.tracks = list(self._tracks.values())

    async def lead(self, exam: Examination | None) -> None:
        """Do it all; `exam`: the questions that compare the ways of voting.

        Raises:
            CommandError: The team does not come up.
        """
        run, progress = self._run, self._progress
        with operating(
            list(self._tracks),
            domain=run.domain,
            namespace=run.team.namespace,
            environment=run.environment,
        ) as operator:
            operator.on_observation = self._on_observation
            watch = MapWatch(operator) if run.team.mapper is not None else None
            with self._timings.part("nodes up"):
                progress.begin("starting", 1)
                missing = await in_loop(operator, operator.wait_for_team(NODES_UP))
                if not missing:
                    seen = operator.wait_for_observations(NODES_UP)
                    missing = await in_loop(operator, seen)
                if missing:
                    raise CommandError(self._not_up(missing), exit_code=1)
                if watch is not None:
                    await in_loop(operator, watch.start())
                progress.finish("starting", "all nodes are up")
            with self._timings.part("exploration"):
                await asyncio.gather(*(self._explore(operator, name) for name in self._tracks))
            if watch is not None:
                with self._timings.part("mapping what is left"):
                    await self._map(operator, watch)
            with self._timings.part("questions"):
                progress.begin("asking", len(self._record.asked))
                for number, asked in enumerate(self._record.asked):
                    progress.show("asking", number, asked.text)
                    await _ask(operator, asked)
                progress.finish("asking", f"{len(self._record.asked)} asked")
            if watch is not None:  # whoever went to look has added to the map
                await in_loop(operator, watch.settled(10.0))
            if exam is not None:
                from coterie_cli.demo.voting import compare

                with self._timings.part("voting"):
                    await compare(run, operator, exam, self._record, progress)

    async def _explore(self, operator: Operator, name: str) -> None:
        limits, track, progress = self._run.team.exploration, self._tracks[name], self._progress
        progress.begin(name, limits.steps or 100)

        def on_feedback(feedback: Any) -> None:
            done = feedback.steps if limits.steps else round(100 * feedback.coverage)
            progress.show(name, done, f"{feedback.rooms} rooms")

        try:
            goal, operator.on_behalf_of = exploration_goal(limits), "./coterie demo"
            result = await in_loop(operator, operator.explore(name, goal, on_feedback))
        except (GoalRejected, NoAnswer) as error:
            track.outcome = str(error)
            self._record.notes.append(f"{name}: exploration failed: {error}")
            progress.finish(name, f"failed: {error}")
            return
        track.steps, track.distance = int(result.steps), float(result.distance)
        track.outcome = str(result.reason)
        if not result.success:
            self._record.notes.append(f"{name}: {result.reason}")
        progress.finish(name, f"{result.rooms} rooms, {result.distance:.0f} m")

    def _on_observation(self, observation: Observation) -> None:
        track, step = self._tracks.get(observation.robot), observation.step
        if track is None or step == self._last_step.get(track.robot):
            return  # a repeat for nodes that came late
        self._last_step[track.robot] = step
        track.way.append(observation.pose.position)

    async def _map(self, operator: Operator, watch: MapWatch) -> None:
        self._progress.begin("mapping", 1)
        self._record.mapper = await in_loop(operator, watch.settled(MAP_PATIENCE))
        self.shown = watch.shown
        if self.shown.scene is None:
            raise CommandError(self._not_up(["the map"]), exit_code=1)
        self._record.things = len(self.shown.scene.objects)
        frames = self._record.mapper.get("frames", 0)
        self._progress.finish("mapping", f"{frames} images")

    def _not_up(self, missing: Sequence[str]) -> str:
        words = [f"not there after {NODES_UP:.0f} s: {', '.join(missing)}"]
        for program in self._run.supervisor.programs:
            lines = self._run.supervisor.last_lines(program.name)[-3:]
            words += [f"  {program.name}: {line}" for line in lines]
        return "\n".join([*words, f"  logs: {self._run.directory / 'logs'}"])


async def _ask(operator: Operator, asked: Asked) -> None:
    begin = time.monotonic()
    try:
        if asked.find:
            asked.take(await in_loop(operator, operator.find(asked.text, _LIMIT, 60.0)))
        else:
            question = Question(f"demo-{uuid.uuid4().hex[:12]}", "", "", asked.text)
            asked.take(await in_loop(operator, operator.ask(question, ANSWER_PATIENCE)))
    except (NoAnswer, GoalRejected) as error:
        asked.take(str(error))
    asked.seconds = time.monotonic() - begin
