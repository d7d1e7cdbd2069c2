"""Scope of a goal (rooms of its target and on the way, things, speed), and its digest."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from coterie_core.geometry import Vec3
from coterie_core.household import load_household, normalized, singulars
from coterie_core.skill_registry import spec_of
from coterie_core.skills import NavigateTo, Skill, SkillSpec, Target
from coterie_llm.fence import inline_data
from coterie_safety.guard.area import rooms_called
from coterie_safety.stop import one_line
from coterie_world.association import PERMIT_RADIUS_M
from coterie_world.scene import SceneGraph
from coterie_world.scene.regions import Regions

TASK = "task"
"""Name in place of a skill's where a whole team is to do a task."""
MAX_TASK_CHARS = 300
"""Longest task that a person is asked for [characters]: they have to read all of it."""
_PATH_STEP_M = 0.25
"""Distance between the points of a path whose rooms are looked up [m]."""
_AS_NEAR = 0.05
"""Things that are farther from a target than the nearest by no more than this may be meant [m]."""
_MAX_LABEL_CHARS = 60
_ENDS = str.maketrans({'"': "'", ";": ","})


@dataclass(frozen=True, slots=True)
class PermitGoal:
    """A physical goal as permits see it. Its texts are data.

    Attributes:
        robot: Robot that does it.
        skill: Name of the skill, or `dock`.
        what: The goal in words.
        why: Purpose of the goal, as its sender states it.
        rooms: Ids of the rooms of its target and on the way.
        strays: Whether it touches a spot of which nobody knows the room.
        objects: Labels of the things it touches: as told, and as the map has them.
        speed: Highest speed of the robot [m/s]; infinite: its own node decides.
        digest: SHA-256 of robot, skill, target, speed, exactly.
        action: Id of the action's goal that it came as, for the log; "": it came otherwise.
    """

    robot: str
    skill: str
    what: str
    why: str = ""
    rooms: tuple[str, ...] = ()
    strays: bool = False
    objects: tuple[str, ...] = ()
    speed: float = 0.0
    digest: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True)
class TeamTask:
    """A task for a team in words, proposed by an assistant.

    Attributes:
        words: The task, one line.
        max_time: Simulated time it may take [s]; 0: the leader's default.
    """

    words: str
    max_time: float = 0.0

    def goal(self, asker: str, why: str = "") -> PermitGoal:
        """Return it as permits see it.

        Args:
            asker: Name of who asks for it, which stands for the robot.
            why: Purpose of the task.

        Raises:
            ValueError: No words, too many, or characters that nobody sees: a person has to see
                exactly what is going to be done.
        """
        plain = inline_data(self.words, limit=MAX_TASK_CHARS)
        if not self.words or plain != self.words or not 0.0 <= self.max_time < math.inf:
            raise ValueError(
                f"a task is one line of 1 to {MAX_TASK_CHARS} characters that can be seen, got "
                f"{len(self.words)}"
            )
        what = f'have the team do the task "{self.words}"'
        if self.max_time:
            what += f", for at most {self.max_time:g} s"
        digest = digest_of(asker, self, None, 0.0)
        return PermitGoal(asker, TASK, what, _others_words(why), strays=True, digest=digest)


