"""Decision `emos.split_task`: a task in words to sub-tasks, each given to a robot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field

from coterie_core.tasks import SubTask, SubTaskKind, Thing
from coterie_llm import (
    CheckFailed,
    Decision,
    Message,
    Tool,
    as_data,
    inline_data,
    prompt_share,
)
from coterie_world.scene import SceneGraph
from coterie_world.sightings import as_thing, kind_of
from emos_planner.allocation.handover import ON_SURFACE
from emos_planner.leader.asked import Bounds
from emos_planner.leader.task_graph import all_before
from emos_planner.lookups import Lookups, opened_by
from emos_planner.map_view import MAP_CHARS, MapView, map_view, rooms_by_floor, whole_lines

_LEAST_MAP, _BRIEF_ROOMS = 900, 600  # characters
MOST_PROBLEMS = 12
"""Mistakes that one refusal names."""
_WHOLE = 10**6  # characters: what a short prompt must not be made of a part of
_SHOWN_ONLY, _BRIEF = 0.5, 0.25
"""Shares of the usual length below which a prompt names only the things that it shows, and says
rules and bodies in brief."""
_SYSTEM = """\
You lead a team of household robots with different bodies. Split the person's task, in whatever \
language it is, into sub-tasks and give each to one robot whose base, sensors and arm can do it, \
so that all is done early and nobody waits in vain. Think first about what is meant and about who \
gets there, sees it and reaches it; then write the sub-tasks.
Lengths are in metres, z is up, heights count from the floor of the room; weights in kilograms, \
times in seconds; a camera's pitch is positive downward. A robot's arm reaches the heights \
given, less far near their ends.
Kinds: go_to (a thing or rooms), search (a label, in rooms), detect (look at a known thing), pick, \
place (object on or into receptacle), open, close.
Rules: name things, rooms and robots by their ids, nothing else. A thing is detected before it is \
picked and picked before it is placed (depends_on). Who picks a thing places it (same_robot_as), \
unless it is handed over: placed where both robots reach, then picked by the other. What is closed \
is opened before it is used. Wheels and tracks take no stairs. Things that are not on the map are \
searched for in the rooms where they are likely. Do what the task asks for, all of it and nothing \
else. Leave robot empty only where no robot's body can do it.
Example: {"reason": "The cup stands 0.8 m high downstairs; only r1 has an arm.", "sub_tasks": \
[{"id": "see", "kind": "detect", "object": "cup-1", "robot": "r1"}, {"id": "take", "kind": \
"pick", "object": "cup-1", "robot": "r1", "depends_on": ["see"]}, {"id": "put", "kind": "place", \
"object": "cup-1", "receptacle": "sink-1", "robot": "r1", "depends_on": ["take"], \
"same_robot_as": "take"}]}"""
_SYSTEM_IN_BRIEF = """\
You lead household robots. Split the person's task into sub-tasks, each for one robot whose body \
can do it. Lengths in metres, heights from the floor, weights in kg.
Kinds: go_to, search (a label, in rooms), detect (look at a thing), pick, place (object on \
receptacle), open, close.
Use ids only. For each thing: detect, then pick, then place; depends_on names what comes before, \
same_robot_as the pick of a place. Open what is closed first. Search for what is not on the map. \
Do all that is asked, nothing else."""


def with_known_ids(plan: Sequence[SubTask], known: Sequence[SubTask]) -> tuple[SubTask, ...]:
    """Return a plan in which what means the same as a known sub-task has its id and its words.

    Args:
        plan: As a model has written it, with ids of its own.
        known: The same task as a rule has split it.
    """
    free: dict[Hashable, dict[str, SubTask]] = {}
    for one in known:
        free.setdefault(_meaning(one), {})[one.id] = one
    twins: dict[str, SubTask] = {}
    for one in sorted(plan, key=lambda one: one.id not in free.get(_meaning(one), ())):
        if same := free.get(_meaning(one)):
            twins[one.id] = same.pop(one.id if one.id in same else next(iter(same)))
    taken = {one.id for one in known}
    names: dict[str, str] = {}
    for one in plan:
        name, n = twins[one.id].id if one.id in twins else one.id, 2
        while one.id not in twins and name in taken:
            name, n = f"{one.id[:50]}-m{n}", n + 1
        names[one.id] = name
        taken.add(name)
    out = []
    for one in plan:
        update: dict[str, object] = {
            "id": names[one.id],
            "depends_on": tuple(names.get(i, i) for i in one.depends_on),
            "same_robot_as": names.get(one.same_robot_as, one.same_robot_as),
        }
        if (twin := twins.get(one.id)) is not None:
            update |= {name: getattr(twin, name) for name in ("description", "enough", "looked")}
            update["receptacle"] = twin.receptacle or one.receptacle
        out.append(one.model_copy(update=update))
    return tuple(out)


class SplitItem(BaseModel):
    """One sub-task as a model writes it."""

    id: str = Field(min_length=1, max_length=60, description="short and unique, e.g. pick-1")
    kind: SubTaskKind
    object: str = Field("", max_length=120, description="id of the thing; empty for search")
    label: str = Field(
        "", max_length=80, description="search only: what is looked for, in English, e.g. mug"
    )
    receptacle: str = Field("", max_length=120, description="place only: id of where to put it")
    rooms: list[str] = Field(
        default_factory=list, max_length=60, description="room ids, of search and go_to"
    )
    robot: str = Field(max_length=60, description="name of the robot that does it")
    depends_on: list[Annotated[str, Field(max_length=60)]] = Field(
        default_factory=list, max_length=60, description="ids of sub-tasks done before"
    )
    same_robot_as: str = Field("", max_length=60, description="place only: id of its pick")


class SplitReply(BaseModel):
    """A task split into sub-tasks, each given to a robot."""

    reason: str = Field(
        "", max_length=2000, description="what is meant, and who can do what; a few sentences"
    )
    sub_tasks: list[SplitItem] = Field(max_length=300)


@dataclass(frozen=True)
class SplitState:
    """A task before it is split.

    Attributes:
        words: The task as a person gave it.
        read: What was read of that, in plain words; "": nothing more than stands in it.
        bounds: What may be moved and opened for it.
        meant: Things (ids) that the words are known to mean.
        robots: Robot -> its body in words.
        brief: The same in a line each, for short prompts.
        now: Robot -> where it stands and what it holds.
        lookups: Bodies in the scene: for tools, and for the check.
        known: The sub-tasks as a rule has made them of what was read, with a solver's robots.
        only: Sub-task of `known` -> the robot that the person named for it.
        map_chars: Most characters that a prompt of usual length spends on the map.
        likeness: Top label of the map -> cosine of its meaning with the task's.
    """

    words: str
    meant: tuple[str, ...]
    robots: Mapping[str, str]
    brief: Mapping[str, str]
    now: Mapping[str, str]
    lookups: Lookups
    known: tuple[SubTask, ...] = ()
    only: Mapping[str, str] = field(default_factory=dict)
    map_chars: int = MAP_CHARS
    likeness: Mapping[str, float] = field(default_factory=dict)
    read: str = ""
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def scene(self) -> SceneGraph:
        """The map: all its things and rooms may be named."""
        return self.lookups.toolbox.scene

    def thing(self, id: str) -> Thing | None:
        """Return a thing of the map; None: it has no such thing."""
        found = self.scene.objects.get(id)
        return as_thing(found) if found is not None else None

    def view(self) -> MapView:
        """Return the map as the prompt that is being made shows it."""
        limit = max(_LEAST_MAP, round(self.map_chars * prompt_share()))
        said = f"{self.words} {self.read}"
        return map_view(self.scene, said, self.meant, limit, self.likeness)

    @property
    def rooms_briefly(self) -> str:
        """The rooms, as a short prompt shows them."""
        return whole_lines(rooms_by_floor(self.scene).splitlines(), _BRIEF_ROOMS, "floors")


def _skill(item: SplitItem, state: SplitState) -> str:
    """Return the skill that the person asked for on an item's object ("": none)."""
    asked = (one.skill for one in state.known if meant_by(one) == item.object)
    return next(filter(None, asked), "") if item.kind == "use" else ""


