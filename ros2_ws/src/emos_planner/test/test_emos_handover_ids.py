"""Ids of hand-overs: short and free, however often a thing is handed on."""

from coterie_core.tasks import SubTask, Thing
from emos_planner.allocation.handover import _put, _take

MUG = Thing(label="mug", position=(1.0, 1.0, 0.8))
TABLE = Thing(label="table", position=(2.0, 1.0, 0.4))


def test_what_is_handed_on_many_times_keeps_short_ids_of_its_own():
    pick = SubTask(id="pick-5", kind="pick", object=MUG)
    place = SubTask(id="place-6", kind="place", object=MUG, receptacle=TABLE)
    taken = {pick.id, place.id}
    for _ in range(30):
        put = _put(pick, TABLE, taken)
        take = _take(pick, place, put, (2.0, 1.0, 0.8), TABLE, taken)
        assert put.id != take.id and not {put.id, take.id} & taken
        assert max(len(put.id), len(take.id)) < 20
        taken |= {put.id, take.id}
        pick = take


def test_a_long_id_does_not_make_the_two_parts_one():
    pick = SubTask(id="p" * 60, kind="pick", object=MUG)
    place = SubTask(id="place-6", kind="place", object=MUG, receptacle=TABLE)
    put = _put(pick, TABLE, {pick.id})
    take = _take(pick, place, put, (2.0, 1.0, 0.8), TABLE, {pick.id})
    assert put.id != take.id