class Surroundings:
    """The rooms, things and places of a map, for what goals touch.

    Args:
        scene: The map; None: nothing is known.
    """

    def __init__(self, scene: SceneGraph | None = None) -> None:
        self._scene = scene or SceneGraph()
        self._regions = Regions(self._scene)
        self._called: dict[tuple[tuple[str, ...], bool], frozenset[str]] = {}

    def name(self, room: str) -> str:
        """Return what people call a room."""
        known = self._scene.rooms.get(room)
        return known.name if known is not None else room

    def called(self, names: tuple[str, ...], *, exactly: bool) -> frozenset[str]:
        """Return ids of the rooms that names mean.

        Args:
            names: Names, kinds or ids.
            exactly: Whether a name that one room has means no others of that kind.
        """
        key = (names, exactly)
        if key not in self._called:
            found = {room.id for name in names for room in rooms_called(self._scene, name)}
            if not exactly:
                said = {name.strip().lower() for name in names}
                rooms = self._scene.rooms.values()
                found |= {room.id for room in rooms if room.type.lower() in said}
            self._called[key] = frozenset(found)
        return self._called[key]

    def rooms_of(self, points: Sequence[Vec3]) -> tuple[tuple[str, ...], bool]:
        """Return ids of the rooms that points [m] lie in, in order; whether some lie in none."""
        if not self._scene.rooms:
            return (), bool(points)
        found = [self._regions.room_at(point) for point in points]
        return tuple(dict.fromkeys(room for room in found if room)), not all(found)

    def way(self, start: Vec3, goal: Vec3) -> list[Vec3]:
        """Return about the way between two positions [m]: over the map's places, else straight."""
        over = self._over_places(start, goal)
        return dense([start, *over, goal])

    def _over_places(self, start: Vec3, goal: Vec3) -> list[Vec3]:
        places = self._scene.places
        if not places:
            return []
        first, last = (
            min(places.values(), key=lambda p: (math.dist(p.position, point), p.id)).id
            for point in (start, goal)
        )
        before: dict[str, str] = {}
        done: set[str] = set()
        queue = [(0.0, first, "")]
        while queue:
            length, here, came = heapq.heappop(queue)
            if here in done:
                continue
            done.add(here)
            before[here] = came
            if here == last:
                break
            for other, link in self._scene.neighbours(here).items():
                if other not in done:
                    heapq.heappush(queue, (length + link.length, other, here))
        if last not in before:
            return []
        found = [last]
        while before[found[-1]]:
            found.append(before[found[-1]])
        return [places[id_].position for id_ in reversed(found)]

    def labels(self, target: Target) -> tuple[str, ...]:
        """Return what a target is called: as told, and as the map has what is there."""
        labels = [target.label]
        things = self._scene.objects
        if target.instance in things:
            labels.append(things[target.instance].label.top)
        away = {id_: thing.box.distance(target.position) for id_, thing in things.items()}
        least = min(away.values(), default=math.inf)
        if least <= PERMIT_RADIUS_M:
            # What stands on a table, or in a cupboard, is meant, and not that.
            items = [away[id_] for id_, thing in things.items() if thing.kind == "item"]
            item = min(items, default=math.inf)
            first, only = (item, "item") if item <= least + _AS_NEAR else (least, "")
            labels += [
                thing.label.top
                for id_, thing in sorted(things.items(), key=lambda one: (away[one[0]], one[0]))
                if away[id_] <= first + _AS_NEAR and only in ("", thing.kind)
            ]
        lines = map(_label, labels)
        return tuple(dict.fromkeys(line for line in lines if line))

    def goal(
        self,
        robot: str,
        skill: Skill | str,
        here: Vec3 | None,
        speed: float,
        *,
        spot: Vec3 | None = None,
        holding: str = "",
        why: str = "",
        action: str = "",
    ) -> PermitGoal:
        """Return a goal as permits see it.

        Args:
            robot: Robot that does it.
            skill: The skill, or `dock`.
            here: Position of the robot [m]; None: not known.
            speed: Its highest speed [m/s]; infinite: its own node decides.
            spot: Position [m] of the place that a NavigateTo names.
            holding: Label of what it holds.
            why: Purpose of the goal.
            action: Id of the action's goal that it came as.

        Raises:
            SkillRefused: The skill is not in the table of skills, or has no words there.
        """
        spec = spec_of(skill)
        target, held = spec.target(skill), _label(holding) if spec.holds else ""
        points: list[Vec3] | None = [here] if here is not None else None
        objects: tuple[str, ...] = ()
        end: Vec3 | None = getattr(skill, "position", None)
        if spec.kind is None:
            points = None  # the robot's driver knows the way
        elif isinstance(skill, NavigateTo):
            end = spot if skill.place else skill.position
            known = here is not None and end is not None
            points = self.way(here, end) if known else [end] if end is not None else None  # type: ignore[arg-type]
        elif target is not None:
            points = [target.position]
            objects = self.labels(target) if spec.thing else (_label(target.label),)
        elif end is not None:
            points = [end]
        rooms, strays = self.rooms_of(points or [])
        goal = PermitGoal(
            robot,
            spec.name,
            "",
            _others_words(why),
            rooms,
            strays or not points or (spec.kind is NavigateTo and here is None),
            tuple(o for o in (*objects, held) if o),
            speed,
            digest_of(robot, skill, spot, speed),
            action,
        )
        return replace(goal, what=self._words(spec, goal, target, end, held))

    def _words(
        self, spec: SkillSpec, goal: PermitGoal, target: Target | None, end: Vec3 | None, held: str
    ) -> str:
        """Return a goal in words."""
        there = self.name(goal.rooms[-1]) if goal.rooms else ""
        words = spec.words.format(
            at=f"({end[0]:.2f}, {end[1]:.2f}, {end[2]:.2f})" if end is not None else "somewhere",
            thing=f"the {_label(target.label)}" if target is not None else "something",
            held=f"the {held}" if held else "what it holds",
        )
        return words + (f" in {one_line(there)}" if there else "")


def _label(text: str) -> str:
    return _others_words(text)[:_MAX_LABEL_CHARS]


def _others_words(text: str) -> str:
    """Return a text of somebody else without what ends it in a request's line."""
    return one_line(text).translate(_ENDS)


def skill_name(skill: Skill | TeamTask | str) -> str:
    """Return the name of a skill that team files have for it; `TASK` of a task."""
    if isinstance(skill, TeamTask):
        return TASK
    return spec_of(skill).name


def dense(points: Sequence[Vec3]) -> list[Vec3]:
    """Return a path's points [m] with further ones between them."""
    found = list(points[:1])
    for a, b in itertools.pairwise(points):
        count = max(math.ceil(math.dist(a, b) / _PATH_STEP_M), 1)
        for k in range(1, count + 1):
            t = k / count
            found.append(
                (a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2]))
            )
    return found


def digest_of(robot: str, skill: Skill | TeamTask | str, spot: Vec3 | None, speed: float) -> str:
    """Return the SHA-256 of exactly what a robot, or a team, is to do, hexadecimal."""
    exact = {
        "robot": robot,
        "skill": skill_name(skill),
        "goal": {} if isinstance(skill, str) else asdict(skill),
        "spot": spot,
        "speed": speed,
    }
    return hashlib.sha256(canonical(exact)).hexdigest()


def canonical(value: object) -> bytes:
    """Return plain data as the one JSON text that it has."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return text.encode("ascii")


def is_thing(label: str, name: str, *, loosely: bool = False) -> bool:
    """Tell whether a label is of a kind or group that a rule names.

    Args:
        label: Label of a thing, from a detector or a model.
        name: Kind or group that a rule names.
        loosely: Whether synonyms count, and labels that only mention it ("toy knife", of "knife").
    """
    household = load_household()
    names = {normalized(member) for member in household.members(normalized(name))}
    said = normalized(label)
    if not names.isdisjoint((said, *singulars(said))):
        return True
    if not loosely:
        return False
    for category in filter(None, map(household.category, tuple(names))):
        if normalized(category.label) in names:  # a kind of its own, not what only ends with one
            names |= {normalized(other) for other in category.synonyms}
    words = {form for word in said.split() for form in (word, *singulars(word))}
    return household.canonical(label) in names or any(words.issuperset(n.split()) for n in names)
