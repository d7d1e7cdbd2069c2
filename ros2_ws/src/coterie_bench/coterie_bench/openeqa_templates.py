"""Ways to ask about a house: per category templates that draft questions from what is true."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from coterie_bench.openeqa_facts import Facts
from coterie_bench.openeqa_uses import ACTIVITIES, HINTS, USES
from coterie_core.relations import gap
from openeqa_agent.categories import Category

Rng = np.random.Generator
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight")
_BESIDE = 0.6  # [m] gap up to which people say "next to"
_TOPS = (
    "table", "coffee table", "side table", "nightstand", "desk", "console table", "counter",
    "dresser", "bar counter", "kitchen island", "workbench", "vanity", "bench", "stool", "ottoman",
    "tv stand",
)  # fmt: skip
"""Furniture with one open top: what is on it is plainly on top of it."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question, its answer and others that are right, and what must be seen to answer it."""

    question: str
    answer: str
    evidence: tuple[str, ...]
    extra: tuple[str, ...] = ()
    anyone: bool = False


Maker = Callable[[Facts, Rng], Iterator[Draft]]


def say(rng: Rng, *forms: str) -> str:
    """Return one of several wordings, its first letter a capital."""
    text = forms[int(rng.integers(len(forms)))]
    return text[0].upper() + text[1:]


def plural(label: str) -> str:
    """Return the plural of a label."""
    if label.endswith(("s", "sh", "ch", "x")):
        return label if label.endswith("s") and not label.endswith("ss") else label + "es"
    if label.endswith("f"):
        return label[:-1] + "ves"
    return label + "s"


def a(label: str) -> str:
    """Return a label with its article."""
    return f"an {label}" if label[0] in "aeiou" else f"a {label}"


def be(label: str) -> str:
    """Return "is", or "are" for what has a plural name ("books")."""
    return "are" if label.endswith("s") and not label.endswith(("ss", "us")) else "is"


# -- object recognition -----------------------------------------------------------------------


def on_top(facts: Facts, rng: Rng) -> Iterator[Draft]:
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
            say(
                rng,
                f"what is on top of {name}?",
                f"what object was put on {name}?",
                f"what's sitting on {name}?",
                f"which item do you see on {name}?",
            ),
            label,
            (upon[0],),
            (f"the {label}",),
        )


def painted(facts: Facts, rng: Rng) -> Iterator[Draft]:
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
                    say(
                        rng,
                        f"what is the {color} thing on {name}?",
                        f"which {color} object is lying on {name}?",
                        f"there is something {color} on {name}, what is it?",
                    ),
                    label,
                    (item,),
                    (f"the {label}", f"{color} {label}"),
                )


def hung_above(facts: Facts, rng: Rng) -> Iterator[Draft]:
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
                say(
                    rng,
                    f"what is on the wall above {name}?",
                    f"what hangs over {name}?",
                    f"what did they mount above {name}?",
                ),
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


def where_is(facts: Facts, rng: Rng) -> Iterator[Draft]:
    """Where a thing is that there is one of."""
    for id_ in sorted(facts.seen):
        thing = facts.things[id_]
        if not thing.room or not facts.only(id_) or thing.properties.get("mount") == "ceiling":
            continue
        label = facts.label(id_)
        verb = be(label)
        said, *others = places_of(facts, id_)
        forms = [
            f"where {verb} the {label}?",
            f"where can I find the {label}?",
            f"I am looking for the {label}. Where should I look?",
        ]
        if thing.kind == "item":
            forms += [f"where did I leave the {label}?", f"where did somebody put the {label}?"]
        yield Draft(say(rng, *forms), said, (id_,), tuple(others))


def which_room(facts: Facts, rng: Rng) -> Iterator[Draft]:
    """In which room a thing is."""
    for id_ in sorted(facts.seen):
        thing = facts.things[id_]
        if not thing.room or not facts.only(id_):
            continue
        label, room = facts.label(id_), facts.room_name(thing.room)
        yield Draft(
            say(
                rng,
                f"which room {be(label)} the {label} in?",
                f"in what room would I find the {label}?",
                f"what room has the {label} in it?",
            ),
            room,
            (id_,),
            (f"in {room}", facts.home.truth.rooms[thing.room].name),
        )


def where_in_room(facts: Facts, rng: Rng) -> Iterator[Draft]:
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
                say(
                    rng,
                    f"where {be(facts.label(id_))} {facts.name(id_)}?",
                    f"I need {facts.name(id_)}, where is it?",
                ),
                said,
                (id_,),
                tuple(others),
            )


# -- attribute recognition --------------------------------------------------------------------


