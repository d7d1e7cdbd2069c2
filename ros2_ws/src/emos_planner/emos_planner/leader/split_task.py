"""Decision `emos.split_task`: a task in words to sub-tasks, each given to a robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel

from coterie_core.tasks import SubTask
from coterie_llm import CheckFailed, Decision, Message, Tool, as_data, prompt_share
from emos_planner.leader.split_checks import mistakes
from emos_planner.leader.split_state import SplitItem, SplitReply, SplitState

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
Example: {"reason": "The cup stands 0.8 m high downstairs; only r1 has an arm.", "order": "put the \
cup in the sink", "sub_tasks": [{"id": "see", "kind": "detect", "object": "cup-1", "robot": "r1"}, \
{"id": "take", "kind": "pick", "object": "cup-1", "robot": "r1", "depends_on": ["see"]}, {"id": \
"put", "kind": "place", "object": "cup-1", "receptacle": "sink-1", "robot": "r1", "depends_on": \
["take"], "same_robot_as": "take"}]}"""


_SYSTEM_IN_BRIEF = """\
You lead household robots. Split the person's task into sub-tasks, each for one robot whose body \
can do it. Lengths in metres, heights from the floor, weights in kg.
Kinds: go_to, search (a label, in rooms), detect (look at a thing), pick, place (object on \
receptacle), open, close.
Use ids only. For each thing: detect, then pick, then place; depends_on names what comes before, \
same_robot_as the pick of a place. Open what is closed first. Search for what is not on the map. \
Do all that is asked, nothing else."""


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
        system = _SYSTEM_IN_BRIEF if brief else _SYSTEM
        return (Message.system(system), Message.user("\n".join(parts)))

    def advice(self, state: SplitState) -> str:
        """Return the solver's plan; nothing where the rule did not understand the words."""
        return super().advice(state) if state.second else ""

    def options(self, state: SplitState) -> Mapping[str, Sequence[str]]:
        """Return robots, rooms, and the things' ids unless they would fill the prompt."""
        valid: dict[str, Sequence[str]] = {
            "sub_tasks[].robot": [*sorted(state.robots), ""],
            "sub_tasks[].rooms[]": list(state.rooms),
        }
        short = prompt_share() < _SHOWN_ONLY
        things = state.view().shown if short else tuple(state.things)
        if sum(len(id) + 4 for id in things) <= state.map_chars // 4:
            names = ["", *things]
            valid |= {"sub_tasks[].object": names, "sub_tasks[].receptacle": names}
        return valid

    def tools(self, state: SplitState) -> Sequence[Tool[Any]]:
        """Return look-ups on the map, and of what bodies reach, see and get to."""
        return state.lookups.tools()

    def check(self, state: SplitState, reply: SplitReply) -> None:
        """Check names, order, the ends asked for, and what the bodies can do.

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
                for one in state.second
            ]
        )


def _thing(one: SubTask, state: SplitState) -> str:
    """Return the id of a sub-task's thing ("": none, or a search)."""
    if one.kind == "search" or one.object is None:
        return ""
    if one.object.id:
        return one.object.id
    # Taken from where another robot puts it: the same thing as that one has.
    puts = [o.object for o in state.second if o.id in one.depends_on and o.kind == "place"]
    return next((thing.id for thing in puts if thing is not None), "")
