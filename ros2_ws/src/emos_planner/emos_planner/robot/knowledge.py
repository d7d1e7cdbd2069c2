"""What a robot tells who asks it in words: how it is, and what its map holds of what is asked."""

from __future__ import annotations

from coterie_core.tasks import RobotReport
from coterie_llm import inline_data
from coterie_requests.asking import ANSWER_CHARS
from coterie_world.scene import SceneGraph
from emos_planner.map_view import SAID, ranks, thing_line

_MOST_THINGS = 8


def known_of(question: str, report: RobotReport, scene: SceneGraph) -> str:
    """Return an answer of at most `ANSWER_CHARS` characters: plain facts, nothing concluded.

    Args:
        question: What is asked; the things that it names count.
        report: How the robot is now.
        scene: Its own map.
    """
    doing = report.skill or ("waits" if report.waiting else "thinks")
    hand = f"holds {report.holding}" if report.holding else "hand empty"
    where = f"in {report.room}" if report.room else "place unknown"
    lines = [f"{where}, {hand}, does: {doing}"]
    if report.help:
        lines.append(f"asks for help: {report.help}")
    ranked = ranks(scene, question)
    named = sorted((rank, id) for id, rank in ranked.items() if rank <= SAID)
    if not named:
        lines.append("its map holds nothing that the question names")
    for _, id in named[:_MOST_THINGS]:
        thing = scene.objects[id]
        last = thing.last_seen
        seen = f"; last seen at {last.time:.0f} s by {last.robot}" if last is not None else ""
        lines.append(f"{thing_line(thing, scene)}{seen}")
    if len(named) > _MOST_THINGS:
        lines.append(f"and {len(named) - _MOST_THINGS} more")
    told = ""
    for line in lines:  # whole lines only
        line = inline_data(line, limit=300)
        if len(told) + len(line) + 1 > ANSWER_CHARS:
            break
        told += f"\n{line}" if told else line
    return told
