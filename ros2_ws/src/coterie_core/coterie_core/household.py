"""Common sense about homes: room types, object categories, and which rooms hold which things."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, cached_property, partial
from importlib import resources
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from coterie_core.plain_data import schema_problems
from coterie_core.yaml_marks import read_own, read_yaml

Range = Annotated[tuple[float, float], Field(description="least and most")]
Rgb = tuple[int, int, int]
PlaceRule = Literal[
    "wall",
    "center",
    "corner",
    "around",
    "beside",
    "hung",
    "above",
    "ceiling",
    "window",
    "rug",
    "on",
    "none",
]

_NUMBERED = re.compile(r"[\s_#-]*\d+(?:[\s_#-]+\d+)*$")
_SPACES = re.compile(r"[\s_#-]+")
_CODE = re.compile(r"^[a-zA-Z],(?=\S)")
# Words that end in s without being a plural.
_NOT_PLURAL = ("ss", "us", "is")
# What precedes these words names the thing: "bottle of wine" is a bottle.
_OF = re.compile(r"\s+(?:of|with|in|on|for|from)\s+")

_MAX_CACHED_LABELS = 20_000
"""Labels of which is remembered what they mean."""


class HouseholdError(ValueError):
    """The household data are not as they should be: says which entry and what is wrong."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RoomType(_Model):
    """A kind of room: area [m^2], longest length/width, storeys (-1: any upper), number per house.

    `adjacent` says how much it wants to lie next to rooms of other types (no unit), `synonyms` are
    other words for it, and `kindred` rooms of another kind that hold much the same.
    """

    name: str
    area: Range
    aspect: float = Field(gt=1.0)
    floors: tuple[int, ...]
    per_house: tuple[int, int]
    weight: float = Field(ge=0.0)
    adjacent: Mapping[str, float] = {}
    synonyms: tuple[str, ...] = ()
    kindred: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """All names under which a room has what is usual in this type."""
        return (self.name, *self.synonyms, *self.kindred)


ObjectKind = Literal["item", "furniture", "fixture"]


class Category(_Model):
    """A kind of thing; see the head of household.yaml for what each field means."""

    label: str
    kind: ObjectKind = "item"
    shape: str = "box"
    colors: tuple[str, ...] = ("grey",)
    place: PlaceRule = "on"
    on: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    opens: bool = False
    depth: float = Field(0.0, ge=0.0)
    boards: bool = False
    count: tuple[int, int] = (1, 1)
    per_house: int | None = Field(None, ge=1)
    rooms: Mapping[str, Annotated[float, Field(ge=0.0, le=1.0)]] = {}
    any: float | None = Field(None, ge=0.0, le=1.0)
    synonyms: tuple[str, ...] = ()
    confused: tuple[str, ...] = ()


class Fallback(_Model):
    """Likelihood where nothing is known about the thing, the room, or either (0..1)."""

    unknown_object: float = Field(ge=0.0, le=1.0)
    unlisted_room: float = Field(ge=0.0, le=1.0)
    unknown_both: float = Field(ge=0.0, le=1.0)


