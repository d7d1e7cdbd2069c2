"""The household data: what must be in it, how free names are understood, what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_core.household import (
    HouseholdError,
    load_household,
    normalized,
    parse_household,
    plural,
    singulars,
)

pytestmark = pytest.mark.quick

MELE_LABELS = """appliance, armchair, bathtub, bed, board, bookcase, books, cabinet, chair, clothes, counter,
curtain, cushion, desk, dresser, dumbbells, hairbrush, headphones, jumprope, mirror, mug, nightstand, phone, picture,
plant, playing cards, refrigerator, sink, sofa, table, television, toilet, toothbrush, towel, tv remote, wallet,
water bottle, whiteboard, window, wristwatch""".replace("\n", " ").split(", ")  # fmt: skip  # noqa: E501

HOME = load_household()


def test_it_has_what_the_house_needs():
    assert len(MELE_LABELS) == 40
    assert not [label for label in MELE_LABELS if label not in HOME.categories]
    assert len(HOME.categories) >= 110
    assert len([t for t in HOME.room_types.values() if t.per_house[1] > 0]) >= 12
    assert load_household() is HOME


@pytest.mark.parametrize("label", sorted(HOME.categories))
def test_every_category_is_complete(label):
    category = HOME.categories[label]
    assert HOME.canonical(label) == label
    if category.shape == "none":
        return
    if category.place == "on":
        assert category.on, "an item must say on what it stands"
    if category.place in ("around", "beside", "above"):
        assert category.near
    assert max(category.rooms.values(), default=category.any or 0.0) > 0.05, "is nowhere likely"


def test_every_room_type_names_itself_and_its_synonyms():
    for name, kind in HOME.room_types.items():
        assert HOME.room_type(name) == name
        for synonym in kind.synonyms:
            assert HOME.room_type(synonym) in HOME.room_types


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("TV", "television"),
        ("couch", "sofa"),
        ("fridge", "refrigerator"),
        ("kitchen cabinet", "cabinet"),
        ("dining chair", "chair"),
        ("coffee#table", "coffee table"),
        ("bedside_table", "nightstand"),
        ("sofa 3", "sofa"),
        ("toothbrushes", "toothbrush"),
        ("shelves", "shelf"),
        ("knives", "knife"),
        ("a big antique bookshelf", "bookcase"),
        ("bottle of red wine", "bottle"),
        ("glasses", "glasses"),
        ("shower#head", "shower"),
        ("trashcan", "trash can"),
        ("book", "books"),
        ("dumbbell", "dumbbells"),
        ("flux capacitor", "flux capacitor"),
        ("Flux_Capacitor 2", "flux capacitor"),
        ("", ""),
    ],
)
def test_labels_are_understood(label, expected):
    assert HOME.canonical(label) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bedroom 2", "bedroom"),
        ("k,kitchen", "kitchen"),
        ("familyroom/family room", "living room"),
        ("workout/gym/exercise", "gym"),
        ("laundryroom/mudroom/laundry room", "laundry room"),
        ("entryway/foyer/lobby", "entryway"),
        ("rec/game", "playroom"),
        ("landing 1", "stairs"),
        ("guest bedroom", "bedroom"),
        ("upstairs hallway", "hallway"),
        ("bedroom (upstairs)", "bedroom"),
        ("other room", ""),
        ("", ""),
    ],
)
def test_rooms_are_understood(name, expected):
    assert HOME.room_type(name) == expected


def test_common_sense_is_sensible():
    assert HOME.likelihood("toilet", "bathroom") > 0.9
    assert HOME.likelihood("toilet", "kitchen") < 0.05
    assert HOME.likelihood("mug", "kitchen") > HOME.likelihood("mug", "garage")
    assert HOME.likelihood("couch", "lounge") == HOME.likelihood("sofa", "living room")
    assert HOME.likelihood("kitchen cabinet", "kitchen 2") == HOME.likelihood("cabinet", "kitchen")


def test_the_unknown_gets_the_documented_fallback():
    assert HOME.likelihood("flux capacitor", "kitchen") == HOME.fallback.unknown_object
    assert HOME.likelihood("flux capacitor", "other room") == HOME.fallback.unknown_both
    mean = sum(HOME.likelihood("mug", t) for t in HOME.room_types) / len(HOME.room_types)
    assert HOME.likelihood("mug", "other room") == pytest.approx(mean)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_gets_an_answer(label, room):
    assert 0.0 <= HOME.likelihood(label, room) <= 1.0
    assert HOME.canonical(HOME.canonical(label)) == HOME.canonical(label)
    assert HOME.room_type(room) in {"", *HOME.room_types}


def test_plurals_are_read_back_as_what_they_are_of() -> None:
    for name in ("knife", "bookshelf", "vanity", "tray", "box", "glass", "safe", "roof", "cactus"):
        assert name in singulars(plural(name)), name
    assert plural("knife") == "knives" and plural("safe") == "safes" and plural("roof") == "roofs"
    assert plural("books") == "books"
    for name in load_household().categories:
        many = plural(name)
        assert many == name or name in singulars(many), name


def test_names_are_normalised():
    assert normalized("  Bed_Room#2 ") == "bed room"
    assert normalized("42") == "42"
    assert normalized("sofa_1-2 3") == "sofa" and normalized("x12") == "x"
    # Nobody waits for it, however many digits do not end the name.
    assert normalized("mug " + 60 * "9" + " a") == "mug " + 60 * "9" + " a"
    assert singulars("glass") == ()
    assert singulars("boxes") == ("boxe", "box")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[1, 2]", "expected a mapping"),
        ("a: [", "not YAML"),
        ("room_types: {}", "categories"),
        (
            "{colors: {}, groups: {}, room_types: {}, fallback: {unknown_object: 2,"
            " unlisted_room: 0, unknown_both: 0}, categories: {}}",
            "fallback.unknown_object",
        ),
        (
            "{colors: {}, groups: {}, room_types: {}, fallback: {unknown_object: 0,"
            " unlisted_room: 0, unknown_both: 0}, categories: {mug: {colors: [], on: [shelf]}}}",
            "unknown name 'shelf'",
        ),
    ],
)
def test_wrong_data_are_refused_by_name(text, where):
    with pytest.raises(HouseholdError, match=r"home\.yaml") as error:
        parse_household(text, "home.yaml")
    assert where in str(error.value)
