"""The fixed small set: what every answerer does, in houses that nothing else is measured on."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from coterie_world.scene import SceneGraph
from research.bench.emos.episodes import Family
from research.bench.openeqa.tour import make_tour
from research.bench.openeqa.world import Home

MELE_HOUSES = (61101, 61104)
REVECA_SEEDS = (9101, 9102, 9103)
OBJECTS_HOUSE = 61201
OPENEQA_HOUSE = 61301
EMOS_EPISODES: tuple[tuple[Family, int], ...] = ((1, 61401), (3, 61402))
"""Family and house; of a house that offers none the next one is taken."""

SENTENCES: tuple[tuple[str, str, str], ...] = (
    ("Is there a mug in the kitchen?", "mug", "kitchen"),
    ("do we have any towels in the bathroom", "towel", "bathroom"),
    ("Have you seen a laptop anywhere?", "laptop", ""),
    ("Could you check whether the bedroom has a lamp?", "lamp", "bedroom"),
    ("Does the living room contain a sofa?", "sofa", "living room"),
    ("Any plants in the hall way?", "plant", "hallway"),
    ("Gibt es in der Küche einen Kühlschrank?", "refrigerator", "kitchen"),
    ("¿Hay una cama en el dormitorio?", "bed", "bedroom"),
)
"""Sentence, object and room that it asks about ("" the whole house)."""
ROOMS = ("bathroom", "bedroom", "hallway", "kitchen", "living room")
LABELS = ("bed", "lamp", "laptop", "mug", "plant", "refrigerator", "sofa", "towel", "toaster")

MARKED: tuple[tuple[str, str, str, tuple[int, int]], ...] = (
    ("Where is the kettle?", "on the counter in the kitchen", "on the kitchen counter", (4, 5)),
    ("Where is the kettle?", "on the counter in the kitchen", "in the bathroom", (1, 2)),
    ("How many chairs are there?", "4", "four", (5, 5)),
    ("How many chairs are there?", "4", "2", (1, 2)),
    ("Is the door open?", "no", "yes, it is", (1, 1)),
    ("Is the door open?", "no", "No, it is closed", (5, 5)),
    ("What color is the sofa?", "grey", "gray", (5, 5)),
    ("What color is the sofa?", "grey", "red", (1, 2)),
)
"""Question, right answer, reply, and the marks that a careful judge may give."""

_SEATS = ("sofa", "armchair", "stool", "bench", "ottoman")
REQUESTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("something to sit on", ("chair", *_SEATS)),
    ("I want to lie down and sleep", ("bed", "sofa")),
    ("something that keeps food cold", ("refrigerator",)),
    ("where can I wash my hands", ("sink",)),
    ("something to read", ("books", "magazine", "tablet")),
    ("a seat that is not a chair", _SEATS),
    ("something to drink from", ("mug", "glass", "water bottle", "bottle")),
    ("a place to put my clothes away", ("wardrobe", "dresser")),
    ("something that gives light", ("lamp", "floor lamp", "ceiling lamp", "wall lamp", "candle")),
    ("I would like to play the violin", ()),
    ("a clock", ("clock", "alarm clock")),
    ("somewhere to cook soup", ("stove", "oven", "microwave")),
    ("a mirror", ("mirror",)),
    ("something to watch the news on", ("television", "laptop", "tablet", "computer")),
)
"""Request, and the labels of what serves it; none of them in the map: nothing does."""


@cache
def object_map(house: int = OBJECTS_HOUSE) -> SceneGraph:
    """Return what a noisy detector made of a walk through a generated house."""
    home = Home(house, noise="normal", width=160, rooms=5)
    try:
        return make_tour(home, house).map
    finally:
        home.close()


def truth_of(scene: SceneGraph, labels: Iterable[str]) -> set[str]:
    """Return the ids of the objects whose likeliest label is one of these."""
    wanted = set(labels)
    return {thing.id for thing in scene.objects.values() if thing.label.top in wanted}