class Household(_Model):
    """All of it. Names are looked up in any spelling: case, '#', '_', numbers, plurals."""

    colors: Mapping[str, tuple[Rgb, Rgb]]
    room_types: Mapping[str, RoomType]
    groups: Mapping[str, tuple[str, ...]]
    fallback: Fallback
    categories: Mapping[str, Category]
    _labels: dict[str, str] = PrivateAttr(default_factory=dict)
    _rooms: dict[str, str] = PrivateAttr(default_factory=dict)
    _found: dict[str, str | None] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _check_references(self) -> Household:
        def known(where: str, names: Any, pool: Mapping[str, object]) -> None:
            for name in names:
                if name not in pool:
                    raise ValueError(f"{where}: unknown name {name!r}")

        owners = {**self.categories, **self.groups, "floor": None}
        for room in self.room_types.values():
            known(f"room_types[{room.name!r}].adjacent", room.adjacent, self.room_types)
        for name, members in self.groups.items():
            known(f"groups[{name!r}]", members, self.categories)
        for thing in self.categories.values():
            where = f"categories[{thing.label!r}]"
            known(f"{where}.rooms", thing.rooms, self.room_types)
            known(f"{where}.colors", thing.colors, self.colors)
            known(f"{where}.on", thing.on, owners)
            known(f"{where}.near", thing.near, self.categories)
            known(f"{where}.confused", thing.confused, self.categories)
        return self

    def model_post_init(self, context: object, /) -> None:
        """Build the look-up tables; a category's own name wins over another one's synonym."""
        for table, entries in ((self._labels, self.categories), (self._rooms, self.room_types)):
            for name in entries:
                table[normalized(name)] = name
            for name, entry in entries.items():
                for synonym in (*entry.synonyms, *getattr(entry, "kindred", ())):
                    table.setdefault(normalized(synonym), name)

    @cached_property
    def room_words(self) -> Mapping[str, str]:
        """All names of rooms, as they are written, and the type that each means."""
        rooms = self.room_types.values()
        return {word: room.name for room in rooms for word in room.words}

    @cached_property
    def kindred_rooms(self) -> frozenset[str]:
        """Names of rooms that are of a kind of their own, and only hold what another type holds."""
        return frozenset(word for room in self.room_types.values() for word in room.kindred)

    def members(self, name: str) -> tuple[str, ...]:
        """Return the labels that a group's name stands for, or the label itself."""
        return self.groups.get(name, (name,))

    def usual_owners(self, label: str) -> tuple[str, ...]:
        """Return the labels of furniture on and in which such a thing is kept; none: anywhere."""
        category = self.category(label)
        return tuple(m for name in (category.on if category else ()) for m in self.members(name))

    def category(self, label: str) -> Category | None:
        """Return the category of a free label, or None if none fits."""
        name = self._find_label(label)
        return None if name is None else self.categories[name]

    def kind(self, label: str) -> ObjectKind:
        """Return whether a free label is one of furniture, say; of an unknown one, an item."""
        category = self.category(label)
        return category.kind if category is not None else "item"

    def canonical(self, label: str) -> str:
        """Return the category's name for a free label; unknown labels come back normalised.

        Tried in this order: the name itself, a synonym, the singular, then the head noun: trailing
        words first ("antique kitchen cabinet" -> cabinet), what precedes "of" ("bottle of wine").
        """
        return self._find_label(label) or normalized(label)

    def room_type(self, name: str) -> str:
        """Return the room type of a free room name ("" if none fits).

        "bedroom 2", "familyroom/family room", "k,kitchen" and "guest bedroom" are understood;
        of several names with slashes the first that is known counts.
        """
        text = _CODE.sub("", name.strip())
        for part in (text, *text.split("/"), *text.split("(")):
            words = normalized(part).split()
            for k in range(len(words)):
                found = self._rooms.get(" ".join(words[k:]))
                if found is not None:
                    return found
            for k in range(len(words) - 1, 0, -1):
                found = self._rooms.get(" ".join(words[:k]))
                if found is not None:
                    return found
        return ""

    def likelihood(self, object_label: str, room: str) -> float:
        """Return how likely a room of this type or name holds at least one such thing (0..1).

        Fallbacks: a known thing in a room of unknown type gets its mean over the room types; an
        unknown thing gets `fallback.unknown_object`; both unknown: `fallback.unknown_both`.
        """
        category = self.category(object_label)
        kind = self.room_type(room)
        if category is None:
            return self.fallback.unknown_object if kind else self.fallback.unknown_both
        if not kind:
            values = [self.prior(category, name) for name in self.room_types]
            return sum(values) / len(values)
        return self.prior(category, kind)

    def prior(self, category: Category, room_type: str) -> float:
        """Return how likely a room of exactly this type holds a thing of this category (0..1)."""
        other = self.fallback.unlisted_room if category.any is None else category.any
        return category.rooms.get(room_type, other)

    def _find_label(self, label: str) -> str | None:
        # A private attribute of a pydantic model is found slowly, and this is asked all the time.
        found: dict[str, str | None] = self.__pydantic_private__["_found"]  # type: ignore[index]
        if label not in found:
            if len(found) >= _MAX_CACHED_LABELS:  # labels come from outside: as many as they like
                found.clear()
            found[label] = self._search_label(label)
        return found[label]

    def _search_label(self, label: str) -> str | None:
        text = normalized(label)
        if not text:
            return None
        found = self._lookup(text)
        if found is not None:
            return found
        head = _OF.split(text)[0]
        words = head.split()
        for k in range(len(words)):
            found = self._lookup(" ".join(words[k:]))
            if found is not None:
                return found
        return None

    def _lookup(self, text: str) -> str | None:
        for form in (text, *singulars(text), text + "s"):
            found = self._labels.get(form)
            if found is not None:
                return found
        return None


