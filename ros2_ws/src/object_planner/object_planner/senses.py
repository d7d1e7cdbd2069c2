"""What the words of a thing mean by the tables: names, uses, qualities, orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from coterie_core.colors import basic_color
from coterie_core.household import singulars
from coterie_requests.lexicon import load_lexicon
from coterie_requests.request import Thing
from coterie_requests.understanding.quantities import SUPERLATIVES
from coterie_requests.understanding.vocabulary import plain_name
from coterie_world.sizes import SIZE_ORDERS


class Sense(NamedTuple):
    """What words mean: a label or class, a use, or a quality of the tables, by name."""

    kind: Literal["thing", "use", "quality"]
    name: str
    phrase: str = ""
    """What a thing is called, where that is narrower than the name ("coffee table", an id)."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the tables know of a thing's own words: any of `wants` that is all of `also`.

    Attributes:
        order: The choice, or an order of sizes that adjectives ask for ("a large table").
        view: Whether the place with the widest view is asked for.
        left_out: Words that nothing is known of.
        refused: Why nothing can be found without them ("" if something can).
    """

    wants: tuple[Sense, ...] = ()
    also: tuple[Sense, ...] = ()
    order: str = ""
    view: bool = False
    left_out: tuple[str, ...] = ()
    refused: str = ""


def meaning(thing: Thing, labels: frozenset[str], ids: dict[str, str]) -> Meaning:
    """Return what the tables know of the words of a thing.

    Args:
        thing: The thing as a person describes it.
        labels: Labels of the map, which mean something whether or not the tables have them.
        ids: Plain name of each id of the map -> label of the thing.
    """
    lexicon = load_lexicon()
    name, rest = _named(thing, labels, ids)
    uses, view = _uses(thing.use)
    uses += tuple(Sense("use", one) for other in thing.without for one in denied_uses(other))
    also = [Sense("quality", one) for one in (() if uses else lexicon.qualities_in(thing.use))]
    if thing.use and not (uses or also or view):
        rest.append(thing.use)
    order: str = thing.choice if thing.choice in (*SIZE_ORDERS, "nearest", "farthest") else ""
    rest += [thing.choice] if thing.choice and not order else []
    if thing.color and not basic_color(thing.color):
        rest.append(thing.color)
    for word in thing.attributes:
        also += (known := [Sense("quality", one) for one in lexicon.qualities_in(word)])
        size = "" if known else _size_order(word)
        order = order or size
        if known or size or word in (name.phrase.split() if name else ()):
            continue
        rest.append(word)
    wants = (name,) if name else uses
    also += uses if name else ()
    beyond = lexicon.beyond_in(thing.use) if uses else ""
    told = thing.color or thing.places or thing.without or thing.either
    refused = f"no home has room for this: {beyond}" if beyond else ""
    if (thing.name and not name) or not (wants or also or told):
        words = ", ".join(map(repr, rest)) or "it names nothing that could be found"
        refused = f"not understood: {words}; nothing is known of what that is, or is for"
    return Meaning(wants, tuple(also), order, view, tuple(rest), refused)


def _named(
    thing: Thing, labels: frozenset[str], ids: dict[str, str]
) -> tuple[Sense | None, list[str]]:
    """Return what a noun means: an id, else a class or a label; and its words that say nothing."""
    words = plain_name(thing.name).split()
    tails = [" ".join(words[k:]) for k in range(len(words))]
    forms = [f"{plain_name(word)} {tail}" for tail in tails[:1] for word in thing.attributes]
    for form in (*forms, *tails):
        for one in (form, *singulars(form)):
            if one in ids:
                return Sense("thing", ids[one], one), []
            name = load_lexicon().named(one, own=one in labels)
            if name:
                phrase = one if one in labels and " " in one else ""
                return Sense("thing", name, phrase), words[: -len(form.split())]
    return None, words and [thing.name]


def _uses(words: str) -> tuple[tuple[Sense, ...], bool]:
    """Return the uses that words ask for, and whether they ask for the widest view."""
    lexicon = load_lexicon()
    cued = lexicon.uses_in(words) if words else []
    real = [pair for pair in cued if not lexicon.uses[pair[1]].modifies]
    strong = [pair for pair in real if not lexicon.uses[pair[1]].weak] or real
    uses = tuple(Sense("use", name) for weight, name in strong if weight == strong[0][0])
    return uses, any(lexicon.uses[name].modifies == "overview" for _, name in cued)


def denied_uses(thing: Thing) -> tuple[str, ...]:
    """Return the uses that are asked for by denying a thing: "not at room temperature"."""
    table = load_lexicon().uses
    return tuple(n for n, use in table.items() if any(c in thing.use for c in use.negated_cues))


def _size_order(word: str) -> str:
    """Return the order that an adjective asks for: of "large" the one of "largest"."""
    forms = (f"{word}st", f"{word}est", f"{word}{word[-1:]}est")
    found = next((SUPERLATIVES[form] for form in forms if form in SUPERLATIVES), "")
    return found if found in SIZE_ORDERS else ""
