"""Lets a running team explore, asks it the examination's questions, and scores all methods."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from coterie_bringup.errors import CommandError
from coterie_bringup.running_team import TeamRun
from coterie_bringup.spinning import in_loop
from coterie_bringup.team import Team
from coterie_bringup.team_client import Operator, exploration_goal, operating
from coterie_cli.demo.evaluation import METHODS, Evaluation, evaluate
from coterie_cli.demo.progress import DemoProgress, Timings
from coterie_cli.demo.referee import Examination
from coterie_cli.demo.results import AskedQuestion, DemoRecord, GivenAnswer, Track, TrackPoint
from coterie_core.answers import AnswerTable
from coterie_core.observation import Observation
from coterie_core.questions import Answer, LabelledQuestion
from mele_explorer.memory import WELL_SEEN

BRINGUP_PATIENCE = 180.0
"""Longest time for all nodes to come up [s]."""

ANSWER_PATIENCE = 30.0
"""Longest time without a single new answer [s]."""


class Examiner:
    """One examination of one team; fills the record as it goes."""

    def __init__(
        self,
        team: Team,
        run: TeamRun,
        record: DemoRecord,
        exam: Examination,
        places: Collection[str],
        timings: Timings,
        progress: DemoProgress,
    ) -> None:
        self.evaluation: Evaluation | None = None
        self._team = team
        self._run = run
        self._record = record
        self._exam = exam
        self._timings = timings
        self._progress = progress
        self._tracks = {
            r.name: Track(r.name, r.embodiment, malicious=r.malicious) for r in team.robots
        }
        record.tracks = list(self._tracks.values())
        self._places = frozenset(places)
        self._seen: dict[str, set[str]] = {name: set() for name in self._tracks}
        self._seen_by_hop: dict[int, set[str]] = {}

    async def run(self) -> None:
        """Do it all.

        Raises:
            CommandError: The team does not come up.
        """
        names = [r.name for r in self._team.robots]
        with operating(
            names,
            domain=self._run.domain,
            namespace=self._team.namespace,
            environment=self._run.environment,
        ) as operator:
            operator.on_observation = self._on_observation
            with self._timings.part("nodes up"):
                self._progress.begin("starting", 1)
                missing = await in_loop(operator, operator.wait_for_team(BRINGUP_PATIENCE))
                if not missing:
                    seen = operator.wait_for_observations(BRINGUP_PATIENCE)
                    missing = await in_loop(operator, seen)
                if missing:
                    raise CommandError(self._not_up(missing), exit_code=1)
                self._progress.finish("starting", "all nodes are up")
            with self._timings.part("exploration"):
                await asyncio.gather(*(self._explore(operator, name) for name in names))
            self._record.team_coverage = self._team_coverage()
            with self._timings.part("questions to learn from"):
                await self._learn(operator)
            with self._timings.part("questions that count"):
                await self._ask(operator, "questions", self._exam.test)
            with self._timings.part("evaluation"):
                await self._evaluate(operator)
            self._read_usage(operator)

    # -- exploring --------------------------------------------------------------------------------

    async def _explore(self, operator: Operator, name: str) -> None:
        limits = self._team.exploration
        goal = exploration_goal(limits)
        track = self._tracks[name]
        total = limits.steps or 100
        self._progress.begin(name, total)

        def on_feedback(feedback: Any) -> None:
            track.known_coverage = float(feedback.coverage)
            done = feedback.steps if limits.steps else round(100 * track.coverage)
            note = f"{track.coverage:.0%} seen, {feedback.objects} things, {feedback.rooms} rooms"
            self._progress.show(name, done, note)

        try:
            result = await in_loop(operator, operator.explore(name, goal, on_feedback))
        except (RuntimeError, TimeoutError) as error:
            track.outcome = str(error)
            self._record.notes.append(f"{name}: exploration failed: {error}")
            self._progress.finish(name, f"failed: {error}")
            return
        track.steps, track.known_coverage = int(result.steps), float(result.coverage)
        track.objects, track.rooms = int(result.objects), int(result.rooms)
        track.distance, track.outcome = float(result.distance), str(result.reason)
        if not result.success:
            self._record.notes.append(f"{name}: {result.reason}")
        self._progress.finish(
            name, f"{track.coverage:.0%} seen, {track.objects} things, {track.rooms} rooms"
        )

    def _on_observation(self, observation: Observation) -> None:
        track = self._tracks.get(observation.robot)
        if track is None:
            return
        if track.points and track.points[-1].step == observation.step:
            return  # a repeat for nodes that came late
        seen = self._seen[observation.robot]
        seen |= {p for p, well in observation.seen.items() if well >= WELL_SEEN} & self._places
        track.coverage = len(seen) / len(self._places) if self._places else 0.0
        self._seen_by_hop.setdefault(observation.step, set()).update(seen)
        x, y, z = observation.pose.position
        track.points.append(TrackPoint(observation.step, observation.time, x, y, z, track.coverage))

    def _team_coverage(self) -> list[float]:
        """Share of the house's places that the robots together had seen well, after each hop."""
        together: set[str] = set()
        shares = []
        for hop in range(max(self._seen_by_hop, default=-1) + 1):
            together |= self._seen_by_hop.get(hop, set())
            shares.append(len(together) / len(self._places) if self._places else 0.0)
        return shares

    # -- asking -----------------------------------------------------------------------------------

    async def _learn(self, operator: Operator) -> None:
        exam = self._exam.train
        if not exam:
            return
        await self._ask(operator, "learning", exam)
        for item in exam:
            operator.label(item.question.id, item.truth, "referee")
        # Labels may arrive after the request to learn from them: ask again until all are known.
        text = ""
        for _ in range(20):
            good, text = await in_loop(operator, operator.train())
            if good and f" {len(exam)} " in text:
                break
            await asyncio.sleep(0.1)
        self._record.trained_on = len(exam)
        self._record.notes.append(text.replace(f"{self._run.directory}/", ""))

    async def _ask(self, operator: Operator, title: str, items: Sequence[LabelledQuestion]) -> None:
        self._progress.begin(title, len(items))
        operator.ask_all([item.question for item in items], deadline=self._team.aggregator.deadline)
        count = await in_loop(
            operator,
            operator.answered(
                [item.question.id for item in items],
                ANSWER_PATIENCE,
                on_news=partial(self._progress.show, title),
            ),
        )
        self._progress.finish(title, f"{count} answered")
        if count < len(items):
            self._record.notes.append(f"{title}: only {count} of {len(items)} were answered")

    # -- scoring ----------------------------------------------------------------------------------

    async def _evaluate(self, operator: Operator) -> None:
        names = [r.name for r in self._team.robots]
        given = [a for robot in names for a in operator.answers[robot].values()]
        house = self._team.house_name()
        exam = self._exam
        train = AnswerTable.of(house, names, exam.train, given)
        test = AnswerTable.of(house, names, exam.test, given)
        everything = AnswerTable.of(house, names, [*exam.train, *exam.test], given)
        self._progress.begin("scoring", len(METHODS))
        done = itertools.count()
        self.evaluation = await asyncio.to_thread(
            evaluate,
            train,
            test,
            everything,
            seed=self._team.seed,
            on_method=lambda method: self._progress.show("scoring", next(done), method),
        )
        self._progress.finish("scoring", f"{len(self.evaluation.scores)} ways of deciding")
        self._record.scores = self.evaluation.scores
        self._record.importances = self.evaluation.importances
        self._record.questions = [self._asked(item, operator) for item in exam.test]
        right = [q.final is q.truth for q in self._record.questions if q.final_given]
        self._record.live_accuracy = sum(right) / len(right) if right else None

    def _asked(self, item: LabelledQuestion, operator: Operator) -> AskedQuestion:
        key = item.question.id
        asked = AskedQuestion(key, item.question.object, item.question.room, item.truth)
        for robot, answers in operator.answers.items():
            if key in answers:
                asked.answers[robot] = _given(answers[key])
        final = operator.finals.get(key)
        if final is not None:
            asked.final, asked.final_given = final.yes, True
            asked.final_confidence = final.confidence
        assert self.evaluation is not None
        asked.by_method = {m: a.get(key) for m, a in self.evaluation.answers.items()}
        return asked

    def _read_usage(self, operator: Operator) -> None:
        for robot in self._team.robots:
            figures = _figures(operator, f"{robot.name}/explorer")
            tokens = sum(
                int(figures.get(f"model.{kind}_tokens", "0")) for kind in ("prompt", "completion")
            )
            self._record.usage.append(
                {
                    "who": robot.name,
                    "by": robot.model,
                    "by_model": _sum(figures, ".by_model"),
                    "by_rule": _sum(figures, ".by_rule"),
                    "tokens": tokens,
                    "cost": float(figures.get("model.cost", "0")),
                }
            )

    def _not_up(self, missing: Sequence[str]) -> str:
        words = [f"not up after {BRINGUP_PATIENCE:.0f} s: {', '.join(missing)}"]
        for program in self._run.supervisor.programs:
            lines = self._run.supervisor.last_lines(program.name)[-3:]
            words += [f"  {program.name}: {line}" for line in lines]
        return "\n".join([*words, f"  logs: {self._run.directory / 'logs'}"])


def _given(answer: Answer) -> GivenAnswer:
    return GivenAnswer(
        answer.yes,
        answer.confidence,
        answer.evidence.kind,
        answer.explanation,
        answer.decided_by,
    )


def _sum(figures: dict[str, str], ending: str) -> int:
    return sum(int(value) for key, value in figures.items() if key.endswith(ending))


def _figures(operator: Operator, node: str) -> dict[str, str]:
    for name, figures in operator.diagnostics_of.items():
        if name.endswith(node):
            return figures
    return {}
