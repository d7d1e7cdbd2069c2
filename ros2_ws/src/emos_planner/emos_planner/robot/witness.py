"""What a robot has seen with its own eyes, and what it tells the team became of things."""

from __future__ import annotations

import re
from collections.abc import Iterable

from coterie_core.geometry import Vec3, distance
from coterie_core.household import load_household
from coterie_core.observation import Observation
from coterie_core.skills import Outcome
from coterie_core.tasks import SubTask, Thing
from coterie_execution.options import Attempt
from coterie_execution.standpoints import APART
from coterie_world.object_events import EventKind, ObjectEvent, event_of
from coterie_world.scene import SceneObject
from coterie_world.sightings import as_thing, kind_of
from coterie_world.team_map import TeamMap
from emos_planner.leader.reported import SURE
from emos_planner.robot.choose import NEAR

LOOKS_AGAIN = 3
"""Further looks from where one look showed a thing; if none shows it, that was a mistake."""


class Witness:
    """Remembers which things a robot has seen in a task, and when.

    Args:
        robot: Its name.
        team_map: What it knows of the house.
    """

    def __init__(self, robot: str, team_map: TeamMap) -> None:
        self.robot = robot
        self.map = team_map
        self.task = ""
        self._time = 0.0
        self._step = -1
        self._seen: dict[str, int] = {}
        self._events: list[ObjectEvent] = []
        self._glimpsed: dict[str, tuple[int, Vec3]] = {}

    def begin(self, task: str) -> None:
        """Begin a task: nothing has been seen in it."""
        self.task, self._seen, self._glimpsed = task, {}, {}

    @property
    def step(self) -> int:
        """Step of the last observation (-1: none has come)."""
        return self._step

    def observe(self, observation: Observation, holding: str, searched: str = "") -> None:
        """Take in what is perceived, while the hand holds a thing (id, "": nothing).

        Things of the kind that is `searched` are looked at again before they count as found.
        """
        self._time, self._step = observation.time, observation.step
        for id_ in self.map.observe(observation, holding):
            self._seen[id_] = observation.step
            if searched and self._glimpsed_kind(id_) == searched:
                self._glimpsed.setdefault(id_, (0, observation.pose.position))

    def passed(self, time: float) -> None:
        """Take in that it is as late as this [s], though nothing has been seen since."""
        self._time = max(self._time, time)

    def _glimpsed_kind(self, id: str) -> str:
        """Return the kind of a thing that one look alone has shown; "" of any other."""
        thing = self.map.thing(id)
        return kind_of(thing.label.top) if thing and thing.observations == 1 else ""

    def glimpsed(self, position: Vec3 | None) -> tuple[str, ...]:
        """Return the things that one look from here has shown, and no other so far."""
        return tuple(
            id
            for id, (looks, spot) in self._glimpsed.items()
            if looks < LOOKS_AGAIN and self._glimpsed_kind(id)
            if position is not None and distance(position, spot) < APART
        )

    def looked_again(self, position: Vec3 | None) -> None:
        """Take down another look from here at what one look has shown."""
        for id in self.glimpsed(position):
            looks, spot = self._glimpsed[id]
            self._glimpsed[id] = (looks + 1, spot)

    def seen_now(self) -> frozenset[str]:
        """Return the things that the last look shows."""
        return frozenset(id for id, step in self._seen.items() if step == self._step)

    def seen_on(self, thing: SceneObject | None, goal: SceneObject | None, after: int = -1) -> bool:
        """Whether such a thing was seen on (or in) what it was put on, later than in a step.

        What is in view on the way counts as what a look from the very spot shows.
        """
        kind = kind_of(thing.label.top) if thing is not None else ""
        seen = [self.map.thing(id) for id, step in self._seen.items() if step > after]
        return any(
            one is not None
            and kind_of(one.label.top) == kind
            and (goal is None or goal.id in (one.support, one.container))
            for one in seen
        )

    def found(
        self,
        sub_tasks: Iterable[SubTask],
        words: str,
        holding: str,
        position: Vec3 | None = None,
    ) -> list[Thing]:
        """Return the things a task is about that this robot has seen, but for what it holds.

        What one look has shown, and looks from the same spot have not, is not among them; nor is
        what is about to be looked at again from this `position` [m].
        """
        unsure = set(self.glimpsed(position)) | {
            id
            for id, (looks, _) in self._glimpsed.items()
            if looks >= LOOKS_AGAIN and self._glimpsed_kind(id)
        }
        household = load_household()
        sub_tasks = tuple(sub_tasks)
        labels = {
            household.canonical(thing.label)
            for one in sub_tasks
            for thing in (one.object, one.receptacle)
            if thing is not None
        }
        looked_over = {
            one.receptacle.id for one in sub_tasks if one.kind == "search" and one.receptacle
        }
        said = set(re.findall(r"[a-z]+", words.lower()))
        things = []
        for id_ in self._seen:
            thing = self.map.thing(id_)
            if thing is None or id_ == holding or id_ in unsure:
                continue
            kind = household.canonical(thing.label.top)
            wanted = kind in labels or kind in said or f"{kind}s" in said
            if wanted or {thing.support, thing.container} & looked_over:
                update = {"sightings": thing.observations}
                things.append(as_thing(thing).model_copy(update=update))
        return things

    def happened(self, kind: EventKind, thing: SceneObject | None) -> None:
        """Note for the team what this robot did to a thing, or saw of it, by its own map."""
        if thing is not None and thing.label.top:
            self._events.append(event_of(kind, thing, self.robot, self._time, self.task))

    def not_there(
        self, one: SubTask, attempts: Iterable[Attempt], position: Vec3 | None, doubted: bool
    ) -> None:
        """Tell the team of a thing that was looked for where it was said to be, in vain."""
        thing = self.map.resolve(one.object) if one.object is not None else None
        if thing is None or thing.kind != "item" or one.kind not in ("pick", "detect"):
            return
        if doubted:
            self.happened("gone" if thing.observations > 1 else "doubted", thing)
            return
        missed = (Outcome.NOT_VISIBLE, Outcome.UNKNOWN_TARGET)
        looks = [a for a in attempts if a.outcome in missed]
        since = min((a.seen for a in looks), default=self._step)
        near = position is not None and distance(position, thing.box.center) <= NEAR
        if len(looks) >= SURE and near and self._seen.get(thing.id, -1) < since:
            self.happened("gone", thing)

    def events(self) -> list[ObjectEvent]:
        """Return what became of things since the last call; whoever tells it gives the ids."""
        told, self._events = self._events, []
        return told