def searched_label(item: SplitItem) -> str:
    """Return what a search looks for; some models write it where ids belong."""
    return (item.label or item.object).strip()


def meant_by(one: SubTask) -> str:
    """Return what a sub-task is about: a label for a search, else a thing's id ("": rooms)."""
    if one.object is None:
        return ""
    return one.object.label if one.kind == "search" else one.object.id


def end_of(one: SubTask) -> tuple[str, str, str]:
    """Return what a sub-task is to bring about: kind, thing, place."""
    where = one.receptacle.id if one.receptacle and one.kind == "place" else ""
    if one.kind == "go_to" and one.object is None:
        return one.kind, "", ",".join(one.rooms)
    return one.kind, meant_by(one), where


def sub_tasks_of_reply(state: SplitState, reply: SplitReply) -> tuple[SubTask, ...]:
    """Return a reply whose names exist as sub-tasks; those that a rule knows keep their ids."""
    made = []
    for item in reply.sub_tasks:
        thing = state.thing(item.object)
        if item.kind == "search":
            thing = Thing(label=searched_label(item))
        made.append(
            SubTask(
                id=item.id,
                kind=item.kind,
                object=thing,
                receptacle=state.thing(item.receptacle) if item.kind == "place" else None,
                rooms=tuple(item.rooms),
                robot=item.robot,
                depends_on=tuple(dict.fromkeys(i for i in item.depends_on if i != item.id)),
                same_robot_as=item.same_robot_as,
                description=_described(item, state),
                skill=_skill(item, state),
            )
        )
    made = _with_searches(_handed_over(made, state.lookups), state)
    return with_known_ids(made, state.known)


