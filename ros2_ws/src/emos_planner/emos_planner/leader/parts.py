"""Clauses in parts: things, the words between them, and where things are or go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from emos_planner.leader.phrases import Phrase, Vocabulary, parse_phrase
from emos_planner.leader.verbs import CAN_DO, EXAMPLE, FROM, STRONG, WEAK, NotUnderstood

Part = str | Phrase


def complete(parts: Sequence[Part], strong: bool) -> bool:
    """Whether there is an object, a preposition of where to, and a place."""
    return bool(parts) and isinstance(parts[0], Phrase) and where_to(parts, strong) is not None


def where_to(parts: Sequence[Part], strong: bool) -> int | None:
    """Index of the preposition that says where to."""
    to = [k for k, p in enumerate(parts) if isinstance(p, str) and p in STRONG]
    if to:
        return to[-1]
    if strong:
        return None
    weak = [
        k
        for k, p in enumerate(parts[:-1])
        if isinstance(p, str) and p in WEAK and isinstance(parts[k + 1], Phrase)
    ]
    if not weak:
        return None
    # "on the table in the kitchen": the room says which table, unless there is only the room.
    last = weak[-1]
    place = parts[last + 1]
    if (
        len(weak) > 1
        and isinstance(place, Phrase)
        and (place.room or place.floor)
        and not place.compound
    ):
        if weak[-2] == last - 2:
            return weak[-2]
    return last


def items(text: str, names: Vocabulary, clause: str) -> list[Phrase]:
    """Return the phrases of a list of things, each with where it is."""
    found = grouped(parts_of(text.split(), names, clause), clause)
    if not found:
        raise NotUnderstood(f"{clause!r}: say what it is about; {CAN_DO}")
    return found


def parts_of(words: list[str], names: Vocabulary, clause: str) -> list[Part]:
    """Return phrases and the words between them.

    Raises:
        NotUnderstood: A word is neither.
    """
    parts: list[Part] = []
    i = 0
    while i < len(words):
        word = words[i]
        if word in (",", "and", "or", "plus", "&"):
            if word == "or":
                raise NotUnderstood(f"{clause!r}: 'or' is not understood; name what is wanted")
            if parts and parts[-1] != "and":
                parts.append("and")
            i += 1
        elif word in STRONG or word in WEAK or word in FROM or word in ("of", "with"):
            parts.append(word)
            i += 1
        elif (
            word in ("please", "now", "up", "again", "there", "then", "down", "away", "back")
            and parts
        ):
            i += 1
        elif word in ("under", "below", "behind", "above"):
            raise NotUnderstood(
                f"{clause!r}: {word!r} is not understood; robots know things in, on and near others"
            )
        else:
            found = parse_phrase(words, i, names)
            if found is None or found[1] == i:
                raise NotUnderstood(
                    f"{clause!r}: {word!r} is not understood there; {CAN_DO}: {EXAMPLE['bring']}"
                )
            phrase, i = found
            if phrase.floor and parts and isinstance(parts[-1], Phrase):
                parts.append("in")  # "the towel upstairs"
            parts.append(phrase)
    while parts and isinstance(parts[-1], str):
        parts.pop()
    return parts


def grouped(parts: Sequence[Part], clause: str) -> list[Phrase]:
    """Return the things of a list, each with the places that follow it."""
    things: list[Phrase] = []
    k = 0
    while k < len(parts):
        part = parts[k]
        if isinstance(part, Phrase):
            things.append(part)
        elif part != "and":
            place = parts[k + 1] if k + 1 < len(parts) else None
            if not isinstance(place, Phrase):
                raise NotUnderstood(f"{clause!r}: something is missing after {part!r}")
            relation = "from" if part in FROM else WEAK.get(part, "in")
            if part not in ("of", "with"):
                if not things:
                    raise NotUnderstood(f"{clause!r}: what is meant {part} {place.said!r}?")
                # "the one on the table in the bedroom": the room is the table's as well.
                things[-1] = things[-1].within(relation, place)
            k += 1
        k += 1
    # "the mugs and plates in the kitchen" means both: a place said of the last counts for all.
    last = things[-1] if things else None
    shared = last is not None and last.places and not last.pronoun
    if last is not None and shared and not any(t.places for t in things[:-1]):
        things = [*(replace(t, places=last.places) for t in things[:-1]), last]
    return things


def located(thing: Phrase, places: Sequence[Part], clause: str) -> Phrase:
    """Return a thing with places that were said apart from it ("look upstairs for the towel")."""
    for k, part in enumerate(places[:-1]):
        place = places[k + 1]
        if isinstance(part, str) and isinstance(place, Phrase):
            thing = thing.within(WEAK.get(part, "in"), place)
    return thing
