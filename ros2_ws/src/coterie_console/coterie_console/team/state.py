"""State of a running team, bounded, as sections of plain data that a page shows."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from coterie_console.team.fences import fences_of
from coterie_console.team.health import NodeReport, health_of
from coterie_console.team.plan import floor_at, lit_by, plan_of
from coterie_console.team.records import ENDED, MOST_ASKED, Robot, Talk, Task
from coterie_console.text import plain
from coterie_core.geometry import Pose
from coterie_core.skill_registry import doing
from coterie_core.tasks import RobotReport, SubTask, SubTaskState
from coterie_core.wording import enumerated, spoken
from coterie_safety.guard import Fences
from coterie_safety.permits import Permit, PermitRequest
from coterie_safety.permits.request import pace, touched
from coterie_world.scene import SceneGraph
from coterie_world.scene.corrections import Correction
from coterie_world.scene.regions import Regions

Section = Literal[
    "team", "map", "robots", "poses", "permits", "standing", "question", "talk", "tasks", "health",
    "timeline",
]  # fmt: skip
SECTIONS: tuple[Section, ...] = (
    "team", "map", "robots", "poses", "permits", "standing", "question", "talk", "tasks", "health",
    "timeline",
)  # fmt: skip
MAX_TALKS, MAX_TASKS, MAX_MOMENTS = 40, 20, 300
MAX_ROBOTS, MAX_NODES, MAX_WAITING = 100, 300, 100
_TRAIL_STEP_M = 0.1
"""Points of a robot's way are at least so far apart [m]."""
_RESTS_S = 4.0
"""A robot that reports nothing does nothing so long after the end of its last goal [s]."""
_SETTLED_S = 10.0
"""A team whose robots are heard has started after that time [s]."""
_WORDS = 600
_POSITION = re.compile(r"\((-?\d+(?:\.\d+)?), (-?\d+(?:\.\d+)?), (-?\d+(?:\.\d+)?)\)")
"""A position in words [m, map frame]."""
_WORD = re.compile(r"[\w-]+")
_STATES = {
    SubTaskState.PENDING: "waits",
    SubTaskState.RUNNING: "works",
    SubTaskState.DONE: "done",
    SubTaskState.FAILED: "failed",
}