def _with_searches(plan: Sequence[SubTask], state: SplitState) -> list[SubTask]:
    """Return a plan with all searches that a rule needs, each by the robot that a model named.

    Which rooms must be looked over before anything can be claimed is not a model's to say; who goes
    is. A search that it has left out goes to the robot of the rule.
    """
    known = [one for one in state.known if one.kind == "search"]
    labels = {kind_of(meant_by(one)) for one in known}
    mine = [o for o in plan if o.kind == "search" and kind_of(meant_by(o)) in labels]
    out = [one for one in plan if one not in mine]
    names: dict[str, str] = {}
    for one in known:
        alike = [o for o in mine if kind_of(meant_by(o)) == kind_of(meant_by(one))]
        alike.sort(key=lambda o: -len(set(o.rooms) & set(one.rooms)))
        for other in alike:
            names.setdefault(other.id, one.id)
        wanted = [*[other.robot for other in alike if other.robot][:1], one.robot, *state.robots]
        found = state.lookups.estimates(one, [robot for robot in wanted if robot])
        able = [robot for robot in found if found[robot].feasible]
        out.append(one.model_copy(update={"robot": able[0] if able else ""}))
    return [
        one.model_copy(update={"depends_on": tuple(names.get(i, i) for i in one.depends_on)})
        for one in out
    ]


def _handed_over(plan: Sequence[SubTask], lookups: Lookups) -> list[SubTask]:
    """Return a plan in which a thing that another robot has put down is taken from there.

    The map still has it where it was, so that sub-task names a place instead of an id.
    """
    by_id = {one.id: one for one in plan}
    out = []
    for one in plan:
        puts = [
            put
            for put in (by_id.get(id) for id in one.depends_on)
            if put and put.kind == "place" and one.kind == "pick" and put.object == one.object
        ]
        if not puts or one.object is None or puts[-1].receptacle is None:
            out.append(one)
            continue
        put = puts[-1]
        assert put.receptacle is not None
        found = lookups.estimates(put, (put.robot,))[put.robot] if put.robot else None
        at = found.target if found is not None and found.target else put.receptacle.position
        lies = (at[0], at[1], at[2] + ON_SURFACE) if at is not None else None
        there = Thing(label=one.object.label, position=lies, room=put.receptacle.room)
        out.append(one.model_copy(update={"object": there}))
    return out


