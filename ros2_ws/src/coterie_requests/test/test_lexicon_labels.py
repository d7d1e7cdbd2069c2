"""Household words: labels as detectors and data sets write them come to names with known uses."""

from pathlib import Path

import pytest
import yaml

from coterie_core.household import load_household
from coterie_requests.lexicon import canonical, load_lexicon

LABELS = yaml.safe_load((Path(__file__).parent / "data/detector_labels.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def tables():
    lexicon = load_lexicon()
    known = set(lexicon.labels) | {lexicon.canonical(c) for c in load_household().categories}
    used = set().union(*(lexicon.members(name) for name in lexicon.classes))
    for table in (*lexicon.uses.values(), *lexicon.qualities.values()):
        used |= set(lexicon.spread(table.things))
    return lexicon, known, used


@pytest.mark.parametrize("source", sorted(LABELS))
def test_most_labels_of_detectors_are_known(tables, source):
    lexicon, known, used = tables
    names = [lexicon.canonical(label) for label in LABELS[source]]
    found = sum(name in known for name in names) / len(names)
    useful = sum(name in used for name in names) / len(names)
    print(f"\n{source}: {100 * found:.0f} % known, {100 * useful:.0f} % with a use", end=" ")
    assert found >= 0.9 and useful >= 0.8


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("iron_(for_clothing)", "iron"),
        ("mouse_(computer_equipment)", "mouse"),
        ("glass_(drink_container)", "wine glass"),
        ("Sandal_(type_of_shoe)", "shoes"),
        ("television_set", "television"),
        ("trash_can", "trash can"),
        ("Cabinet/shelf", "cabinet"),
        ("Monitor/TV", "television"),
        ("BOOKS", "book"),
        ("old red sofa_bed", "sofa"),
        ("bottle of wine", "bottle"),
        ("refridgerator", "refrigerator"),
        ("rice cooker", "rice cooker"),
        ("toilet paper holder", "toilet paper"),
        ("laptop_computer", "laptop"),
        ("kitchen cabinet", "cabinet"),
        ("xyzzy_plugh", "xyzzy plugh"),
        ("", ""),
        ("()", "()"),
    ],
)
def test_spellings(label, name):
    assert load_lexicon().canonical(label) == name


def test_narrower_things_serve_as_the_broader_do():
    lexicon = load_lexicon()
    assert {"cabinet", "file cabinet"} <= lexicon.members("cabinet")
    grades = lexicon.spread({"bed": 1.0})
    assert 0.0 < grades["crib"] < grades["bed"]
    assert all(k in lexicon.labels or load_household().category(k) for k in lexicon.kinds)


def test_any_number_of_odd_labels_is_taken():
    for k in range(10_010):
        assert canonical(f"zz{k}q") == f"zz{k}q"
    assert canonical.cache_info().currsize < 10_000


def test_tables_name_known_things_only():
    lexicon = load_lexicon()
    known = {*lexicon.labels, *lexicon.classes, *lexicon.spellings}
    house = {lexicon.canonical(name) for name in known}
    for table in (*lexicon.uses.values(), *lexicon.qualities.values()):
        for thing, grade in table.things.items():
            assert 0.0 < grade <= 1.0
            assert thing in known or lexicon.canonical(thing) in house or (
                load_household().category(thing) is not None
            )  # fmt: skip
