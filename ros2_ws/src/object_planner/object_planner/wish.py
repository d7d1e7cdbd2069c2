"""A request understood: what is wanted, what is ruled out, relations, order, and what was not."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from coterie_core.relations import RelationKind
from coterie_world.sizes import SizeOrder

Order = SizeOrder | Literal["overview", "nearest", "farthest"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Want(_Part):
    """One thing asked for (or ruled out): a label or class, a use, or a quality, by name."""

    kind: Literal["thing", "use", "quality"]
    name: str
    phrase: str = ""
    """The words it was called by, where they are narrower than the name ("coffee table")."""


class Relation(_Part):
    """Where it should be, by what; several `to` are alternatives, but for "between"."""

    kind: RelationKind
    to: tuple[Want, ...]
    negated: bool = False
    inverse: bool = False
    """The other way round: "a desk with a lamp on it"."""


class Request(_Part):
    """A request understood: any of `wants` that has every one of the rest.

    Attributes:
        rooms: Room types or names that were mentioned.
        colors: Names of colors that were asked for.
        order: What comes first; `by` is what "nearest" and "farthest" are measured from.
        rank: 2 for "the second largest".
        beyond: What no home can hold or serve ("a helicopter").
        unknown: Words that nothing is known of, where they would change what is asked for.
        head: The noun asked for, where nothing is known of it.
        read_as: Misspelled words and what they were read as.
        later: What is wished for after this.
        refusal: Why nothing can be done with the words at all.
    """

    words: str
    wants: tuple[Want, ...] = ()
    qualities: tuple[Want, ...] = ()
    excludes: tuple[Want, ...] = ()
    relations: tuple[Relation, ...] = ()
    rooms: tuple[str, ...] = ()
    colors: tuple[str, ...] = ()
    order: Order | None = None
    by: tuple[Want, ...] = ()
    rank: int = 1
    beyond: str = ""
    unknown: tuple[str, ...] = ()
    head: str = ""
    read_as: tuple[tuple[str, str], ...] = ()
    later: str = ""
    refusal: str = ""

    @property
    def clear(self) -> bool:
        """Whether enough was understood: the noun asked for, a use, a quality or where it is."""
        if self.refusal or self.head:
            return False
        return bool(self.wants or self.qualities or self.colors or self.relations)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was left out or read otherwise than written, for the person who asked."""
        said = [f"{word!r} was read as {meant!r}" for word, meant in self.read_as]
        if self.unknown:
            words = ", ".join(repr(word) for word in self.unknown)
            said.append(f"left out, as nothing is known of it: {words}")
        if self.rank > 1 and self.order is None:
            said.append(f"left out: number {self.rank}, as nothing says by what to count")
        if self.later:
            said.append(f"only the first wish is answered; ask again for: {self.later!r}")
        return tuple(said)
