"""Stage 2 from the leader's side: who has done what, who is silent, what has to be given anew."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from coterie_core.tasks import Obstacle, RobotReport, SubTask, SubTaskState, Thing, Verdict
from coterie_llm import inline_data
from coterie_safety.permits import PermitGoal, RobotPermits, Surroundings
from coterie_safety.permits.gate import NO_PERMIT
from coterie_safety.permits.policy import STRICTNESS
from coterie_world.scene import SceneGraph
from coterie_world.sightings import kind_of
from emos_planner.leader.expand import look_again, other_place, search_on, unused
from emos_planner.leader.options import LeaderOptions
from emos_planner.leader.order import block, take_lost, wait_for_new
from emos_planner.leader.outcome import Outcome, is_full, outcome_of, told_of_hands, why_nobody
from emos_planner.leader.reported import SURE, ReportedThings
from emos_planner.leader.understand import Understanding

_SKILLS = {
    "pick": ("navigate_to", "pick"),
    "place": ("navigate_to", "place"),
    "open": ("navigate_to", "open"),
    "close": ("navigate_to", "close"),
}
EMPTY_HANDS = 60.0
"""How long robots may take to put down what is left in their hands [s]."""
ChangeKind = Literal["state", "failed", "found", "silent", "back", "help", "problem", "doubted"]
MOST_PLACES = 4
"""Places that are tried for one thing."""
MOST_FOUND = 2000
"""Things that robots may report in one task."""
_PENDING, _RUNNING = SubTaskState.PENDING, SubTaskState.RUNNING
_DONE, _FAILED = SubTaskState.DONE, SubTaskState.FAILED
_OPEN = (_PENDING, _RUNNING)


@dataclass(slots=True)
class Heartbeats:
    """When each robot was heard last; who is silent for too long is dead until it is heard again.

    Those `held` are stopped by a person: they count as dead until they are let go, and may return.

    Args:
        silence: After which a robot is dead [s].
    """

    silence: float
    now: float = 0.0
    dead: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    _heard: dict[str, float] = field(default_factory=dict)
    _died: dict[str, float] = field(default_factory=dict)

    def start_heartbeat(self, robots: Iterable[str], now: float) -> None:
        """Count the silence of robots from now."""
        self.now = max(self.now, now)
        for robot in robots:
            self._heard.setdefault(robot, now)

    def heard(self, robot: str, now: float) -> None:
        """Take down a sign of life that says nothing else; who was dead is so until it reports."""
        self._heard[robot] = now

    def reported(self, robot: str, now: float) -> bool:
        """Take down a report; return whether the robot was taken for dead."""
        self.now = max(self.now, now)
        self.heard(robot, now)
        if robot in self.held:
            return False
        was_dead = robot in self.dead
        self.dead.discard(robot)
        self._died.pop(robot, None)
        return was_dead

    def lost(self, robot: str) -> None:
        """Take a robot for dead."""
        if robot not in self.dead:
            self.dead.add(robot)
            self._died[robot] = self.now

    def hold(self, robot: str, now: float) -> bool:
        """Take a robot for dead until it is let go; return whether that is new."""
        self.now = max(self.now, now)
        fresh = robot not in self.held
        self.held.add(robot)
        self.lost(robot)
        return fresh

    def let_go(self, robot: str, now: float) -> bool:
        """Take a robot that was held for alive; return whether it was held."""
        if robot not in self.held:
            return False
        self.held.discard(robot)
        self.reported(robot, now)
        return True

    def fallen_silent(self, now: float) -> dict[str, float]:
        """Take for dead who is silent for too long; return each with how long that is [s]."""
        self.now = max(self.now, now)
        silent = {
            robot: now - heard
            for robot, heard in self._heard.items()
            if robot not in self.dead and now - heard > self.silence
        }
        for robot in silent:
            self.lost(robot)
        return silent

    def may_return(self, robot: str, within: float) -> bool:
        """Whether a robot is held, or dead for less than a time [s]: it may come back."""
        if robot in self.held:
            return True
        return robot in self.dead and self.now - self._died[robot] < within


def no_better(
    permits: Mapping[str, RobotPermits],
    one: SubTask,
    scene: SceneGraph,
    now: datetime | None = None,
) -> set[tuple[str, str]]:
    """Return (sub-task, robot) of robots whose policy is no better, where one got no permit for it.

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
            for skill in _SKILLS.get(one.kind, ("navigate_to",))
        )  # fmt: skip
        verdicts = (permits[robot].decide(goal, around, moment) for goal in goals)
        return tuple(STRICTNESS[verdict.answer] for verdict in verdicts)

    refused = strictness(one.robot)
    if not any(refused):
        return set()  # it is not the policy that the leader knows: others may try
    return {
        (one.id, robot)
        for robot in permits
        if robot != one.robot
        and all(other >= own for other, own in zip(strictness(robot), refused, strict=True) if own)
    }