def _meaning(one: SubTask) -> tuple[object, ...]:
    return (*end_of(one), one.rooms if one.kind == "search" else ())


def _described(item: SplitItem, state: SplitState) -> str:
    rooms = ", ".join(state.scene.rooms[room].name for room in item.rooms)
    where = f" on {item.receptacle}" if item.receptacle else f" in {rooms}" if rooms else ""
    what = searched_label(item) if item.kind == "search" else item.object
    verb = {"go_to": "go to", "search": "look for", "detect": "look at", "pick": "pick up"}
    return f"{verb.get(item.kind, item.kind)} {what}{where}".strip()


class SplitTask(Decision[SplitState, SplitReply]):
    """Split a task into sub-tasks and give each to a robot whose body can do it."""

    name: ClassVar[str] = "emos.split_task"
    reply_type: ClassVar[type[BaseModel]] = SplitReply
    max_tokens: ClassVar[int] = 4000

    def prompt(self, state: SplitState) -> Sequence[Message]:
        """Show bodies, house, things, and the task; what changes most stands last."""
        view = state.view()
        things = view.things or "nothing on the map is named by the words"
        brief = prompt_share() < _BRIEF
        if brief:
            parts = [as_data("robots", dict(state.brief), limit=_WHOLE)]
        else:
            parts = [
                as_data(f"robot {name}", text, limit=_WHOLE)
                for name, text in sorted(state.robots.items())
            ]
        for label, text in (
            ("rooms and ways", view.house)
            if not brief
            else ("rooms by floor", state.rooms_briefly),
            ("other things", view.others),
            ("things of the task", things),
        ):
            parts.append(as_data(label, text, limit=_WHOLE))  # cut to its length already
        parts.append(as_data("robots now", dict(state.now), limit=_WHOLE))
        parts.append(as_data("task", state.words[:2000], limit=_WHOLE))
        if state.read:
            parts.append(as_data("task as it was read", state.read[:2000], limit=_WHOLE))
        system = _SYSTEM_IN_BRIEF if brief else _SYSTEM
        return (Message.system(system), Message.user("\n".join(parts)))

    def most_tokens(self, state: SplitState) -> int:
        """Room for twice as many sub-tasks as the solver has; a list that goes on ends there."""
        return min(self.max_tokens, 300 + 150 * max(3, len(state.known)))

    def options(self, state: SplitState) -> Mapping[str, Sequence[str]]:
        """Return robots, rooms, and the things' ids unless they would fill the prompt."""
        valid: dict[str, Sequence[str]] = {
            "sub_tasks[].robot": [*sorted(state.robots), ""],
            "sub_tasks[].rooms[]": list(state.scene.rooms),
        }
        short = prompt_share() < _SHOWN_ONLY
        things = state.view().shown if short else tuple(state.scene.objects)
        if sum(len(id) + 4 for id in things) <= state.map_chars // 4:
            names = ["", *things]
            valid |= {"sub_tasks[].object": names, "sub_tasks[].receptacle": names}
        return valid

    def tools(self, state: SplitState) -> Sequence[Tool[Any]]:
        """Return look-ups on the map, and of what bodies reach, see and get to."""
        return state.lookups.tools()

    def check(self, state: SplitState, reply: SplitReply) -> None:
        """Check names, order, what is moved and by whom, and what the bodies can do.

        Raises:
            CheckFailed: Names the mistakes, with the numbers where a body cannot do it.
        """
        problems = mistakes(state, reply)
        if problems:
            more = len(problems) - MOST_PROBLEMS
            raise CheckFailed(
                "; ".join(problems[:MOST_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")
            )

    def rule(self, state: SplitState) -> SplitReply:
        """Return the solver's plan."""
        return SplitReply(
            sub_tasks=[
                SplitItem(
                    id=one.id,
                    kind=one.kind,
                    object=_thing(one, state),
                    label=one.object.label if one.kind == "search" and one.object else "",
                    receptacle=one.receptacle.id if one.receptacle else "",
                    rooms=list(one.rooms),
                    robot=one.robot,
                    depends_on=list(one.depends_on),
                    same_robot_as=one.same_robot_as,
                )
                for one in state.known
            ]
        )


def _thing(one: SubTask, state: SplitState) -> str:
    """Return the id of a sub-task's thing ("": none, or a search)."""
    if one.kind == "search" or one.object is None:
        return ""
    if one.object.id:
        return one.object.id
    # Taken from where another robot puts it: the same thing as that one has.
    puts = [o.object for o in state.known if o.id in one.depends_on and o.kind == "place"]
    return next((thing.id for thing in puts if thing is not None), "")


def mistakes(state: SplitState, reply: SplitReply) -> list[str]:
    """Return what is wrong with a reply, each with what to do; empty if nothing is.

    Names and order first; then what is moved that nobody asked for, or by another robot than the
    person named; then, with its numbers, what a body cannot do.
    """
    if not reply.sub_tasks:
        return ["there are no sub-tasks; name at least one"]
    problems = [*_wrong_names(state, reply), *_wrong_order(reply), *_twice(reply)]
    if problems:
        return problems
    plan = sub_tasks_of_reply(state, reply)
    wrong = [*_not_asked(state, reply), *_wrong_robots(state, plan)]
    return wrong or _beyond_bodies(state, plan)


def _beyond_bodies(state: SplitState, plan: Sequence[SubTask]) -> list[str]:
    """Return what robots cannot do, with the reasons of the tools, and who could be named."""
    problems, opened = [], opened_by(plan)
    left = {end_of(one) for one in state.known if not one.robot}
    for one in plan:
        if not one.robot and end_of(one) in left:
            continue
        robots = (one.robot,) if one.robot else tuple(state.robots)
        found = state.lookups.estimates(one, robots, opened)
        able = [robot for robot, estimate in found.items() if estimate.feasible]
        if one.robot and not able:
            why = inline_data(found[one.robot].reason, limit=300)
            problems.append(f"{inline_data(one.id)}: {one.robot} cannot do it: {why}")
        elif able and not one.robot:
            problems.append(f"{inline_data(one.id)}: no robot is named; {' or '.join(able)} can")
    return problems


def _wrong_robots(state: SplitState, plan: Sequence[SubTask]) -> list[str]:
    """Return what is given to another robot than the person named for it."""
    return [
        f"{inline_data(one.id)}: the person asked for {state.only[one.id]} by name"
        for one in plan
        if one.robot and state.only.get(one.id, one.robot) != one.robot
    ]


def _wrong_names(state: SplitState, reply: SplitReply) -> list[str]:
    things, rooms = state.scene.objects, state.scene.rooms
    problems = []
    seen: set[str] = set()
    for item in reply.sub_tasks:
        where = f"sub-task {inline_data(item.id)}"
        if item.id in seen:
            problems.append(f"{where} comes twice; give each its own id")
        seen.add(item.id)
        if item.robot and item.robot not in state.robots:
            problems.append(
                f"{where}: there is no robot {inline_data(item.robot)}; there are "
                f"{', '.join(state.robots)}"
            )
        if item.kind == "search":
            if not searched_label(item):
                problems.append(f"{where}: search needs the label of what is looked for")
        elif item.kind != "go_to" and item.object not in things:
            problems.append(
                f"{where}: the map has no thing with id {inline_data(item.object)}; what is not "
                "on it is searched for"
            )
        elif item.kind == "go_to" and not item.rooms and item.object not in things:
            problems.append(f"{where}: go_to needs a known thing or rooms")
        if item.kind == "use" and not _skill(item, state):
            problems.append(f"{where}: nobody asked for a skill to be used on that")
        if item.kind == "place" and item.receptacle not in things:
            problems.append(f"{where}: no receptacle with id {inline_data(item.receptacle)}")
        unknown = (room for room in item.rooms if room not in rooms)
        problems += [f"{where}: no room {inline_data(room)}" for room in unknown]
    return problems


def _wrong_order(reply: SplitReply) -> list[str]:
    problems = []
    items = {item.id: item for item in reply.sub_tasks}
    before = _before(reply)
    for item in reply.sub_tasks:
        where = f"sub-task {inline_data(item.id)}"
        unknown = [i for i in (*item.depends_on, item.same_robot_as) if i and i not in items]
        if unknown:
            problems.append(f"{where}: no sub-task {inline_data(unknown[0])} to depend on")
        partner = items.get(item.same_robot_as)
        if partner is not None and partner.robot != item.robot:
            problems.append(f"{where}: must be done by {partner.robot}, who does {partner.id}")
        picks = [other for other in _same(item, items, before, "pick") if other.robot == item.robot]
        if item.kind == "place" and not picks:
            problems.append(f"{where}: {item.robot} places what it has not picked before")
    ring = next((id for id in items if id in before[id]), None)
    return problems + [f"sub-task {inline_data(ring)} waits for itself"] * (ring is not None)


def _before(reply: SplitReply) -> dict[str, set[str]]:
    """Return sub-task -> all that must be done before it."""
    waits = {item.id: item.depends_on for item in reply.sub_tasks}
    return {id: all_before(id, waits) for id in waits}


def _same(
    item: SplitItem, items: Mapping[str, SplitItem], before: Mapping[str, set[str]], kind: str
) -> list[SplitItem]:
    """Return what is done to an item's object before it, of a kind."""
    earlier = (items[id] for id in before[item.id])
    return [other for other in earlier if other.kind == kind and other.object == item.object]


def _twice(reply: SplitReply) -> list[str]:
    """Return what is picked up again before it is put down, or by two robots at the same time."""
    before = _before(reply)
    takes = [item for item in reply.sub_tasks if item.kind == "pick"]
    picks = Counter(item.object for item in takes)
    puts = Counter(item.object for item in reply.sub_tasks if item.kind == "place")
    return [
        f"{inline_data(thing)} is picked up {picks[thing]} and put down {puts[thing]} times; give "
        "it to one robot, once"
        for thing in sorted(picks | puts)
        if not puts[thing] <= picks[thing] <= max(puts[thing], 1)
    ] + [
        f"{one.robot} ({inline_data(one.id)}) and {other.robot} both take "
        f"{inline_data(one.object)}; leave it to one"
        for one, other in combinations(takes, 2)
        if one.object == other.object and one.robot != other.robot
        if one.id not in before[other.id] and other.id not in before[one.id]
    ]


def _not_asked(state: SplitState, reply: SplitReply) -> list[str]:
    """Return what is moved or opened and fits nothing that was asked for.

    A text on the map or in a message must not have robots move what no person spoke of.
    """
    items = {item.id: item for item in reply.sub_tasks}
    places, problems = state.bounds.places, []
    before = _before(reply)
    on_the_way = {
        put.id
        for item in reply.sub_tasks
        if item.kind == "pick"
        for put in _same(item, items, before, "place")
    }
    for item in reply.sub_tasks:
        thing = inline_data(item.object)
        if item.kind in ("pick", "place") and item.object not in places:
            problems.append(f"{thing} is not to be moved; nothing that was asked for is one")
        elif item.kind == "place" and item.id not in on_the_way:
            if item.receptacle not in places[item.object]:
                problems.append(f"{thing} is not to end on {inline_data(item.receptacle)}")
        if item.kind in ("open", "close") and item.object not in state.bounds.opened:
            problems.append(f"{thing} need not be {'opened' if item.kind == 'open' else 'closed'}")
    return problems
