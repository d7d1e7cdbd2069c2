"""What a leader's model is told of a task before it is split, and what it replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from coterie_core.tasks import SubTask, SubTaskKind, Thing
from coterie_llm.fence import prompt_share
from coterie_world.sightings import kind_of
from emos_planner.leader.plan_ids import with_known_ids
from emos_planner.lookups import Lookups
from emos_planner.map_view import MAP_CHARS, MapView, map_view, rooms_by_floor, whole_lines

_LEAST_MAP, _BRIEF_ROOMS = 900, 600  # characters
_ON_SURFACE = 0.05  # [m] above a surface that the middle of a small thing lies


class Reply(BaseModel):
    """What replies of models have in common: fields that nobody asked for are passed over."""

    model_config = ConfigDict(extra="ignore")


class SplitItem(Reply):
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


class SplitReply(Reply):
    """A task split into sub-tasks, each given to a robot."""

    reason: str = Field(
        "", max_length=2000, description="what is meant, and who can do what; a few sentences"
    )
    order: str = Field(
        "",
        max_length=400,
        description="the task as one plain English order that names things and rooms, e.g. "
        "'bring two mugs to the kitchen counter'",
    )
    sub_tasks: list[SplitItem] = Field(max_length=300)


@dataclass(frozen=True)
class SplitState:
    """A task before it is split.

    Attributes:
        words: The task as a person gave it.
        meant: Things (ids) that the words are known to mean.
        things: All things of the map, by id: what may be named.
        rooms: Room id -> name.
        robots: Robot -> its body in words.
        brief: The same in a line each, for short prompts.
        now: Robot -> where it stands and what it holds.
        lookups: Bodies in the scene: for tools, and for the check.
        basis: The sub-tasks that a rule has made of the words; empty: it did not understand them.
        second: The same with a solver's robots.
        only: Sub-task of `basis` -> the robot that the person named for it.
        map_chars: Most characters that a prompt of usual length spends on the map.
        likeness: Top label of the map -> cosine of its meaning with the task's.
    """

    words: str
    meant: tuple[str, ...]
    things: Mapping[str, Thing]
    rooms: Mapping[str, str]
    robots: Mapping[str, str]
    brief: Mapping[str, str]
    now: Mapping[str, str]
    lookups: Lookups
    basis: tuple[SubTask, ...] = ()
    second: tuple[SubTask, ...] = ()
    only: Mapping[str, str] = field(default_factory=dict)
    map_chars: int = MAP_CHARS
    likeness: Mapping[str, float] = field(default_factory=dict)

    def view(self) -> MapView:
        """Return the map as the prompt that is being made shows it."""
        limit = max(_LEAST_MAP, round(self.map_chars * prompt_share()))
        scene = self.lookups.toolbox.scene
        return map_view(scene, self.words, self.meant, limit, self.likeness)

    @property
    def rooms_briefly(self) -> str:
        """The rooms, as a short prompt shows them."""
        return whole_lines(
            rooms_by_floor(self.lookups.toolbox.scene).splitlines(), _BRIEF_ROOMS, "floors"
        )


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
        thing = state.things.get(item.object)
        if item.kind == "search":
            thing = Thing(label=searched_label(item))
        made.append(
            SubTask(
                id=item.id,
                kind=item.kind,
                object=thing,
                receptacle=state.things.get(item.receptacle) if item.kind == "place" else None,
                rooms=tuple(item.rooms),
                robot=item.robot,
                depends_on=tuple(dict.fromkeys(i for i in item.depends_on if i != item.id)),
                same_robot_as=item.same_robot_as,
                description=_described(item, state),
            )
        )
    made = _with_searches(_handed_over(made, state.lookups), state)
    return with_known_words(with_known_ids(made, known_of(state), _meaning), known_of(state))


def _with_searches(plan: Sequence[SubTask], state: SplitState) -> list[SubTask]:
    """Return a plan with all searches that a rule needs, each by the robot that a model named.

    Which rooms must be looked over before anything can be claimed is not a model's to say; who goes
    is. A search that it has left out goes to the robot of the rule.
    """
    known = [one for one in known_of(state) if one.kind == "search"]
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
        lies = (at[0], at[1], at[2] + _ON_SURFACE) if at is not None else None
        there = Thing(label=one.object.label, position=lies, room=put.receptacle.room)
        out.append(one.model_copy(update={"object": there}))
    return out


def known_of(state: SplitState) -> tuple[SubTask, ...]:
    """Return the sub-tasks that a rule has made, with hand-overs where there are any."""
    return state.second or state.basis


def with_known_words(plan: Sequence[SubTask], known: Sequence[SubTask]) -> tuple[SubTask, ...]:
    """Return a plan in which known sub-tasks keep their words, and how much a search must see."""
    by_id = {one.id: one for one in known}
    return tuple(
        one.model_copy(
            update={
                "description": was.description,
                "enough": was.enough,
                "looked": was.looked,
                "receptacle": was.receptacle or one.receptacle,
            }
        )
        if (was := by_id.get(one.id)) is not None and _meaning(was) == _meaning(one)
        else one
        for one in plan
    )


def _meaning(one: SubTask) -> tuple[object, ...]:
    return (*end_of(one), one.rooms if one.kind == "search" else ())


def _described(item: SplitItem, state: SplitState) -> str:
    rooms = ", ".join(state.rooms.get(room, room) for room in item.rooms)
    where = f" on {item.receptacle}" if item.receptacle else f" in {rooms}" if rooms else ""
    what = searched_label(item) if item.kind == "search" else item.object
    verb = {"go_to": "go to", "search": "look for", "detect": "look at", "pick": "pick up"}
    return f"{verb.get(item.kind, item.kind)} {what}{where}".strip()
