"""Ways to ask what things are for, and what they say of those who live there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from research.bench.openeqa.drafts import NUMBERS, Draft, Rng, a
from research.bench.openeqa.facts import Facts
from research.bench.openeqa.phrases import Phrases


def _draft(rng: Rng, questions: Sequence[str], seen: Sequence[str], right: Sequence[str]) -> Draft:
    """Return one of the questions, to which any of the things that were seen is an answer."""
    text = questions[int(rng.integers(len(questions)))]
    return Draft(text[0].upper() + text[1:], right[0], tuple(seen), tuple(right), anyone=True)


def use_what(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """What serves a purpose: any such thing of the house will do, the seen ones are asked for."""
    for labels, questions in phrases.asked_for(places=False):
        serving = [k for k in facts.labelled(labels) if k not in facts.hidden]
        seen = [k for k in serving if k in facts.seen]
        if not seen:
            continue
        words: list[str] = []
        for id_ in (*seen, *serving):
            label, room = facts.label(id_), facts.room_name(facts.things[id_].room)
            words += [f"the {label}", label, f"the {label} in {room}"]
        yield _draft(rng, questions, seen, words)


def use_where(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """Where a purpose is served by furniture."""
    for labels, questions in phrases.asked_for(places=True):
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
        yield _draft(rng, questions, seen, words)


def room_for(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """What the room is for in which a thing stands."""
    for id_ in sorted(facts.seen):
        thing = facts.things[id_]
        if thing.kind != "furniture" or not thing.room or not facts.only(id_):
            continue
        kind = facts.home.truth.rooms[thing.room].type
        if kind not in phrases.activities:
            continue
        activity, *others = phrases.activities[kind]
        name = facts.name(id_)
        if rng.random() < 0.5:
            asked = phrases.say(rng, "room_for", name=name)
            yield Draft(asked, activity, (id_,), tuple(others))
        else:
            asked = phrases.say(rng, "room_kind", name=name)
            yield Draft(asked, kind, (id_,), (a(kind), facts.room_name(thing.room)))


def sleepers(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """How many people the beds of a room are for."""
    for room in facts.home.truth.rooms:
        beds = facts.labelled(["bed"], room)
        widths = [min(facts.things[k].box.size[:2]) for k in beds]
        if not beds or not set(beds) <= facts.seen or any(1.1 < w < 1.45 for w in widths):
            continue
        count = sum(2 if w >= 1.45 else 1 for w in widths)
        where = facts.room_name(room)
        yield Draft(
            phrases.say(rng, "sleepers", where=where),
            str(count),
            tuple(beds),
            (NUMBERS[count], f"{count} people"),
        )


def hints(facts: Facts, rng: Rng, phrases: Phrases) -> Iterator[Draft]:
    """What the things in a house say of those who live there; no where a room has nothing of it."""
    for question, labels in phrases.hints:
        ids = facts.labelled(labels)
        seen = [k for k in ids if k in facts.seen]
        if seen:
            yield Draft(f"{question[0].upper()}{question[1:]}?", "yes", tuple(seen), anyone=True)
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
                asked = phrases.say(rng, "hint_in", where=where, question=question)
                yield Draft(asked, "no", tuple(sorted(large)))
