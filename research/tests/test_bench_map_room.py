"""A real room: Kinect frames, masks that leak, one label in eight wrong. Skipped without them."""

import os
from pathlib import Path

import numpy as np
import pytest

from coterie_recordings import RecordingError
from object_planner.plan import PlanState
from research.bench.mapping.room import RoomErrors, map_room, measured


def room():
    given = os.environ.get("COTERIE_RED_KITCHEN")
    places = [Path(given)] if given else []
    places += [parent / "shared/data/red_kitchen" for parent in Path(__file__).resolve().parents]
    found = next((p for p in places if (p / "frame-000000.depth.png").is_file()), None)
    if found is None:
        pytest.skip(
            "needs the 200 RGB-D frames of 7-Scenes RedKitchen (COTERIE_RED_KITCHEN, or "
            "shared/data/red_kitchen beside the project)"
        )
    return found


def test_a_folder_without_frames_is_told(tmp_path):
    with pytest.raises(RecordingError, match="no frame"):
        map_room(tmp_path)


@pytest.mark.slow
def test_objects_of_a_real_room():
    scene = map_room(room(), every=6, seed=3)
    *rows, nothing = measured(scene)
    found = {row.id: row for row in rows if row.right is not None}
    assert len(found) >= 12 and len(scene.objects) <= 18 and len(nothing.mapped) <= 2
    assert 0.7 < np.median([row.swelling for row in found.values()]) < 1.35
    mugs = [row.right for row in rows if row.label == "mug" and row.right]
    assert len(mugs) == 2 and all(max(mug.box.size) < 0.32 for mug in mugs)
    assert sum(row.label == "television" and row.right is not None for row in rows) == 2
    drink = PlanState(scene, "something to drink from").findings
    assert scene.objects[drink.ids[0]].label.top == "mug"
    seat = PlanState(scene, "where can I sit").findings
    assert scene.objects[seat.ids[0]].label.top == "chair"


@pytest.mark.slow
def test_boxes_without_masks():
    """Boxes hold the table below and the wall behind as well: the map is looser, and not wild."""
    scene = map_room(room(), every=6, errors=RoomErrors(masks=False), seed=3)
    *rows, _ = measured(scene)
    found = [row for row in rows if row.right is not None]
    assert len(found) >= 9 and len(scene.objects) <= 22
    assert np.median([row.swelling for row in found]) < 2.0
