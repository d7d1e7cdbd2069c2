"""Clauses in parts: things, the words between them, and where things are or go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coterie_requests.understanding import NotUnderstood, shown
from coterie_requests.understanding.phrases import Phrase, parse_phrase
from coterie_requests.understanding.vocabulary import Vocabulary
from emos_planner.leader.verbs import (
    CAN_DO,
    EXAMPLE,
    FROM,
    SIDES,
    STRONG,
    WEAK,
)

Part = str | Phrase
_FILLERS = frozenset(("up", "there", "then", "down", "away", "back", "over", "together", "either",
                      "else", "instead", "out", "around", "as", "well", "here"))  # fmt: skip
_PREPOSITIONS = frozenset((*STRONG, *WEAK, *FROM, *SIDES, "of", "with"))
_EXCEPT = (("except", "for"), ("except",), ("but", "not"), ("but", "for"), ("other", "than"),
           ("apart", "from"), ("aside", "from"), ("excluding",), ("besides",), ("not",),
           ("and", "not"), ("but",))  # fmt: skip


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
        if isinstance(p, str) and (p in WEAK or p in SIDES) and isinstance(parts[k + 1], Phrase)
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
        raise NotUnderstood(f"{shown(clause)!r}: say what it is about; {CAN_DO}", "object")
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
        excluded = _exclusion(words, i, parts)
        if excluded:
            i = _exclude(words, i + excluded, names, parts, clause)
        elif word in (",", "and", "plus", "&", "or"):
            joined = "or" if word == "or" else "and"
            if parts and parts[-1] == "and" and joined == "or":
                parts[-1] = "or"  # "a mug , or a cup"
            elif parts and parts[-1] not in ("and", "or"):
                parts.append(joined)
            i += 1
        elif word in _PREPOSITIONS:
            parts.append(word)
            i += 1
        elif word in _FILLERS and (parts or word in ("either", "back", "out", "up")):
            i += 1
        else:
            found = parse_phrase(words, i, names)
            if found is None or found[1] == i:
                raise NotUnderstood(
                    f"{shown(clause)!r}: {word!r} is not understood there; {CAN_DO}: "
                    f"{EXAMPLE['bring']}",
                    "word",
                    word,
                )
            phrase, i = found
            if phrase.floor and not phrase.label and parts and isinstance(parts[-1], Phrase):
                parts.append("in")  # "the towel upstairs"
            parts.append(phrase)
    while parts and isinstance(parts[-1], str):
        parts.pop()
    return _joined(parts)


def _exclusion(words: list[str], i: int, parts: Sequence[Part]) -> int:
    """Return how many words say that what follows is left out (0: none)."""
    host = any(isinstance(p, Phrase) and (p.number == "all" or p.anything) for p in parts)
    for said in _EXCEPT:
        host = host or (said[0] == "except" and any(isinstance(p, Phrase) for p in parts))
        if tuple(words[i : i + len(said)]) == said and host and i + len(said) < len(words):
            return len(said)
    return 0


def _exclude(
    words: list[str], start: int, names: Vocabulary, parts: list[Part], clause: str
) -> int:
    """Add what is left out to the last phrase that means all; return the index behind it."""
    things = [k for k, p in enumerate(parts) if isinstance(p, Phrase)]
    host = max(things, key=lambda k: (parts[k].number == "all", k))  # type: ignore[union-attr]
    i = start
    left_out: list[Phrase] = []
    while True:
        found = parse_phrase(words, i, names)
        if found is None:
            break
        phrase, i = found
        if phrase.pronoun and i + 1 < len(words) and words[i] in WEAK:
            place = parse_phrase(words, i + 1, names)  # "the one on the desk"
            if place is not None:
                phrase, i = phrase.within(WEAK[words[i]], place[0]), place[1]
        left_out.append(phrase)
        joined = i + 1 < len(words) and words[i] in ("and", "or", "nor", ",")
        if not joined or (words[i] == "," and words[i + 1] == "and"):
            break
        again = parse_phrase(words, i + 1, names)
        if again is None or not (again[0].pronoun or again[0].definite):
            break
        i += 1
    if not left_out:
        raise NotUnderstood(f"{shown(clause)!r}: say what is left out", "object")
    whole = parts[host]
    assert isinstance(whole, Phrase)
    left_out = [p.like(whole) if p.pronoun else p for p in left_out]
    parts[host] = replace(
        whole,
        said=f"{whole.said} except {', '.join(p.said for p in left_out)}",
        excluded=(*whole.excluded, *(replace(p, excluded=()) for p in left_out)),
    )
    return i


def _joined(parts: list[Part]) -> list[Part]:
    """Give "the red" its noun in "the red and the blue mug", and make alternatives of "or"."""
    for k in range(len(parts) - 2, 0, -1):
        if k + 1 >= len(parts):
            continue  # what followed was an alternative
        before, after = parts[k - 1], parts[k + 1]
        if parts[k] in ("and", "or") and isinstance(before, Phrase) and isinstance(after, Phrase):
            if before.pronoun and (
                before.color or before.ignored or before.order or before.ordinal
            ):
                before = parts[k - 1] = before.like(after)
            if parts[k] == "or":
                others = (replace(after, alternatives=()), *after.alternatives)
                said = f"{before.said} or {after.said}"
                parts[k - 1 : k + 2] = [replace(before, said=said, alternatives=others)]
    return ["and" if part == "or" else part for part in parts]


def grouped(parts: Sequence[Part], clause: str) -> list[Phrase]:
    """Return the things of a list, each with the places that follow it."""
    things: list[Phrase] = []
    k = 0
    while k < len(parts):
        part = parts[k]
        if isinstance(part, Phrase):
            last = things[-1] if things else None
            if last is not None and last.places and _only_place(part):
                # "from the bedroom and the office"
                where = last.places[-1]
                both = replace(
                    where.phrase, alternatives=(*where.phrase.alternatives, part),
                    said=f"{where.phrase.said} and {part.said}",
                )  # fmt: skip
                places = (*last.places[:-1], replace(where, phrase=both))
                things[-1] = replace(last, places=places)
            else:
                things.append(part)
        elif part != "and":
            place = parts[k + 1] if k + 1 < len(parts) else None
            if not isinstance(place, Phrase):
                raise NotUnderstood(f"{shown(clause)!r}: something is missing after {part!r}")
            if part in ("of", "with"):
                if things:  # "a cup of tea": what is in it, robots cannot tell
                    held = (*things[-1].ignored, f"{part} {place.said}")
                    things[-1] = replace(things[-1], ignored=held)
            elif not things:
                raise NotUnderstood(
                    f"{shown(clause)!r}: what is meant {part} {place.said!r}?", "object"
                )
            else:
                relation = "from" if part in FROM else SIDES.get(part, WEAK.get(part, "in"))
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


def _only_place(phrase: Phrase) -> bool:
    return bool(phrase.room or phrase.floor) and not phrase.label


def located(thing: Phrase, places: Sequence[Part], clause: str) -> Phrase:
    """Return a thing with places that were said apart from it ("look upstairs for the towel")."""
    for k, part in enumerate(places[:-1]):
        place = places[k + 1]
        if isinstance(part, str) and isinstance(place, Phrase):
            thing = thing.within(SIDES.get(part, WEAK.get(part, "in")), place)
    return thing
