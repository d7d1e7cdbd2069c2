"""A task in work: who does what, who has done what, who is silent, what has to be given anew."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from coterie_core.tasks import (
    BY_HAND,
    Obstacle,
    RobotReport,
    SubTask,
    SubTaskState,
    Thing,
    Verdict,
)
from coterie_llm import inline_data
from coterie_requests.request import Request
from coterie_safety.permits import PermitGoal, RobotPermits, Surroundings
from coterie_safety.permits.gate import NO_PERMIT
from coterie_safety.permits.policy import STRICTNESS
from coterie_world.scene import SceneGraph
from coterie_world.sightings import kind_of
from emos_planner.leader.expand import expand, look_again, other_place, search_on, unused
from emos_planner.leader.heartbeats import Heartbeats
from emos_planner.leader.options import LeaderOptions
from emos_planner.leader.order import block, take_lost
from emos_planner.leader.outcome import Outcome, is_full, outcome_of, why_nobody
from emos_planner.leader.reported import SURE, ReportedThings
from emos_planner.leader.task_graph import TaskGraph
from emos_planner.leader.transcript import MOST_PROBLEMS, Transcript

ChangeKind = Literal["state", "failed", "found", "silent", "back", "help", "problem", "doubted"]
EMPTY_HANDS = 60.0
"""How long robots may take to put down what is left in their hands [s]."""
MOST_PLACES = 4
"""Places that are tried for one thing."""
MOST_FOUND = 2000
"""Things that robots may report in one task."""
_PENDING, _RUNNING = SubTaskState.PENDING, SubTaskState.RUNNING
_DONE, _FAILED = SubTaskState.DONE, SubTaskState.FAILED
_OPEN = (_PENDING, _RUNNING)


def no_better(
    permits: Mapping[str, RobotPermits],
    one: SubTask,
    scene: SceneGraph,
    now: datetime | None = None,
) -> set[str]:
    """Return the robots whose policy is no better, where one got no permit for a sub-task.

    Another robot gets it only where its policy differs: a person who has said no is not asked once
    more by way of another robot.

    Args:
        permits: Robot -> its policy.
        one: The sub-task, with the robot that could not do it and the reason.
        scene: The map.
        now: Local time; None: that of the computer.
    """
    if NO_PERMIT not in one.reason or one.robot not in permits:
        return set()
    around, moment = Surroundings(scene), now or datetime.now()
    touched = [thing for thing in (one.object, one.receptacle) if thing is not None]
    known = [scene.objects[thing.id] for thing in touched if thing.id in scene.objects]
    rooms, strays = around.rooms_of([thing.box.center for thing in known])

    def strictness(robot: str) -> tuple[int, ...]:
        goals = (
            # Of the speed and the way the leader knows nothing.
            PermitGoal(robot, skill, "", rooms=rooms, strays=strays or not rooms, speed=math.nan,
                       objects=tuple(t.label for t in touched) if skill != "navigate_to" else ())
            for skill in ("navigate_to", *[one.skill or one.kind] * (one.kind in BY_HAND))
        )  # fmt: skip
        verdicts = (permits[robot].decide(goal, around, moment) for goal in goals)
        return tuple(STRICTNESS[verdict.answer] for verdict in verdicts)

    refused = strictness(one.robot)
    if not any(refused):
        return set()  # it is not the policy that the leader knows: others may try
    return {
        robot
        for robot in permits
        if robot != one.robot
        and all(other >= own for other, own in zip(strictness(robot), refused, strict=True) if own)
    }


@dataclass(frozen=True, slots=True)
class Change:
    """Something that happened to a task."""

    kind: ChangeKind
    text: str
    robot: str = ""


@dataclass(slots=True)
class Progress:
    """A task in work, from what was asked for to what is left of it.

    The leader decides who does what, a robot only how far its own sub-tasks are: what it says of
    others', or of the past, changes nothing.

    Attributes:
        id: Of the task.
        words: The person's.
        graph: What they mean: wants, and the sub-tasks, which are what they are now.
        options: Limits.
        transcript: What was said.
        request: What was read of the words.
        round: Rounds discussed so far.
        notes: What a person should know of how it went.
        problems: What robots did that they must not.
        reports: The robots' last ones.
        places: Thing -> where it was to go, in turn.
        grown: Whether something was found that makes new sub-tasks, or ends others.
        found: How many things were found.
    """

    id: str
    words: str
    graph: TaskGraph
    options: LeaderOptions
    transcript: Transcript
    request: Request | None = None
    round: int = 0
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    reports: dict[str, RobotReport] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)
    grown: bool = False
    found: int = 0
    heartbeats: Heartbeats = field(init=False)
    things: ReportedThings = field(init=False)
    _over: float = -1.0
    _put_down: dict[tuple[str, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin to listen to the robots."""
        self.heartbeats = Heartbeats(self.options.heartbeat_timeout)
        self.things = ReportedThings(self.graph.scene)

    @property
    def sub_tasks(self) -> tuple[SubTask, ...]:
        """All sub-tasks as they are now."""
        return tuple(self.graph.sub_tasks.values())

    @property
    def given_up(self) -> dict[str, str]:
        """Sub-tasks that nobody does -> why."""
        return self.graph.given_up

    def say(self, text: str) -> None:
        """Keep in the transcript what the leader has decided."""
        self.transcript.say("statement", "leader", text, round=self.round)

    # -- who does what --------------------------------------------------------------------------

    def take(
        self,
        agreed: Sequence[SubTask],
        unassigned: Mapping[str, Mapping[str, Verdict]],
        left_out: Mapping[str, str],
    ) -> None:
        """Take over what a discussion came to."""
        graph, before = self.graph, self.graph.sub_tasks
        if {one.id for one in agreed} >= before.keys():
            graph.sub_tasks = {}  # each robot's come in the order to do them in
        for one in agreed:
            if graph.removed & {one.id, one.same_robot_as}:
                continue
            if one.id in before and before[one.id].state is _DONE:
                graph.sub_tasks[one.id] = before[one.id]
                continue
            graph.sub_tasks[one.id] = one
            graph.open_again(one.id, one.robot)
            if not one.robot:
                verdicts, failed = unassigned.get(one.id, {}), graph.failures.get(one.id, {})
                graph.give_up(one.id, why_nobody(one, verdicts, failed))
                self.grown = self.grown or one.kind == "search"
        for one in agreed:
            if one.robot or one.id not in graph.given_up:
                continue
            if self.things.is_glimpsed(self._looked_for(one)):
                self._drop(one, "nobody: seen in one look, and from nowhere again")
            elif one.same_robot_as and is_full(unassigned.get(one.id, {}).values()):
                self._elsewhere(graph.sub_tasks[one.id])
        self.heartbeats.dead.update(left_out)

    def _looked_for(self, one: SubTask) -> str:
        """Return the thing that a sub-task looks at, as it was reported ("": it does not)."""
        if one.kind != "detect" or one.object is None or one.id in self.graph.checks:
            return ""
        return one.object.id

    def _elsewhere(self, place: SubTask) -> str:
        """Have a thing put on another place; return the new sub-task's id ("": there is none)."""
        thing = place.object.id if place.object else ""
        want = next((w for w in self.graph.wants if thing in w.assigned), None)
        if want is None or want.kind != "bring" or place.receptacle is None:
            return ""
        if place.id not in want.assigned[thing]:
            return ""  # only handed over there
        tried = self.places.setdefault(thing, [])
        tried.append(place.receptacle.id)
        id = "" if len(tried) > MOST_PLACES else other_place(want, place, tried, self.graph)
        pick = self.graph.sub_tasks.get(place.same_robot_as)
        if id and pick is not None and pick.state in _OPEN:
            self.graph.open_again(pick.id)
        return id

    def on_report(self, report: RobotReport, now: float) -> list[Change]:
        """Merge a robot's report (time `now` [s], wall); return what changed."""
        return list(self._merge(report, now))

    def _merge(self, report: RobotReport, now: float) -> Iterator[Change]:
        robot = report.robot
        before = self.reports.get(robot)
        self.reports[robot] = report
        if self.heartbeats.reported(robot, now):
            yield self._back(robot, "is there again")
        if report.help and (before is None or before.help != report.help):
            yield Change("help", f"{robot}: {inline_data(report.help, limit=200)}", robot)
        if report.task and report.task != self.id:
            return
        for id in report.offers:
            if before is None or id not in before.offers:
                yield from self._offered(id, robot)
        self.graph.book.hear(robot, report.looked)
        if before is None or (before.task, before.found) != (report.task, report.found):
            for thing in report.found:
                yield from self._see(thing, report)
        for told in report.sub_tasks:
            yield from self._state(told, report)

    def _back(self, robot: str, words: str) -> Change:
        """Take down that a robot may work again: what nobody could do may be possible now."""
        for id in [*self.given_up]:
            if self.graph.sub_tasks[id].state is _PENDING:
                del self.given_up[id]
        return Change("back", f"{robot} {words}", robot)

    def _offered(self, id: str, robot: str) -> Iterator[Change]:
        """Take down that a robot would do what nobody could, as far as the leader knew."""
        if id in self.given_up and self.graph.sub_tasks[id].state is _PENDING:
            if robot not in self.graph.failures.get(id, {}):
                for other in self.graph.unit(id):
                    self.given_up.pop(other.id, None)
                yield Change("help", f"{robot} offers to do {id}", robot)

    def offering(self, id: str) -> list[str]:
        """Return the robots that would do a sub-task."""
        mine = (r for r in self.reports.values() if r.task in ("", self.id))
        return [report.robot for report in mine if id in report.offers]

    def _state(self, told: SubTask, report: RobotReport) -> Iterator[Change]:
        mine = self.graph.sub_tasks.get(told.id)
        if mine is None or mine.robot != report.robot:
            if told.robot != report.robot:
                what = inline_data(told.id)
                text = f"{report.robot} reports {what}, which is not its own: ignored"
                if text not in self.problems and len(self.problems) < MOST_PROBLEMS:
                    self.problems.append(text)
                    yield Change("problem", text, report.robot)
            return  # otherwise it has not heard yet that another does it
        if mine.state in (_DONE, _FAILED) or told.state == mine.state:
            return
        if told.state is _PENDING:
            return  # it begins again after a restart: what it does next will tell
        reason = inline_data(told.reason, limit=300) if told.state is _FAILED else ""
        now = self.graph.change(mine.id, state=told.state, reason=reason, seen=told.seen)
        what = mine.description or mine.id
        kind: ChangeKind = "state"
        text = f"{report.robot} begins: {what}"
        if told.state is _DONE:
            self._done(now)
            text = f"{report.robot} did: {what}"
        elif self._looked_for(mine) and reason.startswith(Obstacle.NOT_THERE.value):
            yield self._drop(mine, reason)
            return
        elif told.state is _FAILED:
            if mine.kind == "search":
                self._searched(now)
            kind, text = "failed", f"{report.robot} could not {what}: {reason or 'no reason given'}"
        yield Change(kind, text, report.robot)

    def _done(self, one: SubTask) -> None:
        """Take down what a sub-task has changed; what nobody takes on is to be seen there."""
        self.things.changed(one)
        if one.kind == "detect" and one.object is not None and one.object.id:
            self.graph.seen.add(one.object.id)
        elif one.kind == "place" and not one.seen:
            if not any(o.kind == "pick" and one.id in o.depends_on for o in self.sub_tasks):
                look_again(one, self.graph)
        elif one.kind == "search":
            self._searched(one)

    def _searched(self, one: SubTask) -> None:
        """Take down that a robot has searched rooms as well as it can."""
        if one.object is not None:
            enough = one.enough if one.state is _DONE else -1.0
            self.graph.book.ended(one.object.label, one.robot, one.rooms, enough)
        self.grown = True

    def _drop(self, one: SubTask, reason: str) -> Change:
        """Forget a thing that is not where it was reported: it blocks nothing any longer."""
        thing = one.object.id if one.object else ""
        for want in self.graph.wants:
            want.assigned.pop(thing, None)
        for other in self.sub_tasks:
            if other.object is not None and other.object.id == thing and other.kind != "search":
                self.graph.remove(other.id)
        self.graph.seen.discard(thing)
        self.things.forget(thing)
        self.grown = True
        text = f"{thing} is taken for a mistake: {one.robot} {reason.partition(': ')[2]}"
        self.say(text)
        return Change("doubted", text, one.robot)

    def _see(self, thing: Thing, report: RobotReport) -> Iterator[Change]:
        if self.found >= MOST_FOUND or not self._wanted(thing):
            return
        noted = self.things.integrate_report(thing, report, self.sub_tasks)
        if noted is None:
            return
        found, news = noted
        first = found.id not in self.graph.seen
        if found.observations >= SURE:
            self.graph.seen.add(found.id)
            self._looked_at(found.id)
        elif not news:
            return  # one look may err: somebody looks again before anything is done with it
        if news or first:
            self.found += 1
            self.grown = True
            room = self.graph.scene.rooms.get(found.room)
            where = f" in {room.name}" if room else ""
            yield Change("found", f"{report.robot} sees {found.id}{where}", report.robot)

    def _looked_at(self, thing: str) -> None:
        """End the looks that were to show a thing: looks on the way have shown it."""
        for one in self.sub_tasks:
            if self._looked_for(one) != thing or one.state is _DONE:
                continue
            if one.robot and one.state is not _FAILED and one.id not in self.given_up:
                continue  # somebody is about to look
            self._end(one.id, "seen on the way")
            self.grown = True

    def _end(self, id: str, why: str) -> None:
        """End a sub-task that nobody needs to do any longer."""
        self.graph.change(id, state=_DONE, reason=why)
        self.given_up.pop(id, None)

    def _wanted(self, thing: Thing) -> bool:
        kind = kind_of(thing.label)
        if any(want.is_about(kind) for want in self.graph.wants):
            return True
        return any(o.object and kind_of(o.object.label) == kind for o in self.sub_tasks)

    # -- who is silent, or stopped --------------------------------------------------------------

    def on_silence(self, now: float) -> list[Change]:
        """Return the robots that have not been heard for too long; they are dead until they are."""
        return [
            Change("silent", f"{robot} has been silent for {silent:.0f} s: taken for dead", robot)
            for robot, silent in self.heartbeats.fallen_silent(now).items()
        ]

    def on_stop(self, robot: str, stopped: bool, now: float) -> list[Change]:
        """Take down that a person has stopped a robot, or released it; return what changed."""
        if not self.heartbeats.hold(robot, stopped, now):
            return []
        if not stopped:
            return [self._back(robot, "is released and goes on")]
        text = f"{robot} is stopped: others do its work, or it waits for ./coterie release {robot}"
        return [Change("silent", text, robot)]

    def holding(self) -> list[RobotReport]:
        """Return the reports of robots that are alive and hold something."""
        return [
            report
            for robot, report in self.reports.items()
            if report.holding and report.task == self.id and robot not in self.heartbeats.dead
        ]

    def _at_it(self, place: SubTask) -> bool:
        """Tell whether a robot that is to put down beside it what it could not place holds it.

        Where that will lie nobody knows yet.
        """
        since = self._put_down.get((place.id, place.robot), -math.inf)
        late = self.heartbeats.now - since > EMPTY_HANDS
        return not late and any(report.robot == place.robot for report in self.holding())

    def _held_by(self, one: SubTask) -> str:
        """Return who holds what a place puts down ("" if nobody has picked it up)."""
        pick = self.graph.sub_tasks.get(one.same_robot_as) if one.kind == "place" else None
        return pick.robot if pick is not None and pick.state is _DONE else ""

    def _may_return(self) -> bool:
        """Whether what nobody can do now could be done by a robot that has just fallen silent."""
        if not any(self.graph.sub_tasks[id].state is _PENDING for id in self.given_up):
            return False
        grace = self.options.rejoin_grace
        return any(self.heartbeats.may_return(robot, grace) for robot in self.heartbeats.dead)

    # -- what has to be given anew --------------------------------------------------------------

    @property
    def must_replan(self) -> bool:
        """Whether anything waits for another discussion."""
        return self.grown or any(self._reopens(one) for one in self.sub_tasks)

    def _reopens(self, one: SubTask) -> bool:
        if one.id in self.given_up or one.state is _DONE:
            return False
        if one.state is _FAILED:
            return not self._at_it(one)
        if one.robot in self.heartbeats.dead:
            # One that holds the thing gets time to return.
            return not self.heartbeats.may_return(self._held_by(one), self.options.rejoin_grace)
        return not one.robot

    def reopen(self) -> list[SubTask]:
        """Return the sub-tasks that need a robot, new ones among them."""
        graph = self.graph
        if self.grown:
            self._grow()
        again: dict[str, None] = {}
        for one in self.sub_tasks:
            if one.id not in graph.sub_tasks or not self._reopens(one):
                continue
            holder = self._held_by(one)
            holds = one.state is _FAILED and holder == one.robot not in self.heartbeats.dead
            if holds and (one.id, one.robot) not in self._put_down:
                if not one.reason.startswith(Obstacle.NO_PATH.value):
                    if elsewhere := self._elsewhere(one):
                        again[elsewhere] = None
                        continue
                self._put_down[one.id, one.robot] = self.heartbeats.now
                if self._at_it(one):
                    continue
            if one.state is _FAILED and self._has_failed(one):
                continue
            if holds:
                # It puts down beside it what it cannot bring there: others fetch it from there.
                pick, report = graph.sub_tasks[one.same_robot_as], self.reports.get(one.robot)
                graph.sub_tasks |= {o.id: o for o in self.things.drop_here(pick, one, report)}
                again[one.same_robot_as] = None
            elif holder in self.heartbeats.dead:
                thing = one.object.label if one.object else "the thing"
                why = f"{thing} is in the hand of {holder}, which is silent"
                graph.give_up(one.id, why, state=_FAILED)
                continue
            again[one.id] = None
            # Who picks, places: the pair goes to another robot together.
            others = (o for o in self.sub_tasks if o.same_robot_as == one.id)
            again |= dict.fromkeys(o.id for o in others if o.state in _OPEN)
        for id in again:
            graph.open_again(id)
        block(graph)
        return [graph.sub_tasks[id] for id in again if id not in self.given_up]

    def _has_failed(self, one: SubTask) -> bool:
        """Take down how a robot has failed; return whether no other one is to try."""
        failed = self.graph.failures.setdefault(one.id, {})
        failed[one.robot] = one.reason
        for robot in no_better(self.options.permits, one, self.graph.scene):
            self.graph.rule_out(one.id, robot, f"{one.robot} got no permit, nor would it")
        if len(failed) > self.options.reassign_limit:
            self.given_up[one.id] = f"{one.robot}: {one.reason}"
        return one.id in self.given_up

    def _grow(self) -> None:
        """Make sub-tasks of what was found; end searches that nobody needs any longer."""
        self.grown = False
        expand(self.graph)
        search_on(self.graph)
        for id in unused(self.graph):
            if id in self.graph.sub_tasks and self.graph.sub_tasks[id].state in _OPEN:
                self._end(id, "no longer needed: found")

    # -- how it ends ----------------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Whether all robots wait: everything is done, or cannot be done."""
        block(self.graph)
        self.grown |= take_lost(self.graph)
        if self.must_replan or self._may_return():
            return False
        if not all(one.state is _DONE or one.id in self.given_up for one in self.sub_tasks):
            self._over = -1.0
            return False
        if search_on(self.graph):
            return False  # what was found since may hide more than was known
        if self._over < 0.0:
            self._over = self.heartbeats.now
        # Nothing stays in a hand: robots put down what nobody wants any more.
        return not self.holding() or self.heartbeats.now - self._over > EMPTY_HANDS

    def outcome(self) -> Outcome:
        """Return whether what was asked for is reached, and what is left and why."""
        put = [r for r in self.reports.values() if r.task == self.id and r.put_down]
        hands = [f"{r.robot} {inline_data(r.put_down, limit=120)}" for r in put]
        hands += [f"{r.robot} still holds {inline_data(r.holding)}" for r in self.holding()]
        graph = self.graph
        return outcome_of(graph.wants, self.sub_tasks, self.given_up, graph.book, hands)
