"""TeamMemory: what a team did, saw and moved, for the next task, question and request.

Maps that were given, observations of all robots and what robots did to objects become one scene
graph, in which every object has a confidence that falls with age and with looks that do not show
it (`coterie_world.permanence`). A thing that was moved leaves its old place at once, and a trace.
"""

from __future__ import annotations

import copy

from coterie_core.embedding import keep_one_dimension
from coterie_core.geometry import Box
from coterie_world.permanence import age_text
from coterie_world.scene import SceneGraph
from coterie_world.team_memory import looks, maps, moves
from coterie_world.team_memory.store import Store, Trace, alike

MIN_CONFIDENCE = 0.1
"""Things below this confidence are not in `scene`: nobody should plan with them."""


class TeamMemory(Store):
    """A team's memory; plain and synchronous, fed with what comes in, asked for a `scene`.

    Args:
        house: Name of the house; memories of two houses are never mixed.
        bounds: Limits of what is remembered.
    """

    adopt = maps.adopt
    observe = looks.observe
    note = moves.note

    def scene(self) -> SceneGraph:
        """Return a copy of all that is still believed, with confidences, as a map.

        What is in a robot's hand has no room and is where that robot is.
        """
        known = copy.deepcopy(self.graph)
        for id_, thing in list(known.objects.items()):
            thing.confidence = self.confidence(id_)
            holder = known.agents.get(self.beliefs[id_].held_by)
            if holder is not None:
                x, y, z = holder.pose.position
                thing.box = Box((x, y, z + 1.0), thing.box.size, thing.box.yaw)
            if thing.confidence < MIN_CONFIDENCE:
                del known.objects[id_]
        for thing in known.objects.values():
            thing.support = thing.support if thing.support in known.objects else ""
            thing.container = thing.container if thing.container in known.objects else ""
        keep_one_dimension(known.objects.values())
        return known

    def left(self, label: str, room: str = "") -> Trace | None:
        """Return the newest trace of such a thing that left a room ("": any) and is not back.

        What was moved comes before what was merely not found. A thing that was put down in the
        room it came from has not left it.
        """
        for trace in sorted(self.traces, key=lambda t: (t.gone, -t.time)):
            if not alike(trace.label, label) or (room and trace.from_room != room):
                continue
            thing = self.graph.objects.get(trace.object)
            back = thing is not None and thing.room == trace.from_room != ""
            if trace.to_room != trace.from_room and not back:
                return trace
        return None

    def words(self, trace: Trace) -> str:
        """Return what a trace tells, for people: who brought what from where to where, when."""

        def named(room: str) -> str:
            known = self.graph.rooms.get(room)
            return known.name if known is not None else room

        start = f" from the {named(trace.from_room)}" if trace.from_room else ""
        when = age_text(self.time - trace.time)
        if trace.gone:
            place = f" in the {named(trace.from_room)}" if trace.from_room else ""
            return f"{trace.robot} looked for the {trace.label}{place} {when}: it was not there"
        if not trace.to_room:
            return f"{trace.robot} took the {trace.label}{start} {when} and has it in its hand"
        return (
            f"{trace.robot} brought the {trace.label}{start} to the {named(trace.to_room)} {when}"
        )