@dataclass(slots=True)
class Hands:
    """The hands of a task's robots; those of the dead do not count.

    Args:
        task: Its id.
        reports: The robots' last ones.
        heartbeats: Who is dead, and the time.
    """

    task: str
    reports: Mapping[str, RobotReport]
    heartbeats: Heartbeats
    _since: dict[tuple[str, str], float] = field(default_factory=dict)

    def full(self) -> list[RobotReport]:
        """Return the reports of robots that hold something."""
        return [
            report
            for robot, report in self.reports.items()
            if report.holding and report.task == self.task and robot not in self.heartbeats.dead
        ]

    def told(self) -> list[str]:
        """Return what a person should know of what is, or may be, in hands."""
        mine = [report for report in self.reports.values() if report.task == self.task]
        return told_of_hands(mine, self.full())

    def put_down(self, place: SubTask) -> None:
        """Take down that a robot is to put down beside it what it could not place."""
        self._since.setdefault((place.id, place.robot), self.heartbeats.now)

    def were_to(self, place: SubTask) -> bool:
        """Tell whether `put_down` has said so."""
        return (place.id, place.robot) in self._since

    def are_at_it(self, place: SubTask) -> bool:
        """Tell whether it holds the thing still: where that will lie nobody knows yet."""
        since = self._since.get((place.id, place.robot))
        if since is None or self.heartbeats.now - since > EMPTY_HANDS:
            return False
        return any(report.robot == place.robot for report in self.full())


@dataclass(frozen=True, slots=True)
class Change:
    """Something that happened to a task."""

    kind: ChangeKind
    text: str
    robot: str = ""
    sub_task: str = ""


