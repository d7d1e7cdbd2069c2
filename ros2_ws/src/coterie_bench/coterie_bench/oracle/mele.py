"""What a person would answer who explores a home, and is asked about it afterwards."""

from __future__ import annotations

import math
import random
import re
from typing import Any

from coterie_bench.oracle.request import Question

_GIVEN = re.compile(r"and \d+ more")


def choose_place(question: Question) -> dict[str, Any]:
    """Make for the unexplored place that shows most that is new for the hops it takes."""
    beside = {one["id"]: one for one in question.data["places one hop away"]}
    views = {one["room"]: one["views"] for one in question.data["rooms so far"]}
    name = question.system.partition("You are ")[2].partition(",")[0]
    best, reason, place = -1.0, "nothing is unexplored", min(beside)
    for goal in question.data["unexplored"]:
        for via, hops in goal["hops by next place"].items():
            worth = _worth(goal, beside.get(goal["id"]), views) * _liking(name, goal["id"]) / hops
            if worth > best:
                best, place = worth, via
                reason = f"toward {goal['id']} in {goal['room']}, {hops} hops away"
    return {"reason": reason, "place": place}


def _worth(goal: dict[str, Any], beside: dict[str, Any] | None, views: dict[str, int]) -> float:
    """Return how much is new at a place: what was not in view, in a room of few views."""
    seen = beside["of these never seen before"] if beside else ()
    fresh = sum(not _GIVEN.match(label) for label in seen)
    unseen = max(1.0 - goal["share already seen"], 0.15)
    return unseen * (0.4 + 1.2 / (1 + views.get(goal["room"], 0)) + 0.2 * fresh)


def _liking(robot: str, place: str) -> float:
    """Return 1 to 1.1: of places that are alike, not all robots take the same one."""
    return 1.0 + 0.1 * random.Random(f"{robot}/{place}").random()


def answer(question: Question) -> dict[str, Any]:
    """Say what the notes say; where they do not, what is usual."""
    asked = question.data["question"]
    thing, room = asked["object"].lower(), asked["room"].lower()
    notes = [one for one in question.data["notes"] if _is_room(one["room"], room)]
    told = str(question.data["told by others"])
    reports = [one for room in notes for one in _reports(room["objects"], thing)]
    times = sum(one["reports"] for one in reports)
    if reports and max(one["likely"] for one in reports) >= 0.5:
        return _said("yes", min(0.97, 0.8 + 0.06 * times), f"reported {times} times there")
    if "holds" in told or "brought" in told:
        return _said("yes", 0.8, told[:200])
    if "took" in told or "was taken" in told:
        return _said("no", 0.85, told[:200])
    looks = sum(one["views"] for one in notes)
    well = [one["seen well"] for one in notes]
    share = sum(well) / len(well) if well and looks else 0.0
    detector = question.data["your detector"]
    hidden = detector["share of things that no look shows"]
    missed = 1.0 - share * (1.0 - hidden) * (1.0 - detector[_MISSES])
    known = str(question.data["usual"])
    prior = usual(thing, room) if known == "not known" else float(known)
    p = prior * missed / (prior * missed + 1.0 - prior)
    why = (
        f"not reported; {share:.0%} of the room seen" if looks else "not been there: what is usual"
    )
    return _said("yes" if p > 0.5 else "no", max(p, 1.0 - p), why)


_MISSES = "share of looks at a thing in view that miss it"


def _said(word: str, confidence: float, why: str) -> dict[str, Any]:
    return {"reason": why, "answer": word, "confidence": round(min(max(confidence, 0.5), 1.0), 2)}


def _is_room(name: str, asked: str) -> bool:
    if asked in ("whole house", "house", "home"):
        return True
    plain = re.sub(r"\s*\d+$", "", name.lower())
    return name.lower() == asked or (plain == asked and asked != "")


def _reports(objects: dict[str, Any], thing: str) -> list[dict[str, Any]]:
    named = {thing, *_ALIKE.get(thing, ())}
    return [told for label, told in objects.items() if label in named]


_ALIKE = {
    "sofa": ("couch", "settee"),
    "couch": ("sofa",),
    "television": ("tv", "tv monitor"),
    "refrigerator": ("fridge",),
    "trash can": ("bin", "wastebasket"),
    "picture": ("painting",),
}
_ANYWHERE = (
    "ceiling lamp", "chandelier", "window", "light switch", "radiator", "picture", "painting",
    "curtain", "rug", "plant", "small plant", "trash can", "lamp", "wall lamp", "door",
)  # fmt: skip
_USUAL = {
    "kitchen": "refrigerator stove oven sink counter dishwasher microwave kettle toaster "
    "range_hood wall_cabinet cabinet faucet knife plate pan pot bowl mug glass cutting_board "
    "paper_towel kitchen_island sponge fruit food table chair trash_can can bottle",
    "bathroom": "toilet sink mirror shower bathtub towel toothbrush toothpaste soap shampoo faucet "
    "toilet_paper towel_rack toilet_brush scale vanity hairdryer hairbrush medicine soap_dispenser "
    "shower_curtain laundry_basket",
    "toilet": "toilet sink toilet_paper toilet_brush mirror faucet soap towel",
    "bedroom": "bed nightstand wardrobe dresser pillow blanket lamp mirror alarm_clock clothes "
    "curtain rug books chair teddy_bear",
    "living room": "sofa armchair coffee_table television tv_stand bookcase rug cushion floor_lamp "
    "tv_remote books side_table speaker fireplace game_console vase ottoman magazine painting",
    "dining room": "table chair vase plate glass chandelier cabinet candle painting bowl",
    "office": "desk chair computer laptop printer bookcase keyboard books lamp pen whiteboard "
    "phone headphones shelf trash_can box",
    "hallway": "coat_rack shoes console_table mirror umbrella rug picture wall_lamp keys painting",
    "entryway": "coat_rack shoes console_table mirror umbrella rug keys bench bag wallet hat",
    "laundry room": "washing_machine dryer laundry_basket detergent iron ironing_board shelf sink "
    "clothes basket",
    "garage": "toolbox workbench bicycle ladder hammer paint_can shelf box broom fire_extinguisher",
    "playroom": "toy toy_chest ball board_game teddy_bear table piano guitar game_console "
    "playing_cards rug shelf",
    "gym": "treadmill dumbbells yoga_mat exercise_bike weight_machine mirror bench towel jumprope "
    "water_bottle fan",
    "pantry": "shelf food can box bottle basket",
    "closet": "wardrobe clothes shoes box shelf ironing_board vacuum_cleaner hat bag",
}
"""What people expect where."""


