"""Two robots' names for one thing come together by where it lies; nothing hostile does harm."""

import pytest

from coterie_core.cooperation import Facts, Note, Sighting, Whereabouts
from coterie_fixtures.two_room_map import KITCHEN, LIVING, SHAPE, Eyes, detected, two_rooms
from reveca_agent.house import HouseBody
from reveca_agent.naming import MOST, MOST_SEEN, Naming

MUG = detected("mug", 2.0, 0.4, 0.9)
OTHER_MUG = detected("mug", 1.3, 0.3, 0.9)
ON_TABLE = detected("mug", 6.5, 1.8, 0.75)


@pytest.fixture
def body():
    return HouseBody("rover", two_rooms(), SHAPE)


@pytest.fixture
def eyes(body):
    return Eyes(body)


def note(kind="start", number=1, sender="slim", **facts):
    return Note(f"{sender}-{number}", sender, kind, "words", Facts(**facts))


def hear(body, *args, **kwargs):
    return body.names.heard(note(*args, **kwargs), body.map.scene).facts


def told(id_, parent="counter-1", label="mug", room="kitchen"):
    return Sighting(id_, label, room, parent, "on")


def test_anothers_mug_on_the_counter_is_ones_own_mug_there(body, eyes):
    eyes.see(MUG)
    facts = hear(body, seen=(told("slim-mug-4"),))
    assert [one.id for one in facts.seen] == ["rover-mug-1"]
    assert hear(body, heading="slim-mug-4").heading == "rover-mug-1"


def test_a_synonym_is_the_same_thing_and_another_place_is_another(body, eyes):
    eyes.see(MUG)
    assert hear(body, seen=(told("slim-cup-1", "table-1"),)).seen[0].id == "slim-cup-1"
    assert hear(body, seen=(told("slim-mug-1", label="plate"),)).seen[0].id == "slim-mug-1"


def test_two_names_of_anothers_are_two_things(body, eyes):
    eyes.see(MUG, OTHER_MUG)
    seen = hear(body, seen=(told("slim-mug-1"), told("slim-mug-2"), told("slim-mug-3"))).seen
    assert {one.id for one in seen[:2]} == {"rover-mug-1", "rover-mug-2"}
    assert seen[2].id == "slim-mug-3", "a third one there is none of the two"


def test_what_one_was_told_of_keeps_that_name_when_it_is_seen(body, eyes):
    hear(body, seen=(told("slim-mug-1", "table-1", room="living"),))
    eyes.see(ON_TABLE, at=LIVING)
    assert [o.id for o in body.map.scene.objects.values() if o.kind == "item"] == ["slim-mug-1"]
    eyes.see(ON_TABLE, at=LIVING)
    assert "slim-mug-1" in body.map.scene.objects


def bare(robot):
    scene = two_rooms()
    scene.objects.clear()
    return HouseBody(robot, scene, SHAPE)


SOFA = detected("sofa", 6.5, 2.6, 0.0, 0.8)
HERE = Sighting("slim-sofa-1", "sofa", "living", "", "", (6.5, 1.7, 0.0))


@pytest.mark.parametrize("seen_first", [True, False])
def test_furniture_that_no_map_tells_of_has_one_name_for_both(seen_first):
    """What another put onto its sofa was not known to lie on one's own, and was taken away."""
    body = bare("rover")
    eyes = Eyes(body)
    if seen_first:
        eyes.see(SOFA, at=LIVING)
    facts = hear(body, seen=(HERE, told("slim-mug-1", "slim-sofa-1", room="living")))
    done = hear(body, "done", 2, item="slim-mug-1", label="mug", place="slim-sofa-1")
    eyes.see(SOFA, detected("mug", 6.5, 2.6, 0.8), at=LIVING)
    (sofa,) = (o for o in body.map.scene.objects.values() if o.label.top == "sofa")
    (mug,) = (o for o in body.map.scene.objects.values() if o.label.top == "mug")
    assert sofa.id == ("rover-sofa-1" if seen_first else "slim-sofa-1")
    assert facts.seen[1].parent == done.place == sofa.id == mug.support
    assert mug.id == "slim-mug-1" == done.item