@dataclass(slots=True)
class Progress:
    """The state of one task.

    The leader decides who does what, a robot only how far its own sub-tasks are: what it says of
    others', or of the past, changes nothing.

    Sub-tasks go by their ids: `tries` counts how often one failed, `failures` says how, robot by
    robot; `given_up` why nobody does one, `offers` who would; those `dropped` count no longer.
    `places` are where a thing was to go, in turn; `remarks` and `problems` are to be told.
    """

    task: str
    meant: Understanding
    scene: SceneGraph
    options: LeaderOptions
    problems: list[str] = field(default_factory=list)
    reports: dict[str, RobotReport] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)
    given_up: dict[str, str] = field(default_factory=dict)
    failures: dict[str, dict[str, str]] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    offers: dict[str, dict[str, None]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    places: dict[str, list[str]] = field(default_factory=dict)
    _over: float = -1.0
    tasks: dict[str, SubTask] = field(default_factory=dict)
    grown: bool = False
    found: int = 0
    heartbeats: Heartbeats = field(init=False)
    hands: Hands = field(init=False)
    things: ReportedThings = field(init=False)

    def __post_init__(self) -> None:
        """Begin to listen to the robots."""
        self.heartbeats = Heartbeats(self.options.heartbeat_timeout)
        self.hands = Hands(self.task, self.reports, self.heartbeats)
        self.things = ReportedThings(self.scene)

    @property
    def sub_tasks(self) -> tuple[SubTask, ...]:
        """All sub-tasks as they are now."""
        return tuple(self.tasks.values())

    def begun(self) -> list[SubTask]:
        """Return the sub-tasks that are done or running."""
        return [one for one in self.tasks.values() if one.state in (_RUNNING, _DONE)]

    # -- who does what --------------------------------------------------------------------------

    def take(
        self,
        agreed: Iterable[SubTask],
        unassigned: Mapping[str, Mapping[str, Verdict]],
        left_out: Mapping[str, str],
    ) -> None:
        """Take over what a discussion came to."""
        for one in agreed:
            old = self.tasks.get(one.id)
            if old is not None and old.state is _DONE:
                continue
            reason = ""
            if not one.robot:
                failed = self.failures.get(one.id, {})
                reason = why_nobody(one, unassigned.get(one.id, {}), failed)
                self.given_up[one.id] = reason
                self.grown = self.grown or one.kind == "search"
            else:
                self.given_up.pop(one.id, None)
            self.tasks[one.id] = one.model_copy(update={"state": _PENDING, "reason": reason})
            if not one.robot and self.things.is_glimpsed(self._looked_for(one)):
                self._drop(one, "nobody: seen in one look, and from nowhere again", [])
            if not one.robot and one.kind == "place" and one.same_robot_as:
                if is_full(unassigned.get(one.id, {}).values()):
                    self._elsewhere(self.tasks[one.id])
        for robot in left_out:
            self.heartbeats.lost(robot)

    def _looked_for(self, one: SubTask) -> str:
        """Return the thing that a sub-task looks at, as it was reported ("": it does not)."""
        if one.kind != "detect" or one.object is None or one.id in self.meant.graph.checks:
            return ""
        return one.object.id

    def _elsewhere(self, place: SubTask) -> str:
        """Have a thing put on another place; return the new sub-task's id ("": there is none)."""
        thing = place.object.id if place.object else ""
        want = next((w for w in self.meant.wants if thing in w.assigned), None)
        if want is None or want.kind != "bring" or place.receptacle is None:
            return ""
        if place.id not in want.assigned[thing]:
            return ""  # only handed over there
        tried = self.places.setdefault(thing, [])
        tried.append(place.receptacle.id)
        if len(tried) > MOST_PLACES:
            return ""
        graph = self.meant.graph
        id = other_place(want, place, tried, self.scene, graph)
        if id:
            self._take_new([id])
            self.dropped.add(place.id)
            self.given_up.pop(place.id, None)
            pick = self.tasks.get(place.same_robot_as)
            if pick is not None and pick.state in _OPEN:
                self.given_up.pop(pick.id, None)
                self.tasks[pick.id] = pick.model_copy(update={"robot": "", "reason": ""})
        return id

    def on_report(self, report: RobotReport, now: float) -> list[Change]:
        """Merge a robot's report (time `now` [s], wall); return what changed."""
        changes: list[Change] = []
        robot = report.robot
        before = self.reports.get(robot)
        self.reports[robot] = report
        if self.heartbeats.reported(robot, now):
            # What nobody could do without it may be possible now.
            for id in [i for i in self.given_up if self.tasks[i].state is _PENDING]:
                del self.given_up[id]
            changes.append(Change("back", f"{robot} is there again", robot))
        if report.help and (before is None or before.help != report.help):
            changes.append(Change("help", f"{robot}: {inline_data(report.help, limit=200)}", robot))
        if report.task and report.task != self.task:
            return changes
        for id in report.offers:
            # Nobody could do it as far as the leader knew; here is one that says it can.
            if id in self.given_up and robot not in self.failures.get(id, {}):
                if self.tasks[id].state is _PENDING and robot not in self.offers.get(id, {}):
                    for other in [o for o in self.tasks.values() if id in (o.id, o.same_robot_as)]:
                        self.given_up.pop(other.id, None)
                    changes.append(Change("help", f"{robot} offers to do {id}", robot, id))
            if id in self.tasks:
                self.offers.setdefault(id, {})[robot] = None
        self.meant.graph.book.hear(robot, report.looked)
        same = before is not None and before.task == report.task
        if not (same and before and before.found == report.found):
            for thing in report.found:
                self._see(thing, report, changes)
        for told in report.sub_tasks:
            self._state(told, report, changes)
        return changes

    def _state(self, told: SubTask, report: RobotReport, changes: list[Change]) -> None:
        mine = self.tasks.get(told.id)
        if mine is None or mine.robot != report.robot:
            if told.robot != report.robot:
                self._problem(
                    f"{report.robot} reports {inline_data(told.id)}, which is not its own: ignored",
                    report.robot,
                    changes,
                )
            return  # otherwise it has not heard yet that another does it
        if mine.state in (_DONE, _FAILED) or told.state == mine.state:
            return
        if told.state is _PENDING:
            return  # it begins again after a restart: what it does next will tell
        reason = inline_data(told.reason, limit=300) if told.state is _FAILED else ""
        update = {"state": told.state, "reason": reason, "seen": told.seen}
        self.tasks[mine.id] = mine.model_copy(update=update)
        what = mine.description or mine.id
        if told.state is _DONE:
            self._done(self.tasks[mine.id])
            changes.append(Change("state", f"{report.robot} did: {what}", report.robot, mine.id))
        elif self._looked_for(mine) and reason.startswith(Obstacle.NOT_THERE.value):
            self._drop(mine, reason, changes)
        elif told.state is _FAILED:
            if mine.kind == "search":
                self._searched(mine)
            text = f"{report.robot} could not {what}: {reason or 'no reason given'}"
            changes.append(Change("failed", text, report.robot, mine.id))
        else:
            changes.append(Change("state", f"{report.robot} begins: {what}", report.robot, mine.id))

    def _done(self, one: SubTask) -> None:
        """Take down what a sub-task has changed; what nobody takes on is to be seen there."""
        self.things.changed(one)
        if one.kind == "detect" and one.object is not None and one.object.id:
            self.meant.graph.seen.add(one.object.id)
        elif one.kind == "place" and one.receptacle is not None and not one.seen:
            if not any(o.kind == "pick" and one.id in o.depends_on for o in self.tasks.values()):
                self._take_new(look_again(one, self.meant.wants, self.scene, self.meant.graph))
        elif one.kind == "search":
            self._searched(one)

    def _searched(self, one: SubTask) -> None:
        """Take down that a robot has searched rooms as well as it can."""
        if one.object is not None:
            enough = one.enough if one.state is _DONE else -1.0
            self.meant.graph.book.ended(one.object.label, one.robot, one.rooms, enough)
        self.grown = True

    def _drop(self, one: SubTask, reason: str, changes: list[Change]) -> None:
        """Forget a thing that is not where it was reported: it blocks nothing any longer."""
        thing = one.object.id if one.object else ""
        for want in self.meant.wants:
            want.assigned.pop(thing, None)
            want.goals.pop(thing, None)
        for other in list(self.tasks.values()):
            if other.object is not None and other.object.id == thing and other.kind != "search":
                self.dropped.add(other.id)
                self.given_up.pop(other.id, None)
        self.meant.graph.forget(thing)
        self.things.forget(thing)
        self.grown = True
        text = f"{thing} is taken for a mistake: {one.robot} {reason.partition(': ')[2]}"
        changes.append(Change("doubted", text, one.robot, one.id))
        self.remarks.append(text)

    def _see(self, thing: Thing, report: RobotReport, changes: list[Change]) -> None:
        if self.found >= MOST_FOUND or not self._wanted(thing):
            return
        noted = self.things.integrate_report(thing, report, self.tasks.values())
        if noted is None:
            return
        found, news = noted
        first = found.id not in self.meant.graph.seen
        if found.observations >= SURE:
            self.meant.graph.seen.add(found.id)
            self._looked_at(found.id)
        elif not news:
            return  # one look may err: somebody looks again before anything is done with it
        if news or first:
            self.found += 1
            self.grown = True
            room = self.scene.rooms.get(found.room)
            where = f" in {room.name}" if room else ""
            changes.append(Change("found", f"{report.robot} sees {found.id}{where}", report.robot))

    def _looked_at(self, thing: str) -> None:
        """End the looks that were to show a thing: looks on the way have shown it."""
        for one in list(self.tasks.values()):
            if self._looked_for(one) != thing or one.state is _DONE or one.id in self.dropped:
                continue
            if one.robot and one.state is not _FAILED and one.id not in self.given_up:
                continue  # somebody is about to look
            self.given_up.pop(one.id, None)
            update = {"state": _DONE, "reason": "seen on the way"}
            self.tasks[one.id] = one.model_copy(update=update)
            self.grown = True

    def _wanted(self, thing: Thing) -> bool:
        kind = kind_of(thing.label)
        if any(want.is_about(kind) for want in self.meant.wants):
            return True
        return any(o.object and kind_of(o.object.label) == kind for o in self.tasks.values())

    def _problem(self, text: str, robot: str, changes: list[Change]) -> None:
        if text not in self.problems and len(self.problems) < 200:
            self.problems.append(text)
            changes.append(Change("problem", text, robot))

    # -- who is silent --------------------------------------------------------------------------

    def notice_silence(self, now: float) -> list[Change]:
        """Return the robots that have not been heard for too long; they are dead until they are."""
        changes = []
        for robot, silent in self.heartbeats.fallen_silent(now).items():
            text = f"{robot} has been silent for {silent:.0f} s: taken for dead"
            changes.append(Change("silent", text, robot))
        return changes

    def _held_by(self, one: SubTask) -> str:
        """Return who holds what a place puts down ("" if nobody has picked it up)."""
        pick = self.tasks.get(one.same_robot_as) if one.kind == "place" else None
        return pick.robot if pick is not None and pick.state is _DONE else ""

    def _may_return(self) -> bool:
        """Whether what nobody can do now could be done by a robot that has just fallen silent."""
        if not any(one.state is _PENDING and one.id in self.given_up for one in self.sub_tasks):
            return False
        return any(
            self.heartbeats.may_return(r, self.options.rejoin_grace) for r in self.heartbeats.dead
        )

    # -- what has to be given anew --------------------------------------------------------------

    @property
    def must_replan(self) -> bool:
        """Whether anything waits for another discussion."""
        if self.grown:
            return True
        return any(self._reopens(one) for one in self.tasks.values())

    def _reopens(self, one: SubTask) -> bool:
        if one.id in self.given_up or one.id in self.dropped:
            return False
        if one.state is _FAILED:
            return not self.hands.are_at_it(one)
        if one.state not in _OPEN:
            return False
        if one.robot in self.heartbeats.dead:
            # One that holds the thing gets time to return.
            return not self.heartbeats.may_return(self._held_by(one), self.options.rejoin_grace)
        return not one.robot

    def reopen(self, forbidden: set[tuple[str, str]]) -> list[SubTask]:
        """Return the sub-tasks that need a robot, new ones among them.

        Args:
            forbidden: Pairs that must not come again; who failed at something is added.
        """
        if self.grown:
            self._grow()
        again: dict[str, None] = {}
        for one in list(self.tasks.values()):
            if not self._reopens(one):
                continue
            holder = self._held_by(one)
            holds = one.state is _FAILED and holder == one.robot not in self.heartbeats.dead
            if holds and not self.hands.were_to(one):
                if not one.reason.startswith(Obstacle.NO_PATH.value):
                    if elsewhere := self._elsewhere(one):
                        again[elsewhere] = None
                        continue
                self.hands.put_down(one)
                if self.hands.are_at_it(one):
                    continue
            if one.state is _FAILED:
                forbidden.add((one.id, one.robot))
                forbidden |= no_better(self.options.permits, one, self.scene)
                self.failures.setdefault(one.id, {})[one.robot] = one.reason
                self.tries[one.id] = self.tries.get(one.id, 0) + 1
                if self.tries[one.id] > self.options.reassign_limit:
                    self.given_up[one.id] = f"{one.robot}: {one.reason}"
                    continue
            if holds:
                # It puts down beside it what it cannot bring there: others fetch it from there.
                pick, report = self.tasks[one.same_robot_as], self.reports.get(one.robot)
                self.tasks |= {o.id: o for o in self.things.drop_here(pick, one, report)}
                again[one.same_robot_as] = None
            elif holder in self.heartbeats.dead:
                thing = one.object.label if one.object else "the thing"
                reason = f"{thing} is in the hand of {holder}, which is silent"
                self.tasks[one.id] = one.model_copy(update={"state": _FAILED, "reason": reason})
                self.given_up[one.id] = reason
                continue
            again[one.id] = None
            # Who picks, places: the pair goes to another robot together.
            again |= dict.fromkeys(
                o.id
                for o in self.tasks.values()
                if o.same_robot_as == one.id and o.state in _OPEN and o.id not in self.dropped
            )
        for id in again:
            one = self.tasks[id]
            self.tasks[id] = one.model_copy(update={"state": _PENDING, "robot": "", "reason": ""})
        block(self.meant.graph, self.tasks, self.given_up, self.dropped)
        forbidden.update(self.meant.graph.never)
        return [self.tasks[id] for id in again if id not in self.given_up]

    def _grow(self) -> None:
        """Make sub-tasks of what was found; end searches that nobody needs any longer."""
        self.grown = False
        self._take_new(self.meant.grow())
        self._search_on()
        wait_for_new(self.meant.graph, self.tasks)
        for id in unused(self.meant.graph, self.meant.wants):
            one = self.tasks.get(id)
            if one is not None and one.state in _OPEN:
                self.tasks[id] = one.model_copy(
                    update={"state": _DONE, "reason": "no longer needed: found"}
                )
                self.given_up.pop(id, None)

    def _search_on(self) -> bool:
        wants, graph = self.meant.wants, self.meant.graph
        self._take_new(added := search_on(wants, self.tasks, self.given_up, self.scene, graph))
        return bool(added)

    def _take_new(self, ids: Iterable[str]) -> None:
        """Take over sub-tasks that the graph has made."""
        self.tasks |= {id: self.meant.graph.sub_tasks[id] for id in ids}

    def give(self, ids: Iterable[str], robot: str) -> None:
        """Give sub-tasks to a robot, which begins them anew."""
        for id in ids:
            update = {"state": _PENDING, "robot": robot, "reason": ""}
            self.tasks[id] = self.tasks[id].model_copy(update=update)
            self.given_up.pop(id, None)

    def give_up(self, sub_tasks: Iterable[SubTask], why: str) -> None:
        """Take down that nobody does these."""
        self.given_up |= {one.id: why for one in sub_tasks}

    # -- how it ends ----------------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Whether all robots wait: everything is done, or cannot be done."""
        tasks, given_up = self.tasks, self.given_up
        block(self.meant.graph, tasks, given_up, self.dropped)
        self.grown |= take_lost(self.meant.wants, self.meant.graph, tasks, given_up, self.failures)
        if self.must_replan or self._may_return():
            return False
        ended = given_up.keys() | self.dropped
        if not all(one.state is _DONE or id in ended for id, one in tasks.items()):
            self._over = -1.0
            return False
        if self._search_on():
            return False  # what was found since may hide more than was known
        if self._over < 0.0:
            self._over = self.heartbeats.now
        # Nothing stays in a hand: robots put down what nobody wants any more.
        return not self.hands.full() or self.heartbeats.now - self._over > EMPTY_HANDS

    def outcome(self) -> Outcome:
        """Return whether what was asked for is reached, and what is left and why."""
        open_ = [t for t in self.tasks.values() if t.id not in self.dropped]
        hands = self.hands.told()
        return outcome_of(self.meant.wants, open_, self.given_up, self.meant.graph.book, hands)
