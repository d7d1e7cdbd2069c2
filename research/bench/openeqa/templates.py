"""Ways to ask about a house: per category templates that draft questions from what is true."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from coterie_core.household import plural
from coterie_core.relations import gap
from openeqa_agent.understood import Category
from research.bench.openeqa.drafts import NUMBERS, Draft, Maker, Rng, a, be
from research.bench.openeqa.facts import Facts
from research.bench.openeqa.phrases import Phrases
from research.bench.openeqa.use_templates import hints, room_for, sleepers, use_what, use_where

_BESIDE = 0.6  # [m] gap up to which people say "next to"
_TOPS = (
    "table", "coffee table", "side table", "nightstand", "desk", "console table", "counter",
    "dresser", "bar counter", "kitchen island", "workbench", "vanity", "bench", "stool", "ottoman",
    "tv stand",
)  # fmt: skip
"""Furniture with one open top: what is on it is plainly on top of it."""


# -- object recognition -----------------------------------------------------------------------


def on_top(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """What stands alone on a piece of furniture."""
    for id_ in sorted(facts.seen):
        name = facts.name(id_)
        upon = facts.upon(id_)
        if facts.label(id_) not in _TOPS or not name or len(upon) != 1 or upon[0] not in facts.seen:
            continue
        label = facts.label(upon[0])
        if be(label) == "are" and label not in ("books", "keys", "shoes", "glasses", "scissors"):
            continue
        yield Draft(
            phrases.say(rng, "on_top", name=name),
            label,
            (upon[0],),
            (f"the {label}",),
        )


def painted(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """The one thing of a colour among several on a piece of furniture, or in a room."""
    for id_ in sorted(facts.seen):
        name, upon = facts.name(id_), facts.upon(id_)
        if not name or len(upon) < 2 or not set(upon) <= facts.seen:
            continue
        colors = {k: facts.color(k) for k in upon}
        for item, color in colors.items():
            if color and list(colors.values()).count(color) == 1 and all(colors.values()):
                label = facts.label(item)
                yield Draft(
                    phrases.say(rng, "painted", name=name, color=color),
                    label,
                    (item,),
                    (f"the {label}", f"{color} {label}"),
                )


def hung_above(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """What hangs on the wall over a piece of furniture."""
    for id_ in sorted(facts.seen):
        thing, name = facts.things[id_], facts.name(id_)
        if thing.kind != "furniture" or not name or thing.box.top > 1.4:
            continue
        over = []
        for other in facts.things.values():
            if other.room != thing.room or other.properties.get("mount") not in ("wall", "above"):
                continue
            if other.box.bottom < thing.box.top + 0.05 or other.label.top == "radiator":
                continue
            away = math.dist(other.box.center[:2], thing.box.center[:2])
            if away <= max(thing.box.size[:2]) / 2.0 + 0.25:
                over.append(other.id)
        if len(over) == 1 and over[0] in facts.seen:
            label = facts.label(over[0])
            yield Draft(
                phrases.say(rng, "hung_above", name=name),
                label,
                (over[0],),
                (a(label), f"the {label}"),
            )


# -- object localization ----------------------------------------------------------------------


def places_of(facts: Facts, id_: str) -> list[str]:
    """Phrases that truly say where a thing is, best first."""
    thing = facts.things[id_]
    room = facts.room_name(thing.room)
    found = []
    if thing.support in facts.things:
        word = "in" if thing.container else "on"
        owner = facts.label(thing.support)
        found += [f"{word} the {owner} in {room}", f"{word} the {owner}", f"in {room}"]
    elif thing.properties.get("mount") == "wall" and thing.box.bottom > 0.5:
        found += [f"on the wall in {room}", f"in {room}", "on the wall"]
    elif thing.kind == "item":
        found += [f"on the floor in {room}", f"in {room}", "on the floor"]
    else:
        found += [f"in {room}"]
    for other in facts.near(id_, _BESIDE)[:4]:
        if other != thing.support and facts.things[other].support != id_:
            found += [f"next to the {facts.label(other)} in {room}"]
            found += [f"next to the {facts.label(other)}"]
    return list(dict.fromkeys(found))


def where_is(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """Where a thing is that there is one of."""
    for id_ in sorted(facts.seen):
        thing = facts.things[id_]
        if not thing.room or not facts.only(id_) or thing.properties.get("mount") == "ceiling":
            continue
        label = facts.label(id_)
        verb = be(label)
        said, *others = places_of(facts, id_)
        forms = ["where_is", "where_is_item"] if thing.kind == "item" else ["where_is"]
        yield Draft(phrases.say(rng, *forms, label=label, be=verb), said, (id_,), tuple(others))


def which_room(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """In which room a thing is."""
    for id_ in sorted(facts.seen):
        thing = facts.things[id_]
        if not thing.room or not facts.only(id_):
            continue
        label, room = facts.label(id_), facts.room_name(thing.room)
        yield Draft(
            phrases.say(rng, "which_room", label=label, be=be(label)),
            room,
            (id_,),
            (f"in {room}", facts.home.truth.rooms[thing.room].name),
        )


def where_in_room(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """Where in its room a thing is that several rooms have."""
    for id_ in sorted(facts.seen):
        thing = facts.things[id_]
        if not thing.room or facts.only(id_) or not facts.only(id_, thing.room):
            continue
        if thing.support not in facts.things or thing.kind != "item":
            continue
        said, *others = [p for p in places_of(facts, id_) if not p.startswith("in ")] or [""]
        if said:
            yield Draft(
                phrases.say(rng, "where_in_room", name=facts.name(id_), be=be(facts.label(id_))),
                said,
                (id_,),
                tuple(others),
            )


# -- attribute recognition --------------------------------------------------------------------


def color_of(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """What colour a thing has."""
    for id_ in sorted(facts.seen):
        name, color = facts.name(id_), facts.color(id_)
        if name and color:
            verb = be(facts.label(id_))
            extra = facts.colors(id_)[1:]
            yield Draft(
                phrases.say(
                    rng, "color_of", name=name, be=verb, do="do" if verb == "are" else "does"
                ),
                color,
                (id_,),
                extra,
            )


def color_choice(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """Which of two colours a thing has."""
    colors = ("black", "white", "red", "green", "blue", "yellow", "grey", "brown")
    for id_ in sorted(facts.seen):
        name, color = facts.name(id_), facts.color(id_)
        if not name or not color:
            continue
        said = " ".join(facts.colors(id_))
        others = [c for c in colors if c not in said and {c, color} != {"beige", "brown"}]
        pair = [color, others[int(rng.integers(len(others)))]]
        rng.shuffle(pair)
        verb = be(facts.label(id_))
        asked = phrases.say(
            rng,
            "color_choice",
            name=name,
            be=verb,
            be_cap=verb.capitalize(),
            one=pair[0],
            two=pair[1],
        )
        yield Draft(asked, color, (id_,))


# -- spatial understanding --------------------------------------------------------------------


def how_many(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """How many things of a kind a room has."""
    for room in facts.home.truth.rooms:
        counts = Counter(t.label.top for t in facts.things.values() if t.room == room)
        for label, count in sorted(counts.items()):
            ids = facts.labelled([label], room)
            alike = [
                t.label.top
                for t in facts.things.values()
                if t.room == room and t.label.top.endswith(" " + label)
            ]
            if not 2 <= count <= 6 or alike or not set(ids) <= facts.seen or label == "books":
                continue
            where, many = facts.room_name(room), plural(label)
            yield Draft(
                phrases.say(rng, "how_many", many=many, where=where),
                str(count),
                tuple(ids),
                (NUMBERS[count], f"{count} {many}", f"{NUMBERS[count]} {many}"),
            )


def closer(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """Which of two things is nearer to a third."""
    furniture = [
        k
        for k in sorted(facts.seen)
        if facts.things[k].kind == "furniture" and facts.things[k].room and facts.name(k)
    ]
    for anchor in furniture:
        room = facts.things[anchor].room
        rivals = [k for k in furniture if k != anchor and facts.things[k].room == room]
        away = {k: gap(facts.things[anchor].box, facts.things[k].box) for k in rivals}
        pairs = [(a, b) for a in rivals for b in rivals if away[b] > away[a] + 1.0 > 1.0]
        pairs = [(a, b) for a, b in pairs if away[b] > 1.8 * away[a]]
        if not pairs:
            continue
        near, far = pairs[int(rng.integers(len(pairs)))]
        if facts.label(near) == facts.label(far):
            continue
        one, two = (near, far) if rng.random() < 0.5 else (far, near)
        yield Draft(
            phrases.say(
                rng, "closer", one=facts.label(one), two=facts.label(two), anchor=facts.name(anchor)
            ),
            f"the {facts.label(near)}",
            (anchor, near, far),
            (facts.label(near),),
        )


def taller(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """Which of two pieces of furniture is taller."""
    for room in facts.home.truth.rooms:
        found = [
            k
            for k in sorted(facts.seen)
            if facts.things[k].room == room
            and facts.things[k].kind == "furniture"
            and facts.name(k)
            and facts.things[k].box.bottom < 0.1
        ]
        pairs = [
            (a, b)
            for a in found
            for b in found
            if facts.things[a].box.top > 1.35 * facts.things[b].box.top
            and facts.label(a) != facts.label(b)
        ]
        if not pairs:
            continue
        tall, low = pairs[int(rng.integers(len(pairs)))]
        one, two = (tall, low) if rng.random() < 0.5 else (low, tall)
        yield Draft(
            phrases.say(rng, "taller", one=facts.name(one), two=facts.name(two)),
            f"the {facts.label(tall)}",
            (tall, low),
            (facts.label(tall), facts.name(tall)),
        )


def is_upon(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """Whether a thing stands on a piece of furniture."""
    items = sorted({facts.label(k) for k in facts.seen if facts.things[k].kind == "item"})
    for id_ in sorted(facts.seen):
        name, upon = facts.name(id_), facts.upon(id_)
        if facts.label(id_) not in _TOPS or not name or not set(upon) <= facts.seen:
            continue
        for item in upon:
            label = facts.label(item)
            if be(label) == "is":
                asked = phrases.say(rng, "is_upon", item=a(label), name=name)
                yield Draft(asked, "yes", (id_, item))
        absent = [k for k in items if k not in {facts.label(u) for u in upon} and be(k) == "is"]
        if absent:
            label = absent[int(rng.integers(len(absent)))]
            asked = phrases.say(rng, "is_upon_not", item=a(label), name=name)
            yield Draft(asked, "no", (id_, *upon))


# -- object state recognition -----------------------------------------------------------------


def open_or_closed(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """Whether a cupboard, a fridge, a drawer is open."""
    for id_ in sorted(facts.seen):
        is_open, name = facts.things[id_].is_open, facts.name(id_)
        if is_open is None or not name:
            continue
        state = "open" if is_open else "closed"
        if rng.random() < 0.5:
            asked = phrases.say(rng, "open_or_closed", name=name)
            yield Draft(asked, state, (id_,), () if is_open else ("shut",))
        elif rng.random() < 0.5:
            asked = phrases.say(rng, "is_open", name=name)
            yield Draft(asked, "yes" if is_open else "no", (id_,), (state,))
        else:
            asked = phrases.say(rng, "is_closed", name=name)
            yield Draft(asked, "no" if is_open else "yes", (id_,), (state,))


def is_bare(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """Whether anything stands on a table."""
    for id_ in sorted(facts.seen):
        name, upon = facts.name(id_), facts.upon(id_)
        if facts.label(id_) not in _TOPS or not name or not set(upon) <= facts.seen:
            continue
        if rng.random() < 0.5:
            asked = phrases.say(rng, "is_bare", name=name)
            yield Draft(asked, "yes" if upon else "no", (id_, *upon))
        else:
            yield Draft(
                phrases.say(rng, "is_empty", name=name), "no" if upon else "yes", (id_, *upon)
            )


TEMPLATES: Mapping[Category, dict[str, Maker]] = {
    "object_recognition": {"on top": on_top, "colour": painted, "above": hung_above},
    "object_localization": {"where": where_is, "room": which_room, "in room": where_in_room},
    "attribute_recognition": {"colour": color_of, "choice": color_choice},
    "spatial_understanding": {
        "count": how_many,
        "closer": closer,
        "taller": taller,
        "upon": is_upon,
    },
    "object_state_recognition": {"open": open_or_closed, "bare": is_bare},
    "functional_reasoning": {"what": use_what, "where": use_where},
    "world_knowledge": {"room": room_for, "hints": hints, "sleepers": sleepers},
}
"""Category -> name -> what drafts such questions."""
