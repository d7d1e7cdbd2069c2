"""Robots that a person has stopped: their work goes to others, or waits for their release."""

from __future__ import annotations

from coterie_core.tasks import SubTaskState
from emos_planner.leader.changes import Change
from emos_planner.leader.progress import Progress


def take_stop(progress: Progress, robot: str, stopped: bool, now: float) -> list[Change]:
    """Take down that a robot is stopped, or released; return what changed.

    Args:
        progress: Of the task in work.
        robot: The robot.
        stopped: Whether it is stopped now.
        now: Wall time [s].
    """
    beats = progress.heartbeats
    if stopped:
        if not beats.hold(robot, now):
            return []
        text = f"{robot} is stopped: others do its work, or it waits for ./coterie release {robot}"
        return [Change("silent", text, robot)]
    if not beats.let_go(robot, now):
        return []
    # What nobody could do without it may be possible now.
    for one in progress.sub_tasks:
        if one.state is SubTaskState.PENDING:
            progress.given_up.pop(one.id, None)
    return [Change("back", f"{robot} is released and goes on", robot)]
