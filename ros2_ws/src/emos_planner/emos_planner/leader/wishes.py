"""Wishes as they are read one after the other; pronouns look back at what was said before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from coterie_core.household import load_household
from coterie_requests.understanding import NotUnderstood, shown
from coterie_requests.understanding.phrases import Phrase
from coterie_requests.understanding.vocabulary import Vocabulary
from emos_planner.leader.clauses import Clause
from emos_planner.leader.verbs import (
    CAN_DO,
    WishKind,
)


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing that a person wants: verb, object, and where to (`relation`: in, on or near).

    `then` says that it is begun when all wishes before it are done. `notes` are said words that
    change nothing. `asks`: why it cannot be done unless what follows says where to.
    """

    kind: WishKind
    object: Phrase
    target: Phrase | None = None
    relation: str = ""
    robot: str = ""
    everybody: bool = False
    text: str = ""
    then: bool = False
    notes: tuple[str, ...] = ()
    asks: NotUnderstood | None = None


class Wishes:
    """The wishes of a task so far, and what pronouns in the next clause stand for."""

    def __init__(self, names: Vocabulary) -> None:
        self.names = names
        self.wishes: list[Wish] = []
        self.context: list[Wish] = []
        self.needed = False
        self.verb = ""
        self._clause = Clause("")
        self._asks: NotUnderstood | None = None

    # -- what pronouns stand for ----------------------------------------------------------------

    def _last_place(self) -> Phrase | None:
        """What "inside" and "there" stand for: where the last wish was about."""
        for wish in reversed([*self.context, *self.wishes]):
            if wish.kind in ("open", "close", "go"):
                return wish.object
            if wish.target is not None:
                return wish.target
            if wish.object.places:
                return wish.object.places[-1].phrase
        return None

    def _needed_place(self, things: Sequence[Phrase]) -> tuple[Phrase, str] | None:
        """Where "get two" is to go, said of a need before it; the need itself is served by it."""
        last = self.wishes[-1] if self.wishes else None
        if not self.needed or last is None or last.target is None:
            return None
        same = all(t.pronoun or t.label == last.object.label for t in things)
        return (last.target, last.relation) if same else None

    def _meant(self, thing: Phrase, kind: WishKind) -> Phrase:
        before = [*self.context, *self.wishes]
        if not before:
            raise NotUnderstood(
                f"{shown(self._clause.text)!r}: what does {thing.said!r} stand for?",
                "pronoun",
                thing.said,
                question="Name the thing",
            )
        last = before[-1]
        household = load_household()
        if kind in ("open", "close") and last.target is not None:
            category = household.category(last.target.label)
            if category is not None and category.opens:
                return last.target
        if kind not in ("open", "close", "go", "look"):
            things = [w for w in before if w.kind not in ("open", "close", "go")]
            last = things[-1] if things else last
        return last.object

    def _add(
        self,
        kind: WishKind,
        things: Sequence[Phrase],
        target: Phrase | None = None,
        relation: str = "",
    ) -> None:
        """Add a wish per thing; "it", "them", "the one" take their noun from what came before."""
        clause = self._clause.text
        things = [one for thing in things for one in self._all_of(thing)]
        first = len(self.wishes)
        for thing in things:
            if thing.person or thing.noun in self.names.persons or (thing.house and kind != "go"):
                raise NotUnderstood(
                    f"{shown(clause)!r}: {thing.said!r} is nothing to {kind}; {CAN_DO}",
                    "person" if not thing.house else "object",
                    thing.said,
                )
            if thing.room and not thing.label and kind in ("bring", "take"):
                raise NotUnderstood(
                    f"{shown(clause)!r}: {thing.said!r} is a room and stays where it is", "object",
                    thing.said,
                )  # fmt: skip
            if not thing.known and not thing.pronoun and not thing.anything:
                if not all(word.isascii() and word.isalpha() for word in thing.noun.split()):
                    raise NotUnderstood(
                        f"{shown(clause)!r}: nothing is called {thing.noun!r}", "word", thing.noun
                    )
            linked = False
            if thing.pronoun:
                meant = self._meant(thing, kind)
                if kind == "bring" and self.needed and self.wishes[-1].object is meant:
                    self.wishes.pop()  # "we are out of cups: get two" is one wish
                    first = min(first, len(self.wishes))
                    linked = False
                else:
                    linked = kind != "bring" or thing.which == ""
                thing = self._like(thing, meant)
            if kind == "bring" and self._taken_before(thing, target, relation):
                continue
            if target is not None and target.pronoun:
                place = self._last_place()
                if place is None or (not self.wishes and not self.context):
                    raise NotUnderstood(
                        f"{shown(clause)!r}: what does {target.said!r} stand for?",
                        "pronoun",
                        target.said,
                    )
                target = target.like(place) if target.count == 1 and target.color else place
            ordered = linked and bool(self.wishes) and kind in ("open", "close")
            ordered = ordered or self._follows_opening(kind, target)
            self._append(
                Wish(kind, thing, target, relation, then=ordered and len(self.wishes) == first)
            )
        if self._clause.then and first < len(self.wishes) and first > 0:
            self.wishes[first] = replace(self.wishes[first], then=True)

    def _all_of(self, thing: Phrase) -> list[Phrase]:
        """What "them" stands for, if several things were named at once."""
        if not thing.pronoun or thing.said not in ("them", "both", "all of them", "both of them"):
            return [thing]
        last = self.wishes[-1].text if self.wishes else ""
        named = [w for w in self.wishes if w.text == last and w.kind in ("take", "find", "bring")]
        return [w.object for w in named] if len(named) > 1 else [thing]

    def _like(self, thing: Phrase, meant: Phrase) -> Phrase:
        full = thing.like(meant)
        if thing.which == "other" and not thing.said.startswith(("it", "them")):
            # "the other one": not the one that was spoken of.
            full = replace(full, excluded=(replace(meant, excluded=()),) if _tells(meant) else ())
        return full

    def _follows_opening(self, kind: WishKind, target: Phrase | None) -> bool:
        """Whether something is put into what was opened before, or that is closed again."""
        opened = [w.object.label for w in self.wishes if w.kind == "open"]
        return kind == "bring" and target is not None and target.label in opened

    def _taken_before(self, thing: Phrase, target: Phrase | None, relation: str) -> bool:
        """Make "take the mug" and "put it on the desk" one wish, in the place of the first."""
        merged = False
        for k in range(len(self.wishes) - 1, -1, -1):
            wish = self.wishes[k]
            same = wish.object.label == thing.label and wish.object.noun == thing.noun
            fewer = thing.number == "some" and thing.count != wish.object.count
            if wish.kind == "take" and same and fewer:
                raise NotUnderstood(
                    f"{shown(self._clause.text)!r}: {thing.said!r} are not all of "
                    f"{wish.object.said!r}",
                    "ambiguous",
                    thing.said,
                    question="Where shall the rest go?",
                )
            if wish.kind == "take" and same and target is not None and not target.pronoun:
                self.wishes[k] = replace(
                    wish, kind="bring", target=target, relation=relation,
                    text=f"{wish.text} and {self._clause.text}",
                )  # fmt: skip
                merged = True
            elif merged or wish.kind == "bring":
                break
        return merged

    def _append(self, wish: Wish) -> None:
        clause = self._clause
        self.wishes.append(
            replace(
                wish,
                robot=clause.robot,
                text=wish.text or clause.text,
                asks=self._asks if wish.kind == "take" else None,
                then=wish.then or (clause.then and bool(self.wishes)),
                notes=(*wish.notes, *clause.notes),
            )
        )
        self._clause = replace(clause, then=False, notes=())


def _tells(phrase: Phrase) -> bool:
    """Whether a phrase picks some things out of all that bear its name."""
    return bool(phrase.color or phrase.places or phrase.order or phrase.ordinal)