class ConsoleState:
    """What is known of a team. One loop changes and reads it.

    Each section has a version, which changes with it; `text` is its JSON, made once a version.

    Args:
        team: The team's name.
        robots: Its robots, as far as they are known.
        wall: Returns the wall time [s].
        clock: Returns a time that only goes forward [s].
    """

    def __init__(
        self,
        team: str,
        robots: Sequence[str],
        *,
        wall: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.team, self.wall, self.clock = team, wall, clock
        self.robots: dict[str, Robot] = {name: Robot(name) for name in robots}
        self.scene = SceneGraph()
        self._regions = Regions(self.scene)
        self.can: dict[str, bool] = {}
        self._met: float | None = None
        self.waiting: dict[str, PermitRequest] = {}
        self.standing: dict[str, Permit] = {}
        self.question: dict[str, Any] | None = None
        self.training: dict[str, Any] = {}
        self.talks: deque[Talk] = deque(maxlen=MAX_TALKS)
        self.tasks: deque[Task] = deque(maxlen=MAX_TASKS)
        self.corrections: list[Correction] = []
        self.fences: dict[str, Fences] = {}
        self._nodes: dict[str, NodeReport] = {}
        self._moments: deque[dict[str, Any]] = deque(maxlen=MAX_MOMENTS)
        self._versions: dict[Section, int] = dict.fromkeys(SECTIONS, 1)
        self._texts: dict[Section, tuple[int, str]] = {}
        self._numbers = itertools.count(1)

    # -- sections ------------------------------------------------------------------------------

    def touch(self, *sections: Section) -> None:
        """Say that sections have changed."""
        for section in sections:
            self._versions[section] += 1

    def version(self, section: Section) -> int:
        """Return a number that changes with a section."""
        return self._versions[section]

    def text(self, section: Section) -> str:
        """Return a section as JSON."""
        version = self._versions[section]
        known = self._texts.get(section)
        if known is None or known[0] != version:
            data = getattr(self, f"_{section}")()
            known = self._texts[section] = (
                version,
                json.dumps(data, separators=(",", ":"), allow_nan=False),
            )
        return known[1]

    def new_id(self) -> str:
        """Return an id that nothing else here has."""
        return str(next(self._numbers))

    # -- what is heard -------------------------------------------------------------------------

    def robot(self, name: str) -> Robot | None:
        """Return what is known of a robot, which is added; None: there are too many."""
        if name not in self.robots:
            if len(self.robots) >= MAX_ROBOTS:
                return None
            self.robots[name] = Robot(name)
            self.touch("robots", "poses", "health", "map")
        return self.robots[name]

    def move(self, name: str, pose: Pose) -> None:
        """Note where a robot is [m, map frame]."""
        robot = self.robot(name)
        if robot is None:
            return
        x, y, z = pose.position
        robot.heard = self.clock()
        robot.pose = (x, y, z, pose.yaw)
        way = robot.way
        if (
            not way
            or max(abs(a - b) for a, b in zip(way[-1], (x, y, z), strict=True)) >= _TRAIL_STEP_M
        ):
            way.append((x, y, z))
            floor = floor_at(self.scene, z)
            known = self.scene.rooms.get(self._regions.room_at((x, y, z)))
            room = known.name if known else robot.room
            if (floor, room) != (robot.floor, robot.room):
                robot.floor, robot.room = floor, room
                self.touch("robots")
        self.touch("poses")

    def described(self, name: str, urdf: str) -> None:
        """Note what a robot looks like."""
        if (robot := self.robot(name)) is not None:
            robot.description = urdf

    def report(self, name: str, report: RobotReport) -> None:
        """Note what a robot says that it does."""
        robot = self.robot(name)
        if robot is None or report.robot != name:
            return
        robot.heard, robot.reports, robot.ended = self.clock(), True, None
        known = self.scene.rooms.get(report.room)
        does = doing(report.skill) or ("" if report.waiting else "thinks")
        ended = any(one.outcome and one.team_id == report.task for one in self.tasks)
        help_ = "" if ended else report.help
        new = (known.name if known else robot.room, does, report.holding, help_)
        if new != (robot.room, robot.doing, robot.holding, robot.help):
            robot.room, robot.doing, robot.holding, robot.help = new
            self.touch("robots")

    def place(self, name: str, room: str) -> None:
        """Note the name of the room that a robot says that it is in."""
        robot = self.robot(name)
        if robot is not None and room and room != robot.room:
            robot.room = room
            self.touch("robots")

    def stopped(self, name: str, stopped: bool, *, told: bool) -> None:
        """Note whether a robot stands until it is released; `told`: on the timeline, too."""
        robot = self.robot(name)
        if robot is None or robot.stopped is stopped:
            return
        if told and (robot.stopped is not None or stopped):
            self.moment("stop" if stopped else "release", name, "stands" if stopped else "goes on")
        robot.stopped = stopped
        self.touch("robots")

    def cameras(self, name: str, cameras: Iterable[str]) -> None:
        """Note which cameras a robot has."""
        robot, found = self.robot(name), tuple(sorted(cameras))
        if robot is not None and found != robot.cameras:
            robot.cameras = found
            self.touch("robots")

    def know(self, scene: SceneGraph) -> None:
        """Take a newer map."""
        names = {id_: room.name for id_, room in self.scene.rooms.items()}
        self.scene, self._regions = scene, Regions(scene)
        self.touch("map")
        if names != {id_: room.name for id_, room in scene.rooms.items()}:
            self.touch("timeline")

    def corrected(self, corrections: Sequence[Correction]) -> None:
        """Take what people corrected on the map, as the mapper keeps it."""
        self.corrections = list(corrections)
        self.touch("map")

    def fenced(self, name: str, fences: Fences) -> None:
        """Take where a robot may be, as its guard enforces it."""
        if self.robot(name) is not None and fences != self.fences.get(name, Fences()):
            self.fences[name] = fences
            self.touch("map")

    def abilities(self, can: Mapping[str, bool]) -> None:
        """Note what somebody of the team can be asked for: ask, find, do, correct, learn.

        What nobody can be asked for is missing once the team had time to start: `settled`.
        """
        there = any(can.get(what) for what in ("ask", "find", "task"))
        there = there or any(one.heard is not None for one in self.robots.values())
        if self._met is None and there:
            self._met = self.clock()
        settled = self._met is not None and self.clock() - self._met >= _SETTLED_S
        now = {**can, "settled": settled}
        if now != self.can:
            self.can = now
            self.touch("team")

    def requests(
        self, waiting: Mapping[str, PermitRequest], standing: Mapping[str, Permit] | None = None
    ) -> None:
        """Take the requests for permits that wait now, and the permits for goals alike."""
        self.waiting, self.standing = dict(waiting), dict(standing or {})
        self.touch("permits", "standing")

    def trained(self, *, working: bool = False, done: bool = False, text: str = "") -> None:
        """Note that the aggregator learns from what people marked, or what came of it."""
        self.training = {"working": working, "done": done, "text": plain(text, _WORDS)}
        self.touch("team")

    def diagnosed(self, node: str, level: int, message: str, values: Mapping[str, str]) -> None:
        """Take a node's report on itself."""
        if node in self._nodes or len(self._nodes) < MAX_NODES:
            self._nodes[node] = NodeReport(self.clock(), level, message, dict(values))

    def moment(
        self,
        kind: str,
        robot: str,
        text: str,
        at: float | None = None,
        why: str = "",
        goal: str = "",
        room: str = "",
        ended: str = "",
        meters: float = 0.0,
    ) -> None:
        """Note what happened, at a wall time [s] (now).

        Args:
            kind: Kind of what happened.
            robot: Robot that it happened to; "": none.
            text: What happened; positions in the text of a goal are shown as rooms.
            at: Wall time [s].
            why: Id that explains it.
            goal: What it was done for: steps of one robot for one goal stand together.
            room: Name of the room that it leads to; "": the one of the position in the text.
            ended: Outcome of a goal that ended.
            meters: Length of the way that was driven for it [m].
        """
        moment = {
            "at": round(self.wall() if at is None else at, 1),
            "kind": plain(kind, 20),
            "robot": plain(robot),
            "text": plain(text, 400),
            "why": why,
            "goal": plain(goal, 200),
            "room": plain(room),
            "ended": plain(ended, 40).lower(),
            "meters": round(meters, 2),
        }
        one = self.robots.get(robot)
        if one is not None and not one.reports and kind in ("goal", "result", "refusal"):
            one.doing = plain(goal, 80).removeprefix("to ") or one.doing
            one.ended = None if kind == "goal" else self.clock()
            self.touch("robots")
        self._moments.append(moment)
        self.touch("timeline")

    def _room_of(self, found: re.Match[str]) -> str:
        room = self.scene.rooms.get(self._regions.room_at(_position(found)))
        return plain(room.name) if room else ""

    def _with_rooms(self, moment: dict[str, Any]) -> dict[str, Any]:
        """Return a moment with rooms for the positions of a goal's text; a map may come later."""
        if not moment["goal"] or (found := _POSITION.search(moment["text"])) is None:
            return moment

        def named(position: re.Match[str]) -> str:
            name = self._room_of(position)
            return f"the {name}" if name else position[0]

        room, told = moment["room"] or self._room_of(found), _POSITION.sub(named, moment["text"])
        # "drive to the kitchen in kitchen"
        return moment | {"room": room, "text": re.sub(r"the ([^,;]+) in \1", r"\1", told)}

    def in_words(self, text: str) -> str:
        """Return a text with names for ids of things and places that tell people nothing."""

        def name(found: re.Match[str]) -> str:
            id_, place = found[0], self.scene.places.get(found[0])
            if place is not None:
                room = self.scene.rooms.get(place.room)
                return room.name if room else id_
            thing = self.scene.objects.get(id_)
            label = thing.label.top if thing is not None else id_
            return id_ if label.replace(" ", "_") in id_ else label

        # "chair-2: chair: to sit on"
        return re.sub(r"\b([\w -]+?)[-_]?\d*: \1: ", r"\1: ", _WORD.sub(name, text))

    def tick(self) -> None:
        """Let ages go on; call it about once a second."""
        for robot in list(self.robots.values()):
            if robot.ended is not None and self.clock() - robot.ended > _RESTS_S:
                robot.doing, robot.ended = "", None
                self.touch("robots")
        self.touch("health")

    # -- talk and tasks ------------------------------------------------------------------------

    def begin_talk(self, kind: Literal["ask", "find"], words: str, by: str) -> Talk:
        """Begin a question or a search."""
        talk = Talk(self.new_id(), kind, plain(words, _WORDS), by, self.wall())
        self.talks.append(talk)
        self.moment(kind, "", f"{by}: {words}")
        self.touch("talk")
        return talk

    def begin_task(self, words: str, by: str, own: bool = True) -> Task:
        """Begin a task; `own`: it was given here."""
        task = Task(self.new_id(), plain(words, _WORDS), by, self.wall(), own)
        self.tasks.append(task)
        self.moment("task", "", f"{by}: {words}")
        self.touch("tasks")
        return task

    def current_task(self) -> Task | None:
        """Return the task that goes on."""
        return next((task for task in reversed(self.tasks) if not task.outcome), None)

    def end_task(self, task: Task, outcome: str, message: str) -> None:
        """Note how a task ended."""
        task.outcome, task.message = outcome, plain(message, _WORDS)
        if message or outcome != ENDED:
            self.moment("task", "", f"{outcome.replace('_', ' ')}: {message}")
        for robot in self.robots.values():
            robot.help = ""  # what was asked for is needed no longer
        self.touch("tasks", "robots")

    def resumable(self, task: Task) -> bool:
        """Whether a task can be given again: it ended before all was done, and is known."""
        return bool(task.outcome not in ("", "done", ENDED) and (task.own or task.meant))

    def to_look_up(self) -> list[Task]:
        """Return the tasks of which is only known that they ended; those that may be found yet."""
        unclear = (task for task in self.tasks if task.outcome == ENDED and task.team_id)
        return [task for task in unclear if task.end_asked < MOST_ASKED]

    def said(self, speaker: str, kind: str, text: str) -> None:
        """Note a turn of the discussion about the task that goes on."""
        task = self.current_task()
        if task is not None:
            task.turns.append(
                {"who": plain(speaker), "kind": plain(kind, 20), "text": plain(text, _WORDS)}
            )
            self.touch("tasks")

    def sub_tasks(self, sub_tasks: Sequence[SubTask], id_: str = "") -> None:
        """Note who does what; where nobody gave a task here, somebody else did.

        Args:
            sub_tasks: Everybody's share.
            id_: The leader's id of the task; "": not told. What is told late of a task that is over
                begins none.
        """
        task = self.current_task()
        if id_ and any(one.outcome and one.team_id == id_ for one in self.tasks):
            return
        if task is not None and id_:
            task.team_id = id_
        over = all(one.state in (SubTaskState.DONE, SubTaskState.FAILED) for one in sub_tasks)
        if task is None:
            if over:
                return
            parts = list(dict.fromkeys(one.description or one.id for one in sub_tasks))
            words = enumerated(parts, 1)
            task = self.begin_task(words, "outside this page", own=False)
            task.team_id = id_
        if sub_tasks and tuple(sub_tasks) != task.sub_tasks:
            task.sub_tasks = tuple(sub_tasks)
            self.touch("tasks")
        if over and not task.own:
            self.end_task(task, ENDED, "" if sub_tasks else "all robots were told to stop")

    def named(self, words: str) -> None:
        """Note what the task that goes on asks for, as the team has it."""
        task = self.current_task()
        if task is None:
            return
        task.meant = " ".join(words.split())
        if not task.own and task.words != (said := plain(words, _WORDS)):
            task.words = said
            self.touch("tasks")

    # -- sections as data ----------------------------------------------------------------------

    def _team(self) -> dict[str, Any]:
        return {"name": plain(self.team), "can": self.can, "training": self.training}

    def _map(self) -> dict[str, Any]:
        corrections = [
            {
                "id": one.id,
                "what": plain(
                    f"{one.kind.replace('_', ' ')}: "
                    + ", ".join([thing.label for thing in one.things] or [one.room])
                    + (f" → {one.name}" if one.name else ""),
                    120,
                ),
                "by": plain(one.by),
            }
            for one in self.corrections
        ]
        fences = fences_of(self.fences, self.scene, self.robots)
        return plan_of(self.scene) | fences | {"corrections": corrections}

    def _robots(self) -> list[dict[str, Any]]:
        return [
            {
                "name": plain(one.name),
                "room": plain(one.room),
                "floor": one.floor,
                "doing": plain(one.doing, 80),
                "holding": plain(one.holding, 40),
                "help": plain(one.help, 200),
                "stopped": one.stopped,
                "cameras": list(one.cameras),
            }
            for one in self.robots.values()
        ]

    def _poses(self) -> dict[str, list[float]]:
        return {
            name: [round(v, 3) for v in one.pose] for name, one in self.robots.items() if one.pose
        }

    def trails(self) -> str:
        """Return where robots were [m] as JSON, for a page that has just been opened."""
        ways = {
            name: [[round(v, 2) for v in point] for point in one.way]
            for name, one in self.robots.items()
        }
        return json.dumps(ways, separators=(",", ":"))

    def _permits(self) -> list[dict[str, Any]]:
        return [
            {
                "id": one.id,
                "shown": one.shown,
                "robot": plain(one.goal.robot),
                "what": plain(one.goal.what, 400),
                "why": plain(one.goal.why, 200),
                "at": self._targets(one),
                "things": [plain(label) for label in one.goal.objects],
                "touches": plain(touched(one.goal, one.rooms), 4000),
                "pace": pace(one.goal),
                "rule": plain(one.rule),
                "until": round(one.until, 1),
            }
            for one in list(self.waiting.values())[:MAX_WAITING]
        ]

    def _targets(self, request: PermitRequest) -> Sequence[Sequence[float]]:
        """Return the positions that a request names, or of the things that it may mean [m]."""
        if found := _POSITION.search(request.goal.what):
            return [_position(found)]
        rooms = {
            id_ for id_, room in self.scene.rooms.items() if {id_, room.name} & {*request.rooms}
        }
        return [
            [round(v, 2) for v in thing.box.center]
            for thing in self.scene.objects.values()
            if thing.label.top in request.goal.objects and thing.room in rooms
        ][:MAX_WAITING]

    def _standing(self) -> list[dict[str, Any]]:
        return [
            {
                "id": one.id,
                "shown": one.shown,
                "text": plain(one.text, 4000),
                "by": plain(one.by),
                "until": round(one.until, 1),
            }
            for one in list(self.standing.values())[:MAX_WAITING]
        ]

    def _question(self) -> dict[str, Any] | None:
        return self.question

    def _talk(self) -> list[dict[str, Any]]:
        return [
            {
                "id": one.id,
                "kind": one.kind,
                "words": one.words,
                "by": plain(one.by),
                "at": round(one.at, 1),
                "state": one.state,
                "told": plain(one.told, _WORDS),
                "asked": plain(one.asked),
                "answer": one.answer,
            }
            for one in self.talks
        ]

    def _tasks(self) -> list[dict[str, Any]]:
        return [self._of_task(one) for one in self.tasks]

    def _of_task(self, task: Task) -> dict[str, Any]:
        rows = [
            {
                "id": plain(f"{task.team_id}/{one.id}", 100) if task.team_id else "",
                "robot": plain(one.robot),
                "what": plain(spoken(one.description or one.id, self.robots), 200),
                "state": _STATES[one.state] if one.robot else "nobody",
                "why": plain(spoken(one.reason, self.robots), 300),
            }
            for one in task.sub_tasks[:100]
        ]
        return {
            "id": task.id,
            "words": task.words,
            "by": plain(task.by),
            "at": round(task.at, 1),
            "own": task.own,
            "team_id": plain(task.team_id),
            "stage": plain(task.stage, 20),
            "round": task.round,
            "outcome": task.outcome,
            "resumable": self.resumable(task),
            "message": spoken(task.message, self.robots),
            "rows": rows,
            "lit": lit_by(task.sub_tasks, self.scene),
            "done": sum(one.state is SubTaskState.DONE for one in task.sub_tasks),
            "all": len(task.sub_tasks),
            "talk": list(task.turns),
        }

    def _health(self) -> dict[str, Any]:
        return health_of(self.robots, self._nodes, self.clock())

    def _timeline(self) -> list[dict[str, Any]]:
        return [self._with_rooms(one) for one in self._moments]


def _position(found: re.Match[str]) -> tuple[float, float, float]:
    return float(found[1]), float(found[2]), float(found[3])
