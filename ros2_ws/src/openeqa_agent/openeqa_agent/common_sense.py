"""Answers without having looked: what is usual, from the household tables. Never uses a map."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from importlib import resources
from typing import Any

from coterie_core.colors import basic_color, color_name
from coterie_core.household import Category as HouseholdCategory
from coterie_core.household import load_household
from coterie_core.wording import article
from coterie_core.yaml_marks import read_yaml
from coterie_requests.lexicon import load_lexicon
from coterie_requests.understanding.descriptions import Thing
from openeqa_agent.answers import OpenReply
from openeqa_agent.phrases import room_type
from openeqa_agent.purposes import grades_for
from openeqa_agent.understood import STATES, OpenQuestion

_COMMON = ("table", "counter", "desk", "shelf", "sofa", "bed")


@cache
def _tables() -> dict[str, dict[str, Any]]:
    text = resources.files("openeqa_agent").joinpath("data/common_sense.yaml").read_text("utf-8")
    tables = read_yaml(text)
    return {str(name): dict(table) for name, table in tables.items()}


def guess(question: OpenQuestion, rooms: Collection[str] = ()) -> OpenReply:
    """Return the likeliest answer to a question where nothing was seen.

    Its text is empty where the question was not understood: there is nothing to guess then.

    Args:
        question: What is asked.
        rooms: Types of the rooms that the house has; empty: that is not known.
    """
    text, confidence = _guess(question, rooms)
    return OpenReply(
        text,
        confidence,
        guessed=True,
        category=question.category,
        explanation="a guess: what is usual in homes",
        method="blind",
    )


def _guess(question: OpenQuestion, rooms: Collection[str]) -> tuple[str, float]:
    kind, wanted = question.kind, question.target
    if kind == "color":
        return _color(question)
    if kind == "attribute":
        return _attribute(question)
    if kind == "where":
        return usual_place(wanted, rooms), 0.2
    if kind == "which_room":
        if question.attribute not in ("room", "this"):
            return "the first floor", 0.5
        return f"the {usual_room(wanted, rooms)}", 0.3
    if kind == "how_many":
        return _count(wanted)
    if kind == "state":
        return _state(question)
    if kind == "is_there":
        return ("yes", 0.55) if _usual(wanted) >= 0.4 else ("no", 0.55)
    if kind == "relation":
        return "yes", 0.5
    if kind == "space":
        return "yes", 0.6
    if kind == "used_for":
        return _use(question)
    if kind == "size":
        return _size(question)
    if kind == "what":
        return _what(wanted)
    if kind == "choice":
        return question.choices[0], 0.5
    return ("yes", 0.5) if question.polar else ("", 0.0)


def usual_color(thing: Thing) -> str:
    """The color such things usually have."""
    own = _lookup(_tables()["colors"], thing, fallback=False)
    if own:
        return own
    category = load_household().category(thing.name) if thing.name else None
    if category is not None and category.colors:
        (r0, g0, b0), (r1, g1, b1) = load_household().colors[category.colors[0]]
        name = color_name(((r0 + r1) / 2, (g0 + g1) / 2, (b0 + b1) / 2))
        if name:
            return name
    return str(_tables()["colors"][""])


def usual_room(thing: Thing, rooms: Collection[str] = ()) -> str:
    """The type of room that such things are usually in, of those that the house has."""
    if thing.room:
        return thing.room
    house = load_household()
    names = [name for name in house.room_types if not rooms or name in rooms]
    names = names or list(house.room_types)
    if thing.anchors and thing.anchors[0].name and thing.generic:
        thing = thing.anchors[0]
    if not thing.name:
        return "living room" if "living room" in names else names[0]
    return max(names, key=lambda name: (house.likelihood(thing.name, name), -names.index(name)))


def usual_place(thing: Thing, rooms: Collection[str] = ()) -> str:
    """Where such a thing usually is: "on the counter in the kitchen"."""
    house = load_household()
    category = house.category(thing.name) if thing.name else None
    room = usual_room(thing, rooms)
    if thing.anchors and thing.relation:
        room = usual_room(thing.anchors[0], rooms)
    if category is None:
        return f"on the table in the {room}"
    if category.kind != "item" or not category.on:
        return f"{_standing(category)}in the {room}"
    owners = [o for on in category.on for o in house.members(on)]
    best = max(
        owners,
        key=lambda o: (0.01 if o == "floor" else house.likelihood(o, room), -owners.index(o)),
    )
    return f"on the {best} in the {room}"


def _standing(category: HouseholdCategory) -> str:
    return {"hung": "on the wall ", "ceiling": "on the ceiling "}.get(category.place, "")


def _color(question: OpenQuestion) -> tuple[str, float]:
    usual = usual_color(question.target)
    if question.choices:
        fits = [choice for choice in question.choices if basic_color(choice) == usual]
        return (fits or list(question.choices))[0], 0.5
    if question.polar:
        return ("yes" if basic_color(question.attribute) == usual else "no"), 0.5
    return usual, 0.25


def purpose_of(room: str) -> str:
    """What people do in a room of this type or name: "cooking"."""
    purposes = _tables()["purposes"]
    kind = load_household().room_type(room)
    return str(purposes.get(kind, purposes[""]))


def _attribute(question: OpenQuestion) -> tuple[str, float]:
    if question.attribute == "purpose":
        return purpose_of(usual_room(question.target)), 0.4
    table = {"material": "materials", "shape": "shapes", "type": "types"}.get(question.attribute)
    if table is None:
        return {"size": "medium"}.get(question.attribute, ""), 0.1
    return _lookup(_tables()[table], question.target), 0.3


def _lookup(table: Mapping[str, Any], thing: Thing, *, fallback: bool = True) -> str:
    """Entry of a thing by its name, its class's name, or the one for everything else."""
    name = load_lexicon().canonical(thing.name) if thing.name else ""
    for key in (thing.name, name):
        if key and key in table:
            return str(table[key])
    return str(table[""]) if fallback else ""