def color_of(facts: Facts, rng: Rng) -> Iterator[Draft]:
    """What colour a thing has."""
    for id_ in sorted(facts.seen):
        name, color = facts.name(id_), facts.color(id_)
        if name and color:
            verb = be(facts.label(id_))
            extra = ("gray",) if color == "grey" else ()
            yield Draft(
                say(
                    rng,
                    f"what color {verb} {name}?",
                    f"what is the color of {name}?",
                    f"what colour {verb} {name}?",
                    f"which color {'do' if verb == 'are' else 'does'} {name} have?",
                ),
                color,
                (id_,),
                extra,
            )


def color_choice(facts: Facts, rng: Rng) -> Iterator[Draft]:
    """Which of two colours a thing has."""
    colors = ("black", "white", "red", "green", "blue", "yellow", "grey", "brown")
    for id_ in sorted(facts.seen):
        name, color = facts.name(id_), facts.color(id_)
        if not name or not color:
            continue
        others = [c for c in colors if c != color and {c, color} != {"grey", "black"}]
        pair = [color, others[int(rng.integers(len(others)))]]
        rng.shuffle(pair)
        verb = be(facts.label(id_))
        yield Draft(f"{verb.capitalize()} {name} {pair[0]} or {pair[1]}?", color, (id_,))


# -- spatial understanding --------------------------------------------------------------------


def how_many(facts: Facts, rng: Rng) -> Iterator[Draft]:
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
                say(
                    rng,
                    f"how many {many} are there in {where}?",
                    f"how many {many} does {where} have?",
                    f"can you count the {many} in {where}?",
                ),
                str(count),
                tuple(ids),
                (_NUMBERS[count], f"{count} {many}", f"{_NUMBERS[count]} {many}"),
            )


def closer(facts: Facts, rng: Rng) -> Iterator[Draft]:
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
            say(
                rng,
                f"what is closer to {facts.name(anchor)}: the {facts.label(one)} or the "
                f"{facts.label(two)}?",
                f"is the {facts.label(one)} or the {facts.label(two)} nearer to "
                f"{facts.name(anchor)}?",
            ),
            f"the {facts.label(near)}",
            (anchor, near, far),
            (facts.label(near),),
        )


def taller(facts: Facts, rng: Rng) -> Iterator[Draft]:
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
            say(
                rng,
                f"which is taller, {facts.name(one)} or {facts.name(two)}?",
                f"which one stands higher: {facts.name(one)} or {facts.name(two)}?",
            ),
            f"the {facts.label(tall)}",
            (tall, low),
            (facts.label(tall), facts.name(tall)),
        )


def is_upon(facts: Facts, rng: Rng) -> Iterator[Draft]:
    """Whether a thing stands on a piece of furniture."""
    items = sorted({facts.label(k) for k in facts.seen if facts.things[k].kind == "item"})
    for id_ in sorted(facts.seen):
        name, upon = facts.name(id_), facts.upon(id_)
        if facts.label(id_) not in _TOPS or not name or not set(upon) <= facts.seen:
            continue
        for item in upon:
            label = facts.label(item)
            if be(label) == "is":
                asked = say(
                    rng, f"is there {a(label)} on {name}?", f"do you see {a(label)} on {name}?"
                )
                yield Draft(asked, "yes", (id_, item))
        absent = [k for k in items if k not in {facts.label(u) for u in upon} and be(k) == "is"]
        if absent:
            label = absent[int(rng.integers(len(absent)))]
            asked = say(
                rng, f"is there {a(label)} on {name}?", f"is {a(label)} standing on {name}?"
            )
            yield Draft(asked, "no", (id_, *upon))


# -- object state recognition -----------------------------------------------------------------


def open_or_closed(facts: Facts, rng: Rng) -> Iterator[Draft]:
    """Whether a cupboard, a fridge, a drawer is open."""
    for id_ in sorted(facts.seen):
        is_open, name = facts.things[id_].is_open, facts.name(id_)
        if is_open is None or not name:
            continue
        state = "open" if is_open else "closed"
        if rng.random() < 0.5:
            asked = say(
                rng,
                f"is {name} open or closed?",
                f"is {name} currently open or shut?",
                f"what state is {name} in, open or closed?",
            )
            yield Draft(asked, state, (id_,), () if is_open else ("shut",))
        elif rng.random() < 0.5:
            asked = say(rng, f"is {name} open?", f"did someone leave {name} open?")
            yield Draft(asked, "yes" if is_open else "no", (id_,), (state,))
        else:
            asked = say(rng, f"is {name} closed?", f"has {name} been shut?")
            yield Draft(asked, "no" if is_open else "yes", (id_,), (state,))


