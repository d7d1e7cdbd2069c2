"""What robots did to the things that a question is about."""

from __future__ import annotations

from coterie_world.team_memory import TeamMemory
from openeqa_agent.understood import OpenQuestion

_KINDS = ("is_there", "where", "which_room", "how_many")


def moved_since(question: OpenQuestion, team: TeamMemory) -> str:
    """Return who brought such a thing from where to where; empty where nobody did.

    Only for questions about where things are. A question about one room is about what left it.
    """
    name, room = question.target.name, question.target.room
    if question.kind not in _KINDS or not name:
        return ""
    known = team.graph.room_named(room) if room else None
    if room and known is None:
        return ""
    trace = team.left(name, known.id if known is not None else "")
    return team.words(trace) if trace is not None and not trace.gone else ""
