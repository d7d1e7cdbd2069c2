"""The files of a task: its result, its talk, and a picture of where robots and things went."""

from __future__ import annotations

import json
from pathlib import Path

from coterie_bringup.task_record import TaskRecord
from coterie_core.files import write_atomically
from coterie_world.scene import SceneGraph


def save_task(record: TaskRecord, folder: Path) -> list[Path]:
    """Write result, transcript and picture into a folder; return the files.

    Raises:
        OSError: The folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / "result.json"
    write_atomically(result, json.dumps(record.as_data(), indent=1))
    files = [result]
    if record.transcript is not None:
        record.transcript.save(folder)
        files += [folder / "discussion.md", folder / "discussion.json"]
    if record.scene is not None and record.scene.rooms:
        drawing = folder / "map.svg"
        write_atomically(drawing, picture(record, record.scene))
        files.append(drawing)
    return files


def picture(record: TaskRecord, scene: SceneGraph) -> str:
    """Return an SVG of where robots and things went.

    Rings are where robots began, dashed arrows lead from where a thing was to where it was
    brought; a thing that went to another floor has a note at both ends.
    """
    from coterie.floor_plan import Move, Plan, draw_plans, to_svg

    moves = [
        Move(move.thing, move.target, move.begin, move.end)
        for move in record.moves()
        if move.begin is not None and move.end is not None
    ]
    plan = Plan(scene, ways=record.ways, moves=moves, items=False)
    return to_svg(draw_plans(plan, record.words, record.message))