def usual(thing: str, room: str) -> float:
    """Return how likely a room holds such a thing, by what is usual (0 to 1)."""
    kind = re.sub(r"\s*\d+$", "", room)
    kind = next((name for name in _USUAL if kind.endswith(name)), kind)
    here = _USUAL.get(kind, "").split()
    word = thing.replace(" ", "_")
    if kind in ("whole house", "house"):
        return 0.75
    if word in here:
        return 0.75 if here.index(word) < 12 else 0.65
    return 0.6 if thing in _ANYWHERE else 0.2


def speak(question: Question) -> dict[str, Any]:
    """Start from what was likely before; add what each found, a second one of a kind by half.

    The first words of each count, and what one saw more than what others overlooked.
    """
    first = question.data["your first answer"]
    talk = question.data["talk so far"]
    said = list(talk) if isinstance(talk, list) else []
    own = (_ground(first["ground"]), first["answer"], first["confidence"])
    heard = {first["robot"]: own}
    if any(one["robot"].endswith(" (you)") for one in said) or "The talk is over" in question.text:
        for one in said:
            name = one["robot"].removesuffix(" (you)")
            heard.setdefault(name, (_ground(one["ground"]), one["says"], one["confidence"]))
    known = str(question.data["how likely before anybody looked"])
    before = float(known) if known != "not known" else 0.5
    odds = _odds(before)
    for ground, sign in (("saw", 1.0), ("looked", -1.0)):
        found = [
            (1.0 if name == first["robot"] else _TRUST)
            * max(sign * (_odds(p if word == "yes" else 1.0 - p) - _odds(before)), 0.0)
            for name, (g, word, p) in heard.items()
            if g == ground
        ]
        odds += sign * (max(found, default=0.0) + sum(found)) / 2.0
    p_yes = 1.0 / (1.0 + math.exp(-odds))
    looked = f"{first['views of that room']} times, {first['share of it seen well']:.0%} of it well"
    words = {"saw": "I saw it there", "looked": f"I looked there {looked}, and did not see it"}
    return {
        **_said("yes" if p_yes > 0.5 else "no", max(p_yes, 1.0 - p_yes), "what each found, summed"),
        "statement": words.get(_ground(first["ground"]), "I was not there and only suppose"),
    }


_TRUST = 0.8
"""What others tell is worth of what one found oneself."""


def _odds(p: float) -> float:
    """Return the log-odds of a probability, which is kept off 0 and 1."""
    kept = min(max(p, 0.01), 0.99)
    return math.log(kept / (1.0 - kept))


def _ground(words: str) -> str:
    if "did not see" in words:
        return "looked"
    return "saw" if "saw it" in words or "taken away" in words else "guessed"


_FOREIGN = {
    "küche": "kitchen", "kühlschrank": "refrigerator", "dormitorio": "bedroom", "cama": "bed",
    "bad": "bathroom", "schlafzimmer": "bedroom", "wohnzimmer": "living room", "cocina": "kitchen",
}  # fmt: skip
_STOP = {
    "is",
    "there",
    "a",
    "an",
    "any",
    "the",
    "in",
    "have",
    "you",
    "seen",
    "anywhere",
    "do",
    "we",
}


def parse(question: Question) -> dict[str, Any]:
    """Name the listed thing and room that the words mean, in whatever language they are."""
    text = str(question.data["question"]).lower()
    for word, meant in _FOREIGN.items():
        text = re.sub(rf"\b{word}\b", meant, text)
    packed = text.replace(" ", "")
    rooms = [room for room in question.data["rooms"] if room.replace(" ", "") in packed]
    room = max(rooms, key=len, default="")
    rest = text.replace(room, " ") if room else text
    labels = [
        label
        for label in question.data["known object labels"]
        if re.search(rf"\b{re.escape(label)}(?:s|es)?\b", rest)
    ]
    thing = max(labels, key=len, default="")
    if not thing:
        words = [word for word in re.findall(r"[a-z-]+", rest) if word not in _STOP]
        thing = words[0] if words else "thing"
    return {"reason": f"asks for a {thing}", "object": thing, "room": room}


ANSWERS = {
    "PlaceChoice": choose_place,
    "PresenceReply": answer,
    "DebateReply": speak,
    "ParsedQuestion": parse,
}
