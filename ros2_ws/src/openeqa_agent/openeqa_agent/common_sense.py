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
from coterie_core.yaml_marks import OWN, read_yaml
from coterie_requests.lexicon import load_lexicon, meant, serving
from coterie_requests.request import Step, Thing
from coterie_requests.understanding.map_geometry import STATES
from openeqa_agent.labels import is_room_name, room_said
from openeqa_agent.reply import OpenReply
from openeqa_agent.understood import MORE, OpenQuestion, is_polar, serves

_COMMON = ("table", "counter", "desk", "shelf", "sofa", "bed")


@cache
def _tables() -> dict[str, dict[str, Any]]:
    text = resources.files("openeqa_agent").joinpath("data/common_sense.yaml").read_text("utf-8")
    tables = read_yaml(text, OWN)
    return {str(name): dict(table) for name, table in tables.items()}


def guess(question: OpenQuestion, rooms: Collection[str] = ()) -> OpenReply:
    """Return the likeliest answer to a question where nothing was seen.

    Its text is empty where the question was not read: there is nothing to guess then.

    Args:
        question: What is asked.
        rooms: Types of the rooms that the house has; empty: that is not known.
    """
    told = [_guess(step, rooms) for step in question.steps]
    known = bool(told) and all(text for text, _ in told)
    return OpenReply(
        "; ".join(text for text, _ in told) if known else "",
        min(confidence for _, confidence in told) if known else 0.0,
        guessed=True,
        category=question.category,
        explanation="a guess: what is usual in homes",
        method="blind",
    )


def _guess(step: Step, rooms: Collection[str]) -> tuple[str, float]:
    if step.options:
        return (step.choices or [option.things[0].told() for option in step.options])[0], 0.5
    if not step.things and step.act != "space":
        return "", 0.0
    act, wanted = step.act, step.things[0] if step.things else Thing()
    if serves(step):
        return _use(step, rooms)
    text, confidence = "", 0.0
    if act == "color":
        text, confidence = _color(step)
    elif act == "attribute":
        text, confidence = _attribute(step)
    elif act == "where":
        text, confidence = usual_place(wanted, rooms), 0.2
    elif act == "which_room":
        floor = step.attribute == "floor"
        text = "the first floor" if floor else f"the {usual_room(wanted, rooms)}"
        confidence = 0.5 if floor else 0.3
    elif act == "how_many":
        text, confidence = _count(wanted)
    elif act == "state":
        text, confidence = _state(step)
    elif act == "is_there":
        usual = min(max(map(_usual, (thing, *thing.either))) for thing in step.things)
        text, confidence = "yes" if usual >= 0.4 else "no", 0.55
    elif act in ("relation", "space"):
        text, confidence = "yes", 0.5 if act == "relation" else 0.6
    elif act == "size":
        text, confidence = _size(step)
    elif act == "what":
        text, confidence = _what(wanted)
    if step.negated and is_polar(step) and text in ("yes", "no"):
        text = "no" if text == "yes" else "yes"
    return text, confidence


def usual_color(thing: Thing) -> str:
    """The color such things usually have."""
    own = _lookup(_tables()["colors"], thing, fallback=False)
    if own:
        return own
    category = load_household().category(meant(thing.name)) if thing.name else None
    if category is not None and category.colors:
        (r0, g0, b0), (r1, g1, b1) = load_household().colors[category.colors[0]]
        name = color_name(((r0 + r1) / 2, (g0 + g1) / 2, (b0 + b1) / 2))
        if name:
            return name
    return str(_tables()["colors"][""])


def usual_room(thing: Thing, rooms: Collection[str] = ()) -> str:
    """The type of room that such things are usually in, of those that the house has."""
    if room := room_said(thing):
        return load_household().room_type(room) or room
    house = load_household()
    names = [name for name in house.room_types if not rooms or name in rooms]
    names = names or list(house.room_types)
    if not thing.name:
        thing = next((a for a in _anchors(thing) if a.name), thing)
    if not thing.name:
        return "living room" if "living room" in names else names[0]
    name = meant(thing.name)
    return max(names, key=lambda room: (house.likelihood(name, room), -names.index(room)))


def _anchors(thing: Thing) -> tuple[Thing, ...]:
    """Things that a thing stands to; no rooms."""
    every = (one for place in thing.places for one in place.things)
    return tuple(one for one in every if not is_room_name(one.name))


def usual_place(thing: Thing, rooms: Collection[str] = ()) -> str:
    """Where such a thing usually is: "on the counter in the kitchen"."""
    house = load_household()
    category = house.category(meant(thing.name)) if thing.name else None
    room = usual_room(next(iter(_anchors(thing)), thing), rooms)
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