def test_another_sofa_of_the_room_is_another():
    body = bare("rover")
    Eyes(body).see(SOFA, at=LIVING)
    far = Sighting("slim-sofa-2", "sofa", "living", "", "", (8.5, 0.6, 0.0))
    assert hear(body, seen=(far,)).seen[0].id == "slim-sofa-2"
    two = hear(body, number=2, seen=(HERE, HERE, told("slim-mug-1", "slim-sofa-1")))
    assert [one.id for one in two.seen[:2]] == ["rover-sofa-1"] * 2


def test_a_question_and_its_answer_come_back_under_ones_own_name(body, eyes):
    eyes.see(MUG)
    mate = HouseBody("slim", two_rooms(), SHAPE)
    Eyes(mate).see(OTHER_MUG, detected("plate", 2.5, 0.4, 0.9))
    asked = note("ask", sender="rover", item="rover-mug-1", label="mug", place="counter-1")
    body.names.said(asked)
    understood = mate.names.heard(asked, mate.map.scene)
    assert understood.facts.item == "slim-mug-1"
    answer = hear(body, "reply", item="slim-mug-1", answer="taken", reply_to=asked.id)
    assert answer.item == "rover-mug-1"
    assert body.names.own("slim-mug-1") == "rover-mug-1"


def test_what_another_put_down_and_one_sees_there_counts_once(body, eyes):
    done = hear(body, "done", item="slim-mug-1", label="mug", place="table-1", answer="placed")
    assert done.item == "slim-mug-1"
    eyes.see(ON_TABLE, at=LIVING)
    again = hear(body, "done", 2, item="slim-mug-1", label="mug", place="table-1")
    mugs = {o.id for o in body.map.scene.objects.values() if o.label.top == "mug"}
    assert mugs == {"slim-mug-1"} == {again.item}


def test_hands_come_under_ones_own_names(body, eyes):
    eyes.see(MUG)
    hear(body, seen=(told("slim-mug-1"),))
    facts = hear(body, me=Whereabouts("kitchen", KITCHEN, ("slim-mug-1",)))
    assert facts.me.hands == ("rover-mug-1",) == body.names.held_by("slim")
    body.teammate("slim", "kitchen", KITCHEN, "cup")
    eyes.see(MUG)
    mate = body.percept().teammates[0]
    assert [thing.id for thing in mate.hands] == ["rover-mug-1"]


def test_tables_are_bounded(body, eyes):
    eyes.see(MUG)
    names = body.names
    for k in range(MOST // MOST_SEEN + 20):
        seen = tuple(told(f"slim-mug-{k}-{n}", "table-1") for n in range(MOST_SEEN))
        names.heard(note(number=k, seen=seen), body.map.scene)
        names.heard(note("reply", k, item=f"x{k}", reply_to=f"rover-{k}"), body.map.scene)
    for k in range(MOST + 10):
        names.said(note("ask", k, "rover", item=f"rover-mug-{k}"))
    for table in (names._own, names._told, names._asked, names._lay):
        assert len(table) <= MOST
    huge = note(seen=tuple(told(f"s{k}") for k in range(5000)))
    assert len(names.heard(huge, body.map.scene).facts.seen) == MOST_SEEN


ODD = ["", "kitchen", "door", "p1", "counter-1", "rover-mug-9", "\x00\u202e☃", "a" * 5000, "../x"]


@pytest.mark.parametrize("id_", ODD)
def test_odd_names_do_no_harm(body, eyes, id_):
    for label in ("mug", "", "☃"):
        for where in ("counter-1", "table-1", "nowhere", ""):
            for kind in ("start", "done", "ask", "reply"):
                hear(
                    body,
                    kind,
                    seen=(told(id_, where, label, "cellar"),),
                    item=id_,
                    label=label,
                    place=where,
                    heading=id_,
                    reply_to=id_,
                )
    eyes.see(MUG, OTHER_MUG)
    eyes.see(ON_TABLE, at=LIVING)
    objects = body.map.scene.objects
    mugs = [o for o in objects.values() if o.label.top == "mug"]
    assert len(mugs) == 3, "told names neither hide nor double what is seen"
    assert all(o.id and o.id == key for key, o in objects.items())
    assert not {o.id for o in mugs} & {*body.map.scene.rooms, *body.map.scene.places, "door"}
    assert objects["counter-1"].kind == "furniture"
    body.percept([note(seen=(told(id_),))])


def test_words_alone_are_left_as_they_are():
    said = Note("p-1", "person", "text", "Did you take the mug?")
    assert Naming("rover").heard(said, two_rooms()) is said
