"""What a person would answer who explores a home, and is asked about it afterwards."""

from __future__ import annotations

import re
from typing import Any

from coterie_bench.oracle.request import Question

_HOPS = re.compile(r"(\d+) hops? further")
_GIVEN = re.compile(r"and \d+ more")


def choose_place(question: Question) -> dict[str, Any]:
    """Go where most is new for the way: an unseen place beside, else toward the unexplored."""
    places = question.data["places one hop away"]
    known = set(question.data["seen so far"]["rooms"])
    best = max(places, key=lambda one: (_worth(one, known), -one["distance"], one["id"]))
    return {"reason": "most that is new for the hops", "place": best["id"]}


def _worth(place: dict[str, Any], known: set[str]) -> float:
    beyond = place["unexplored on that side"]
    further = _HOPS.search(beyond)
    fresh = [label for label in place["of these never seen before"] if not _GIVEN.match(label)]
    new_room = place["room"] not in known
    here = 0.0
    if not place["times you stood there"]:
        unseen = max(1.0 - place["share already seen"], 0.15)
        here = unseen * (0.7 + 0.6 * new_room + 0.25 * len(fresh))
    if beyond == "nothing known":
        return here
    hops = int(further[1]) if further else 0
    room = _HOPS.sub("", beyond).rstrip(" ,")
    there = (0.6 + 0.5 * (room not in known)) / (1 + hops)
    return max(here, there)


ANSWERS = {"PlaceChoice": choose_place}