def _color(step: Step) -> tuple[str, float]:
    usual = usual_color(step.things[0])
    if step.choices:
        fits = [choice for choice in step.choices if basic_color(choice) == usual]
        return (fits or list(step.choices))[0], 0.5
    if is_polar(step):
        return ("yes" if basic_color(step.attribute) == usual else "no"), 0.5
    return usual, 0.25


def _attribute(step: Step) -> tuple[str, float]:
    table = {"material": "materials", "shape": "shapes", "type": "types"}.get(step.attribute)
    if table is None:
        return {"size": "medium"}.get(step.attribute, ""), 0.1
    return _lookup(_tables()[table], step.things[0]), 0.3


def _lookup(table: Mapping[str, Any], thing: Thing, *, fallback: bool = True) -> str:
    """Entry of a thing by its name, its class's name, or the one for everything else."""
    name = meant(thing.name) if thing.name else ""
    for key in (name, load_lexicon().canonical(name)):
        if key and key in table:
            return str(table[key])
    return str(table[""]) if fallback else ""


def _count(thing: Thing) -> tuple[str, float]:
    house = load_household()
    if is_room_name(thing.name):
        kind = house.room_type(thing.name)
        fewest, most = house.room_types[kind].per_house if kind in house.room_types else (1, 1)
        return str(min(max(fewest, 1), most) if kind != "bedroom" else 2), 0.3
    category = house.category(meant(thing.name)) if thing.name else None
    if category is None:
        return "2", 0.25
    fewest, most = category.count
    return str(max(1, (fewest + most) // 2)), 0.3


def _state(step: Step) -> tuple[str, float]:
    table = _tables()["states"]
    if step.choices:
        shares = [table.get(STATES.get(c, c), 0.5) for c in step.choices]
        best = max(range(len(shares)), key=lambda k: (shares[k], -k))
        return step.choices[best], float(shares[best])
    likely = float(table.get(STATES.get(step.attribute, step.attribute), 0.5))
    return ("yes", likely) if likely >= 0.5 else ("no", 1.0 - likely)


def _usual(thing: Thing) -> float:
    """How likely some home, or the room that is spoken of, has such a thing (0..1)."""
    house = load_household()
    if not thing.name:
        return 0.5
    name, room = meant(thing.name), room_said(thing)
    if room:
        return house.likelihood(name, room)
    return max(house.likelihood(name, kind) for kind in house.room_types)


def _use(step: Step, rooms: Collection[str]) -> tuple[str, float]:
    wanted = step.things[0]
    if is_polar(step):
        return "yes", 0.55
    grades = serving(wanted.use)
    house = load_household()
    place = step.attribute == "place" or step.act == "where"
    if not grades:
        return ("on the table", 0.1) if place else ("", 0.0)
    said = room_said(wanted)
    among = [said] if said else list(house.room_types)

    def worth(label: str) -> tuple[float, str]:
        there = max(house.likelihood(label, room) for room in among)
        return grades[label] * (0.5 + 0.5 * there), label

    best = max(grades, key=worth)
    if place:
        room = said or usual_room(Thing(name=best), rooms)
        return f"on the {best} in the {room}", 0.3
    return f"the {best}", 0.3


def _size(step: Step) -> tuple[str, float]:
    if step.choices:
        return f"the {step.choices[0].removeprefix('the ')}", 0.5
    if step.attribute in MORE:
        return "no", 0.5
    if step.attribute in ("tall", "high", "deep"):
        return "about 1 meter", 0.1
    return "about 2 meters", 0.1


def _what(wanted: Thing) -> tuple[str, float]:
    house, lexicon = load_household(), load_lexicon()
    tables = _tables()
    name = meant(wanted.name) if wanted.name else ""
    members = sorted(lexicon.members(name)) if name else []
    anchors = _anchors(wanted)
    if anchors:
        relation = wanted.places[0].relation
        key = "on" if relation in ("in", "from") else relation
        named = _lookup(tables.get(key, tables["near"]), anchors[0])
        if not members or lexicon.canonical(named) in members:
            return article(named), 0.12
    room = room_said(wanted)
    if len(members) > 1:
        usual = usual_room(wanted)
        best = max(members, key=lambda m: (house.likelihood(m, usual), m))
        return article(best), 0.2
    if not name and room:
        best = max(_COMMON, key=lambda m: house.likelihood(m, room))
        return article(best), 0.15
    return (article(name), 0.05) if house.category(name) is not None else ("the bed", 0.1)