def is_bare(facts: Facts, rng: Rng) -> Iterator[Draft]:
    """Whether anything stands on a table."""
    for id_ in sorted(facts.seen):
        name, upon = facts.name(id_), facts.upon(id_)
        if facts.label(id_) not in _TOPS or not name or not set(upon) <= facts.seen:
            continue
        if rng.random() < 0.5:
            asked = say(rng, f"is there anything on {name}?", f"has something been put on {name}?")
            yield Draft(asked, "yes" if upon else "no", (id_, *upon))
        else:
            yield Draft(say(rng, f"is {name} empty?"), "no" if upon else "yes", (id_, *upon))


# -- functional reasoning and world knowledge ---------------------------------------------------


def use_what(facts: Facts, rng: Rng) -> Iterator[Draft]:
    """What serves a purpose: any such thing of the house will do, the seen ones are asked for."""
    for purpose, labels in USES:
        serving = [k for k in facts.labelled(labels) if k not in facts.hidden]
        seen = [k for k in serving if k in facts.seen]
        if not seen:
            continue
        words: list[str] = []
        for id_ in (*seen, *serving):
            label, room = facts.label(id_), facts.room_name(facts.things[id_].room)
            words += [f"the {label}", label, f"the {label} in {room}"]
        yield Draft(
            say(
                rng,
                f"what can I use to {purpose}?",
                f"I want to {purpose}. What should I use?",
                f"what in this house would help me to {purpose}?",
            ),
            words[0],
            tuple(seen),
            tuple(words),
            anyone=True,
        )


def use_where(facts: Facts, rng: Rng) -> Iterator[Draft]:
    """Where a purpose is served by furniture."""
    for purpose, labels in USES:
        serving = [k for k in facts.labelled(labels) if k not in facts.hidden]
        seen = [k for k in serving if k in facts.seen and facts.things[k].room]
        if not seen or any(facts.things[k].kind == "item" for k in serving):
            continue
        words: list[str] = []
        for id_ in (*seen, *serving):
            label, room = facts.label(id_), facts.room_name(facts.things[id_].room)
            at = "at" if label not in ("bed", "sofa", "armchair", "chair") else "on"
            words += [f"in {room}", room, f"{at} the {label} in {room}"]
            words += [f"{at} the {label}", f"the {label}"]
        yield Draft(
            say(rng, f"where could I {purpose}?", f"where in the house can I {purpose}?"),
            words[0],
            tuple(seen),
            tuple(words),
            anyone=True,
        )


def room_for(facts: Facts, rng: Rng) -> Iterator[Draft]:
    """What the room is for in which a thing stands."""
    for id_ in sorted(facts.seen):
        thing = facts.things[id_]
        if thing.kind != "furniture" or not thing.room or not facts.only(id_):
            continue
        kind = facts.home.truth.rooms[thing.room].type
        if kind not in ACTIVITIES:
            continue
        activity, *others = ACTIVITIES[kind]
        name = facts.name(id_)
        if rng.random() < 0.5:
            asked = say(
                rng,
                f"what is the room with {name} mainly used for?",
                f"what do people usually do in the room where {name} stands?",
            )
            yield Draft(asked, activity, (id_,), tuple(others))
        else:
            asked = say(
                rng,
                f"what kind of room is {name} in?",
                f"judging by its furniture, what type of room is the one with {name}?",
            )
            yield Draft(asked, kind, (id_,), (a(kind), facts.room_name(thing.room)))


def sleepers(facts: Facts, rng: Rng) -> Iterator[Draft]:
    """How many people the beds of a room are for."""
    for room in facts.home.truth.rooms:
        beds = facts.labelled(["bed"], room)
        widths = [min(facts.things[k].box.size[:2]) for k in beds]
        if not beds or not set(beds) <= facts.seen or any(1.1 < w < 1.45 for w in widths):
            continue
        count = sum(2 if w >= 1.45 else 1 for w in widths)
        where = facts.room_name(room)
        yield Draft(
            say(
                rng,
                f"for how many people is there a bed in {where}?",
                f"how many people can sleep in {where}?",
            ),
            str(count),
            tuple(beds),
            (_NUMBERS[count], f"{count} people"),
        )


def hints(facts: Facts, rng: Rng) -> Iterator[Draft]:
    """What the things in a house say of those who live there; no where a room has nothing of it."""
    for question, labels in HINTS:
        ids = facts.labelled(labels)
        seen = [k for k in ids if k in facts.seen]
        if seen:
            yield Draft(f"{question}?", "yes", tuple(seen), anyone=True)
        for room in sorted(facts.episode.rooms & set(facts.home.truth.rooms)):
            large = [
                k
                for k in facts.seen
                if facts.things[k].room == room and facts.things[k].kind == "furniture"
            ]
            if len(large) < 2 or any(facts.things[k].room == room for k in ids):
                continue
            if rng.random() < 0.2:
                where = facts.room_name(room)
                asked = f"Going by the things in {where}, {question[0].lower()}{question[1:]}?"
                yield Draft(asked, "no", tuple(sorted(large)))


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