def _count(thing: Thing) -> tuple[str, float]:
    kind = room_type(thing.words)
    house = load_household()
    if kind:
        fewest, most = house.room_types[kind].per_house
        return str(min(max(fewest, 1), most) if kind != "bedroom" else 2), 0.3
    category = house.category(thing.name) if thing.name else None
    if category is None:
        return "2", 0.25
    fewest, most = category.count
    return str(max(1, (fewest + most) // 2)), 0.3


def _state(question: OpenQuestion) -> tuple[str, float]:
    likely = float(_tables()["states"].get(question.attribute, 0.5))
    if question.choices:
        shares = [_tables()["states"].get(STATES.get(c, c), 0.5) for c in question.choices]
        best = max(range(len(shares)), key=lambda k: (shares[k], -k))
        return question.choices[best], float(shares[best])
    if question.use == "not":
        likely = 1.0 - likely
    return ("yes", likely) if likely >= 0.5 else ("no", 1.0 - likely)


def _usual(thing: Thing) -> float:
    """How likely some home, or the room that is spoken of, has such a thing (0..1)."""
    house = load_household()
    if thing.generic:
        return 0.5
    if thing.room:
        return house.likelihood(thing.name, thing.room)
    return max(house.likelihood(thing.name, name) for name in house.room_types)


def _use(question: OpenQuestion) -> tuple[str, float]:
    if question.polar:
        return "yes", 0.55
    grades = grades_for(question)
    house = load_household()
    if not grades:
        return ("on the table", 0.1) if question.attribute == "place" else ("", 0.0)
    rooms = [question.room] if question.room else list(house.room_types)

    def worth(label: str) -> tuple[float, str]:
        there = max(house.likelihood(label, room) for room in rooms)
        return grades[label] * (0.5 + 0.5 * there), label

    best = max(grades, key=worth)
    if question.attribute == "place":
        return (
            f"on the {best} in the {usual_room(Thing(best, best, True, room=question.room))}",
            0.3,
        )
    return f"the {best}", 0.3


def _size(question: OpenQuestion) -> tuple[str, float]:
    if question.choices:
        return f"the {question.choices[0].removeprefix('the ')}", 0.5
    if question.polar:
        return "no", 0.5
    if question.attribute in ("sleep", "sit"):
        return "2", 0.3
    if question.attribute in ("far", "close", "wide", "long", "big", "large"):
        return "about 2 meters", 0.1
    if question.attribute in ("tall", "high", "deep"):
        return "about 1 meter", 0.1
    return ("the bed", 0.1) if question.target.generic else _what(question.target)


def _what(wanted: Thing) -> tuple[str, float]:
    house, lexicon = load_household(), load_lexicon()
    tables = _tables()
    members = sorted(lexicon.members(wanted.name)) if wanted.name else []
    if wanted.anchors and wanted.relation:
        key = {"in": "on", "in front of": "near", "behind": "near", "left of": "near",
               "right of": "near", "between": "near", "far from": "near"}.get(
                   wanted.relation, wanted.relation)  # fmt: skip
        named = _lookup(tables.get(key, tables["near"]), wanted.anchors[0])
        if not members or lexicon.canonical(named) in members:
            return article(named), 0.12
    room = usual_room(wanted) if not wanted.generic or wanted.anchors else wanted.room
    if len(members) > 1:
        best = max(members, key=lambda m: (house.likelihood(m, room or "living room"), m))
        return article(best), 0.2
    if wanted.generic and wanted.room:
        best = max(_COMMON, key=lambda m: house.likelihood(m, wanted.room))
        return article(best), 0.15
    return (article(wanted.name), 0.05) if wanted.known else ("", 0.0)