def normalized(name: str) -> str:
    """Return a name in lower case, with single spaces for '_', '#' and '-', without end numbers."""
    text = _NUMBERED.sub("", name.strip())
    return _SPACES.sub(" ", text or name).strip().lower()


def singulars(text: str) -> tuple[str, ...]:
    """Return what `text` may be the plural of, likeliest first (empty if it is no plural)."""
    if not text.endswith("s") or text.endswith(_NOT_PLURAL) or len(text) < 4:
        return ()
    forms = [text[:-1]]
    if text.endswith("ves"):
        forms += [text[:-3] + "f", text[:-3] + "fe"]
    if text.endswith("ies"):
        forms.append(text[:-3] + "y")
    if text.endswith("es"):
        forms.append(text[:-2])
    return tuple(forms)


def plural(name: str) -> str:
    """Return the plural of a name; one that is a plural already ("books") as it is."""
    if name.endswith("s") and not name.endswith(_NOT_PLURAL):
        return name
    if name.endswith(("s", "x", "ch", "sh")):
        return f"{name}es"
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    if name.endswith("ife"):
        return f"{name[:-2]}ves"
    if name.endswith(("lf", "eaf", "oaf", "arf")):
        return f"{name[:-1]}ves"
    return f"{name}s"


@cache
def load_household() -> Household:
    """Return the household data that come with this package (read once).

    Raises:
        HouseholdError: The data file does not hold what it must.
    """
    text = resources.files("coterie_core").joinpath("data/household.yaml").read_text("utf-8")
    name = "coterie_core/data/household.yaml"
    return parse_household(text, name, partial(read_own, "household.yaml"))


def parse_household(
    text: str, source: str = "household data", read: Callable[[str], Any] = read_yaml
) -> Household:
    """Read household data from YAML, by the function that is given.

    Raises:
        HouseholdError: Not YAML, or an entry is wrong; names the entry.
    """
    try:
        data = read(text)
    except yaml.YAMLError as error:
        raise HouseholdError(f"{source}: not YAML: {error}") from None
    if not isinstance(data, dict):
        raise HouseholdError(f"{source}: expected a mapping, got {type(data).__name__}")
    for key, field in (("room_types", "name"), ("categories", "label")):
        entries = data.get(key)
        if not isinstance(entries, dict):
            raise HouseholdError(f"{source}: {key}: expected a mapping of names to entries")
        # YAML 1.1 reads a bare `on` as true.
        data[key] = {
            name: {field: name} | {("on" if k is True else k): v for k, v in (entry or {}).items()}
            for name, entry in entries.items()
        }
    try:
        return Household.model_validate(data)
    except ValidationError as error:
        raise HouseholdError(
            f"{source}: {schema_problems(error)} ({error.error_count()} problem(s) in all)"
        ) from None
